//! Operations that run a region on elements: reductions, scans, elementwise calls. And histograms.
//!
//! A region that only computes element by element runs once on whole lines of elements, as if its scalars were blocks;
//! one with control flow or calls runs once for each element.

use super::data::Data;
use super::interpreter::{Entry, Interpreter, Outcome};
use super::positions::AroundAxis;
use crate::ops;
use crate::ops::reduce::{HistogramOp, MapElementwiseOp, ReduceOp, ScanOp};
use crate::types::{elem, numel, shape};
use ir::{Block, Module, Op, Traits};

/// Rows of this file.
pub(super) const TABLE: &[Entry] = &[
    (&ops::reduce::REDUCE, reduce),
    (&ops::reduce::SCAN, scan),
    (&ops::reduce::MAP_ELEMENTWISE, map_elementwise),
    (&ops::reduce::HISTOGRAM, histogram),
];

/// Whether running a block on blocks instead of scalars is running it on each element.
fn is_elementwise(module: &Module, block: Block) -> bool {
    module.ops(block).all(|op| {
        let traits = module.row(op).traits;
        [Traits::ELEMENTWISE, Traits::CONSTANT, Traits::TERMINATOR].iter().any(|&fine| traits.has(fine))
    })
}

/// Runs the block of a region `count` times, once with each element of the arguments.
fn run_each(
    interpreter: &mut Interpreter<'_>,
    block: Block,
    args: &[Data],
    count: usize,
) -> Outcome<Vec<Data>> {
    if is_elementwise(interpreter.module, block) {
        return interpreter.run_block(block, args);
    }
    let mut results: Vec<Vec<Data>> = Vec::with_capacity(count);
    for index in 0..count {
        let scalars: Vec<Data> = args.iter().map(|data| data.permute(1, |_| index)).collect();
        results.push(interpreter.run_block(block, &scalars)?);
    }
    let width = results.first().map_or(0, Vec::len);
    Ok((0..width)
        .map(|result| {
            let parts: Vec<&Data> = results.iter().map(|each| &each[result]).collect();
            Data::pick(&parts, count, |index| (index, 0))
        })
        .collect())
}

fn entry(interpreter: &Interpreter<'_>, op: Op) -> Block {
    interpreter.module.entry_of(op)
}

/// Combines neighbours until one element of each line is left. The last one of an odd number waits.
pub(crate) fn reduce(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let block = entry(interpreter, op);
    let of = ReduceOp::new(interpreter.module, op);
    let mut line = AroundAxis::new(shape(interpreter.module.ty(of.srcs()[0])), of.axis());
    let mut current = interpreter.operands(op);
    while line.size > 1 {
        let half = line.size / 2;
        let last = (line.size % 2 == 1).then(|| line.size - 1);
        let target = AroundAxis { size: half, ..line };
        let count = half * line.lines();
        // Lines lie behind each other, so their pairs are numbered through, where none has an element left over.
        let side = |data: &Data, which: usize| match (line.inner, last) {
            (1, None) => data.every_second(count, which),
            (inner, None) => {
                data.permute(count, |position| (2 * (position / inner) + which) * inner + position % inner)
            }
            (_, Some(_)) => data.permute(count, |position| {
                let (number, pair) = locate(target, position);
                line.position(number, 2 * pair + which)
            }),
        };
        let args: Vec<Data> = [0, 1]
            .into_iter()
            .flat_map(|which| current.iter().map(move |data| (data, which)))
            .map(|(data, which)| side(data, which))
            .collect();
        let combined = run_each(interpreter, block, &args, count)?;
        let Some(last) = last else {
            (current, line) = (combined, target);
            continue;
        };
        let longer = AroundAxis { size: half + 1, ..line };
        let with_last = |(combined, before): (&Data, &Data)| {
            Data::pick(&[combined, before], longer.size * longer.lines(), |position| {
                let (number, along) = locate(longer, position);
                if along < half {
                    (0, target.position(number, along))
                } else {
                    (1, line.position(number, last))
                }
            })
        };
        current = combined.iter().zip(&current).map(with_last).collect();
        line = longer;
    }
    interpreter.set_results(op, current);
    Ok(())
}

/// Which line a position belongs to, and where on it it stands.
fn locate(line: AroundAxis, position: usize) -> (usize, usize) {
    let (outer, rest) = (position / (line.size * line.inner), position % (line.size * line.inner));
    (outer * line.inner + rest % line.inner, rest / line.inner)
}

/// Goes along the axis, all lines at once.
pub(crate) fn scan(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let block = entry(interpreter, op);
    let of = ScanOp::new(interpreter.module, op);
    let line = AroundAxis::new(shape(interpreter.module.ty(of.srcs()[0])), of.axis());
    let reverse = of.reverse();
    let sources = interpreter.operands(op);
    let place = |step: usize| if reverse { line.size - 1 - step } else { step };
    let slice = |step: usize| -> Vec<Data> {
        sources
            .iter()
            .map(|data| data.permute(line.lines(), |number| line.position(number, place(step))))
            .collect()
    };
    let mut steps = vec![slice(0)];
    for step in 1..line.size {
        let mut args = steps[step - 1].clone();
        args.extend(slice(step));
        steps.push(run_each(interpreter, block, &args, line.lines())?);
    }
    let results = (0..sources.len())
        .map(|result| {
            let parts: Vec<&Data> = steps.iter().map(|each| &each[result]).collect();
            Data::pick(&parts, line.size * line.lines(), |position| {
                let (number, along) = locate(line, position);
                (place(along), number)
            })
        })
        .collect();
    interpreter.set_results(op, results);
    Ok(())
}

/// Runs the region for each group of `pack` neighbours. Its arguments are the neighbours of the first operand, then
/// those of the second, …; its results likewise.
pub(crate) fn map_elementwise(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let block = entry(interpreter, op);
    let of = MapElementwiseOp::new(interpreter.module, op);
    let pack = of.pack();
    let total = numel(interpreter.module.ty(of.srcs()[0])) as usize;
    let count = total / pack;
    let args: Vec<Data> = interpreter
        .operands(op)
        .iter()
        .flat_map(|data| (0..pack).map(move |lane| data.permute(count, |index| index * pack + lane)))
        .collect();
    let returned = run_each(interpreter, block, &args, count)?;
    let results = returned
        .chunks(pack)
        .map(|lanes| {
            let parts: Vec<&Data> = lanes.iter().collect();
            Data::pick(&parts, total, |index| (index % pack, index / pack))
        })
        .collect();
    interpreter.set_results(op, results);
    Ok(())
}

/// Counts the numbers below the number of bins.
pub(crate) fn histogram(interpreter: &mut Interpreter<'_>, op: Op) -> Outcome<()> {
    let of = HistogramOp::new(interpreter.module, op);
    let ty = interpreter.module.ty(of.src());
    let source = interpreter.get(of.src()).clone();
    let mask = of.mask().map(|mask| interpreter.get(mask).clone());
    let result = interpreter.result_ty(op);
    let width = elem(result).as_int().expect("verified: counts are integers");
    let mut counts = vec![0u64; numel(result) as usize];
    for position in 0..numel(ty) as usize {
        let element = super::access::Element { op, shape: shape(ty), position, pointer: None };
        if !interpreter.mask_holds(element, mask.as_ref())? {
            continue;
        }
        interpreter.require(element, &source, "the counted number")?;
        if let Some(count) = usize::try_from(source.at(position)).ok().and_then(|bin| counts.get_mut(bin)) {
            *count = ir::scalar::truncate(width, *count + 1);
        }
    }
    interpreter.set_result(op, Data::each(counts));
    Ok(())
}
