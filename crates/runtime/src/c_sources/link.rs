//! What chooses among kernels in C: by the values of a launch (multiples of 16, ones), and by what they were compiled
//! with.

use super::{BACKEND, KERNEL};
use crate::error::RuntimeError;
use std::fmt::Write;
use target::HostCode;

/// A kernel as its header describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Linked {
    /// The function that launches it.
    function: String,
    /// What several of its kind are called after.
    pub base: String,
    /// Stands for its signature and what it was compiled with.
    pub hash: String,
    /// What it assumes of its parameters, as it is written: `0d3c`.
    pub hints: String,
    /// What it was compiled with.
    pub algorithm: String,
    /// Types and names of its parameters.
    pub params: Vec<(String, String)>,
    /// What the function assumes of each parameter.
    assumed: Vec<Assumed>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Assumed {
    Nothing,
    One,
    MultipleOf16,
}

/// Reads the headers: the target, and the kernels.
///
/// # Errors
/// When one describes no kernel, or they are for different targets.
pub fn read(headers: &[String]) -> Result<(String, Vec<Linked>), RuntimeError> {
    let mut backend: Option<String> = None;
    let mut kernels = Vec::new();
    for header in headers {
        let (name, described) = read_one(header)?;
        if let (Some(known), Some(name)) = (&backend, &name)
            && known != name
        {
            return Err(wrong(format!("the headers are for {known} and {name}")));
        }
        backend = name.or(backend);
        kernels.extend(described);
    }
    let backend = backend.filter(|_| !kernels.is_empty());
    let backend = backend.ok_or_else(|| wrong("no header describes a kernel".to_owned()))?;
    Ok((backend, kernels))
}

/// Reads a header: the target, if it says so, and the kernels.
///
/// # Errors
/// When a line describes no kernel, or lines name different targets.
pub fn read_one(header: &str) -> Result<(Option<String>, Vec<Linked>), RuntimeError> {
    let mut backend: Option<String> = None;
    let mut kernels = Vec::new();
    for line in header.lines() {
        if let Some(name) = line.strip_prefix(BACKEND) {
            let name = name.trim().to_owned();
            if let Some(known) = backend.as_ref().filter(|known| **known != name) {
                return Err(wrong(format!("the headers are for {known} and {name}")));
            }
            backend = Some(name);
        } else if let Some(text) = line.strip_prefix(KERNEL) {
            kernels.push(kernel(text.trim())?);
        }
    }
    Ok((backend, kernels))
}

fn wrong(message: String) -> RuntimeError {
    RuntimeError::Value(message)
}

/// `name_hash_0d3c:int32_t n, float x:16x16_warps1xstages3`.
fn kernel(text: &str) -> Result<Linked, RuntimeError> {
    let malformed = || wrong(format!("`{text}` describes no kernel"));
    let [function, params, algorithm] = text.split(':').collect::<Vec<_>>()[..] else {
        return Err(malformed());
    };
    let [hints, hash, base] = function.rsplitn(3, '_').collect::<Vec<_>>()[..] else {
        return Err(malformed());
    };
    let params: Option<Vec<(String, String)>> = params
        .split(',')
        .filter(|param| !param.trim().is_empty())
        .map(|param| param.trim().rsplit_once(' ').map(|(ty, name)| (ty.to_owned(), name.to_owned())))
        .collect();
    let params = params.ok_or_else(malformed)?;
    let assumed = assumptions(hints, params.len()).ok_or_else(malformed)?;
    let [function, base, hash, hints, algorithm] =
        [function, base, hash, hints, algorithm].map(str::to_owned);
    Ok(Linked { function, base, hash, hints, algorithm, params, assumed })
}

/// What `0d3c` says of so many parameters.
fn assumptions(mut hints: &str, params: usize) -> Option<Vec<Assumed>> {
    let mut assumed = vec![Assumed::Nothing; params];
    while !hints.is_empty() {
        let digits = hints.find(|letter: char| !letter.is_ascii_digit())?;
        let place = assumed.get_mut(hints[..digits].parse::<usize>().ok()?)?;
        *place = match &hints[digits..=digits] {
            "d" => Assumed::MultipleOf16,
            "c" => Assumed::One,
            _ => return None,
        };
        hints = &hints[digits + 1..];
    }
    Some(assumed)
}

impl Linked {
    /// What it assumes of each parameter: that it is 1, that it is a multiple of 16, or nothing.
    pub fn sizes(&self) -> Vec<Option<u32>> {
        let size = |assumed: &Assumed| match assumed {
            Assumed::Nothing => None,
            Assumed::One => Some(1),
            Assumed::MultipleOf16 => Some(16),
        };
        self.assumed.iter().map(size).collect()
    }

    fn full(&self) -> String {
        self.params.iter().map(|(ty, name)| format!(", {ty} {name}")).collect()
    }

    fn names(&self) -> String {
        self.params.iter().map(|(_, name)| format!(", {name}")).collect()
    }

    /// The parameters that the function has itself.
    fn own(&self) -> impl Iterator<Item = &(String, String)> {
        self.params
            .iter()
            .zip(&self.assumed)
            .filter(|(_, assumed)| **assumed != Assumed::One)
            .map(|(param, _)| param)
    }

    /// How many values it assumes something of.
    fn special(&self) -> usize {
        self.assumed.iter().filter(|assumed| **assumed != Assumed::Nothing).count()
    }

    fn condition(&self) -> String {
        let conditions: Vec<String> = self
            .params
            .iter()
            .zip(&self.assumed)
            .filter_map(|((_, name), assumed)| match assumed {
                Assumed::Nothing => None,
                Assumed::One => Some(format!("{name} == 1")),
                Assumed::MultipleOf16 => Some(format!("(uintptr_t){name} % 16 == 0")),
            })
            .collect();
        if conditions.is_empty() { "1".to_owned() } else { conditions.join(" && ") }
    }
}

/// The header and the source that choose among kernels.
///
/// # Errors
/// When kernels that are called after the same name have different parameters.
pub fn link(kernels: &[Linked], host: HostCode) -> Result<(String, String), RuntimeError> {
    let mut header = format!("{}\n", host.types);
    let mut source = format!("{}\n", host.types);
    for base in distinct(kernels.iter().map(|kernel| kernel.base.as_str())) {
        let of_base: Vec<&Linked> = kernels.iter().filter(|kernel| kernel.base == base).collect();
        let first = of_base[0];
        if let Some(other) = of_base.iter().find(|other| other.params != first.params) {
            let (a, b) = (&first.function, &other.function);
            return Err(wrong(format!("mismatched signatures: {a} and {b} take different parameters")));
        }
        let algorithms = distinct(of_base.iter().map(|kernel| kernel.algorithm.as_str()));
        for algorithm in &algorithms {
            let mut same: Vec<&Linked> =
                of_base.iter().copied().filter(|kernel| kernel.algorithm == *algorithm).collect();
            same.sort_by_key(|kernel| std::cmp::Reverse(kernel.special()));
            choose_by_values(&mut header, &mut source, &format!("{base}_{algorithm}"), &same);
        }
        choose_by_number(&mut header, &mut source, first, &algorithms);
    }
    Ok((header, source))
}

fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut seen = Vec::new();
    for name in names {
        if !seen.contains(&name) {
            seen.push(name);
        }
    }
    seen
}

/// A function that launches the kernel that assumes most of what is true.
fn choose_by_values(header: &mut String, source: &mut String, name: &str, kernels: &[&Linked]) {
    let full = kernels[0].full();
    for verb in ["load", "unload"] {
        _ = writeln!(header, "void {verb}_{name}(void);");
        for kernel in kernels {
            _ = writeln!(source, "void {verb}_{}(void);", kernel.function);
        }
        _ = writeln!(source, "void {verb}_{name}(void) {{");
        for kernel in kernels {
            _ = writeln!(source, "  {verb}_{}();", kernel.function);
        }
        source.push_str("}\n\n");
    }
    _ = writeln!(header, "TT_ResultTy {name}(TT_StreamTy tt_stream{full});");
    for kernel in kernels {
        let own: String = kernel.own().map(|(ty, name)| format!(", {ty} {name}")).collect();
        _ = writeln!(source, "TT_ResultTy {}(TT_StreamTy tt_stream{own});", kernel.function);
    }
    _ = writeln!(source, "TT_ResultTy {name}(TT_StreamTy tt_stream{full}) {{");
    for kernel in kernels {
        let own: String = kernel.own().map(|(_, name)| format!(", {name}")).collect();
        _ = writeln!(
            source,
            "  if ({})\n    return {}(tt_stream{own});",
            kernel.condition(),
            kernel.function
        );
    }
    source.push_str("  return TT_ERROR_INVALID_VALUE;\n}\n\n");
}

/// Functions that choose by the number of what kernels were compiled with.
fn choose_by_number(header: &mut String, source: &mut String, kernel: &Linked, algorithms: &[&str]) {
    let (base, full, names) = (&kernel.base, kernel.full(), kernel.names());
    let declared = [
        format!("int {base}_get_num_algos(void)"),
        format!("TT_ResultTy {base}(TT_StreamTy tt_stream{full}, int tt_algo_id)"),
        format!("TT_ResultTy {base}_default(TT_StreamTy tt_stream{full})"),
        format!("void load_{base}(void)"),
        format!("void unload_{base}(void)"),
    ];
    for declaration in &declared {
        _ = writeln!(header, "{declaration};");
    }
    let each = |line: &dyn Fn(usize, &str) -> String| -> String {
        algorithms.iter().enumerate().map(|(number, algorithm)| line(number, algorithm)).collect()
    };
    let cases = each(&|number, algorithm| {
        format!("  case {number}:\n    return {base}_{algorithm}(tt_stream{names});\n")
    });
    let bodies = [
        format!("  return {};\n", algorithms.len()),
        format!("  switch (tt_algo_id) {{\n{cases}  default:\n    return TT_ERROR_INVALID_VALUE;\n  }}\n"),
        format!("  return {base}(tt_stream{names}, 0);\n"),
        each(&|_, algorithm| format!("  load_{base}_{algorithm}();\n")),
        each(&|_, algorithm| format!("  unload_{base}_{algorithm}();\n")),
    ];
    for (declaration, body) in declared.iter().zip(&bodies) {
        _ = write!(source, "{declaration} {{\n{body}}}\n\n");
    }
}

#[cfg(test)]
mod tests {
    use super::{Assumed, assumptions, kernel};

    #[test]
    fn names_say_what_kernels_assume() {
        use Assumed::{MultipleOf16, Nothing, One};
        assert_eq!(assumptions("0d2c", 3), Some(vec![MultipleOf16, Nothing, One]));
        assert_eq!(assumptions("", 1), Some(vec![Nothing]));
        for wrong in ["3d", "d", "0", "0x"] {
            assert_eq!(assumptions(wrong, 3), None, "{wrong}");
        }
    }

    #[test]
    fn a_line_describes_a_kernel() {
        let known =
            kernel("mat_mul_1a2b3c4d_0d:CUdeviceptr C, int32_t M:16x16_warps1xstages3").expect("it does");
        assert_eq!(
            (known.base.as_str(), known.special(), known.full().as_str()),
            ("mat_mul", 1, ", CUdeviceptr C, int32_t M")
        );
        assert!(kernel("mat_mul:CUdeviceptr C").is_err());
    }
}
