//! Definitions of functions: blocks, names of values, and what jumps pass to blocks.

use super::ParseError;
use super::debug::Metadata;
use super::instruction;
use super::lexer::{Cursor, Token};
use super::reader::{Incoming, Reader};
use super::types::Structures;
use crate::function::{
    Block, BlockCall, BlockData, FuncId, Function, Inst, InstData, Value, ValueData, ValueDef,
};
use crate::module::Module;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Reads `define … { … }` in place of the function of that name.
pub(super) fn define(
    cursor: &mut Cursor<'_>,
    module: &mut Module,
    structures: &Structures,
    metadata: &Metadata,
) -> Result<FuncId, ParseError> {
    while !matches!(cursor.peek(), Some(Token::Global(_)) | None) {
        cursor.take();
    }
    let unknown =
        cursor.wrong("the text defines a function that the compile did not: only bodies can be edited");
    let Some(Token::Global(name)) = cursor.take() else { return Err(unknown) };
    let id = module.find(name).ok_or_else(|| unknown.clone())?;
    let printed = module.bodies.remove(&id).ok_or(unknown)?;
    let mut function = Function::new(name, printed.ret, printed.params.clone());
    function.linkage = printed.linkage;
    function.attributes = printed.attributes;
    function.kernel = printed.kernel;
    function.location = printed.location;
    let mut reader = Reader {
        module,
        function,
        structures,
        metadata,
        values: FxHashMap::default(),
        wanted: FxHashMap::default(),
        blocks: FxHashMap::default(),
        wanted_blocks: FxHashMap::default(),
        current: None,
        incoming: FxHashMap::default(),
    };
    reader.params(cursor)?;
    // Attributes of the function are as they were.
    while !cursor.accept('{') {
        if cursor.take().is_none() {
            return Err(cursor.wrong("the body of the function is missing"));
        }
    }
    while !cursor.accept('}') {
        reader.line(cursor)?;
    }
    reader.finish()?;
    let function = reader.function;
    module.bodies.insert(id, function);
    Ok(id)
}

impl Reader<'_> {
    /// The names of the parameters; their types must be what they were.
    fn params(&mut self, cursor: &mut Cursor<'_>) -> Result<(), ParseError> {
        cursor.expect('(')?;
        for index in 0..self.function.params.len() {
            if index > 0 {
                cursor.expect(',')?;
            }
            let wrong = cursor.wrong("the parameters of a function cannot be edited");
            if self.structures.read(cursor)? != self.function.params[index].ty {
                return Err(wrong);
            }
            // Attributes of the parameter are as they were.
            let mut depth = 0;
            let name = loop {
                match cursor.take() {
                    Some(Token::Local(name)) if depth == 0 => break name,
                    Some(Token::Mark('(')) => depth += 1,
                    Some(Token::Mark(')')) if depth > 0 => depth -= 1,
                    Some(Token::Mark(',' | ')')) if depth == 0 => return Err(wrong),
                    None => return Err(wrong),
                    Some(_) => {}
                }
            };
            self.values.insert(name.clone(), Value::from_u32(index as u32));
        }
        cursor.expect(')')
    }

    /// A label, a parameter of a block, or an instruction.
    fn line(&mut self, cursor: &mut Cursor<'_>) -> Result<(), ParseError> {
        if let (Some(Token::Word(name) | Token::Number(name)), Some(Token::Mark(':'))) =
            (cursor.peek(), cursor.peek_second())
        {
            let wrong = cursor.wrong(&format!("there are two blocks {name}"));
            cursor.take();
            cursor.take();
            let block = self.block(name, cursor.place());
            if self.wanted_blocks.remove(name).is_none() {
                return Err(wrong);
            }
            self.function.layout.push(block);
            self.current = Some(block);
            return Ok(());
        }
        let place = cursor.place();
        let result = match (cursor.peek(), cursor.peek_second()) {
            (Some(Token::Local(name)), Some(Token::Mark('='))) => {
                cursor.take();
                cursor.take();
                Some(name.as_str())
            }
            _ => None,
        };
        let Some(block) = self.current else { return self.first_block(cursor, result, place) };
        if cursor.accept_word("phi") {
            return self.phi(cursor, block, result, place);
        }
        let location = instruction::read(self, cursor)?;
        let (data, location) = location;
        self.append(block, data, location, result, place)
    }

    /// The first block may lack its label.
    fn first_block(
        &mut self,
        cursor: &mut Cursor<'_>,
        result: Option<&str>,
        place: (u32, u32),
    ) -> Result<(), ParseError> {
        let block = self.function.blocks.push(BlockData::default());
        self.function.layout.push(block);
        self.current = Some(block);
        let (data, location) = instruction::read(self, cursor)?;
        self.append(block, data, location, result, place)
    }

    fn append(
        &mut self,
        block: Block,
        data: InstData,
        location: Option<crate::location::Location>,
        result: Option<&str>,
        place: (u32, u32),
    ) -> Result<(), ParseError> {
        let wrong =
            |message: &str| ParseError { line: place.0, column: place.1, message: message.to_owned() };
        let ty = data.ty;
        let inst: Inst = self.function.make(data, location);
        self.function.blocks[block].insts.push(inst);
        match result {
            None if ty.is_void() => Ok(()),
            // A call whose result nobody wants.
            None => {
                let value = self.function.values.push(ValueData { ty, def: ValueDef::Inst(inst) });
                self.function.results[inst] = value.into();
                Ok(())
            }
            Some(_) if ty.is_void() => Err(wrong("this instruction has no result")),
            Some(name) => {
                let value = self.bind(name, ty, ValueDef::Inst(inst)).map_err(|message| wrong(&message))?;
                self.function.results[inst] = value.into();
                Ok(())
            }
        }
    }

    /// `%x = phi T [ a, %b ], …`: a parameter of the block.
    fn phi(
        &mut self,
        cursor: &mut Cursor<'_>,
        block: Block,
        result: Option<&str>,
        place: (u32, u32),
    ) -> Result<(), ParseError> {
        let wrong =
            |message: &str| ParseError { line: place.0, column: place.1, message: message.to_owned() };
        let name = result.ok_or_else(|| wrong("a phi has a result"))?;
        if !self.function.blocks[block].insts.is_empty() {
            return Err(wrong("a phi stands in front of all instructions of its block"));
        }
        let ty = self.structures.read(cursor)?;
        let index = self.function.blocks[block].params.len();
        let def = ValueDef::BlockParam(block, index as u32);
        let value = self.bind(name, ty, def).map_err(|message| wrong(&message))?;
        self.function.blocks[block].params.push(value);
        loop {
            cursor.expect('[')?;
            let place = cursor.place();
            let value = self.value(cursor, ty)?;
            cursor.expect(',')?;
            let from = self.label(cursor)?;
            cursor.expect(']')?;
            self.incoming.entry((block, index)).or_default().push(Incoming { value, from, place });
            if !cursor.accept(',') {
                return Ok(());
            }
        }
    }

    /// Checks that everything named is there, and hands jumps what the parameters of blocks take from them.
    fn finish(&mut self) -> Result<(), ParseError> {
        let first = |wanted: &FxHashMap<String, (u32, u32)>| {
            wanted.iter().map(|(name, place)| (*place, name.clone())).min()
        };
        let missing = first(&self.wanted).map(|(place, name)| (place, format!("%{name} is not defined")));
        let missing = missing.or_else(|| {
            first(&self.wanted_blocks).map(|(place, name)| (place, format!("there is no block %{name}")))
        });
        if let Some(((line, column), message)) = missing {
            return Err(ParseError { line, column, message });
        }
        let mut used = FxHashMap::default();
        for from in self.function.layout.clone() {
            let Some(last) = self.function.blocks[from].insts.last().copied() else { continue };
            let mut targets = self.function.insts[last].targets.clone();
            for call in &mut targets {
                call.args = self.passed(call, from, &mut used);
            }
            self.function.insts[last].targets = targets;
        }
        let stray = self.incoming.values().flatten().filter(|incoming| !used.contains_key(&incoming.place));
        match stray.map(|incoming| incoming.place).min() {
            Some((line, column)) => {
                Err(ParseError { line, column, message: "this block does not jump here".to_owned() })
            }
            None => Ok(()),
        }
    }

    /// What a jump passes; parameters that say nothing about it get too few values, which the verifier tells.
    fn passed(
        &self,
        call: &BlockCall,
        from: Block,
        used: &mut FxHashMap<(u32, u32), ()>,
    ) -> SmallVec<[Value; 4]> {
        let count = self.function.blocks[call.block].params.len();
        let of = |index| {
            let all = self.incoming.get(&(call.block, index))?;
            all.iter().find(|incoming| incoming.from == from)
        };
        let mut values = SmallVec::new();
        for incoming in (0..count).filter_map(of) {
            used.insert(incoming.place, ());
            values.push(incoming.value);
        }
        values
    }
}
