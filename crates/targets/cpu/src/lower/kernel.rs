//! The entry of a kernel: its parameters, the loop over programs, the body of one program.

use super::emitter::{Emitter, Frame, Kept, Note, Place, Program};
use super::error::{LowerError, Result};
use super::induction::Moves;
use super::scratch::Arena;
use super::subtarget::Subtarget;
use super::types;
use crate::abi::offsets;
use crate::dot::{Definition, amx};
use crate::host;
use ir::pass::Verify;
use ir::{FloatKind, Op, Type as IrType};
use llir::{Flags, FunctionBuilder, Param, ParamAttributes, Purity, Type, Value};
use std::cell::OnceCell;
use target::{CompileOptions, KernelParam, OVERLAPPING, ParamKind, TargetError};
use ttir::ops::dot::MatmulOp;
use ttir::ops::func::{self, FuncOp};
use ttir::passes::{FLATTEN_DESCRIPTORS, Inside, expand_descriptors, replace_calls};

/// A kernel as llir.
pub(crate) struct Lowered {
    /// The code.
    pub(crate) module: llir::Module,
    /// The symbol of the entry.
    pub(crate) name: String,
    /// What it takes.
    pub(crate) params: Vec<KernelParam>,
    /// Bytes of scratch.
    pub(crate) scratch: u64,
    /// How accesses are done; operations of the source as it was just before.
    pub(crate) notes: Vec<Note>,
    /// Which blocks go through memory between loops.
    pub(crate) kept_blocks: Vec<Kept>,
    /// That source.
    pub(crate) source: ir::Module,
    /// How many bytes of scratch, from the first on, programs of a launch leave to the next on the same thread.
    pub(crate) kept: u64,
}

/// Lowers the kernel of a module.
///
/// # Errors
/// Names what cannot be lowered, where it stands, and what to write instead.
pub(crate) fn lower(
    mut module: ir::Module,
    machine: &host::Processor,
    options: &CompileOptions,
) -> std::result::Result<Lowered, TargetError> {
    replace_calls(&mut module, Verify::Never, &mut ())
        .map_err(|errors| LowerError::from(errors[0].clone()).into_target(&module))?;
    let kernel = func::kernel_of(&module).map_err(|error| LowerError::new(error).into_target(&module))?.op;
    if !options.guarded || options.extra.contains_key(OVERLAPPING) {
        super::accesses::let_overlap(&mut module, kernel);
    }
    (FLATTEN_DESCRIPTORS.run)(&mut module)
        .and_then(|()| expand_descriptors(&mut module, Inside::Runs))
        .map_err(|error| LowerError::from(error).into_target(&module))?;
    super::fp64_dots::widen_operands(&mut module, kernel);
    super::chosen_branches::choose(&mut module, kernel);
    super::carried_reductions::shrink(&mut module, kernel);
    let moves = super::induction::simplify(&mut module, kernel);
    let machine = Subtarget::new(machine);
    super::sums_of_products::to_dots(&mut module, &machine, kernel);
    match lower_kernel(&module, kernel, moves, &machine, options) {
        Ok(made) => {
            let Made { module: out, name, params, scratch, kept, notes, kept_blocks } = made;
            Ok(Lowered { module: out, name, params, scratch, notes, kept_blocks, source: module, kept })
        }
        Err(error) => Err(error.into_target(&module)),
    }
}

/// A lowered kernel, apart from its source.
struct Made {
    module: llir::Module,
    name: String,
    params: Vec<KernelParam>,
    scratch: u64,
    kept: u64,
    notes: Vec<Note>,
    kept_blocks: Vec<Kept>,
}

/// How a parameter of a type is passed.
fn param_kind(ty: IrType) -> Result<ParamKind> {
    if ttir::types::pointee(ty).is_some() {
        return Ok(ParamKind::Pointer);
    }
    match (ty.as_int(), ty.as_float()) {
        (Some(bits @ (1 | 8 | 16 | 32 | 64)), _) => Ok(ParamKind::Int(bits)),
        (_, Some(FloatKind::BF16)) => Ok(ParamKind::Bf16),
        (_, Some(kind @ (FloatKind::F16 | FloatKind::F32 | FloatKind::F64))) => {
            Ok(ParamKind::Float(kind.bits()))
        }
        _ => Err(LowerError::new(format!("a kernel cannot take a parameter of type {ty}"))),
    }
}

/// The entry's parameters: context, arguments, first program, end, scratch.
fn entry_params() -> Vec<Param> {
    let pointer = |name: &str, attributes: ParamAttributes| Param {
        ty: Type::PTR,
        name: name.into(),
        attributes: ParamAttributes { noundef: true, ..attributes },
    };
    let number =
        |name: &str| Param { ty: Type::I64, name: name.into(), attributes: ParamAttributes::default() };
    let read = ParamAttributes { readonly: true, ..ParamAttributes::default() };
    let own = ParamAttributes { noalias: true, align: 64, ..ParamAttributes::default() };
    vec![
        pointer("context", ParamAttributes::default()),
        pointer("args", read),
        number("pid_begin"),
        number("pid_end"),
        pointer("scratch", own),
    ]
}

fn lower_kernel(
    module: &ir::Module,
    kernel: Op,
    moves: Moves,
    machine: &Subtarget,
    options: &CompileOptions,
) -> Result<Made> {
    let func = FuncOp::new(module, kernel);
    let (name, body) = (func.name().to_string(), func.entry());
    let params = module
        .args(body)
        .iter()
        .enumerate()
        .map(|(index, &arg)| {
            let name = module.name(arg).map_or_else(|| format!("arg{index}"), str::to_string);
            Ok(KernelParam { name, kind: param_kind(module.ty(arg))? })
        })
        .collect::<Result<Vec<_>>>()
        .map_err(|error| error.at(module, kernel))?;
    let mut out = llir::Module::new(&name);
    let id = out.add_function(&name, Type::I32, entry_params());
    if let Some(function) = out.function_mut(id) {
        function.attributes.push("nounwind".into());
        if machine.vector_bytes == 64 {
            function.attributes.push("\"prefer-vector-width\"=\"512\"".into());
        }
    }
    let mut b = FunctionBuilder::new(&mut out, id);
    if options.enable_fp_fusion {
        b.set_float_flags(Flags::CONTRACT);
    }
    let Programs { scratch, kept, notes, kept_blocks } = programs(module, kernel, b, moves, machine)?;
    Ok(Made { module: out, name, params, scratch, kept, notes, kept_blocks })
}

/// What comes of lowering the loop over programs.
struct Programs {
    scratch: u64,
    kept: u64,
    notes: Vec<Note>,
    kept_blocks: Vec<Kept>,
}

/// The loop over programs.
fn programs(
    module: &ir::Module,
    kernel: Op,
    mut b: FunctionBuilder<'_>,
    moves: Moves,
    machine: &Subtarget,
) -> Result<Programs> {
    let body = FuncOp::new(module, kernel).entry();
    let mut arena = Arena::default();
    let (dot_loops, tiles, kept) = super::dot_loop::prepare(module, machine, kernel, &mut arena);
    let written = super::stream::only_written(module, kernel);
    let program =
        Program { module, kernel, axis: OnceCell::new(), machine, moves, dot_loops, tiles, written };

    let (context, args, begin, end, scratch) = (b.param(0), b.param(1), b.param(2), b.param(3), b.param(4));
    let values = module.args(body);
    let arguments: Vec<Value> = values
        .iter()
        .enumerate()
        .map(|(index, &arg)| load_argument(&mut b, args, index, module.ty(arg)))
        .collect();
    let grid = [0, 1, 2].map(|axis| {
        let offset = b.i64(offsets::GRID as i64 + 4 * axis);
        let place = b.offset(context, offset);
        b.load(Type::I32, place, 4)
    });
    let [gx, gy, _] = grid.map(|size| b.resize_unsigned(size, Type::I64));
    let (x, rest) = (b.urem(begin, gx), b.udiv(begin, gx));
    let (y, z) = (b.urem(rest, gy), b.udiv(rest, gy));
    let first: Vec<Value> = [x, y, z].into_iter().map(|value| b.resize_signed(value, Type::I32)).collect();
    let one = b.i64(1);
    let gz = b.resize_unsigned(grid[2], Type::I64);
    let repeats = b.mul(gx, gy);
    let repeats = b.mul(repeats, gz);
    let dots = module.walk(kernel).into_iter().filter(|&op| MatmulOp::of(module, op).is_some());
    let takes_amx = dots.into_iter().any(|op| super::operands::takes_amx(module, machine, op));
    if takes_amx {
        call_text(&mut b, &amx::begin(), amx::BEGIN);
    }
    let opened = b.begin_for(begin, end, one, &first);
    let position = [opened.carried[0], opened.carried[1], opened.carried[2]];
    let frame = Frame { context, scratch, pid: opened.iv, position, grid };
    let mut cx = Emitter::new(&program, b, frame, arena);
    let place = Place { repeats: Some(repeats), ..Place::default() };
    cx.in_region(place, |cx| {
        cx.bind(values, &arguments);
        cx.block(body)
    })?;
    let next = next_position(&mut cx);
    cx.b.end_for(opened, &next);
    cx.fence_streams();
    if takes_amx {
        call_text(&mut cx.b, &amx::end(), amx::END);
    }
    let zero = cx.b.i32(0);
    cx.b.ret(Some(zero));
    Ok(Programs { scratch: cx.arena.size(), kept, notes: cx.notes, kept_blocks: cx.kept })
}

/// Calls a function of no arguments that is given as text.
fn call_text(b: &mut FunctionBuilder<'_>, definitions: &[Definition], symbol: &str) {
    for definition in definitions {
        b.module().attach_text(&definition.symbol, &definition.text);
    }
    b.call_symbol(symbol, Type::VOID, &[], Purity::Impure);
}

/// The position of the next program, x fastest.
fn next_position(cx: &mut Emitter<'_>) -> [Value; 3] {
    let ([x, y, z], [gx, gy, _]) = (cx.frame.position, cx.frame.grid);
    let (zero, one) = (cx.b.i32(0), cx.b.i32(1));
    let x_next = cx.b.add(x, one);
    let x_wraps = cx.b.icmp(llir::IntCompare::Eq, x_next, gx);
    let x_next = cx.b.select(x_wraps, zero, x_next);
    let y_more = cx.b.add(y, one);
    let y_next = cx.b.select(x_wraps, y_more, y);
    let y_wraps = cx.b.icmp(llir::IntCompare::Eq, y_next, gy);
    let y_wraps = cx.b.and(y_wraps, x_wraps);
    let y_next = cx.b.select(y_wraps, zero, y_next);
    let z_more = cx.b.add(z, one);
    let z_next = cx.b.select(y_wraps, z_more, z);
    [x_next, y_next, z_next]
}

/// One argument out of its slot.
fn load_argument(b: &mut FunctionBuilder<'_>, args: Value, index: usize, ty: IrType) -> Value {
    let slot = b.i64(8 * index as i64);
    let place = b.offset(args, slot);
    let loaded = b.load(types::memory(ty), place, 8);
    types::in_register(b, loaded, ty)
}
