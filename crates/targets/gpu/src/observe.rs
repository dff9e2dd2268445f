//! The observer of a compile, as the runners of passes see it.

use crate::stage::{LLIR, TTGIR};
use ir::pass::{Observer, PassRow};
use std::time::Duration;
use target::StageObserver;

/// Passes over ttgir.
pub struct LayoutPasses<'a>(pub &'a mut dyn StageObserver);

impl Observer for LayoutPasses<'_> {
    fn before(&mut self, pass: &PassRow, module: &ir::Module) {
        if self.0.wants_programs(TTGIR) {
            self.0.program(TTGIR, pass.name, &ir::text::print(module, ir::text::PrintOptions::PLAIN));
        }
    }

    fn after(&mut self, pass: &PassRow, _module: &ir::Module, elapsed: Duration) {
        self.0.timed(&[TTGIR, "/", pass.name].concat(), elapsed);
    }
}

/// Passes over llir.
pub struct LanePasses<'a>(pub &'a mut dyn StageObserver);

impl llir::passes::Watch for LanePasses<'_> {
    fn wants_text(&self) -> bool {
        self.0.wants_programs(LLIR)
    }

    fn before(&mut self, pass: &'static str, text: &str) {
        self.0.program(LLIR, pass, text);
    }

    fn after(&mut self, pass: &'static str, elapsed: Duration) {
        self.0.timed(&[LLIR, "/", pass].concat(), elapsed);
    }
}
