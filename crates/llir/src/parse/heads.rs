//! What stands around the bodies of a text that no compile printed: signatures, declarations, data.
//!
//! A declaration with `memory(none)` is of a function that only computes its result; a convention before the result
//! type makes a kernel, and `"nvvm.reqntid"`-like attributes, a name and numbers in quotes, say how many lanes run it.

use super::ParseError;
use super::lexer::{Cursor, Token};
use super::types::Structures;
use crate::function::{Kernel, Linkage, Param, ParamAttributes};
use crate::intrinsics::Purity;
use crate::module::{Callee, Global, GlobalKind, Module};
use crate::types::Type;

/// The module of a text, its bodies empty.
pub(super) fn heads(cursor: &mut Cursor<'_>) -> Result<Module, ParseError> {
    let mut module = Module::new("read");
    let mut structures = Structures::default();
    while let Some(token) = cursor.peek() {
        match token {
            Token::Word(word) if word == "define" => define(cursor, &mut module, &structures)?,
            Token::Word(word) if word == "declare" => declare(cursor, &mut module, &structures)?,
            Token::Word(word) if word == "target" => describe(cursor, &mut module)?,
            Token::Global(name) => global(name.clone(), cursor, &mut module, &structures)?,
            Token::Local(name) => structures.define(name.clone(), cursor)?,
            _ => cursor.skip_line(),
        }
    }
    Ok(module)
}

/// `target triple = "…"` or `target datalayout = "…"`.
fn describe(cursor: &mut Cursor<'_>, module: &mut Module) -> Result<(), ParseError> {
    cursor.take();
    let what = cursor.word("`triple` or `datalayout`")?;
    cursor.expect('=')?;
    let text = cursor.text("the text")?;
    if what == "triple" {
        module.triple = text;
    } else {
        module.data_layout = text;
    }
    Ok(())
}

/// `define [internal] [convention] type @name(…) attributes { … }`, with the body left out.
fn define(cursor: &mut Cursor<'_>, module: &mut Module, structures: &Structures) -> Result<(), ParseError> {
    cursor.take();
    let linkage = if cursor.accept_word("internal") { Linkage::Internal } else { Linkage::External };
    let convention = match cursor.peek() {
        Some(Token::Word(word)) if word.ends_with("_kernel") => {
            cursor.take();
            Some(word.clone())
        }
        _ => None,
    };
    let ret = structures.read(cursor)?;
    let name = symbol(cursor)?;
    cursor.expect('(')?;
    let mut params = Vec::new();
    while !cursor.accept(')') {
        if !params.is_empty() {
            cursor.expect(',')?;
        }
        params.push(param(cursor, structures)?);
    }
    let mut attributes = Vec::new();
    let mut lanes = None;
    while !cursor.accept('{') {
        match cursor.take() {
            Some(Token::Text(key)) => {
                let key = String::from_utf8_lossy(key).into_owned();
                if !cursor.accept('=') {
                    attributes.push(format!("\"{key}\""));
                    continue;
                }
                let value = cursor.text("a value")?;
                if key.ends_with("reqntid") {
                    lanes = Some(numbers(&value).ok_or_else(|| cursor.wrong("three sizes are expected"))?);
                }
                attributes.push(format!("\"{key}\"=\"{value}\""));
            }
            Some(Token::Word(word)) => attributes.push(word.clone()),
            // Where it is defined, which nothing asks.
            Some(Token::Metadata(_)) => {}
            _ => return Err(cursor.wrong("an attribute or the body of the function is expected here")),
        }
    }
    let mut depth = 1;
    while depth > 0 {
        match cursor.take() {
            Some(Token::Mark('{')) => depth += 1,
            Some(Token::Mark('}')) => depth -= 1,
            Some(_) => {}
            None => return Err(cursor.wrong("the body of the function does not end")),
        }
    }
    let id = module.add_function(&name, ret, params);
    let function = module.bodies.get_mut(&id).expect("it was added");
    function.linkage = linkage;
    function.attributes = attributes;
    function.kernel = convention.map(|convention| Kernel { convention, lanes, ..Kernel::default() });
    Ok(())
}

/// `128`, or `128, 1, 1`.
fn numbers(text: &str) -> Option<[u32; 3]> {
    let mut sizes = [1; 3];
    for (size, number) in sizes.iter_mut().zip(text.split(',')) {
        *size = number.trim().parse().ok()?;
    }
    Some(sizes)
}

fn symbol(cursor: &mut Cursor<'_>) -> Result<String, ParseError> {
    let wrong = cursor.wrong("the name of a function is expected here");
    match cursor.take() {
        Some(Token::Global(name)) => Ok(name.clone()),
        _ => Err(wrong),
    }
}

/// `type attributes %name`.
fn param(cursor: &mut Cursor<'_>, structures: &Structures) -> Result<Param, ParseError> {
    let ty = structures.read(cursor)?;
    let mut attributes = ParamAttributes::default();
    while let Some(Token::Word(word)) = cursor.peek() {
        cursor.take();
        match word.as_str() {
            "noalias" => attributes.noalias = true,
            "readonly" => attributes.readonly = true,
            "nonnull" => attributes.nonnull = true,
            "noundef" => attributes.noundef = true,
            "inreg" => attributes.in_register = true,
            "align" => attributes.align = cursor.number("a number of bytes")?,
            "dereferenceable" => {
                cursor.expect('(')?;
                attributes.dereferenceable = cursor.number("a number of bytes")?;
                cursor.expect(')')?;
            }
            _ => return Err(cursor.wrong(&format!("`{word}` is no attribute that is read here"))),
        }
    }
    let wrong = cursor.wrong("numbers are names of results: this parameter needs a name with a letter");
    let name = cursor.local("the name of a parameter")?;
    if name.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong);
    }
    // Parameters without a name are printed by their number, behind a dot.
    let name = if name.starts_with("p.") { String::new() } else { name.to_owned() };
    Ok(Param { ty, name, attributes })
}

/// `declare type @name(types) attributes`.
fn declare(cursor: &mut Cursor<'_>, module: &mut Module, structures: &Structures) -> Result<(), ParseError> {
    let (line, _) = cursor.place();
    cursor.take();
    let ret = structures.read(cursor)?;
    let name = symbol(cursor)?;
    cursor.expect('(')?;
    let mut params: Vec<Type> = Vec::new();
    while !cursor.accept(')') {
        if !params.is_empty() {
            cursor.expect(',')?;
        }
        params.push(structures.read(cursor)?);
    }
    let mut callee = Callee::named(&name, ret, params);
    while cursor.peek().is_some() && cursor.place().0 == line {
        if cursor.accept_word("memory") {
            cursor.expect('(')?;
            cursor.expect_word("none")?;
            cursor.expect(')')?;
            callee.purity = Purity::Pure;
        } else {
            cursor.take();
        }
    }
    module.declare(callee);
    Ok(())
}

/// `@name = external addrspace(3) global [0 x i8], align 16`; also `internal`, and constants with what they hold.
fn global(
    name: String,
    cursor: &mut Cursor<'_>,
    module: &mut Module,
    structures: &Structures,
) -> Result<(), ParseError> {
    cursor.take();
    cursor.expect('=')?;
    let linkage = cursor.word("`external`, `internal` or `private`")?.to_owned();
    cursor.accept_word("unnamed_addr");
    let mut space = 0;
    if cursor.accept_word("addrspace") {
        cursor.expect('(')?;
        space = cursor.number("an address space")?;
        cursor.expect(')')?;
    }
    let is_constant = cursor.accept_word("constant");
    if !is_constant {
        cursor.expect_word("global")?;
    }
    cursor.expect('[')?;
    let count: u64 = cursor.number("a number of elements")?;
    cursor.expect_word("x")?;
    let element = structures.read(cursor)?;
    cursor.expect(']')?;
    let kind = match linkage.as_str() {
        _ if is_constant => GlobalKind::Constant(elements(cursor, element, count, structures)?),
        "external" => GlobalKind::External(count),
        _ => {
            cursor.word("what the memory holds")?;
            GlobalKind::Internal(count)
        }
    };
    cursor.expect(',')?;
    cursor.expect_word("align")?;
    let align = cursor.number("a number of bytes")?;
    module.add_memory(Global { name, element, kind, space, align });
    Ok(())
}

/// `c"text"`, or `[i32 1, i32 2]`.
fn elements(
    cursor: &mut Cursor<'_>,
    element: Type,
    count: u64,
    structures: &Structures,
) -> Result<Vec<u128>, ParseError> {
    let wrong = cursor.wrong(&format!("{count} elements are expected here"));
    let mut elements = Vec::new();
    if cursor.accept_word("zeroinitializer") {
        elements.resize(count as usize, 0);
    } else if cursor.accept_word("c") {
        let Some(Token::Text(bytes)) = cursor.take() else { return Err(wrong) };
        elements.extend(bytes.iter().map(|byte| u128::from(*byte)));
    } else {
        cursor.expect('[')?;
        while !cursor.accept(']') {
            if !elements.is_empty() {
                cursor.expect(',')?;
            }
            let ty = structures.read(cursor)?;
            let constant = super::constant::read(cursor, ty, structures)?;
            elements.push(constant.splat_bits().filter(|_| ty == element).ok_or_else(|| wrong.clone())?);
        }
    }
    if elements.len() as u64 == count { Ok(elements) } else { Err(wrong) }
}
