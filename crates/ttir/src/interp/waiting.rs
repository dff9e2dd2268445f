//! Programs that wait for others.
//!
//! Programs run one after another, so one that waits for a later one would wait for ever. A program is taken to wait
//! where so many atomics and volatile loads in a row leave memory as it is. Then the next program runs to its end in
//! the middle of it, and others in the middle of that one where it waits as well. What such a run cannot do is go on
//! with a program that waits in the middle of the one that runs: programs that wait for each other in turn, as at two
//! barriers of the whole grid, end with an error that names the line.

use super::control;
use super::error::RunError;
use super::interpreter::{Interpreter, Outcome};
use super::others::Others;
use ir::Op;
use std::rc::Rc;

impl Interpreter<'_> {
    /// Runs the next program to its end; whether there was one.
    pub(super) fn run_next(&mut self) -> Outcome<bool> {
        let Some(others) = &mut self.others else { return Ok(false) };
        let Some(program) = others.take() else { return Ok(false) };
        let (function, args) = (others.function, Rc::clone(&others.args));
        let before = (std::mem::replace(&mut self.program, program), std::mem::take(&mut self.depth));
        self.memory.changed();
        let result = match self.poll(function) {
            Ok(()) => control::call(self, function, &args),
            Err(error) => Err(error),
        };
        (self.program, self.depth) = before;
        result?;
        self.memory.changed();
        Ok(true)
    }

    /// Lets another program run in the middle of this one; whether one did.
    pub(super) fn run_another(&mut self) -> Outcome<bool> {
        if !self.others.as_mut().is_some_and(Others::open) {
            return Ok(false);
        }
        self.memory.suspend();
        let ran = self.run_next()?;
        self.others.as_mut().into_iter().for_each(Others::close);
        Ok(ran)
    }

    /// Lets others run where the program waits.
    pub(super) fn give_way(&mut self, op: Op) -> Outcome<()> {
        if !self.memory.take_due() || self.run_another()? {
            return Ok(());
        }
        match self.memory.waits_for_ever(self.program) {
            Some(error) => {
                Err(Box::new(RunError { place: self.module.locs.describe(self.module.loc(op)), ..error }))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::interp::{Arg, Lines, Memory, RunError, RunErrorKind, run};

    /// Each program spins until the number at `%p` is what the body says.
    fn spin(turn: &str, grid: u32) -> Result<Vec<u8>, RunError> {
        let text = format!(
            "tt.func public @f(%p: !tt.ptr<i32>) {{
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %true = arith.constant true
  %me = tt.get_program_id x : i32
  %all = tt.get_num_programs x : i32
  {turn}
  %seen = scf.while (%old = %zero) : (i32) -> i32 {{
    %now = tt.atomic_rmw add, acquire, gpu, %p, %zero, %true : (!tt.ptr<i32>, i32, i1) -> i32
    %waits = arith.cmpi slt, %now, %turn : i32
    scf.condition(%waits) %now : i32
  }} do {{
  ^bb0(%old: i32):
    scf.yield %old : i32
  }}
  %q = tt.addptr %p, %one : !tt.ptr<i32>, i32
  %v = tt.load %q : !tt.ptr<i32>
  %w = arith.addi %v, %one : i32
  tt.store %q, %w : !tt.ptr<i32>
  %r = tt.atomic_rmw add, acq_rel, gpu, %p, %one, %true : (!tt.ptr<i32>, i32, i1) -> i32
  tt.return
}}"
        );
        let module = ir::text::parse(&text, crate::registry(), Default::default()).expect("it parses");
        ir::verify(&module).expect("it is right");
        let mut memory = Memory::new();
        let address = memory.alloc("p", vec![0; 8]);
        memory.watch_races([grid, 1, 1]);
        run(&module, "f", [grid, 1, 1], &[Arg::Pointer(address)], &mut memory, &mut Lines::default())?;
        Ok(memory.bytes(address).to_vec())
    }

    const REVERSE: &str = "%last = arith.subi %all, %one : i32\n  %turn = arith.subi %last, %me : i32";

    /// Plain accesses are ordered by the atomics also where programs are interrupted.
    #[test]
    fn programs_run_in_the_middle_of_those_that_wait_for_them() {
        assert_eq!(spin(REVERSE, 7), Ok(vec![7, 0, 0, 0, 7, 0, 0, 0]));
    }

    #[test]
    fn a_program_that_nobody_helps_is_named() {
        let error = spin("%turn = arith.addi %all, %one : i32", 3).expect_err("nobody counts so far");
        assert_eq!((error.kind, error.program), (RunErrorKind::Waits, Some([2, 0, 0])));
        assert!(error.message.starts_with("the program waits: "), "{error}");
    }
}
