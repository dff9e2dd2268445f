//! Dots by the matrix instruction of four warps, `wgmma.mma_async`: the right operand (and mostly the left) is read
//! from shared memory, the result is in registers and arrives later.
//!
//! Input: `ttng.warp_group_dot`, its result of the encoding of version 3; `ttng.warp_group_dot_wait`;
//! `ttng.fence_async_shared`. Each warp group makes tiles of 64 rows and the columns of the encoding's instruction. The
//! registers of the sums are tied to the results: they must stay where they are while instructions are under way.

use super::descriptor::{Major, Tile};
use super::kinds::{self, Kind};
use super::pack::{pack, pack_narrow};
use crate::lower::instruction::{Instruction, Sequence};
use ir::{Def, Module, Op, Traits, Value as IrValue};
use lanes::pairs::{Offsets, accumulator_fragment, row_fragment};
use lanes::{Cx, LaneValue, Positions, Result};
use layout::{Dim, LinearLayout};
use llir::{Op as LlirOp, Type, Value, Values};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::collections::hash_map::Entry;
use std::rc::Rc;
use ttgir::ops::barrier::FenceAsyncSharedOp;
use ttgir::ops::group_dot::{WarpGroupDotOp, WarpGroupDotWaitOp};
use ttgir::{Encoding, SharedEncoding, shape_per_block};
use ttir::ops::extern_call::InlineAsmOp;
use ttir::types::{elem, elem_bits, is_tensor, numel};

/// Rows of one instruction.
const ROWS: u32 = 64;
/// Instructions along k that begin together where the left operand is unpacked for them (mxfp4 weights).
const STEPS_OF_PART: usize = 2;
/// Warps that work together.
const GROUP: u32 = 4;

/// The left or right operand.
enum Operand {
    /// In shared memory: the descriptor of the corner of the group's part.
    Shared { tile: Tile, corner: Value },
    /// In registers.
    Registers { positions: Positions, registers: Rc<[Value]>, offsets: Offsets },
}

/// A dot that is being lowered.
struct GroupDot {
    op: Op,
    kind: [&'static Kind; 2],
    sum: (&'static str, Type),
    columns: u32,
    /// Elements of k of one instruction.
    depth: u32,
    a: Operand,
    b: Operand,
    /// Whether what is in the sums before counts; a value where only the kernel knows.
    keep: Keep,
}

/// Whether the first instruction adds to what the sums were.
#[derive(Clone, Copy)]
enum Keep {
    Always,
    Never,
    If(Value),
}

/// Lowers `ttng.warp_group_dot`.
pub(crate) fn lower_dot(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let group_dot = group_dot(cx, op)?;
    let result = cx.module.result(op, 0);
    let layout = cx.layout(cx.module.ty(result))?;
    let positions = Positions::of(&layout);
    let sum_offsets = accumulator_fragment(ROWS, group_dot.columns);
    let dot = WarpGroupDotOp::new(cx.module, op);
    let mut sums = cx.registers(dot.c())?.to_vec();
    let depth = depth_of(cx, dot.a());
    let corners = positions.corners(ROWS, group_dot.columns);
    let steps: Vec<u32> = (0..depth).step_by(group_dot.depth as usize).collect();
    // What an instruction reads from registers is written before the fence.
    let mut left = FxHashMap::default();
    for corner in &corners {
        for &k in &steps {
            if let Entry::Vacant(entry) = left.entry((corner[1], k)) {
                entry.insert(words(cx, &group_dot, &group_dot.a, [corner[1], k])?);
            }
        }
    }
    note_reads(cx, &group_dot, (corners.len() * steps.len()) as u64);
    let mut tiles = Vec::with_capacity(corners.len());
    for corner in corners {
        let registers = positions
            .fragment(corner, &sum_offsets)
            .ok_or_else(|| cx.error(op, "the result's encoding does not have the instruction's shape"))?;
        let mut chain = SmallVec::new();
        for &k in &steps {
            let right = words(cx, &group_dot, &group_dot.b, [corner[2], k])?;
            chain.push([left[&(corner[1], k)].clone(), right]);
        }
        tiles.push((registers, chain));
    }
    if let Some(most) = most_steps(&group_dot, &dot, depth) {
        add_partial_sums(cx, &group_dot, &tiles, most, &mut sums);
        positions.copy_repeated(&mut sums);
        cx.set_result(op, LaneValue::tensor(sums));
        return Ok(());
    }
    let last = tiles.len().saturating_sub(1);
    let mut words = packed_sums(cx, &tiles, &sums);
    let is_open = tiles.len() > 1 && !matches!(group_dot.keep, Keep::Never);
    if is_open {
        open(cx, &mut words);
    }
    let mut packed = Vec::new();
    // Parts of a dot with a fence each: what they read from registers may be computed while those before go on.
    let part = if is_unpacked(cx.module, &dot) { STEPS_OF_PART } else { steps.len() };
    let is_whole = part >= steps.len();
    for (index, ((registers, chain), words)) in tiles.into_iter().zip(words).enumerate() {
        let mut made: Values = words.into_iter().collect();
        for (number, chunk) in chain.chunks(part).enumerate() {
            let ends = (number + 1) * part >= chain.len();
            let opens = !is_whole || index == 0 && !is_open;
            let keep = if number == 0 { group_dot.keep } else { Keep::Always };
            let borders = Borders { opens, closes: ends && index == last, keep };
            made = multiply(cx, &group_dot, chunk, &made, borders);
        }
        if made.len() < registers.len() {
            packed.push((registers, made));
            continue;
        }
        for (at, value) in registers.iter().zip(made) {
            sums[*at as usize] = value;
        }
    }
    if !packed.is_empty() {
        wait_and_unpack(cx, packed, &mut sums);
    } else if !dot.is_async() {
        wait(cx, 0, &mut sums);
    }
    positions.copy_repeated(&mut sums);
    cx.set_result(op, LaneValue::tensor(sums));
    Ok(())
}

/// Whether the left operand is computed from fewer bits, at most 5/8 as many: weights of 4 or 8 bits, and their scales.
fn is_unpacked(module: &Module, dot: &WarpGroupDotOp<'_>) -> bool {
    if ttgir::types::memdesc(module.ty(dot.a())).is_some() {
        return false;
    }
    let bits = |value: IrValue| {
        let ty = module.ty(value);
        numel(ty) as u64 * u64::from(elem_bits(elem(ty)))
    };
    let most = bits(dot.a()) / 8 * 5;
    let home = module.block_of(dot.op);
    let computes = |&made: &Op| {
        let is_plain = module.has(made, Traits::PURE) || InlineAsmOp::of(module, made).is_some();
        is_plain && module.block_of(made) == home && module.regions(made).is_empty()
    };
    let (mut from, mut stack, mut seen) = (0, vec![dot.a()], FxHashSet::default());
    while let Some(value) = stack.pop().filter(|_| from <= most) {
        match module.def_op(value).filter(computes) {
            Some(made) => {
                let operands = module.operands(made).iter().copied();
                stack.extend(operands.filter(|&of| is_tensor(module.ty(of)) && seen.insert(of)));
            }
            None if module.constant(value).is_some() => {}
            None => from += bits(value),
        }
    }
    from <= most
}

/// After how many instructions along k the sums are taken out of the matrix units, which keep few bits of sums of 8-bit
/// floats: what `max_num_imprecise_acc` asks for. `None` where it does not matter.
fn most_steps(group_dot: &GroupDot, dot: &WarpGroupDotOp<'_>, depth: u32) -> Option<usize> {
    let asked = u32::try_from(dot.max_imprecise()).ok().filter(|asked| (1..=depth).contains(asked))?;
    let is_fp8 = group_dot.kind.iter().all(|kind| kind.bytes == 1 && kind.format.is_some());
    (is_fp8 && group_dot.sum.0 == "f32").then_some((asked / group_dot.depth).max(1) as usize)
}

/// The registers of the sums of each tile, two sums of 16 bits in one. All are written before the fence of the first
/// tile: what is written behind it is not seen by the instructions.
fn packed_sums(cx: &mut Cx<'_>, tiles: &[OneTile], sums: &[Value]) -> Vec<SmallVec<[Value; 16]>> {
    let mut packed = |(registers, _): &OneTile| {
        let tile: Vec<Value> = registers.iter().map(|at| sums[*at as usize]).collect();
        pack_narrow(&mut cx.b, &tile)
    };
    tiles.iter().map(&mut packed).collect()
}

/// The fence before the instructions of several tiles. The sums pass through it: one whose register others read as well
/// (sums that begin alike, or are stored too) is copied, and the copy for a later tile must not lie behind the fence.
fn open(cx: &mut Cx<'_>, words: &mut [SmallVec<[Value; 16]>]) {
    let all: Vec<Value> = words.iter().flatten().copied().collect();
    let fence = Instruction::new("wgmma.fence.sync.aligned").passing(&all);
    let after = fence.effect(&mut cx.b).expect("it has results");
    for (word, after) in words.iter_mut().flatten().zip(cx.b.parts(after)) {
        *word = after;
    }
}

/// Adds the dot to the sums, `most` instructions along k at a time.
fn add_partial_sums(
    cx: &mut Cx<'_>,
    group_dot: &GroupDot,
    tiles: &[OneTile],
    most: usize,
    sums: &mut [Value],
) {
    sums_before(cx, group_dot.keep, sums);
    let steps = tiles.iter().map(|(_, chain)| chain.len()).max().unwrap_or(0);
    let last = tiles.len().saturating_sub(1);
    for first in (0..steps).step_by(most) {
        let end = steps.min(first + most);
        let mut parts: Vec<Value> = Vec::new();
        let words = packed_sums(cx, tiles, sums);
        for (index, ((_, chain), words)) in tiles.iter().zip(words).enumerate() {
            let borders = Borders { opens: index == 0, closes: index == last, keep: Keep::Never };
            parts.extend(multiply(cx, group_dot, &chain[first..end], &words, borders));
        }
        wait(cx, 0, &mut parts);
        let registers = tiles.iter().flat_map(|(registers, _)| registers);
        for (at, part) in registers.zip(parts) {
            let sum = &mut sums[*at as usize];
            *sum = cx.b.fadd(*sum, part);
        }
    }
}

/// The sums before: zeros where what is there does not count.
fn sums_before(cx: &mut Cx<'_>, keep: Keep, sums: &mut [Value]) {
    for sum in sums {
        let ty = cx.b.ty(*sum);
        let zero = cx.b.float(ty, 0.0);
        *sum = match keep {
            Keep::Always => *sum,
            Keep::Never => zero,
            Keep::If(flag) => cx.b.select(flag, *sum, zero),
        };
    }
}

/// Waits for sums of which two share a register, and takes them apart. Taken apart before, they would be read while the
/// instructions are under way; so a dot with such sums is waited for at once, asynchronous or not.
fn wait_and_unpack(cx: &mut Cx<'_>, packed: Vec<(SmallVec<[u32; 16]>, Values)>, sums: &mut [Value]) {
    let mut words: Vec<Value> = packed.iter().flat_map(|(_, words)| words).copied().collect();
    wait(cx, 0, &mut words);
    let mut words = words.into_iter();
    for (registers, made) in packed {
        for (pair, word) in registers.chunks(2).zip(words.by_ref().take(made.len())) {
            let ty = cx.b.ty(sums[pair[0] as usize]);
            let vector = cx.b.bitcast(word, ty.vector(2));
            for (lane, at) in pair.iter().enumerate() {
                sums[*at as usize] = cx.b.extract(vector, lane as u32);
            }
        }
    }
}

/// Writes down what so many instructions of each warp group read from shared memory: each its operands once, for all
/// four warps.
fn note_reads(cx: &mut Cx<'_>, group_dot: &GroupDot, instructions: u64) {
    let of = |operand: &Operand, outer: u32, kind: &Kind| match operand {
        Operand::Shared { .. } => u64::from(outer * group_dot.depth * kind.bytes),
        Operand::Registers { .. } => 0,
    };
    let bytes =
        of(&group_dot.a, ROWS, group_dot.kind[0]) + of(&group_dot.b, group_dot.columns, group_dot.kind[1]);
    cx.note_matrix_reads(instructions * u64::from(cx.num_warps / GROUP), bytes);
}

/// Lowers `ttng.warp_group_dot_wait`: all but so many dots are finished; results are the operands after that.
///
/// Registers pass through the wait where somebody might read them before it: where they come from outside the block,
/// what reads them may be moved there. Elsewhere the wait alone stands between the dot and its readers.
pub(crate) fn lower_wait(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let of = WarpGroupDotWaitOp::new(cx.module, op);
    let (pendings, inputs) = (of.pendings(), of.inputs());
    let home = cx.module.block_of(op);
    let is_from_here = |input: &IrValue| match cx.module.def(*input) {
        Def::Result(made, _) => cx.module.block_of(made) == home,
        Def::Arg(block, _) => Some(block) == home,
    };
    let passes: Vec<bool> = inputs.iter().map(|input| !is_from_here(input)).collect();
    let mut values = Vec::with_capacity(inputs.len());
    let mut registers: Vec<Value> = Vec::new();
    for (input, passes) in inputs.iter().zip(&passes) {
        let value = cx.get(*input)?;
        if let LaneValue::Tensor(held) = &value
            && *passes
        {
            registers.extend_from_slice(held);
        }
        values.push(value);
    }
    wait(cx, pendings, &mut registers);
    let mut after = registers.into_iter();
    let results = cx.module.results(op).to_vec();
    for ((result, value), passes) in results.into_iter().zip(values).zip(passes) {
        let value = match value {
            LaneValue::Tensor(_) if passes => value.rebuild(&mut after),
            other => other,
        };
        cx.set(result, value);
    }
    Ok(())
}

/// Lowers `ttng.fence_async_shared`: what lanes wrote to shared memory is seen by the matrix units.
pub(crate) fn lower_fence(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let space = if FenceAsyncSharedOp::new(cx.module, op).cluster() { "cluster" } else { "cta" };
    Instruction::new(format!("fence.proxy.async.shared::{space}")).effect(&mut cx.b);
    Ok(())
}

/// Waits for all but so many groups. The registers pass through, so that nobody reads them before.
fn wait(cx: &mut Cx<'_>, pendings: u32, registers: &mut [Value]) {
    if registers.is_empty() {
        Instruction::new("wgmma.wait_group.sync.aligned").constant(pendings).effect(&mut cx.b);
        return;
    }
    let wait = Instruction::new("wgmma.wait_group.sync.aligned").constant(pendings).passing(registers);
    let after = wait.effect(&mut cx.b).expect("it has results");
    registers.copy_from_slice(&cx.b.parts(after));
}

/// Elements of k of an operand.
fn depth_of(cx: &Cx<'_>, operand: IrValue) -> u32 {
    let ty = cx.module.ty(operand);
    let shape =
        ttgir::types::memdesc(ty).map_or_else(|| ttir::types::shape(ty).to_vec(), |desc| desc.shape.to_vec());
    shape.last().map_or(1, |size| *size as u32)
}

/// Collects what an instruction needs.
fn group_dot(cx: &mut Cx<'_>, op: Op) -> Result<GroupDot> {
    let dot = WarpGroupDotOp::new(cx.module, op);
    let result = cx.module.ty(dot.d());
    let element =
        |ty: ir::Type| ttgir::types::memdesc(ty).map_or_else(|| ttir::types::elem(ty), |desc| desc.elem);
    let [a_ty, b_ty] = [dot.a(), dot.b()].map(|operand| cx.module.ty(operand));
    let none = |cx: &Cx<'_>| cx.error(op, format!("no matrix instruction multiplies {a_ty} and {b_ty}"));
    let (Some(a_kind), Some(b_kind), Some(sum)) =
        (kinds::kind(element(a_ty)), kinds::kind(element(b_ty)), kinds::sum(ttir::types::elem(result)))
    else {
        return Err(none(cx));
    };
    let Some(Encoding::Mma { instr_shape, .. }) = Encoding::of(result) else { return Err(none(cx)) };
    let columns = instr_shape[1];
    let layout = cx.layout(result)?;
    let group = group_bases(&layout);
    let a = operand(cx, op, (Side::Left, dot.a()), &group, a_kind)?;
    let b = operand(cx, op, (Side::Right, dot.b()), &group, b_kind)?;
    let keep = keep(cx, op)?;
    Ok(GroupDot { op, kind: [a_kind, b_kind], sum, columns, depth: 32 / a_kind.bytes, a, b, keep })
}

/// Row and column where each bit of the number of the warp group begins.
fn group_bases(layout: &LinearLayout) -> Vec<(u32, u32)> {
    let warps = layout.ins().bits(Dim::WARP);
    (GROUP.trailing_zeros()..warps)
        .map(|bit| {
            let at = layout.apply(&[(Dim::WARP, 1 << bit)]);
            let along =
                |dim: usize| at.iter().find(|(out, _)| *out == Dim::block(dim)).map_or(0, |(_, at)| *at);
            (along(0), along(1))
        })
        .collect()
}

/// Whether the sums count: the optional operand says so, or they are zeros.
fn keep(cx: &mut Cx<'_>, op: Op) -> Result<Keep> {
    let dot = WarpGroupDotOp::new(cx.module, op);
    if let Some(value) = dot.use_c() {
        let flag = cx.scalar(value)?;
        return Ok(match cx.b.as_int(flag) {
            Some(0) => Keep::Never,
            Some(_) => Keep::Always,
            None => Keep::If(flag),
        });
    }
    let sums = cx.registers(dot.c())?;
    let zero = sums.iter().all(|value| cx.b.is_zero(*value));
    Ok(if zero { Keep::Never } else { Keep::Always })
}

/// Which operand of the dot.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// Finds where an operand is.
fn operand(
    cx: &mut Cx<'_>,
    op: Op,
    (side, value): (Side, IrValue),
    group: &[(u32, u32)],
    kind: &Kind,
) -> Result<Operand> {
    let ty = cx.module.ty(value);
    let Some(desc) = ttgir::types::memdesc(ty) else {
        let positions = Positions::of(&*cx.layout(ty)?);
        let registers = cx.registers(value)?;
        return Ok(Operand::Registers {
            positions,
            registers,
            offsets: row_fragment(16, 32, 4 / kind.bytes),
        });
    };
    let Some(SharedEncoding::Nvmma { swizzling_byte_width, transposed, cga, .. }) = SharedEncoding::of(ty)
    else {
        return Err(cx.error(op, "an operand in shared memory has not the encoding of the matrix units"));
    };
    if *swizzling_byte_width == 0 {
        return Err(
            cx.error(op, "an operand in shared memory is too narrow for the matrix units: no swizzle")
        );
    }
    let rank = desc.shape.len();
    let alloc = shape_per_block(cga, &desc.alloc_shape[desc.alloc_shape.len() - rank..]);
    let rows = if *transposed { alloc[rank - 1] } else { alloc[rank - 2] } as u32;
    let along_k = (side == Side::Left) != *transposed;
    let major = if along_k { Major::K } else { Major::Outer };
    if major == Major::Outer && kind.bytes != 2 {
        return Err(cx.error(op, "only 16-bit operands may be transposed in shared memory"));
    }
    let tile = Tile { span: *swizzling_byte_width, element: kind.bytes, rows, major };
    let address = address(cx, op, (side, value), &tile)?;
    let corner = corner(cx, &tile, address, side, group);
    Ok(Operand::Shared { tile, corner })
}

/// Where the operand begins, as a 32-bit address.
fn address(cx: &mut Cx<'_>, op: Op, (side, value): (Side, IrValue), tile: &Tile) -> Result<Value> {
    let LaneValue::Shared(memory) = cx.get(value)? else {
        return Err(cx.error(op, "an operand is not in shared memory"));
    };
    let base = cx.b.cast(LlirOp::PTRTOINT, memory.base, Type::I32);
    let place: Option<Vec<i128>> = memory.offsets.iter().map(|offset| cx.b.as_int(*offset)).collect();
    let offset = match place.as_deref() {
        Some([]) => 0,
        Some([.., row, column]) => {
            let (outer, k) = if side == Side::Left { (*row, *column) } else { (*column, *row) };
            tile.offset(outer as u32, k as u32)
        }
        _ => return Err(cx.error(op, "an operand is part of a buffer at a place that only the kernel knows")),
    };
    let offset = cx.b.i32(offset as i32);
    Ok(cx.b.add(base, offset))
}

/// The descriptor of the first element that this warp group reads.
fn corner(cx: &mut Cx<'_>, tile: &Tile, start: Value, side: Side, group: &[(u32, u32)]) -> Value {
    let mut address = start;
    let warp = cx.ids().warp;
    for (bit, (row, column)) in group.iter().enumerate() {
        let offset = tile.offset(if side == Side::Left { *row } else { *column }, 0);
        if offset == 0 {
            continue;
        }
        let by = cx.b.i32((bit as u32 + GROUP.trailing_zeros()) as i32);
        let (one, offset) = (cx.b.i32(1), cx.b.i32(offset as i32));
        let shifted = cx.b.lshr(warp, by);
        let set = cx.b.and(shifted, one);
        let bytes = cx.b.mul(set, offset);
        address = cx.b.add(address, bytes);
    }
    // The address field has 14 bits of 16-byte units.
    let mask = cx.b.i32(0x3ffff);
    let inside = cx.b.and(address, mask);
    let four = cx.b.i32(4);
    let units = cx.b.lshr(inside, four);
    let wide = cx.b.cast(LlirOp::ZEXT, units, Type::I64);
    let rest = cx.b.i64(tile.descriptor() as i64);
    cx.b.or(wide, rest)
}

/// What stands around the instructions of a tile.
#[derive(Clone, Copy)]
struct Borders {
    /// The fence before the first instruction of a dot.
    opens: bool,
    /// The end of the group of instructions after the last.
    closes: bool,
    /// Whether the first adds to what the sums were.
    keep: Keep,
}

/// The left and the right operand of the instructions of a tile, one after the other along k.
type Chain = SmallVec<[Step; 4]>;
type Step = [SmallVec<[Value; 4]>; 2];

/// A tile: the numbers of the registers of its sums, and its operands.
type OneTile = (SmallVec<[u32; 16]>, Chain);

/// The instructions of one tile, which is one piece of assembly: the sums have a name in it once, however deep k is.
/// Sums of 16 bits are and come back two to the register.
fn multiply(
    cx: &mut Cx<'_>,
    group_dot: &GroupDot,
    chain: &[Step],
    packed: &[Value],
    borders: Borders,
) -> Values {
    let count = packed.len();
    let [kind, right] = group_dot.kind;
    let (sum, part) = group_dot.sum;
    let name = format!(
        "wgmma.mma_async.sync.aligned.m64n{}k{}.{sum}.{}.{}",
        group_dot.columns, group_dot.depth, kind.operand, right.operand
    );
    let mut lines = Sequence::default();
    if borders.opens {
        lines.push(Instruction::new("wgmma.fence.sync.aligned"));
    }
    for (step, [left, right]) in chain.iter().enumerate() {
        let mut multiply = Instruction::new(name.as_str()).tuple(part, count);
        if step == 0 && !matches!(borders.keep, Keep::Never) {
            // Sums that do not count need not be there.
            multiply = multiply.kept(packed);
        }
        let keeps = match (step, borders.keep) {
            (0, Keep::Never) => cx.b.bool(false),
            (0, Keep::If(flag)) => flag,
            _ => cx.b.bool(true),
        };
        multiply = multiply.registers(left).registers(right).register(keeps);
        lines.push(tail(group_dot).fold(multiply, Instruction::constant));
    }
    if borders.closes {
        lines.push(Instruction::new("wgmma.commit_group.sync.aligned"));
    }
    let result = lines.effect(&mut cx.b).expect("it has results");
    cx.b.parts(result)
}

/// The operands of one instruction that stand for a matrix: a descriptor, or registers.
fn words(
    cx: &mut Cx<'_>,
    group_dot: &GroupDot,
    operand: &Operand,
    [outer, k]: [u32; 2],
) -> Result<SmallVec<[Value; 4]>> {
    match operand {
        Operand::Shared { tile, corner } => {
            let offset = tile.offset(outer, k) / 16;
            let offset = cx.b.i64(i64::from(offset));
            Ok(SmallVec::from_slice(&[cx.b.add(*corner, offset)]))
        }
        Operand::Registers { positions, registers, offsets } => {
            let held = positions.fragment([0, outer, k], offsets).ok_or_else(|| {
                cx.error(group_dot.op, "the left operand's encoding does not belong to the result's")
            })?;
            let values: Vec<Value> = held.iter().map(|at| registers[*at as usize]).collect();
            Ok(pack(&mut cx.b, &values).into_iter().collect())
        }
    }
}

/// The numbers behind the operands: scales for floats, transposition for 16-bit operands in shared memory.
fn tail(group_dot: &GroupDot) -> impl Iterator<Item = i64> {
    let [kind, _] = group_dot.kind;
    let scales = if kind.format.is_some() { [1, 1].as_slice() } else { &[] };
    let transposed = [&group_dot.a, &group_dot.b].into_iter().filter_map(move |operand| match operand {
        Operand::Shared { tile, .. } if kind.bytes == 2 => Some(i64::from(tile.major == Major::Outer)),
        _ => None,
    });
    scales.iter().copied().chain(transposed)
}
