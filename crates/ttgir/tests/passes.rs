//! The fixtures in `tests/ttgir/passes`: what passes make of a program. `BLESS=1` rewrites what is expected.
//!
//! ```text
//! // test pass=from-ttir,accelerate-dots machine=group warps=4 stages=3
//! tt.func public @f(…) { … }
//!
//! // expect
//! …
//! ```
//!
//! `from-ttir` is the step that gives every block a layout. A pass by itself takes code that has layouts already.

#[path = "support/machines.rs"]
mod machines;

use ir::text::{ParseOptions, PrintOptions, parse, print};
use machines::{GROUP, RUNS, WARP, WIDE};
use std::path::Path;
use ttgir::{Copies, Machine, Persistence, Roles};

/// Matrix instructions of warp groups, and bulk copies both ways.
static BULK: Machine = Machine { name: "bulk", bulk_copy: true, bulk_store: true, ..GROUP };
/// The same, also for loads by addresses.
static LOADS: Machine = Machine { name: "loads", bulk_loads: true, ..BULK };
/// The same with groups of tiles, and with loops over programs, and with notes of what gains by them.
static GROUPS: Machine = Machine { name: "groups", tile_groups: true, ..LOADS };
static LOOPS: Machine = Machine { name: "loops", persistence: Persistence::Loop, ..GROUPS };
static NOTES: Machine = Machine { name: "notes", persistence: Persistence::Noted, ..LOADS };
/// The same with notes of what launches could copy for loads by addresses, and with such loads.
static UNALIGNED: Machine = Machine { name: "unaligned", copies: Copies::Noted, ..LOADS };
static COPIED: Machine = Machine { name: "copied", copies: Copies::Made, ..LOADS };
/// The same as without, with warps that begin copies where loops ask for them.
static ROLES: Machine = Machine { name: "roles", roles: Roles::Asked, ..BULK };

/// Fewer registers than two dots of 64 rows and columns need, and shared memory for many programs.
static TIGHT: Machine = Machine { name: "tight", lane_registers: 64, sm_shared_bytes: 256 << 10, ..RUNS };
/// Asynchronous copies, and shared memory for as many programs as registers allow.
static ROOMY: Machine = Machine { name: "roomy", sm_shared_bytes: 256 << 10, ..WARP };

/// Two groups of warps that run loops with dots half an iteration apart: 64 rows and columns with sums of 32 halves in
/// two parts, larger ones in four.
static APART: Machine = Machine { name: "apart", ping_pong: Some(64 * 64 * 32 * 16), ..RUNS };

const MARK: &str = "\n// expect\n";

fn named(name: &str) -> &'static Machine {
    let all = [
        &Machine::BASE,
        &WARP,
        &GROUP,
        &BULK,
        &LOADS,
        &GROUPS,
        &LOOPS,
        &NOTES,
        &UNALIGNED,
        &COPIED,
        &ROLES,
        &WIDE,
        &RUNS,
        &TIGHT,
        &ROOMY,
        &APART,
    ];
    all.into_iter().find(|machine| machine.name == name).unwrap_or_else(|| panic!("no machine {name}"))
}

/// The value of `key=value` in a command.
fn value<'c>(command: &'c str, key: &str) -> Option<&'c str> {
    command.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}

fn number(command: &str, key: &str, default: u32) -> u32 {
    value(command, key).map_or(default, |text| text.parse().expect("a number"))
}

fn transform(command: &str, input: &str) -> String {
    let machine = named(value(command, "machine").unwrap_or("plain"));
    let names = value(command, "pass").unwrap_or_else(|| panic!("`{command}` names no pass"));
    let begins = names.starts_with("from-ttir");
    let registry = if begins { ttir::registry() } else { ttgir::registry() };
    let mut module =
        parse(input, registry, ParseOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    ir::verify(&module).unwrap_or_else(|errors| panic!("{}", errors[0]));
    module.set_environment(machine);
    for name in names.split(',') {
        if name == "from-ttir" {
            ttgir::passes::set_default_stages(&mut module, number(command, "stages", 1));
            if let Err(error) = ttgir::from_ttir(&mut module, machine, number(command, "warps", 4), 1) {
                return format!("// error: {}", error.to_string().replace('\n', "\n// "));
            }
            ir::verify(&module).unwrap_or_else(|errors| panic!("{}", errors[0]));
            continue;
        }
        let known = ir::passes::ALL.iter().chain(ttgir::PASSES);
        let pass = known.copied().find(|pass| pass.name == name).unwrap_or_else(|| panic!("no pass {name}"));
        ir::pass::run(&mut module, &[pass], ir::pass::Verify::Each, &mut ()).unwrap_or_else(|errors| {
            panic!("{name}: {}\n{}", errors[0], print(&module, PrintOptions::PLAIN))
        });
    }
    print(&module, PrintOptions::PLAIN)
}

#[test]
fn passes_make_what_the_fixtures_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ttgir/passes");
    let mut files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    for path in files {
        let text = std::fs::read_to_string(&path).unwrap();
        let (input, expected) = text.split_once(MARK).unwrap_or((&text, ""));
        let command = input.lines().next().unwrap_or_default();
        assert!(command.starts_with("// test "), "{}: the first line is no command", path.display());
        let found = transform(command, input);
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&path, format!("{}\n{MARK}{found}", input.trim_end())).unwrap();
        } else {
            assert_eq!(found.trim(), expected.trim(), "{}", path.display());
        }
    }
}

#[test]
fn names_of_passes_are_their_own() {
    let mut names: Vec<&str> = ttgir::PASSES.iter().chain(ir::passes::ALL).map(|pass| pass.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

/// Where nothing was changed since layouts were decided, and there is no dot, they are not decided again: it would give
/// the same.
#[test]
fn layouts_without_dots_are_decided_once() {
    let text = "module {
  tt.func public @double(%p: !tt.ptr<f32> {tt.divisibility = 16 : i32}) {
    %r = tt.make_range {end = 1024 : i32, start = 0 : i32} : tensor<1024xi32>
    %s = tt.splat %p : !tt.ptr<f32> -> tensor<1024x!tt.ptr<f32>>
    %q = tt.addptr %s, %r : tensor<1024x!tt.ptr<f32>>, tensor<1024xi32>
    %x = tt.load %q : tensor<1024x!tt.ptr<f32>>
    %y = arith.addf %x, %x : tensor<1024xf32>
    tt.store %q, %y : tensor<1024x!tt.ptr<f32>>
    tt.return
  }
}
";
    let assign = &ttgir::passes::ASSIGN_LAYOUTS;
    let mut module = parse(text, ttir::registry(), ParseOptions::default()).expect("text");
    ttgir::from_ttir(&mut module, &WARP, 4, 1).expect("a program of this machine");
    assert!(module.is_settled(assign.name));
    let decided = print(&module, PrintOptions::PLAIN);
    let function = module.ops(module.body()).next().expect("a function");
    let entry = module.entry_of(function);
    let ty = module.ty(module.args(entry)[0]);
    module.set_ty(module.args(entry)[0], ty);
    assert!(!module.is_settled(assign.name), "a type was set");
    (assign.run)(&mut module).expect("layouts");
    assert_eq!(print(&module, PrintOptions::PLAIN), decided);
}
