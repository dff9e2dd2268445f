//! What the head of a kernel in a PTX file says about launches of it, where a compile begins with such a file.
//!
//! It assumes the convention of kernels here and of the reference: two pointers to scratch memory behind the
//! parameters. Left out: the code, which the assembler reads; how much shared memory a launch must bring along, which
//! PTX does not say.

use crate::facts::Facts;
use crate::machine::WARP;
use crate::options::option;
use crate::ptx::Effort;
use lanes::Scratch;
use target::{Guards, KernelParam, ParamKind};

/// Parameters of scratch memory, behind all others.
const SCRATCH_PARAMS: usize = 2;

/// Reads the head of the first kernel.
///
/// # Errors
/// What is missing, with the line on which the head begins.
pub(crate) fn facts(text: &str, min_shared: u32) -> Result<Facts, String> {
    let plain: String =
        text.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n");
    head(&plain, min_shared).map_err(|error| match plain.lines().position(|line| line.contains(".entry")) {
        Some(before) => format!("line {}: {error}", before + 1),
        None => error,
    })
}

fn head(plain: &str, min_shared: u32) -> Result<Facts, String> {
    let (_, rest) = plain.split_once(".entry").ok_or("it has no kernel: there is no `.entry`")?;
    let open = rest.find('(').ok_or("the parameters of its `.entry` are missing")?;
    let close =
        rest.find(')').filter(|close| *close > open).ok_or("the parameters of its `.entry` do not end")?;
    let name = rest[..open].trim().to_owned();
    let written: Vec<&str> =
        rest[open + 1..close].split(',').map(str::trim).filter(|param| !param.is_empty()).collect();
    let own = written.len().checked_sub(SCRATCH_PARAMS).ok_or_else(|| {
        format!("kernel `{name}` lacks the {SCRATCH_PARAMS} pointers to scratch memory that stand behind all parameters")
    })?;
    // Pointers differ from numbers by `.ptr`; older files say it nowhere.
    let says_pointers = written.iter().any(|param| param.contains(".ptr"));
    let params =
        written[..own].iter().map(|param| parameter(param, says_pointers)).collect::<Result<_, _>>()?;
    let directives = &rest[close..rest.find('{').unwrap_or(rest.len()).max(close)];
    let lanes = number_behind(directives, ".reqntid").or_else(|| number_behind(directives, ".maxntid"));
    let lanes =
        lanes.ok_or_else(|| format!("kernel `{name}` does not say with `.reqntid` how many lanes run it"))?;
    if min_shared == 0 && plain.contains(".extern .shared") {
        return Err(format!(
            "kernel `{name}` uses shared memory, and PTX does not say how much: give the option {}=BYTES",
            option::MIN_SHARED
        ));
    }
    let kernel = lanes::Facts {
        name: name.clone(),
        params: Vec::new(),
        shared_bytes: min_shared,
        global_scratch: Scratch::default(),
        profile_scratch: Scratch::default(),
        lanes: WARP,
        num_warps: lanes.div_ceil(WARP),
        total_warps: lanes.div_ceil(WARP),
        num_blocks: number_behind(directives, ".reqnctapercluster").unwrap_or(1),
        paired: false,
    };
    Ok(Facts {
        name,
        params,
        maps: Vec::new(),
        guards: Guards::default(),
        persistent: target::ProgramLoop::None,
        persistence: Guards::default(),
        pairs: Vec::new(),
        unaligned: Vec::new(),
        fewer_stages: false,
        spare_stages: false,
        kernel,
        effort: Effort::Full,
    })
}

/// The first number of a directive: `.reqntid 128, 1, 1`.
fn number_behind(directives: &str, name: &str) -> Option<u32> {
    let (_, rest) = directives.split_once(name)?;
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok().filter(|number| *number > 0)
}

/// One parameter: `.param .u64 .ptr .global .align 1 name`.
fn parameter(text: &str, says_pointers: bool) -> Result<KernelParam, String> {
    let mut words = text.split_whitespace().filter(|word| *word != ".param");
    let ty = words.next().unwrap_or("").trim_start_matches('.');
    let name = words.next_back().unwrap_or("").to_owned();
    let is_pointer = if says_pointers { text.contains(".ptr") } else { ty == "u64" || ty == "b64" };
    let bits = |prefix: &str| ty.strip_prefix(prefix).and_then(|bits| bits.parse::<u32>().ok());
    let int = bits("b").or_else(|| bits("u")).or_else(|| bits("s"));
    let kind = match (is_pointer, int, bits("f")) {
        (true, ..) => ParamKind::Pointer,
        (_, Some(bits @ (8 | 16 | 32 | 64)), _) if !name.contains('[') => ParamKind::Int(bits),
        (_, _, Some(bits @ (16 | 32 | 64))) => ParamKind::Float(bits),
        _ => return Err(format!("the parameter `{text}` is neither a pointer nor a number")),
    };
    Ok(KernelParam { name, kind })
}

#[cfg(test)]
mod tests {
    use super::facts;
    use target::ParamKind::{Float, Int, Pointer};

    const HEAD: &str = ".visible .entry add( // the kernel
        .param .u64 .ptr .global .align 16 add_param_0,\n\t.param .b32 add_param_1,
        .param .f32 add_param_2,\n\t.param .u64 .ptr .global .align 1 g, .param .u64 .ptr .global .align 1 p
        )\n.reqntid 256, 1, 1\n{\n\tret;\n}\n";

    #[test]
    fn heads_are_read() {
        let read = facts(HEAD, 0).expect("it is one");
        let kinds: Vec<_> = read.params.iter().map(|param| param.kind).collect();
        assert_eq!((read.name.as_str(), kinds), ("add", vec![Pointer, Int(32), Float(32)]));
        assert_eq!((read.kernel.num_warps, read.params[0].name.as_str()), (8, "add_param_0"));
        let older = facts(&HEAD.replace(" .ptr .global .align 16", ""), 0).expect("it is one");
        assert_eq!(older.params[0].kind, Int(64), "the others say that they are pointers");
        let older = HEAD.replace(" .ptr .global .align 16", "").replace(" .ptr .global .align 1", "");
        assert_eq!(facts(&older, 0).expect("it is one").params[0].kind, Pointer);
    }

    #[test]
    fn what_is_missing_is_said() {
        let wrong = |text: &str| facts(text, 0).err().expect("something is missing");
        assert!(wrong("nothing").contains(".entry"));
        assert!(wrong(&HEAD.replace(".reqntid 256, 1, 1", "")).contains(".reqntid"));
        assert!(wrong(".visible .entry f() .reqntid 32 { ret; }").contains("scratch"));
        assert!(wrong("\n.visible .entry f { ret; }").starts_with("line 2: the parameters"));
        let shared = format!(".extern .shared .align 16 .b8 global_smem[];\n{HEAD}");
        assert!(wrong(&shared).contains("min_shared_mem"));
        assert_eq!(facts(&shared, 512).expect("it is said").kernel.shared_bytes, 512);
    }
}
