//! Tests of the cache: damage, permissions, bounds, many writers.

use super::{EntryKind, Key, KeyBuilder, Store, measure, sweep};
use std::fs;
use std::time::{Duration, SystemTime};

fn key(text: &str) -> Key {
    KeyBuilder::new("test").part("text", text.as_bytes()).finish()
}

fn store(dir: &tempfile::TempDir) -> Store {
    Store::open(dir.path(), 1 << 20).expect("a fresh folder is fine")
}

#[test]
fn parts_do_not_run_together() {
    let one = KeyBuilder::new("t").part("a", b"bc").part("d", b"").finish();
    let two = KeyBuilder::new("t").part("a", b"b").part("cd", b"").finish();
    assert_ne!(one, two);
    assert_eq!(Key::parse(&one.to_string()), Some(one));
    assert_eq!(Key::parse("xyz"), None);
}

#[test]
fn what_is_written_is_read() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let store = store(&dir);
    assert_eq!(store.read(EntryKind::Kernel, &key("a")), None);
    store.write(EntryKind::Kernel, &key("a"), b"payload").expect("writes");
    store.write(EntryKind::Dependencies, &key("a"), b"").expect("writes");
    assert_eq!(store.read(EntryKind::Kernel, &key("a")).as_deref(), Some(&b"payload"[..]));
    assert_eq!(store.read(EntryKind::Dependencies, &key("a")).as_deref(), Some(&b""[..]));
    assert_eq!(store.clear().files, 2);
    assert_eq!(store.read(EntryKind::Kernel, &key("a")), None);
}

#[cfg(unix)]
#[test]
fn an_entry_that_is_there_already_stays() {
    use std::os::unix::fs::MetadataExt;
    let dir = tempfile::tempdir().expect("a temporary folder");
    let store = store(&dir);
    let path = store.path(EntryKind::Kernel, &key("a"));
    let write = |payload: &[u8]| {
        store.write(EntryKind::Kernel, &key("a"), payload).expect("writes");
        assert_eq!(store.read(EntryKind::Kernel, &key("a")).as_deref(), Some(payload));
        fs::metadata(&path).expect("it is there").ino()
    };
    // The first file is kept open, so that no other gets its number.
    let first = write(b"payload");
    let held = fs::File::open(&path).expect("opens");
    assert_eq!(write(b"payload"), first);
    assert_ne!(write(b"payl0ad"), first);
    drop(held);
    // A damaged one is written again, of whatever length.
    for at in [0, 8, 40, 72] {
        let mut bad = fs::read(&path).expect("it is there");
        bad[at] ^= 1;
        fs::write(&path, &bad).expect("writes");
        write(b"payl0ad");
    }
}

#[test]
fn every_damaged_byte_is_a_miss() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let store = store(&dir);
    let path = store.path(EntryKind::Kernel, &key("a"));
    store.write(EntryKind::Kernel, &key("a"), b"machine code").expect("writes");
    let good = fs::read(&path).expect("it is there");
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        fs::write(&path, &bad).expect("writes");
        assert_eq!(store.read(EntryKind::Kernel, &key("a")), None, "byte {at}");
        assert!(!path.exists(), "a damaged entry is removed");
    }
    for length in 0..good.len() {
        fs::write(&path, &good[..length]).expect("writes");
        assert_eq!(store.read(EntryKind::Kernel, &key("a")), None, "cut to {length}");
    }
    // An entry under another's name is whole, and still not that other's.
    store.write(EntryKind::Kernel, &key("b"), b"other").expect("writes");
    fs::create_dir_all(path.parent().expect("has a parent")).expect("makes it");
    fs::copy(store.path(EntryKind::Kernel, &key("b")), &path).expect("copies");
    assert_eq!(store.read(EntryKind::Kernel, &key("a")), None);
}

#[cfg(unix)]
#[test]
fn others_may_not_write() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().expect("a temporary folder");
    let mode = |path: &std::path::Path| fs::metadata(path).expect("exists").permissions().mode() & 0o777;
    let set = |path: &std::path::Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("sets")
    };
    let opened = store(&dir);
    opened.write(EntryKind::Kernel, &key("a"), b"x").expect("writes");
    let path = opened.path(EntryKind::Kernel, &key("a"));
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(opened.root()), 0o700);
    set(&path, 0o666);
    assert_eq!(opened.read(EntryKind::Kernel, &key("a")), None, "anybody could have written it");
    set(dir.path(), 0o777);
    let reason = Store::open(dir.path(), 1).expect_err("anybody may write there");
    assert!(reason.contains("mode 777") && reason.contains("DEUTERON_CACHE_DIR"), "{reason}");
    set(dir.path(), 0o700);
    // A link in place of an entry is not followed.
    let target = dir.path().join("elsewhere");
    set(&path, 0o600);
    fs::rename(&path, &target).expect("renames");
    std::os::unix::fs::symlink(&target, &path).expect("links");
    assert_eq!(opened.read(EntryKind::Kernel, &key("a")), None);
}

#[test]
fn a_relative_folder_and_a_file_are_refused() {
    assert!(Store::open(std::path::Path::new("cache"), 1).expect_err("relative").contains("absolute"));
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    assert!(Store::open(file.path(), 1).is_err());
}

#[test]
fn the_least_used_go_first() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let store = store(&dir);
    let names: Vec<String> = (0..20).map(|number| format!("entry {number}")).collect();
    for (age, name) in names.iter().enumerate() {
        store.write(EntryKind::Kernel, &key(name), &[7; 1000]).expect("writes");
        let file =
            fs::File::options().write(true).open(store.path(EntryKind::Kernel, &key(name))).expect("opens");
        file.set_modified(SystemTime::now() - Duration::from_secs(10_000 - age as u64 * 100)).expect("sets");
    }
    // Reading the oldest makes it the newest.
    assert!(store.read(EntryKind::Kernel, &key(&names[0])).is_some());
    sweep(store.root(), 10_000);
    let left = measure(store.root());
    assert!(left.bytes <= 9_000 && left.files >= 7, "{left:?}");
    assert!(store.read(EntryKind::Kernel, &key(&names[0])).is_some());
    assert!(store.read(EntryKind::Kernel, &key(&names[1])).is_none());
    assert!(store.read(EntryKind::Kernel, &key(&names[19])).is_some());
}

#[test]
fn many_writers_never_show_half_an_entry() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    std::thread::scope(|scope| {
        for thread in 0..8u8 {
            let dir = dir.path();
            scope.spawn(move || {
                let store = Store::open(dir, 1 << 20).expect("opens");
                for round in 0..100u32 {
                    let name = key(&format!("{}", round % 5));
                    let payload = vec![(round % 5) as u8; 3000];
                    if (round + u32::from(thread)).is_multiple_of(3) {
                        store.write(EntryKind::Kernel, &name, &payload).expect("writes");
                    } else if let Some(read) = store.read(EntryKind::Kernel, &name) {
                        assert_eq!(read, payload);
                    }
                }
            });
        }
    });
    assert_eq!(measure(&dir.path().join("v1")).files, 5);
}

#[test]
fn a_lock_is_held_by_one_at_a_time_and_not_waited_for_without_end() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let (one, other) = (store(&dir), store(&dir));
    let (key, else_key) = (key("a"), key("b"));
    let short = Duration::from_millis(5);
    let lock = one.lock_entry(&key, short).expect("nobody has it");
    assert!(other.lock_entry(&key, short).is_none(), "it is taken");
    assert!(other.lock_entry(&else_key, short).is_some(), "another one is free");
    let waited = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| other.lock_entry(&key, Duration::from_secs(20)).is_some());
        std::thread::sleep(short);
        drop(lock);
        waiting.join().expect("no panic")
    });
    assert!(waited);
    assert!(one.leftovers().is_empty());
}
