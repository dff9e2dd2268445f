//! Reads textual LLVM IR back: the bodies of functions in overrides.
//!
//! What the text cannot say (how a kernel is launched, what may be assumed of callees) and what an edit does not change
//! (signatures, data) is taken from the module that the text was printed from. Instructions, operands and places are
//! read in the form that the printer gives them and LLVM's own tools do.
//!
//! Left out: attached definitions, which stay what they are; changes of signatures and data; flags that this crate does
//! not have and that only say less.

mod constant;
mod debug;
mod function;
mod heads;
mod instruction;
mod lexer;
mod reader;
mod types;

use crate::function::FuncId;
use crate::module::Module;
use crate::types::Type;
use debug::Metadata;
use lexer::{Cursor, Token};
use std::fmt;
use std::str::FromStr;

/// What is wrong with a text, and where.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseError {
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
    /// What was found and what was expected.
    pub message: String,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.line, self.column, self.message)
    }
}

impl std::error::Error for ParseError {}

/// Reads an edited text of a module. `printed` is the module that it was printed from.
///
/// # Errors
/// The first thing that is wrong, with its place. What comes back is well formed as text and is still to be verified.
pub fn parse(text: &str, printed: &Module) -> Result<Module, ParseError> {
    let (code, metadata) = Metadata::split(text);
    let tokens = lexer::lex(&code)?;
    let mut cursor = Cursor::new(&tokens);
    let mut module = printed.clone();
    let mut structures = types::Structures::default();
    let mut defined: Vec<FuncId> = Vec::new();
    while let Some(token) = cursor.peek() {
        match token {
            Token::Word(word) if word == "define" => {
                let id = function::define(&mut cursor, &mut module, &structures, &metadata)?;
                if defined.contains(&id) {
                    return Err(cursor.wrong("this function is defined twice"));
                }
                defined.push(id);
            }
            Token::Local(name) => {
                let name = name.clone();
                structures.define(name, &mut cursor)?;
            }
            // Declarations, data and what describes the module are as they were.
            _ => cursor.skip_line(),
        }
    }
    let missing = module
        .functions()
        .find(|function| !defined.iter().any(|id| module.callee(*id).name == function.name));
    match missing {
        Some(function) => Err(cursor.wrong(&format!("the function @{} is missing", function.name))),
        None => Ok(module),
    }
}

impl FromStr for Type {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Type, ParseError> {
        types::Structures::default().read(&mut Cursor::new(&lexer::lex(text)?))
    }
}

/// Reads the text of a whole module that no compile printed, such as a fixture.
///
/// # Errors
/// As [`parse`].
pub fn read(text: &str) -> Result<Module, ParseError> {
    let (code, _) = Metadata::split(text);
    let tokens = lexer::lex(&code)?;
    let module = heads::heads(&mut Cursor::new(&tokens))?;
    parse(text, &module)
}
