//! The fixtures in `tests/ttir`: text in, text out ([`ttir::testing::check_text`]). `BLESS=1` rewrites what is
//! expected. The programs of all other fixtures of block-level code must print to a text that reads back to the same.

use std::path::Path;

#[test]
fn fixtures_hold() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests");
    ttir::testing::check_texts(&root, &["ttir", "passes", "axis", "boxes", "run"], ttir::registry());
}
