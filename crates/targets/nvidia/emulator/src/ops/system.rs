//! Functions that the system defines: `vprintf`, `__assertfail`.

use crate::decode::scope::Symbol;
use crate::decode::site::Site;
use crate::diagnostic::Diagnostic;
use crate::machine::Execute;
use crate::machine::flow::Flow;
use crate::machine::lanes::run;
use crate::machine::print::{format, text_at};
use crate::machine::step::Step;
use crate::syntax::Operand;
use crate::syntax::types::Space;
use emulation::{Fault, FaultKind};

type Decoded = Result<Box<dyn Execute>, Diagnostic>;

/// What a function of the system does with the offsets of its arguments and result in local memory.
type System = fn(&mut Step<'_, '_>, u32, &[u64], &[u64]) -> Result<(), Box<Fault>>;

/// Every function of the system, with how many arguments it has.
const SYSTEM: &[(&str, usize, System)] = &[("vprintf", 2, vprintf), ("__assertfail", 5, assertfail)];

/// Whether the system defines a function.
pub(crate) fn is_system(name: &str) -> bool {
    SYSTEM.iter().any(|(own, _, _)| *own == name)
}

/// Offsets of `.param` variables in local memory.
fn offsets(site: &Site<'_>, operands: &[Operand]) -> Result<Vec<u64>, Diagnostic> {
    let offset = |operand: &Operand| match operand {
        Operand::Name(name) => match site.assembly.scopes.find(name) {
            Some(&Symbol::Placed { space: Space::Local, offset, .. }) => Ok(offset),
            _ => site.error(format!("`{name}` is not a `.param` variable")),
        },
        _ => site.error("an argument is a `.param` variable"),
    };
    operands.iter().map(offset).collect()
}

/// `call` of such a function.
pub(crate) fn call(site: &mut Site<'_>) -> Decoded {
    site.flag("uni");
    let operands = &site.instruction.operands;
    let (results, rest) = match &operands[..] {
        [Operand::Group(results), rest @ ..] => (&results[..], rest),
        rest => (&[][..], rest),
    };
    let [Operand::Name(name), Operand::Group(arguments)] = rest else {
        return site.error("a call is `call (results), name, (arguments)`");
    };
    let Some((_, count, system)) = SYSTEM.iter().find(|(own, _, _)| own == name) else {
        return site.error(format!("`{name}` is not known"));
    };
    let (results, arguments) = (offsets(site, results)?, offsets(site, arguments)?);
    if arguments.len() != *count {
        return site.error(format!("`{name}` has {count} arguments"));
    }
    Ok(run(move |step| {
        for lane in step.lanes() {
            system(step, lane, &arguments, &results)?;
        }
        Ok(Flow::Next)
    }))
}

fn argument(step: &mut Step<'_, '_>, lane: u32, offset: u64) -> Result<u64, Box<Fault>> {
    let mut bytes = [0; 8];
    step.load(Space::Local, offset, lane, &mut bytes)?;
    Ok(u64::from_le_bytes(bytes))
}

fn vprintf(step: &mut Step<'_, '_>, lane: u32, arguments: &[u64], results: &[u64]) -> Result<(), Box<Fault>> {
    let (text, values) = (argument(step, lane, arguments[0])?, argument(step, lane, arguments[1])?);
    let text = format(step, lane, text, values)?;
    step.world.output.push_str(&text);
    if let Some(result) = results.first() {
        step.store(Space::Local, *result, lane, &(text.len() as u32).to_le_bytes())?;
    }
    Ok(())
}

fn assertfail(step: &mut Step<'_, '_>, lane: u32, arguments: &[u64], _: &[u64]) -> Result<(), Box<Fault>> {
    let mut text = |index: usize| {
        let address = argument(step, lane, arguments[index])?;
        text_at(step, lane, address)
    };
    let (condition, file, function) = (text(0)?, text(1)?, text(3)?);
    let mut line = [0; 4];
    step.load(Space::Local, arguments[2], lane, &mut line)?;
    let line = u32::from_le_bytes(line);
    let message = format!("device-side assertion failed: {condition} ({file}:{line}, {function})");
    Err(step.fault(FaultKind::Trap, lane, message))
}
