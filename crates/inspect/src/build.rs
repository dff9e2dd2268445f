//! A report from the stages of a kernel.

use crate::bounds::{self, in_flight, operations};
use crate::loops::{self, Amount, Loop};
use crate::numbers::Numbers;
use crate::place::Places;
use crate::report::{AccessRow, DotRow, Report, SharedRow, WorkRow};
use crate::rows::{self, Ground};
use crate::setting::{count_loops, setting};
use crate::traffic::{Traffic, traffic};
use crate::verdict::{Facts, verdict};
use crate::work::{self, Work};
use crate::{shared, stages, text};
use ir::text::ParseOptions;
use ir::{Module, Op, Registry};
use std::collections::BTreeMap;
use target::survey::{Peaks, Resources, Survey};
use target::{Artifact, CompileOptions, Stage, Target};
use ttir::ops::func::{FuncOp, kernel_of};

/// What is asked.
pub struct Request<'a> {
    /// What the kernel is compiled for.
    pub target: &'a dyn Target,
    /// The options of the compile.
    pub options: &'a CompileOptions,
    /// The kernel as block-level code, if it is at hand: what it does is counted there.
    pub ttir: Option<&'a str>,
    /// The kernel at the stage that the target is asked about ([`Target::surveyed_stage`]).
    pub surveyed: &'a str,
    /// The compiled kernel, if there is one.
    pub artifact: Option<&'a Artifact>,
    /// The stages to show.
    pub texts: Texts,
    /// Values of parameters.
    pub args: BTreeMap<String, i64>,
    /// The grid.
    pub grid: Option<[u32; 3]>,
    /// The device whose limits count, by a part of its name; the likeliest if none is named.
    pub device: Option<String>,
    /// Reads a source file.
    pub read: &'a dyn Fn(&str) -> Option<String>,
}

/// The texts of stages.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    /// Those that there are, in order: name and text.
    pub stages: Vec<(String, String)>,
    /// Those that cannot be made, and why.
    pub missing: Vec<(String, String)>,
}

impl Texts {
    /// Asks for stages by their names; those that are no text are left out.
    pub fn of<'n, E: std::fmt::Display>(
        names: impl IntoIterator<Item = &'n str>,
        stage: impl Fn(&str) -> Result<Stage, E>,
    ) -> Texts {
        let mut texts = Texts::default();
        for name in names {
            match stage(name) {
                Ok(stage) if stage.text => {
                    let text = String::from_utf8_lossy(&stage.bytes).into_owned();
                    texts.stages.push((name.to_owned(), text));
                }
                Ok(_) => {}
                Err(error) => texts.missing.push((name.to_owned(), error.to_string())),
            }
        }
        texts
    }
}

/// What is not shown: stages, and the source where it cannot be read.
fn missing(stages: &[(String, String)], file: Option<&str>, is_read: bool) -> Vec<(String, String)> {
    let unread = match (file, is_read) {
        (Some(file), false) => Some(("source".to_owned(), format!("{file} cannot be read"))),
        (None, _) => Some(("source".to_owned(), "the code does not say where it is from".to_owned())),
        _ => None,
    };
    unread.into_iter().chain(stages.iter().cloned()).collect()
}

/// A module and its kernel.
struct Code {
    module: Module,
    kernel: Op,
}

fn parse(text: &str, what: &str, registry: &'static Registry) -> Result<Module, String> {
    ir::text::parse(text, registry, ParseOptions { file: Some(what) })
        .map_err(|error| error.in_file(what).to_string())
}

fn kernel(module: &Module) -> Result<Op, String> {
    kernel_of(module).map(|kernel| kernel.op)
}

fn choose(peaks: Vec<Peaks>, device: Option<&str>) -> Result<Peaks, String> {
    let names: Vec<String> = peaks.iter().map(|peaks| peaks.device.clone()).collect();
    let wanted = device.map(str::to_lowercase);
    let fits = |peaks: &Peaks| wanted.as_ref().is_none_or(|name| peaks.device.to_lowercase().contains(name));
    match (peaks.into_iter().find(fits), device) {
        (Some(peaks), _) => Ok(peaks),
        (None, Some(name)) => {
            Err(format!("no device `{name}` is known for this target; there are: {}", names.join(", ")))
        }
        (None, None) => Ok(Peaks {
            device: "device of which nothing is known".into(),
            unit: "SM",
            sector_bytes: 32,
            line_bytes: 128,
            ..Peaks::default()
        }),
    }
}

/// Everything about a kernel.
///
/// # Errors
/// What is wrong with the texts, the arguments, or what the target does not tell.
pub fn inspect(request: &Request<'_>) -> Result<Report, String> {
    let target = request.target;
    let registry = target.surveyed_registry().unwrap_or_else(ttir::registry);
    let module = parse(request.surveyed, target.surveyed_stage(), registry)?;
    ir::verify(&module)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))?;
    let survey = target.survey(module, request.options).map_err(|error| error.to_string())?;
    let surveyed_kernel = kernel(&survey.module)?;
    let counted = match request.ttir {
        Some(text) => {
            let module = parse(text, "ttir", ttir::registry())?;
            Some(Code { kernel: kernel(&module)?, module })
        }
        None => None,
    };
    let (module, own) =
        counted.as_ref().map_or((&survey.module, surveyed_kernel), |code| (&code.module, code.kernel));
    let peaks = choose(target.peaks(), request.device.as_deref())?;
    let resources = request.artifact.and_then(|artifact| target.resources(artifact, request.options));
    let report =
        Builder { request, survey: &survey, surveyed_kernel, peaks, resources }.build(module, own)?;
    Ok(report)
}

struct Builder<'a> {
    request: &'a Request<'a>,
    survey: &'a Survey,
    surveyed_kernel: Op,
    peaks: Peaks,
    resources: Option<Resources>,
}

/// What one program does and how it is done.
struct Counted {
    loops: Vec<Loop>,
    work: Work,
    traffic: Traffic,
    operations: BTreeMap<String, f64>,
}

impl Builder<'_> {
    fn build(&self, module: &Module, own: Op) -> Result<Report, String> {
        let (request, survey) = (self.request, self.survey);
        let places = Places::new(&survey.module, self.surveyed_kernel);
        let (surveyed_setting, _) =
            setting(&survey.module, self.surveyed_kernel, &request.args, request.grid)?;
        let numbers = Numbers::new(&survey.module, surveyed_setting.clone());
        let ground = Ground {
            survey,
            kernel: self.surveyed_kernel,
            places: &places,
            numbers: &numbers,
            granules: (self.peaks.sector_bytes.max(1), self.peaks.line_bytes.max(1)),
        };
        let (accesses, moves, dots) = (ground.accesses(), ground.moves(), ground.dots());
        let (own_setting, assumptions) = setting(module, own, &request.args, request.grid)?;
        let own_places = Places::new(module, own);
        let mut loops = loops::find(module, own, &own_places);
        count_loops(module, &mut loops, &own_setting);
        let work = work::count(module, own, &loops);
        let traffic = traffic(module, own, (&work, &loops), &own_setting, &accesses, request.grid.is_some());
        let rate_of = |op: Op| self.rate(own_places.of(op).map(|place| place.line), &dots);
        let operations = operations(&work, &loops, rate_of, &self.peaks);
        let counted = Counted { loops, work, traffic, operations };
        let shared = self.shared_rows(&surveyed_setting, &places);
        let bounds_ground = self.ground(&counted, &accesses, &shared);
        let bounds = bounds_ground.bounds();
        let has_lanes = request.target.facts().warp_size > 1;
        let granule = if has_lanes { "sectors" } else { "lines" };
        let facts = Facts {
            ground: &bounds_ground,
            bounds: &bounds,
            accesses: &accesses,
            moves: &moves,
            dots: &dots,
            shared: &shared,
            granule,
        };
        let (sentence, mut evidence) = verdict(&facts);
        evidence.extend(ttgir::load_notes(&survey.module, self.surveyed_kernel));
        let work = self.work_rows(&counted);
        let facts = request.target.facts();
        let source = places.file().and_then(request.read);
        Ok(Report {
            kernel: name(module, own),
            target: format!("{} {}", facts.backend, facts.arch),
            device: self.peaks.device.clone(),
            device_source: self.peaks.source.clone(),
            unit: self.peaks.unit,
            verdict: sentence,
            evidence,
            assumptions,
            grid: request.grid,
            work,
            bounds,
            buffers: ground.buffers(),
            events: ground.events(),
            shared_bytes: survey.shared_bytes,
            granule,
            shared_name: if has_lanes { "shared memory" } else { "scratch memory" },
            resources: self.resource_rows(),
            stages: stages::stages(&request.texts.stages, places.file(), source.as_deref()),
            missing: missing(&request.texts.missing, places.file(), source.is_some()),
            loops: counted.loops,
            accesses,
            moves,
            dots,
            shared,
        })
    }

    /// The rate of the dot at a line.
    fn rate(&self, line: Option<u32>, dots: &[DotRow]) -> String {
        let here = dots.iter().find(|row| row.place.as_ref().map(|place| place.line) == line);
        here.or(dots.first()).map_or_else(|| "f32".to_owned(), |row| row.rate.clone())
    }

    /// What goes through shared memory, with how often the loops around run.
    fn shared_rows(&self, setting: &crate::numbers::Setting, places: &Places<'_>) -> Vec<SharedRow> {
        let module = &self.survey.module;
        let mut loops = loops::find(module, self.surveyed_kernel, places);
        count_loops(module, &mut loops, setting);
        let trips = |op: Op| {
            let around = loops.iter().filter(|one| module.is_inside(op, one.op));
            around.map(|one| one.count.unwrap_or(1.0)).product::<f64>()
        };
        shared::rows(self.survey, places, trips)
    }

    fn resident(&self) -> f64 {
        let limits = self.resources.iter().flat_map(|resources| &resources.limits);
        limits.map(|limit| f64::from(limit.programs)).reduce(f64::min).unwrap_or(1.0).max(1.0)
    }

    fn ground<'b>(
        &'b self,
        counted: &'b Counted,
        accesses: &[AccessRow],
        shared: &[SharedRow],
    ) -> bounds::Ground<'b> {
        let trips = |row: &AccessRow| {
            let line = row.place.as_ref().map(|place| place.line);
            let nests = counted.work.accesses.iter().zip(&counted.traffic.streams);
            let own = nests.filter(|(_, stream)| stream.place.as_ref().map(|place| place.line) == line);
            own.map(|((.., nest), _)| {
                nest.iter().map(|index| counted.loops[*index].count.unwrap_or(1.0)).product::<f64>()
            })
            .fold(1.0, f64::max)
        };
        let grid = self.request.grid;
        bounds::Ground {
            peaks: &self.peaks,
            traffic: &counted.traffic,
            operations: &counted.operations,
            shared_bytes: shared.iter().map(|row| row.passes).sum::<f64>() * self.survey.pass_bytes as f64,
            instructions: rows::instructions(accesses, trips),
            programs: grid.map_or(1.0, |grid| grid.iter().map(|size| f64::from(*size)).product()),
            has_grid: grid.is_some(),
            resident: self.resident(),
            in_flight: in_flight(&self.survey.module, self.surveyed_kernel),
        }
    }

    fn work_rows(&self, counted: &Counted) -> Vec<WorkRow> {
        let loops = &counted.loops;
        let mut rows = Vec::new();
        let mut add = |what: String, amount: Amount, unit| {
            if !amount.is_empty() {
                rows.push(WorkRow { what, value: amount.value(loops), amount, unit });
            }
        };
        for kind in [work::Kind::Load, work::Kind::Store, work::Kind::Atomic] {
            let mut amount = Amount::default();
            for (_, touch, nest) in counted.work.accesses.iter().filter(|(_, touch, _)| touch.kind == kind) {
                amount.add(nest, touch.bytes() as f64);
            }
            add(format!("{}s", kind.word()), amount, "B");
        }
        let mut dots = Amount::default();
        counted.work.dots.iter().for_each(|(_, amount)| dots.add_all(amount, 1.0));
        add("dots".into(), dots, "op");
        for (rate, amount) in &counted.work.arithmetic {
            let what = if rate == "special" {
                "elementary functions".to_owned()
            } else {
                format!("{rate} arithmetic")
            };
            add(what, amount.clone(), "op");
        }
        rows
    }

    fn resource_rows(&self) -> Vec<(String, String)> {
        let Some(resources) = &self.resources else { return Vec::new() };
        let known = |value: &Result<u32, String>, unit: &str| match value {
            Ok(value) => format!("{value}{unit}"),
            Err(reason) => format!("not known: {reason}"),
        };
        let mut rows = vec![
            ("registers of a lane".to_owned(), known(&resources.registers, "")),
            ("stack of a lane, spills among it".to_owned(), known(&resources.spill_bytes, " B")),
        ];
        if let Some(least) = resources.limits.iter().min_by_key(|limit| limit.programs) {
            let warps = (least.programs * self.survey.warps).min(resources.resident_warps);
            let share = f64::from(warps) / f64::from(resources.resident_warps.max(1));
            rows.push((
                format!("programs of one {}", self.peaks.unit),
                format!(
                    "{} (limited by {}), {warps} of {} warps: {}",
                    least.programs,
                    least.what,
                    resources.resident_warps,
                    text::percent(share)
                ),
            ));
        }
        for limit in &resources.limits {
            rows.push((format!("  by {}", limit.what), format!("{}: {}", limit.programs, limit.because)));
        }
        rows.extend(resources.code.iter().cloned());
        rows
    }
}

fn name(module: &Module, kernel: Op) -> String {
    FuncOp::new(module, kernel).name().to_owned()
}
