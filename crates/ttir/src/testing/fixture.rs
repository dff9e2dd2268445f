//! Fixtures that say what a call gives.
//!
//! ```text
//! // run: @add([1, 2], 3) == [4, 5]
//! // run: @exp([0.5, 1.0]) == [1.6487212, 2.7182817] within 2 ulp
//! // run: @fill<2, 1, 1>(&[0; 8], 7) == [7; 8]
//! // run: @show(5) prints "pid (0, 0, 0) idx () x: 5"
//! // run: @check(0) fails "assertion failed: not zero"
//! ```
//!
//! An argument is a value ([`super::value`]) or, for a pointer, `&[…]`: memory with these elements. What is expected is
//! the list of the results, then of the contents of each memory; several are separated by `and`.

use super::value::{Tolerance, difference, format_values, list, parse_values};
use super::wrap::{Signature, values_of, wrap};
use super::{Argument, Engine};
use crate::types::{pointee, tensor};
use ir::text::{ParseOptions, PrintOptions, parse, print};
use ir::{Module, Type};

/// What a call should do.
#[derive(Clone, PartialEq, Debug)]
enum Expected {
    Values(String, Tolerance),
    Prints(Vec<String>),
    Fails(String),
}

struct Directive {
    kernel: String,
    grid: [u32; 3],
    args: Vec<String>,
    expected: Expected,
    line: usize,
}

/// What checking a file found.
#[derive(Default, Debug)]
pub struct Outcome {
    /// How many calls were made.
    pub calls: usize,
    /// What went wrong, each with its line.
    pub failures: Vec<String>,
    /// What each call with values really gave: line (from 0) and text.
    pub found: Vec<(usize, String)>,
}

/// Splits at commas outside brackets.
fn split_arguments(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut depth = 0;
    for character in text.chars() {
        match character {
            '[' => depth += 1,
            ']' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(part) = parts.last_mut() {
            part.push(character);
        }
    }
    parts.iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

fn parse_directive(text: &str, line: usize) -> Result<Directive, String> {
    let open = text.find('(').ok_or("a call needs parentheses")?;
    let close = text.rfind(") ").ok_or("an expectation must follow the call")?;
    let name = text[..open].trim().strip_prefix('@').ok_or("a call begins with `@`")?;
    let (kernel, grid) = match name.split_once('<') {
        None => (name, [1; 3]),
        Some((kernel, grid)) => {
            let sizes: Vec<u32> =
                grid.trim_end_matches('>').split(',').flat_map(|n| n.trim().parse()).collect();
            (kernel, <[u32; 3]>::try_from(sizes).map_err(|_| "a grid has three sizes")?)
        }
    };
    // The call ends at the first closing parenthesis that an expectation follows.
    let end =
        [") == ", ") prints ", ") fails "].iter().filter_map(|mark| text.find(mark)).min().unwrap_or(close);
    Ok(Directive {
        kernel: kernel.to_owned(),
        grid,
        args: split_arguments(&text[open + 1..end]),
        expected: parse_expected(text[end + 1..].trim())?,
        line,
    })
}

fn parse_expected(text: &str) -> Result<Expected, String> {
    let quoted =
        |text: &str| -> Vec<String> { text.split('"').skip(1).step_by(2).map(str::to_owned).collect() };
    if let Some(values) = text.strip_prefix("== ") {
        let (values, ulp) = match values.split_once(" within ") {
            Some((values, ulp)) => {
                (values, ulp.trim_end_matches("ulp").trim().parse().map_err(|_| "no count of ulp")?)
            }
            None => (values, 0),
        };
        return Ok(Expected::Values(values.to_owned(), Tolerance { ulp, absolute: 0.0 }));
    }
    if let Some(lines) = text.strip_prefix("prints ") {
        return Ok(Expected::Prints(quoted(lines)));
    }
    match text.strip_prefix("fails ").map(quoted).as_deref() {
        Some([message]) => Ok(Expected::Fails(message.clone())),
        _ => Err(format!("`{text}` is not an expectation")),
    }
}

fn directives(text: &str) -> Result<Vec<Directive>, String> {
    text.lines()
        .enumerate()
        .filter_map(|(line, content)| Some((line, content.trim().strip_prefix("// run:")?)))
        .map(|(line, content)| {
            parse_directive(content.trim(), line).map_err(|error| format!("{}: {error}", line + 1))
        })
        .collect()
}

/// The results of a call, as the elements of each result and each memory with their types.
type Given = Vec<(Vec<u64>, Type)>;

fn read_argument(text: &str, ty: Type) -> Result<Vec<u64>, String> {
    match (pointee(ty), text.strip_prefix("&[").and_then(|rest| rest.strip_suffix(']'))) {
        (Some(_), Some("")) => Ok(Vec::new()),
        (Some(pointee), Some(inside)) => list(inside, pointee),
        (Some(_), None) => Err(format!("a pointer is given as `&[…]`, found `{text}`")),
        _ => parse_values(text, ty),
    }
}

fn call(
    module: &Module,
    directive: &Directive,
    engine: &mut dyn Engine,
) -> Result<(Given, Vec<String>), String> {
    let mut module = module.clone();
    let function =
        module.symbol(&directive.kernel).ok_or_else(|| format!("no function @{}", directive.kernel))?;
    let signature = Signature::of(&module, function).ok_or("the function has no type")?;
    if signature.params.len() != directive.args.len() {
        return Err(format!("{} arguments, expected {}", directive.args.len(), signature.params.len()));
    }
    let pairs = signature.params.iter().zip(&directive.args);
    let values: Vec<Vec<u64>> = pairs.map(|(&ty, text)| read_argument(text, ty)).collect::<Result<_, _>>()?;
    let wrapped = wrap(&mut module, function, &signature);
    ir::verify(&module).map_err(|errors| format!("{errors:?}"))?;
    let args = signature.arguments(&values);
    let ran = engine.run(&module, wrapped, directive.grid, &args)?;
    // Buffers come back in order of the arguments: those of the parameters, then those of the results.
    let buffers = args.iter().filter(|arg| matches!(arg, Argument::Buffer(_))).count();
    let first_result = buffers - signature.results.len();
    let mut given: Given = signature
        .results
        .iter()
        .zip(&ran.buffers[first_result..])
        .map(|(&ty, bytes)| (values_of(bytes, ty), ty))
        .collect();
    let in_memory =
        signature.params.iter().filter(|&&ty| crate::types::is_tensor(ty) || pointee(ty).is_some());
    for (&ty, bytes) in in_memory.zip(&ran.buffers) {
        if let Some(pointee) = pointee(ty) {
            let elements = values_of(bytes, pointee);
            given.push((elements.clone(), tensor(&[elements.len() as i64], pointee)));
        }
    }
    Ok((given, ran.lines))
}

fn compare(given: &Given, expected: &str, tolerance: Tolerance) -> Result<(), String> {
    let texts: Vec<&str> = expected.split(" and ").collect();
    if texts.len() != given.len() {
        return Err(format!("gives {} values, {} are expected", given.len(), texts.len()));
    }
    for (index, ((values, ty), text)) in given.iter().zip(texts).enumerate() {
        let expected = if crate::types::is_tensor(*ty) {
            let inside = text.trim().trim_start_matches('[').trim_end_matches(']');
            list(inside, crate::types::elem(*ty))?
        } else {
            parse_values(text, *ty)?
        };
        if let Some(difference) = difference(&expected, values, *ty, tolerance) {
            return Err(format!("value {index}: {difference}"));
        }
    }
    Ok(())
}

fn check(
    module: &Module,
    directive: &Directive,
    engine: &mut dyn Engine,
    outcome: &mut Outcome,
) -> Result<(), String> {
    let result = call(module, directive, engine);
    match (&directive.expected, result) {
        (Expected::Fails(message), Err(error)) if error.contains(message.as_str()) => Ok(()),
        (Expected::Fails(message), Err(error)) => Err(format!("fails with `{error}`, expected `{message}`")),
        (Expected::Fails(message), Ok(_)) => Err(format!("does not fail, expected `{message}`")),
        (_, Err(error)) => Err(error),
        (Expected::Prints(lines), Ok((_, printed))) if *lines == printed => Ok(()),
        (Expected::Prints(lines), Ok((_, printed))) => {
            Err(format!("prints {printed:#?}, expected {lines:#?}"))
        }
        (Expected::Values(text, tolerance), Ok((given, _))) => {
            let texts: Vec<String> = given.iter().map(|(values, ty)| format_values(values, *ty)).collect();
            outcome.found.push((directive.line, texts.join(" and ")));
            compare(&given, text, *tolerance)
        }
    }
}

/// Checks that a fixture is valid, survives a round trip through text, and that its calls do what it says on an engine.
/// Calls that must fail are checked on engines that notice what they fail with: the interpreter does always.
pub fn check_file(text: &str, engine: &mut dyn Engine) -> Outcome {
    let mut outcome = Outcome::default();
    let prepared = parse(text, crate::registry(), ParseOptions { file: Some("fixture") })
        .map_err(|error| error.to_string())
        .and_then(|module| match ir::verify(&module) {
            Ok(()) => Ok(module),
            Err(errors) => Err(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")),
        })
        .and_then(|module| Ok((directives(text)?, module)));
    let (directives, module) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            outcome.failures.push(error);
            return outcome;
        }
    };
    if let Err(error) = round_trip(&module) {
        outcome.failures.push(error);
    }
    for directive in directives {
        if matches!(&directive.expected, Expected::Fails(failure) if !engine.notices(failure)) {
            continue;
        }
        outcome.calls += 1;
        if let Err(error) = check(&module, &directive, engine, &mut outcome) {
            outcome.failures.push(format!("{}: {error}", directive.line + 1));
        }
    }
    outcome
}

/// The text of a program is read as a program with the same text.
pub(super) fn round_trip(module: &Module) -> Result<(), String> {
    let text = print(module, PrintOptions::default());
    let again = parse(&text, crate::registry(), ParseOptions::default())
        .map_err(|error| format!("the printed text is not read: {error}\n{text}"))?;
    let second = print(&again, PrintOptions::default());
    if text == second {
        Ok(())
    } else {
        Err(format!("printing, reading and printing gives another text:\n{text}\n{second}"))
    }
}

/// The file with what its calls really gave in place of what it expected.
pub fn bless(text: &str, outcome: &Outcome) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for (line, found) in &outcome.found {
        let Some((call, old)) = lines[*line].split_once(") == ") else { continue };
        let tolerance = old.find(" within ").map_or("", |at| &old[at..]);
        lines[*line] = format!("{call}) == {found}{tolerance}");
    }
    lines.join("\n") + "\n"
}
