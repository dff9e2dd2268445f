//! How values are named: by the name in the source where there is one, else by kind or number.
//!
//! A name that is taken gets a suffix from a counter (`x`, `x_0`, `y_1`). All values of a region are named before those
//! of the regions nested in it, which go on from the counters where the outer region ended. Names of one nested
//! region are free again in the next.

use crate::entity::{Block, Op, Region, Value};
use crate::module::traits::Traits;
use crate::module::{Def, Module};
use crate::types::attr::Attr;
use rustc_hash::FxHashSet;
use std::fmt::Write;
use std::sync::Arc;

/// The name of one value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Label {
    /// Not named: it is not the first of its group, or stands nowhere.
    #[default]
    None,
    /// `%7`.
    Number(u32),
    /// `%name`.
    Name(Arc<str>),
}

#[derive(Clone, Copy, Default)]
struct Counters {
    value: u32,
    arg: u32,
    conflict: u32,
}

/// Asked for each value in the order of naming, with the name it would get by default; says which name to take instead.
pub(super) type Choose<'c> = &'c mut dyn FnMut(Value, Option<&str>, &Unique<'_>) -> Option<Arc<str>>;

/// Shows what a wish for a name would become.
pub(super) struct Unique<'u> {
    used: &'u FxHashSet<Arc<str>>,
    conflict: u32,
}

impl Unique<'_> {
    /// The shorter name from which a taken name would become this one.
    pub(super) fn base_of<'n>(&self, name: &'n str) -> Option<&'n str> {
        let (base, number) = name.rsplit_once('_')?;
        let numbered = !base.is_empty() && number.bytes().all(|c| c.is_ascii_digit());
        (numbered && self.used.contains(base) && self.preview(base) == name).then_some(base)
    }

    /// The name that would be given, were this one wished for.
    pub(super) fn preview(&self, wish: &str) -> String {
        if !self.used.contains(wish) {
            return wish.to_owned();
        }
        let mut next = self.conflict;
        loop {
            let name = format!("{wish}_{next}");
            if !self.used.contains(name.as_str()) {
                return name;
            }
            next += 1;
        }
    }
}

/// Names every value below the top operation. `choose` may be used to overrule the name of a value.
pub(super) fn name_values(module: &Module, choose: Option<Choose<'_>>) -> Vec<Label> {
    let mut namer = Namer {
        module,
        labels: vec![Label::None; module.num_values()],
        used: FxHashSet::default(),
        added: Vec::new(),
        counters: Counters::default(),
        buffer: String::new(),
        choose,
    };
    namer.name_op(module.top());
    for &region in module.regions(module.top()) {
        namer.name_region(region);
    }
    namer.labels
}

struct Namer<'m, 'c> {
    module: &'m Module,
    labels: Vec<Label>,
    used: FxHashSet<Arc<str>>,
    added: Vec<Arc<str>>,
    counters: Counters,
    buffer: String,
    choose: Option<Choose<'c>>,
}

impl Namer<'_, '_> {
    fn name_region(&mut self, region: Region) {
        let module = self.module;
        let mark = self.added.len();
        for (index, &block) in module.blocks(region).iter().enumerate() {
            self.name_args(block, index == 0);
            for op in module.ops(block) {
                self.name_op(op);
            }
        }
        let counters = self.counters;
        for &block in module.blocks(region) {
            for op in module.ops(block) {
                for &inner in module.regions(op) {
                    self.counters = counters;
                    self.name_region(inner);
                }
            }
        }
        self.counters = counters;
        for name in self.added.drain(mark..) {
            self.used.remove(&name);
        }
    }

    fn name_args(&mut self, block: Block, entry: bool) {
        let module = self.module;
        for (index, &arg) in module.args(block).iter().enumerate() {
            let mut buffer = std::mem::take(&mut self.buffer);
            buffer.clear();
            let from_loc = module.locs.name(module.arg_loc(block, index));
            if let Some(name) = from_loc.or(own_name(module, arg)) {
                push_clean(&mut buffer, name);
            } else if entry {
                let _ = write!(buffer, "arg{}", self.counters.arg);
            }
            if from_loc.is_none() {
                self.overrule(arg, &mut buffer);
            }
            if entry {
                self.counters.arg += 1;
            }
            self.give(arg, &buffer);
            self.buffer = buffer;
        }
    }

    fn name_op(&mut self, op: Op) {
        let module = self.module;
        let results = module.results(op);
        if results.is_empty() {
            return;
        }
        let from_loc = module.locs.name(module.loc(op));
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut start = 0;
        for group in result_groups(module, op) {
            let Some(&value) = results.get(start) else { break };
            buffer.clear();
            match from_loc.or(own_name(module, value)) {
                Some(name) => push_clean(&mut buffer, name),
                None => default_name(module, op, group.index, &mut buffer),
            }
            if from_loc.is_none() {
                self.overrule(value, &mut buffer);
            }
            self.give(value, &buffer);
            start += group.size;
        }
        self.buffer = buffer;
    }

    /// Lets the caller take another name, unless the location gives one.
    fn overrule(&mut self, value: Value, wish: &mut String) {
        let unique = Unique { used: &self.used, conflict: self.counters.conflict };
        if let Some(choose) = &mut self.choose
            && let Some(name) = choose(value, (!wish.is_empty()).then_some(wish.as_str()), &unique)
        {
            wish.clear();
            push_clean(wish, &name);
        }
        // `x_3` where a second `x` would become just that: both count alike, or the text could not tell them apart.
        if let Some(base) = unique.base_of(wish) {
            wish.truncate(base.len());
        }
    }

    fn give(&mut self, value: Value, wish: &str) {
        let index = value.as_u32() as usize;
        if wish.is_empty() {
            self.labels[index] = Label::Number(self.counters.value);
            self.counters.value += 1;
            return;
        }
        let name: Arc<str> = if self.used.contains(wish) { self.with_suffix(wish) } else { Arc::from(wish) };
        self.used.insert(name.clone());
        self.added.push(name.clone());
        self.labels[index] = Label::Name(name);
    }

    fn with_suffix(&mut self, wish: &str) -> Arc<str> {
        loop {
            let name = format!("{wish}_{}", self.counters.conflict);
            self.counters.conflict += 1;
            if !self.used.contains(name.as_str()) {
                return Arc::from(name);
            }
        }
    }
}

/// Results that share a name: the declared result they belong to, and how many.
pub(super) struct ResultGroup {
    /// Number of the declared result.
    pub(super) index: usize,
    /// How many values.
    pub(super) size: usize,
}

/// The groups of results that share a name: one for each declared result that is not empty.
pub(super) fn result_groups(module: &Module, op: Op) -> impl Iterator<Item = ResultGroup> {
    let count = module.results(op).len();
    let row = module.row(op);
    let mut sizes: smallvec::SmallVec<[usize; 4]> = smallvec::SmallVec::new();
    match row.result_groups(count) {
        Some(groups) if row.results.len() > 1 => sizes = groups,
        _ => sizes.push(count),
    }
    sizes
        .into_iter()
        .enumerate()
        .filter(|(_, size)| *size > 0)
        .map(|(index, size)| ResultGroup { index, size })
}

/// The group a result belongs to, as the first value of the group and the position in it, if the group is larger than
/// one.
pub(super) fn place_in_group(module: &Module, value: Value) -> Option<(Value, usize)> {
    let Def::Result(op, index) = module.def(value) else { return None };
    let results = module.results(op);
    if results.len() == 1 {
        return None;
    }
    let mut start = 0;
    for group in result_groups(module, op) {
        if (index as usize) < start + group.size {
            return (group.size > 1).then(|| (results[start], index as usize - start));
        }
        start += group.size;
    }
    None
}

/// `c1_i32`, `true`, `cst` for constants; the declared names where a row declares several results; else nothing.
fn default_name(module: &Module, op: Op, group: usize, out: &mut String) {
    let row = module.row(op);
    if row.traits.has(Traits::CONSTANT) {
        constant_name(module.constant_value(op), out);
    } else if row.results.len() > 1 {
        out.push_str(row.results[group].name);
    }
}

fn constant_name(attr: Option<&Attr>, out: &mut String) {
    match attr {
        Some(Attr::Bool(value)) => out.push_str(if *value { "true" } else { "false" }),
        Some(Attr::Int { value, ty }) => match ty.as_int() {
            Some(1) => out.push_str(if *value == 0 { "false" } else { "true" }),
            Some(bits) => _ = write!(out, "c{value}_i{bits}"),
            None => _ = write!(out, "c{value}"),
        },
        _ => out.push_str("cst"),
    }
}

fn own_name(module: &Module, value: Value) -> Option<&str> {
    module.name(value).filter(|name| !name.is_empty())
}

/// Appends a name, with what may not stand in names written as its bytes.
fn push_clean(out: &mut String, name: &str) {
    let valid = |c: u8| c.is_ascii_alphanumeric() || b"$._-".contains(&c);
    // A name that begins with a digit, or comes to, would be taken for a number.
    if name.as_bytes().first().is_some_and(|&c| c.is_ascii_digit() || !valid(c)) {
        out.push('_');
    }
    if name.bytes().all(valid) {
        return out.push_str(name);
    }
    for c in name.bytes() {
        match c {
            c if valid(c) => out.push(c as char),
            b' ' => out.push('_'),
            c => _ = write!(out, "{c:X}"),
        }
    }
}
