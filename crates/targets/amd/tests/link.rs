//! What our own linker makes is what `lld` makes: the same code and constants, symbols, note, kinds of segments.

mod support;

use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use support::{compile, fixtures, has_llvm, kernels};
use target::CompileOptions;

/// `rust-lld` of the toolchain that runs this test.
fn lld() -> Option<PathBuf> {
    let output = Command::new("rustc").args(["--print", "target-libdir"]).output().ok()?;
    let folder = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    let path = folder.parent()?.join("bin/rust-lld");
    path.exists().then_some(path)
}

/// What a loader sees of a code object.
#[derive(PartialEq, Debug)]
struct Seen {
    header: (u8, u8, u16, u32),
    /// Kinds and flags of the segments that are loaded or looked for.
    segments: Vec<(u32, u32)>,
    /// Symbols with kind, visibility, size, and what stands there, unless it holds addresses.
    symbols: BTreeMap<String, (u8, u8, u64, Vec<u8>)>,
    note: Vec<u8>,
    /// How far each descriptor's code is from it.
    entries: Vec<(String, i64)>,
}

/// Where a descriptor says how far away its code is.
const ENTRY: usize = 16;

fn seen(bytes: &[u8]) -> Seen {
    let file = ElfFile64::<Endianness>::parse(bytes).expect("it is an object");
    let (header, endian) = (file.elf_header(), file.endian());
    let ident = header.e_ident();
    let segments = file.elf_program_headers().iter();
    let mut segments: Vec<(u32, u32)> =
        segments.map(|segment| (segment.p_type(endian).0, segment.p_flags(endian).0)).collect();
    // lld protects what it has relocated and says how large a stack is: a loader of code objects reads neither.
    segments.retain(|segment| [1, 2, 4].contains(&segment.0));
    segments.sort_unstable();
    let mut symbols = BTreeMap::new();
    let mut places = BTreeMap::new();
    for symbol in file.dynamic_symbols() {
        let name = symbol.name().expect("a name").to_owned();
        let section =
            file.section_by_index(symbol.section_index().expect("it is defined")).expect("it is there");
        let at = (symbol.address() - section.address()) as usize;
        let mut there = section.data().expect("data")[at..at + symbol.size() as usize].to_vec();
        if name.ends_with(".kd") {
            let entry = there[ENTRY..ENTRY + 8].try_into().expect("eight bytes");
            let code = name.trim_end_matches(".kd").to_owned();
            places.insert(code, symbol.address() as i64 + i64::from_le_bytes(entry));
            there[ENTRY..ENTRY + 8].fill(0);
        }
        let object::SymbolFlags::Elf { st_info, st_other, .. } = symbol.flags() else {
            panic!("an ELF symbol")
        };
        symbols.insert(name, (st_info.0, st_other.0, symbol.size(), there));
    }
    let address = |name: &String| {
        let found = file.dynamic_symbols().find(|symbol| symbol.name() == Ok(name.as_str()));
        found.expect("every descriptor has code").address() as i64
    };
    let entries = places.iter().map(|(code, entry)| (code.clone(), entry - address(code))).collect();
    let note = file.section_by_name(".note").expect("a note").data().expect("data").to_vec();
    let header = (ident.os_abi.0, ident.abi_version, header.e_type(endian).0, header.e_flags(endian).0);
    Seen { header, segments, symbols, note, entries }
}

#[test]
fn objects_are_linked_as_lld_does() {
    let (true, Some(lld)) = (has_llvm(), lld()) else {
        eprintln!("there is no rust-lld to compare with");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let [relocatable, linked] = ["k.o", "k.hsaco"].map(|name| folder.path().join(name));
    let files =
        fixtures().into_iter().filter(|path| path.ends_with("memory.ttir") || path.ends_with("math.ttir"));
    let mut count = 0;
    for kernel in files.flat_map(|path| kernels(&path)).step_by(7) {
        for arch in amdgcn_isa::ARCHS {
            let options = CompileOptions::default();
            let artifact = compile(kernel.module.clone(), arch.name(), &options).expect("it compiles");
            let llir = String::from_utf8_lossy(artifact.stage("llir").expect("it is there")).into_owned();
            let spec = llvm::TargetSpec {
                triple: amd::lower::TRIPLE.into(),
                cpu: arch.name().into(),
                ..llvm::TargetSpec::default()
            };
            let llvm = llvm::Llvm::load().expect("it was there");
            let object = llvm.compile(&llir, &spec, "", llvm::Output::default()).expect("it compiles").object;
            std::fs::write(&relocatable, &object).expect("written");
            let output = Command::new(&lld)
                .args(["-flavor", "gnu", "-shared", "--no-undefined"])
                .args([&relocatable, &PathBuf::from("-o"), &linked])
                .output()
                .expect("lld runs");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let theirs = std::fs::read(&linked).expect("lld wrote it");
            let ours = artifact.stage("hsaco").expect("it is there");
            let (ours, theirs) = (seen(ours), seen(&theirs));
            assert!(ours.entries.iter().all(|(_, distance)| *distance == 0), "{:?}", ours.entries);
            assert_eq!(ours, theirs, "{}, {arch}", kernel.name);
            count += 1;
        }
    }
    assert!(count >= 10, "{count}");
}

#[test]
fn bytes_depend_on_nothing_but_the_kernel() {
    if !has_llvm() {
        return;
    }
    let compile_all = || -> Vec<Vec<u8>> {
        let path = fixtures().into_iter().find(|path| path.ends_with("control.ttir")).expect("it is there");
        let all = kernels(&path);
        let one = |kernel: &support::Kernel| {
            let artifact = compile(kernel.module.clone(), "gfx942", &CompileOptions::default());
            artifact.expect("it compiles").stage("hsaco").expect("it is there").to_vec()
        };
        all.iter().map(one).collect()
    };
    let first = compile_all();
    let threads: Vec<_> = (0..2).map(|_| std::thread::spawn(compile_all)).collect();
    for thread in threads {
        assert!(thread.join().expect("it compiles") == first);
    }
}
