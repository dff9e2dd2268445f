//! Bodies of functions: declarations, labels, nested scopes, instructions and their operands.

use crate::diagnostic::Diagnostic;
use crate::syntax::lex::Token;
use crate::syntax::parse::Parser;
use crate::syntax::types::{Space, Type};
use crate::syntax::{Base, Instruction, Operand, Statement};

/// Scopes may nest this deep.
const DEEPEST: u32 = 200;

impl Parser {
    /// Statements up to the closing `}`, which is taken.
    pub(crate) fn body(&mut self) -> Result<Vec<Statement>, Diagnostic> {
        self.enter()?;
        let mut out = Vec::new();
        while !self.take_mark('}') {
            self.statement(&mut out)?;
        }
        self.nesting -= 1;
        Ok(out)
    }

    fn statement(&mut self, out: &mut Vec<Statement>) -> Result<(), Diagnostic> {
        if self.take_mark(';') {
            return Ok(());
        }
        if self.take_mark('{') {
            out.push(Statement::Block(self.body()?));
            return Ok(());
        }
        match self.peek().cloned() {
            Some(Token::Directive(word)) => self.body_directive(&word, out),
            Some(Token::Word(name)) if self.peek_second() == Some(&Token::Mark(':')) => {
                let line = self.line();
                self.at += 2;
                if self.take_directive("branchtargets") {
                    let mut labels = vec![self.word()?];
                    while self.take_mark(',') {
                        labels.push(self.word()?);
                    }
                    self.mark(';')?;
                    out.push(Statement::Targets(name, labels, line));
                } else if self.take_directive("callprototype") {
                    return Err(Diagnostic::new(line, "indirect calls cannot be run"));
                } else {
                    out.push(Statement::Label(name, line));
                }
                Ok(())
            }
            Some(Token::Word(_) | Token::Mark('@')) => {
                out.push(Statement::Instruction(self.instruction()?));
                Ok(())
            }
            _ => self.error("an instruction"),
        }
    }

    fn body_directive(&mut self, word: &str, out: &mut Vec<Statement>) -> Result<(), Diagnostic> {
        match word {
            "loc" => self.location(),
            "pragma" => self.pragma(),
            "reg" => {
                out.push(self.registers()?);
                Ok(())
            }
            _ if Space::named(word).is_some() => {
                out.extend(self.variables()?.into_iter().map(Statement::Variable));
                Ok(())
            }
            _ => self.error("an instruction"),
        }
    }

    /// `.reg .b32 %r<4>, %x;`
    fn registers(&mut self) -> Result<Statement, Diagnostic> {
        let line = self.line();
        self.at += 1;
        let ty = match self.peek() {
            Some(Token::Directive(word)) => Type::named(word),
            _ => None,
        };
        let Some(ty) = ty else { return self.error("a register type") };
        self.at += 1;
        let mut names = Vec::new();
        loop {
            let name = self.word()?;
            if self.take_mark('<') {
                let count = self.integer()?;
                self.mark('>')?;
                if !(0..=1 << 20).contains(&count) {
                    return Err(Diagnostic::new(line, format!("{count} registers")));
                }
                names.extend((0..count).map(|index| format!("{name}{index}")));
            } else {
                names.push(name);
            }
            if !self.take_mark(',') {
                break;
            }
        }
        self.mark(';')?;
        Ok(Statement::Registers(ty, names, line))
    }

    fn instruction(&mut self) -> Result<Instruction, Diagnostic> {
        let mut guard = None;
        if self.take_mark('@') {
            let negated = self.take_mark('!');
            guard = Some((self.word()?, negated));
        }
        let line = self.line();
        let opcode = self.word()?;
        let mut operands = Vec::new();
        while !self.take_mark(';') {
            operands.push(self.operand()?);
            if !self.is_mark(';') && !self.take_mark(',') {
                return self.error("`,` or `;`");
            }
        }
        Ok(Instruction { line, loc: self.loc, guard, opcode, operands })
    }

    fn operand(&mut self) -> Result<Operand, Diagnostic> {
        let first = self.simple()?;
        if self.take_mark('|') {
            let second = self.simple()?;
            return Ok(Operand::Pair(Box::new(first), Box::new(second)));
        }
        Ok(first)
    }

    fn list(&mut self, close: char) -> Result<Vec<Operand>, Diagnostic> {
        let mut out = Vec::new();
        while !self.take_mark(close) {
            out.push(self.operand()?);
            if !self.is_mark(close) {
                self.mark(',')?;
            }
        }
        Ok(out)
    }

    fn simple(&mut self) -> Result<Operand, Diagnostic> {
        self.enter()?;
        let operand = self.plain()?;
        self.nesting -= 1;
        Ok(operand)
    }

    /// Something that may hold others of its kind begins.
    pub(crate) fn enter(&mut self) -> Result<(), Diagnostic> {
        self.nesting += 1;
        if self.nesting > DEEPEST {
            return Err(Diagnostic::new(self.line(), format!("more than {DEEPEST} levels in one another")));
        }
        Ok(())
    }

    fn plain(&mut self) -> Result<Operand, Diagnostic> {
        let Some(token) = self.peek().cloned() else { return self.error("an operand") };
        self.at += 1;
        Ok(match token {
            Token::Word(word) if word == "_" => Operand::Sink,
            Token::Word(word) => {
                if self.is_mark('+') {
                    self.at += 1;
                    let offset = self.integer()?;
                    return Ok(Operand::Offset(word, offset as i64));
                }
                Operand::Name(word)
            }
            Token::Integer(value) => Operand::Integer(value),
            Token::Float(value) => Operand::Float(value),
            Token::Bits32(bits) => Operand::Bits32(bits),
            Token::Bits64(bits) => Operand::Bits64(bits),
            Token::Mark('-') => match self.simple()? {
                Operand::Integer(value) => Operand::Integer(-value),
                Operand::Float(value) => Operand::Float(-value),
                Operand::Bits32(bits) => Operand::Bits32(bits ^ 1 << 31),
                Operand::Bits64(bits) => Operand::Bits64(bits ^ 1 << 63),
                other => Operand::Minus(Box::new(other)),
            },
            Token::Mark('!') => Operand::Not(Box::new(self.simple()?)),
            Token::Mark('{') => Operand::Vector(self.list('}')?),
            Token::Mark('(') => Operand::Group(self.list(')')?),
            Token::Mark('[') => self.address()?,
            _ => {
                self.at -= 1;
                return self.error("an operand");
            }
        })
    }

    /// After `[`: `base`, `base + offset`, `base, {coordinates}`, up to `]`.
    fn address(&mut self) -> Result<Operand, Diagnostic> {
        let base = match self.peek() {
            Some(Token::Word(_)) => Base::Name(self.word()?),
            _ => Base::Absolute,
        };
        let mut offset = match base {
            Base::Absolute => self.integer()?,
            Base::Name(_) => 0,
        };
        // Only sums: assemblers refuse `[%rd1-8]`.
        while self.take_mark('+') {
            offset += self.integer()?;
        }
        let address = Operand::Address(base, offset as i64);
        let mut parts = Vec::new();
        while self.take_mark(',') {
            self.mark('{')?;
            parts.push(self.list('}')?);
        }
        self.mark(']')?;
        Ok(if parts.is_empty() { address } else { Operand::Tensor(Box::new(address), parts) })
    }
}
