//! Code that is being put together, as decoders of single instructions see it.

use crate::decode::scope::Scopes;
use crate::machine::code::{Code, Fill, Slot};
use crate::machine::place::SHARED_START;
use crate::syntax::Function;
use rustc_hash::FxHashMap;

/// The code of an entry so far, and the names in sight.
pub(crate) struct Assembly {
    pub(crate) scopes: Scopes,
    pub(crate) code: Code,
    pub(crate) fills: FxHashMap<Fill, Slot>,
    /// The label that `ret` of an inlined function goes to.
    pub(crate) return_label: Option<u32>,
}

impl Assembly {
    pub(crate) fn new(entry: &Function) -> Assembly {
        Assembly {
            scopes: Scopes::default(),
            code: Code {
                name: entry.name.clone(),
                params: Vec::new(),
                param_bytes: 0,
                reqntid: entry.reqntid,
                cluster: entry.cluster,
                max_registers: entry.max_registers,
                instructions: Vec::new(),
                labels: Vec::new(),
                slots: 0,
                fills: Vec::new(),
                names: Vec::new(),
                shared: SHARED_START as usize,
                dynamic: None,
                local: 0,
            },
            fills: FxHashMap::default(),
            return_label: None,
        }
    }

    /// A new row.
    pub(crate) fn slot(&mut self) -> Slot {
        let slot = Slot(self.code.slots as u32);
        self.code.slots += 1;
        slot
    }

    /// The row that holds something filled at the start.
    pub(crate) fn fill(&mut self, fill: Fill) -> Slot {
        if let Some(slot) = self.fills.get(&fill) {
            return *slot;
        }
        let slot = self.slot();
        self.fills.insert(fill, slot);
        slot
    }

    /// A new label.
    pub(crate) fn label(&mut self) -> u32 {
        self.code.labels.push(u32::MAX);
        self.code.labels.len() as u32 - 1
    }
}
