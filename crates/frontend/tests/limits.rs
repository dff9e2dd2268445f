//! Input of extreme shape is an error or compiles; it never takes the process down. Tests run on a stack of 2 MiB.

use frontend::{Diagnostic, Facts, FileGlobals, Request};

fn compile(body: &str) -> Result<usize, Vec<Diagnostic>> {
    let source = format!(
        "import triton\nimport triton.language as tl\n\n@triton.jit\ndef f(x, n: tl.constexpr):\n    if n > 0:\n        \
         return (f)(x + 1, (n) - 1)\n    else:\n        return x\n\n@triton.jit\ndef g(x, n: tl.constexpr):\n    if n > 0:\n        \
         return g(x, n - 1) + g(x, n - 1)\n    else:\n        return x\n\n@triton.jit\ndef k(ptr, n):\n{body}\n"
    );
    let globals = FileGlobals::new("k.py", &source).map_err(|error| vec![error])?;
    let function = globals.function("k").expect("the kernel is there");
    let args = frontend::signature::parse("*i32, i32").expect("the signature parses");
    let facts = Facts {
        backend: "cpu".into(),
        arch: "x86_64".into(),
        warp_size: 1,
        default_dot_precision: "ieee".into(),
        allowed_dot_precisions: vec!["ieee".into()],
        fp8_dtypes: Vec::new(),
        fp8e4b15_warning: None,
        min_dot_size: [1, 1, 1],
    };
    let request = Request::new(&globals, function, args, facts);
    frontend::compile(&request).map(|compiled| compiled.module.num_ops())
}

/// Whether some error says that something is too deep.
fn too_deep(result: Result<usize, Vec<Diagnostic>>) -> bool {
    let errors = result.expect_err("this is nested too deeply");
    errors.iter().any(|error| error.message.contains("nested") || error.message.contains("syntax"))
}

#[test]
fn deep_nesting_is_an_error() {
    assert!(too_deep(compile(&format!("    tl.store(ptr, {}n)", "-".repeat(3000)))));
    assert!(too_deep(compile(&format!(
        "    tl.store(ptr, {}n{})",
        "min(n, ".repeat(2000),
        ")".repeat(2000)
    ))));
    assert!(too_deep(compile(&format!("    tl.store(ptr, {}n{})", "[".repeat(3000), "]".repeat(3000)))));
    let ifs: String = (0..400).map(|i| format!("{}if n > {i}:\n", "  ".repeat(i + 2))).collect();
    assert!(too_deep(compile(&format!("{ifs}{}pass", "  ".repeat(402)))));
    let elifs: String = (0..2000).map(|i| format!("    elif n == {i}:\n        pass\n")).collect();
    assert!(too_deep(compile(&format!("    if n < 0:\n        pass\n{elifs}"))));
    let returns: String = (0..2000).map(|i| format!("    if n == {i}:\n        return\n")).collect();
    assert!(too_deep(compile(&returns)));
    assert!(too_deep(compile("    tl.store(ptr, f(n, 1000))")));
    assert!(too_deep(compile(&format!("    tl.store(ptr, {} n)", "n if n else ".repeat(2000)))));
    for word in ["-", "[", "not ", "n ** ", "lambda a, b: ", "n if n else ", "n.T"] {
        assert!(too_deep(compile(&format!("    tl.store(ptr, {}n)", word.repeat(100_000)))), "{word}");
    }
}

#[test]
fn what_is_long_but_not_deep_compiles() {
    let sum = vec!["n"; 3000].join(" + ");
    assert!(compile(&format!("    tl.store(ptr, {sum})")).is_ok_and(|ops| ops > 2999));
    let statements = "    n = n + 1\n".repeat(3000);
    assert!(compile(&format!("{statements}    tl.store(ptr, n)")).is_ok_and(|ops| ops > 3000));
    assert!(compile("    tl.store(ptr, f(n, 40))").is_ok());
    let unrolled = "    for i in tl.static_range(2000):\n        n += i\n    tl.store(ptr, n)";
    assert!(compile(unrolled).is_ok_and(|ops| ops > 2000));
}

#[test]
fn loops_that_would_never_end_are_errors() {
    let messages = |body: &str| {
        let errors = compile(body).expect_err("this is too much");
        errors.iter().map(|error| error.message.clone()).collect::<String>()
    };
    assert!(messages("    for i in tl.static_range(10**9):\n        n += i").contains("unrolled"));
    assert!(messages("    x = tl.zeros((2**40,), tl.int32)").contains("more elements"));
    assert!(messages("    x = (1,) * 10**30 + (n,)\n    y = 2**10000").contains("too large"));
    assert!(messages("    x = tl.arange(0, 2**31)").contains("int32"));
    assert!(messages("    x = 1 << 1000").contains("too large"));
    assert!(messages("    x = tl.zeros((4, -4), tl.int32)").contains("power of 2"));
}

#[test]
fn code_that_would_grow_without_end_is_an_error() {
    let messages = |body: &str| {
        let errors = compile(body).expect_err("this is too much");
        let said = errors.iter().filter(|error| error.message.contains("too large")).count();
        assert_eq!(said, 1, "once, not wherever it goes on: {errors:?}");
        errors.iter().map(|error| error.message.clone()).collect::<String>()
    };
    let loops =
        "    for i in tl.static_range(60000):\n        for j in tl.static_range(60000):\n            n += 1";
    assert!(messages(loops).contains("unrolled iterations"));
    assert!(messages("    x = [[j for j in range(60000)] for i in range(60000)]").contains("iterations"));
    // Each function calls the one before it twice.
    assert!(messages("    tl.store(ptr, g(n, 30))").contains("calls"));
    let doubled = "    x = (n, n)\n    for i in tl.static_range(60):\n        x = x + x";
    assert!(messages(doubled).contains("at most"));
    let text = "    x: tl.constexpr = 'a' * 1000\n    for i in tl.static_range(60):\n        x = x + x";
    assert!(messages(text).contains("at most"));
    assert!(messages("    x = (n, n) * (1 << 40)").contains("at most"));
}

#[test]
fn ranges_are_counted_whatever_their_ends() {
    let messages = |body: &str| {
        let errors = compile(body).expect_err("this is too much");
        errors.iter().map(|error| error.message.clone()).collect::<String>()
    };
    let widest = "range(-(1 << 126) - (1 << 126), (1 << 126) + ((1 << 126) - 1)";
    assert!(messages(&format!("    x = [i for i in {widest})]")).contains("a list may have"));
    assert!(messages(&format!("    x = [i for i in {widest}, 0)]")).contains("must not be zero"));
    assert!(messages("    x = [i for i in range(0, 10 ** 9)]").contains("1000000000 numbers"));
    let few = |range: &str| format!("    tl.static_assert(len([i for i in {range}]) == 4)");
    assert!(compile(&few(&format!("{widest}, 1 << 126)"))).is_ok());
    assert!(compile(&few("range(10, 2, -2)")).is_ok());
    let sum = "    x: tl.constexpr = (1,) * 70000\n    tl.static_assert(len(x) == 70000)";
    assert!(compile(sum).is_ok());
    assert!(compile("    x = (n,) * 70000\n    tl.static_assert(len(x) == 70000)").is_ok());
    assert!(compile("    x = (n,) * -1\n    tl.static_assert(len(x) == 0)").is_ok());
}
