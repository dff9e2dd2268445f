//! Lanes of a warp exchange registers by shuffles: the instructions of a planned exchange.

use crate::context::Cx;
use crate::shuffle_words::{from_words, to_words};
use crate::target::Shuffle;
use layout::convert::{Choice, Exchange, Source};
use layout::{Dim, LinearLayout};
use llir::{IntCompare, Type, Value, intrinsics};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The destination registers of an exchange of values of one type.
pub(crate) fn exchange(cx: &mut Cx<'_>, plan: &Exchange, ty: Type, registers: &[Value]) -> Vec<Value> {
    let before = conditions(cx, &plan.before);
    let mut sent = Chosen::new(&before);
    let mut groups = BTreeMap::<Source, Vec<u32>>::new();
    for round in plan.needed_rounds() {
        groups.entry(plan.rounds[round as usize].source).or_default().push(round);
    }
    let mut arrived = FxHashMap::default();
    let mut base = None;
    for (source, rounds) in groups {
        let mut slots: Vec<u32> = rounds.iter().map(|round| plan.rounds[*round as usize].from).collect();
        slots.sort_unstable();
        slots.dedup();
        let values: Vec<Value> =
            slots.iter().map(|slot| sent.get(cx, &|slot| registers[slot as usize], *slot)).collect();
        let got = travel(cx, plan, source, ty, &values, &mut base);
        for round in rounds {
            let slot = plan.rounds[round as usize].from;
            if let Ok(at) = slots.binary_search(&slot) {
                arrived.insert(round, got[at]);
            }
        }
    }
    let after = conditions(cx, &plan.after);
    let mut chosen = Chosen::new(&after);
    plan.outputs.iter().map(|output| chosen.get(cx, &|round| arrived[&round], *output)).collect()
}

/// Sends values from one source; small ones packed.
fn travel(
    cx: &mut Cx<'_>,
    plan: &Exchange,
    source: Source,
    ty: Type,
    values: &[Value],
    base: &mut Option<Value>,
) -> Vec<Value> {
    let shuffle = match source {
        Source::Stay => return values.to_vec(),
        Source::Xor(bits) => Shuffle::Xor(bits),
        Source::Index(bits) => {
            let lanes = *base.get_or_insert_with(|| thread_map(cx, &plan.lanes));
            let by = cx.b.i32(bits as i32);
            Shuffle::Index(cx.b.xor(lanes, by))
        }
    };
    shuffle_values(cx, shuffle, ty, values)
}

/// Another lane's values of one type, small ones packed into words.
pub(crate) fn shuffle_values(cx: &mut Cx<'_>, shuffle: Shuffle, ty: Type, values: &[Value]) -> Vec<Value> {
    let words = to_words(cx, ty, values);
    // A constant is the same in any lane.
    let mut get = |word| if cx.b.is_known(word) { word } else { cx.target.shuffle(&mut cx.b, shuffle, word) };
    let got: Vec<Value> = words.into_iter().map(&mut get).collect();
    from_words(cx, ty, &got, values.len())
}

/// A linear function of the thread index: what each of its bits contributes; those of the block may stand above.
pub(crate) fn thread_map(cx: &mut Cx<'_>, columns: &[u32]) -> Value {
    let (lane_bits, warp_bits) = (cx.lanes.trailing_zeros() as usize, cx.num_warps.trailing_zeros() as usize);
    let bits = columns.iter().fold(0, |all, column| all | column);
    let width = 32 - bits.leading_zeros();
    let basis: Vec<[(Dim, u32); 1]> = columns.iter().map(|column| [(Dim::OFFSET, *column)]).collect();
    let basis: Vec<&[(Dim, u32)]> = basis.iter().map(|one| &one[..]).collect();
    let (lane, above) = basis.split_at(lane_bits.min(basis.len()));
    let (warp, block) = above.split_at(warp_bits.min(above.len()));
    let ins = [(Dim::LANE, lane), (Dim::WARP, warp), (Dim::BLOCK, block)];
    let Ok(layout) = LinearLayout::new(&ins, &[(Dim::OFFSET, width)]) else {
        // Columns lie within the bits that they set.
        return cx.b.i32(0);
    };
    let ids = cx.ids();
    if block.is_empty() {
        return cx.apply_layout(&layout, &[(Dim::LANE, ids.lane), (Dim::WARP, ids.warp)])[0];
    }
    let number = cx.block_id();
    cx.apply_layout(&layout, &[(Dim::LANE, ids.lane), (Dim::WARP, ids.warp), (Dim::BLOCK, number)])[0]
}

/// Whether some bits of the thread index are all zero; `None` when there are none.
pub(crate) fn thread_bits_zero(cx: &mut Cx<'_>, mask: u64) -> Option<Value> {
    if mask == 0 {
        return None;
    }
    let ids = cx.ids();
    let (bits, zero) = (cx.b.i32(mask as i32), cx.b.i32(0));
    let masked = cx.b.and(ids.thread, bits);
    Some(cx.b.icmp(IntCompare::Eq, masked, zero))
}

/// The truth values of choices, with what they change.
fn conditions(cx: &mut Cx<'_>, choices: &[Choice]) -> Vec<(Value, u32)> {
    choices.iter().map(|choice| (odd_parity(cx, choice.mask), choice.xor)).collect()
}

/// Whether an odd number of the masked bits of the thread index is set.
fn odd_parity(cx: &mut Cx<'_>, mask: u64) -> Value {
    let ids = cx.ids();
    let lanes = u64::from(cx.lanes);
    // A bit of the lane number needs no more than the lane number.
    let value = if mask < lanes {
        ids.lane
    } else if mask < lanes * u64::from(cx.num_warps) {
        ids.thread
    } else {
        cx.place_in_cluster()
    };
    let (bits, zero) = (cx.b.i32(mask as i32), cx.b.i32(0));
    let mut masked = cx.b.and(value, bits);
    if !mask.is_power_of_two() {
        let one = cx.b.i32(1);
        let count = cx.b.intrinsic(&intrinsics::CTPOP, Type::I32, &[masked]);
        masked = cx.b.and(count, one);
    }
    cx.b.icmp(IntCompare::Ne, masked, zero)
}

/// Values behind choices of their number, made when asked for and once.
struct Chosen<'c> {
    choices: &'c [(Value, u32)],
    known: FxHashMap<(usize, u32), Value>,
}

impl<'c> Chosen<'c> {
    fn new(choices: &'c [(Value, u32)]) -> Chosen<'c> {
        Chosen { choices, known: FxHashMap::default() }
    }

    fn get(&mut self, cx: &mut Cx<'_>, values: &dyn Fn(u32) -> Value, number: u32) -> Value {
        self.at(cx, values, self.choices.len(), number)
    }

    /// The value of a number after the first `level` choices.
    fn at(&mut self, cx: &mut Cx<'_>, values: &dyn Fn(u32) -> Value, level: usize, number: u32) -> Value {
        if level == 0 {
            return values(number);
        }
        if let Some(value) = self.known.get(&(level, number)) {
            return *value;
        }
        let (condition, xor) = self.choices[level - 1];
        let other = self.at(cx, values, level - 1, number ^ xor);
        let own = self.at(cx, values, level - 1, number);
        let value = cx.b.select(condition, other, own);
        self.known.insert((level, number), value);
        value
    }
}
