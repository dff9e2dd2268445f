//! Types in text.

use super::ParseError;
use super::lexer::{Cursor, Token};
use crate::types::Type;
use rustc_hash::FxHashMap;

/// The most lanes of a vector: LLVM's memory and time grow with them, and lowering makes far fewer.
const MOST_LANES: u32 = 4096;

/// The structures that have names in a text.
#[derive(Default)]
pub(super) struct Structures(FxHashMap<String, Type>);

impl Structures {
    /// Reads `%name = type { … }`.
    pub(super) fn define(&mut self, name: String, cursor: &mut Cursor<'_>) -> Result<(), ParseError> {
        cursor.local("the name of a type")?;
        cursor.expect('=')?;
        cursor.expect_word("type")?;
        let ty = self.read(cursor)?;
        self.0.insert(name, ty);
        Ok(())
    }

    /// Reads a type.
    pub(super) fn read(&self, cursor: &mut Cursor<'_>) -> Result<Type, ParseError> {
        let wrong = cursor.wrong("a type is expected here");
        match cursor.take() {
            Some(Token::Word(word)) => self.scalar(word, cursor).unwrap_or(Err(wrong)),
            Some(Token::Mark('<')) => {
                let outside = cursor.wrong(&format!("a vector has 1 to {MOST_LANES} lanes"));
                let lanes = cursor.number("a number of lanes")?;
                if !(1..=MOST_LANES).contains(&lanes) {
                    return Err(outside);
                }
                cursor.expect_word("x")?;
                let lane = self.read(cursor)?;
                cursor.expect('>')?;
                Ok(lane.vector(lanes))
            }
            Some(Token::Mark('{')) => {
                let mut parts = Vec::new();
                while !cursor.accept('}') {
                    if !parts.is_empty() {
                        cursor.expect(',')?;
                    }
                    parts.push(self.read(cursor)?);
                }
                Ok(Type::structure(&parts))
            }
            Some(Token::Local(name)) => {
                let unknown = ParseError { message: format!("there is no type %{name}"), ..wrong };
                self.0.get(name).copied().ok_or(unknown)
            }
            _ => Err(wrong),
        }
    }

    /// The type of a word, if it is one.
    fn scalar(&self, word: &str, cursor: &mut Cursor<'_>) -> Option<Result<Type, ParseError>> {
        Some(Ok(match word {
            "void" => Type::VOID,
            "half" => Type::F16,
            "bfloat" => Type::BF16,
            "float" => Type::F32,
            "double" => Type::F64,
            "ptr" => return Some(pointer(cursor)),
            _ => {
                let bits: u16 = word.strip_prefix('i')?.parse().ok()?;
                Some(Type::int(bits)).filter(|_| (1..=128).contains(&bits))?
            }
        }))
    }
}

/// What stands behind `ptr`.
fn pointer(cursor: &mut Cursor<'_>) -> Result<Type, ParseError> {
    if !cursor.accept_word("addrspace") {
        return Ok(Type::PTR);
    }
    cursor.expect('(')?;
    let space = cursor.number("an address space")?;
    cursor.expect(')')?;
    Ok(Type::pointer(space))
}
