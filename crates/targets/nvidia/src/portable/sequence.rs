//! Inline assembly of several instructions, one after the other without jumps, as operations: on blocks where an
//! element is a run of the text, else in the region of a `tt.map_elementwise`, whose scalars are packed into words as
//! the lanes of a GPU pack them.
//!
//! Registers are integers of 8, 16, 32 and 64 bits, and truth values. A text with an instruction that is not known here
//! stays as it is.

use super::compute::Compute;
use super::text::{self, Text};
use ir::{Attr, Module, Op, OpInit, Place, Type, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use ttir::ops::arith_cast::{EXTUI, TRUNCI, TT_BITCAST};
use ttir::ops::extern_call::InlineAsmOp;
use ttir::ops::reduce::{MAP_ELEMENTWISE, MAP_ELEMENTWISE_RETURN};
use ttir::types::{elem, is_tensor, numel, pointee};

/// The operands and results of one run of a text.
struct Run {
    /// Types of the elements of results.
    results: Vec<Type>,
    /// Elements of each operand and result.
    pack: usize,
    constraints: Constraints,
    text: Text,
}

/// What the constraints say of words.
struct Constraints {
    /// For each word of a result, the bits of the register that its letter names.
    outputs: Vec<u32>,
    /// For each word of an operand, the same, or the result whose register it begins in.
    inputs: Vec<Input>,
}

/// Where a word of an operand is.
enum Input {
    Own(u32),
    Tied(usize),
}

/// Puts operations in place of a text; whether it did.
pub(super) fn replace(module: &mut Module, op: Op) -> bool {
    let of = InlineAsmOp::new(module, op);
    let Some(text) = text::parse(of.asm_string()) else { return false };
    let (args, results) = (of.args().to_vec(), module.results(op).to_vec());
    let pack = of.packed_element() as usize;
    let constraints = constraints(of.constraints());
    let types = |values: &[Value]| values.iter().map(|&value| module.ty(value)).collect::<Vec<_>>();
    let (arg_types, result_types) = (types(&args), types(&results));
    let is_number = |ty: &Type| pointee(*ty).is_none() && elem(*ty).scalar_bits().is_some();
    let Some(&shape) = result_types.first() else { return false };
    if !arg_types.iter().chain(&result_types).all(is_number) {
        return false;
    }
    let run = Run { results: result_types.iter().map(|&ty| elem(ty)).collect(), pack, constraints, text };
    let made = if pack == 1 {
        let mut compute = Compute::new(module, Place::Before(op), shape);
        run.emit(&mut compute, &args.iter().map(|&arg| vec![arg]).collect::<Vec<_>>())
            .map(|values| values.concat())
    } else {
        map(module, op, &run, &args)
    };
    let Some(made) = made else { return false };
    for (result, value) in results.into_iter().zip(made) {
        module.replace_uses(result, value);
    }
    module.erase(op);
    true
}

/// Constraints are those of results, then those of operands.
fn constraints(text: &str) -> Constraints {
    let all: Vec<&str> = text.split(',').map(str::trim).filter(|part| !part.starts_with('~')).collect();
    let count = all.iter().take_while(|part| part.starts_with('=')).count();
    let (outputs, inputs) = all.split_at(count);
    Constraints {
        outputs: outputs.iter().map(|part| letter_bits(part)).collect(),
        inputs: inputs
            .iter()
            .map(|part| part.parse().map_or_else(|_| Input::Own(letter_bits(part)), Input::Tied))
            .collect(),
    }
}

/// Bits of the registers that a letter stands for; 0 for others.
fn letter_bits(constraint: &str) -> u32 {
    match constraint.trim_start_matches(['=', '&']) {
        "h" => 16,
        "r" | "f" => 32,
        "l" | "d" => 64,
        _ => 0,
    }
}

/// The region for each few neighbours; its results.
fn map(module: &mut Module, op: Op, run: &Run, args: &[Value]) -> Option<Vec<Value>> {
    let count = args.first().map(|&arg| module.ty(arg)).filter(|&ty| is_tensor(ty)).map(numel)?;
    if run.pack == 0 || count % run.pack as i64 != 0 || !args.iter().all(|&arg| is_tensor(module.ty(arg))) {
        return None;
    }
    let init = OpInit {
        operands: SmallVec::from_slice(args),
        results: module.results(op).iter().map(|&result| module.ty(result)).collect(),
        attrs: [Some(Attr::i32(run.pack as i32))].into_iter().collect(),
        regions: 1,
    };
    let map = module.create(&MAP_ELEMENTWISE, init, module.loc(op));
    module.insert_before(op, map);
    let region = module.region(map, 0);
    let block = module.add_block(region);
    let elements: Vec<Vec<Value>> = args
        .iter()
        .map(|&arg| {
            let ty = elem(module.ty(arg));
            (0..run.pack).map(|_| module.add_arg(block, ty)).collect()
        })
        .collect();
    let mut compute = Compute::new(module, Place::End(block), run.results[0]);
    let Some(made) = run.emit(&mut compute, &elements) else {
        module.erase(map);
        return None;
    };
    compute.builder().build_effect(&MAP_ELEMENTWISE_RETURN, &made.concat(), &[]);
    Some(module.results(map).to_vec())
}

impl Run {
    /// The elements of each result, from those of each operand.
    fn emit(&self, compute: &mut Compute<'_>, args: &[Vec<Value>]) -> Option<Vec<Vec<Value>>> {
        let mut words = Vec::new();
        for values in args {
            words.extend(pack(compute, values)?);
        }
        let counts: Vec<usize> = self.results.iter().map(|&ty| words_of(ty, self.pack)).collect();
        let outputs: usize = counts.iter().sum();
        let told = (self.constraints.outputs.len(), self.constraints.inputs.len());
        if (outputs, words.len()) != told {
            return None;
        }
        let mut registers: FxHashMap<String, (u32, Option<Value>)> = FxHashMap::default();
        for (name, bits) in &self.text.registers {
            registers.insert(name.clone(), (*bits, None));
        }
        for (number, bits) in self
            .results
            .iter()
            .zip(&counts)
            .flat_map(|(&ty, &count)| vec![width(ty, self.pack); count])
            .enumerate()
        {
            let bits = bits.max(self.constraints.outputs[number]);
            registers.insert(format!("${number}"), (bits, None));
        }
        for (index, (word, input)) in words.into_iter().zip(&self.constraints.inputs).enumerate() {
            // A narrow number in a wide register has zeros above it.
            let wide = |compute: &mut Compute<'_>, bits: u32| {
                let own = elem(compute.ty(word)).as_int()?;
                Some(if own < bits { compute.resized(word, bits) } else { word })
            };
            let word = match *input {
                Input::Own(bits) => wide(compute, bits)?,
                Input::Tied(tied) => {
                    let own = registers.get_mut(&format!("${tied}"))?;
                    let word = wide(compute, own.0)?;
                    own.1 = Some(word).filter(|&word| elem(compute.ty(word)).as_int() == Some(own.0));
                    own.1?
                }
            };
            let bits = elem(compute.ty(word)).as_int()?;
            registers.insert(format!("${}", outputs + index), (bits, Some(word)));
        }
        for instruction in &self.text.instructions {
            compute.instruction(instruction, &mut registers)?;
        }
        let mut number = 0;
        let mut results = Vec::new();
        for (&ty, count) in self.results.iter().zip(counts) {
            let own: Option<Vec<Value>> =
                (number..number + count).map(|number| registers.get(&format!("${number}"))?.1).collect();
            number += count;
            results.push(unpack(compute, ty, &own?, self.pack)?);
        }
        Some(results)
    }
}

/// Elements of a type that share a word.
pub(super) fn per_word(ty: Type) -> usize {
    let bits = elem(ty).scalar_bits().unwrap_or(64).max(8) as usize;
    (32 / bits).max(1)
}

/// Words that so many elements take.
fn words_of(ty: Type, pack: usize) -> usize {
    if pack == 1 { 1 } else { pack.div_ceil(per_word(ty)) }
}

/// Bits of a register for elements of a type: truth values have 32, single bytes 16.
fn width(ty: Type, pack: usize) -> u32 {
    match elem(ty).scalar_bits().unwrap_or(64) {
        _ if pack > 1 && per_word(ty) > 1 => 32,
        1 => 32,
        8 => 16,
        bits => bits,
    }
}

/// Elements in words.
fn pack(compute: &mut Compute<'_>, values: &[Value]) -> Option<Vec<Value>> {
    let ty = elem(compute.ty(*values.first()?));
    let bits = ty.scalar_bits()?;
    let integers: Vec<Value> =
        values.iter().map(|&value| compute.cast(&TT_BITCAST, value, Type::int(bits))).collect();
    let (pack, width) = (values.len(), width(ty, values.len()));
    if pack == 1 || per_word(ty) == 1 {
        return Some(integers.into_iter().map(|value| compute.resized(value, width)).collect());
    }
    let step = bits.max(8);
    let words = integers.chunks(per_word(ty)).map(|chunk| {
        let mut word = compute.number(width, 0);
        for (index, &value) in chunk.iter().enumerate() {
            let part = compute.resized(value, width);
            let part = compute.shifted_left(part, step * index as u32);
            word = compute.or(word, part);
        }
        word
    });
    Some(words.collect())
}

/// Elements out of words.
fn unpack(compute: &mut Compute<'_>, ty: Type, words: &[Value], pack: usize) -> Option<Vec<Value>> {
    let (bits, each) = (ty.scalar_bits()?, per_word(ty));
    let mut values = Vec::new();
    for index in 0..pack {
        let (word, part) = if pack == 1 || each == 1 { (index, 0) } else { (index / each, index % each) };
        let value = compute.shifted_right(*words.get(word)?, bits.max(8) * part as u32);
        let value = compute.resized(value, bits);
        values.push(compute.cast(&TT_BITCAST, value, ty));
    }
    Some(values)
}

impl Compute<'_> {
    /// An integer of another width, filled up with zeros.
    pub(super) fn resized(&mut self, value: Value, bits: u32) -> Value {
        match elem(self.ty(value)).as_int() {
            Some(own) if own < bits => self.cast(&EXTUI, value, Type::int(bits)),
            Some(own) if own > bits => self.cast(&TRUNCI, value, Type::int(bits)),
            _ => value,
        }
    }
}
