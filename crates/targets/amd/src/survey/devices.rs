//! What devices can do at most, as data.
//!
//! Compute units, clocks (boost), memory and matrix rates are those of the vendor's data sheets, dense, of one die
//! where a package has several devices; 128 bytes a clock from LDS and 64 from the second cache to a compute unit are
//! those of its architecture papers. Latencies are estimates, rounded. A bound that follows from them is one that no
//! kernel beats, not one that every kernel reaches.

use amdgcn_isa::Arch::{self, Gfx90a, Gfx942, Gfx950, Gfx1100, Gfx1200};
use std::collections::BTreeMap;
use target::survey::Peaks;

/// A device. Rates are operations of one compute unit in one clock; a product and its sum are two.
struct DeviceRow {
    arch: Arch,
    name: &'static str,
    units: u32,
    clock_mhz: f64,
    /// GB/s.
    memory: f64,
    /// MB of the last cache.
    cache: u64,
    latency_ns: f64,
    line_bytes: u64,
    /// By kind of work.
    rates: &'static [(&'static str, f64)],
}

const CDNA2: &[(&str, f64)] = &[
    ("matrix f16", 1024.0),
    ("matrix bf16", 1024.0),
    ("matrix i8", 1024.0),
    ("matrix f32", 256.0),
    ("matrix f64", 256.0),
    ("f32", 128.0),
    ("f16", 256.0),
    ("bf16", 128.0),
    ("f64", 128.0),
    ("i32", 64.0),
    ("special", 16.0),
];
const CDNA3: &[(&str, f64)] = &[
    ("matrix f16", 2048.0),
    ("matrix bf16", 2048.0),
    ("matrix tf32", 1024.0),
    ("matrix i8", 4096.0),
    ("matrix f8E4M3FNUZ", 4096.0),
    ("matrix f8E5M2FNUZ", 4096.0),
    ("matrix f32", 256.0),
    ("matrix f64", 256.0),
    ("f32", 256.0),
    ("f16", 256.0),
    ("bf16", 256.0),
    ("f64", 128.0),
    ("i32", 64.0),
    ("special", 16.0),
];
const CDNA4: &[(&str, f64)] = &[
    ("matrix f16", 4096.0),
    ("matrix bf16", 4096.0),
    ("matrix i8", 8192.0),
    ("matrix f8E4M3FN", 8192.0),
    ("matrix f8E5M2", 8192.0),
    ("matrix f32", 256.0),
    ("matrix f64", 128.0),
    ("f32", 256.0),
    ("f16", 256.0),
    ("bf16", 256.0),
    ("f64", 128.0),
    ("i32", 64.0),
    ("special", 32.0),
];
const RDNA3: &[(&str, f64)] = &[
    ("matrix f16", 512.0),
    ("matrix bf16", 512.0),
    ("matrix i8", 512.0),
    ("f32", 256.0),
    ("f16", 512.0),
    ("bf16", 256.0),
    ("f64", 4.0),
    ("i32", 64.0),
    ("special", 16.0),
];
const RDNA4: &[(&str, f64)] = &[
    ("matrix f16", 1024.0),
    ("matrix bf16", 1024.0),
    ("matrix i8", 2048.0),
    ("matrix f8E4M3FN", 2048.0),
    ("matrix f8E5M2", 2048.0),
    ("f32", 256.0),
    ("f16", 512.0),
    ("bf16", 256.0),
    ("f64", 4.0),
    ("i32", 64.0),
    ("special", 16.0),
];

const fn row(
    (arch, name): (Arch, &'static str),
    (units, clock_mhz): (u32, f64),
    (memory, cache, latency_ns): (f64, u64, f64),
    line_bytes: u64,
    rates: &'static [(&'static str, f64)],
) -> DeviceRow {
    DeviceRow { arch, name, units, clock_mhz, memory, cache, latency_ns, line_bytes, rates }
}

/// The devices, for each architecture the usual one first.
static DEVICES: &[DeviceRow] = &[
    row((Gfx90a, "MI250X (one die)"), (110, 1700.0), (1638.0, 8, 700.0), 64, CDNA2),
    row((Gfx90a, "MI210"), (104, 1700.0), (1638.0, 8, 700.0), 64, CDNA2),
    row((Gfx942, "MI300X"), (304, 2100.0), (5300.0, 256, 800.0), 128, CDNA3),
    row((Gfx942, "MI325X"), (304, 2100.0), (6000.0, 256, 800.0), 128, CDNA3),
    row((Gfx950, "MI355X"), (256, 2400.0), (8000.0, 256, 800.0), 128, CDNA4),
    row((Gfx950, "MI350X"), (256, 2200.0), (8000.0, 256, 800.0), 128, CDNA4),
    row((Gfx1100, "RX 7900 XTX"), (96, 2500.0), (960.0, 96, 500.0), 128, RDNA3),
    row((Gfx1200, "RX 9060 XT"), (32, 3130.0), (320.0, 32, 500.0), 128, RDNA4),
];

/// Bytes that a compute unit gets from the second cache in a clock.
const CACHE_BYTES: f64 = 64.0;
/// Bytes that LDS gives in a clock.
const LDS_BYTES: f64 = 128.0;
/// Lines of the first cache that a compute unit looks up in a clock.
const LINES: f64 = 1.0;
/// Bytes that move together.
const SECTOR_BYTES: u64 = 32;

fn peaks_of(row: &DeviceRow) -> Peaks {
    let each = f64::from(row.units) * row.clock_mhz * 1e6;
    Peaks {
        device: row.name.into(),
        source: "data sheets and architecture papers; the latency is an estimate".into(),
        units: row.units,
        unit: "compute unit",
        memory: row.memory * 1e9,
        cache: CACHE_BYTES * each,
        cache_bytes: row.cache << 20,
        near_cache_bytes: 0,
        shared: LDS_BYTES * each,
        latency_ns: row.latency_ns,
        sector_bytes: SECTOR_BYTES,
        line_bytes: row.line_bytes,
        lines: LINES * each,
        rates: row
            .rates
            .iter()
            .map(|(name, rate)| ((*name).to_owned(), rate * each))
            .collect::<BTreeMap<_, _>>(),
    }
}

/// The devices of an architecture.
pub(crate) fn peaks(arch: Arch) -> Vec<Peaks> {
    DEVICES.iter().filter(|row| row.arch == arch).map(peaks_of).collect()
}

#[cfg(test)]
mod tests {
    use super::peaks;
    use crate::machine::MACHINES;

    #[test]
    fn rates_are_those_of_the_data_sheets() {
        let close = |value: f64, wanted: f64| (value / wanted - 1.0).abs() < 0.02;
        let of = |name: &str, rate: &str| {
            let all = MACHINES.iter().flat_map(|(arch, _)| peaks(*arch));
            let device = all.into_iter().find(|device| device.device.starts_with(name)).expect("known");
            device.rates[rate]
        };
        assert!(close(of("MI300X", "matrix f16"), 1307e12) && close(of("MI300X", "f32"), 163.4e12));
        assert!(close(of("MI300X", "matrix f8E4M3FNUZ"), 2615e12) && close(of("MI300X", "f64"), 81.7e12));
        assert!(close(of("MI355X", "matrix f16"), 2500e12) && close(of("MI250X", "matrix f16"), 191.5e12));
        assert!(close(of("RX 7900", "matrix f16"), 122.8e12) && close(of("RX 9060", "f32"), 25.6e12));
    }

    #[test]
    fn matrix_rates_have_the_names_of_the_machines_numbers() {
        for (arch, machine) in MACHINES {
            for device in peaks(*arch) {
                for row in machine.matrix {
                    let name = format!("matrix {}", row.a);
                    assert!(device.rates.contains_key(&name), "{arch}: {name} of {:?}", device.rates.keys());
                }
            }
            assert!(!peaks(*arch).is_empty());
        }
    }
}
