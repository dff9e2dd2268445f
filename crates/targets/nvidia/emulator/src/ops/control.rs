//! Branches, ends, and instructions that change nothing here.

use crate::decode::scope::Symbol;
use crate::decode::site::Site;
use crate::diagnostic::Diagnostic;
use crate::machine::Execute;
use crate::machine::flow::Flow;
use crate::machine::lanes::run;
use crate::syntax::Operand;
use crate::syntax::types::Type;
use emulation::FaultKind;

type Decoded = Result<Box<dyn Execute>, Diagnostic>;

/// `bra`.
pub(crate) fn bra(site: &mut Site<'_>) -> Decoded {
    site.flag("uni");
    site.arity(1, 1)?;
    let Operand::Name(name) = site.operand(0)? else { return site.error("a label is expected") };
    let label = site.label(name)?;
    Ok(run(move |_| Ok(Flow::Jump(label))))
}

/// `brx.idx`: a label by number.
pub(crate) fn brx(site: &mut Site<'_>) -> Decoded {
    site.flags(&["idx", "uni"]);
    site.arity(2, 2)?;
    let index = site.source(0, Type::U32)?;
    site.sink(&[index]);
    let Operand::Name(list) = site.operand(1)? else { return site.error("a list of labels is expected") };
    let Some(Symbol::Targets(names)) = site.assembly.scopes.find(list).cloned() else {
        return site.error(format!("`{list}` is not a list of labels"));
    };
    let labels = names.iter().map(|name| site.label(name)).collect::<Result<Vec<u32>, Diagnostic>>()?;
    Ok(run(move |step| {
        for lane in step.lanes() {
            let index = step.get(index, lane);
            let Some(label) = labels.get(index as usize) else {
                let message = format!("the index {index} of {} labels", labels.len());
                return Err(step.fault(FaultKind::Misuse, lane, message));
            };
            step.warp.targets[lane as usize] = *label;
        }
        Ok(Flow::Scatter)
    }))
}

/// `exit`.
pub(crate) fn exit(site: &mut Site<'_>) -> Decoded {
    site.arity(0, 0)?;
    Ok(run(|_| Ok(Flow::Exit)))
}

/// `ret`: the end of an entry, or the end of an inlined function.
pub(crate) fn ret(site: &mut Site<'_>) -> Decoded {
    site.flag("uni");
    site.arity(0, 0)?;
    Ok(match site.assembly.return_label {
        Some(label) => run(move |_| Ok(Flow::Jump(label))),
        None => run(|_| Ok(Flow::Exit)),
    })
}

/// `trap`, `brkpt`.
pub(crate) fn trap(site: &mut Site<'_>) -> Decoded {
    site.arity(0, 0)?;
    Ok(run(|step| Err(step.fault(FaultKind::Trap, step.mask.trailing_zeros(), "the kernel stopped itself"))))
}

/// `nanosleep`: others get a time slice.
pub(crate) fn nanosleep(site: &mut Site<'_>) -> Decoded {
    site.ty()?;
    site.source(0, Type::U32)?;
    Ok(run(|_| Ok(Flow::Yield)))
}

/// `griddepcontrol`, `pmevent`: nothing to do.
pub(crate) fn nothing(site: &mut Site<'_>) -> Decoded {
    site.flags(&["launch_dependents", "wait", "mask"]);
    Ok(run(|_| Ok(Flow::Next)))
}
