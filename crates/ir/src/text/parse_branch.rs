//! Reads branches between blocks, `cf.br` and `cf.cond_br`. Programs do not keep them: the registry's
//! [`Structure`] turns the blocks of a region into structured control flow as soon as the region is read.
//!
//! ```text
//!   cf.cond_br %c, ^bb1, ^bb2(%x : i32)
//! ^bb1:
//!   tt.return
//! ^bb2(%y: i32):
//!   …
//! ```

use crate::entity::{Block, Loc, Region, Value};
use crate::module::Module;
use crate::text::parse::{ParseError, Parser};
use crate::types::Type;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

/// Makes structured control flow of the blocks of a region, so that the first one is left.
pub type Structure = fn(&mut Module, &Branches) -> Result<(), BranchError>;

/// The branches of a region.
#[derive(Debug)]
pub struct Branches {
    /// The region.
    pub region: Region,
    /// What each block that ends in a branch ends in.
    pub ends: FxHashMap<Block, Branch>,
    /// Where each block begins in the text, in the order of the text.
    pub places: Vec<(Block, usize)>,
}

/// A branch.
#[derive(Debug)]
pub struct Branch {
    /// Where it stands in the text.
    pub at: usize,
    /// Its location.
    pub loc: Loc,
    /// Whether to take the first target, where there are two.
    pub condition: Option<Value>,
    /// One target, or two with a condition.
    pub targets: SmallVec<[Target; 2]>,
}

/// Where a branch goes.
#[derive(Clone, Debug)]
pub struct Target {
    /// The block.
    pub block: Block,
    /// What it takes.
    pub args: Vec<Value>,
}

/// Why branches cannot be structured.
#[derive(Debug)]
pub struct BranchError {
    /// Where, in the text.
    pub at: usize,
    /// Why.
    pub message: String,
}

/// The blocks of the region that is being read.
#[derive(Default)]
pub(super) struct OpenBlocks<'t> {
    labels: FxHashMap<&'t str, Block>,
    places: Vec<(Block, usize)>,
    written: Vec<Written<'t>>,
}

/// A branch whose targets need not have been read.
struct Written<'t> {
    block: Block,
    at: usize,
    loc: Loc,
    condition: Option<Value>,
    targets: SmallVec<[WrittenTarget<'t>; 2]>,
}

struct WrittenTarget<'t> {
    label: &'t str,
    at: usize,
    args: Vec<Value>,
}

impl<'t> OpenBlocks<'t> {
    /// Notes a block, and its label where it has one; whether no other block has the label.
    pub(super) fn add(&mut self, block: Block, at: usize, label: Option<&'t str>) -> bool {
        self.places.push((block, at));
        label.is_none_or(|label| self.labels.insert(label, block).is_none())
    }
}

impl<'t> Parser<'t> {
    /// Reads a branch, if one stands here. It ends its block.
    pub(super) fn branch(&mut self, open: &mut OpenBlocks<'t>) -> Result<bool, ParseError> {
        if self.registry.structure().is_none() || !(self.peek("cf.br") || self.peek("cf.cond_br")) {
            return Ok(false);
        }
        let at = self.at;
        let condition = if self.accept("cf.br") {
            None
        } else {
            self.expect("cf.cond_br")?;
            Some(self.branch_condition()?)
        };
        let mut targets = SmallVec::from_iter([self.branch_target()?]);
        if condition.is_some() {
            self.expect(",")?;
            targets.push(self.branch_target()?);
        }
        self.optional_attr_dict()?;
        let loc = match self.optional_loc()? {
            Some(loc) => loc,
            None => self.place_in_file(at),
        };
        open.written.push(Written { block: self.block, at, loc, condition, targets });
        if self.peek("^") || self.peek("}") { Ok(true) } else { Err(self.expected("a block or `}`")) }
    }

    /// Reads `%condition,`, with weights that are not kept.
    fn branch_condition(&mut self) -> Result<Value, ParseError> {
        let condition = self.operand()?;
        self.check_types(&[condition], &[Type::int(1)])?;
        if self.accept("weights") {
            self.expect("(")?;
            self.expect("[")?;
            self.list("]", Self::parse_int)?;
            self.expect(")")?;
        }
        self.expect(",")?;
        Ok(condition)
    }

    /// Reads `^label(%x, %y : type, type)`.
    fn branch_target(&mut self) -> Result<WrittenTarget<'t>, ParseError> {
        self.expect("^")?;
        let at = self.at - 1;
        let label = self.keyword()?;
        let mut args = Vec::new();
        if self.accept("(") {
            args = self.list(":", Self::operand)?;
            let types = self.list(")", Self::parse_type)?;
            if types.len() != args.len() {
                return Err(self.error_at(at, format!("{} values have {} types", args.len(), types.len())));
            }
            self.check_types(&args, &types)?;
        }
        Ok(WrittenTarget { label, at, args })
    }

    /// Structures the blocks of a region that has been read.
    pub(super) fn close_blocks(&mut self, region: Region, open: OpenBlocks<'t>) -> Result<(), ParseError> {
        let structure = match self.registry.structure() {
            Some(structure) if !open.written.is_empty() => structure,
            _ => {
                // Nothing branches, so nothing comes to a second block: the reference leaves such behind a return.
                self.module.keep_first_block(region);
                return Ok(());
            }
        };
        let mut ends = FxHashMap::default();
        for Written { block, at, loc, condition, targets } in open.written {
            let targets = targets.into_iter().map(|target| self.find_target(&open.labels, target));
            let targets = targets.collect::<Result<_, _>>()?;
            ends.insert(block, Branch { at, loc, condition, targets });
        }
        let branches = Branches { region, ends, places: open.places };
        structure(&mut self.module, &branches).map_err(|error| self.error_at(error.at, error.message))
    }

    fn find_target(
        &self,
        labels: &FxHashMap<&'t str, Block>,
        target: WrittenTarget<'t>,
    ) -> Result<Target, ParseError> {
        let WrittenTarget { label, at, args } = target;
        let Some(&block) = labels.get(label) else {
            return Err(self.error_at(at, format!("there is no block `^{label}` here")));
        };
        let types = |values: &[Value]| values.iter().map(|&value| self.module.ty(value)).collect::<Vec<_>>();
        let (given, taken) = (types(&args), types(self.module.args(block)));
        if given != taken {
            return Err(self.error_at(at, format!("`^{label}` takes {taken:?}, given {given:?}")));
        }
        Ok(Target { block, args })
    }
}
