//! The assembler that tests give PTX to.

use nvidia::assemble::{Ptxas, Search};
use std::path::Path;
use std::sync::LazyLock;

static PTXAS: LazyLock<Ptxas> = LazyLock::new(|| {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let search = Search::from_environment(Some(&root.join(".venv")));
    Ptxas::find(&search)
        .unwrap_or_else(|error| panic!("`make setup` installs what these tests need: {error}"))
});

/// The `ptxas` that is found.
pub(crate) fn assembler() -> &'static Ptxas {
    &PTXAS
}
