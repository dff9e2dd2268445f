//! What the system lets this process use: cores, their caches, a quota of time.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The cores that this process could run on when it was first asked, in order. Libraries may bind the calling
/// thread to fewer later.
pub(crate) fn allowed_cpus() -> &'static [usize] {
    static CPUS: OnceLock<Vec<usize>> = OnceLock::new();
    CPUS.get_or_init(|| {
        let cpus = affinity();
        if cpus.is_empty() { vec![0] } else { cpus }
    })
}

/// The cores that the calling thread may run on.
fn affinity() -> Vec<usize> {
    // SAFETY: all zeros is a valid set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: a valid place of the size given; 0 is the calling thread.
    let failed = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) };
    if failed != 0 {
        return Vec::new();
    }
    // SAFETY: the numbers are below the size of the set.
    (0..libc::CPU_SETSIZE as usize).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).collect()
}

/// Binds the calling thread to one core. A refusal is no harm.
pub(crate) fn pin(cpu: usize) {
    if cpu >= libc::CPU_SETSIZE as usize {
        return;
    }
    // SAFETY: a valid set with one member; 0 is the calling thread.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set);
    }
}

/// The core that the calling thread is on.
pub(crate) fn current_cpu() -> usize {
    // SAFETY: asks for a number.
    usize::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(0)
}

/// The variables that say how many threads a launch uses, the first one first.
const THREADS: [&str; 3] = ["DEUTERON_NUM_THREADS", "TRITON_CPU_NUM_THREADS", "OMP_NUM_THREADS"];

/// How many threads a launch uses: what one of [`THREADS`] says, else one per allowed core, but no more than the
/// control group's quota of time pays for.
pub(crate) fn thread_count() -> usize {
    let variable = |name: &str| {
        let text = std::env::var(name).ok()?;
        text.split(',').next()?.trim().parse::<usize>().ok().filter(|count| *count > 0)
    };
    let asked = THREADS.iter().find_map(|name| variable(name));
    let cpus = allowed_cpus().len();
    asked.unwrap_or_else(|| quota().map_or(cpus, |quota| quota.min(cpus))).min(4096)
}

/// Processors' worth of time that the control group grants, rounded up.
fn quota() -> Option<usize> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mut folders: Vec<PathBuf> = vec!["/sys/fs/cgroup".into(), "/sys/fs/cgroup/cpu".into()];
    for line in groups.lines() {
        let Some((_, path)) = line.rsplit_once(':') else { continue };
        // A group has no more than the groups around it.
        for path in Path::new(path.trim_start_matches('/')).ancestors() {
            folders.push(Path::new("/sys/fs/cgroup").join(path));
            folders.push(Path::new("/sys/fs/cgroup/cpu").join(path));
        }
    }
    folders.iter().filter_map(|folder| folder_quota(folder)).min()
}

/// The quota that one control group sets.
fn folder_quota(folder: &Path) -> Option<usize> {
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).ok();
    let (quota, period) = match read("cpu.max") {
        Some(text) => {
            text.trim().split_once(' ').map(|(quota, period)| (quota.to_string(), period.to_string()))?
        }
        None => (read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?),
    };
    parse_quota(quota.trim(), period.trim())
}

/// `max` and negative numbers are no limit.
fn parse_quota(quota: &str, period: &str) -> Option<usize> {
    let (quota, period): (usize, usize) = (quota.parse().ok()?, period.parse().ok()?);
    if quota == 0 || period == 0 { None } else { Some(quota.div_ceil(period)) }
}

/// Bytes of the data caches, each as one core sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Caches {
    /// The nearest.
    pub l1: u64,
    /// The second.
    pub l2: u64,
    /// The last, whole.
    pub last: u64,
}

/// What a core counts on in a last cache that all cores share. Virtual machines with few cores of a large processor are
/// told the size of its whole cache, in which their neighbours' data lies as well.
const OF_A_CORE: u64 = 16 << 20;

impl Caches {
    /// Bytes of the last cache that so many cores may count on.
    pub(crate) fn last_of(&self, cores: usize) -> u64 {
        self.last.min(OF_A_CORE.saturating_mul(cores as u64))
    }
}

/// The data caches of the first allowed core.
pub(crate) fn caches() -> Option<Caches> {
    let folder = PathBuf::from(format!("/sys/devices/system/cpu/cpu{}/cache", allowed_cpus()[0]));
    let mut sizes: Vec<(u32, u64)> = Vec::new();
    for index in 0..8 {
        let read = |name: &str| std::fs::read_to_string(folder.join(format!("index{index}/{name}"))).ok();
        let (Some(level), Some(kind), Some(size)) = (read("level"), read("type"), read("size")) else {
            continue;
        };
        if kind.trim() != "Instruction" {
            sizes.push((level.trim().parse().ok()?, parse_size(size.trim())?));
        }
    }
    sizes.sort_unstable();
    let at = |level: u32| sizes.iter().find(|(its, _)| *its == level).map(|(_, size)| *size);
    let l1 = at(1)?;
    Some(Caches { l1, l2: at(2).unwrap_or(l1), last: sizes.last()?.1 })
}

/// `512K`, `32M`.
fn parse_size(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// The clock of the processor in kHz, as far as the system says; 0 where it does not.
pub(crate) fn clock_khz() -> i64 {
    let folder = format!("/sys/devices/system/cpu/cpu{}/cpufreq/cpuinfo_max_freq", allowed_cpus()[0]);
    let from_sysfs = std::fs::read_to_string(folder).ok().and_then(|text| text.trim().parse().ok());
    from_sysfs
        .or_else(|| cpu_info("cpu MHz").and_then(|text| Some((text.parse::<f64>().ok()? * 1000.0) as i64)))
        .unwrap_or(0)
}

/// The processor's name for people.
pub(crate) fn cpu_name() -> String {
    cpu_info("model name").unwrap_or_else(|| format!("{} processor", std::env::consts::ARCH))
}

/// The first value of a key in `/proc/cpuinfo`.
fn cpu_info(key: &str) -> Option<String> {
    let text = std::fs::read_to_string("/proc/cpuinfo").ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    Some(line.split_once(':')?.1.trim().to_string())
}

/// Bytes of memory.
pub(crate) fn memory_bytes() -> i64 {
    // SAFETY: asks for numbers.
    let (pages, page) = unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    pages.saturating_mul(page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_cores_count_on_a_part_of_a_large_cache() {
        let caches = |last| Caches { l1: 48 << 10, l2: 2 << 20, last };
        assert_eq!(caches(260 << 20).last_of(2), 32 << 20);
        assert_eq!(caches(260 << 20).last_of(52), 260 << 20);
        assert_eq!(caches(8 << 20).last_of(1), 8 << 20);
        assert_eq!(caches(260 << 20).last_of(usize::MAX), 260 << 20);
    }

    #[test]
    fn quotas_round_up_and_may_be_absent() {
        assert_eq!(parse_quota("150000", "100000"), Some(2));
        assert_eq!(parse_quota("50000", "100000"), Some(1));
        assert_eq!(parse_quota("max", "100000"), None);
        assert_eq!(parse_quota("-1", "100000"), None);
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!(parse_size("512K"), Some(512 << 10));
        assert_eq!(parse_size("32M"), Some(32 << 20));
        assert_eq!(parse_size("7"), Some(7));
        assert_eq!(parse_size("7X"), None);
    }

    #[test]
    fn a_pinned_thread_stays_on_its_core() {
        let cpu = *allowed_cpus().last().unwrap();
        let thread = std::thread::spawn(move || {
            pin(cpu);
            (affinity(), current_cpu())
        });
        assert_eq!(thread.join().unwrap(), (vec![cpu], cpu));
    }
}
