//! Objects made by LLVM, loaded, run, and damaged.

use super::*;
use llvm::{Llvm, Output, TargetSpec};

fn object(text: &str, triple: &str, cpu: &str) -> Vec<u8> {
    let spec = TargetSpec { triple: triple.into(), cpu: cpu.into(), ..TargetSpec::default() };
    let llvm = Llvm::load().expect("these tests need an LLVM");
    llvm.compile(text, &spec, "", Output::default()).expect("the text is valid").object
}

fn host_object(text: &str) -> Vec<u8> {
    let llvm = Llvm::load().expect("these tests need an LLVM");
    object(text, &llvm.host_triple(), &llvm.host_cpu())
}

/// Reads a table, calls out twice, writes a counter.
const KERNEL: &str = "
@table = private unnamed_addr constant [4 x i32] [i32 10, i32 20, i32 30, i32 40], align 16
@pointers = internal constant [2 x ptr] [ptr @local, ptr @outside], align 8
@counter = internal global i32 5, align 4
@room = internal global [64 x i32] zeroinitializer, align 64
declare i32 @outside(i32)
define internal i32 @local(i32 %x) noinline {
  %r = mul i32 %x, 3
  ret i32 %r
}
define i32 @kernel(i64 %i) {
  %p = getelementptr i32, ptr @table, i64 %i
  %x = load i32, ptr %p, align 4
  %y = call i32 @outside(i32 %x)
  %q = getelementptr ptr, ptr @pointers, i64 0
  %f = load volatile ptr, ptr %q, align 8
  %z = call i32 %f(i32 %y)
  %c = load volatile i32, ptr @counter, align 4
  %d = add i32 %c, 1
  store volatile i32 %d, ptr @counter, align 4
  %s = getelementptr i32, ptr @room, i64 %i
  %o = load volatile i32, ptr %s, align 4
  store volatile i32 %z, ptr %s, align 4
  %t = add i32 %z, %d
  %u = add i32 %t, %o
  ret i32 %u
}
";

extern "C" fn outside(x: i32) -> i32 {
    x + 1
}

fn resolve(name: &str) -> Option<usize> {
    (name == "outside").then_some(outside as *const () as usize)
}

#[test]
fn code_data_and_outside_calls_work() {
    let loaded = LoadedObject::load(&host_object(KERNEL), &resolve).unwrap();
    let kernel = loaded.symbol("kernel").unwrap();
    // SAFETY: the kernel has this type.
    let kernel: extern "C" fn(i64) -> i32 = unsafe { std::mem::transmute(kernel) };
    assert_eq!(kernel(0), 11 * 3 + 6);
    assert_eq!(kernel(3), 41 * 3 + 7);
    assert_eq!(kernel(3), 41 * 3 + 8 + 41 * 3);
    assert_eq!(loaded.symbol("nothing"), None);
}

#[test]
fn pages_are_never_writable_and_executable() {
    let loaded = LoadedObject::load(&host_object(KERNEL), &resolve).unwrap();
    let start = loaded.symbol("kernel").unwrap();
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let rights = maps.lines().find_map(|line| {
        let (range, rest) = line.split_once(' ')?;
        let (from, to) = range.split_once('-')?;
        let (from, to) = (usize::from_str_radix(from, 16).ok()?, usize::from_str_radix(to, 16).ok()?);
        (from <= start && start < to).then(|| rest[..4].to_string())
    });
    assert_eq!(rights.as_deref(), Some("r-xp"));
    assert!(maps.lines().all(|line| !line.contains("rwx")));
}

#[test]
fn unknown_symbols_are_named() {
    let error = LoadedObject::load(&host_object(KERNEL), &|_| None).unwrap_err();
    assert!(error.to_string().contains("needs `outside`"), "{error}");
}

#[test]
fn another_processor_is_refused() {
    let text = "define void @f() { ret void }";
    let (x86, arm) = (
        object(text, "x86_64-unknown-linux-gnu", "x86-64"),
        object(text, "aarch64-unknown-linux-gnu", "generic"),
    );
    for (bytes, arch) in [(&x86, Architecture::Aarch64), (&arm, Architecture::X86_64)] {
        let error = LoadedObject::load_as(bytes, arch, &|_| None).unwrap_err();
        assert!(error.contains("another processor"), "{error}");
    }
}

/// The instruction at a symbol plus so many words.
fn word(loaded: &LoadedObject, address: usize) -> u32 {
    assert!(
        address >= loaded.mapping.address() && address + 4 <= loaded.mapping.address() + loaded.mapping.len()
    );
    // SAFETY: the address is inside the mapping, which is readable.
    unsafe { std::ptr::read_unaligned(address as *const u32) }
}

#[test]
fn aarch64_references_reach_their_goals() {
    let text = "@table = internal global [4 x i32] zeroinitializer, align 16\ndeclare i32 @outside(i32)\n\
        define i32 @kernel(i32 %x) {\n  %v = load volatile i32, ptr @table, align 16\n  \
        %r = call i32 @outside(i32 %v)\n  %s = add i32 %r, 1\n  ret i32 %s\n}";
    let bytes = object(text, "aarch64-unknown-linux-gnu", "generic");
    let loaded = LoadedObject::load_as(&bytes, Architecture::Aarch64, &resolve).unwrap();
    let start = loaded.symbol("kernel").unwrap();
    let find = |mask: u32, code: u32| {
        (0..32).map(|index| start + 4 * index).find(|at| word(&loaded, *at) & mask == code).unwrap()
    };
    // The branch leads to a stub that holds the outside address.
    let branch = find(0xfc00_0000, 0x9400_0000);
    let distance = i64::from(((word(&loaded, branch) << 6) as i32) >> 6) * 4;
    let stub = (branch as i64 + distance) as usize;
    assert_eq!(word(&loaded, stub), 0x5800_0050);
    let low = u64::from(word(&loaded, stub + 8));
    let high = u64::from(word(&loaded, stub + 12));
    assert_eq!((high << 32 | low) as usize, outside as *const () as usize);
    // The page and the place in it lead to writable data, 16-byte aligned.
    let page = find(0x9f00_0000, 0x9000_0000);
    let bits = word(&loaded, page);
    let pages = (i64::from(((bits << 8) as i32) >> 13 << 2)) | i64::from(bits >> 29 & 3);
    let target = (page as i64 >> 12) + pages;
    let load = find(0xffc0_0000, 0xb940_0000);
    let offset = u64::from(word(&loaded, load) >> 10 & 0xfff) * 4;
    let table = ((target as u64) << 12) + offset;
    assert_eq!(table % 16, 0);
    assert!(
        (loaded.mapping.address()..loaded.mapping.address() + loaded.mapping.len())
            .contains(&(table as usize))
    );
}

#[test]
fn damaged_objects_never_crash_the_loader() {
    for (bytes, arch) in [
        (host_object(KERNEL), Architecture::host().unwrap()),
        (object(KERNEL, "aarch64-unknown-linux-gnu", "generic"), Architecture::Aarch64),
    ] {
        let mut refused = 0;
        for len in 0..bytes.len() {
            refused += usize::from(LoadedObject::load_as(&bytes[..len], arch, &resolve).is_err());
        }
        assert!(refused > bytes.len() / 2, "{refused} of {}", bytes.len());
        for place in 0..bytes.len() {
            for value in [0x00, 0xff, bytes[place] ^ 0x10] {
                let mut damaged = bytes.clone();
                damaged[place] = value;
                let _ = LoadedObject::load_as(&damaged, arch, &resolve);
            }
        }
    }
}
