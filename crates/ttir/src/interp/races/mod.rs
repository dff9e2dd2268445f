//! Races between programs: two of one launch touch the same bytes, at least one of them writes, not both do it
//! atomically, and no atomics order the two.
//!
//! - Programs run one after another, and what comes first by that order alone is not ordered. What is: the accesses of
//!   a program before an atomic that releases, and those of another one after an atomic that acquires and finds, at
//!   the same address, what the first one left there (or what other atomics made of it).
//! - An atomic of the scope `cta` is none among programs. A volatile load is an atomic one that orders nothing.
//! - An atomic that leaves memory as it is counts as an atomic read.
//! - Two plain writes of the same value are no race: no order can be seen. A read and a write are one whatever the
//!   value, and so are an atomic and a plain write.
//! - What is found depends on the order in which this run happened to take locks: two accesses that are ordered by
//!   luck alone are not found.
//!
//! Each pair of places in the code is one finding, with the first elements that clashed, and how many did. What is
//! remembered grows with the memory that is touched, by twice its size where elements have four bytes, and with the
//! number of programs and atomics.

mod clock;
mod history;
mod report;
mod shadow;
#[cfg(test)]
mod tests;

pub(crate) use report::{Race, Touch};

use super::data::Data;
use super::memory::Memory;
use clock::Clock;
use history::{Event, Histories, Set};
use rustc_hash::FxHashMap;
use shadow::{Cell, Shadow};

/// How memory is touched.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Doing {
    Read,
    Write,
    AtomicRead,
    /// Atomic writes, and reads and writes at once.
    AtomicWrite,
}

impl Doing {
    fn writes(self) -> bool {
        matches!(self, Doing::Write | Doing::AtomicWrite)
    }

    fn is_atomic(self) -> bool {
        matches!(self, Doing::AtomicRead | Doing::AtomicWrite)
    }
}

/// Where in the code memory is touched, and how.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Site {
    /// What whoever runs the code calls the place; an operation of the module where nobody does.
    pub(crate) place: u32,
    pub(crate) doing: Doing,
    /// The type of an element, and the shape of the block.
    pub(crate) ty: ir::Type,
    pub(crate) shape: &'static [i64],
}

/// Elements of an access that lie one behind another.
#[derive(Clone, Copy)]
pub(crate) struct Run {
    /// The position in the block of the first one, and how far apart positions are.
    pub(crate) position: usize,
    pub(crate) step: usize,
    pub(crate) address: u64,
    pub(crate) count: u64,
}

/// One element of an access.
#[derive(Clone, Copy)]
struct Spot {
    position: usize,
    address: u64,
}

/// An access whose elements are being noted.
struct Toucher<'a> {
    site: Site,
    event: Event,
    size: u64,
    memory: &'a Memory,
    written: Option<&'a Data>,
    /// What became of the last piece.
    last: Option<Change>,
}

impl Toucher<'_> {
    /// Whether memory already has what is written to an element.
    fn writes_the_same(&self, spot: Spot) -> bool {
        self.written.is_some_and(|written| {
            let bits = ir::scalar::truncate(8 * self.size as u32, written.at(spot.position));
            self.memory.read(spot.address, self.size) == Ok(bits)
        })
    }
}

/// What is known of an access.
#[derive(Clone, Copy, Debug)]
struct Access {
    program: u32,
    time: u32,
    site: u32,
    doing: Doing,
}

/// Whom an access clashes with.
#[derive(Clone, Copy, Default)]
struct Clash {
    /// Somebody who writes.
    writer: Option<Event>,
    /// Somebody who reads, if the access writes.
    reader: Option<Event>,
}

impl Clash {
    fn is_none(self) -> bool {
        self.writer.is_none() && self.reader.is_none()
    }
}

/// What becomes of a piece when it is touched, and whom that clashes with.
#[derive(Clone, Copy)]
struct Change {
    before: Cell,
    after: Cell,
    clash: Clash,
}

/// The accesses of a launch.
pub(crate) struct Races {
    grid: [u32; 3],
    /// The program that runs, its time, and what it has seen of the others.
    program: u32,
    time: u32,
    seen: Clock,
    /// The same of programs that stand still while others run.
    suspended: FxHashMap<u32, (u32, Clock)>,
    sites: Vec<Site>,
    site_numbers: FxHashMap<Site, u32>,
    accesses: Vec<Access>,
    /// The accesses of the program at this time, by their sites.
    current: FxHashMap<u32, Event>,
    histories: Histories,
    shadow: Shadow,
    /// What was released at an address.
    released: FxHashMap<u64, Clock>,
    found: Vec<Race>,
    found_numbers: FxHashMap<(u32, u32), usize>,
}

impl Races {
    /// Of a launch.
    pub(crate) fn new(grid: [u32; 3]) -> Races {
        let programs = grid.iter().map(|&size| u64::from(size)).product();
        let nobody = Access { program: 0, time: 0, site: 0, doing: Doing::Read };
        Races {
            grid,
            program: 0,
            time: 1,
            seen: Clock::new(programs),
            suspended: FxHashMap::default(),
            sites: Vec::new(),
            site_numbers: FxHashMap::default(),
            accesses: vec![nobody],
            current: FxHashMap::default(),
            histories: Histories::new(),
            shadow: Shadow::default(),
            released: FxHashMap::default(),
            found: Vec::new(),
            found_numbers: FxHashMap::default(),
        }
    }

    /// The program that runs stands still until it is entered again.
    pub(crate) fn suspend(&mut self) {
        let programs = self.grid.iter().map(|&size| u64::from(size)).product();
        let seen = std::mem::replace(&mut self.seen, Clock::new(programs));
        self.suspended.insert(self.program, (self.time, seen));
    }

    /// A program runs from now on, if it does not yet; one that was not suspended begins.
    fn enter(&mut self, [x, y, z]: [u32; 3]) {
        let program = (z * self.grid[1] + y) * self.grid[0] + x;
        if let Some((time, seen)) = self.suspended.remove(&program) {
            (self.program, self.time, self.seen) = (program, time + 1, seen);
            self.current.clear();
        } else if program != self.program {
            let programs = self.grid.iter().map(|&size| u64::from(size)).product();
            (self.program, self.time, self.seen) = (program, 1, Clock::new(programs));
            self.current.clear();
        }
    }

    fn tick(&mut self) {
        self.time += 1;
        self.current.clear();
    }

    fn coordinates(&self, program: u32) -> [u32; 3] {
        let [width, height, _] = self.grid;
        [program % width, program / width % height, program / width / height]
    }

    /// The access that a program now makes at a site.
    fn event(&mut self, site: Site) -> Event {
        let (next, sites) = (self.sites.len() as u32, &mut self.sites);
        let number = *self.site_numbers.entry(site).or_insert_with(|| {
            sites.push(site);
            next
        });
        *self.current.entry(number).or_insert_with(|| {
            self.accesses.push(Access {
                program: self.program,
                time: self.time,
                site: number,
                doing: site.doing,
            });
            Event(u32::try_from(self.accesses.len() - 1).expect("fewer accesses than memory has room for"))
        })
    }

    /// Whether an access comes before whatever the program does now.
    fn is_ordered(&self, event: Event) -> bool {
        let access = self.accesses[event.0 as usize];
        access.program == self.program || access.time <= self.seen.of(access.program)
    }

    /// Takes note of elements that a program is about to touch. `written` is what a plain write writes, by position.
    pub(crate) fn touch(
        &mut self,
        program: [u32; 3],
        site: Site,
        runs: impl Iterator<Item = Run>,
        memory: &Memory,
        written: Option<&Data>,
    ) {
        self.enter(program);
        let event = self.event(site);
        let size = crate::types::elem_bytes(site.ty);
        let mut toucher = Toucher { site, event, size, memory, written, last: None };
        for run in runs {
            let mut done = 0;
            while done < run.count {
                let address = run.address + done * size;
                let count = Shadow::in_page(address, size).min(run.count - done);
                let position = run.position + done as usize * run.step;
                self.touch_page(&mut toucher, Run { position, address, count, ..run });
                done += count;
            }
        }
    }

    /// Takes note of elements one behind another in a page: of all of them at once where they have one history and
    /// nothing clashes.
    fn touch_page(&mut self, toucher: &mut Toucher<'_>, run: Run) {
        let first = self.shadow.cells(run.address, toucher.size, run.count)[0];
        let change = self.change_of(toucher, first);
        let cells = self.shadow.cells(run.address, toucher.size, run.count);
        if change.clash.is_none() && cells.iter().fold(true, |all, &cell| all & (cell == change.before)) {
            cells.fill(change.after);
            return;
        }
        for at in 0..run.count {
            let (position, address) =
                (run.position + at as usize * run.step, run.address + at * toucher.size);
            self.touch_one(toucher, Spot { position, address });
        }
    }

    /// Takes note of the pieces of one element, and of what it clashes with.
    fn touch_one(&mut self, toucher: &mut Toucher<'_>, spot: Spot) {
        let mut clash = Clash::default();
        for piece in 0..self.shadow.cells(spot.address, toucher.size, 1).len() {
            let before = self.shadow.cells(spot.address, toucher.size, 1)[piece];
            let change = self.change_of(toucher, before);
            self.shadow.cells(spot.address, toucher.size, 1)[piece] = change.after;
            clash.writer = clash.writer.or(change.clash.writer);
            clash.reader = clash.reader.or(change.clash.reader);
        }
        if let Some(other) = clash.writer {
            let was_written = self.accesses[other.0 as usize].doing == Doing::Write;
            if !(was_written && toucher.writes_the_same(spot)) {
                self.add(other, toucher, spot);
            }
        }
        if let Some(other) = clash.reader {
            self.add(other, toucher, spot);
        }
    }

    fn change_of(&mut self, toucher: &mut Toucher<'_>, before: Cell) -> Change {
        match toucher.last {
            Some(change) if change.before == before => change,
            _ => {
                let change = self.change(before, toucher.event, toucher.site.doing);
                toucher.last = Some(change);
                change
            }
        }
    }

    /// What becomes of a piece that is touched.
    fn change(&mut self, before: Cell, event: Event, doing: Doing) -> Change {
        let clashes = |own: &Races, set: Set| {
            if doing.is_atomic() && own.histories.is_atomic(set) {
                return None;
            }
            let mut others = own.histories.events(set);
            others.find(|&other| {
                let both_atomic = doing.is_atomic() && own.accesses[other.0 as usize].doing.is_atomic();
                !both_atomic && !own.is_ordered(other)
            })
        };
        let reader = if doing.writes() { clashes(self, before.reads) } else { None };
        let clash = Clash { writer: clashes(self, before.writes), reader };
        // Reads stay, as a write that is no race by its value says nothing of them.
        let after = match doing {
            Doing::Write => Cell { writes: self.histories.with(Set::EMPTY, event, false), ..before },
            Doing::AtomicWrite => Cell { writes: self.added(before.writes, event), ..before },
            Doing::Read | Doing::AtomicRead => Cell { reads: self.added(before.reads, event), ..before },
        };
        Change { before, after, clash }
    }

    /// A set with one more access, without the last ones that this one stands for: they come before it and clash with
    /// nothing that it does not clash with.
    fn added(&mut self, set: Set, event: Event) -> Set {
        let is_atomic = self.accesses[event.0 as usize].doing.is_atomic();
        let stands_for = |other: Event| {
            other == event
                || self.is_ordered(other) && (!is_atomic || self.accesses[other.0 as usize].doing.is_atomic())
        };
        let mut set = set;
        while let Some((before, other)) = self.histories.last(set)
            && stands_for(other)
        {
            set = before;
        }
        self.histories.with(set, event, is_atomic)
    }

    fn add(&mut self, first: Event, toucher: &Toucher<'_>, spot: Spot) {
        let [one, two] = [first, toucher.event].map(|event| self.accesses[event.0 as usize]);
        let pair = (one.site.min(two.site), one.site.max(two.site));
        if let Some(&known) = self.found_numbers.get(&pair) {
            self.found[known].elements += 1;
            return;
        }
        let touch = |access: Access| {
            let site = self.sites[access.site as usize];
            Touch {
                place: site.place,
                program: self.coordinates(access.program),
                doing: site.doing,
                ty: site.ty,
            }
        };
        let site = toucher.site;
        let race = Race {
            first: touch(one),
            second: touch(two),
            block_element: report::block_element(site.shape, spot.position),
            memory: toucher.memory.name_element(spot.address, site.ty),
            elements: 1,
        };
        self.found_numbers.insert(pair, self.found.len());
        self.found.push(race);
    }

    /// A program takes over what was released at these addresses.
    pub(crate) fn acquire(&mut self, program: [u32; 3], addresses: impl Iterator<Item = u64>) {
        self.enter(program);
        let mut is_new = false;
        for address in addresses {
            if let Some(clock) = self.released.get(&address) {
                is_new |= self.seen.join(clock);
            }
        }
        if is_new {
            self.tick();
        }
    }

    /// A program leaves what it has seen and done at these addresses. `keeps` says whether what others released there
    /// stays, as it does where an atomic reads what it writes.
    pub(crate) fn release(&mut self, program: [u32; 3], addresses: impl Iterator<Item = u64>, keeps: bool) {
        self.enter(program);
        let clock = self.seen.with(self.program, self.time);
        let mut is_used = false;
        for address in addresses {
            is_used = true;
            let entry = self.released.entry(address);
            entry
                .and_modify(|known| match keeps {
                    true => drop(known.join(&clock)),
                    false => *known = clock.clone(),
                })
                .or_insert_with(|| clock.clone());
        }
        if is_used {
            self.tick();
        }
    }

    /// Somebody writes there and leaves nothing.
    pub(crate) fn forget(&mut self, addresses: impl Iterator<Item = u64>) {
        if !self.released.is_empty() {
            addresses.for_each(|address| drop(self.released.remove(&address)));
        }
    }

    /// What was found.
    pub(crate) fn found(&self) -> &[Race] {
        &self.found
    }
}
