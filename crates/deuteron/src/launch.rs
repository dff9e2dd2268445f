//! Launches whose arguments say what the kernel is compiled for, by the runtime's own rules, keys and predictions.

use crate::arg::Arg;
use crate::{Error, Options, submit};
use runtime::knobs::Settings;
use runtime::launch::{Context, Prediction, Prepared, Seen, Slots, Value, Variants};
use runtime::program::{CompiledProgram, Program};
use runtime::specialize::{Argument, DType, LaunchKey, ParamRules, decode};
use std::sync::Arc;
use target::{CompileOptions, Extent};

/// The kernels of one function.
pub(crate) struct Launcher {
    name: String,
    rules: Vec<ParamRules>,
    variants: Variants<CompiledProgram, Foreseen>,
}

/// What the next launch is expected to be.
struct Foreseen {
    /// The number of the target.
    target: u32,
    options: Options,
    variant: Arc<CompiledProgram>,
    values: Prediction<Constant>,
}

/// A value that has to come again.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Constant {
    Bool(bool),
    Int(i64),
    /// By its bits.
    Float(u64),
}

/// A value of a call.
struct Given<'a> {
    arg: &'a Arg<'a>,
    is_host: bool,
}

impl Value for Given<'_> {
    type Object = Constant;

    #[inline]
    fn is(&self, object: &Constant) -> bool {
        constant(self.arg) == Some(*object)
    }

    #[inline]
    fn int(&self) -> Option<i64> {
        if let Arg::Int(value) = self.arg { Some(*value) } else { None }
    }

    #[inline]
    fn float(&self) -> Option<f64> {
        if let Arg::Float(value) = self.arg { Some(*value) } else { None }
    }

    #[inline]
    fn memory(&self) -> Option<(DType, u64)> {
        match self.arg {
            Arg::Memory(memory) if self.is_host || !memory.is_slice() => {
                Some((memory.dtype(), memory.address()))
            }
            _ => None,
        }
    }

    #[inline]
    fn extent(&self) -> Option<Extent> {
        extent(self.arg)
    }
}

/// A number as a constant.
fn constant(arg: &Arg<'_>) -> Option<Constant> {
    match arg {
        Arg::Bool(value) => Some(Constant::Bool(*value)),
        Arg::Int(value) => Some(Constant::Int(*value)),
        Arg::Float(value) => Some(Constant::Float(value.to_bits())),
        Arg::Memory(_) | Arg::Tensor { .. } => None,
    }
}

impl Launcher {
    pub(crate) fn new(program: &Program, name: &str) -> Result<Launcher, Error> {
        Ok(Launcher { name: name.to_owned(), rules: program.rules(name)?, variants: Variants::default() })
    }

    /// Launches, after compiling where that has not been done. Without a stream it waits for the end.
    ///
    /// # Safety
    /// As [`crate::Kernel::launch_on`].
    pub(crate) unsafe fn launch(
        &self,
        program: &Program,
        context: &Context,
        place: ([u32; 3], Option<u64>),
        args: &[Arg<'_>],
        options: &Options,
    ) -> Result<(), Error> {
        if let Some(foreseen) = self.variants.prediction() {
            let mut slots = Slots::new();
            if foreseen.fits(context, args, options, &mut slots) {
                // SAFETY: such a call was launched before with this kernel; the caller vouches for the memory.
                return unsafe { submit(&foreseen.variant.kernel, place, &slots, args) };
            }
        }
        let prepared = self.prepare(context, args, options)?;
        let variant = match self.variants.find(&prepared.key) {
            Some(variant) => variant,
            None => self.compile(program, context, &prepared.key, options)?,
        };
        // SAFETY: the slots are those of the arguments that the kernel was compiled for; the caller vouches for the
        // memory.
        unsafe { submit(&variant.kernel, place, &prepared.slots, args) }?;
        self.variants
            .remember(&prepared.key, &variant, || self.foresee(context, args, options, &variant, &prepared));
        Ok(())
    }

    /// Key and slots of a call.
    fn prepare(&self, context: &Context, args: &[Arg<'_>], options: &Options) -> Result<Prepared, Error> {
        if args.len() != self.rules.len() {
            let text = format!("takes {} arguments, and {} were given", self.rules.len(), args.len());
            return Err(self.error(&text));
        }
        let is_host = context.target.arrays() == "cpu";
        let mut prepared = Prepared::new(context);
        for (at, (arg, rules)) in args.iter().zip(&self.rules).enumerate() {
            write(arg, rules, is_host, &mut prepared)
                .map_err(|text| self.error(&format!("argument {at} {text}")))?;
        }
        prepared.end_arguments(context, false);
        for (name, value) in &options.0 {
            let number = context.options.iter().position(|known| known == name);
            let number = number.and_then(|number| u16::try_from(number).ok());
            let number = number.ok_or_else(|| self.error(&format!("takes no option `{name}`")))?;
            prepared.option(context, number, value, |text, _| {
                Err(self.error(&format!("takes no text for the option `{name}`: {text}")))
            })?;
        }
        Ok(prepared)
    }

    fn error(&self, text: &str) -> Error {
        Error(format!("kernel {}: {text}", self.name))
    }

    #[cold]
    fn compile(
        &self,
        program: &Program,
        context: &Context,
        key: &LaunchKey,
        options: &Options,
    ) -> Result<Arc<CompiledProgram>, Error> {
        // Constants of a call are numbers; nothing in the key stands for an object.
        let args = decode(key.words(), &|_| unreachable!("no object was written into the key"));
        let options = runtime::options::parse(context.target.as_ref(), &options.0)?;
        let options = CompileOptions { guarded: true, ..options };
        let settings = Settings::current();
        let compiled = program.compile_for(&self.name, args, &context.target, options, &settings)?;
        Ok(self.variants.add(key.clone(), Arc::new(compiled)))
    }

    /// What may be remembered of a launch that was done.
    fn foresee(
        &self,
        context: &Context,
        args: &[Arg<'_>],
        options: &Options,
        variant: &Arc<CompiledProgram>,
        prepared: &Prepared,
    ) -> Option<Foreseen> {
        if context.checks_memory {
            return None;
        }
        let mut values = Prediction::new(args.len(), prepared);
        for (at, (arg, rules)) in args.iter().zip(&self.rules).enumerate() {
            let seen = match (arg, rules.constexpr) {
                (_, true) => Seen::Constant(constant(arg)?),
                (Arg::Memory(memory), false) => {
                    let (dtype, address) = (memory.dtype(), memory.address());
                    Seen::Memory { dtype, address, extent: extent(arg) }
                }
                (_, false) => Seen::Number(argument(arg)?, constant(arg)?),
            };
            if !values.argument(Some(at), seen, rules) {
                return None;
            }
        }
        let (options, variant) = (options.clone(), Arc::clone(variant));
        Some(Foreseen { target: context.number(), options, variant, values })
    }
}

impl Foreseen {
    /// Whether a call is like the one before; fills in its slots.
    #[inline]
    fn fits(&self, context: &Context, args: &[Arg<'_>], options: &Options, slots: &mut Slots) -> bool {
        let is_host = context.target.arrays() == "cpu";
        self.target == context.number()
            && self.values.count() == args.len()
            && self.options == *options
            && self.values.read(|at| args.get(at).map(|arg| Given { arg, is_host }), slots)
    }
}

/// A value of a run-time parameter as the rules see it.
fn argument(arg: &Arg<'_>) -> Option<Argument> {
    match arg {
        Arg::Bool(value) => Some(Argument::Bool(*value)),
        Arg::Int(value) => Some(Argument::Int(*value)),
        Arg::Float(value) => Some(Argument::Float(*value)),
        Arg::Memory(memory) => Some(Argument::Pointer { dtype: memory.dtype(), address: memory.address() }),
        Arg::Tensor { .. } => None,
    }
}

/// Writes the words and the slots of an argument.
fn write(arg: &Arg<'_>, rules: &ParamRules, is_host: bool, prepared: &mut Prepared) -> Result<(), String> {
    if rules.constexpr {
        match constant(arg) {
            Some(Constant::Bool(value)) => prepared.key.bool(value),
            Some(Constant::Int(value)) => prepared.key.int(value),
            Some(Constant::Float(bits)) => prepared.key.float(f64::from_bits(bits)),
            None => return Err("is memory, and the parameter is annotated as a constexpr".to_owned()),
        }
        return Ok(());
    }
    if let Arg::Memory(memory) = arg {
        memory.is_reachable(is_host)?;
    }
    let Some(argument) = argument(arg) else {
        return Err("is a tensor, of which only a signature says the blocks: use Kernel::compile".to_owned());
    };
    prepared.argument(rules, argument).map_err(|error| error.to_string())?;
    if let Some(extent) = extent(arg) {
        prepared.extent(&extent);
    }
    Ok(())
}

/// How far memory goes, where the argument says so.
fn extent(arg: &Arg<'_>) -> Option<Extent> {
    let Arg::Memory(memory) = arg else { return None };
    Some(Extent { base: memory.address(), len: memory.bytes()? as u64, writable: true })
}
