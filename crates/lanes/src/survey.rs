//! What the lowering of a kernel decides, for reports: its notes, the dots, and the instructions worth counting.
//!
//! Barriers and other instructions are counted in the code that came out.

use crate::error::Error;
use crate::facts::{Notes, Options};
use crate::kernel::{Lowered, lower_noting};
use crate::notes::pass_bytes;
use crate::target::LaneTarget;
use ir::{Module, Value};
use llir::{Callee, InstData, Payload};
use std::collections::BTreeMap;
use target::survey::{DotFacts, Event, Survey};
use ttgir::Encoding;
use ttir::ops::dot::MatmulOp;

/// Says what instructions are, if they are worth counting.
#[derive(Clone, Copy)]
pub struct Classify {
    /// What a call is.
    pub call: fn(&Callee) -> Option<&'static str>,
    /// What the first of the kind in a template is, its own name, and how many of the kind the template holds.
    pub template: fn(&str) -> Option<(&'static str, String, u64)>,
}

/// Lowers the kernel of a module and tells what was decided.
///
/// # Errors
/// As [`crate::lower`].
pub fn survey(
    module: Module,
    target: &dyn LaneTarget,
    options: &Options,
    classify: Classify,
) -> std::result::Result<Survey, Vec<Error>> {
    let mut notes = Notes::default();
    let lowered = lower_noting(&module, target, options, Some(&mut notes))?;
    let facts = lowered.kernels.last().expect("a module that is lowered has a kernel");
    let events = events(&lowered, &facts.name, classify);
    let dots = dots(&module);
    Ok(Survey {
        lanes: facts.lanes,
        warps: facts.num_warps,
        accesses: notes.accesses,
        moves: notes.moves,
        dots,
        buffers: notes.buffers,
        shared_bytes: u64::from(facts.shared_bytes),
        shared: notes.shared,
        pass_bytes: pass_bytes(target.machine()),
        events,
        module,
    })
}

/// The instructions of a function that are worth counting.
fn events(lowered: &Lowered, name: &str, classify: Classify) -> Vec<Event> {
    let module = &lowered.module;
    let Some(function) = module.find(name).and_then(|id| module.function(id)) else { return Vec::new() };
    let files: BTreeMap<_, _> = module.files().collect();
    let counted = |data: &InstData| match &data.payload {
        Payload::Callee(callee) => {
            let callee = module.callee(*callee);
            (classify.call)(callee).map(|what| (what, callee.name.clone(), 1))
        }
        Payload::Asm(asm) => (classify.template)(&asm.text),
        _ => None,
    };
    let mut counts = BTreeMap::new();
    for block in &function.layout {
        for inst in &function.block(*block).insts {
            let Some((what, text, times)) = counted(function.inst(*inst)) else { continue };
            let place = function.location_of(*inst).map(|at| {
                (files.get(&at.file).map(|file| (*file).to_owned()).unwrap_or_default(), at.line, at.column)
            });
            *counts.entry((what, text, place)).or_insert(0) += times;
        }
    }
    counts.into_iter().map(|((what, text, place), count)| Event { what, text, place, count }).collect()
}

/// All dots.
fn dots(module: &Module) -> Vec<DotFacts> {
    let ops = module.walk(module.top()).into_iter();
    ops.filter_map(|op| MatmulOp::of(module, op)).map(|op| dot(module, op)).collect()
}

fn dot(module: &Module, dot: MatmulOp<'_>) -> DotFacts {
    let (op, a, result) = (dot.op, dot.a(), dot.d());
    let dims = ttir::types::shape(module.ty(result));
    let rank = dims.len();
    let batch: i64 = dims[..rank - 2].iter().product();
    let depth = ttgir::ops::scaled_dot::depth(module, dot);
    let matrix =
        matches!(Encoding::of(module.ty(result)), Some(Encoding::Mma { .. } | Encoding::Fragments(_)));
    let from = |operand: Value| {
        let is_shared = ttgir::types::memdesc(module.ty(operand)).is_some();
        if is_shared { "shared memory" } else { "registers" }
    };
    let elem = match ttgir::types::memdesc(module.ty(a)) {
        Some(desc) => desc.elem,
        None => ttir::types::elem(module.ty(a)),
    };
    DotFacts {
        op,
        shape: [dims[rank - 2], dims[rank - 1], depth, batch].map(|size| size as u64),
        matrix,
        rate: rate(elem, ttir::types::elem(module.ty(result)), matrix),
        operands: [from(a), from(dot.b())],
        why_not: if matrix { None } else { ttgir::passes::no_matrix_instruction(module, op) },
    }
}

/// The name of the rate at which such numbers are multiplied.
fn rate(elem: ir::Type, sum: ir::Type, matrix: bool) -> String {
    let name = if !matrix {
        sum.to_string()
    } else if elem == ir::Type::float(ir::FloatKind::F32) {
        "tf32".into()
    } else {
        elem.to_string()
    };
    if matrix { format!("matrix {name}") } else { name }
}
