//! Operations that combine elements by a region: reductions, scans, elementwise calls; and histograms.

use super::arith_cast::EXTUI;
use super::arith_int::ADDI;
use super::forms::UnaryOp;
use crate::types::{BOOL_LIKE, INT_LIKE, TENSOR_ONLY, VALUE_LIKE, elem, shape, tensor};
use ir::{
    Attr, Block, CostClass, Format, Infer, InferArgs, LayoutRule, Module, Op, OpRow, Traits, Type, Value,
};
use smallvec::SmallVec;

/// Rows of this file.
pub(super) const ROWS: &[&OpRow] =
    &[&REDUCE, &REDUCE_RETURN, &SCAN, &SCAN_RETURN, &MAP_ELEMENTWISE, &MAP_ELEMENTWISE_RETURN, &HISTOGRAM];

/// The axis among the attribute slots of an operation that is about one: the first of them.
///
/// # Errors
/// When it is missing or negative.
pub fn axis(attrs: &[Option<Attr>]) -> Result<usize, String> {
    let axis = attrs.first().and_then(|attr| attr.as_ref()?.as_int()).ok_or("the axis is missing")?;
    usize::try_from(axis).map_err(|_| format!("axis {axis} is negative"))
}

fn reduced(args: &InferArgs<'_>) -> Result<SmallVec<[Type; 2]>, String> {
    let axis = axis(args.attrs)?;
    let mut types = SmallVec::new();
    for &value in args.operands {
        let ty = args.module.ty(value);
        let mut dims = shape(ty).to_vec();
        if axis >= dims.len() {
            return Err(format!("axis {axis} is outside a block of rank {}", dims.len()));
        }
        dims.remove(axis);
        types.push(tensor(&dims, elem(ty)));
    }
    Ok(types)
}

/// The region takes two elements of each operand (all first ones, then all second ones) and returns one of each.
fn check_region(module: &Module, op: Op) -> Result<(), String> {
    let operands = module.operands(op);
    if operands.is_empty() {
        return Err("there is nothing to combine".into());
    }
    let block = match module.blocks(module.region(op, 0)) {
        [block] => *block,
        blocks => return Err(format!("the combining region has {} blocks, not one", blocks.len())),
    };
    let elems = operands.iter().map(|&value| elem(module.ty(value)));
    let expected: Vec<Type> = elems.clone().chain(elems).collect();
    let found: Vec<Type> = module.args(block).iter().map(|&value| module.ty(value)).collect();
    if expected != found {
        return Err(format!("the combining region must take {expected:?}, takes {found:?}"));
    }
    let one = &expected[..operands.len()];
    let kind = if module.is(op, &REDUCE) { &REDUCE_RETURN } else { &SCAN_RETURN };
    let Some(last) = module.last_op(block).filter(|&last| module.is(last, kind)) else {
        return Err(format!("the combining region must end in {}", kind.name));
    };
    let returned: Vec<Type> = module.operands(last).iter().map(|&value| module.ty(value)).collect();
    if returned != one {
        return Err(format!("the combining region must return {one:?}, returns {returned:?}"));
    }
    super::same_shape_operands(module, op)
}

ir::op_view! {
    ReduceOp of REDUCE {
        operands { srcs: Variadic TENSOR_ONLY }
        attrs { axis: usize }
        results { results: Variadic VALUE_LIKE }
    }
}

/// Reduction.
pub static REDUCE: OpRow = OpRow {
    name: "tt.reduce",
    doc: "Combines all elements along an axis by the region, which must be associative; the order is open.",
    infer: Infer::Rule(reduced),
    regions: Some(1),
    layout: LayoutRule::Reduce,
    traits: Traits::REGION_EFFECTS.and(Traits::COMBINES),
    format: Format::Generic,
    verify: Some(check_region),
    ..ReduceOp::ROW
};

fn is_combining(row: &OpRow) -> bool {
    row.traits.has(Traits::COMBINES)
}

/// Whether operations of a row leave one element of each line.
pub fn is_reduction(row: &OpRow) -> bool {
    is_combining(row) && matches!(row.layout, LayoutRule::Reduce)
}

ir::op_view! {
    /// A reduction or a scan: what combines elements along an axis.
    CombineOp where is_combining {
        operands { srcs: Variadic TENSOR_ONLY }
        attrs { axis / set_axis: usize }
        results { results: Variadic VALUE_LIKE }
    }
}

impl<'m> CombineOp<'m> {
    /// Reads an operation if it is a reduction.
    pub fn reduction(module: &'m Module, op: Op) -> Option<CombineOp<'m>> {
        is_reduction(module.row(op)).then(|| CombineOp::new(module, op))
    }

    /// The block that combines two elements of each operand.
    pub fn block(self) -> Block {
        self.module.entry_of(self.op)
    }

    /// The operation that combines, where it is a single one on two elements of a single operand.
    pub fn single(self) -> Option<Op> {
        let (module, block) = (self.module, self.block());
        let combine = module.first_op(block)?;
        let last = module.next(combine)?;
        let (operands, args) = (module.operands(combine), module.args(block));
        let takes_both = args.len() == 2 && (operands == args || operands.iter().rev().eq(args));
        let is_returned = module.next(last).is_none() && module.operands(last) == module.results(combine);
        (takes_both && is_returned).then_some(combine)
    }

    /// The block of conditions that is counted, where numbers that are one or zero are added.
    pub fn counted(self) -> Option<Value> {
        let adds = self.single().is_some_and(|combine| self.module.is(combine, &ADDI));
        let widens = self.module.def_op(*self.srcs().first()?).filter(|&def| self.module.is(def, &EXTUI))?;
        let conditions = UnaryOp::new(self.module, widens).src();
        (adds && elem(self.module.ty(conditions)) == Type::int(1)).then_some(conditions)
    }

    /// The neutral element of [`CombineOp::single`], as the bits of the element type.
    pub fn neutral(self) -> Option<u64> {
        let combine = self.single()?;
        (self.module.row(combine).neutral?)(elem(self.module.ty(self.srcs()[0])))
    }
}

/// Whether a region that runs for each element has no control flow and no effects, such as assertions.
pub fn is_plain(module: &Module, block: Block) -> bool {
    let has_no_effect = |op: Op| module.has(op, Traits::TERMINATOR) || !module.results(op).is_empty();
    module.ops(block).all(|op| module.regions(op).is_empty() && has_no_effect(op))
}

/// Ends the region of [`REDUCE`].
pub static REDUCE_RETURN: OpRow = terminator("tt.reduce.return", "Ends the combining region of a reduction.");

ir::op_view! {
    ScanOp of SCAN {
        operands { srcs: Variadic TENSOR_ONLY }
        attrs { axis: usize, reverse: bool }
        results { results: Variadic TENSOR_ONLY }
    }
}

/// Scan.
pub static SCAN: OpRow = OpRow {
    name: "tt.scan",
    doc: "All partial combinations along an axis, from the front, or from the back with `reverse`.",
    infer: Infer::Rule(|args| Ok(args.operands.iter().map(|&value| args.module.ty(value)).collect())),
    regions: Some(1),
    layout: LayoutRule::Same,
    traits: Traits::REGION_EFFECTS.and(Traits::COMBINES),
    format: Format::Generic,
    verify: Some(check_scan),
    ..ScanOp::ROW
};

fn check_scan(module: &Module, op: Op) -> Result<(), String> {
    check_region(module, op)?;
    let (axis, rank) =
        (ScanOp::new(module, op).axis(), crate::types::shape(module.ty(module.operand(op, 0))).len());
    if axis >= rank {
        return Err(format!("axis {axis} is outside a block of rank {rank}"));
    }
    Ok(())
}

/// Ends the region of [`SCAN`].
pub static SCAN_RETURN: OpRow = terminator("tt.scan.return", "Ends the combining region of a scan.");

ir::op_view! {
    MapElementwiseOp of MAP_ELEMENTWISE {
        operands { srcs: Variadic TENSOR_ONLY }
        attrs { pack: usize = Int(1) }
        results { results: Variadic TENSOR_ONLY }
    }
}

/// Elementwise call of a region.
pub static MAP_ELEMENTWISE: OpRow = OpRow {
    name: "tt.map_elementwise",
    doc: "Runs the region for each element (for each `pack` neighbouring elements) of all operands.",
    infer: Infer::Explicit,
    regions: Some(1),
    layout: LayoutRule::Same,
    traits: Traits::REGION_EFFECTS,
    format: Format::Generic,
    verify: Some(check_map_region),
    ..MapElementwiseOp::ROW
};

/// The region takes `pack` elements of each operand and returns `pack` elements of each result.
fn check_map_region(module: &Module, op: Op) -> Result<(), String> {
    let pack =
        module.attr(op, 0).and_then(Attr::as_int).and_then(|pack| usize::try_from(pack).ok()).unwrap_or(0);
    if pack == 0 || module.operands(op).is_empty() || module.results(op).is_empty() {
        return Err("needs a positive `pack`, operands and results".into());
    }
    let count = crate::types::numel(module.ty(module.operand(op, 0)));
    if count % pack as i64 != 0 {
        return Err(format!("`pack` is {pack}, which does not divide {count} elements"));
    }
    let several = |values: &[ir::Value]| -> Vec<Type> {
        values.iter().flat_map(|&value| std::iter::repeat_n(elem(module.ty(value)), pack)).collect()
    };
    let types =
        |values: &[ir::Value]| -> Vec<Type> { values.iter().map(|&value| module.ty(value)).collect() };
    let block = module.entry_of(op);
    let (expected, found) = (several(module.operands(op)), types(module.args(block)));
    if expected != found {
        return Err(format!("the region must take {expected:?}, takes {found:?}"));
    }
    let Some(last) = module.last_op(block).filter(|&last| module.is(last, &MAP_ELEMENTWISE_RETURN)) else {
        return Err(format!("the region must end in {}", MAP_ELEMENTWISE_RETURN.name));
    };
    let (expected, found) = (several(module.results(op)), types(module.operands(last)));
    if expected != found {
        return Err(format!("the region must return {expected:?}, returns {found:?}"));
    }
    super::same_shape(module, op)
}

/// Ends the region of [`MAP_ELEMENTWISE`].
pub static MAP_ELEMENTWISE_RETURN: OpRow =
    terminator("tt.map_elementwise.return", "Ends the region of an elementwise call.");

ir::op_view! {
    CombinedOp of REDUCE_RETURN, SCAN_RETURN, MAP_ELEMENTWISE_RETURN {
        operands { result: Variadic VALUE_LIKE }
    }
}

const fn terminator(name: &'static str, doc: &'static str) -> OpRow {
    OpRow {
        name,
        doc,
        traits: Traits::TERMINATOR.and(Traits::PURE),
        format: Format::Text("$result attr-dict : type($result)"),
        ..CombinedOp::ROW
    }
}

ir::op_view! {
    HistogramOp of HISTOGRAM {
        operands { src: One INT_LIKE, mask: Optional BOOL_LIKE }
        results { result: One INT_LIKE }
    }
}

/// Counts.
pub static HISTOGRAM: OpRow = OpRow {
    name: "tt.histogram",
    doc: "How often each number from 0 up occurs, where the mask holds. Numbers outside are not counted.",
    infer: Infer::Explicit,
    layout: LayoutRule::Apart,
    cost: CostClass::Once,
    traits: Traits::PURE,
    format: Format::Text("$src (, $mask)? attr-dict : type($src) -> type($result)"),
    ..HistogramOp::ROW
};
