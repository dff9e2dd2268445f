//! Inline assembly: its text, and LLVM's constraint string taken apart.

/// Inline assembly.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Asm {
    /// The text, `$0` for operands.
    pub text: String,
    /// LLVM's constraint string.
    pub constraints: String,
    /// Whether it must stay even when its result is unused, and where it is.
    pub side_effects: bool,
}

/// One entry of a constraint string.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Constraint<'a> {
    /// A result, with the letters of its class; results come first.
    Output(&'a str),
    /// An operand, with the letters of its class.
    Input(&'a str),
    /// An operand that shares the register of a result.
    Tied(usize),
    /// Something that is overwritten: `memory` or a register.
    Clobber(&'a str),
}

impl Asm {
    /// Assembly that only computes its results from its operands.
    pub fn pure(text: &str, constraints: &str) -> Asm {
        Asm { text: text.into(), constraints: constraints.into(), side_effects: false }
    }

    /// Assembly that does something besides.
    pub fn effect(text: &str, constraints: &str) -> Asm {
        Asm { text: text.into(), constraints: constraints.into(), side_effects: true }
    }

    /// The entries of the constraint string.
    pub fn entries(&self) -> impl Iterator<Item = Constraint<'_>> {
        split(&self.constraints).map(entry)
    }

    /// Whether memory may have changed afterwards.
    pub fn clobbers_memory(&self) -> bool {
        self.constraints.contains('~') && self.entries().any(|entry| entry == Constraint::Clobber("memory"))
    }

    /// Whether it only computes its results from its operands.
    pub fn is_pure(&self) -> bool {
        !self.side_effects && !self.clobbers_memory()
    }
}

fn entry(text: &str) -> Constraint<'_> {
    if let Some(clobber) = text.strip_prefix('~') {
        return Constraint::Clobber(clobber.trim_start_matches('{').trim_end_matches('}'));
    }
    match text.strip_prefix('=') {
        Some(memory) if memory.trim_start_matches('&').starts_with('*') => Constraint::Input(memory),
        Some(class) => Constraint::Output(class.trim_start_matches('&')),
        None => text.parse().map_or(Constraint::Input(text), Constraint::Tied),
    }
}

/// The parts between commas that are not in braces.
fn split(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    let parts = std::iter::from_fn(move || {
        let mut depth = 0i32;
        let end = rest.bytes().position(|byte| {
            depth += i32::from(byte == b'{') - i32::from(byte == b'}');
            byte == b',' && depth == 0
        });
        let part = &rest[..end.unwrap_or(rest.len())];
        let is_over = rest.is_empty();
        rest = end.map_or("", |end| &rest[end + 1..]);
        (!is_over).then_some(part)
    });
    parts.filter(|part| !part.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{Asm, Constraint};

    #[test]
    fn entries_of_a_constraint_string() {
        let asm = Asm::pure("x", "=f,=&r,0,r,{ax,bx},=*m,~{memory}");
        let entries: Vec<Constraint<'_>> = asm.entries().collect();
        assert_eq!(
            entries,
            [
                Constraint::Output("f"),
                Constraint::Output("r"),
                Constraint::Tied(0),
                Constraint::Input("r"),
                Constraint::Input("{ax,bx}"),
                Constraint::Input("*m"),
                Constraint::Clobber("memory"),
            ]
        );
        assert!(asm.clobbers_memory() && !asm.is_pure());
        assert_eq!(Asm::pure("x", "").entries().count(), 0);
    }
}
