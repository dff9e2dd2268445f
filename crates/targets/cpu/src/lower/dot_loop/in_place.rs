//! Right operands that a few rows multiply where they lie.
//!
//! Input:  `for k { a = load …; b = load …; acc = dot a, b, acc }` with few rows
//! Output: `for block of iterations { for k { pack a }; for k { table of rows of b }; few_rows(a, table, acc) }`
//!
//! Packing pays where many rows meet what is packed. Here a table says where the rows of the operand begin, and the
//! kernel reads each once. Where a block hangs over an edge, or wraps around, or its mask leaves anything out, it is
//! copied with all that its load says, and the table points to the copy.
//!
//! Where programs may share the operand, it is packed as for many rows, but where the matrix has no more rows than one
//! program. Nothing but the matrix decides: sums by the two ways differ in their last bits, and which program packed
//! what before depends on the number of threads.
//!
//! Legal where the elements of a row are neighbours, and masked-off ones are zeros.

use super::super::chunk::{Assumed, Chunks, Memo};
use super::super::emitter::{Emitter, Note};
use super::super::error::{LowerError, Result};
use super::super::plan;
use super::super::scratch::Buffer;
use super::super::strides::{self, DEPTH};
use super::super::subtarget::Subtarget;
use super::super::value::{Index, Lanes, Linear, Val};
use super::super::{operands, types};
use super::{PanelDot, limits};
use crate::dot::{Along, Element, FewRows, MOST_ROWS, Operands, PanelSpec};
use ir::{Block, FloatKind, Module, Op, Value as IrValue};
use llir::{IntCompare, Type, Value};
use ttir::ops::access::AccessOp;
use ttir::ops::forms::{BinaryOp, UnaryOp};
use ttir::ops::shape::{ExpandDimsOp, SplatOp};
use ttir::ops::{arith_cast, arith_int};

/// How accesses are noted.
const WAY: &str = "vector, multiplied where it lies";

/// A right operand that is multiplied where it lies.
#[derive(Debug)]
pub(super) struct InPlace {
    /// What loads it.
    load: Op,
    /// The dimension of what is loaded whose elements are neighbours.
    dim: usize,
    /// The masks that all hold where it is loaded: a row or a column each.
    masks: Vec<IrValue>,
    /// Remainders in its addresses along that dimension.
    remainders: Vec<Op>,
    /// The kernel; the stride of `C` is not known yet.
    kernel: FewRows,
    /// Whether programs may share the operand, so that it is packed where there are more rows.
    pub(super) is_shared: bool,
}

/// How a right operand is multiplied where it lies, if a few rows do.
pub(super) fn find(module: &Module, machine: &Subtarget, spec: &PanelSpec, b: IrValue) -> Option<InPlace> {
    if spec.m > MOST_ROWS {
        return None;
    }
    let (source, is_turned) = operands::source(module, b);
    let loaded = find_load(module, machine, (source, is_turned))?;
    let element = match (spec.operands, loaded.element) {
        (Operands::F32, element) => element,
        (Operands::Bf16Pairs, Element::Bf16) => Element::Bf16Pairs,
        _ => return None,
    };
    let kernel = FewRows {
        m: spec.m,
        n: spec.n,
        step: spec.step,
        along: loaded.along,
        element,
        a_row_stride: spec.a_row_stride,
        c_row_stride: spec.c_row_stride,
        machine: spec.machine,
    };
    let Loaded { load, dim, masks, remainders, .. } = loaded;
    kernel.exists().then_some(InPlace { load, dim, masks, remainders, kernel, is_shared: false })
}

/// Whether a dot of one row reads this matrix, or its transpose, where it lies: where it is long enough, its rows are
/// some registers.
pub(crate) fn is_read_in_place(
    module: &Module,
    machine: &Subtarget,
    (matrix, is_turned): (IrValue, bool),
) -> bool {
    let shape = types::shape(module.ty(matrix));
    let lanes = i64::from(machine.lanes());
    let is_binary32 = ttir::types::elem(module.ty(matrix)).as_float() == Some(FloatKind::F32);
    is_binary32
        && shape.iter().all(|&size| size >= lanes)
        && find_load(module, machine, (matrix, is_turned)).is_some()
}

/// How a matrix is loaded.
struct Loaded {
    load: Op,
    element: Element,
    along: Along,
    dim: usize,
    masks: Vec<IrValue>,
    remainders: Vec<Op>,
}

/// How a right operand, or what it is the transpose of, is loaded, if so that it can be read where it lies.
fn find_load(module: &Module, machine: &Subtarget, (source, is_turned): (IrValue, bool)) -> Option<Loaded> {
    // Numbers of 16 bits are widened by the kernel, whoever says so.
    let op = module.def_op(source)?;
    let source = if module.is(op, &arith_cast::EXTF) { UnaryOp::new(module, op).src() } else { source };
    let load = AccessOp::load(module, module.def_op(source)?)?;
    let element = match ttir::types::elem(module.ty(source)).as_float()? {
        FloatKind::F32 => Element::F32,
        FloatKind::BF16 => Element::Bf16,
        FloatKind::F16 if machine.has_f16 => Element::F16,
        _ => return None,
    };
    let (pointer, columns) = (load.ptr(), usize::from(!is_turned));
    let is_run = |&dim: &usize| strides::stride(module, pointer, dim, DEPTH) == Some(1);
    let dim = [columns, 1 - columns].into_iter().find(is_run)?;
    let remainders = remainders_along(module, pointer, dim, DEPTH)?;
    let masks = limits::parts_of_mask(module, load.op);
    let is_edge = |&mask: &IrValue| [0, 1].into_iter().any(|dim| limits::is_along(module, mask, dim));
    let is_zero = load.other().is_none_or(|other| operands::is_zero(module, other));
    let along = if dim == columns { Along::Columns } else { Along::Depth };
    let fits = is_zero && masks.iter().all(is_edge);
    fits.then_some(Loaded { load: load.op, element, along, dim, masks, remainders })
}

/// The remainders that make a value wrap around along a dimension; `None` where some are not of a range by a scalar.
fn remainders_along(module: &Module, value: IrValue, dim: usize, depth: u32) -> Option<Vec<Op>> {
    let sizes = types::shape(module.ty(value));
    let (Some(op), true) = (module.def_op(value), sizes.get(dim).is_some_and(|&size| size > 1)) else {
        return Some(Vec::new());
    };
    let (row, depth) = (module.row(op), depth.checked_sub(1)?);
    if row.is(&arith_int::REMSI) || row.is(&arith_int::REMUI) {
        let two = BinaryOp::new(module, op);
        let is_range = sizes.len() == 1 && strides::stride(module, two.lhs(), dim, depth) == Some(1);
        let by_scalar = SplatOp::def(module, two.rhs()).is_some();
        let is_plain = is_range && by_scalar && remainders_along(module, two.lhs(), dim, depth)?.is_empty();
        return is_plain.then(|| vec![op]);
    }
    let dim = match ExpandDimsOp::of(module, op) {
        Some(expand) if dim > expand.axis() => dim - 1,
        _ => dim,
    };
    let mut all = Vec::new();
    for &operand in module.operands(op) {
        all.extend(remainders_along(module, operand, dim, depth)?);
    }
    Some(all)
}

/// Steps of k whose elements are read one behind the other, where they are neighbours.
pub(super) const DEPTH_OF_RUNS: u32 = 1024;

impl InPlace {
    /// Whether elements along k are neighbours.
    pub(super) fn is_along_depth(&self) -> bool {
        self.kernel.along == Along::Depth
    }

    /// Gives the rows of the packed left operand another distance.
    pub(super) fn set_a_row_stride(&mut self, stride: u32) {
        self.kernel.a_row_stride = stride;
    }

    /// Rows of the operand in one iteration, and the elements of each.
    fn rows(&self) -> [i64; 2] {
        let FewRows { n, step, along, .. } = self.kernel;
        let depth = step * self.kernel.group();
        match along {
            Along::Columns => [depth, n].map(i64::from),
            Along::Depth => [n, depth].map(i64::from),
        }
    }

    /// Bytes of the table of so many iterations.
    fn table_bytes(&self, iterations: u32) -> u64 {
        u64::from(iterations) * self.rows()[0] as u64 * u64::from(Type::PTR.lane_bytes())
    }

    /// Room for copies, one behind the other: so many elements each.
    fn copy_elements(&self) -> i64 {
        self.rows().iter().product()
    }
}

impl PanelDot {
    /// Bytes of what is needed for the right operand of so many iterations.
    pub(super) fn in_place_bytes(&self, iterations: u32) -> Option<u64> {
        let in_place = self.in_place.as_ref()?;
        let copies = u64::from(iterations) * in_place.copy_elements() as u64 * 4;
        Some(in_place.table_bytes(iterations).next_multiple_of(64) + copies)
    }
}

impl Emitter<'_> {
    /// Notes where the rows of a right operand begin in one iteration of a loop, behind so many steps of `k`.
    pub(super) fn table_iteration(
        &mut self,
        (dot, in_place): (&PanelDot, &InPlace),
        block: Block,
        (place, iterations): (u64, u32),
        done: Value,
    ) -> Result<()> {
        let ops = &dot.sides[1].slice.ops;
        let plan = plan::slice(self.planning(), block, ops, None);
        self.run_plan(&plan, |_, _| Ok(false))?;
        let [rows, _] = in_place.rows();
        let shift = self.b.i64(i64::from(dot.spec.step.trailing_zeros()));
        let iteration = self.b.lshr(done, shift);
        let [first, elements] = [rows, in_place.copy_elements()].map(|each| {
            let each = self.b.i64(each);
            self.b.mul(iteration, each)
        });
        let table = self.b.i64(place as i64);
        let table = self.b.offset(self.frame.scratch, table);
        let table = self.b.gep(Type::PTR, table, first);
        let copies = place + in_place.table_bytes(iterations).next_multiple_of(64);
        let Some(inside) = self.is_inside(in_place)? else {
            return self.copied_rows((dot, in_place), block, (table, copies, elements));
        };
        let mut branch = self.b.begin_if(inside);
        let pointer = AccessOp::new(self.module, in_place.load).ptr();
        self.each_row(rows, table, |cx, counter| {
            let var = cx.counted_loop(1, rows, counter);
            let mut dims = vec![Index::constant(0, 1); 2];
            dims[1 - in_place.dim] = Index::Known(Linear::counter(var), Lanes::uniform(1));
            let at = cx.at(dims);
            let (mut memo, assumed) = (Memo::default(), Assumed::default());
            Chunks::new(cx, &mut memo, &assumed, 1).scoped(|chunks| {
                let val = chunks.eval(pointer, &at)?;
                let ty = chunks.module.ty(pointer);
                Ok(chunks.vector(&val, ty))
            })
        })?;
        let note = Note { op: in_place.load, way: WAY, lanes: self.machine.lanes() };
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
        self.b.begin_else(&mut branch, &[]);
        self.copied_rows((dot, in_place), block, (table, copies, elements))?;
        self.b.end_if(branch, &[]);
        Ok(())
    }

    /// Writes an address for each row to the table.
    fn each_row(
        &mut self,
        rows: i64,
        table: Value,
        mut address: impl FnMut(&mut Self, Value) -> Result<Value>,
    ) -> Result<()> {
        let [start, end, step] = [0, rows, 1].map(|number| self.b.i64(number));
        let opened = self.b.begin_for(start, end, step, &[]);
        let own = address(self, opened.iv)?;
        let place = self.b.gep(Type::PTR, table, opened.iv);
        self.b.store(own, place, Type::PTR.lane_bytes());
        self.b.end_for(opened, &[]);
        Ok(())
    }

    /// Copies the operand as it is loaded, and notes where the rows of the copy are.
    fn copied_rows(
        &mut self,
        (dot, in_place): (&PanelDot, &InPlace),
        block: Block,
        (table, copies, elements): (Value, u64, Value),
    ) -> Result<()> {
        let source = self.module.result(in_place.load, 0);
        let elem = ttir::types::elem(self.module.ty(source));
        let [rows, row] = in_place.rows();
        let mut strides = vec![1; 2];
        strides[1 - in_place.dim] = row;
        let copy = Buffer { offset: copies, strides, elem, by: Some(elements), panels: None };
        self.in_region(self.here(), |cx| {
            let ops = &dot.sides[1].slice.ops;
            let plan = plan::slice(cx.planning(), block, ops, Some((source, copy.clone())));
            cx.wide.remove(&(source, elem));
            cx.run_plan(&plan, |_, _| Ok(false))?;
            let base = cx.address(&copy);
            let lane = types::memory(elem);
            cx.each_row(rows, table, |cx, counter| {
                let row = cx.b.i64(row);
                let offset = cx.b.mul(counter, row);
                Ok(cx.b.gep(lane, base, offset))
            })
        })
    }

    /// Whether all masks hold all over the block and no address wraps around; `None` where that is never known.
    fn is_inside(&mut self, in_place: &InPlace) -> Result<Option<Value>> {
        let mut inside = self.b.bool(true);
        for &op in &in_place.remainders {
            let lanes = self.machine.lanes();
            let Some((fits, _)) = self.no_wrap(op, lanes, &Assumed::default())? else { return Ok(None) };
            inside = self.b.and(inside, fits);
        }
        for &mask in &in_place.masks {
            let Some(holds) = self.holds_throughout(mask) else { return Ok(None) };
            inside = self.b.and(inside, holds);
        }
        Ok(Some(inside))
    }

    /// Whether no rows follow those of a dot, if the masks of its stores tell.
    pub(super) fn are_last_rows(&mut self, dot: &PanelDot) -> Value {
        let size = dot.spec.m;
        match dot.limits[0].and_then(|mask| self.rows_left(mask, size)) {
            Some(left) => {
                let size = self.b.i64(i64::from(size));
                self.b.icmp(IntCompare::Sle, left, size)
            }
            None => self.b.bool(false),
        }
    }

    /// Whether a mask, a row or a column, holds in all of its elements, if its form tells.
    fn holds_throughout(&mut self, mask: IrValue) -> Option<Value> {
        let shape = types::shape(self.module.ty(mask)).to_vec();
        let size = shape.iter().copied().max()?;
        let lanes = u32::try_from(size).ok()?;
        let each = |extent: &i64| match extent {
            1 => Index::constant(0, lanes),
            _ => Index::Known(Linear::default(), Lanes((0..size).collect())),
        };
        let at = self.at(shape.iter().map(each).collect());
        let (mut memo, assumed) = (Memo::default(), Assumed::default());
        let mut chunks = Chunks::new(self, &mut memo, &assumed, lanes);
        let mut forms = chunks.forms();
        let val = forms.scoped(|forms| forms.eval(mask, &at)).ok().filter(|_| !forms.is_open)?;
        match val {
            Val::Uniform(holds) => Some(holds),
            Val::Window(window) if window.start.is_none() && window.linear == Linear::default() => {
                let (count, size) = (window.count?, forms.b.i64(size));
                Some(forms.b.icmp(IntCompare::Sge, count, size))
            }
            _ => None,
        }
    }

    /// Multiplies so many steps of `k` of packed rows with what the table tells.
    pub(super) fn multiply_in_place(
        &mut self,
        (dot, in_place): (&PanelDot, &InPlace),
        [a, table]: [u64; 2],
        shift: Option<Value>,
        c: &Buffer,
        iterations: Value,
    ) -> Result<()> {
        let kernel = FewRows {
            c_row_stride: u32::try_from(c.strides[0]).map_err(|_| LowerError::new("a row is too long"))?,
            ..in_place.kernel
        };
        let size = dot.spec.m;
        let seen = dot.limits[0].filter(|_| dot.spec.used[0] == size).and_then(|mask| self.seen(mask, size));
        let rows = seen.unwrap_or_else(|| self.b.i64(i64::from(dot.spec.used[0])));
        let count = match kernel.along {
            Along::Columns => {
                let step = self.b.i64(i64::from(dot.spec.step));
                self.b.mul(iterations, step)
            }
            Along::Depth => iterations,
        };
        let [a, table] = [a, table].map(|place| {
            let place = self.b.i64(place as i64);
            self.b.offset(self.frame.scratch, place)
        });
        let a = shift.map_or(a, |shift| self.b.gep(dot.unit(), a, shift));
        let args = [a, table, self.address(c), count, rows];
        let (definitions, symbol) = (kernel.definitions(), kernel.symbol());
        self.call_text(&definitions, &symbol, Type::VOID, &args, llir::Purity::Impure);
        Ok(())
    }
}
