//! Bytes that a kernel moves: what it asks for, what moves because of how it asks, and what it reads more than once.

use crate::loops::Loop;
use crate::numbers::{Index, Numbers, Setting};
use crate::place::{Place, Places};
use crate::report::{AccessRow, Sectors};
use crate::setting::program;
use crate::work::{Kind, Touch, Work};
use ir::{Module, Op, Value};
use rustc_hash::{FxHashMap, FxHashSet};
use ttgir::ops::access::addresses;
use ttir::ops::func::FuncOp;
use ttir::types::shape;

/// Programs of a grid that are looked at for what they share; of more, only so many.
const LOOKED_AT: i64 = 8192;

/// What one access of the source moves.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    pub(crate) place: Option<Place>,
    pub(crate) touch: Touch,
    /// The parameter whose memory it is.
    pub(crate) array: Option<String>,
    /// Bytes that one program asks for.
    pub(crate) asked: f64,
    /// Sectors of a request of the compiled code.
    pub(crate) sectors: Option<Sectors>,
    /// The first and the last address; streams of one array that agree in both are the same data.
    ends: Option<(u64, u64)>,
    /// How far neighbours along the innermost dimension are apart, and how many there are.
    run: Option<(i64, i64)>,
    /// How many programs of those looked at have these bytes to themselves: distinct first addresses over programs.
    pub(crate) distinct: Option<f64>,
}

impl Stream {
    /// Bytes that move between the caches and an SM or a core.
    pub(crate) fn moved(&self) -> f64 {
        self.asked / self.sectors.map_or(1.0, |sectors| sectors.efficiency())
    }
}

impl Stream {
    /// Lines of the cache that are looked up for it.
    pub(crate) fn lines(&self) -> f64 {
        self.sectors.map_or(0.0, |sectors| self.asked / sectors.bytes.max(1) as f64 * sectors.lines as f64)
    }
}

impl Stream {
    /// How far neighbours are apart.
    pub(crate) fn apart(&self) -> Option<i64> {
        self.run.map(|run| run.0)
    }

    /// Bytes that come from memory for one that is wanted: whole lines, where a cache of so many bytes next to the
    /// core cannot keep them until their other elements are wanted. Lines at a distance that is a multiple of a
    /// large power of two meet in few sets of the cache.
    pub(crate) fn overfetch(&self, near_cache_bytes: u64, line_bytes: u64) -> f64 {
        let (Some((step, count)), Some(sectors)) = (self.run, self.sectors) else { return 1.0 };
        let apart = step.unsigned_abs().max(1);
        let together = 1 << apart.trailing_zeros();
        let kept = near_cache_bytes / line_bytes.max(together).max(1);
        let fits = near_cache_bytes == 0 || apart < line_bytes || count as u64 <= kept;
        if fits { 1.0 } else { (1.0 / sectors.efficiency()).max(line_bytes as f64 / sectors_bytes(self)) }
    }
}

/// Bytes of an element.
fn sectors_bytes(stream: &Stream) -> f64 {
    ttir::types::elem_bytes(stream.touch.elem).max(1) as f64
}

/// All streams of a kernel.
#[derive(Debug, Default)]
pub(crate) struct Traffic {
    pub(crate) streams: Vec<Stream>,
}

impl Traffic {
    /// Those of one kind of access and of each array that read the same data: their indices.
    pub(crate) fn same(&self) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for (index, stream) in self.streams.iter().enumerate() {
            let like = |group: &&mut Vec<usize>| {
                let first = &self.streams[group[0]];
                stream.ends.is_some()
                    && first.ends == stream.ends
                    && first.touch.kind == stream.touch.kind
                    && first.asked == stream.asked
            };
            match groups.iter_mut().find(like) {
                Some(group) => group.push(index),
                None => groups.push(vec![index]),
            }
        }
        groups
    }

    fn sum(&self, amount: impl Fn(&Stream) -> f64) -> f64 {
        self.streams.iter().map(amount).sum()
    }

    /// Bytes that one program asks for.
    pub(crate) fn asked(&self) -> f64 {
        self.sum(|stream| stream.asked)
    }

    /// Bytes that one program loads.
    pub(crate) fn loaded(&self) -> f64 {
        self.sum(|stream| if stream.touch.kind == Kind::Store { 0.0 } else { stream.asked })
    }

    /// Bytes that move for one program.
    pub(crate) fn moved(&self) -> f64 {
        self.sum(Stream::moved)
    }

    /// Lines of the cache that are looked up for one program.
    pub(crate) fn lines(&self) -> f64 {
        self.sum(Stream::lines)
    }

    /// Different bytes that one program touches.
    pub(crate) fn unique(&self) -> f64 {
        self.same().iter().map(|group| self.streams[group[0]].asked).sum()
    }

    /// Different bytes that all programs touch, on average for one.
    ///
    /// Each is weighed by what comes from memory for one of its bytes.
    pub(crate) fn first_time(&self, overfetch: impl Fn(&Stream) -> f64) -> f64 {
        let groups = self.same();
        let parts = groups.iter().map(|group| {
            let stream = &self.streams[group[0]];
            stream.asked * stream.distinct.unwrap_or(1.0) * overfetch(stream)
        });
        parts.sum()
    }
}

/// The parameter that an address comes from.
fn array(module: &Module, kernel: Op, pointer: Value, numbers: &Numbers<'_>) -> Option<String> {
    let index: Index = shape(module.ty(pointer)).iter().map(|_| 0).collect();
    let address = numbers.bits(pointer, &index)?;
    let params = FuncOp::new(module, kernel).params();
    let is_before = |arg: &&Value| {
        ttir::types::pointee(module.ty(**arg)).is_some()
            && numbers.bits(**arg, &Index::new()).is_some_and(|start| start <= address)
    };
    // Arrays are far apart, so that the nearest below is the one.
    let arg = params.iter().filter(is_before).max_by_key(|arg| numbers.bits(**arg, &Index::new()))?;
    crate::formula::name(module, *arg)
}

/// The streams of what was counted.
pub(crate) fn traffic(
    module: &Module,
    kernel: Op,
    (work, loops): (&Work, &[Loop]),
    setting: &Setting,
    rows: &[AccessRow],
    has_grid: bool,
) -> Traffic {
    let places = Places::new(module, kernel);
    let numbers = Numbers::new(module, setting.clone());
    let by_place = sectors_by_place(rows);
    let streams = work.accesses.iter().map(|(op, touch, nest)| {
        let trips: f64 = nest.iter().map(|index| loops[*index].count.unwrap_or(1.0)).product();
        let place = places.of(*op);
        let pointer = addresses(module, *op);
        let line = place.as_ref().map(|place| place.line);
        Stream {
            touch: *touch,
            array: pointer.and_then(|pointer| array(module, kernel, pointer, &numbers)),
            asked: touch.bytes() as f64 * trips,
            sectors: by_place.get(&(line, touch.kind)).copied(),
            run: pointer.and_then(|pointer| run(module, pointer, &numbers)),
            ends: pointer.and_then(|pointer| ends(module, pointer, (nest, loops), setting)),
            distinct: pointer.filter(|_| has_grid).and_then(|pointer| distinct(module, pointer, setting)),
            place,
        }
    });
    Traffic { streams: streams.collect() }
}

/// How far neighbours along the innermost dimension are apart, and how many there are.
fn run(module: &Module, pointer: Value, numbers: &Numbers<'_>) -> Option<(i64, i64)> {
    let dims = shape(module.ty(pointer));
    let dim = dims.iter().rposition(|size| *size > 1)?;
    let first: Index = dims.iter().map(|_| 0).collect();
    let mut second = first.clone();
    second[dim] = 1;
    let step = numbers.bits(pointer, &second)?.wrapping_sub(numbers.bits(pointer, &first)?) as i64;
    Some((step, dims[dim]))
}

/// The worst sectors of each line and kind.
fn sectors_by_place(rows: &[AccessRow]) -> FxHashMap<(Option<u32>, Kind), Sectors> {
    let mut found: FxHashMap<(Option<u32>, Kind), Sectors> = FxHashMap::default();
    for row in rows {
        let Some(sectors) = row.sectors else { continue };
        let key = (row.place.as_ref().map(|place| place.line), row.kind);
        let known = found.entry(key).or_insert(sectors);
        if sectors.efficiency() < known.efficiency() {
            *known = sectors;
        }
    }
    found
}

/// The first address that an access touches in its first and in its last iteration.
fn ends(
    module: &Module,
    pointer: Value,
    (nest, loops): (&[usize], &[Loop]),
    setting: &Setting,
) -> Option<(u64, u64)> {
    let start: Index = shape(module.ty(pointer)).iter().map(|_| 0).collect();
    let end: Index = shape(module.ty(pointer)).iter().map(|size| size - 1).collect();
    let first = Numbers::new(module, setting.clone()).bits(pointer, &start)?;
    let mut last = setting.clone();
    for index in nest {
        let iterations = Numbers::new(module, setting.clone()).trips(loops[*index].op)?;
        last.iterations.insert(loops[*index].op, (iterations - 1).max(0));
    }
    Some((first, Numbers::new(module, last).bits(pointer, &end)?))
}

/// Of the programs of the grid, the share that begins at addresses of its own.
fn distinct(module: &Module, pointer: Value, setting: &Setting) -> Option<f64> {
    let start: Index = shape(module.ty(pointer)).iter().map(|_| 0).collect();
    let total = setting.grid.iter().product::<i64>().max(1);
    let count = total.min(LOOKED_AT);
    let mut seen = FxHashSet::default();
    for number in 0..count {
        let setting = Setting { program: program(setting.grid, number), ..setting.clone() };
        seen.insert(Numbers::new(module, setting).bits(pointer, &start)?);
    }
    Some(seen.len() as f64 / count as f64)
}
