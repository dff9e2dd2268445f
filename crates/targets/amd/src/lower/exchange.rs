//! Lanes reading each other's values: by the operand patterns of instructions (DPP) where there is one, by `ds_swizzle`
//! within 32 lanes, a single lane by `readlane`, else by an address (`ds_bpermute`).

use amdgcn_isa::{Arch, RDNA, exchange};
use lanes::Shuffle;
use llir::{FunctionBuilder, IntCompare, Type, Value};

/// Control words of DPP for exchanges within a row of 16 lanes: the bits in which lane numbers differ, and the word.
const PATTERNS: &[(u32, i32)] = &[
    // Within four lanes, each names one: 1032, 2301, 3210.
    (1, 0xb1),
    (2, 0x4e),
    (3, 0x1b),
    // Mirrored within 8 lanes, within 16, turned by 8.
    (7, 0x141),
    (15, 0x140),
    (8, 0x128),
];

/// On RDNA any exchange within a row.
const ROW_XMASK: i32 = 0x160;

/// Lanes name themselves in the other row of a pair.
const SAME_LANES: [i32; 2] = [0x7654_3210, 0xfedc_ba98_u32 as i32];

/// Reads another lane's 32-bit integer.
pub(super) fn shuffle(b: &mut FunctionBuilder<'_>, arch: Arch, shuffle: Shuffle, value: Value) -> Value {
    match shuffle {
        Shuffle::Xor(bits) => exchange(b, arch, bits, value),
        Shuffle::Up(by) => {
            let (lane, by) = (lane(b, arch), b.i32(by as i32));
            let from = b.sub(lane, by);
            let is_there = b.icmp(IntCompare::Uge, lane, by);
            let from = b.select(is_there, from, lane);
            permute(b, from, value)
        }
        Shuffle::Down(by) => {
            let (lane, by) = (lane(b, arch), b.i32(by as i32));
            let from = b.add(lane, by);
            let lanes = b.i32(arch.wave().lanes() as i32);
            let is_there = b.icmp(IntCompare::Ult, from, lanes);
            let from = b.select(is_there, from, lane);
            permute(b, from, value)
        }
        Shuffle::Index(from) if b.as_int(from).is_some() => {
            b.intrinsic(&exchange::READLANE, Type::I32, &[value, from])
        }
        Shuffle::Index(from) => permute(b, from, value),
    }
}

/// The number of this lane in its wave: how many lanes are below it.
fn lane(b: &mut FunctionBuilder<'_>, arch: Arch) -> Value {
    let (all, zero) = (b.i32(-1), b.i32(0));
    let low = b.intrinsic(&exchange::MBCNT_LO, Type::I32, &[all, zero]);
    if arch.wave().lanes() == 32 {
        return low;
    }
    b.intrinsic(&exchange::MBCNT_HI, Type::I32, &[all, low])
}

/// From a lane by its number: addresses are those of words.
fn permute(b: &mut FunctionBuilder<'_>, from: Value, value: Value) -> Value {
    let two = b.i32(2);
    let address = b.shl(from, two);
    b.intrinsic(&exchange::DS_BPERMUTE, Type::I32, &[address, value])
}

/// A lane that an operand pattern reads, of those that have the value of the lane whose number differs in these bits.
pub(super) fn partner(lane: u32, equal: u32) -> u32 {
    let same = |&bits: &u32| bits & !equal == lane & !equal;
    let patterns = || PATTERNS.iter().map(|(bits, _)| *bits);
    if patterns().any(|bits| bits == lane) { lane } else { patterns().find(same).unwrap_or(lane) }
}

/// From the lane whose number differs in these bits.
fn exchange(b: &mut FunctionBuilder<'_>, arch: Arch, bits: u32, value: Value) -> Value {
    let pattern = PATTERNS.iter().find(|(own, _)| *own == bits).map(|(_, control)| *control);
    match pattern {
        Some(control) => by_pattern(b, control, value),
        None if RDNA.has(arch) && bits < 16 => by_pattern(b, ROW_XMASK + bits as i32, value),
        None if RDNA.has(arch) && bits == 16 => {
            let [low, high] = SAME_LANES.map(|word| b.i32(word));
            let no = b.bool(false);
            let args = [value, value, low, high, no, no];
            b.intrinsic(&exchange::PERMLANEX16, Type::I32, &args)
        }
        None if bits < 32 => {
            // The lane is kept and the bits are turned.
            let word = b.i32((bits << 10 | 0x1f) as i32);
            b.intrinsic(&exchange::DS_SWIZZLE, Type::I32, &[value, word])
        }
        None => {
            let (lane, bits) = (lane(b, arch), b.i32(bits as i32));
            let from = b.xor(lane, bits);
            permute(b, from, value)
        }
    }
}

fn by_pattern(b: &mut FunctionBuilder<'_>, control: i32, value: Value) -> Value {
    let [zero, control, all] = [0, control, 15].map(|number| b.i32(number));
    let bounded = b.bool(true);
    let args = [zero, value, control, all, all, bounded];
    b.intrinsic(&exchange::UPDATE_DPP, Type::I32, &args)
}

#[cfg(test)]
mod tests {
    use super::partner;

    #[test]
    fn lanes_with_equal_values_stand_in_for_each_other() {
        // Lane 4 is in the other half of eight lanes, whose quads are alike; nothing stands in for what a pattern reads
        // itself.
        assert_eq!([partner(1, 0), partner(2, 1), partner(4, 3), partner(8, 7)], [1, 2, 7, 8]);
        assert_eq!([partner(4, 0), partner(4, 1), partner(16, 15), partner(4, 8)], [4, 4, 16, 4]);
    }
}
