//! Blocks in shared memory: stores and loads of all registers as planned, and conversions that go through it.

use crate::context::Cx;
use crate::error::Result;
use crate::notes::note_block;
use crate::ops::memory::{from_memory, in_memory, to_memory};
use crate::shuffle::{exchange, thread_bits_zero, thread_map};
use crate::shuffle_words::{from_words, to_words};
use crate::target::Access;
use crate::types;
use crate::value::Region;
use ir::Type;
use layout::convert::{self, AccessStep, Conversion};
use llir::Value;
use rustc_hash::FxHashMap;
use target::survey::SharedBy;

/// Addresses of the instructions of an access: one for each different part that cannot be an immediate.
pub(crate) struct Addresses {
    region: Region,
    thread: Value,
    /// The block of the cluster whose memory the thread reads, xor what each step adds; `None` for its own.
    block: Option<Value>,
    /// Bits, in bytes, that the thread decides.
    varying: u32,
    bytes: u32,
    known: FxHashMap<(u32, u32), Value>,
}

impl Addresses {
    /// Of an access to a place, of elements of so many bytes.
    pub(crate) fn new(cx: &mut Cx<'_>, access: &convert::Access, region: Region, bytes: u32) -> Addresses {
        let columns: Vec<u32> = access.thread.iter().map(|offset| offset * bytes).collect();
        let varying = columns.iter().fold(0, |all, column| all | column);
        let block = (!access.far.is_empty()).then(|| {
            let (own, change) = (cx.block_id(), thread_map(cx, &access.far));
            cx.b.xor(own, change)
        });
        let thread = thread_map(cx, &columns);
        Addresses { region, thread, block, varying, bytes, known: FxHashMap::default() }
    }

    /// The address of a step and the constant to add.
    pub(crate) fn of(&mut self, cx: &mut Cx<'_>, step: &AccessStep) -> (Value, i64) {
        let at = step.offset * self.bytes;
        let (mixed, plain) = (at & self.varying, at & !self.varying);
        let address = match self.known.get(&(mixed, step.far)) {
            Some(address) => *address,
            None => {
                let address = self.make(cx, mixed, step.far);
                self.known.insert((mixed, step.far), address);
                address
            }
        };
        (address, self.region.offset + i64::from(plain))
    }

    fn make(&self, cx: &mut Cx<'_>, mixed: u32, far: u32) -> Value {
        let by = cx.b.i32(mixed as i32);
        let offset = cx.b.xor(self.thread, by);
        let address = cx.b.gep(llir::Type::I8, self.region.base, offset);
        let Some(block) = self.block else { return address };
        let far = cx.b.i32(far as i32);
        let block = cx.b.xor(block, far);
        cx.target.peer(&mut cx.b, address, block)
    }
}

/// Bytes of an element in memory.
pub(crate) fn element_bytes(element: Type) -> u32 {
    types::memory_bits(element) / 8
}

/// Who moves what.
fn shared_by(access: &convert::Access) -> SharedBy {
    if access.by_rows.is_some() { SharedBy::Rows } else { SharedBy::Lanes }
}

/// Stores the registers of one round.
pub(crate) fn store_block(
    cx: &mut Cx<'_>,
    access: &convert::Access,
    region: Region,
    element: Type,
    registers: &[Value],
    round: u32,
) {
    note_block(cx, access, round, element_bytes(element), (shared_by(access), true));
    let mut addresses = Addresses::new(cx, access, region, element_bytes(element));
    let mask = thread_bits_zero(cx, access.copies);
    for step in access.steps.iter().filter(|step| step.round == round) {
        let (pointer, offset) = addresses.of(cx, step);
        let values: Vec<Value> = step
            .registers
            .iter()
            .map(|register| to_memory(cx, registers[*register as usize], element))
            .collect();
        let ty = cx.b.ty(values[0]);
        if let Some(rows) = access.by_rows {
            let words = to_words(cx, ty, &values);
            cx.target.store_rows(&mut cx.b, (pointer, offset), &words, rows.transposed);
            continue;
        }
        let access = Access { mask, ..Access::new(pointer, offset, ty, values.len()) };
        cx.target.store(&mut cx.b, &access, &values);
    }
}

/// Loads the registers of one round into their places.
pub(crate) fn load_block(
    cx: &mut Cx<'_>,
    access: &convert::Access,
    region: Region,
    element: Type,
    registers: &mut [Option<Value>],
    round: u32,
) {
    note_block(cx, access, round, element_bytes(element), (shared_by(access), false));
    let mut addresses = Addresses::new(cx, access, region, element_bytes(element));
    let ty = in_memory(element);
    for step in access.steps.iter().filter(|step| step.round == round) {
        let (pointer, offset) = addresses.of(cx, step);
        let count = step.registers.len();
        let loaded = match access.by_rows {
            Some(rows) => {
                let place = (pointer, offset);
                let words = cx.target.load_rows(&mut cx.b, place, count / 2, rows.transposed);
                from_words(cx, ty, &words, count).into()
            }
            None => cx.target.load(&mut cx.b, &Access::new(pointer, offset, ty, count), &[]),
        };
        for (register, value) in step.registers.iter().zip(loaded) {
            registers[*register as usize] = Some(from_memory(cx, value, element));
        }
    }
}

/// All registers, those that were not loaded being copies of others.
pub(crate) fn with_copies(same: &[u32], registers: &[Option<Value>]) -> Vec<Value> {
    let loaded = |from: &u32| registers[*from as usize].expect("the plan loads the first of all copies");
    same.iter().map(loaded).collect()
}

/// Values of one element type in registers of a layout.
pub(crate) struct Values {
    /// The element type.
    pub(crate) element: Type,
    /// One per register.
    pub(crate) registers: Vec<Value>,
}

impl Values {
    /// The constant that every register of every lane holds, if there is one: it need not move.
    fn constant(&self, cx: &Cx<'_>) -> Option<Value> {
        let first = *self.registers.first()?;
        (cx.b.is_known(first) && self.registers.iter().all(|&register| register == first)).then_some(first)
    }
}

/// Bytes of memory that converting blocks of such elements by such plans needs.
pub(crate) fn plans_bytes(plans: &[std::rc::Rc<Conversion>]) -> u32 {
    plans.iter().map(|plan| plan_bytes(plan)).sum()
}

fn plan_bytes(plan: &Conversion) -> u32 {
    match plan {
        Conversion::Shared(staged) => staged.bytes.next_multiple_of(16),
        Conversion::Registers(_) | Conversion::Exchange(_) => 0,
    }
}

/// Whether all lanes wait for each other in the middle of carrying out plans.
pub(crate) fn plans_wait(plans: &[std::rc::Rc<Conversion>]) -> bool {
    plans.iter().any(|plan| matches!(&**plan, Conversion::Shared(staged) if !staged.within_warp))
}

/// Whether blocks of a cluster read each other's memory when plans are carried out.
pub(crate) fn plans_cross(plans: &[std::rc::Rc<Conversion>]) -> bool {
    plans.iter().any(|plan| matches!(&**plan, Conversion::Shared(staged) if staged.crosses_blocks))
}

/// Carries out the plan for one block.
pub(crate) fn convert_block(
    cx: &mut Cx<'_>,
    plan: std::rc::Rc<Conversion>,
    region: Option<Region>,
    block: Values,
) -> Result<Vec<Value>> {
    let mut converted = convert_blocks(cx, &[plan], region, &[block])?;
    Ok(converted.pop().expect("a block for each plan"))
}

/// Carries out a plan for each of several blocks; those that go through memory wait once for all.
pub(crate) fn convert_blocks(
    cx: &mut Cx<'_>,
    plans: &[std::rc::Rc<Conversion>],
    region: Option<Region>,
    blocks: &[Values],
) -> Result<Vec<Vec<Value>>> {
    let constants: Vec<Option<Value>> = blocks.iter().map(|block| block.constant(cx)).collect();
    let mut regions = Vec::with_capacity(plans.len());
    let mut next = region;
    for (plan, constant) in plans.iter().zip(&constants) {
        regions.push(next.filter(|_| constant.is_none()));
        next = next.map(|region| region.after(plan_bytes(plan)));
    }
    let rounds =
        plans.iter().map(|plan| if let Conversion::Shared(staged) = &**plan { staged.rounds } else { 1 });
    let rounds = rounds.max().unwrap_or(1);
    let mut loaded: Vec<Vec<Option<Value>>> =
        plans.iter().map(|plan| vec![None; loaded_registers(plan)]).collect();
    // Where each warp keeps to itself nobody else has seen to it that what was read here before is read.
    let alone = plans_bytes(plans) > 0 && !plans_wait(plans);
    for round in 0..rounds {
        if round > 0 || alone {
            wait(cx, plans);
        }
        for ((plan, region), block) in plans.iter().zip(&regions).zip(blocks) {
            if let (Conversion::Shared(staged), Some(region)) = (&**plan, region) {
                store_block(cx, &staged.store, *region, block.element, &block.registers, round);
            }
        }
        // Also where only constants would move: others count on this wait.
        if plans.iter().any(|plan| matches!(&**plan, Conversion::Shared(_))) && region.is_some() {
            wait(cx, plans);
        }
        for (((plan, region), block), loaded) in plans.iter().zip(&regions).zip(blocks).zip(&mut loaded) {
            if let (Conversion::Shared(staged), Some(region)) = (&**plan, region) {
                load_block(cx, &staged.load, *region, block.element, loaded, round);
            }
        }
    }
    let mut results = Vec::with_capacity(plans.len());
    for (((plan, block), loaded), constant) in plans.iter().zip(blocks).zip(&loaded).zip(constants) {
        results.push(match (&**plan, constant) {
            (Conversion::Shared(staged), Some(constant)) => vec![constant; staged.load.same.len()],
            (Conversion::Registers(list), _) => {
                list.iter().map(|from| block.registers[*from as usize]).collect()
            }
            (Conversion::Exchange(plan), _) => {
                exchange(cx, plan, types::register(block.element), &block.registers)
            }
            (Conversion::Shared(staged), None) => with_copies(&staged.load.same, loaded),
        });
    }
    Ok(results)
}

fn loaded_registers(plan: &Conversion) -> usize {
    if let Conversion::Shared(staged) = plan { staged.load.same.len() } else { 0 }
}

fn wait(cx: &mut Cx<'_>, plans: &[std::rc::Rc<Conversion>]) {
    if plans_cross(plans) {
        cx.program_barrier();
    } else if plans_wait(plans) {
        cx.block_barrier();
    } else {
        cx.target.warp_barrier(&mut cx.b);
    }
}
