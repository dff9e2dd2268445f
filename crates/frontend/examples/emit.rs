//! Compiles a kernel of a file to ttir and prints it:
//! `cargo run -p frontend --example emit -- FILE.py KERNEL "*fp32:16, i32, 1024"`. With `REPEAT=100` it also prints the
//! time of a compile, with `PASSES=canonicalize,cse` it runs passes.

use frontend::{Facts, FileGlobals, Request};
use std::process::ExitCode;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    let [_, file, kernel, signature] = args.as_slice() else {
        eprintln!("usage: emit FILE.py KERNEL SIGNATURE");
        return ExitCode::FAILURE;
    };
    match emit(file, kernel, signature) {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn emit(file: &str, kernel: &str, signature: &str) -> Result<String, String> {
    let source = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
    let globals = FileGlobals::new(file, &source).map_err(|error| error.render())?;
    let function =
        globals.function(kernel).ok_or_else(|| format!("{file} has no kernel named `{kernel}`"))?;
    let facts = Facts {
        backend: "cpu".into(),
        arch: "x86_64".into(),
        warp_size: 1,
        default_dot_precision: "ieee".into(),
        allowed_dot_precisions: vec!["ieee".into(), "tf32".into(), "tf32x3".into()],
        fp8_dtypes: vec!["fp8e5".into(), "fp8e4nv".into()],
        fp8e4b15_warning: None,
        min_dot_size: [1, 1, 1],
    };
    let args = frontend::signature::parse(signature)?;
    let request = Request::new(&globals, function, args, facts);
    let compiled = frontend::compile(&request).map_err(|errors| frontend::render_all(&errors))?;
    if let Some(times) = std::env::var("REPEAT").ok().and_then(|times| times.parse::<u32>().ok()) {
        let start = std::time::Instant::now();
        for _ in 0..times {
            frontend::compile(&request).map_err(|errors| frontend::render_all(&errors))?;
        }
        eprintln!("{:?} each", start.elapsed() / times.max(1));
    }
    let mut compiled = compiled;
    if let Ok(names) = std::env::var("PASSES") {
        let passes = ir::pass::by_names(&names, ir::passes::ALL).map_err(|error| error.to_string())?;
        ir::pass::run(&mut compiled.module, &passes, ir::pass::Verify::Each, &mut ())
            .map_err(|errors| errors.iter().map(|error| error.to_string()).collect::<Vec<_>>().join("\n"))?;
    }
    Ok(ir::text::print(&compiled.module, ir::text::PrintOptions::PLAIN))
}
