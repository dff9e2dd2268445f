//! The beginning and end of a compile: the kernel's own frame and function op.

use crate::codegen::flow::Flow;
use crate::codegen::scope::{Frame, Locals};
use crate::codegen::value::{Descriptor, Tensor, Tuple, Val};
use crate::codegen::{Ctx, Res};
use crate::diagnostic::{Diagnostic, Kind};
use crate::dtype::DType;
use crate::ops::descriptor::ir_type_of;
use crate::params::{self, ParamInfo};
use crate::parse::ParsedFunction;
use crate::request::{ArgSpec, Compiled, DescriptorSpec, Known, Request};
use crate::signature;
use crate::typing::Ty;
use ir::{Attr, DeclaredKey, Place, Type};
use ruff_text_size::{Ranged, TextRange};
use rustc_hash::{FxHashMap, FxHashSet};
use std::rc::Rc;
use std::sync::Arc;
use ttir::ops::func;

/// Bytes of stack that the deepest walk takes, with room to spare.
const STACK_NEEDED: usize = 4 << 20;
/// Bytes of stack to make where there is less.
const STACK_MADE: usize = 32 << 20;

/// Compiles a kernel to ttir.
///
/// # Errors
/// Everything that is wrong with the kernel, each with its place and a way out.
pub fn compile(request: &Request<'_>) -> Result<Compiled, Vec<Diagnostic>> {
    // The nesting that is allowed fits in this on any thread; where there is room already, nothing happens.
    stacker::maybe_grow(STACK_NEEDED, STACK_MADE, || compile_here(request))
}

fn compile_here(request: &Request<'_>) -> Result<Compiled, Vec<Diagnostic>> {
    let mut ctx = Ctx::new(request);
    let outcome = ctx.kernel();
    if outcome.is_err() || !ctx.diagnostics.is_empty() {
        return Err(ctx.into_diagnostics());
    }
    ctx.erase_unused_constants();
    let Ctx { module, dependencies, warnings, .. } = ctx;
    match ir::verify(&module) {
        Ok(()) => Ok(Compiled { module, dependencies, warnings }),
        Err(errors) => Err(errors.into_iter().map(internal).collect()),
    }
}

/// What the verifier says is our fault: rules of the language are checked before.
fn internal(error: ir::Diagnostic) -> Diagnostic {
    let message = format!("internal error (please report it): {error}");
    Diagnostic::without_place(Kind::Compilation, message)
}

/// By how many elements rows of a multiple of 16 bytes are divisible.
fn row_divisor(spec: &DescriptorSpec) -> i32 {
    let bytes = spec.element.facts().bits.div_ceil(8).max(1);
    (16 / bytes).max(1) as i32
}

impl<'a> Ctx<'a> {
    /// The beginning of a compile.
    pub(crate) fn new(request: &'a Request<'a>) -> Ctx<'a> {
        let module = ttir::new_module();
        let known_loc = Some(module.locs.unknown());
        let place = Place::End(module.body());
        Ctx {
            request,
            module,
            place,
            known_loc,
            at: TextRange::default(),
            frames: Vec::new(),
            parsed: FxHashMap::default(),
            known_globals: FxHashMap::default(),
            ir_types: FxHashMap::default(),
            discarded: None,
            instances: Vec::new(),
            depth: 0,
            repeats: 0,
            granted: crate::extension::Extensions::default(),
            in_defaults: false,
            diagnostics: Vec::new(),
            warnings: Vec::new(),
            dependencies: Vec::new(),
        }
    }
}

impl Ctx<'_> {
    pub(crate) fn into_diagnostics(mut self) -> Vec<Diagnostic> {
        if self.diagnostics.is_empty() {
            let message = "internal error (please report it): the compile stopped without saying why";
            self.diagnostics.push(Diagnostic::without_place(Kind::Compilation, message));
        }
        self.diagnostics
    }

    /// Constants that were folded away, or that stood for numbers nobody read.
    fn erase_unused_constants(&mut self) {
        for op in self.module.walk(self.module.top()) {
            let unused = self.module.results(op).iter().all(|value| self.module.is_unused(*value));
            if unused && self.module.has(op, ir::Traits::CONSTANT) {
                self.module.erase(op);
            }
        }
    }

    fn kernel(&mut self) -> Res<()> {
        let function = self.request.function.clone();
        let parsed = self.parsed_function(&function)?;
        self.frames.push(Frame {
            parsed: parsed.clone(),
            locals: Locals::default(),
            pending_constexprs: FxHashSet::default(),
            call: TextRange::default(),
            call_loc: None,
            initializes: false,
            loops: 0,
            returned: None,
            looks_for_value: false,
        });
        let infos = params::of(&parsed);
        let name = parsed.ast.name.clone();
        self.at(&name, |ctx| ctx.check_arguments(&parsed, &infos))?;
        let block = self.at(&name, |ctx| ctx.open_function(&parsed))?;
        self.place = Place::End(block);
        let bound = self.at(&name, |ctx| ctx.bind_parameters(&infos, block))?;
        let op = self.module.region_parent(self.module.block_region(block));
        let types: Vec<Type> = self.module.args(block).iter().map(|value| self.module.ty(*value)).collect();
        if let Some(op) = op {
            func::FuncOp::set_ty(&mut self.module, op, Type::function(types, Vec::new()));
        }
        self.frame().locals = bound;
        let flow = self.block(&parsed.ast.body, None);
        if let Flow::Return(val) = flow
            // Constants are no values where the kernel runs.
            && !matches!(val, Val::Const(_) | Val::Poison)
        {
            let message = format!("a kernel cannot return a value, found {}", val.describe());
            return Err(self.report(
                Kind::Compilation,
                message,
                name.range(),
                &["store it through a pointer argument"],
            ));
        }
        self.at(&name, |ctx| ctx.emit_effect(&func::RETURN, &[], &[]));
        Ok(())
    }

    fn check_arguments(&mut self, parsed: &ParsedFunction, infos: &[ParamInfo]) -> Res<()> {
        let (name, args) = (&parsed.ast.name, &self.request.args);
        if infos.len() != args.len() {
            let (expected, given) = (infos.len(), args.len());
            let list: Vec<&str> = infos.iter().map(|info| info.name.as_str()).collect();
            return Err(self.error_help(
                format!("the kernel `{name}` has {expected} parameters, but {given} arguments were given"),
                &format!("its parameters are: {}", list.join(", ")),
            ));
        }
        for (info, arg) in infos.iter().zip(args) {
            let ty = match arg {
                ArgSpec::Runtime { ty, .. } => ty.to_string(),
                ArgSpec::Descriptor(spec) => signature::descriptor_text(spec),
                ArgSpec::Constexpr(_) | ArgSpec::Tuple { .. } => continue,
            };
            if info.is_constexpr {
                let own = &info.name;
                return Err(self.error_help(
                    format!(
                        "parameter `{own}` is a constexpr, but a run-time argument of type {ty} was given"
                    ),
                    "give its value when compiling",
                ));
            }
        }
        Ok(())
    }

    /// The function op without parameters yet; gives its block.
    fn open_function(&mut self, parsed: &ParsedFunction) -> Res<ir::Block> {
        let symbol = self.request.symbol.clone();
        let attrs = [
            Some(Attr::Symbol(symbol.unwrap_or_else(|| Arc::from(parsed.ast.name.as_str())))),
            Some(Attr::Type(Type::function(Vec::new(), Vec::new()))),
            Some(Attr::str("public")),
            Some(Attr::Bool(false)),
        ];
        let op = self.emit_op(&func::FUNC, &[], &attrs, &[]);
        let (top, loc) = (self.module.top(), self.module.loc(op));
        self.module.set_loc(top, loc);
        let region = self.module.region(op, 0);
        Ok(self.module.add_block(region))
    }

    fn bind_parameters(&mut self, infos: &[ParamInfo], block: ir::Block) -> Res<Locals> {
        let mut locals = Locals::default();
        let args = self.request.args.clone();
        for (info, arg) in infos.iter().zip(&args) {
            let val = self.parameter(&info.name, arg, block)?;
            locals.insert(info.name.as_str().into(), val);
        }
        Ok(locals)
    }

    fn parameter(&mut self, name: &str, arg: &ArgSpec, block: ir::Block) -> Res<Val> {
        match arg {
            ArgSpec::Constexpr(value) => Ok(Val::from_py(value.clone())),
            ArgSpec::Runtime { ty, known: Known { divisibility, near, one } } => {
                let divisible =
                    (*divisibility > 1).then(|| (&func::DIVISIBILITY, Attr::i32(i32::from(*divisibility))));
                let near = near.then(|| (&func::POINTER_RANGE, Attr::i32(32)));
                let known = divisible.into_iter().chain(near);
                let passed = self.number_parameter(name, Ty::scalar(*ty), known, block)?;
                Ok(Val::Tensor(if *one { self.one_of(passed) } else { passed }))
            }
            ArgSpec::Descriptor(spec) => {
                self.check(spec.check().map_err(|message| format!("parameter `{name}`: {message}")))?;
                self.descriptor_parameter(name, spec, block).map(|made| Val::Descriptor(Rc::new(made)))
            }
            ArgSpec::Tuple { items, fields } => {
                let mut vals = Vec::new();
                for (index, item) in items.iter().enumerate() {
                    let part = fields.as_ref().and_then(|fields| fields.get(index)).cloned();
                    let part = part.unwrap_or_else(|| index.to_string());
                    vals.push(self.parameter(&format!("{name}.{part}"), item, block)?);
                }
                let fields = fields
                    .as_ref()
                    .map(|fields| fields.iter().map(|field| Arc::from(field.as_str())).collect());
                Ok(Val::Tuple(Rc::new(Tuple { items: vals, fields })))
            }
        }
    }

    /// A number or pointer, with what is known of it.
    fn number_parameter(
        &mut self,
        name: &str,
        ty: Ty,
        known: impl IntoIterator<Item = (&'static DeclaredKey, Attr)>,
        block: ir::Block,
    ) -> Res<Tensor> {
        let ir_type = self.ir_type(&ty)?;
        let value = self.add_parameter(name, ir_type, known, block);
        Ok(Tensor { value, ty })
    }

    /// The 1 that a parameter is known to be, of its type.
    fn one_of(&mut self, passed: Tensor) -> Tensor {
        let ir_type = self.module.ty(passed.value);
        Tensor { value: self.constant_bits(ir_type, 1), ty: passed.ty }
    }

    fn add_parameter(
        &mut self,
        name: &str,
        ty: Type,
        known: impl IntoIterator<Item = (&'static DeclaredKey, Attr)>,
        block: ir::Block,
    ) -> ir::Value {
        let value = self.module.add_arg(block, ty);
        let index = self.module.args(block).len() - 1;
        self.module.set_name(value, name);
        let loc = self.loc();
        self.module.set_arg_loc(block, index, loc);
        for (key, attr) in known {
            self.module.set_arg_attr(block, index, key.key(), Some(attr));
        }
        value
    }

    /// A tensor descriptor that was checked: itself, then its sizes and strides.
    pub(crate) fn descriptor_parameter(
        &mut self,
        name: &str,
        spec: &DescriptorSpec,
        block: ir::Block,
    ) -> Res<Descriptor> {
        let ty = Ty { scalar: spec.element.into(), shape: spec.block.iter().copied().collect() };
        let elem = self.ir_scalar(ty.scalar)?;
        let dims: Vec<i64> = spec.block.iter().map(|dim| i64::from(*dim)).collect();
        let flags = [(&func::PADS_NAN, spec.pads_nan), (&func::ROUNDS_TO_TF32, spec.rounds_to_tf32)];
        let flags = flags.into_iter().filter(|(_, on)| *on).map(|(key, _)| (key, Attr::Bool(true)));
        let value = self.add_parameter(name, ir_type_of(spec.element, &dims, elem), flags, block);
        let (mut shape, mut strides) = (Vec::new(), Vec::new());
        for dim in 0..dims.len() {
            let divides = spec.divisible_by_16 && dim + 1 == dims.len();
            let known = divides.then(|| (&func::DIVISIBILITY, Attr::i32(row_divisor(spec))));
            let name = format!("{name}.shape.{dim}");
            shape.push(self.number_parameter(&name, Ty::scalar(DType::Int32), known, block)?);
        }
        for dim in 0..dims.len() {
            let name = format!("{name}.stride.{dim}");
            strides.push(self.number_parameter(&name, Ty::scalar(DType::Int64), None, block)?);
        }
        Ok(Descriptor {
            value,
            made_of: None,
            rounds_to_tf32: spec.rounds_to_tf32,
            block: ty,
            shape,
            strides,
        })
    }
}
