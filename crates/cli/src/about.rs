//! `deuteron info` and `deuteron env`.

use crate::{Failure, output};
use runtime::knobs::{self, KnobValue};
use std::fmt::Write;
use target::knobs::{KnobKind, KnobStanding};

/// Says what this build is, what it found and what it runs on.
pub(crate) fn info() -> Result<(), Failure> {
    // Writing to a string does not fail.
    let mut text = String::new();
    let _ = writeln!(text, "deuteron {}, {}", runtime::version(), std::env::consts::ARCH);
    let active = runtime::active_target().map(|target| target.facts().backend);
    match &active {
        Ok(backend) => _ = writeln!(text, "kernels run on target {backend} unless a launch says otherwise"),
        Err(error) => _ = writeln!(text, "no target is in use: {error}"),
    }
    let dir = knobs::Settings::current().cache_dir;
    let dir = dir.map_or("none (DEUTERON_CACHE)".to_owned(), |dir| dir.display().to_string());
    let _ = writeln!(text, "cache: {dir}");
    for target in runtime::all_targets() {
        let facts = target.facts();
        let (backend, arch, lanes) = (&facts.backend, &facts.arch, facts.warp_size);
        let _ = writeln!(text, "\ntarget {backend} ({arch}, {lanes} lanes per warp)");
        for tool in target.tools() {
            let (first, rest) = match &tool.found {
                Ok(found) => (found.clone(), ""),
                Err(reason) => match reason.split_once('\n') {
                    Some((first, rest)) => (format!("not found: {first}"), rest),
                    None => (format!("not found: {reason}"), ""),
                },
            };
            let _ = writeln!(text, "  {:<12} {first}", tool.name);
            for line in rest.lines().filter(|line| !line.trim().is_empty()) {
                let _ = writeln!(text, "  {:<12}   {}", "", line.trim());
            }
        }
        let devices = target.devices();
        if devices.is_empty() {
            let _ =
                writeln!(text, "  {:<12} none in this machine; kernels can be compiled for it", "devices");
        }
        for device in devices {
            let properties = device.properties();
            let _ = writeln!(text, "  device {:<5} {}", device.ordinal(), properties.name);
            for (name, value) in &properties.numbers {
                let _ = writeln!(text, "    {name:<26} {value}");
            }
        }
        for line in target.machine().lines() {
            let _ = writeln!(text, "  | {line}");
        }
    }
    output::write(text.as_bytes())
}

/// Lists every setting: its value, where that comes from, what it does.
pub(crate) fn env() -> Result<(), Failure> {
    let mut text = String::new();
    let mut group = "";
    for row in knobs::rows().iter().filter(|row| row.kind != KnobKind::Object) {
        if group != row.group {
            let _ = writeln!(text, "{}[{}]", if group.is_empty() { "" } else { "\n" }, row.group);
            group = row.group;
        }
        let value = match knobs::get(row) {
            Ok(KnobValue::None) => "None".to_owned(),
            Ok(KnobValue::Bool(flag)) => flag.to_string(),
            Ok(KnobValue::Int(number)) => number.to_string(),
            Ok(KnobValue::Text(text)) => format!("{text:?}"),
            Err(error) => format!("unreadable: {error}"),
        };
        let from = match knobs::from_environment(row) {
            Some((variable, _)) => format!("from {variable}"),
            None if row.env.is_empty() => "default".to_owned(),
            None => format!("default; set {}", row.env.join(" or ")),
        };
        let _ = writeln!(text, "{} = {value}  ({from})\n    {}", row.name, row.doc);
        if let Some(reason) = row.standing.reason() {
            let what = match row.standing {
                KnobStanding::Refused(_) => "refused",
                _ => "not obeyed",
            };
            let _ = writeln!(text, "    {what}: {reason}");
        }
    }
    output::write(text.as_bytes())
}
