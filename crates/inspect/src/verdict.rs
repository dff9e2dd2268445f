//! The sentence that names the bottleneck, and what it rests on.

use crate::bounds::{ARITHMETIC, CACHE, Ground, INSTRUCTIONS, LATENCY, LINES, MEMORY, SHARED};
use crate::report::{AccessRow, BoundRow, DotRow, MoveRow, SharedRow};
use crate::text::{amount, bytes, percent};
use crate::traffic::{Stream, Traffic};
use crate::work::Kind;

/// Bytes that move for one byte that is wanted, from which on how lanes access memory is the cause.
const WASTE: f64 = 1.5;
/// Bytes that are asked for per different byte, from which on reading again is the cause.
const AGAIN: f64 = 1.25;
/// How near a second bound must be to be named.
const NEAR: f64 = 1.3;
/// How near two bounds must be to count as one: peaks are not known better.
const EVEN: f64 = 1.05;
/// The share of passes lost to conflicts of banks from which on they are the cause.
const LOST: f64 = 0.25;
/// How much of the device must have nothing to do at the end of a grid to be reported.
const IDLE: f64 = 0.1;

/// What the sentence is made from.
pub(crate) struct Facts<'a> {
    pub(crate) ground: &'a Ground<'a>,
    pub(crate) bounds: &'a [BoundRow],
    pub(crate) accesses: &'a [AccessRow],
    pub(crate) moves: &'a [MoveRow],
    pub(crate) dots: &'a [DotRow],
    pub(crate) shared: &'a [SharedRow],
    pub(crate) granule: &'static str,
}

/// The sentence and its evidence.
pub(crate) fn verdict(facts: &Facts<'_>) -> (String, Vec<String>) {
    let Some((first, second)) = leading(facts.bounds) else {
        return ("The kernel neither moves bytes nor computes anything that is counted.".into(), Vec::new());
    };
    let mut sentence = match first.what.as_str() {
        MEMORY | CACHE | LINES => facts.of_memory(first),
        SHARED => facts.of_shared(first),
        LATENCY => facts.of_latency(),
        INSTRUCTIONS => facts.of_instructions(),
        _ => facts.of_arithmetic(first),
    };
    if let Some(second) = second.filter(|second| second.seconds * NEAR > first.seconds) {
        let share = second.seconds / first.seconds;
        sentence.push_str(&if share >= 1.0 {
            format!(" As long takes: {}.", second.what)
        } else {
            format!(" Close behind: {} ({} of its time).", second.what, percent(share))
        });
    }
    (sentence, facts.evidence())
}

/// The bound to report and the one behind it. What feeds a computation that takes as long is reported second.
fn leading(bounds: &[BoundRow]) -> Option<(&BoundRow, Option<&BoundRow>)> {
    let (first, second) = (bounds.first()?, bounds.get(1));
    match second {
        Some(second)
            if first.what == SHARED
                && second.what.starts_with(ARITHMETIC)
                && first.seconds < second.seconds * EVEN =>
        {
            Some((second, Some(first)))
        }
        _ => Some((first, second)),
    }
}

fn line(stream: &Stream) -> String {
    stream.place.as_ref().map_or_else(|| "an unknown line".to_owned(), |place| format!("line {}", place.line))
}

/// `lines 18, 25 and 31`.
pub(crate) fn lines<'a>(streams: impl Iterator<Item = &'a Stream>) -> String {
    let mut all: Vec<u32> =
        streams.filter_map(|stream| stream.place.as_ref()).map(|place| place.line).collect();
    all.sort_unstable();
    all.dedup();
    let words: Vec<String> = all.iter().map(u32::to_string).collect();
    match words.as_slice() {
        [] => "unknown lines".into(),
        [one] => format!("line {one}"),
        [rest @ .., last] => format!("lines {} and {last}", rest.join(", ")),
    }
}

/// The stream that wastes most bytes, with how many bytes move for one that is wanted.
fn worst(traffic: &Traffic) -> Option<(&Stream, f64)> {
    let wasted = |stream: &&Stream| stream.moved() - stream.asked;
    let stream = traffic.streams.iter().max_by(|a, b| wasted(a).total_cmp(&wasted(b)))?;
    Some((stream, stream.moved() / stream.asked.max(1.0)))
}

impl Facts<'_> {
    fn of_memory(&self, bound: &BoundRow) -> String {
        let traffic = self.ground.traffic;
        let waste = traffic.moved() / traffic.asked().max(1.0);
        if bound.what != MEMORY
            && waste >= WASTE
            && let Some((stream, times)) = worst(traffic)
        {
            return self.uncoalesced(stream, times);
        }
        if (bound.what != MEMORY || self.again() >= AGAIN)
            && let Some(sentence) = self.read_again()
        {
            return sentence;
        }
        if let Some(sentence) = self.strided() {
            return sentence;
        }
        let device = &self.ground.peaks.device;
        if bound.what == CACHE {
            return format!(
                "Bound by the last cache: programs read {} each, much of it what others read too, and the cache of the {device} \
                 gives {}/s; larger blocks would read less.",
                bytes(traffic.moved()),
                bytes(bound.rate)
            );
        }
        format!(
            "Memory bound: {} for each program, each byte moved once, {}; the memory of the {device} gives {}/s. Only moving fewer \
             bytes (narrower types, fusing with neighbours) makes it faster.",
            bytes(self.ground.memory_bytes()),
            match self.intensity() {
                0.0 => "no arithmetic".to_owned(),
                _ => format!("{} operations a byte", self.intensity_text()),
            },
            bytes(bound.rate)
        )
    }

    fn uncoalesced(&self, stream: &Stream, times: f64) -> String {
        let what = match stream.touch.kind {
            Kind::Load => "load",
            Kind::Store => "store",
            Kind::Atomic => "atomic",
        };
        let sectors = stream.sectors.map_or_else(String::new, |sectors| {
            format!(
                ": each request of a warp touches {} sectors in {} lines of the cache where {} would hold its {} bytes",
                sectors.touched, sectors.lines, sectors.ideal, sectors.bytes
            )
        });
        format!(
            "Memory bound by an uncoalesced {what} at {}{sectors}, so {times:.0} times the bytes move. Let neighbouring lanes \
             access neighbouring addresses: exchange the roles of the dimensions, or work on a two-dimensional block, which can \
             be turned in shared memory.",
            line(stream)
        )
    }

    /// Bytes that come from memory for one that comes for the first time.
    fn again(&self) -> f64 {
        let first = self.ground.traffic.first_time(|stream| self.ground.overfetch(stream));
        self.ground.memory_bytes() / first.max(1.0)
    }

    /// Where whole lines come from memory for single elements.
    fn strided(&self) -> Option<String> {
        let over = |stream: &&Stream| (self.ground.overfetch(stream) - 1.0) * stream.asked;
        let stream = self.ground.traffic.streams.iter().max_by(|a, b| over(a).total_cmp(&over(b)))?;
        let times = self.ground.overfetch(stream);
        let apart = stream.apart()?;
        (times >= WASTE).then(|| {
            format!(
                "Memory bound by a strided {} at {}: neighbouring elements are {apart} bytes apart, so a line of {} bytes \
                 moves for each of them, {times:.0} times what is wanted, and the caches cannot keep the lines until their \
                 other elements are wanted. Let the innermost dimension be the contiguous one, or work on two-dimensional \
                 blocks.",
                stream.touch.kind.word(),
                line(stream),
                self.ground.peaks.line_bytes
            )
        })
    }

    /// Where the same data is read more than once in a program.
    fn read_again(&self) -> Option<String> {
        let traffic = self.ground.traffic;
        let again = traffic.asked() / traffic.unique().max(1.0);
        if again < AGAIN {
            return None;
        }
        let groups = traffic.same();
        let group = groups.iter().max_by(|a, b| {
            let extra = |group: &Vec<usize>| (group.len() - 1) as f64 * traffic.streams[group[0]].asked;
            extra(a).total_cmp(&extra(b))
        })?;
        let streams = || group.iter().map(|index| &traffic.streams[*index]);
        let name = traffic.streams[group[0]].array.clone().unwrap_or_else(|| "the same data".into());
        Some(format!(
            "Memory bound by {} passes over the same data: `{name}` is read at {}, so each program asks for {} where {} are \
             different ({again:.1} times). Keep it in registers between the passes (one block that holds it all), or merge \
             passes (an online algorithm).",
            group.len(),
            lines(streams()),
            bytes(traffic.asked()),
            bytes(traffic.unique()),
        ))
    }

    fn of_latency(&self) -> String {
        let ground = self.ground;
        let unit = ground.peaks.unit;
        format!(
            "Bound by the latency of loads: a program has {} in flight and each {unit} holds {:.0} programs, but to keep the \
             memory of the {} busy for {:.0} ns it takes {} for each {unit}. Load more before waiting: larger blocks, more warps, \
             unrolled or pipelined loops (num_stages).",
            bytes(ground.in_flight),
            ground.resident,
            ground.peaks.device,
            ground.peaks.latency_ns,
            bytes(
                ground.peaks.memory * ground.peaks.latency_ns * 1e-9 / f64::from(ground.peaks.units.max(1))
            )
        )
    }

    fn of_shared(&self, bound: &BoundRow) -> String {
        let sum = |amount: fn(&SharedRow) -> f64| self.shared.iter().map(amount).sum::<f64>();
        let (passes, lost) = (sum(|row| row.passes), sum(|row| row.lost));
        let worst = if lost >= LOST * passes {
            self.shared.iter().max_by(|a, b| a.lost.total_cmp(&b.lost))
        } else {
            self.shared.first()
        };
        let Some(worst) = worst else { return "Bound by shared memory.".to_owned() };
        let at = worst.place.as_ref().map_or_else(String::new, |place| format!(" at line {}", place.line));
        let own = |row: &&MoveRow| worst.is_move && row.place == worst.place;
        if let Some(row) = self.moves.iter().filter(own).max_by_key(|row| row.bytes) {
            return format!(
                "Bound by shared memory: a layout conversion{at} goes through it ({}).",
                row.cost
            );
        }
        let advice = if lost >= LOST * passes {
            format!(
                "{} of the passes over its banks are lost to conflicts, most of them{at}.",
                percent(lost / passes)
            )
        } else if self.dots.is_empty() {
            "Only moving fewer bytes through it makes it faster.".to_owned()
        } else {
            "Larger tiles use each byte more often, and fewer warps read the same operand less often."
                .to_owned()
        };
        format!(
            "Bound by shared memory: each program moves {} through it, and {} of the time that takes goes to {}{at}; that of the {} \
             gives {}/s. {advice}",
            bytes(sum(|row| row.bytes)),
            percent(worst.passes / passes.max(1.0)),
            worst.what,
            self.ground.peaks.device,
            bytes(bound.rate)
        )
    }

    fn of_instructions(&self) -> String {
        let worst = self.accesses.iter().max_by_key(|row| row.instructions);
        let place = worst.and_then(|row| row.place.as_ref());
        let at = place.map_or_else(String::new, |place| format!(" at line {}", place.line));
        let (kind, why) = worst.map_or(("access", String::new()), |row| {
            (row.kind.word(), row.why.clone().map(|why| format!(" ({why})")).unwrap_or_default())
        });
        format!(
            "Bound by the number of access instructions: the {kind}{at} goes element by element{why}, so vectors do not help it. \
             Let the innermost dimension of the block be the one whose elements are neighbours in memory."
        )
    }

    fn of_arithmetic(&self, bound: &BoundRow) -> String {
        let kind = bound.what.trim_start_matches(ARITHMETIC);
        let device = &self.ground.peaks.device;
        let intensity = self.intensity_text();
        let dot = self.dots.iter().find(|row| row.rate == kind);
        let Some(dot) = dot else {
            return format!(
                "Compute bound: {kind} arithmetic, {intensity} operations a byte; the {device} does {}/s of it.",
                amount(bound.rate, "op")
            );
        };
        let at = dot.place.as_ref().map_or_else(String::new, |place| format!(" at line {}", place.line));
        match (&dot.why_not, dot.matrix) {
            (Some(why), false) => format!(
                "Compute bound without matrix instructions: the dot{at} is done by single multiply-adds, because {why}; the \
                 {device} does {}/s of them.",
                amount(bound.rate, "op")
            ),
            (None, false) => format!(
                "Compute bound: the dot{at} ({}) does {intensity} operations a byte; the {device} does {}/s.",
                dot.shape,
                amount(bound.rate, "op")
            ),
            _ => format!(
                "Compute bound by the matrix units: the dot{at} ({}) runs as {} and does {intensity} operations a byte; the \
                 {device} does {}/s.",
                dot.shape,
                dot.instruction,
                amount(bound.rate, "op")
            ),
        }
    }

    fn intensity(&self) -> f64 {
        let operations = self.ground.operations.values().fold(0.0, |sum, amount| sum + amount);
        operations / self.ground.memory_bytes().max(1.0)
    }

    fn intensity_text(&self) -> String {
        let intensity = self.intensity();
        if intensity >= 10.0 { format!("{intensity:.0}") } else { format!("{intensity:.1}") }
    }

    /// Where SMs or cores have nothing to do because of the size of the grid.
    fn of_grid(&self) -> Option<String> {
        let ground = self.ground;
        let (waves, average) = ground.shares();
        let units = f64::from(ground.peaks.units);
        let grid = format!("the grid has {:.0} programs for {units} {}s", ground.programs, ground.peaks.unit);
        if !ground.has_grid || average < 1.0 {
            return Some(grid).filter(|_| ground.has_grid);
        }
        let last = ground.programs - (waves - 1.0) * units;
        (1.0 - ground.busy() >= IDLE).then(|| {
            format!(
                "{grid}: the last of {waves} waves has work for {} of them, so that {} of their time is used at most",
                percent(last / units),
                percent(ground.busy())
            )
        })
    }

    fn evidence(&self) -> Vec<String> {
        let (ground, traffic) = (self.ground, self.ground.traffic);
        let mut all = Vec::new();
        for group in traffic.same().iter().filter(|group| group.len() > 1) {
            let first = &traffic.streams[group[0]];
            let streams = group.iter().map(|index| &traffic.streams[*index]);
            let name = first.array.clone().unwrap_or_else(|| "data".into());
            let verb = if first.touch.kind == Kind::Store { "written" } else { "read" };
            let cached = if first.touch.kind == Kind::Load && self.again() < AGAIN {
                ", after the first time from the cache"
            } else {
                ""
            };
            all.push(format!(
                "the same {} of `{name}` are {verb} {} times: {}{cached}",
                bytes(first.asked),
                group.len(),
                lines(streams)
            ));
        }
        for stream in &traffic.streams {
            let Some(sectors) = stream.sectors.filter(|sectors| sectors.efficiency() < 0.75) else {
                continue;
            };
            all.push(format!(
                "{} at {}: {} {} a request where {} would do, {} of what moves is wanted",
                stream.touch.kind.word(),
                line(stream),
                sectors.touched,
                self.granule,
                sectors.ideal,
                percent(sectors.efficiency())
            ));
        }
        if ground.in_flight > 0.0 && ground.peaks.latency_ns > 0.0 {
            let unit = ground.peaks.unit;
            all.push(format!(
                "{} of loads in flight a program, {:.0} at a time on each {unit}; the memory is busy with {} for each",
                bytes(ground.in_flight),
                ground.resident,
                bytes(ground.peaks.memory * ground.peaks.latency_ns * 1e-9 / f64::from(ground.peaks.units.max(1)))
            ));
        }
        let ridge = ground.operations.iter().max_by(|a, b| a.1.total_cmp(b.1)).and_then(|(name, _)| {
            ground.peaks.rates.get(name).map(|rate| (name, rate / ground.peaks.memory.max(1.0)))
        });
        if let Some((name, ridge)) = ridge {
            all.push(format!(
                "{} operations a byte of memory; from {ridge:.0} on, {name} arithmetic bounds it rather than memory",
                self.intensity_text()
            ));
        }
        all.extend(self.of_grid());
        all
    }
}
