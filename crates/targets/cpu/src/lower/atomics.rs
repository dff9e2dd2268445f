//! Atomics and assertions on scalars.
//!
//! An atomic runs where its mask holds; what others give is zero.

use super::emitter::Emitter;
use super::error::Result;
use super::types;
use crate::abi::offsets;
use ir::{FloatKind, Op, Type as IrType, Value as IrValue};
use llir::{IntCompare, Memory, Op as Inst, Ordering, Rmw, Type, Value, intrinsics};
use ttir::ops::atomic::{self, AtomicCasOp, AtomicLoadOp, AtomicPollOp, AtomicRmwOp, AtomicStoreOp, Sem};
use ttir::ops::debug::AssertOp;
use ttir::ops::memory;

/// The instruction of a read-modify-write.
fn instruction(kind: atomic::Rmw, is_float: bool) -> Rmw {
    match kind {
        atomic::Rmw::And => Rmw::And,
        atomic::Rmw::Or => Rmw::Or,
        atomic::Rmw::Xor => Rmw::Xor,
        atomic::Rmw::Add => Rmw::Add,
        atomic::Rmw::Fadd => Rmw::FAdd,
        atomic::Rmw::Max if is_float => Rmw::FMax,
        atomic::Rmw::Max => Rmw::Max,
        atomic::Rmw::Min if is_float => Rmw::FMin,
        atomic::Rmw::Min => Rmw::Min,
        atomic::Rmw::Umax => Rmw::UMax,
        atomic::Rmw::Umin => Rmw::UMin,
        atomic::Rmw::Exch => Rmw::Xchg,
    }
}

/// The nanoseconds that one look at memory counts for.
const NANOSECONDS_OF_A_LOOK: i64 = 100;

pub(super) fn ordering(sem: Sem) -> Ordering {
    match sem {
        Sem::Relaxed => Ordering::Monotonic,
        Sem::Acquire => Ordering::Acquire,
        Sem::Release => Ordering::Release,
        Sem::AcqRel => Ordering::AcqRel,
    }
}

impl Emitter<'_> {
    /// An atomic or an assertion on scalars.
    pub(crate) fn scalar_effect(&mut self, op: Op) -> Result<()> {
        let module = self.module;
        if let Some(assert) = AssertOp::of(module, op) {
            let holds = self.scalar(assert.condition())?;
            return self.assert(assert, holds);
        }
        let mask = memory::mask(module, op);
        let scalars: Vec<Value> = module
            .operands(op)
            .iter()
            .filter(|&&value| Some(value) != mask)
            .map(|&value| self.scalar(value))
            .collect::<Result<_>>()?;
        let active = match mask {
            Some(mask) => self.scalar(mask)?,
            None => self.b.bool(true),
        };
        let result = self.atomic_if(op, active, &scalars)?;
        if let (Some(&value), Some(result)) = (module.results(op).first(), result) {
            self.scalars.insert(value, result);
        }
        Ok(())
    }

    pub(crate) fn atomic_if(&mut self, op: Op, active: Value, x: &[Value]) -> Result<Option<Value>> {
        let result = self.module.results(op).first().map(|&value| ttir::types::elem(self.module.ty(value)));
        let mut branch = self.b.begin_if(active);
        let done = self.atomic(op, x)?;
        let (Some(elem), Some(done)) = (result, done) else {
            self.b.end_if(branch, &[]);
            return Ok(None);
        };
        self.b.begin_else(&mut branch, &[done]);
        let zero = self.b.zero(types::register(elem));
        Ok(self.b.end_if(branch, &[zero]).first().copied())
    }

    /// One atomic access.
    fn atomic(&mut self, op: Op, x: &[Value]) -> Result<Option<Value>> {
        let module = self.module;
        let element = |pointer: IrValue| {
            ttir::types::pointee(module.ty(pointer)).expect("verified: an atomic has an address")
        };
        if let Some(load) = AtomicLoadOp::of(module, op) {
            let elem = element(load.ptr());
            let ordering = if load.sem() == Sem::Relaxed { Ordering::Monotonic } else { Ordering::Acquire };
            let (ty, memory) = self.atomic_memory(elem, ordering);
            let loaded = self.b.load_with(ty, x[0], memory, llir::Flags::NONE);
            return Ok(Some(self.number_of(loaded, types::register(elem))));
        }
        if let Some(store) = AtomicStoreOp::of(module, op) {
            let ordering = if store.sem() == Sem::Relaxed { Ordering::Monotonic } else { Ordering::Release };
            let memory = self.atomic_memory(element(store.ptr()), ordering).1;
            let bits = self.bits_of(x[1]);
            self.b.store_with(bits, x[0], memory, llir::Flags::NONE);
            return Ok(None);
        }
        if let Some(cas) = AtomicCasOp::of(module, op) {
            let [expected, new] = [x[1], x[2]].map(|value| self.bits_of(value));
            let (before, _) = self.b.cmpxchg(x[0], expected, new, ordering(cas.sem()));
            return Ok(Some(self.number_of(before, types::register(element(cas.ptr())))));
        }
        if let Some(poll) = AtomicPollOp::of(module, op) {
            return Ok(Some(self.poll(poll, x)));
        }
        let rmw = AtomicRmwOp::new(module, op);
        self.read_modify_write(rmw.kind(), element(rmw.ptr()), x, ordering(rmw.sem())).map(Some)
    }

    /// Looks at memory until it holds what is expected, or the time is over.
    fn poll(&mut self, poll: AtomicPollOp<'_>, x: &[Value]) -> Value {
        let ordering = if poll.sem() == Sem::Relaxed { Ordering::Monotonic } else { Ordering::Acquire };
        let elem = ttir::types::elem(self.module.ty(poll.expected()));
        let (ty, memory) = self.atomic_memory(elem, ordering);
        let mut inits = vec![self.b.i32(0)];
        inits.extend(x.get(2).map(|_| self.b.i64(0)));
        let waiting = self.b.begin_while(&inits);
        let found = self.b.load_with(ty, x[0], memory, llir::Flags::NONE);
        let seen = self.b.icmp(IntCompare::Eq, found, x[1]);
        let mut goes_on = self.b.icmp(IntCompare::Ne, found, x[1]);
        if let Some(&timeout) = x.get(2) {
            let in_time = self.b.icmp(IntCompare::Slt, waiting.carried[1], timeout);
            goes_on = self.b.and(goes_on, in_time);
        }
        self.b.do_while(&waiting, goes_on, &[seen]);
        let look = self.b.i64(NANOSECONDS_OF_A_LOOK);
        let passed = waiting.carried.get(1).map(|&before| self.b.add(before, look));
        let mut next = vec![self.end_spin(waiting.carried[0])];
        next.extend(passed);
        self.b.end_while(waiting, &next)[0]
    }

    fn atomic_memory(&self, elem: IrType, ordering: Ordering) -> (Type, Memory) {
        let bits = types::memory(elem).lane_bits() as u16;
        (Type::int(bits), Memory { ordering: Some(ordering), ..Memory::aligned(u32::from(bits) / 8) })
    }

    /// A number or address as an integer.
    fn bits_of(&mut self, value: Value) -> Value {
        let ty = self.b.ty(value);
        let int = if ty == Type::I1 { Type::I8 } else { ty.as_int() };
        let op = match (ty.is_ptr(), ty == Type::I1) {
            (true, _) => Inst::PTRTOINT,
            (_, true) => Inst::ZEXT,
            _ => Inst::BITCAST,
        };
        self.b.cast(op, value, int)
    }

    fn number_of(&mut self, value: Value, ty: Type) -> Value {
        let op = match (ty.is_ptr(), ty == Type::I1) {
            (true, _) => Inst::INTTOPTR,
            (_, true) => Inst::TRUNC,
            _ => Inst::BITCAST,
        };
        self.b.cast(op, value, ty)
    }

    fn read_modify_write(
        &mut self,
        kind: atomic::Rmw,
        elem: IrType,
        x: &[Value],
        ordering: Ordering,
    ) -> Result<Value> {
        let is_float = elem.as_float().is_some();
        let rmw = instruction(kind, is_float);
        if matches!(rmw, Rmw::FAdd | Rmw::FMax | Rmw::FMin) {
            return match types::small_float(elem) {
                None => Ok(self.b.atomic_rmw(rmw, x[0], x[1], ordering)),
                Some(kind) => self.exchange_loop(kind, rmw, x, ordering),
            };
        }
        let bits = self.bits_of(x[1]);
        let before = self.b.atomic_rmw(rmw, x[0], bits, ordering);
        Ok(self.number_of(before, types::register(elem)))
    }

    /// A read-modify-write of a narrow float: compares and exchanges until nobody came between.
    fn exchange_loop(&mut self, kind: FloatKind, rmw: Rmw, x: &[Value], ordering: Ordering) -> Result<Value> {
        let ty = self.b.ty(x[1]);
        let memory = Memory { ordering: Some(Ordering::Monotonic), ..Memory::aligned(ty.lane_bits() / 8) };
        let first = self.b.load_with(ty, x[0], memory, llir::Flags::NONE);
        let opened = self.b.begin_while(&[first]);
        let seen = opened.carried[0];
        let [old, by] = [seen, x[1]].map(|bits| self.widen(kind, bits));
        let new = match rmw {
            Rmw::FAdd => self.b.fadd(old, by),
            Rmw::FMax => self.b.intrinsic(&intrinsics::MAXNUM, Type::F32, &[old, by]),
            _ => self.b.intrinsic(&intrinsics::MINNUM, Type::F32, &[old, by]),
        };
        let new = self.narrow(kind, new);
        let (before, stored) = self.b.cmpxchg(x[0], seen, new, ordering);
        let again = self.b.not(stored);
        self.b.do_while(&opened, again, &[before]);
        Ok(self.b.end_while(opened, &[before])[0])
    }

    /// Stops the program with a message where a condition does not hold in a lane.
    pub(crate) fn assert(&mut self, assert: AssertOp<'_>, holds: Value) -> Result<()> {
        let fails = self.b.not(holds);
        let fails = self.any(fails);
        let message = assert.message();
        let message = match self.module.locs.describe(self.module.loc(assert.op)) {
            Some(place) => format!("{place}: assertion failed: {message}"),
            None => format!("assertion failed: {message}"),
        };
        let branch = self.b.begin_if(fails);
        let (text, length) = self.text(&message);
        let callback = self.callback(offsets::ASSERT_FAIL);
        let args = [self.frame.context, self.frame.pid, text, length];
        self.b.call_indirect(callback, Type::VOID, &args);
        let one = self.b.i32(1);
        self.b.ret(Some(one));
        self.b.end_if(branch, &[]);
        Ok(())
    }

    pub(crate) fn text(&mut self, text: &str) -> (Value, Value) {
        let symbol = self.b.module().add_bytes(text.as_bytes());
        (self.b.symbol(&symbol), self.b.i64(text.len() as i64))
    }

    pub(crate) fn callback(&mut self, offset: u64) -> Value {
        let offset = self.b.i64(offset as i64);
        let place = self.b.offset(self.frame.context, offset);
        self.b.load(Type::PTR, place, 8)
    }
}
