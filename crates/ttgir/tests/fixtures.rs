//! The fixtures in `tests/ttgir`: text in, text out ([`ttir::testing::check_text`]). `BLESS=1` rewrites what is
//! expected.

use std::path::Path;

#[test]
fn fixtures_hold() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ttgir");
    ttir::testing::check_texts(&root, &["text", "verify"], ttgir::registry());
}
