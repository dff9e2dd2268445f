//! More stages for loops over dots than they ask for: as many as leave room for the programs that the options name.

use target::{Artifact, CompileOptions, DEEP, DeviceFacts, OptionValue};

/// Bytes of shared memory of an SM of sm_90, and what it keeps of each program's.
const SM: u64 = 228 << 10;
const RESERVED: u64 = 1 << 10;

fn matmul() -> ir::Module {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/amd/matmul.ttir");
    let text = std::fs::read_to_string(path).expect("the file is there");
    let mut module =
        ir::text::parse(&text, ttir::registry(), ir::text::ParseOptions::default()).expect("it parses");
    ir::verify(&module).expect("it is right");
    ir::pass::run(&mut module, ttir::passes::pipeline(), ir::pass::Verify::Each, &mut ()).expect("it runs");
    module
}

fn compiled(num_stages: u32, deep: Option<OptionValue>) -> Artifact {
    let extra = deep.into_iter().map(|value| (DEEP.to_owned(), value)).collect();
    let options = CompileOptions { num_warps: 4, num_stages, extra, ..CompileOptions::default() };
    let target = nvidia::target().for_arch("90").expect("known").expect("there are several");
    target.compile(matmul(), &options, &mut ()).unwrap_or_else(|error| panic!("{error}"))
}

fn facts(artifact: &Artifact) -> &DeviceFacts {
    artifact.launch.device().expect("a device runs it")
}

#[test]
fn an_sm_has_room_for_the_programs() {
    let asked = compiled(2, None);
    assert!(facts(&asked).spare_stages);
    let mut before = u64::MAX;
    for programs in 1..=4 {
        let deep = compiled(2, Some(OptionValue::Int(programs)));
        let have_room = |artifact: &Artifact| (artifact.shared + RESERVED) * programs as u64 <= SM;
        assert!(
            deep.shared >= asked.shared && (have_room(&deep) || !have_room(&asked)),
            "{programs} programs"
        );
        assert!(deep.shared <= before && !facts(&deep).spare_stages);
        before = deep.shared;
    }
    let one = compiled(2, Some(OptionValue::Bool(true)));
    assert!(one.shared > SM / 2, "{} bytes are little", one.shared);
    assert_eq!(one.stage("ptx"), compiled(2, Some(OptionValue::Int(1))).stage("ptx"));
}

#[test]
fn as_many_programs_as_before_have_room() {
    for num_stages in [2, 3, 4] {
        let (asked, deep) = (compiled(num_stages, None), compiled(num_stages, Some(OptionValue::Int(0))));
        let programs = |artifact: &Artifact| SM / (artifact.shared + RESERVED);
        assert_eq!(programs(&asked), programs(&deep), "{} and {} bytes", asked.shared, deep.shared);
        assert!(deep.shared >= asked.shared);
    }
}

#[test]
fn loops_stay_where_nothing_is_to_be_gained() {
    let asked = compiled(1, Some(OptionValue::Bool(true)));
    assert_eq!(asked.shared, compiled(1, None).shared, "it has one stage");
    assert!(!facts(&compiled(1, None)).spare_stages);
    let never = compiled(2, Some(OptionValue::Bool(false)));
    assert_eq!(never.shared, compiled(2, None).shared);
    assert!(!facts(&never).spare_stages);
}
