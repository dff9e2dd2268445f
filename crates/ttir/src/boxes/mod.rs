//! Which loads of blocks of addresses read a box of a tensor: as many rows and columns as the block has, from a corner
//! on, with zeros beyond the ends of the tensor; and which stores write one, without what lies beyond.
//!
//! ```text
//! %p = %a + ((%i * 128 + 0..128) % %M) * %stride + 0..64 + %k * 64      tensor %a [%M, %K], rows %stride apart,
//! tt.load %p, 0..64 < %K - %k * 64, 0                              =>   block of 128x64 at [%i * 128, %k * 64]
//! ```
//!
//! What is not shown by the code alone is asked of the launch ([`GuardText`]): sizes and strides are positive, corners
//! do not lie in front of the tensor, offsets do not overflow, what is written meanwhile lies elsewhere. Positions that
//! a remainder or a selection takes back into the tensor (`% M`) may be read as zeros only where nothing of them is
//! stored ([`dead`]).
//!
//! A block of one dimension is a box of a single row. Matrices that lie apart, one for each batch, are a tensor with an
//! axis more where the ends of masks are those of one matrix ([`stack`]). A pure function of the code. Left out:
//! addresses that are themselves loaded, masks of other forms, blocks of three dimensions and more.

mod dead;
mod forms;
mod guards;
mod poly;
mod stack;

pub use guards::GuardText;
pub use poly::{Monomial, Poly};

use crate::ops::access::AccessOp;
use crate::ops::arith_int::int_value;
use crate::ops::constant::splat_bits;
use crate::ops::control::ForOp;
use crate::ops::func::FuncOp;
use crate::ops::memory::CacheModifier;
use crate::ops::program::ASSUME;
use crate::types::{elem, elem_bytes, pointee, shape};
use forms::{Form, Forms, Wrap};
use ir::{Block, Def, Module, Op, Traits, Value};

/// Elements of the longest tensor, along one axis.
const MOST: i64 = i32::MAX as i64;
/// Bytes from one row to the next, at most.
const LONGEST_STRIDE: i64 = (1 << 40) - 1;

/// A load that reads a box, or a store that writes one.
#[derive(Clone, Debug)]
pub struct BoxAccess {
    /// The load or the store.
    pub op: Op,
    /// The number of the parameter that is the address of the tensor.
    pub base: usize,
    /// By axis of the block.
    pub axes: Vec<BoxAxis>,
    /// Axes that the tensor has and the block has not: the box is at one position of each.
    pub stack: Vec<BoxAxis>,
    /// The axis along which neighbours are neighbours in memory.
    pub fastest: usize,
}

/// A box along one axis.
#[derive(Clone, Debug)]
pub struct BoxAxis {
    /// Elements of the block.
    pub size: i64,
    /// Where it begins in the tensor.
    pub start: Poly,
    /// Elements of memory from one to the next; of parameters alone.
    pub stride: Poly,
    /// Elements of the tensor, of parameters alone; none where the program promises to stay inside.
    pub extent: Option<Poly>,
    /// Positions beyond the tensor are read as other ones in it.
    wrap: Option<Wrap>,
}

/// Why a load does not read a box.
pub type Reason = &'static str;

/// The loads and stores of a kernel that access boxes, and those that do not.
#[derive(Clone, Debug, Default)]
pub struct Boxes {
    /// Loads that do.
    pub loads: Vec<BoxAccess>,
    /// Stores that do.
    pub stores: Vec<BoxAccess>,
    /// Those that do not.
    pub refused: Vec<(Op, Reason)>,
    /// What a launch must be for it.
    pub guards: GuardText,
}

/// Looks at loads and stores of a kernel. `fits` says more of a box: whether a machine can copy it.
pub fn analyze(
    module: &Module,
    kernel: Op,
    (loads, stores): (&[Op], &[Op]),
    fits: impl Fn(&BoxAccess) -> Result<(), Reason>,
) -> Boxes {
    let mut finder = Finder {
        forms: Forms::new(module),
        kernel,
        entry: FuncOp::new(module, kernel).entry(),
        order: module.walk(kernel),
    };
    let mut boxes = Boxes::default();
    for (ops, is_store) in [(loads, false), (stores, true)] {
        for &op in ops {
            let mut guards = boxes.guards.clone();
            let found = if is_store { finder.store(op, &mut guards) } else { finder.load(op, &mut guards) };
            match found.and_then(|found| fits(&found).map(|()| found)) {
                Ok(found) => {
                    if is_store {
                        boxes.stores.push(found)
                    } else {
                        boxes.loads.push(found)
                    }
                    boxes.guards = guards;
                }
                Err(reason) => boxes.refused.push((op, reason)),
            }
        }
    }
    boxes
}

/// What a launch must be for a loop to have some iterations, and this many at most, in each of its programs; none where
/// a launch cannot tell.
pub fn few_iterations(module: &Module, kernel: Op, op: Op, most: i64) -> Option<GuardText> {
    let (entry, of) = (FuncOp::new(module, kernel).entry(), ForOp::new(module, op));
    let steps = int_value(module, of.step())?.checked_mul(most)?;
    let mut guards = GuardText::default();
    guards.few(&mut Forms::new(module), entry, [of.lower(), of.upper()], steps)?;
    Some(guards)
}

/// What a launch must be for scalars to be the same in both programs of each pair that lies side by side; none where a
/// launch cannot tell. `is_same` says of a scalar that it is the same in every program.
pub fn alike(
    module: &Module,
    kernel: Op,
    scalars: &[Value],
    is_same: impl Fn(Value) -> bool,
) -> Option<GuardText> {
    let entry = FuncOp::new(module, kernel).entry();
    let (mut forms, mut guards) = (Forms::new(module), GuardText::default());
    // That there are pairs at all.
    let zero = guards.constant(0);
    guards.alike(zero);
    for &scalar in scalars {
        let sum = forms.scalar(scalar)?;
        for atom in sum.atoms().filter(|&atom| !is_same(atom)) {
            let number = guards.poly(&mut forms, entry, &Poly::atom(atom))?;
            guards.alike(number);
        }
    }
    Some(guards)
}

/// A box as an access describes it.
struct Found {
    base: usize,
    axes: Vec<BoxAxis>,
    stack: Vec<BoxAxis>,
    fastest: usize,
    /// Bits in which offsets are computed.
    bits: u32,
}

struct Finder<'m> {
    forms: Forms<'m>,
    kernel: Op,
    entry: Block,
    order: Vec<Op>,
}

impl<'m> Finder<'m> {
    fn module(&self) -> &'m Module {
        self.forms.module
    }

    fn load(&mut self, load: Op, guards: &mut GuardText) -> Result<BoxAccess, Reason> {
        let module = self.module();
        let access = AccessOp::load(module, load).ok_or("it is no load by addresses")?;
        if access.volatile() {
            return Err("it is volatile");
        }
        if !matches!(access.cache(), CacheModifier::None | CacheModifier::Ca | CacheModifier::Cg) {
            return Err("it says how it stands in the caches");
        }
        let is_zero = |value| module.constant(value).and_then(splat_bits) == Some(0);
        if access.other().is_some_and(|other| !is_zero(other)) {
            return Err("what it gives where its mask does not hold is not zero");
        }
        let mut found = self.find(access.ptr(), access.mask())?;
        let result = module.result(load, 0);
        for (at, axis) in found.axes.iter().enumerate() {
            if let Some(wrap) = &axis.wrap
                && !dead::dies(&mut self.forms, result, at, wrap)
            {
                return Err("positions beyond the tensor are read as others, and may be stored");
            }
        }
        let ty = module.ty(result);
        self.start_at(load, &mut found, ty, guards)?;
        self.keep_apart(load, &found, guards)?;
        let Found { base, axes, stack, fastest, .. } = found;
        Ok(BoxAccess { op: load, base, axes, stack, fastest })
    }

    fn store(&mut self, store: Op, guards: &mut GuardText) -> Result<BoxAccess, Reason> {
        let module = self.module();
        let access = AccessOp::store(module, store).filter(|access| !access.is_atomic());
        let access = access.ok_or("it is no store by addresses")?;
        if access.cache() != CacheModifier::None {
            return Err("it says how it stands in the caches");
        }
        let mut found = self.find(access.ptr(), access.mask())?;
        if found.axes.iter().any(|axis| axis.wrap.is_some()) {
            return Err("positions beyond the tensor are written as others");
        }
        let ty = access.value().map(|value| module.ty(value)).ok_or("it stores no value")?;
        self.start_at(store, &mut found, ty, guards)?;
        let Found { base, axes, stack, fastest, .. } = found;
        Ok(BoxAccess { op: store, base, axes, stack, fastest })
    }

    /// Where a box begins, in what there is where it is accessed, and what a launch must be for it.
    fn start_at(
        &mut self,
        access: Op,
        found: &mut Found,
        block: ir::Type,
        guards: &mut GuardText,
    ) -> Result<(), Reason> {
        for axis in found.axes.iter_mut().chain(&mut found.stack) {
            let reaching = |name| self.forms.reaching(name, access);
            axis.start = axis.start.with(reaching).ok_or("where the block begins is computed elsewhere")?;
        }
        let unknown = "a launch cannot know where the block begins";
        self.guard(found, elem_bytes(elem(block)), guards).ok_or(unknown)
    }

    /// The box of a block of addresses with a mask.
    fn find(&mut self, pointer: Value, mask: Option<Value>) -> Result<Found, Reason> {
        let module = self.module();
        let address =
            self.forms.address(pointer).ok_or("its addresses are no sums of positions and numbers")?;
        let Def::Arg(block, base) = module.def(address.base) else {
            return Err("its addresses are no offsets from a parameter");
        };
        if block != self.entry {
            return Err("its addresses are no offsets from a parameter");
        }
        let sizes = shape(module.ty(pointer));
        if !(1..=2).contains(&sizes.len()) {
            return Err("its block is no row and no matrix");
        }
        let along: Option<Vec<_>> = address.offset.axes.iter().cloned().collect();
        let along = along.ok_or("its addresses are equal along an axis")?;
        let neighbours = |axis: &forms::Axis| axis.scale.as_constant() == Some(1);
        let fastest = along.iter().position(neighbours).ok_or("no axis has neighbours in memory")?;
        if along.iter().filter(|axis| neighbours(axis)).count() > 1 {
            return Err("both axes have neighbours in memory");
        }
        let conditions = self.conditions(mask)?;
        let along: Vec<(forms::Axis, i64)> = along.into_iter().zip(sizes.iter().copied()).collect();
        let block = stack::Block { offset: &address.offset.uniform, along, fastest, conditions: &conditions };
        let (axes, stack) = block.place(|atom| self.is_param(atom))?;
        Ok(Found { base: base as usize, axes, stack, fastest, bits: address.bits })
    }

    fn conditions(&mut self, mask: Option<Value>) -> Result<Vec<Form>, Reason> {
        let Some(mask) = mask else { return Ok(Vec::new()) };
        if self.module().constant(mask).and_then(splat_bits) == Some(1) {
            return Ok(Vec::new());
        }
        self.forms.mask(mask).ok_or("its mask has another form than positions below a size")
    }

    fn is_param(&self, value: Value) -> bool {
        matches!(self.module().def(value), Def::Arg(block, _) if block == self.entry)
    }

    /// What a launch must be for a box to be one.
    fn guard(&mut self, found: &Found, bytes: u64, guards: &mut GuardText) -> Option<()> {
        let (entry, forms) = (self.entry, &mut self.forms);
        let mut reach = None;
        for (at, axis) in found.axes.iter().chain(&found.stack).enumerate() {
            let start = guards.poly(forms, entry, &axis.start)?;
            guards.within(start, 0, MOST - axis.size);
            let last = match &axis.extent {
                Some(extent) => {
                    let extent = guards.poly(forms, entry, extent)?;
                    guards.within(extent, 1, MOST);
                    let one = guards.constant(1);
                    guards.combined("sub", [extent, one])
                }
                None => {
                    let size = guards.constant(axis.size - 1);
                    guards.combined("add", [start, size])
                }
            };
            let stride = guards.poly(forms, entry, &axis.stride)?;
            if at != found.fastest {
                guards.within(stride, 1, LONGEST_STRIDE / i64::try_from(bytes).ok()?);
            }
            let steps = guards.combined("mul", [last, stride]);
            reach = Some(match reach {
                Some(reach) => guards.combined("add", [reach, steps]),
                None => steps,
            });
        }
        // The kernel's own sums must not overflow either.
        let most = if found.bits == 32 { MOST } else { i64::MAX >> 8 };
        guards.within(reach?, 0, most);
        Some(())
    }

    /// Nothing that may be written before a load is what it reads.
    fn keep_apart(&mut self, load: Op, found: &Found, guards: &mut GuardText) -> Result<(), Reason> {
        let module = self.module();
        let at = |op: Op| self.order.iter().position(|&other| other == op);
        let loops = |op: Op| {
            std::iter::successors(module.parent_op(op), |&op| module.parent_op(op))
                .take_while(|&op| op != self.kernel)
                .filter(|&op| module.has(op, Traits::LOOP))
        };
        let around: Vec<Op> = loops(load).collect();
        let is_before = |op: Op| at(op) < at(load) || around.iter().any(|&each| module.is_inside(op, each));
        let writers: Vec<Op> = self
            .order
            .iter()
            .copied()
            .filter(|&op| op != self.kernel && module.row(op).writes() && !module.is(op, &ASSUME))
            .filter(|&op| is_before(op))
            .collect();
        if writers.is_empty() {
            return Ok(());
        }
        let unknown = "something is written before that may be what it reads";
        let own = self.bytes(found, module.ty(module.result(load, 0)), guards).ok_or(unknown)?;
        for writer in writers {
            let access = AccessOp::store(module, writer).ok_or(unknown)?;
            let written = self.find(access.ptr(), access.mask()).map_err(|_| unknown)?;
            if written.axes.iter().any(|axis| axis.wrap.is_some()) {
                return Err(unknown);
            }
            let ty = pointee(elem(module.ty(access.ptr()))).ok_or(unknown)?;
            self.guard(&written, elem_bytes(ty), guards).ok_or(unknown)?;
            let other = self.bytes(&written, ty, guards).ok_or(unknown)?;
            guards.apart((found.base, own), (written.base, other));
        }
        Ok(())
    }

    /// How many bytes from its address on a launch accesses in a tensor, if it can tell.
    fn bytes(&mut self, found: &Found, ty: ir::Type, guards: &mut GuardText) -> Option<usize> {
        let (entry, forms) = (self.entry, &mut self.forms);
        let one = guards.constant(1);
        let mut elements = one;
        for (at, axis) in found.axes.iter().chain(&found.stack).enumerate() {
            let extent = match &axis.extent {
                Some(extent) => guards.poly(forms, entry, extent)?,
                // Of a stack it is as far as programs go.
                None if at >= found.axes.len() => {
                    let (start, one) = (guards.poly(forms, entry, &axis.start)?, guards.constant(1));
                    guards.combined("add", [start, one])
                }
                // Where the ends are open, loops behind stores would be bulk copies: attention backward loses by that.
                None => return None,
            };
            let stride = guards.poly(forms, entry, &axis.stride)?;
            let steps = guards.combined("sub", [extent, one]);
            let steps = guards.combined("mul", [steps, stride]);
            elements = guards.combined("add", [elements, steps]);
        }
        let bytes = guards.constant(i64::try_from(elem_bytes(elem(ty))).ok()?);
        Some(guards.combined("mul", [elements, bytes]))
    }
}

/// A condition of a mask as the end of a tensor along an axis: that this is negative.
fn bound(condition: &Form, axes: &mut [BoxAxis]) -> Result<(), Reason> {
    let other = "its mask has another form than positions below a size";
    let mut along = condition.axes.iter().enumerate().filter_map(|(at, axis)| Some((at, axis.as_ref()?)));
    let (at, step) = along.next().ok_or("its mask has a condition on the whole block")?;
    if step.wrap.is_some() || along.next().is_some() {
        return Err(other);
    }
    let axis = &mut axes[at];
    match step.scale.as_constant() {
        // start + range < extent
        Some(1) => {
            let extent = axis.start.minus(&condition.uniform).ok_or(other)?;
            if axis.extent.as_ref().is_some_and(|own| *own != extent) {
                return Err("its mask ends elsewhere than its positions, or at two places");
            }
            // What the mask leaves out is zero in any case.
            axis.extent = Some(extent);
            axis.wrap = None;
            Ok(())
        }
        // start + range >= a number that is not positive: corners do not lie in front of the tensor.
        Some(-1) => {
            let first = axis.start.plus(&condition.uniform).and_then(|first| first.as_constant());
            if first.is_some_and(|first| first < 0) { Ok(()) } else { Err(other) }
        }
        _ => Err(other),
    }
}
