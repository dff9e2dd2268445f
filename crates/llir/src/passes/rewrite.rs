//! Values that stand for others, put in place everywhere.

use crate::function::{Function, Value};
use cranelift_entity::SecondaryMap;
use cranelift_entity::packed_option::PackedOption;

/// For each value the one that replaces it.
#[derive(Default)]
pub(super) struct Replacements {
    by: SecondaryMap<Value, PackedOption<Value>>,
    any: bool,
}

impl Replacements {
    /// Uses of one value become uses of another.
    pub(super) fn replace(&mut self, value: Value, by: Value) {
        self.by[value] = by.into();
        self.any = true;
    }

    /// Whether any value is replaced.
    pub(super) fn any(&self) -> bool {
        self.any
    }

    /// What stands for a value now.
    pub(super) fn find(&self, value: Value) -> Value {
        let mut value = value;
        while let Some(by) = self.by[value].expand() {
            value = by;
        }
        value
    }

    /// Puts all of them in place.
    pub(super) fn apply(&self, function: &mut Function) {
        if !self.any {
            return;
        }
        let Function { layout, blocks, insts, .. } = function;
        for block in layout.iter() {
            for inst in &blocks[*block].insts {
                let data = &mut insts[*inst];
                let passed = data.targets.iter_mut().flat_map(|call| &mut call.args);
                for value in data.operands.iter_mut().chain(passed) {
                    *value = self.find(*value);
                }
            }
        }
    }
}
