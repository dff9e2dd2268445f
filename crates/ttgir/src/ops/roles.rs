//! Warps with roles: one region runs on the warps of the program, others on warps that the program has beside them.
//!
//! ```text
//! %r = ttg.warp_specialize(%full, %n) attributes {requestedRegisters = array<i32: 24>}
//! default { … ttg.warp_yield %sum : f32 }
//! partition0(%f: !ttg.memdesc<…>, %m: i32) num_warps(4) { … ttg.warp_return } : (!ttg.memdesc<…>, i32) -> f32
//! ```
//!
//! Rules: the regions run at the same time; the operation ends when all have ended. The default region uses what is
//! defined in front of the operation. What a partition uses of that are the operands, which are its arguments; until
//! the pass that makes operands of them ([`crate::passes::CAPTURE_VALUES`]) has run, it may name such values itself,
//! scalars and memory alone. A partition gives no results, and its tensors are for its own number of warps. Roles do
//! not nest. Regions tell each other what is ready by barriers in shared memory; all other barriers are of one region's
//! warps. A barrier tells two phases apart, so a warp that waits for each of them is one that a later phase counts:
//! else it may miss two and wait for ever.

use ir::text::{Arg, ParseError, Parser, Printer, RegionStyle};
use ir::view::Ints;
use ir::{ANY, Attr, Block, Format, Infer, Module, Op, OpInit, OpRow, Traits, Type, Value};
use smallvec::SmallVec;

ir::op_view! {
    WarpSpecializeOp of WARP_SPECIALIZE {
        operands { captures: Variadic ANY => Nothing }
        attrs {
            partition_num_warps "partitionNumWarps": Ints,
            requested_registers "requestedRegisters": Option<Ints>,
            actual_registers "actualRegisters": Option<Ints>,
            start_ids "warpGroupStartIds": Option<Ints>,
        }
        results { results: Variadic ANY }
    }
}

/// Regions for several roles. The first is the default region, the others are partitions.
pub static WARP_SPECIALIZE: OpRow = OpRow {
    name: "ttg.warp_specialize",
    doc: "Runs its regions at the same time: the first on the warps of the program, each other one on warps of its own.",
    infer: Infer::Explicit,
    regions: None,
    traits: Traits::REGION_EFFECTS,
    format: Format::Custom { print, parse },
    verify: Some(verify),
    ..WarpSpecializeOp::ROW
};

ir::op_view! {
    WarpYieldOp of WARP_YIELD {
        operands { values: Variadic ANY => Nothing }
    }
}

/// Ends the default region.
pub static WARP_YIELD: OpRow = OpRow {
    name: "ttg.warp_yield",
    doc: "Ends the default region with the results of the operation around it.",
    traits: Traits::TERMINATOR.and(Traits::PURE),
    format: Format::Text("attr-dict ($values : type($values))?"),
    ..WarpYieldOp::ROW
};

ir::op_view! {
    WarpReturnOp of WARP_RETURN {}
}

/// Ends a partition.
pub static WARP_RETURN: OpRow = OpRow {
    name: "ttg.warp_return",
    doc: "Ends a partition.",
    traits: Traits::TERMINATOR.and(Traits::PURE),
    format: Format::Text("attr-dict"),
    ..WarpReturnOp::ROW
};

/// A region that runs on warps of its own.
#[derive(Clone, Copy, Debug)]
pub struct Partition {
    /// Its number.
    pub number: usize,
    /// Its operations.
    pub block: Block,
    /// Its warps.
    pub num_warps: u32,
    /// The first of them, counted from the first warp of the program.
    pub first_warp: u32,
}

impl<'m> WarpSpecializeOp<'m> {
    /// What the warps of the program run.
    pub fn default_block(self) -> Block {
        self.module.entry_of(self.op)
    }

    /// What runs beside them, where the program has so many warps.
    ///
    /// Where the operation does not say which warps those are, the partitions of most warps come first, so that groups
    /// of four warps that must begin at a multiple of four do.
    pub fn partitions(self, num_warps: u32) -> Vec<Partition> {
        let counts: Vec<u32> = self.partition_num_warps().iter().map(|&count| count as u32).collect();
        let mut order: Vec<usize> = (0..counts.len()).collect();
        order.sort_by_key(|&number| std::cmp::Reverse(counts[number]));
        let mut starts = vec![0; counts.len()];
        let mut next = num_warps;
        for number in order {
            starts[number] = next;
            next += counts[number];
        }
        if let Some(said) = self.start_ids() {
            starts = said.iter().map(|&start| start as u32).collect();
        }
        let regions = &self.module.regions(self.op)[1..];
        let partition = |(number, &region)| Partition {
            number,
            block: self.module.entry(region),
            num_warps: counts[number],
            first_warp: starts[number],
        };
        regions.iter().enumerate().map(partition).collect()
    }

    /// Warps of the program and of all partitions.
    pub fn total_warps(self, num_warps: u32) -> u32 {
        let ends = self.partitions(num_warps).into_iter().map(|part| part.first_warp + part.num_warps);
        ends.max().unwrap_or(num_warps).max(num_warps)
    }
}

/// The partition around an operation, if one is: how many warps run it.
pub fn warps_around(module: &Module, op: Op) -> Option<u32> {
    let mut inner = op;
    while let Some(around) = module.parent_op(inner) {
        if let Some(of) = WarpSpecializeOp::of(module, around) {
            let region = module.block_region(module.block_of(inner)?);
            let at = module.regions(around).iter().position(|&own| own == region)?;
            return at.checked_sub(1).and_then(|at| u32::try_from(*of.partition_num_warps().get(at)?).ok());
        }
        inner = around;
    }
    None
}

fn types(module: &Module, values: &[Value]) -> Vec<Type> {
    values.iter().map(|&value| module.ty(value)).collect()
}

fn verify(module: &Module, op: Op) -> Result<(), String> {
    let of = WarpSpecializeOp::new(module, op);
    let count = module.regions(op).len().checked_sub(1).ok_or("the default region is missing")?;
    let warps = of.partition_num_warps();
    if warps.len() != count {
        return Err(format!("{count} partitions, but numbers of warps for {}", warps.len()));
    }
    if let Some(wrong) = warps.iter().find(|&&warps| !(1..=32).contains(&warps) || warps & (warps - 1) != 0) {
        return Err(format!("a partition of {wrong} warps: it must be a power of two, at most 32"));
    }
    for (what, list) in [("requested registers", of.requested_registers()), ("first warps", of.start_ids())] {
        if list.is_some_and(|list| list.len() != count) {
            return Err(format!("{count} partitions, but {what} for {}", list.map_or(0, <[i64]>::len)));
        }
    }
    verify_registers(of)?;
    verify_default(module, of)?;
    for part in of.partitions(1) {
        verify_partition(module, of, part)?;
    }
    let is_role = |around: &Op| module.is(*around, &WARP_SPECIALIZE);
    match std::iter::successors(module.parent_op(op), |&op| module.parent_op(op)).find(is_role) {
        Some(_) => Err("roles do not nest".into()),
        None => Ok(()),
    }
}

fn verify_registers(of: WarpSpecializeOp<'_>) -> Result<(), String> {
    let wrong =
        |list: &[i64]| list.iter().copied().find(|count| count % 8 != 0 || !(24..=256).contains(count));
    let lists = [of.requested_registers(), of.actual_registers()];
    match lists.into_iter().flatten().find_map(wrong) {
        Some(count) => Err(format!("{count} registers: it must be a multiple of 8 from 24 to 256")),
        None => Ok(()),
    }
}

fn verify_default(module: &Module, of: WarpSpecializeOp<'_>) -> Result<(), String> {
    let block = of.default_block();
    if !module.args(block).is_empty() {
        return Err("the default region takes no arguments".into());
    }
    let results = types(module, of.results());
    match module.last_op(block) {
        Some(last) if module.is(last, &WARP_YIELD) && types(module, module.operands(last)) == results => {
            Ok(())
        }
        _ => Err(format!("the default region must end in ttg.warp_yield of {results:?}")),
    }
}

fn verify_partition(module: &Module, of: WarpSpecializeOp<'_>, part: Partition) -> Result<(), String> {
    let (number, captures) = (part.number, types(module, of.captures()));
    let args = types(module, module.args(part.block));
    if args != captures {
        return Err(format!("partition {number} takes {args:?}, given {captures:?}"));
    }
    if let Some(tensor) = captures.iter().find(|&&ty| ttir::types::is_tensor(ty)) {
        return Err(format!("a partition cannot take {tensor}: its warps are not those that hold it"));
    }
    match module.last_op(part.block) {
        Some(last) if module.is(last, &WARP_RETURN) => Ok(()),
        _ => Err(format!("partition {number} must end in ttg.warp_return")),
    }
}

// --- text ---

/// `(%a, %b) attributes {…}`, then `default {…}` and `partition0(%x: type, …) num_warps(4) {…}` in lines of their own,
/// then `: (types) -> results`.
fn print(printer: &mut Printer<'_>, op: Op) {
    let module = printer.module();
    let of = WarpSpecializeOp::new(module, op);
    let slot = WARP_SPECIALIZE.attr_slot("partitionNumWarps");
    printer.text("(");
    printer.values(of.captures());
    printer.text(")");
    printer.attr_dict_with_keyword(op, slot.as_slice());
    printer.newline();
    printer.text("default ");
    printer.region(module.region(op, 0), RegionStyle::BODY);
    for (number, &warps) in of.partition_num_warps().iter().enumerate() {
        let region = module.region(op, number + 1);
        let block = module.entry(region);
        printer.newline();
        printer.text("partition");
        printer.int(number as i64);
        printer.text("(");
        printer.list(0..module.args(block).len(), |p, index| p.arg(block, index));
        printer.text(") num_warps(");
        printer.int(warps);
        printer.text(") ");
        printer.region(region, RegionStyle::BODY);
    }
    printer.text(" : ");
    printer.functional_type(op);
}

fn parse(parser: &mut Parser<'_>) -> Result<Op, ParseError> {
    parser.expect("(")?;
    let captures: Vec<_> = parser.list(")", Parser::operand)?;
    let entries = if parser.accept("attributes") { parser.parse_dict()? } else { Vec::new() };
    let init = OpInit { operands: SmallVec::from_slice(&captures), regions: 1, ..OpInit::default() };
    let op = parser.append(&WARP_SPECIALIZE, init);
    parser.set_attrs(op, entries)?;
    parser.expect("default")?;
    let region = parser.module.region(op, 0);
    parser.region(region, &[])?;
    let mut counts = Vec::new();
    while parser.accept(&format!("partition{}", counts.len())) {
        counts.push(partition(parser, op)?);
    }
    let slot = WARP_SPECIALIZE.attr_slot("partitionNumWarps").expect("it is declared");
    parser.module.set_attr(op, slot, Some(Attr::ints(&counts)));
    parser.expect(":")?;
    let (types, results) = parser.parse_function_type()?;
    parser.check_types(&captures, &types)?;
    for ty in results {
        parser.module.push_result(op, ty);
    }
    Ok(op)
}

/// `(%x: type, …) num_warps(4) {…}`; gives the number of warps.
fn partition(parser: &mut Parser<'_>, op: Op) -> Result<i64, ParseError> {
    parser.expect("(")?;
    let args: Vec<Arg<'_>> = parser.list(")", Parser::arg)?;
    parser.expect("num_warps")?;
    parser.expect("(")?;
    let count = parser.parse_int()?;
    parser.expect(")")?;
    let region = parser.module.push_region(op);
    parser.region(region, &args)?;
    Ok(count)
}
