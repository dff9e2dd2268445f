//! The names of the kernels that were launched last: what an error that comes late names.

use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// How many names are kept.
const KEPT: usize = 8;

/// A name of a kernel that lives as long as the process: an error may name a launch at any later time.
pub type Name = &'static str;

/// A ring of names; noting one is two stores.
#[derive(Debug, Default)]
pub struct Names {
    names: [AtomicPtr<Name>; KEPT],
    next: AtomicUsize,
}

impl Names {
    /// No names.
    pub const fn new() -> Names {
        Names { names: [const { AtomicPtr::new(std::ptr::null_mut()) }; KEPT], next: AtomicUsize::new(0) }
    }

    /// Keeps a name for the life of the process.
    pub fn name(text: &str) -> &'static Name {
        let text: Name = Box::leak(text.to_owned().into_boxed_str());
        Box::leak(Box::new(text))
    }

    /// A kernel is launched.
    #[inline]
    pub fn note(&self, name: &'static Name) {
        // Two threads may take the same place, and one name is lost; adding as one step would wait for all that was
        // written to the device.
        let next = self.next.load(Ordering::Relaxed);
        self.next.store(next.wrapping_add(1), Ordering::Relaxed);
        self.names[next % KEPT].store(std::ptr::from_ref(name).cast_mut(), Ordering::Release);
    }

    /// The names of different kernels, the newest first.
    pub fn newest(&self) -> Vec<Name> {
        let next = self.next.load(Ordering::Relaxed);
        let mut all: Vec<Name> = Vec::new();
        for back in 1..=KEPT {
            let name = self.names[next.wrapping_sub(back) % KEPT].load(Ordering::Acquire);
            // SAFETY: what is stored here was a reference to something that is never freed.
            if let Some(name) = unsafe { name.as_ref() }
                && !all.contains(name)
            {
                all.push(name);
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::Names;

    #[test]
    fn the_newest_come_first_and_once() {
        let names = Names::new();
        assert!(names.newest().is_empty());
        let (a, b) = (Names::name("a"), Names::name("b"));
        for name in [a, b, a, a] {
            names.note(name);
        }
        assert_eq!(names.newest(), ["a", "b"]);
        (0..100).for_each(|_| names.note(b));
        assert_eq!(names.newest(), ["b"]);
    }
}
