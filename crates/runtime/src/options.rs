//! Options of a launch: `num_warps=8` and its kin.

use crate::error::RuntimeError;
use crate::knobs::{self, Settings};

use crate::target_list::all_targets;
use std::collections::BTreeMap;
use target::{CompileOptions, OptionRow, OptionValue, Target, TargetFacts};

/// An option that every target takes, and its value when a launch does not say.
const COMMON: &[(&str, OptionValue, &str)] = &[
    ("num_warps", OptionValue::Int(4), "Warps per program; a power of two."),
    ("num_stages", OptionValue::Int(3), "Stages of software pipelining."),
    ("num_ctas", OptionValue::Int(1), "Programs per cluster."),
    (
        "enable_fp_fusion",
        OptionValue::None,
        "Whether mul + add may become one fused operation; None asks the knob.",
    ),
    ("debug", OptionValue::Bool(false), "Device asserts and overflow checks."),
    ("sanitize_overflow", OptionValue::Bool(true), "Whether debug checks integers for overflow."),
    (
        IR_OVERRIDE,
        OptionValue::None,
        "The path of a file that stands for the stage it is named after: `kernel.ttgir`.",
    ),
    (
        DOT_PRECISION,
        OptionValue::None,
        "The input_precision of a dot that gives none; None asks TRITON_F32_DEFAULT.",
    ),
];

/// The option that names a file in place of a stage; it is among the `extra` of a compile where it is given.
pub const IR_OVERRIDE: &str = "ir_override";

/// The option for dots that give no precision; it is among the `extra` of a compile where it is not what they have
/// anyway.
pub const DOT_PRECISION: &str = "default_dot_input_precision";

/// Options of releases of Triton that no target reads, and their defaults: they are taken and do nothing.
const UNREAD: &[(&str, OptionValue)] = &[
    ("allowed_dot_input_precisions", OptionValue::None),
    ("backend_name", OptionValue::None),
    ("clc", OptionValue::Bool(false)),
    ("cluster_dims", OptionValue::None),
    ("deprecated_fp8_dot_operand_dtypes", OptionValue::None),
    ("deprecated_fp8_dtypes", OptionValue::None),
    ("extern_libs", OptionValue::None),
    ("fpsan_homomorphic_casts", OptionValue::Bool(false)),
    ("instruction_sched_variant", OptionValue::None),
    ("instrumentation_mode", OptionValue::None),
    ("llvm_fn_attrs", OptionValue::None),
    ("max_num_imprecise_acc_default", OptionValue::None),
    ("num_buffers_warp_spec", OptionValue::Int(0)),
    ("num_consumer_groups", OptionValue::Int(0)),
    ("reg_dec_producer", OptionValue::Int(0)),
    ("reg_inc_consumer", OptionValue::Int(0)),
    ("sched4reg", OptionValue::Bool(false)),
    ("supported_fp8_dtypes", OptionValue::None),
    ("warp_size", OptionValue::None),
];

/// Options that kernels written for one kind of machine, or for one release of Triton, name at every launch, and their
/// defaults. A target that does not read them takes them and does nothing, as their authors expect.
fn elsewhere() -> impl Iterator<Item = (&'static str, &'static OptionValue)> {
    let read = all_targets().iter().flat_map(|target| further(target.options()));
    read.map(|row| (row.name, &row.default)).chain(UNREAD.iter().map(|(name, default)| (*name, default)))
}

/// What a launch is taken to say of options that the target does not read, by name: what was given, or the default.
pub fn without_effect<'a>(
    target: &dyn Target,
    given: &'a BTreeMap<String, OptionValue>,
) -> impl Iterator<Item = (&'static str, &'a OptionValue)> {
    let own = target.options();
    let unread = elsewhere().filter(move |(name, _)| own.iter().all(|own| own.name != *name));
    unread.map(|(name, default)| (name, given.get(name).unwrap_or(default)))
}

/// The names of all options that a launch on `target` may give.
pub fn names(target: &dyn Target) -> Vec<&'static str> {
    let own = target.options().iter().map(|row| row.name);
    let mut names: Vec<_> =
        COMMON.iter().map(|row| row.0).chain(own).chain(elsewhere().map(|row| row.0)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Makes the options of a compile from those that were given.
///
/// # Errors
/// `KeyError` for a name that nobody knows, `ValueError` or `TypeError` for a value that makes no sense.
pub fn parse(
    target: &dyn Target,
    given: &BTreeMap<String, OptionValue>,
) -> Result<CompileOptions, RuntimeError> {
    let own: &[OptionRow] = target.options();
    for name in given.keys() {
        let known = COMMON.iter().any(|row| row.0 == name)
            || own.iter().any(|row| row.name == name)
            || elsewhere().any(|row| row.0 == name);
        if !known {
            return Err(RuntimeError::Key(format!("Keyword argument {name} was specified but unrecognised")));
        }
    }
    let number = |name: &str| positive(name, given.get(name), default_of(own, name));
    let num_warps = number("num_warps")?;
    if !num_warps.is_power_of_two() {
        return Err(RuntimeError::Option(format!("num_warps must be a power of 2, and is {num_warps}")));
    }
    let mut extra: BTreeMap<String, OptionValue> =
        further(own).map(|row| (row.name.to_owned(), row.default.clone())).collect();
    if let Some(arch) = knobs::opt_text("runtime", "override_arch").filter(|arch| !arch.is_empty()) {
        match extra.get_mut("arch") {
            Some(value) => *value = OptionValue::Str(arch),
            None => {
                return Err(RuntimeError::Value(format!(
                    "TRITON_OVERRIDE_ARCH is `{arch}`, and target {} has no other architecture to choose",
                    target.facts().backend
                )));
            }
        }
    }
    knobs::check(target)?;
    extra.extend(knobs::compiled_in(target));
    for (name, value) in given.iter().filter(|(name, _)| further(own).any(|row| row.name == *name)) {
        extra.insert(name.clone(), value.clone());
    }
    if let Some(path) = given.get(IR_OVERRIDE).filter(|path| **path != OptionValue::None) {
        if !matches!(path, OptionValue::Str(_)) {
            return Err(RuntimeError::Type(format!("{IR_OVERRIDE} must be a path, and is {path:?}")));
        }
        extra.insert(IR_OVERRIDE.to_owned(), path.clone());
    }
    if let Some(precision) = dot_precision(target, given.get(DOT_PRECISION))? {
        extra.insert(DOT_PRECISION.to_owned(), OptionValue::Str(precision));
    }
    if let Some(OptionValue::Str(mode)) = given.get("instrumentation_mode")
        && !mode.is_empty()
    {
        return Err(RuntimeError::Option(format!(
            "instrumentation_mode is `{mode}`: {}",
            knobs::NO_SANITIZER
        )));
    }
    let options = CompileOptions {
        num_warps,
        num_stages: number("num_stages")?,
        num_ctas: number("num_ctas")?,
        enable_fp_fusion: fp_fusion(flag("enable_fp_fusion", given.get("enable_fp_fusion"))?),
        debug: flag("debug", given.get("debug"))?.unwrap_or(false) || knobs::debug(),
        sanitize_overflow: flag("sanitize_overflow", given.get("sanitize_overflow"))?.unwrap_or(true),
        // What nothing but a launch of the runtime can launch.
        guarded: target.host_code().is_none(),
        extra,
    };
    check_clusters(target, &options)?;
    Ok(options)
}

/// The precision of dots that give none on a target, where nothing is said for one kernel.
pub fn usual_dot_precision(facts: &TargetFacts, settings: &Settings) -> String {
    settings.code.fp32_default.as_ref().unwrap_or(&facts.default_dot_precision).clone()
}

/// The precision that a launch says for dots that give none, unless it is the usual one. Whether a target has it is
/// asked where there is such a dot.
fn dot_precision(target: &dyn Target, given: Option<&OptionValue>) -> Result<Option<String>, RuntimeError> {
    match given {
        None | Some(OptionValue::None) => Ok(None),
        Some(OptionValue::Str(name)) => {
            let usual = usual_dot_precision(&target.facts(), &Settings::current());
            Ok(Some(name.clone()).filter(|name| *name != usual))
        }
        Some(other) => Err(RuntimeError::Type(format!("{DOT_PRECISION} must be a text, and is {other:?}"))),
    }
}

/// Refuses more blocks than a cluster of the machine has.
fn check_clusters(target: &dyn Target, options: &CompileOptions) -> Result<(), RuntimeError> {
    if options.num_ctas == 1 {
        return Ok(());
    }
    match target.clusters(options)? {
        Some(clusters) if options.num_ctas > clusters.largest => {
            Err(RuntimeError::Value(format!("num_ctas is {}: {}", options.num_ctas, clusters.rule)))
        }
        _ => Ok(()),
    }
}

/// What the knobs that are set make of the options of every compile, as text: code that is compiled with them is other
/// code.
pub fn set_by_knobs(target: &dyn Target) -> Vec<(String, String)> {
    let mut set: Vec<(String, String)> =
        knobs::changing_code(target).into_iter().map(|(name, value)| (name, format!("{value:?}"))).collect();
    let mut add = |name: &str, value: String| set.push((name.to_owned(), value));
    if let Some(arch) = knobs::opt_text("runtime", "override_arch").filter(|arch| !arch.is_empty()) {
        add("arch", arch);
    }
    if knobs::debug() {
        add("debug", "true".to_owned());
    }
    for (name, usual) in [("default_fp_fusion", true), ("force_disable_fp_fusion", false)] {
        let flag = knobs::flag("language", name);
        if flag != usual {
            add(name, flag.to_string());
        }
    }
    set
}

/// The options of a target that are not those of every target.
fn further(own: &[OptionRow]) -> impl Iterator<Item = &OptionRow> {
    own.iter().filter(|row| COMMON.iter().all(|common| common.0 != row.name))
}

/// The number of a launch that does not say: a target may have another one for an option that every target takes.
fn default_of(own: &[OptionRow], name: &str) -> i64 {
    let own = own.iter().find(|row| row.name == name).map(|row| &row.default);
    match own.or_else(|| COMMON.iter().find(|row| row.0 == name).map(|row| &row.1)) {
        Some(OptionValue::Int(value)) => *value,
        _ => 0,
    }
}

fn positive(name: &str, value: Option<&OptionValue>, default: i64) -> Result<u32, RuntimeError> {
    let value = match value {
        None | Some(OptionValue::None) => default,
        Some(OptionValue::Int(value)) => *value,
        Some(OptionValue::Bool(value)) => i64::from(*value),
        Some(OptionValue::Str(text)) => {
            return Err(RuntimeError::Type(format!("{name} must be an integer, and is {text:?}")));
        }
    };
    // Zero stages are what some kernels write for "no pipelining".
    let least = i64::from(name != "num_stages");
    let bound = if value < least { format!("least {least}") } else { format!("most {}", u32::MAX) };
    u32::try_from(value)
        .ok()
        .filter(|_| value >= least)
        .ok_or_else(|| RuntimeError::Value(format!("{name} must be at {bound}, and is {value}")))
}

fn flag(name: &str, value: Option<&OptionValue>) -> Result<Option<bool>, RuntimeError> {
    match value {
        None | Some(OptionValue::None) => Ok(None),
        Some(OptionValue::Bool(value)) => Ok(Some(*value)),
        Some(OptionValue::Int(value)) => Ok(Some(*value != 0)),
        Some(OptionValue::Str(text)) => {
            Err(RuntimeError::Type(format!("{name} must be a bool, and is {text:?}")))
        }
    }
}

/// The knobs have the last word on fusion, then the launch, then the default.
fn fp_fusion(requested: Option<bool>) -> bool {
    let default = || knobs::flag("language", "default_fp_fusion");
    !knobs::flag("language", "force_disable_fp_fusion") && requested.unwrap_or_else(default)
}

#[cfg(test)]
mod tests {
    use super::{names, parse, without_effect};
    use crate::error::RuntimeError;
    use crate::testing::FakeTarget;
    use std::collections::BTreeMap;
    use target::{CompileOptions, OptionValue};

    fn with(name: &str, value: OptionValue) -> Result<CompileOptions, RuntimeError> {
        parse(&FakeTarget::default(), &BTreeMap::from([(name.to_owned(), value)]))
    }

    #[test]
    fn what_is_given_and_what_is_not() {
        let options = parse(&FakeTarget::default(), &BTreeMap::new()).expect("defaults are fine");
        assert_eq!(
            (options.num_warps, options.num_stages, options.num_ctas, options.debug),
            (4, 3, 1, false)
        );
        assert_eq!(options.extra, BTreeMap::from([("own".to_owned(), OptionValue::Int(7))]));
        let options = with("own", OptionValue::Bool(true)).expect("the target has it");
        assert_eq!(options.extra["own"], OptionValue::Bool(true));
        assert_eq!(with("num_stages", OptionValue::Int(0)).expect("no pipelining").num_stages, 0);
        assert!(!with("enable_fp_fusion", OptionValue::Bool(false)).expect("a flag").enable_fp_fusion);
        assert!(matches!(
            with("instrumentation_mode", OptionValue::Str("fpsan".to_owned())),
            Err(RuntimeError::Option(text)) if text.contains("TRITON_INTERPRET=1")
        ));
        assert!(with("instrumentation_mode", OptionValue::Str(String::new())).is_ok(), "none is asked for");
        assert!(with("waves_per_eu", OptionValue::Int(2)).is_ok(), "an option of other targets is taken");
        for name in ["cluster_dims", "num_consumer_groups", "maxnreg", "instruction_sched_variant"] {
            assert!(
                with(name, OptionValue::Int(1)).is_ok(),
                "{name} is an option of a release or of a target"
            );
        }
        assert!(names(&FakeTarget::default()).contains(&"own"));
    }

    #[test]
    fn what_the_target_does_not_read_is_known_with_its_value() {
        let given = BTreeMap::from([("waves_per_eu".to_owned(), OptionValue::Int(2))]);
        let unread: BTreeMap<_, _> = without_effect(&FakeTarget::default(), &given).collect();
        assert_eq!(unread["waves_per_eu"], &OptionValue::Int(2));
        assert_eq!(unread["kpack"], &OptionValue::Int(1));
        assert!(!unread.contains_key("own"));
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let text = |name, value| with(name, value).expect_err("it makes no sense").to_string();
        assert_eq!(text("what", OptionValue::None), "Keyword argument what was specified but unrecognised");
        assert_eq!(text("num_warps", OptionValue::Int(6)), "num_warps must be a power of 2, and is 6");
        assert_eq!(text("num_warps", OptionValue::Int(0)), "num_warps must be at least 1, and is 0");
        assert_eq!(text("num_stages", OptionValue::Int(-1)), "num_stages must be at least 0, and is -1");
        let large = text("num_warps", OptionValue::Int(1 << 40));
        assert_eq!(large, "num_warps must be at most 4294967295, and is 1099511627776");
        assert_eq!(
            text("num_ctas", OptionValue::Str("x".into())),
            "num_ctas must be an integer, and is \"x\""
        );
        assert_eq!(text("debug", OptionValue::Str("x".into())), "debug must be a bool, and is \"x\"");
    }
}
