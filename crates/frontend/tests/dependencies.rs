//! A compile tells what it depends on: the functions that it inlined and the globals that it read, each once.

use frontend::{Dependency, Facts, FileGlobals, PyValue, Request};

const SOURCE: &str = r#"
import triton
import triton.language as tl

SCALE = tl.constexpr(3)
UNUSED = tl.constexpr(4)

@triton.jit
def helper(x):
    return x * SCALE

@triton.jit
def kernel(ptr, n):
    tl.store(ptr, helper(helper(n)) + SCALE + tl.sum(tl.arange(0, 4)))
"#;

#[test]
fn functions_and_globals_are_named() {
    let globals = FileGlobals::new("m.py", SOURCE).expect("the file parses");
    let function = globals.function("kernel").expect("the kernel is there");
    let args = frontend::signature::parse("*i32, i32").expect("the signature parses");
    let facts = Facts {
        backend: "cpu".into(),
        arch: "x86_64".into(),
        warp_size: 1,
        default_dot_precision: "ieee".into(),
        allowed_dot_precisions: Vec::new(),
        fp8_dtypes: Vec::new(),
        fp8e4b15_warning: None,
        min_dot_size: [1, 1, 1],
    };
    let request = Request::new(&globals, function, args, facts);
    let compiled = frontend::compile(&request).expect("the kernel compiles");
    let mut functions = Vec::new();
    let mut names = Vec::new();
    for dependency in &compiled.dependencies {
        match dependency {
            Dependency::Function(function) => functions.push(function.0.name.clone()),
            Dependency::Global { function, name, value } => {
                if name == "SCALE" {
                    assert_eq!(*value, PyValue::Constexpr(Box::new(PyValue::Int(3))));
                }
                names.push(format!("{}.{name}", function.0.name));
            }
        }
    }
    assert_eq!(functions, ["kernel", "helper"]);
    names.sort();
    assert_eq!(names, ["helper.SCALE", "kernel.SCALE", "kernel.helper", "kernel.tl"]);
}
