//! Launches by graphs that are kept.
//!
//! `cuLaunchKernel` keeps the host busy for 3 to 4 µs with a driver of version 13. A graph of that one kernel, kept and
//! updated with the grid and the arguments of the next launch, takes the same driver 1.1 to 2.7 µs, and the device
//! starts it as it starts any kernel. So a kernel that is launched often gets a graph for its stream.
//!
//! There are few graphs, because a device that goes from one to another spends time on it: with kernels that do nothing
//! a launch takes it 1.5 µs as without graphs where there is one, 1.8 with four in turns, 3.6 with sixteen. And a graph
//! lies in the device's memory: where other work has pushed it out of the caches, the device takes 0.6 to 0.9 µs more.
//! So graphs serve while the device waits for the host, which [`Kept::keeps_up`] watches, and not while work is queued.
//! Whatever has no graph is launched by a call of its own: the first launches of a kernel, kernels with attributes,
//! streams that are captured, threads that come while another one launches, and everything where a tool is looking on
//! that counts launches or names them.

use super::api::{Api, Handle, KernelNode};
use super::{Driver, Module};
use crate::knobs::PLAIN_LAUNCHES;
use gpu::driver::{Pointers, Refused, Vendor, check, relaxed, status};
use smallvec::SmallVec;
use std::ffi::OsString;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use target::{AlignedCopies, Grid, Launch};

/// Graphs of a device.
const MOST: usize = 4;
/// Launches of a kernel before it gets a graph, and before it asks again.
const PATIENCE: u32 = 16;
/// Launches of other kernels after which a graph may go.
const IDLE: u64 = 256;
/// Launches from one look at how far the device is to the next.
const LOOK: u32 = 16;
/// An event that takes no time.
const NO_TIMING: u32 = 2;
/// The first version of the driver's interface that launches graphs so quickly, of those that were measured.
const SINCE: i32 = 13_000;

/// Whether kernels may be launched by graphs: the driver is new enough, nobody says no, and no tool is loaded that
/// would show the graphs and not the kernels. Tools that are loaded by the driver or by the loader tell by variables.
pub(super) fn is_wanted(version: i32, variables: impl IntoIterator<Item = (OsString, OsString)>) -> bool {
    let says_no = |(name, value): (OsString, OsString)| {
        let (name, value) = (name.to_string_lossy(), value.to_string_lossy());
        match &*name {
            PLAIN_LAUNCHES => !value.is_empty() && value != "0",
            "LD_PRELOAD" => value.contains("njection"),
            _ => name.contains("INJECTION"),
        }
    };
    version >= SINCE && !variables.into_iter().any(says_no)
}

/// The graphs of a device. Who uses one holds the lock: the driver's graphs are for one thread at a time.
#[derive(Debug, Default)]
pub(super) struct Replays(Mutex<Table>);

#[derive(Debug, Default)]
struct Table {
    kept: SmallVec<[Kept; MOST]>,
    /// Launches up to now.
    clock: u64,
}

/// A kernel's graph on a stream.
#[derive(Debug)]
struct Kept {
    function: usize,
    stream: u64,
    graph: usize,
    exec: usize,
    node: usize,
    /// What it launches.
    held: Held,
    /// When it was used last.
    used: u64,
    /// Launches up to now.
    count: u32,
    /// Comes behind a launch not long ago.
    event: usize,
    /// Whether the device had not come to the event at the last look.
    is_late: bool,
    /// Whether the device had come to the event at the last look, which was the first one since the event was recorded.
    is_waiting: bool,
}

/// Blocks and arguments of a launch.
#[derive(Debug, PartialEq, Eq)]
struct Held {
    blocks: Grid,
    scratch: u64,
    copies: Option<AlignedCopies>,
    args: SmallVec<[u64; 16]>,
}

impl Held {
    fn of(blocks: Grid, launch: &Launch<'_>) -> Held {
        Held { blocks, scratch: launch.scratch, copies: launch.copies, args: launch.args.into() }
    }

    #[inline]
    fn is(&self, blocks: Grid, launch: &Launch<'_>) -> bool {
        let memory = (self.scratch, self.copies) == (launch.scratch, launch.copies);
        self.blocks == blocks && memory && self.args[..] == *launch.args
    }
}

impl Kept {
    /// A graph of one launch.
    ///
    /// # Safety
    /// The node's pointers are those of a launch of its kernel, and the context of its device is the current one.
    unsafe fn new(api: &Api, node: &KernelNode, stream: u64, held: Held) -> Result<Kept, Refused> {
        let (mut graph, mut place, mut exec, mut event) =
            (std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut(), std::ptr::null_mut());
        // SAFETY: there are places for the answers, and the node is as the caller promises.
        unsafe {
            check((api.graph_create)(&raw mut graph, 0), "make a graph")?;
            let mut status = (api.graph_add_kernel_node)(&raw mut place, graph, std::ptr::null(), 0, node);
            if status == status::SUCCESS {
                status = (api.event_create)(&raw mut event, NO_TIMING);
            }
            if status == status::SUCCESS {
                status = (api.graph_instantiate)(&raw mut exec, graph, 0);
            }
            if status != status::SUCCESS {
                if !event.is_null() {
                    (api.event_destroy)(event);
                }
                (api.graph_destroy)(graph);
            }
            check(status, "make a graph of a kernel")?;
        }
        let (function, graph, exec) = (node.function as usize, graph as usize, exec as usize);
        let (node, event) = (place as usize, event as usize);
        Ok(Kept {
            function,
            stream,
            graph,
            exec,
            node,
            held,
            used: 0,
            count: 0,
            event,
            is_late: true,
            is_waiting: false,
        })
    }

    /// Whether the device waits for the host rather than the host for the device: whether it has come to where the host
    /// was some launches ago.
    #[inline]
    fn keeps_up(&mut self, driver: &Driver) -> bool {
        let at = self.count % LOOK;
        self.count = self.count.wrapping_add(1);
        if at == 0 {
            self.look(driver);
        }
        self.is_waiting
    }

    fn look(&mut self, driver: &Driver) {
        let (api, event) = (&driver.api, self.event as Handle);
        // SAFETY: the event was made by `new`; one that was never recorded is one that the device has come to.
        let is_there = relaxed(api, || unsafe { (api.event_query)(event) }) == status::SUCCESS;
        // What lies longer back than one look says nothing of how far the device is.
        self.is_waiting = is_there && !self.is_late;
        self.is_late = !is_there;
        if is_there {
            // Where this is refused the event stays where it was.
            // SAFETY: as above; the stream is the caller's, and not captured.
            unsafe { (api.event_record)(event, self.stream as Handle) };
        }
    }

    /// Frees the graph; launches of it that are under way go on.
    fn free(self, driver: &Driver) {
        let api = &driver.api;
        let destroy = || {
            // SAFETY: all were made by `new`, and nobody has them any more.
            unsafe {
                (api.graph_exec_destroy)(self.exec as Handle);
                (api.graph_destroy)(self.graph as Handle);
                (api.event_destroy)(self.event as Handle);
            }
        };
        relaxed(api, destroy);
    }
}

/// Launches by a graph; false where nothing was launched, for whatever reason.
///
/// # Safety
/// There is one pointer for each parameter of the kernel, to a slot of at least its size, and the context of its device
/// is the current one.
#[inline]
pub(super) unsafe fn replay(
    kernel: &Module,
    blocks: Grid,
    launch: &Launch<'_>,
    params: &mut Pointers,
) -> bool {
    let driver = kernel.gpu.driver();
    if !driver.own || launch.observed || !kernel.own.attributes.is_empty() {
        return false;
    }
    let Ok(mut table) = kernel.gpu.replays.0.try_lock() else { return false };
    table.clock += 1;
    let now = table.clock;
    let is_mine = |kept: &Kept| kept.function == kernel.function && kept.stream == launch.stream;
    let Some(at) = table.kept.iter().position(is_mine) else {
        let waited = kernel.own.waited.load(Ordering::Relaxed);
        kernel.own.waited.store((waited + 1) % PATIENCE, Ordering::Relaxed);
        if waited + 1 == PATIENCE {
            // SAFETY: as the caller promises.
            unsafe { keep(kernel, &mut table, blocks, launch, params) };
        }
        return false;
    };
    if is_captured(driver, launch.stream) {
        return false;
    }
    let kept = &mut table.kept[at];
    kept.used = now;
    if !kept.keeps_up(driver) {
        return false;
    }
    // SAFETY: as the caller promises; the graph is used under the lock alone.
    let done = unsafe {
        (kept.held.is(blocks, launch) || update(kernel, kept, blocks, launch, params))
            && (driver.api.graph_launch)(kept.exec as Handle, launch.stream as Handle) == status::SUCCESS
    };
    if !done {
        // The plain launch that follows says what is wrong, if it is not the graph.
        let kept = table.kept.swap_remove(at);
        kept.free(driver);
    }
    done
}

/// Whether the launches of a stream are captured into a graph, or the stream may not be asked at the moment.
#[inline]
fn is_captured(driver: &Driver, stream: u64) -> bool {
    let mut captured = 0;
    // SAFETY: `captured` is a place for the answer; the stream is the caller's.
    let status = unsafe { (driver.api.stream_is_capturing)(stream as Handle, &raw mut captured) };
    status != status::SUCCESS || captured != 0
}

fn node_of(kernel: &Module, blocks: Grid, params: &mut Pointers) -> KernelNode {
    KernelNode {
        function: kernel.function as Handle,
        grid: blocks,
        block: [kernel.shape.threads, 1, 1],
        shared: kernel.shape.shared,
        params: params.as_mut_ptr(),
        extra: std::ptr::null_mut(),
        kernel: std::ptr::null_mut(),
        context: std::ptr::null_mut(),
    }
}

/// Updates a graph to launch this from now on.
///
/// # Safety
/// As for [`replay`].
#[inline]
unsafe fn update(
    kernel: &Module,
    kept: &mut Kept,
    blocks: Grid,
    launch: &Launch<'_>,
    params: &mut Pointers,
) -> bool {
    let node = node_of(kernel, blocks, params);
    let set = kernel.gpu.driver().api.graph_exec_kernel_node_set_params;
    // SAFETY: the driver copies what the pointers lead to, which the caller vouches for.
    let status = unsafe { set(kept.exec as Handle, kept.node as Handle, &raw const node) };
    let held = &mut kept.held;
    (held.blocks, held.scratch, held.copies) = (blocks, launch.scratch, launch.copies);
    held.args.clear();
    held.args.extend_from_slice(launch.args);
    status == status::SUCCESS
}

/// Creates a graph for the launches that follow, if there is room for one.
///
/// # Safety
/// As for [`replay`].
#[cold]
unsafe fn keep(kernel: &Module, table: &mut Table, blocks: Grid, launch: &Launch<'_>, params: &mut Pointers) {
    let driver = kernel.gpu.driver();
    if is_captured(driver, launch.stream) {
        return;
    }
    if table.kept.len() == MOST {
        let oldest = (0..MOST).min_by_key(|&at| table.kept[at].used);
        let Some(oldest) = oldest.filter(|&at| table.clock - table.kept[at].used > IDLE) else { return };
        let oldest = table.kept.swap_remove(oldest);
        oldest.free(driver);
    }
    let node = node_of(kernel, blocks, params);
    let held = Held::of(blocks, launch);
    // SAFETY: as the caller promises.
    let kept = relaxed(&driver.api, || unsafe { Kept::new(&driver.api, &node, launch.stream, held) });
    if let Ok(kept) = kept {
        table.kept.push(Kept { used: table.clock, ..kept });
    }
}
