//! What devices can do at most, as data.
//!
//! SMs, clocks (boost), memory and matrix rates are those of the vendor's data sheets, dense; 64 bytes a clock from the
//! second cache into each SM, 128 from shared memory and one line of the first cache a clock are those of its
//! architecture white papers; latencies are what published microbenchmarks find for a load that misses all caches,
//! rounded. A bound that follows from them is one that no kernel beats, not one that every kernel reaches.

use ptx_isa::Arch;
use std::collections::BTreeMap;
use target::survey::Peaks;

/// A device. Rates are operations of one SM in one clock; a product and its sum are two.
struct DeviceRow {
    arch: u16,
    name: &'static str,
    sms: u32,
    clock_mhz: f64,
    /// GB/s.
    memory: f64,
    /// MB of the second cache.
    cache: u64,
    latency_ns: f64,
    /// Matrices of 16-bit floats, summed in 32 bits.
    matrix: f64,
    /// Matrices of 64-bit floats.
    matrix_f64: f64,
    f32: f64,
    f64: f64,
}

const fn row(
    (arch, name): (u16, &'static str),
    (sms, clock_mhz): (u32, f64),
    (memory, cache, latency_ns): (f64, u64, f64),
    [matrix, matrix_f64, f32, f64]: [f64; 4],
) -> DeviceRow {
    DeviceRow { arch, name, sms, clock_mhz, memory, cache, latency_ns, matrix, matrix_f64, f32, f64 }
}

/// The devices, for each architecture the usual one first.
static DEVICES: &[DeviceRow] = &[
    row((80, "A100 SXM 80GB"), (108, 1410.0), (2039.0, 40, 480.0), [2048.0, 128.0, 128.0, 64.0]),
    row((80, "A100 PCIe 40GB"), (108, 1410.0), (1555.0, 40, 480.0), [2048.0, 128.0, 128.0, 64.0]),
    row((86, "RTX 3090"), (82, 1695.0), (936.0, 6, 500.0), [512.0, 4.0, 256.0, 4.0]),
    row((86, "A10"), (72, 1695.0), (600.0, 6, 500.0), [1024.0, 4.0, 256.0, 4.0]),
    row((87, "Jetson AGX Orin"), (16, 1300.0), (204.8, 4, 600.0), [1024.0, 4.0, 256.0, 4.0]),
    row((89, "L40S"), (142, 2520.0), (864.0, 96, 550.0), [1024.0, 4.0, 256.0, 4.0]),
    row((89, "RTX 4090"), (128, 2520.0), (1008.0, 72, 550.0), [512.0, 4.0, 256.0, 4.0]),
    row((90, "H100 SXM"), (132, 1830.0), (3350.0, 50, 600.0), [4096.0, 256.0, 256.0, 128.0]),
    row((90, "H200"), (132, 1830.0), (4800.0, 50, 600.0), [4096.0, 256.0, 256.0, 128.0]),
    row((90, "H100 PCIe"), (114, 1620.0), (2039.0, 50, 650.0), [4096.0, 256.0, 256.0, 128.0]),
    row((100, "B200"), (148, 1850.0), (8000.0, 126, 700.0), [8192.0, 128.0, 256.0, 128.0]),
    row((103, "B300"), (148, 1850.0), (8000.0, 126, 700.0), [8192.0, 4.0, 256.0, 4.0]),
    row((120, "RTX 5090"), (170, 2407.0), (1792.0, 96, 600.0), [512.0, 4.0, 256.0, 4.0]),
];

/// Bytes that an SM gets from the second cache in a clock.
const CACHE_BYTES: f64 = 64.0;
/// Bytes that shared memory gives in a clock.
const SHARED_BYTES: f64 = 128.0;
/// Elementary functions of an SM in a clock.
const SPECIAL: f64 = 16.0;
/// Lines of the first cache that an SM looks up in a clock.
const LINES: f64 = 1.0;
/// Bytes of such a line.
const LINE_BYTES: u64 = 128;
/// Bytes that move together.
const SECTOR_BYTES: u64 = 32;

/// Rates by name, as a multiple of the rate of 16-bit matrices.
const MATRIX_RATES: &[(&str, f64)] = &[
    ("matrix f16", 1.0),
    ("matrix bf16", 1.0),
    ("matrix tf32", 0.5),
    ("matrix i8", 2.0),
    ("matrix f8E4M3FN", 2.0),
    ("matrix f8E5M2", 2.0),
];

fn peaks_of(row: &DeviceRow) -> Peaks {
    let each = f64::from(row.sms) * row.clock_mhz * 1e6;
    let mut rates: BTreeMap<String, f64> =
        MATRIX_RATES.iter().map(|(name, times)| ((*name).to_owned(), row.matrix * times * each)).collect();
    let plain = [
        ("matrix f64", row.matrix_f64),
        ("f32", row.f32),
        ("f16", 2.0 * row.f32),
        ("bf16", 2.0 * row.f32),
        ("f64", row.f64),
        ("i32", row.f32 / 2.0),
        ("special", SPECIAL),
    ];
    rates.extend(plain.map(|(name, rate)| (name.to_owned(), rate * each)));
    Peaks {
        device: row.name.into(),
        source: "data sheets and architecture white papers; latency from published microbenchmarks".into(),
        units: row.sms,
        unit: "SM",
        memory: row.memory * 1e9,
        cache: CACHE_BYTES * each,
        cache_bytes: row.cache << 20,
        near_cache_bytes: 0,
        shared: SHARED_BYTES * each,
        latency_ns: row.latency_ns,
        sector_bytes: SECTOR_BYTES,
        line_bytes: LINE_BYTES,
        lines: LINES * each,
        rates,
    }
}

/// The devices of an architecture; `here` is the name of the one in this machine, which comes first if it is known.
pub(crate) fn peaks(arch: Arch, here: Option<&str>) -> Vec<Peaks> {
    let newest = DEVICES.iter().map(|row| row.arch).filter(|own| *own <= arch.number).max();
    let mut rows: Vec<&DeviceRow> = DEVICES.iter().filter(|row| Some(row.arch) == newest).collect();
    let is_here =
        |row: &DeviceRow| here.is_some_and(|name| row.name.split(' ').all(|word| name.contains(word)));
    rows.sort_by_key(|row| !is_here(row));
    rows.into_iter().map(peaks_of).collect()
}

#[cfg(test)]
mod tests {
    use super::peaks;
    use ptx_isa::Arch;

    #[test]
    fn rates_are_those_of_the_data_sheets() {
        let close = |value: f64, wanted: f64| (value / wanted - 1.0).abs() < 0.02;
        let a100 = &peaks(Arch::new(80), None)[0];
        assert!(close(a100.rates["matrix f16"], 312e12) && close(a100.rates["f32"], 19.5e12), "{a100:?}");
        let h100 = &peaks(Arch::new(90), None)[0];
        assert!(close(h100.rates["matrix f16"], 989e12) && close(h100.rates["f32"], 62e12), "{h100:?}");
        assert_eq!(peaks(Arch::new(90), Some("NVIDIA H200"))[0].device, "H200");
        assert_eq!(peaks(Arch::new(121), None)[0].device, "RTX 5090");
    }
}
