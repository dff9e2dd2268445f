//! Modules and kernels: signatures, parameters, what a launch needs.
//!
//! A kernel's parameters are those of its function in order, then the addresses of the two scratch regions. Functions
//! that are called are made where they are called first, or lowered there (`ops/func.rs`).

use crate::context::{Cx, CxParts};
use crate::error::{Error, Result, at};
use crate::facts::{Facts, Notes, Options, Scratch};
use crate::ops::{self, roles};
use crate::roles::Roles;
use crate::shared::{self, Planner};
use crate::size;
use crate::target::LaneTarget;
use crate::types;
use crate::value::LaneValue;
use ir::{Block, Module, Op, Type};
use llir::{Flags, FunctionBuilder, IntCompare, Param, ParamAttributes};
use std::rc::Rc;
use ttgir::ops::bulk::GlobalScratchAllocOp;
use ttir::ops::func::{self, FuncOp};

/// A lowered module.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The code.
    pub module: llir::Module,
    /// What its kernels need.
    pub kernels: Vec<Facts>,
}

/// Lowers every kernel of a verified module.
///
/// # Errors
/// One for each kernel that cannot be lowered, with the place of the operation that is the reason.
pub fn lower(
    module: &Module,
    target: &dyn LaneTarget,
    options: &Options,
) -> std::result::Result<Lowered, Vec<Error>> {
    lower_noting(module, target, options, None)
}

/// The same, which also writes down what it decides for the last kernel.
pub(crate) fn lower_noting(
    module: &Module,
    target: &dyn LaneTarget,
    options: &Options,
    mut notes: Option<&mut Notes>,
) -> std::result::Result<Lowered, Vec<Error>> {
    let mut lowered = llir::Module::new("kernels");
    target.start_module(&mut lowered);
    lowered.print_locations = options.line_info;
    let mut kernels = Vec::new();
    let mut errors: Vec<Error> = Vec::new();
    for kernel in func::kernels(module) {
        match lower_kernel(&mut lowered, (module, kernel.op), target, options, notes.as_deref_mut()) {
            Ok(facts) => kernels.push(facts),
            Err(error) => errors.push(error),
        }
    }
    if !errors.is_empty() {
        return Err(errors);
    }
    llir::remove_unused(&mut lowered);
    Ok(Lowered { module: lowered, kernels })
}

/// The shared memory that the kernels of a verified module need, also where a machine has less.
///
/// # Errors
/// When an operation cannot be lowered at all.
pub fn shared_bytes(module: &Module, target: &dyn LaneTarget) -> Result<u64> {
    let mut most = 0;
    for kernel in func::kernels(module) {
        let facts = start_facts(module, kernel.op, target)?;
        let mut planner = Planner::new(module, kernel.op, &facts, target);
        let memory = (ops::needs(), target.machine().shared_bytes);
        most = most.max(shared::bytes(module, kernel.op, &mut planner, memory)?);
    }
    Ok(u64::from(most))
}

fn lower_kernel(
    lowered: &mut llir::Module,
    (module, op): (&Module, Op),
    target: &dyn LaneTarget,
    options: &Options,
    notes: Option<&mut Notes>,
) -> Result<Facts> {
    let mut facts = start_facts(module, op, target)?;
    size::check(module, &ttgir::roots::reachable(module, op), facts.lanes * facts.num_warps)?;
    let mut planner = Planner::new(module, op, &facts, target);
    let limit = target.machine().shared_bytes;
    let shared = shared::plan(module, op, &mut planner, (ops::needs(), limit))?;
    facts.shared_bytes = shared.bytes;
    let roles = Roles::of(module, op, facts.num_warps, target);
    if facts.paired && roles.is_none() {
        return Err(at(
            module,
            op,
            "programs are in pairs where their warps have roles, and these have none",
        ));
    }
    facts.total_warps = roles.as_ref().map_or(facts.num_warps, |roles| roles.total_warps);
    let name = facts.name.clone();
    let entry = module.entry_of(op);
    let params = params(module, op, &facts)?;
    let id = lowered.add_function(&name, llir::Type::VOID, params);
    if let Some(function) = lowered.function_mut(id) {
        let (kernel, attributes) = target.kernel(module, facts.lanes * facts.total_warps);
        let blocks = if facts.paired { 2 } else { facts.num_blocks };
        let cluster = (blocks > 1).then_some([blocks, 1, 1]);
        let max_registers = roles.as_ref().and_then(Roles::entry_registers).or(kernel.max_registers);
        function.kernel = Some(llir::Kernel { cluster, max_registers, ..kernel });
        function.attributes = attributes;
    }
    let mut b = FunctionBuilder::new(lowered, id);
    b.set_float_flags(float_flags(options));
    let axis = ttir::axis::analyze(module, op);
    let mut cx =
        Cx::new(CxParts { module, b, target, options, handler: ops::handler, axis, facts, planner, shared });
    cx.notes = notes.is_some().then(Notes::default);
    for (index, arg) in module.args(entry).iter().enumerate() {
        let value = cx.b.param(index);
        if number(module, entry, index, &func::POINTER_RANGE) == Some(32) {
            cx.affine.is_near(value);
        }
        cx.set(*arg, LaneValue::Scalar(value));
    }
    match roles {
        Some(roles) => roles::lower_kernel(&mut cx, entry, &Rc::new(roles))?,
        None if cx.planner.is_one_lane() => lower_for_first(&mut cx, entry)?,
        None => cx.lower_block(entry)?,
    }
    cx.b.set_loc(None);
    if cx.shared.read_at_end {
        cx.program_barrier();
    }
    cx.b.ret(None);
    if let (Some(notes), Some(made)) = (notes, cx.notes.take()) {
        *notes = Notes { buffers: std::mem::take(&mut cx.shared.buffers), ..made };
    }
    Ok(cx.facts)
}

/// The first lane runs the program; the others are done at once.
fn lower_for_first(cx: &mut Cx<'_>, entry: Block) -> Result<()> {
    let (thread, zero) = (cx.target.thread_id(&mut cx.b), cx.b.i32(0));
    let is_first = cx.b.icmp(IntCompare::Eq, thread, zero);
    let mut branch = cx.b.begin_if(is_first);
    cx.lower_block(entry)?;
    cx.b.begin_else(&mut branch, &[]);
    cx.b.end_if(branch, &[]);
    Ok(())
}

/// What float instructions may do.
pub(crate) fn float_flags(options: &Options) -> Flags {
    if options.fuse_multiply_add { Flags::CONTRACT } else { Flags::NONE }
}

/// The device's memory that a kernel asks for: each program has all of its allocations side by side.
fn scratch_of(module: &Module, kernel: Op) -> Scratch {
    let allocations = ttgir::roots::reachable(module, kernel).into_iter();
    let allocations = allocations.filter_map(|op| GlobalScratchAllocOp::of(module, op));
    let all = allocations.fold(Scratch::default(), |all, alloc| Scratch {
        bytes: all.bytes.next_multiple_of(u64::from(alloc.alignment())) + u64::from(alloc.nbytes()),
        align: all.align.max(alloc.alignment()),
    });
    Scratch { bytes: all.bytes.next_multiple_of(u64::from(all.align.max(1))), ..all }
}

fn start_facts(module: &Module, op: Op, target: &dyn LaneTarget) -> Result<Facts> {
    let config = ttgir::Config::of(module).map_err(|message| at(module, op, message))?;
    let facts = Facts {
        name: FuncOp::new(module, op).name().into(),
        params: param_names(module, op),
        lanes: config.threads_per_warp,
        num_warps: config.num_warps,
        num_blocks: config.num_ctas,
        paired: ttgir::is_paired(module),
        global_scratch: scratch_of(module, op),
        ..Facts::default()
    };
    let most = target.machine().cluster;
    if facts.num_blocks > most {
        let message =
            format!("num_ctas is {}, the machine has clusters of up to {most} blocks", facts.num_blocks);
        return Err(at(module, op, message));
    }
    Ok(facts)
}

/// The names of the parameters as the source has them, else by their position.
fn param_names(module: &Module, op: Op) -> Vec<String> {
    let entry = module.entry_of(op);
    let name = |(index, arg): (usize, &ir::Value)| {
        let name = module.name(*arg).or_else(|| module.locs.name(module.arg_loc(entry, index)));
        name.map_or_else(|| format!("arg{index}"), str::to_owned)
    };
    module.args(entry).iter().enumerate().map(name).collect()
}

fn params(module: &Module, op: Op, facts: &Facts) -> Result<Vec<Param>> {
    let entry = module.entry_of(op);
    let mut params: Vec<Param> = Vec::new();
    for (index, arg) in module.args(entry).iter().enumerate() {
        let ty = module.ty(*arg);
        if (ttir::types::DESCRIPTOR.check)(ty) {
            params.push(map_param(&facts.params[index]));
            continue;
        }
        if !ttir::types::is_scalar(ty) {
            return Err(unpassable(module, op, ty));
        }
        let align = ttir::types::pointee(ty).and_then(|_| number(module, entry, index, &func::DIVISIBILITY));
        let attributes = ParamAttributes { align: align.map_or(0, alignment), ..ParamAttributes::default() };
        params.push(Param { ty: types::register(ty), name: facts.params[index].clone(), attributes });
    }
    for name in ["global_scratch", "profile_scratch"] {
        let attributes = ParamAttributes::default();
        params.push(Param { ty: llir::Type::pointer(1), name: name.into(), attributes });
    }
    unique_names(&mut params);
    Ok(params)
}

/// What an address that is divisible by a number is aligned to, which is a power of two. More than a line helps no
/// access.
fn alignment(divisor: u32) -> u32 {
    const LINE: u32 = 128;
    1 << divisor.trailing_zeros().min(LINE.trailing_zeros())
}

/// A number that an attribute of a parameter says.
fn number(module: &Module, entry: ir::Block, index: usize, key: &ir::DeclaredKey) -> Option<u32> {
    let (_, attr) = module.arg_attrs(entry, index).iter().find(|(own, _)| own.name() == key.name)?;
    attr.as_int().and_then(|number| u32::try_from(number).ok())
}

/// A tensor descriptor as the machine reads it, which is part of the launch; the kernel sees its address.
fn map_param(name: &str) -> Param {
    let attributes = ParamAttributes { align: 64, by_value: 128, ..ParamAttributes::default() };
    Param { ty: llir::Type::pointer(0), name: name.into(), attributes }
}

/// Parameters may share a name in the source; here they may not.
fn unique_names(params: &mut [Param]) {
    let mut seen = rustc_hash::FxHashSet::default();
    for (index, param) in params.iter_mut().enumerate() {
        if !seen.insert(param.name.clone()) {
            param.name = format!("{}.{index}", param.name);
            seen.insert(param.name.clone());
        }
    }
}

fn unpassable(module: &Module, op: Op, ty: Type) -> Error {
    at(module, op, format!("a kernel cannot take a parameter of type {ty}; pass a pointer or a scalar"))
}
