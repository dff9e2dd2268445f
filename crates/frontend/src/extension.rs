//! What kernels may use beyond the language, each switched on by its name: `@jit(extensions=["loop_exits"])`.

use std::fmt;

/// One extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extension {
    /// `break`, `continue` and `return` in loops.
    LoopExits,
    /// `//` and `%` of run-time values round down, as in Python.
    FloorDivision,
    /// Pointer minus pointer.
    PointerDifference,
    /// Elements and slices of blocks, to read and to assign.
    BlockIndexing,
    /// Mathematical functions of fp16 and bf16.
    HalfMath,
    /// Blocks whose sizes are no powers of two.
    AnyShape,
}

/// Every extension and its name, in the order of their bits.
const ALL: [(Extension, &str); 6] = [
    (Extension::LoopExits, "loop_exits"),
    (Extension::FloorDivision, "floor_division"),
    (Extension::PointerDifference, "pointer_difference"),
    (Extension::BlockIndexing, "block_indexing"),
    (Extension::HalfMath, "half_math"),
    (Extension::AnyShape, "any_shape"),
];

/// The extensions that a function uses.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Extensions(u8);

impl Extensions {
    /// Those of these names.
    ///
    /// # Errors
    /// A name that no extension has.
    pub fn from_names<'n>(names: impl IntoIterator<Item = &'n str>) -> Result<Extensions, String> {
        let mut bits = 0;
        for name in names {
            let Some(index) = ALL.iter().position(|(_, known)| *known == name) else {
                let known: Vec<&str> = ALL.iter().map(|(_, name)| *name).collect();
                return Err(format!("there is no extension `{name}`; there are {}", known.join(", ")));
            };
            bits |= 1 << index;
        }
        Ok(Extensions(bits))
    }

    /// These and another one.
    #[must_use]
    pub(crate) fn with(self, extension: Extension) -> Extensions {
        let bit = ALL.iter().position(|(known, _)| *known == extension).map_or(0, |index| 1 << index);
        Extensions(self.0 | bit)
    }

    /// Whether an extension is among them.
    pub fn has(self, extension: Extension) -> bool {
        ALL.iter().position(|(known, _)| *known == extension).is_some_and(|index| self.0 & (1 << index) != 0)
    }

    /// One bit for each, for keys.
    pub fn bits(self) -> u8 {
        self.0
    }

    /// Their names.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        ALL.iter().filter(move |(extension, _)| self.has(*extension)).map(|(_, name)| *name)
    }
}

impl fmt::Debug for Extensions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::{Extension, Extensions};

    #[test]
    fn names_are_known() {
        let some = Extensions::from_names(["floor_division", "loop_exits"]).expect("both exist");
        assert!(some.has(Extension::LoopExits) && !some.has(Extension::PointerDifference));
        assert_eq!(some.names().collect::<Vec<_>>(), ["loop_exits", "floor_division"]);
        let error = Extensions::from_names(["goto"]).expect_err("there is none");
        assert!(error.starts_with("there is no extension `goto`; there are loop_exits, "), "{error}");
    }
}
