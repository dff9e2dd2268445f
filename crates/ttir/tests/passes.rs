//! The fixtures in `tests/passes`, `tests/axis` and `tests/boxes`: what passes make of a program, what axis analysis
//! finds, and which loads read boxes of tensors. `BLESS=1` rewrites what is expected.
//!
//! ```text
//! // test pass=canonicalize,cse            // test axis
//! tt.func @f(…) { … }                      tt.func @f(…) { … }
//!
//! // expect                                // expect
//! tt.func @f(…) { … }                      // %x: contiguity [8], divisibility [16], constancy [1]
//! ```

use ir::text::{ParseOptions, PrintOptions, parse, print};
use std::fmt::Write;
use std::path::Path;
use ttir::axis::AxisInfo;
use ttir::boxes::{BoxAccess, Poly};
use ttir::ops::access::AccessOp;
use ttir::types::is_tensor;

const MARK: &str = "\n// expect\n";

fn each_fixture(folder: &str, transform: impl Fn(&str, ir::Module) -> String) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests").join(folder);
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} has no fixtures", folder.display());
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let (input, expected) = text.split_once(MARK).unwrap_or((&text, ""));
        let module = parse(input, ttir::registry(), ParseOptions::default())
            .unwrap_or_else(|error| panic!("{}:{error}", path.display()));
        ir::verify(&module).unwrap_or_else(|errors| panic!("{}: {}", path.display(), errors[0]));
        let found = transform(input.lines().next().unwrap_or_default(), module);
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, format!("{}\n{MARK}{found}", input.trim_end())).unwrap();
        } else {
            assert_eq!(found.trim(), expected.trim(), "{}", path.display());
        }
    }
}

/// Functions without the braces of the file around them.
fn text_of(module: &ir::Module) -> String {
    let text = print(module, PrintOptions::PLAIN);
    let inside =
        text.trim().strip_prefix("module {\n").and_then(|rest| rest.strip_suffix("}")).unwrap_or(&text);
    inside.lines().map(|line| format!("{}\n", line.strip_prefix("  ").unwrap_or(line))).collect()
}

#[test]
fn passes_make_what_the_fixtures_say() {
    each_fixture("passes", |command, mut module| {
        let names =
            command.strip_prefix("// test pass=").unwrap_or_else(|| panic!("`{command}` is no command"));
        for name in names.split(',') {
            let known = ir::passes::ALL.iter().chain(ttir::passes::ALL);
            let pass =
                known.copied().find(|pass| pass.name == name).unwrap_or_else(|| panic!("no pass {name}"));
            ir::pass::run(&mut module, &[pass], ir::pass::Verify::Each, &mut ()).unwrap();
        }
        text_of(&module)
    });
}

fn describe(info: &AxisInfo) -> String {
    let constant = info.constant.map(|value| format!(", constant {value}")).unwrap_or_default();
    let assumed: Vec<String> =
        (0..info.rank()).filter(|&dim| info.assumes_sign.contains(dim)).map(|dim| dim.to_string()).collect();
    let sign = match (info.non_negative, assumed.is_empty()) {
        (true, _) => ", not negative".to_owned(),
        (false, true) => String::new(),
        (false, false) => format!(", along {} if nothing is negative", assumed.join(" and ")),
    };
    let AxisInfo { contiguity, divisibility, constancy, .. } = info;
    format!(
        "contiguity {contiguity:?}, divisibility {divisibility:?}, constancy {constancy:?}{constant}{sign}"
    )
}

#[test]
fn axis_analysis_finds_what_the_fixtures_say() {
    each_fixture("axis", |command, module| {
        assert_eq!(command, "// test axis");
        let mut out = String::new();
        for function in module.ops(module.body()) {
            let table = ttir::axis::analyze(&module, function);
            for op in module.walk(function) {
                let args = module.regions(op).iter().flat_map(|&region| module.blocks(region));
                let args = args.flat_map(|&block| module.args(block));
                for &value in args.chain(module.results(op)) {
                    if let (Some(name), Some(info)) = (module.name(value), table.get(value)) {
                        writeln!(out, "// %{name}: {}", describe(info)).unwrap();
                    }
                }
            }
        }
        out
    });
}

/// A pass with a bug: it moves the first operation of a function behind the second, which uses it.
static BREAKING: ir::pass::PassRow = ir::pass::PassRow {
    name: "breaking",
    doc: "Moves a definition behind its use.",
    run: |module| {
        let function = module.ops(module.body()).next().expect("a function");
        let entry = module.entry_of(function);
        let ops: Vec<ir::Op> = module.ops(entry).collect();
        module.move_before(ops[0], ops[1]);
        Ok(())
    },
};

#[test]
fn a_release_finds_structure_that_a_pass_broke_and_says_whose_fault_it_is() {
    let text = "tt.func @f(%a: i32) -> i32 {\n  %0 = arith.addi %a, %a : i32\n  %1 = arith.muli %0, %a : i32\n  \
                tt.return %1 : i32\n}\n";
    let mut module = parse(text, ttir::registry(), ParseOptions::default()).expect("it parses");
    let run = |module: &mut ir::Module, verify| ir::pass::run(module, &[&BREAKING], verify, &mut ());
    assert_eq!(run(&mut module.clone(), ir::pass::Verify::Never), Ok(()));
    let errors = run(&mut module, ir::pass::Verify::Structure).expect_err("the use comes first");
    assert!(errors[0].message.contains("not defined before it"), "{}", errors[0]);
    assert!(errors[0].notes[0].contains("a bug of the compiler"), "{}", errors[0]);
}

/// A sum of products by the names of its values.
fn sum_of(module: &ir::Module, poly: &Poly) -> String {
    let terms = poly.terms().iter().map(|(monomial, coefficient)| {
        let names = monomial.iter().map(|&value| format!("%{}", module.name(value).unwrap_or("?")));
        let number = (*coefficient != 1 || monomial.is_empty()).then(|| coefficient.to_string());
        number.into_iter().chain(names).collect::<Vec<_>>().join("*")
    });
    let text = terms.collect::<Vec<_>>().join(" + ");
    if text.is_empty() { "0".to_owned() } else { text }
}

fn describe_box(module: &ir::Module, load: &BoxAccess) -> String {
    let axes = load.axes.iter().chain(&load.stack).map(|axis| {
        let end = axis.extent.as_ref().map_or("open".to_owned(), |extent| sum_of(module, extent));
        let [start, stride] = [&axis.start, &axis.stride].map(|poly| sum_of(module, poly));
        format!("{} from {start} of {end}, {stride} apart", axis.size)
    });
    let axes = axes.collect::<Vec<_>>().join("; ");
    format!("parameter {}: {axes}; neighbours along {}", load.base, load.fastest)
}

#[test]
fn boxes_are_what_the_fixtures_say() {
    each_fixture("boxes", |command, module| {
        let with_stores = command == "// test boxes stores";
        assert!(with_stores || command == "// test boxes", "{command}");
        let mut out = String::new();
        for function in module.ops(module.body()) {
            let is_load = |&op: &ir::Op| {
                AccessOp::load(&module, op).is_some_and(|load| is_tensor(module.ty(load.ptr())))
            };
            let loads: Vec<_> = module.walk(function).into_iter().filter(is_load).collect();
            let is_store = |&op: &ir::Op| with_stores && AccessOp::store(&module, op).is_some();
            let stores: Vec<_> = module.walk(function).into_iter().filter(is_store).collect();
            let boxes = ttir::boxes::analyze(&module, function, (&loads, &stores), |_| Ok(()));
            let name = |op| match AccessOp::load(&module, op) {
                Some(_) => {
                    format!("%{}", module.name(module.result(op, 0)).expect("loads of fixtures have names"))
                }
                None => "store".to_owned(),
            };
            for load in boxes.loads.iter().chain(&boxes.stores) {
                writeln!(out, "// {}: {}", name(load.op), describe_box(&module, load)).unwrap();
            }
            for (load, reason) in &boxes.refused {
                writeln!(out, "// {}: no box: {reason}", name(*load)).unwrap();
            }
            if !boxes.guards.is_empty() {
                writeln!(out, "// {}", boxes.guards).unwrap();
            }
        }
        out
    });
}
