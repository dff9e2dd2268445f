//! Where instructions come from: the innermost place in a file that an operation's location names.

use crate::cx::Cx;
use ir::Op;
use llir::Location;

/// The place of an operation.
pub(crate) fn locate(cx: &mut Cx<'_>, op: Op) -> Option<Location> {
    let (file, line, column) = cx.module.locs.file_place(cx.module.loc(op))?;
    Some(Location { file: cx.b.module().add_file(&file), line, column })
}
