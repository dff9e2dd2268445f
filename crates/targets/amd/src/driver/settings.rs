//! Settings of a machine that AMD's tuning guide asks for, for `deuteron info`: what its script `env_check.sh` looks
//! at.

use std::fs;
use target::Tool;

/// Whether the system moves memory between nodes of processors.
const NUMA_BALANCING: &str = "/proc/sys/kernel/numa_balancing";
/// Where the runtime puts arguments of kernels.
const DEVICE_ARGUMENTS: &str = "HIP_FORCE_DEV_KERNARG";
/// Folders of graphics cards, and the file in each that says how clocks are chosen.
const CARDS: &str = "/sys/class/drm";
const LEVEL: &str = "device/power_dpm_force_performance_level";

/// What is set, and how it is changed.
pub(crate) fn settings() -> Vec<Tool> {
    let balancing = fs::read_to_string(NUMA_BALANCING).ok();
    let arguments = std::env::var(DEVICE_ARGUMENTS).ok();
    vec![
        Tool { name: "NUMA", found: Ok(numa(balancing.as_deref())) },
        Tool { name: "arguments", found: Ok(device_arguments(arguments.as_deref())) },
        Tool { name: "clocks", found: Ok(clocks(&levels())) },
    ]
}

fn numa(text: Option<&str>) -> String {
    match text.map(str::trim) {
        Some("0") => "balancing is off, as AMD's guide recommends".to_owned(),
        Some(_) => {
            format!("balancing is on; AMD's guide recommends `sudo sh -c 'echo 0 > {NUMA_BALANCING}'`")
        }
        None => "the system does not say whether memory is balanced".to_owned(),
    }
}

fn device_arguments(value: Option<&str>) -> String {
    match value {
        Some("1") => format!("of kernels are put into memory of the device ({DEVICE_ARGUMENTS}=1)"),
        _ => format!(
            "of kernels are put where the runtime chooses; AMD's guide recommends {DEVICE_ARGUMENTS}=1"
        ),
    }
}

/// How clocks are chosen, of every card that says so, in order.
fn levels() -> Vec<String> {
    let cards = fs::read_dir(CARDS).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut cards: Vec<_> = cards.collect();
    cards.sort();
    let level = |card: &std::path::PathBuf| fs::read_to_string(card.join(LEVEL)).ok();
    cards.iter().filter_map(level).map(|level| level.trim().to_owned()).collect()
}

fn clocks(levels: &[String]) -> String {
    if levels.is_empty() {
        return "the system does not say how clocks are chosen".to_owned();
    }
    let fixed = levels.iter().all(|level| level == "perf_determinism");
    let advice = "; for measurements AMD's guide recommends `rocm-smi --setperfdeterminism 1900`";
    format!("are chosen by level {}{}", levels.join(", "), if fixed { "" } else { advice })
}

#[cfg(test)]
mod tests {
    use super::{clocks, device_arguments, numa};

    #[test]
    fn what_is_not_as_recommended_comes_with_what_changes_it() {
        assert!(numa(Some("0\n")).contains("is off"));
        assert!(numa(Some("1\n")).contains("echo 0 > /proc/sys/kernel/numa_balancing"));
        assert!(numa(None).contains("does not say"));
        assert!(!device_arguments(Some("1")).contains("recommends"));
        assert!(device_arguments(None).contains("recommends HIP_FORCE_DEV_KERNARG=1"));
        let levels =
            |names: &[&str]| clocks(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>());
        assert!(!levels(&["perf_determinism", "perf_determinism"]).contains("recommends"));
        assert!(levels(&["auto", "perf_determinism"]).contains("auto, perf_determinism; for measurements"));
        assert!(levels(&[]).contains("does not say"));
    }
}
