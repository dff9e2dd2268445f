//! Vector clocks of a cluster's warps.
//!
//! Every warp has two columns: what its lanes do, and what it began that runs by itself (bulk copies, matrix
//! instructions). A warp's own column counts its synchronisations; `clock[w][c]` is how far warp `w` has seen
//! column `c`. An access of column `c` at clock `k` comes before whatever `w` does now if `k <= clock[w][c]`.

use std::rc::Rc;

/// Which memory a fence between the generic and the asynchronous proxy is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fenced {
    /// Shared memory.
    Shared,
    /// Global memory.
    Global,
}

/// The clocks of one cluster.
#[derive(Debug)]
pub struct Clocks {
    rows: Vec<Vec<u32>>,
    /// How far each warp had seen all columns when it last fenced the asynchronous proxy, for each kind of memory.
    fences: [Vec<Vec<u32>>; 2],
    /// The clock that each asynchronous column gives next.
    asynchronous: Vec<u32>,
    warps: usize,
}

/// What a warp has seen at some moment.
pub type Seen = Rc<[u32]>;

impl Clocks {
    /// Of so many warps, none of which has met another.
    pub fn new(warps: usize) -> Clocks {
        let mut rows = vec![vec![0; 2 * warps]; warps];
        for (warp, row) in rows.iter_mut().enumerate() {
            row[warp] = 1;
        }
        let fences = [Fenced::Shared, Fenced::Global].map(|_| vec![vec![0; 2 * warps]; warps]);
        Clocks { rows, fences, asynchronous: vec![0; warps], warps }
    }

    /// Two a warp.
    pub fn columns(&self) -> usize {
        2 * self.warps
    }

    /// The column of what a warp began that runs by itself.
    pub fn asynchronous_column(&self, warp: usize) -> usize {
        self.warps + warp
    }

    /// What a warp has seen.
    pub fn row(&self, warp: usize) -> &[u32] {
        &self.rows[warp]
    }

    /// What a warp has seen by now.
    pub fn snapshot(&self, warp: usize) -> Seen {
        self.rows[warp].as_slice().into()
    }

    /// The warp's lanes have met: what they do next comes after what they did.
    pub fn tick(&mut self, warp: usize) {
        self.rows[warp][warp] += 1;
    }

    /// The warp now comes after what another had seen.
    pub fn acquire(&mut self, warp: usize, seen: &[u32]) {
        for (own, other) in self.rows[warp].iter_mut().zip(seen) {
            *own = (*own).max(*other);
        }
    }

    /// Adds what the warp has seen to a synchronisation object; what it does next is not in it.
    pub fn release(&mut self, warp: usize, into: &mut Vec<u32>) {
        into.resize(self.columns(), 0);
        for (other, own) in into.iter_mut().zip(&self.rows[warp]) {
            *other = (*other).max(*own);
        }
        self.tick(warp);
    }

    /// A fence between the generic and the asynchronous proxy.
    pub fn fence(&mut self, warp: usize, memory: Fenced) {
        self.fences[memory as usize][warp].clone_from(&self.rows[warp]);
        self.tick(warp);
    }

    /// Whether a generic access of a warp was fenced before `issuer` now begins something asynchronous.
    pub fn is_fenced(&self, issuer: usize, writer: usize, clock: u32, memory: Fenced) -> bool {
        let fences = &self.fences[memory as usize];
        clock <= fences[writer][writer] || clock <= fences[issuer][writer]
    }

    /// A new clock of a warp's asynchronous column.
    pub fn begin_asynchronous(&mut self, warp: usize) -> u32 {
        self.asynchronous[warp] += 1;
        self.asynchronous[warp]
    }

    /// The warp has waited for its asynchronous column up to a clock.
    pub fn finish_asynchronous(&mut self, warp: usize, clock: u32) {
        let column = self.asynchronous_column(warp);
        let own = &mut self.rows[warp][column];
        *own = (*own).max(clock);
    }
}
