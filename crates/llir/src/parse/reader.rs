//! A function that is being read: what its names stand for.

use super::debug::Metadata;
use super::lexer::{Cursor, Token};
use super::types::Structures;
use super::{ParseError, constant};
use crate::constant::{Constant, ConstantKind};
use crate::function::{Block, BlockData, Function, Value, ValueData, ValueDef};
use crate::module::Module;
use crate::types::Type;
use rustc_hash::FxHashMap;

/// What one block passes to a parameter of another.
pub(super) struct Incoming {
    pub(super) value: Value,
    pub(super) from: Block,
    pub(super) place: (u32, u32),
}

/// A function that is being read.
pub(super) struct Reader<'a> {
    pub(super) module: &'a mut Module,
    pub(super) function: Function,
    pub(super) structures: &'a Structures,
    pub(super) metadata: &'a Metadata,
    pub(super) values: FxHashMap<String, Value>,
    /// Values that were used and are not defined yet, with the place of the first use.
    pub(super) wanted: FxHashMap<String, (u32, u32)>,
    pub(super) blocks: FxHashMap<String, Block>,
    /// Blocks that were named and are not there yet, with the place.
    pub(super) wanted_blocks: FxHashMap<String, (u32, u32)>,
    pub(super) current: Option<Block>,
    pub(super) incoming: FxHashMap<(Block, usize), Vec<Incoming>>,
}

impl Reader<'_> {
    /// Gives a name its value.
    pub(super) fn bind(&mut self, name: &str, ty: Type, def: ValueDef) -> Result<Value, String> {
        let Some(known) = self.values.get(name).copied() else {
            let value = self.function.values.push(ValueData { ty, def });
            self.values.insert(name.to_owned(), value);
            return Ok(value);
        };
        if self.wanted.remove(name).is_none() {
            return Err(format!("%{name} is defined twice"));
        }
        let used_as = self.function.values[known].ty;
        if used_as != ty {
            return Err(format!("%{name} is of type {ty}, and is used as {used_as}"));
        }
        self.function.values[known].def = def;
        Ok(known)
    }

    /// A value of a type: a name, or a constant.
    pub(super) fn value(&mut self, cursor: &mut Cursor<'_>, ty: Type) -> Result<Value, ParseError> {
        let Some(Token::Local(name)) = cursor.peek() else {
            let constant = constant::read(cursor, ty, self.structures)?;
            return Ok(self.function.intern(constant));
        };
        if let Some(value) = self.values.get(name).copied() {
            let own = self.function.values[value].ty;
            if own != ty {
                return Err(cursor.wrong(&format!("%{name} is of type {own}, and not {ty}")));
            }
            cursor.take();
            return Ok(value);
        }
        // It stands further down; until then it is anything.
        let place = cursor.place();
        cursor.take();
        let def = ValueDef::Constant(Box::new(Constant { ty, kind: ConstantKind::Poison }));
        let value = self.function.values.push(ValueData { ty, def });
        self.values.insert(name.clone(), value);
        self.wanted.insert(name.clone(), place);
        Ok(value)
    }

    /// `T v`.
    pub(super) fn typed(&mut self, cursor: &mut Cursor<'_>) -> Result<Value, ParseError> {
        let ty = self.structures.read(cursor)?;
        self.value(cursor, ty)
    }

    /// The block of a name.
    pub(super) fn block(&mut self, name: &str, place: (u32, u32)) -> Block {
        if let Some(block) = self.blocks.get(name) {
            return *block;
        }
        let block = self.function.blocks.push(BlockData::default());
        self.blocks.insert(name.to_owned(), block);
        self.wanted_blocks.insert(name.to_owned(), place);
        block
    }

    /// `%name` as the name of a block.
    pub(super) fn label(&mut self, cursor: &mut Cursor<'_>) -> Result<Block, ParseError> {
        let place = cursor.place();
        let name = cursor.local("the name of a block")?;
        Ok(self.block(name, place))
    }

    /// The type of a value.
    pub(super) fn ty(&self, value: Value) -> Type {
        self.function.values[value].ty
    }
}
