//! Tokens to a module: directives, variables, functions. Statements of bodies are parsed in `statements`.

use crate::diagnostic::Diagnostic;
use crate::syntax::lex::{Spot, Token, lex};
use crate::syntax::types::{Space, Type};
use crate::syntax::{Extent, Function, Init, Loc, Module, Variable};

/// Parses a text.
pub(crate) fn parse(text: &str) -> Result<Module, Diagnostic> {
    let tokens = lex(text)?;
    let mut parser = Parser { tokens, at: 0, loc: Loc::default(), nesting: 0 };
    let mut module = Module::default();
    while parser.at < parser.tokens.len() {
        parser.item(&mut module)?;
    }
    if module.version == (0, 0) {
        return Err(Diagnostic::new(1, "the text has no `.version`"));
    }
    Ok(module)
}

/// A reader of tokens.
pub(crate) struct Parser {
    pub(crate) tokens: Vec<Spot>,
    pub(crate) at: usize,
    /// The `.loc` in force.
    pub(crate) loc: Loc,
    /// How many `{` are open in a body.
    pub(crate) nesting: u32,
}

/// Words that say who sees a name; they change nothing here.
const LINKAGE: &[&str] = &["extern", "visible", "weak", "common"];

impl Parser {
    pub(crate) fn line(&self) -> u32 {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |spot| spot.line)
    }

    pub(crate) fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|spot| &spot.token)
    }

    pub(crate) fn peek_second(&self) -> Option<&Token> {
        self.tokens.get(self.at + 1).map(|spot| &spot.token)
    }

    pub(crate) fn error<T>(&self, expected: &str) -> Result<T, Diagnostic> {
        let found = match self.peek() {
            None => "the end of the text".to_owned(),
            Some(Token::Word(word)) => format!("`{word}`"),
            Some(Token::Directive(word)) => format!("`.{word}`"),
            Some(Token::Mark(mark)) => format!("`{mark}`"),
            Some(token) => format!("{token:?}"),
        };
        Err(Diagnostic::new(self.line(), format!("expected {expected}, found {found}")))
    }

    pub(crate) fn is_mark(&self, mark: char) -> bool {
        self.peek() == Some(&Token::Mark(mark))
    }

    pub(crate) fn take_mark(&mut self, mark: char) -> bool {
        let found = self.is_mark(mark);
        self.at += usize::from(found);
        found
    }

    pub(crate) fn mark(&mut self, mark: char) -> Result<(), Diagnostic> {
        if self.take_mark(mark) { Ok(()) } else { self.error(&format!("`{mark}`")) }
    }

    pub(crate) fn word(&mut self) -> Result<String, Diagnostic> {
        match self.peek() {
            Some(Token::Word(word)) => {
                let word = word.clone();
                self.at += 1;
                Ok(word)
            }
            _ => self.error("a name"),
        }
    }

    fn directive(&self) -> Option<&str> {
        match self.peek() {
            Some(Token::Directive(word)) => Some(word),
            _ => None,
        }
    }

    pub(crate) fn take_directive(&mut self, word: &str) -> bool {
        let found = self.directive() == Some(word);
        self.at += usize::from(found);
        found
    }

    pub(crate) fn integer(&mut self) -> Result<i128, Diagnostic> {
        let negative = self.take_mark('-');
        match self.peek() {
            Some(Token::Integer(value)) => {
                let value = *value;
                self.at += 1;
                Ok(if negative { -value } else { value })
            }
            _ => self.error("an integer"),
        }
    }

    fn small(&mut self) -> Result<u32, Diagnostic> {
        let line = self.line();
        let value = self.integer()?;
        u32::try_from(value).map_err(|_| Diagnostic::new(line, format!("{value} is out of range")))
    }

    fn item(&mut self, module: &mut Module) -> Result<(), Diagnostic> {
        let Some(word) = self.directive().map(str::to_owned) else {
            if self.take_mark(';') {
                return Ok(());
            }
            return self.error("a directive such as `.entry`");
        };
        match word.as_str() {
            "version" => {
                self.at += 1;
                module.version = self.version()?;
            }
            "target" => {
                self.at += 1;
                module.target = self.word()?;
                while self.take_mark(',') {
                    self.word()?;
                }
            }
            "address_size" => {
                self.at += 1;
                if self.integer()? != 64 {
                    return Err(Diagnostic::new(self.line(), "only `.address_size 64` can be run"));
                }
            }
            "file" => {
                let file = self.file()?;
                module.files.push(file);
            }
            "loc" => self.location()?,
            "section" => self.section()?,
            "pragma" => self.pragma()?,
            word if LINKAGE.contains(&word) => self.at += 1,
            "entry" | "func" => {
                let function = self.function()?;
                module.functions.push(function);
            }
            _ => {
                let mut variables = self.variables()?;
                module.variables.append(&mut variables);
            }
        }
        Ok(())
    }

    /// `8.7` reads as a float or, `9.0`, likewise; an integer has minor 0.
    fn version(&mut self) -> Result<(u32, u32), Diagnostic> {
        match self.peek().cloned() {
            Some(Token::Float(value)) => {
                self.at += 1;
                let tenths = (value * 10.0).round() as u32;
                Ok((tenths / 10, tenths % 10))
            }
            _ => Ok((self.small()?, 0)),
        }
    }

    fn file(&mut self) -> Result<(u32, String), Diagnostic> {
        self.at += 1;
        let number = self.small()?;
        let Some(Token::Text(name)) = self.peek().cloned() else {
            return self.error("the name of a file");
        };
        self.at += 1;
        while self.take_mark(',') {
            self.integer()?;
        }
        Ok((number, name))
    }

    /// `.loc file line column`, with what may follow about inlining.
    pub(crate) fn location(&mut self) -> Result<(), Diagnostic> {
        self.at += 1;
        let loc = Loc { file: self.small()?, line: self.small()?, column: self.small()? };
        while self.take_mark(',') {
            match self.word()?.as_str() {
                "function_name" => {
                    self.word()?;
                    if self.take_mark('+') {
                        self.integer()?;
                    }
                }
                "inlined_at" => {
                    for _ in 0..3 {
                        self.integer()?;
                    }
                }
                other => return Err(Diagnostic::new(self.line(), format!("`{other}` in a `.loc`"))),
            }
        }
        self.loc = loc;
        Ok(())
    }

    fn section(&mut self) -> Result<(), Diagnostic> {
        while !self.is_mark('{') {
            if self.peek().is_none() {
                return self.error("`{` of a section");
            }
            self.at += 1;
        }
        let mut depth = 0;
        loop {
            match self.peek() {
                None => return self.error("`}` of a section"),
                Some(Token::Mark('{')) => depth += 1,
                Some(Token::Mark('}')) => depth -= 1,
                Some(_) => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(());
            }
        }
    }

    /// `.pragma "…", "…";`
    pub(crate) fn pragma(&mut self) -> Result<(), Diagnostic> {
        while !self.take_mark(';') {
            if self.peek().is_none() {
                return self.error("`;` of a pragma");
            }
            self.at += 1;
        }
        Ok(())
    }

    /// A declaration of variables of one space, with its `;`.
    pub(crate) fn variables(&mut self) -> Result<Vec<Variable>, Diagnostic> {
        let mut out = vec![self.variable()?];
        while self.take_mark(',') {
            let mut next = out[0].clone();
            next.init.clear();
            self.declarator(&mut next)?;
            out.push(next);
        }
        self.mark(';')?;
        Ok(out)
    }

    /// `.shared .align 16 .b8 name[n]`: one variable or parameter.
    pub(crate) fn variable(&mut self) -> Result<Variable, Diagnostic> {
        let line = self.line();
        let space = match self.directive().and_then(Space::named) {
            Some(space) => space,
            None => return self.error("a state space such as `.global`"),
        };
        self.at += 1;
        let (mut align, mut vector, mut ty) = (0, 1, None);
        while let Some(word) = self.directive().map(str::to_owned) {
            self.at += 1;
            match word.as_str() {
                // After the type it speaks of what a pointer points to.
                "align" if ty.is_some() => drop(self.small()?),
                "align" => align = u64::from(self.small()?),
                "v2" => vector = 2,
                "v4" => vector = 4,
                "ptr" | "global" | "shared" | "const" | "local" | "managed" | "unified" => {}
                "attribute" => self.skip_group()?,
                word => {
                    let named = Type::named(word);
                    ty = Some(named.ok_or_else(|| Diagnostic::new(line, format!("unknown type `.{word}`")))?);
                }
            }
        }
        let Some(ty) = ty else { return self.error("a type") };
        let mut variable = Variable {
            name: String::new(),
            space,
            ty,
            align: align.max(ty.bytes() as u64 * vector),
            extent: Extent::Elements(vector),
            init: Vec::new(),
            line,
        };
        self.declarator(&mut variable)?;
        Ok(variable)
    }

    fn skip_group(&mut self) -> Result<(), Diagnostic> {
        self.mark('(')?;
        while !self.take_mark(')') {
            if self.peek().is_none() {
                return self.error("`)`");
            }
            self.at += 1;
        }
        Ok(())
    }

    fn declarator(&mut self, variable: &mut Variable) -> Result<(), Diagnostic> {
        variable.name = self.word()?;
        let mut elements = match variable.extent {
            Extent::Elements(vector @ (2 | 4)) => vector,
            _ => 1,
        };
        let mut open = false;
        while self.take_mark('[') {
            if self.take_mark(']') {
                open = true;
                continue;
            }
            let line = self.line();
            let count = self.integer()?;
            elements = u64::try_from(count)
                .ok()
                .and_then(|count| elements.checked_mul(count))
                .filter(|count| *count <= 1 << 40)
                .ok_or_else(|| Diagnostic::new(line, format!("an array of {count} elements")))?;
            self.mark(']')?;
        }
        variable.extent = if open { Extent::Open } else { Extent::Elements(elements) };
        if self.take_mark('=') {
            self.initialiser(variable)?;
        }
        Ok(())
    }

    fn initialiser(&mut self, variable: &mut Variable) -> Result<(), Diagnostic> {
        if self.take_mark('{') {
            self.enter()?;
            while !self.take_mark('}') {
                self.initialiser(variable)?;
                if !self.is_mark('}') {
                    self.mark(',')?;
                }
            }
            self.nesting -= 1;
            return Ok(());
        }
        let negative = self.take_mark('-');
        let init = match self.peek().cloned() {
            Some(Token::Integer(value)) => Init::Bits(if negative { -value } else { value } as u64),
            Some(Token::Bits32(bits)) => Init::Bits(u64::from(bits)),
            Some(Token::Bits64(bits)) => Init::Bits(bits),
            Some(Token::Float(value)) => {
                let value = if negative { -value } else { value };
                let single = variable.ty.bits == 32;
                Init::Bits(if single { u64::from((value as f32).to_bits()) } else { value.to_bits() })
            }
            Some(Token::Word(word)) => return self.symbol_init(word, variable),
            _ => return self.error("a value of the initialiser"),
        };
        self.at += 1;
        variable.init.push(init);
        Ok(())
    }

    /// `name`, `name+4`, `generic(name)+4`.
    fn symbol_init(&mut self, word: String, variable: &mut Variable) -> Result<(), Diagnostic> {
        self.at += 1;
        let name = if word == "generic" && self.take_mark('(') {
            let name = self.word()?;
            self.mark(')')?;
            name
        } else {
            word
        };
        let offset = if self.take_mark('+') { self.integer()? as i64 } else { 0 };
        variable.init.push(Init::Symbol(name, offset));
        Ok(())
    }

    fn formals(&mut self) -> Result<Vec<Variable>, Diagnostic> {
        let mut out = Vec::new();
        if !self.take_mark('(') {
            return Ok(out);
        }
        while !self.take_mark(')') {
            out.push(self.variable()?);
            if !self.is_mark(')') {
                self.mark(',')?;
            }
        }
        Ok(out)
    }

    fn function(&mut self) -> Result<Function, Diagnostic> {
        let line = self.line();
        let entry = self.take_directive("entry");
        if !entry {
            self.at += 1;
        }
        let returns = if entry { Vec::new() } else { self.formals()? };
        let name = self.word()?;
        let params = self.formals()?;
        let (reqntid, cluster, max_registers, body) = (None, None, None, None);
        let mut function =
            Function { name, entry, params, returns, reqntid, cluster, max_registers, body, line };
        while let Some(word) = self.directive().map(str::to_owned) {
            self.at += 1;
            self.performance(&word, &mut function)?;
        }
        if self.take_mark(';') {
            return Ok(function);
        }
        self.loc = Loc::default();
        self.mark('{')?;
        function.body = Some(self.body()?);
        Ok(function)
    }

    /// `.reqntid 128` and its like.
    fn performance(&mut self, word: &str, function: &mut Function) -> Result<(), Diagnostic> {
        if matches!(word, "noreturn" | "explicitcluster" | "blocksareclusters") {
            return Ok(());
        }
        if word == "pragma" {
            return self.pragma();
        }
        if word == "abi_preserve" || word == "abi_preserve_control" || word == "alias" {
            return self.small().map(drop);
        }
        let mut dims = [1; 3];
        for (index, dim) in dims.iter_mut().enumerate() {
            if index > 0 && !self.take_mark(',') {
                break;
            }
            *dim = self.small()?;
        }
        match word {
            "reqntid" => function.reqntid = Some(dims),
            "reqnctapercluster" => function.cluster = Some(dims),
            "maxnreg" => function.max_registers = Some(dims[0]),
            "maxntid" | "minnctapersm" | "maxclusterrank" | "maxnctapersm" => {}
            _ => {
                return Err(Diagnostic::new(
                    self.line(),
                    format!("unknown directive `.{word}` of a function"),
                ));
            }
        }
        Ok(())
    }
}
