//! Bodies to code. A called function is copied into its caller, so no instruction needs a stack.

use crate::decode::assembly::Assembly;
use crate::decode::scope::Symbol;
use crate::decode::site::Site;
use crate::diagnostic::Diagnostic;
use crate::machine::code::{Code, Instr, Param};
use crate::ops;
use crate::syntax::types::{Space, Type};
use crate::syntax::{Extent, Function, Instruction, Module, Operand, Statement, Variable};
use rustc_hash::FxHashMap;

/// Local memory of a lane at most.
const MOST_LOCAL: u64 = 512 * 1024;
/// Registers of an entry at most, calls copied in.
const MOST_SLOTS: usize = 1 << 18;
/// Calls may nest this deep.
const DEEPEST_CALL: usize = 32;

/// The work on one entry.
struct Assembler<'m> {
    module: &'m Module,
    made: Assembly,
    calls: Vec<&'m str>,
    local: u64,
    open_shared: Vec<(String, u64)>,
    /// Names of instructions that were looked up, with which of their operands must be in braces.
    checked: FxHashMap<String, Box<[bool]>>,
}

fn align_up(value: u64, align: u64) -> u64 {
    value.next_multiple_of(align.max(1))
}

/// Decodes an entry.
pub(crate) fn assemble(module: &Module, entry: &Function) -> Result<Code, Diagnostic> {
    let mut assembler = Assembler {
        module,
        made: Assembly::new(entry),
        calls: vec![&entry.name],
        local: 0,
        open_shared: Vec::new(),
        checked: FxHashMap::default(),
    };
    assembler.made.scopes.push();
    for (index, variable) in module.variables.iter().enumerate() {
        assembler.module_variable(index, variable)?;
    }
    // Functions that are called see it as well.
    let body = entry.body.as_deref().unwrap_or_default();
    assembler.place_open_shared(body);
    assembler.made.scopes.push();
    assembler.formals(entry)?;
    assembler.statements(body)?;
    assembler.finish(entry.line)
}

/// The number of an operand that has no braces and must have them, from 1 on.
fn lacks_braces(instruction: &Instruction, braced: &[bool]) -> Option<usize> {
    let missing = |(operand, braced): (&Operand, &bool)| *braced && !matches!(operand, Operand::Vector(_));
    instruction.operands.iter().zip(braced).position(missing).map(|at| at + 1)
}

impl<'m> Assembler<'m> {
    fn finish(mut self, line: u32) -> Result<Code, Diagnostic> {
        let exit = Instruction {
            line,
            loc: Default::default(),
            guard: None,
            opcode: "exit".to_owned(),
            operands: Vec::new(),
        };
        self.instruction(&exit)?;
        if self.local > MOST_LOCAL {
            return Err(Diagnostic::new(
                line,
                format!("{} bytes of local memory: {MOST_LOCAL} are possible", self.local),
            ));
        }
        self.made.code.local = align_up(self.local, 16) as usize;
        self.made.code.fills = self.made.fills.into_iter().map(|(fill, slot)| (slot, fill)).collect();
        self.made.code.fills.sort_by_key(|(slot, _)| *slot);
        Ok(self.made.code)
    }

    fn declare(&mut self, name: &str, symbol: Symbol, line: u32) -> Result<(), Diagnostic> {
        if self.made.scopes.declare(name, symbol) {
            Ok(())
        } else {
            Err(Diagnostic::new(line, format!("`{name}` is declared twice in one scope")))
        }
    }

    fn module_variable(&mut self, index: usize, variable: &Variable) -> Result<(), Diagnostic> {
        let symbol = match variable.space {
            Space::Shared if variable.extent == Extent::Open => {
                self.open_shared.push((variable.name.clone(), variable.align));
                return Ok(());
            }
            Space::Shared => self.place_shared(variable),
            _ => Symbol::Variable(index),
        };
        self.declare(&variable.name, symbol, variable.line)
    }

    fn place_shared(&mut self, variable: &Variable) -> Symbol {
        let offset = align_up(self.made.code.shared as u64, variable.align);
        self.made.code.shared = (offset + variable.bytes()) as usize;
        Symbol::Placed { space: Space::Shared, offset, bytes: variable.bytes() }
    }

    /// Shared memory of a size that the launch gives stands behind all variables with a size.
    fn place_open_shared(&mut self, body: &[Statement]) {
        fn fixed(statements: &[Statement], end: &mut u64) {
            for statement in statements {
                match statement {
                    Statement::Variable(variable) if variable.space == Space::Shared => {
                        *end = align_up(*end, variable.align) + variable.bytes();
                    }
                    Statement::Block(inner) => fixed(inner, end),
                    _ => {}
                }
            }
        }
        if self.open_shared.is_empty() {
            return;
        }
        let mut end = self.made.code.shared as u64;
        fixed(body, &mut end);
        let align = self.open_shared.iter().map(|(_, align)| *align).max().unwrap_or(16).max(16);
        let offset = align_up(end, align);
        self.made.code.dynamic = Some(offset as usize);
        for (name, _) in std::mem::take(&mut self.open_shared) {
            self.made.scopes.declare(&name, Symbol::Placed { space: Space::Shared, offset, bytes: 0 });
        }
    }

    fn formals(&mut self, entry: &Function) -> Result<(), Diagnostic> {
        let mut end = 0;
        for variable in &entry.params {
            let offset = align_up(end, variable.align);
            end = offset + variable.bytes();
            self.made.code.params.push(Param {
                name: variable.name.clone(),
                bytes: variable.bytes() as usize,
                offset: offset as usize,
            });
            let symbol = Symbol::Placed { space: Space::Param, offset, bytes: variable.bytes() };
            self.declare(&variable.name, symbol, variable.line)?;
        }
        self.made.code.param_bytes = end as usize;
        Ok(())
    }

    fn local_symbol(&mut self, variable: &Variable) -> Symbol {
        let offset = align_up(self.local, variable.align);
        self.local = offset + variable.bytes();
        Symbol::Placed { space: Space::Local, offset, bytes: variable.bytes() }
    }

    fn place_label(&mut self, label: u32) {
        self.made.code.labels[label as usize] = self.made.code.instructions.len() as u32;
    }

    fn statements(&mut self, statements: &'m [Statement]) -> Result<(), Diagnostic> {
        for statement in statements {
            if let Statement::Label(name, line) = statement {
                let label = self.made.label();
                self.declare(name, Symbol::Label(label), *line)?;
            }
        }
        for statement in statements {
            self.statement(statement)?;
        }
        Ok(())
    }

    fn statement(&mut self, statement: &'m Statement) -> Result<(), Diagnostic> {
        match statement {
            Statement::Label(name, _) => {
                if let Some(&Symbol::Label(label)) = self.made.scopes.find(name) {
                    self.place_label(label);
                }
                Ok(())
            }
            Statement::Registers(ty, names, line) => self.registers(*ty, names, *line),
            Statement::Variable(variable) => {
                let symbol = match (variable.space, variable.extent) {
                    (Space::Shared, Extent::Elements(_)) => self.place_shared(variable),
                    (Space::Local | Space::Param, Extent::Elements(_)) => self.local_symbol(variable),
                    _ => {
                        let message =
                            format!("a {} variable cannot be declared in a body", variable.space.word());
                        return Err(Diagnostic::new(variable.line, message));
                    }
                };
                self.declare(&variable.name, symbol, variable.line)
            }
            Statement::Block(inner) => {
                self.made.scopes.push();
                let result = self.statements(inner);
                self.made.scopes.pop();
                result
            }
            Statement::Targets(name, labels, line) => {
                self.declare(name, Symbol::Targets(labels.clone()), *line)
            }
            Statement::Instruction(instruction) if instruction.opcode.split('.').next() == Some("call") => {
                self.call(instruction)
            }
            Statement::Instruction(instruction) => self.instruction(instruction),
        }
    }

    fn registers(&mut self, ty: Type, names: &[String], line: u32) -> Result<(), Diagnostic> {
        if self.made.code.slots + names.len() > MOST_SLOTS {
            return Err(Diagnostic::new(line, format!("more than {MOST_SLOTS} registers")));
        }
        for name in names {
            let slot = self.made.slot();
            if ty.width() == 128 {
                // A value of 128 bits has two rows, low half first.
                self.made.slot();
            }
            self.made.code.names.push((slot, name.clone()));
            self.declare(name, Symbol::Register(slot, ty), line)?;
        }
        Ok(())
    }

    /// Whether the text's architecture and version have an instruction of that name.
    fn check(&mut self, instruction: &Instruction) -> Result<(), Diagnostic> {
        let wrong =
            |why: String| Err(Diagnostic::new(instruction.line, format!("`{}`: {why}", instruction.opcode)));
        if let Some(braced) = self.checked.get(&instruction.opcode) {
            return match lacks_braces(instruction, braced) {
                Some(at) => wrong(format!("operand {at} must be in braces")),
                None => Ok(()),
            };
        }
        let Some((row, need)) = ptx_isa::find_in_any_order(&instruction.opcode) else {
            return wrong("PTX has no such instruction".into());
        };
        let (major, minor) = self.module.version;
        let version = (u32::from(need.version.major), u32::from(need.version.minor));
        if (major, minor) < version {
            return wrong(format!("it needs `.version {}`, and the text says {major}.{minor}", need.version));
        }
        if let Ok(arch) = self.module.target.parse::<ptx_isa::Arch>()
            && !need.is_met_by(arch)
        {
            return wrong(format!("{arch} does not have it, {} does", need.arch));
        }
        let rows = ptx_isa::operands(row.operands).expect("the rows of the table can be read");
        let braced = rows.iter().map(|row| row.braced).collect();
        self.checked.insert(instruction.opcode.clone(), braced);
        self.check(instruction)
    }

    fn instruction(&mut self, instruction: &Instruction) -> Result<(), Diagnostic> {
        let mut site = Site::new(&mut self.made, instruction);
        let guard = site.guard()?;
        let execute = ops::decode(&mut site)?;
        let parts = site.finish()?;
        self.check(instruction)?;
        self.made.code.instructions.push(Instr {
            execute,
            guard,
            reads: parts.reads.into_boxed_slice(),
            writes: parts.writes.into_boxed_slice(),
            sinks: parts.sinks.into_boxed_slice(),
            knows: parts.knows,
            in_flight_allowed: parts.in_flight_allowed,
            line: instruction.line,
            loc: instruction.loc,
            opcode: instruction.opcode.clone().into_boxed_str(),
        });
        Ok(())
    }

    fn call(&mut self, instruction: &'m Instruction) -> Result<(), Diagnostic> {
        let line = instruction.line;
        let mut operands = &instruction.operands[..];
        let returns = match operands {
            [Operand::Group(names), rest @ ..] => {
                operands = rest;
                &names[..]
            }
            _ => &[],
        };
        let (name, arguments) = match operands {
            [Operand::Name(name)] => (name, &[][..]),
            [Operand::Name(name), Operand::Group(arguments)] => (name, &arguments[..]),
            _ => return Err(Diagnostic::new(line, "a call is `call (results), name, (arguments)`")),
        };
        if ops::system::is_system(name) {
            return self.instruction(instruction);
        }
        let module = self.module;
        let Some(function) = module.functions.iter().find(|f| f.name == *name && f.body.is_some()) else {
            return Err(Diagnostic::new(line, format!("nothing here defines the function `{name}`")));
        };
        if self.calls.contains(&function.name.as_str()) || self.calls.len() > DEEPEST_CALL {
            return Err(Diagnostic::new(line, format!("`{name}` calls itself, which cannot be run")));
        }
        if instruction.guard.is_some() {
            return self.guarded_call(instruction, function, returns, arguments);
        }
        self.inline(function, returns, arguments, line)
    }

    /// Lanes whose guard is false jump over the copied body.
    fn guarded_call(
        &mut self,
        instruction: &'m Instruction,
        function: &'m Function,
        returns: &[Operand],
        arguments: &[Operand],
    ) -> Result<(), Diagnostic> {
        let label = self.made.label();
        let name = format!("$skip{label}");
        self.made.scopes.declare(&name, Symbol::Label(label));
        let guard = instruction.guard.clone().map(|(name, negated)| (name, !negated));
        self.instruction(&Instruction {
            line: instruction.line,
            loc: instruction.loc,
            guard,
            opcode: "bra".to_owned(),
            operands: vec![Operand::Name(name)],
        })?;
        self.inline(function, returns, arguments, instruction.line)?;
        self.place_label(label);
        Ok(())
    }

    fn inline(
        &mut self,
        function: &'m Function,
        returns: &[Operand],
        arguments: &[Operand],
        line: u32,
    ) -> Result<(), Diagnostic> {
        let pairs = [(&function.returns, returns), (&function.params, arguments)];
        let mut bound = Vec::new();
        for (formals, actuals) in pairs {
            if formals.len() != actuals.len() {
                let message =
                    format!("`{}` has {} of these, not {}", function.name, formals.len(), actuals.len());
                return Err(Diagnostic::new(line, message));
            }
            for (formal, actual) in formals.iter().zip(actuals) {
                let symbol = match actual {
                    Operand::Name(name) => self.made.scopes.find(name).cloned(),
                    _ => None,
                };
                match symbol {
                    Some(Symbol::Placed { space: Space::Local, offset, bytes })
                        if bytes >= formal.bytes() =>
                    {
                        bound.push((&formal.name, Symbol::Placed { space: Space::Local, offset, bytes }));
                    }
                    _ => {
                        let message =
                            format!("`{}` of `{}` needs a `.param` variable", formal.name, function.name);
                        return Err(Diagnostic::new(line, message));
                    }
                }
            }
        }
        let hidden = self.made.scopes.enter_function();
        self.made.scopes.push();
        for (name, symbol) in bound {
            self.declare(name, symbol, line)?;
        }
        let label = self.made.label();
        let outer = self.made.return_label.replace(label);
        self.calls.push(&function.name);
        let result = self.statements(function.body.as_deref().unwrap_or_default());
        self.calls.pop();
        self.made.return_label = outer;
        self.place_label(label);
        self.made.scopes.leave_function(hidden);
        result
    }
}
