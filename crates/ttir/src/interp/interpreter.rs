//! The state of a run, and how one operation after another is executed.

use super::Hooks;
use super::data::{Data, Origin, Side, Undefined};
use super::error::{RunError, RunErrorKind};
use super::memory::Memory;
use super::others::Others;
use super::whole;
use crate::types::{elem, shape};
use ir::{Block, EvalArgs, Module, Op, OpRow, Traits, Type, Value};
use smallvec::SmallVec;
use std::sync::Arc;

/// The result of a step. Errors are rare and large, so they are boxed.
pub(crate) type Outcome<T> = Result<T, Box<RunError>>;

/// Runs one operation: reads its operands, sets its results.
pub(crate) type Handler = fn(&mut Interpreter<'_>, Op) -> Outcome<()>;

/// A row and the function that runs it.
pub(super) type Entry = (&'static OpRow, Handler);

/// The function that runs operations of a row; none where their meaning is the row's own.
pub(crate) type FindHandler = fn(&'static OpRow) -> Option<Handler>;

/// A program in the middle of its run.
pub(crate) struct Interpreter<'a> {
    /// The code.
    pub(crate) module: &'a Module,
    /// What it may touch.
    pub(crate) memory: &'a mut Memory,
    /// Where its output goes.
    pub(crate) hooks: &'a mut dyn Hooks,
    /// The grid.
    pub(crate) grid: [u32; 3],
    /// Which program of the grid runs.
    pub(crate) program: [u32; 3],
    /// How many calls are open.
    pub(crate) depth: usize,
    /// The programs that follow, where all of them run here.
    pub(super) others: Option<Others>,
    handler: FindHandler,
    watched: bool,
    frame: Vec<Option<Data>>,
}

impl<'a> Interpreter<'a> {
    pub(crate) fn new(
        module: &'a Module,
        grid: [u32; 3],
        memory: &'a mut Memory,
        hooks: &'a mut dyn Hooks,
        handler: FindHandler,
    ) -> Interpreter<'a> {
        let frame = vec![None; module.num_values()];
        let watched = hooks.watches();
        Interpreter {
            module,
            memory,
            hooks,
            grid,
            program: [0; 3],
            depth: 0,
            others: None,
            handler,
            watched,
            frame,
        }
    }

    /// Runs a block with these arguments; gives the operands of its terminator.
    pub(crate) fn run_block(&mut self, block: Block, args: &[Data]) -> Outcome<Vec<Data>> {
        let module = self.module;
        for (&value, data) in module.args(block).iter().zip(args) {
            self.set(value, data.clone());
        }
        if self.watched {
            self.show(module.args(block));
        }
        for op in module.ops(block) {
            if module.has(op, Traits::TERMINATOR) {
                return Ok(self.operands(op));
            }
            self.run_op(op)?;
            if self.watched {
                self.show(module.results(op));
            }
        }
        Ok(Vec::new())
    }

    /// Tells the caller values that were computed. Inside a region that runs on whole lines at once, the elements of a
    /// scalar are more than one, and are not told.
    fn show(&mut self, values: &[Value]) {
        for &value in values {
            let data = self.get(value);
            let count = crate::types::numel(self.module.ty(value)) as usize;
            if data.kept() != 1 && data.kept() != count {
                continue;
            }
            let elements: Vec<Option<u64>> =
                (0..count).map(|index| (!data.is_undefined(index)).then(|| data.at(index))).collect();
            self.hooks.computed(value, &elements);
        }
    }

    fn run_op(&mut self, op: Op) -> Outcome<()> {
        let row = self.module.row(op);
        if let Some(handler) = (self.handler)(row) {
            return handler(self, op);
        }
        if row.traits.has(Traits::ELEMENTWISE) && row.eval.is_some() {
            let result = self.elementwise(op);
            self.set_result(op, result);
            return Ok(());
        }
        Err(self.error(op, RunErrorKind::Unsupported, format!("the interpreter cannot run {}", row.name)))
    }

    /// Starts an empty frame for a call; the old one is given back to [`Interpreter::leave`].
    pub(crate) fn enter(&mut self) -> Vec<Option<Data>> {
        self.depth += 1;
        let fresh = vec![None; self.module.num_values()];
        std::mem::replace(&mut self.frame, fresh)
    }

    /// Ends a call.
    pub(crate) fn leave(&mut self, caller: Vec<Option<Data>>) {
        self.depth -= 1;
        self.frame = caller;
    }

    /// The value of an SSA value.
    ///
    /// # Panics
    /// When it is used before it is defined, which verified code does not do.
    pub(crate) fn get(&self, value: Value) -> &Data {
        self.frame[ir_index(value)].as_ref().expect("verified code defines values before it uses them")
    }

    pub(crate) fn set(&mut self, value: Value, data: Data) {
        self.frame[ir_index(value)] = Some(data);
    }

    pub(crate) fn set_result(&mut self, op: Op, data: Data) {
        self.set(self.module.result(op, 0), data);
    }

    pub(crate) fn set_results(&mut self, op: Op, all: Vec<Data>) {
        for (&value, data) in self.module.results(op).iter().zip(all) {
            self.set(value, data);
        }
    }

    pub(crate) fn operand(&self, op: Op, index: usize) -> &Data {
        self.get(self.module.operand(op, index))
    }

    pub(crate) fn operands(&self, op: Op) -> Vec<Data> {
        self.module.operands(op).iter().map(|&value| self.get(value).clone()).collect()
    }

    pub(crate) fn operand_ty(&self, op: Op, index: usize) -> Type {
        self.module.ty(self.module.operand(op, index))
    }

    pub(crate) fn result_ty(&self, op: Op) -> Type {
        self.module.ty(self.module.result(op, 0))
    }

    /// A scalar that decides something.
    pub(crate) fn decided(&self, op: Op, data: &Data, what: &str) -> Outcome<u64> {
        match data.undefined() {
            Some(undefined) if data.is_undefined(0) => Err(self.undefined(op, undefined, what, None)),
            _ => Ok(data.scalar()),
        }
    }

    /// Applies the row's meaning to each element.
    fn elementwise(&self, op: Op) -> Data {
        let module = self.module;
        let row = module.row(op);
        let Some(eval) = row.eval else { return Data::uniform(0) };
        let operands: SmallVec<[&Data; 4]> =
            module.operands(op).iter().map(|&value| self.get(value)).collect();
        let types: SmallVec<[Type; 4]> =
            module.operands(op).iter().map(|&value| elem(module.ty(value))).collect();
        let args = EvalArgs {
            attrs: module.attrs(op),
            operand_types: &types,
            result_type: elem(self.result_ty(op)),
        };
        let whole = match operands[..] {
            [operand] => whole::unary(row, &args, operand),
            [a, b] => whole::binary(row, &args, [a, b]),
            _ => None,
        };
        if let Some(whole) = whole {
            return whole.with_undefined(merge_undefined(module, op, &operands, &[]));
        }
        let count = operands.iter().map(|data| data.kept()).max().unwrap_or(1);
        let mut failed: Vec<usize> = Vec::new();
        let sides: SmallVec<[Side<'_>; 4]> = operands.iter().map(|data| data.side()).collect();
        let mut one = |index: usize| {
            let mut words = [0u64; 4];
            for (word, side) in words.iter_mut().zip(&sides) {
                *word = side.at(index);
            }
            eval(&args, &words[..operands.len()]).unwrap_or_else(|| {
                failed.push(index);
                0
            })
        };
        let data = if count == 1 { Data::uniform(one(0)) } else { Data::from_fn(count, one) };
        data.with_undefined(merge_undefined(module, op, &operands, &failed))
    }

    /// Stops if the caller wants that.
    pub(crate) fn poll(&mut self, op: Op) -> Outcome<()> {
        if self.hooks.interrupted() {
            return Err(self.error(op, RunErrorKind::Interrupted, "interrupted".into()));
        }
        Ok(())
    }

    /// An error at an operation.
    pub(crate) fn error(&self, op: Op, kind: RunErrorKind, message: String) -> Box<RunError> {
        Box::new(RunError {
            kind,
            message,
            place: self.module.locs.describe(self.module.loc(op)),
            program: Some(self.program),
            notes: Vec::new(),
        })
    }

    /// The error that an undefined element reached `what`.
    pub(crate) fn undefined(
        &self,
        op: Op,
        undefined: &Undefined,
        what: &str,
        element: Option<String>,
    ) -> Box<RunError> {
        let element = element.map(|element| format!("{element} of ")).unwrap_or_default();
        let message = format!("{element}{what} has no defined value");
        let mut error = self.error(op, RunErrorKind::Undefined, message);
        error.notes.push(undefined.explain());
        error
    }

    /// The name in the source of a value, for messages.
    pub(crate) fn describe_value(&self, value: Value) -> String {
        self.module.name(value).map(|name| format!("`{name}`")).unwrap_or_default()
    }
}

fn ir_index(value: Value) -> usize {
    value.as_u32() as usize
}

/// An operation as the origin of undefined elements.
pub(crate) fn origin_of(module: &Module, op: Op) -> Arc<Origin> {
    let row = module.row(op);
    let place = module.locs.describe(module.loc(op));
    Arc::new(Origin { name: row.name, doc: row.doc, place, shape: shape(module.ty(module.result(op, 0))) })
}

/// What is undefined in a result: where an operand is, and where the operation failed.
pub(crate) fn merge_undefined(
    module: &Module,
    op: Op,
    operands: &[&Data],
    failed: &[usize],
) -> Option<Arc<Undefined>> {
    let first = operands.iter().find_map(|data| data.undefined());
    if first.is_none() && failed.is_empty() {
        return None;
    }
    let count = operands
        .iter()
        .map(|data| data.kept().max(data.undefined().map_or(1, |undefined| undefined.flags.len())))
        .max()
        .unwrap_or(1);
    let mut flags: Vec<bool> =
        (0..count).map(|index| operands.iter().any(|data| data.is_undefined(index))).collect();
    let uniform = operands.iter().all(|data| data.kept() == 1);
    if uniform && !failed.is_empty() {
        flags = vec![true];
    }
    for &index in failed {
        flags[index] = true;
    }
    let (origin, element) = match first {
        Some(undefined) => (Arc::clone(&undefined.origin), undefined.element),
        None => (origin_of(module, op), failed[0]),
    };
    Some(Arc::new(Undefined { flags: flags.into(), origin, element }))
}
