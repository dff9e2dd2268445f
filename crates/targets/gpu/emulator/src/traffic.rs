//! What accesses cost: sectors of device memory, passes over the banks of shared memory.

use rustc_hash::FxHashSet;

/// Bytes of a sector.
const SECTOR: u64 = 32;
/// Bytes that the banks of shared memory give in one pass.
const BANKS: u64 = 128;

/// Passes over 32 banks of 4 bytes: lanes are served in as many equal parts as their bytes need.
pub fn wavefronts(addresses: &[u64], bytes: u64) -> (u64, u64) {
    let parts = (bytes / 4).max(1) as usize;
    let size = (32 / parts).max(1);
    let mut passes = 0;
    for part in addresses.chunks(size) {
        let mut words: [Vec<u64>; 32] = Default::default();
        for address in part {
            for word in address / 4..(address + bytes).div_ceil(4) {
                let bank = &mut words[(word % 32) as usize];
                if !bank.contains(&word) {
                    bank.push(word);
                }
            }
        }
        passes += words.iter().map(Vec::len).max().unwrap_or(0) as u64;
    }
    let distinct: FxHashSet<u64> =
        addresses.iter().flat_map(|address| address / 4..(address + bytes).div_ceil(4)).collect();
    (passes, (distinct.len() as u64 * 4).div_ceil(BANKS).max(1).min(passes))
}

/// Sectors touched, and as few as could hold the bytes.
pub fn sectors(addresses: &[u64], bytes: u64) -> (u64, u64) {
    let touched: FxHashSet<u64> =
        addresses.iter().flat_map(|address| address / SECTOR..(address + bytes).div_ceil(SECTOR)).collect();
    let distinct: FxHashSet<u64> = addresses.iter().copied().collect();
    (touched.len() as u64, (distinct.len() as u64 * bytes).div_ceil(SECTOR).min(touched.len() as u64))
}

#[cfg(test)]
mod tests {
    use super::{sectors, wavefronts};

    #[test]
    fn banks_conflict_when_lanes_want_other_words_of_one_bank() {
        let stride = |bytes: u64| (0..32).map(|lane| lane * bytes).collect::<Vec<_>>();
        assert_eq!(wavefronts(&stride(4), 4), (1, 1));
        assert_eq!(wavefronts(&stride(8), 4), (2, 1));
        assert_eq!(wavefronts(&stride(128), 4), (32, 1));
        assert_eq!(wavefronts(&stride(0), 4), (1, 1));
        assert_eq!(wavefronts(&stride(16), 16), (4, 4));
        assert_eq!(wavefronts(&stride(2), 2), (1, 1));
    }

    #[test]
    fn sectors_hold_32_bytes() {
        let stride = |bytes: u64| (0..32).map(|lane| 4096 + lane * bytes).collect::<Vec<_>>();
        assert_eq!(sectors(&stride(4), 4), (4, 4));
        assert_eq!(sectors(&stride(32), 4), (32, 4));
        assert_eq!(sectors(&stride(0), 4), (1, 1));
    }
}
