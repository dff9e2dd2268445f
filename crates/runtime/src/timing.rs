//! Timing on the host: memory that empties the caches, and how fast the memory of the machine is.

use std::hint::black_box;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Memory larger than the caches. Writing all of it leaves nothing else in them.
#[derive(Debug)]
pub struct Flush {
    memory: Vec<u8>,
    byte: u8,
}

impl Flush {
    /// So many bytes.
    pub fn new(bytes: usize) -> Flush {
        Flush { memory: vec![0; bytes], byte: 0 }
    }

    /// How many bytes there are.
    pub fn bytes(&self) -> usize {
        self.memory.len()
    }

    /// Writes all of the memory, each core a part: caches that belong to one core are emptied by that one.
    pub fn run(&mut self) {
        self.byte = self.byte.wrapping_add(1);
        let byte = self.byte;
        in_parts(&mut self.memory, |part| part.fill(byte));
        black_box(&self.memory);
    }
}

/// Works on a piece of memory with all cores, each on its own part.
fn in_parts<T: Send>(memory: &mut [T], work: impl Fn(&mut [T]) + Sync) {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let length = memory.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let mut parts = memory.chunks_mut(length);
        let own = parts.next();
        for part in parts {
            scope.spawn(|| work(part));
        }
        own.into_iter().for_each(&work);
    });
}

/// Bytes that are read to time the memory.
const READ_BYTES: usize = 256 << 20;
/// How long is spent on it.
const READ_FOR: Duration = Duration::from_millis(200);

/// Bytes a second that the cores of this machine read from memory together, measured once: the fastest of several
/// times that a large piece of memory was read.
pub fn host_bandwidth() -> f64 {
    static MEASURED: OnceLock<f64> = OnceLock::new();
    *MEASURED.get_or_init(|| {
        let mut memory = vec![1u64; READ_BYTES / 8];
        let begin = Instant::now();
        let mut fastest = f64::INFINITY;
        while begin.elapsed() < READ_FOR || fastest.is_infinite() {
            let start = Instant::now();
            in_parts(&mut memory, |part| {
                black_box(part.iter().fold(0u64, |sum, word| sum.wrapping_add(*word)));
            });
            fastest = fastest.min(start.elapsed().as_secs_f64());
        }
        READ_BYTES as f64 / fastest
    })
}

#[cfg(test)]
mod tests {
    use super::{Flush, host_bandwidth, in_parts};

    #[test]
    fn every_byte_is_written() {
        for bytes in [0, 1, 4097] {
            let mut flush = Flush::new(bytes);
            flush.run();
            assert!(flush.bytes() == bytes && flush.memory.iter().all(|byte| *byte == 1));
        }
        let mut numbers = vec![0u32; 1001];
        in_parts(&mut numbers, |part| part.iter_mut().for_each(|number| *number += 1));
        assert!(numbers.iter().all(|number| *number == 1));
    }

    #[test]
    fn memory_has_a_speed() {
        assert!(host_bandwidth() > 1e6);
    }
}
