//! Makes structured control flow of branches between blocks, as `.ttir` files have them for early returns.
//!
//! ```text
//!   cf.cond_br %c, ^bb1, ^bb2            scf.if %c {
//! ^bb1:                                  } else {
//!   tt.return                     =>       tt.store %p, %x : !tt.ptr<f32>
//! ^bb2:                                  }
//!   tt.store %p, %x : !tt.ptr<f32>       tt.return
//!   tt.return
//! ```
//!
//! A block that one branch goes to stands where that branch was. A block that several go to stands behind the `scf.if`
//! of its immediate dominator, which yields what it takes. Where not all ways through that `scf.if` lead there, it also
//! yields a flag, and the block stands in an `scf.if` of the flag. So no operation is copied, for any branches that
//! only go forward. Branches back are refused: loops are `scf.for` and `scf.while`.

use super::constant::{CONSTANT, POISON};
use super::control::{IF, YIELD};
use super::func::{FUNC, RETURN, ReturnOp};
use ir::text::{Branch, BranchError, Branches, Target};
use ir::{Attr, Block, Builder, Loc, Module, Op, OpInit, Place, Region, Type, Value, mapped};
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use std::cmp::Reverse;

/// How deep the conditions may nest: what is printed must be read again, by a parser that limits nesting.
const MAX_DEPTH: u32 = 56;

/// Makes structured control flow of the blocks of a function.
///
/// # Errors
/// When the region is not a function's, a branch goes back, a block does not end, or blocks return different types.
pub fn structure_branches(module: &mut Module, branches: &Branches) -> Result<(), BranchError> {
    let is_function = module.region_parent(branches.region).is_some_and(|parent| module.is(parent, &FUNC));
    if !is_function {
        let first = branches.ends.values().map(|branch| branch.at).min().unwrap_or_default();
        return Err(error(first, "branches may stand in the blocks of functions only"));
    }
    let graph = Graph::new(module, branches)?;
    drop_unreachable(module, branches, &graph)?;
    let loc = module.locs.unknown();
    let entry = graph.blocks[0];
    let mut ctx =
        Ctx { module, branches, graph: &graph, values: FxHashMap::default(), return_loc: loc, depth: 0 };
    let returned = ctx.node(0, entry)?;
    let mut builder = Builder::new(ctx.module, Place::End(entry));
    builder.loc = ctx.return_loc;
    builder.build_effect(&RETURN, &returned.exits[0].args, &[]);
    module.keep_first_block(branches.region);
    Ok(())
}

fn error(at: usize, message: impl Into<String>) -> BranchError {
    BranchError { at, message: message.into() }
}

/// The blocks that are reached; nodes are numbered so that branches go to higher numbers.
struct Graph {
    blocks: Vec<Block>,
    numbers: FxHashMap<Block, usize>,
    /// How many branches come to each node.
    incoming: Vec<usize>,
    /// The immediate dominator of each node; the first node is its own.
    dominator: Vec<usize>,
    /// How many nodes dominate each node, without itself.
    depth: Vec<usize>,
}

impl Graph {
    fn new(module: &Module, branches: &Branches) -> Result<Graph, BranchError> {
        let blocks = order(module.entry(branches.region), branches)?;
        check_ends(module, branches, &blocks)?;
        let numbers: FxHashMap<Block, usize> =
            blocks.iter().enumerate().map(|(number, &block)| (block, number)).collect();
        let mut sources = vec![Vec::new(); blocks.len()];
        for (number, block) in blocks.iter().enumerate() {
            for target in targets(branches, *block) {
                sources[numbers[&target.block]].push(number);
            }
        }
        let (mut dominator, mut depth) = (vec![0; blocks.len()], vec![0; blocks.len()]);
        for node in 1..blocks.len() {
            // All sources have lower numbers, so their dominators are known.
            let common = sources[node].iter().copied().reduce(|mut one, mut other| {
                while one != other {
                    if one > other {
                        one = dominator[one];
                    } else {
                        other = dominator[other];
                    }
                }
                one
            });
            dominator[node] = common.expect("a node behind the first is reached by a branch");
            depth[node] = depth[dominator[node]] + 1;
        }
        let incoming = sources.iter().map(Vec::len).collect();
        Ok(Graph { blocks, numbers, incoming, dominator, depth })
    }
}

fn targets(branches: &Branches, block: Block) -> &[Target] {
    branches.ends.get(&block).map_or(&[], |branch| &branch.targets)
}

/// The blocks that are reached, each in front of those that it branches to.
fn order(entry: Block, branches: &Branches) -> Result<Vec<Block>, BranchError> {
    let mut done: FxHashMap<Block, bool> = FxHashMap::from_iter([(entry, false)]);
    let mut path = vec![(entry, 0)];
    let mut ended = Vec::new();
    while let Some((block, next)) = path.last_mut() {
        // The last target first, so that the numbers follow the text.
        let all = targets(branches, *block);
        let Some(target) = all.len().checked_sub(*next + 1).map(|index| all[index].block) else {
            done.insert(*block, true);
            ended.push(*block);
            path.pop();
            continue;
        };
        *next += 1;
        match done.get(&target) {
            Some(true) => {}
            Some(false) => {
                let at = branches.ends[block].at;
                let message = "this branch goes back: loops between blocks are not read, \
                               only `scf.for` and `scf.while`";
                return Err(error(at, message));
            }
            None => {
                done.insert(target, false);
                path.push((target, 0));
            }
        }
    }
    ended.reverse();
    Ok(ended)
}

/// Blocks without a branch end in a return, and all return the same types.
fn check_ends(module: &Module, branches: &Branches, blocks: &[Block]) -> Result<(), BranchError> {
    let mut returned: Option<Vec<Type>> = None;
    for &block in blocks.iter().filter(|block| !branches.ends.contains_key(block)) {
        let place = branches.places.iter().find(|(other, _)| *other == block);
        let at = place.map_or(0, |(_, at)| *at);
        let Some(end) = module.last_op(block).and_then(|last| ReturnOp::of(module, last)) else {
            return Err(error(at, "this block must end in a branch or in `tt.return`"));
        };
        let types: Vec<Type> = end.srcs().iter().map(|&value| module.ty(value)).collect();
        match &returned {
            Some(first) if *first != types => {
                return Err(error(at, format!("this block returns {types:?}, another one {first:?}")));
            }
            _ => returned = Some(types),
        }
    }
    Ok(())
}

/// Erases the operations of blocks that nothing branches to. The others may not use their values.
fn drop_unreachable(module: &mut Module, branches: &Branches, graph: &Graph) -> Result<(), BranchError> {
    let reached = |block: Block| graph.numbers.contains_key(&block);
    let lost: Vec<(Block, usize)> =
        branches.places.iter().copied().filter(|(block, _)| !reached(*block)).collect();
    let mut values: FxHashSet<Value> = FxHashSet::default();
    for &(block, at) in &lost {
        let results = module.ops(block).flat_map(|op| module.results(op).to_vec());
        let own: Vec<Value> = module.args(block).iter().copied().chain(results).collect();
        let mut users = own.iter().flat_map(|&value| module.uses(value));
        if users.any(|&(op, _)| reached(block_in(module, branches.region, op))) {
            return Err(error(at, "nothing branches to this block, but its values are used elsewhere"));
        }
        values.extend(own);
    }
    for branch in graph.blocks.iter().filter_map(|block| branches.ends.get(block)) {
        let mut used = branch.condition.iter().chain(branch.targets.iter().flat_map(|target| &target.args));
        if used.any(|value| values.contains(value)) {
            return Err(error(branch.at, "this branch uses a value of a block that nothing branches to"));
        }
    }
    // Backwards, so that uses go before definitions.
    for &(block, _) in lost.iter().rev() {
        while let Some(last) = module.last_op(block) {
            module.erase(last);
        }
    }
    Ok(())
}

/// The block of a region in which an operation stands, itself or in an operation around it.
fn block_in(module: &Module, region: Region, op: Op) -> Block {
    let mut op = op;
    loop {
        let block = module.block_of(op).expect("what the parser reads stands in a block");
        if module.block_region(block) == region {
            return block;
        }
        op = module.region_parent(module.block_region(block)).expect("the region is around the operation");
    }
}

/// Where control goes from a part of the program.
#[derive(Clone, Copy, PartialEq, Eq)]
enum To {
    Node(usize),
    Return,
}

#[derive(Clone)]
struct Exit {
    to: To,
    args: Vec<Value>,
}

/// All ways out of a part of the program: the first whose flag holds is taken. The last has no flag.
struct Exits {
    exits: Vec<Exit>,
    flags: Vec<Value>,
}

impl Exits {
    fn only(to: To, args: Vec<Value>) -> Exits {
        Exits { exits: vec![Exit { to, args }], flags: Vec::new() }
    }
}

struct Ctx<'c> {
    module: &'c mut Module,
    branches: &'c Branches,
    graph: &'c Graph,
    /// What stands for the arguments of blocks that are in place.
    values: FxHashMap<Value, Value>,
    /// The location of a return.
    return_loc: Loc,
    /// How many conditions are open.
    depth: u32,
}

impl Ctx<'_> {
    /// Puts a node at the end of a block, with all nodes that it dominates. The arguments are in place.
    fn node(&mut self, node: usize, into: Block) -> Result<Exits, BranchError> {
        let mut node = node;
        loop {
            let block = self.graph.blocks[node];
            if block != into {
                self.module.splice_block(block, into);
            }
            let mut exits = self.end(node, into)?;
            node = loop {
                match exits.exits[0].to {
                    To::Node(next) if self.graph.dominator[next] == node => {
                        if exits.flags.is_empty() {
                            self.bind(next, &exits.exits[0].args);
                            break next;
                        }
                        exits = self.flagged(node, next, exits, into)?;
                    }
                    _ => return Ok(exits),
                }
            };
        }
    }

    /// What a node ends in.
    fn end(&mut self, node: usize, into: Block) -> Result<Exits, BranchError> {
        let branches = self.branches;
        let Some(branch) = branches.ends.get(&self.graph.blocks[node]) else {
            let end = self.module.terminator(into);
            let args = self.module.operands(end).to_vec();
            self.return_loc = self.module.loc(end);
            self.module.erase(end);
            return Ok(Exits::only(To::Return, args));
        };
        let Some(condition) = branch.condition else {
            let (to, args) = self.target(&branch.targets[0]);
            return Ok(Exits::only(To::Node(to), args));
        };
        let op = self.condition(mapped(&self.values, condition), branch, into)?;
        let then = self.arm(op, 0, &branch.targets[0])?;
        let otherwise = self.arm(op, 1, &branch.targets[1])?;
        self.depth -= 1;
        Ok(self.join(op, [then, otherwise]))
    }

    /// Puts a node that only some ways lead to under its flag, which is the first.
    fn flagged(
        &mut self,
        node: usize,
        next: usize,
        mut exits: Exits,
        into: Block,
    ) -> Result<Exits, BranchError> {
        let branches = self.branches;
        let op = self.condition(exits.flags.remove(0), &branches.ends[&self.graph.blocks[node]], into)?;
        let args = exits.exits.remove(0).args;
        let then_block = self.module.add_block(self.module.region(op, 0));
        self.bind(next, &args);
        let then = self.node(next, then_block)?;
        let else_block = self.module.add_block(self.module.region(op, 1));
        self.depth -= 1;
        Ok(self.join(op, [(then_block, then), (else_block, exits)]))
    }

    /// Makes a condition without results at the end of a block.
    fn condition(&mut self, condition: Value, branch: &Branch, into: Block) -> Result<Op, BranchError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(error(branch.at, format!("more than {MAX_DEPTH} branches depend on one another")));
        }
        let operands = SmallVec::from_slice(&[condition]);
        let mut builder = Builder::new(self.module, Place::End(into));
        builder.loc = branch.loc;
        Ok(builder.insert(&IF, OpInit { operands, regions: 2, ..OpInit::default() }))
    }

    /// One side of a branch. A node that only this branch goes to stands there.
    fn arm(&mut self, op: Op, region: usize, target: &Target) -> Result<(Block, Exits), BranchError> {
        let block = self.module.add_block(self.module.region(op, region));
        let (to, args) = self.target(target);
        if self.graph.incoming[to] > 1 {
            return Ok((block, Exits::only(To::Node(to), args)));
        }
        self.bind(to, &args);
        Ok((block, self.node(to, block)?))
    }

    fn target(&self, target: &Target) -> (usize, Vec<Value>) {
        let args = target.args.iter().map(|&value| mapped(&self.values, value)).collect();
        (self.graph.numbers[&target.block], args)
    }

    /// Lets values stand for the arguments of a node.
    fn bind(&mut self, node: usize, values: &[Value]) {
        let args = self.module.args(self.graph.blocks[node]).to_vec();
        for (arg, &value) in args.into_iter().zip(values) {
            self.module.replace_uses(arg, value);
            self.values.insert(arg, value);
        }
    }

    /// Ends both sides of a condition and gives its results: the arguments of each exit, then the flags.
    fn join(&mut self, op: Op, arms: [(Block, Exits); 2]) -> Exits {
        let mut all: Vec<Exit> = Vec::new();
        for exit in arms.iter().flat_map(|(_, exits)| &exits.exits) {
            if all.iter().all(|other| other.to != exit.to) {
                all.push(exit.clone());
            }
        }
        // What the innermost dominator places comes first, and of that what branches to others.
        all.sort_by_key(|exit| match exit.to {
            To::Node(node) => (false, Reverse(self.graph.depth[node]), node),
            To::Return => (true, Reverse(0), 0),
        });
        for (block, exits) in &arms {
            let mut builder = Builder::new(self.module, Place::End(*block));
            builder.loc = builder.module.loc(op);
            yield_exits(&mut builder, &all, exits);
        }
        for exit in &mut all {
            for value in &mut exit.args {
                *value = self.module.push_result(op, self.module.ty(*value));
            }
        }
        let flags = (1..all.len()).map(|_| self.module.push_result(op, Type::int(1))).collect();
        Exits { exits: all, flags }
    }
}

/// Ends one side of a condition that has the exits `all`.
fn yield_exits(builder: &mut Builder<'_>, all: &[Exit], own: &Exits) {
    let mut values = Vec::new();
    for exit in all {
        match own.exits.iter().find(|own| own.to == exit.to) {
            Some(own) => values.extend(&own.args),
            None => {
                for &arg in &exit.args {
                    let results = SmallVec::from_slice(&[builder.module.ty(arg)]);
                    let poison = builder.insert(&POISON, OpInit { results, ..OpInit::default() });
                    values.push(builder.module.result(poison, 0));
                }
            }
        }
    }
    for exit in &all[..all.len() - 1] {
        let index = own.exits.iter().position(|own| own.to == exit.to);
        values.push(match index.and_then(|index| own.flags.get(index)) {
            Some(&flag) => flag,
            // Its last exit, which is taken where none in front of it is, or none of its exits.
            None => builder.build(&CONSTANT, &[], &[Some(Attr::Bool(index.is_some()))]),
        });
    }
    builder.build_effect(&YIELD, &values, &[]);
}
