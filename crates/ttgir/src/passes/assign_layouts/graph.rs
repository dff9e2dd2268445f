//! What is to be decided: one layout for each operation on blocks that is not cheap, and for each carried value.

use super::cost::{self, Access};
use super::layouts::{Layout, Layouts, Side};
use super::pins::Pins;
use super::rematerialize::Rematerializable;
use super::ties::tied;
use super::{demand, memory, neighbours, scan_cost};
use crate::ops::shared::AllocOp;
use crate::passes::context::machine_of;
use crate::{Encoding, SharedEncoding};
use ir::{Block, LayoutRule, Module, Op, Traits, Value};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use ttir::ops::access::AccessOp;
use ttir::ops::control::{CONDITION, FOR, IF, WHILE};
use ttir::ops::reduce::{CombineOp, SCAN};
use ttir::types::{elem, elem_bytes, is_tensor, numel, shape};

/// A decision: the number of a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub(crate) struct NodeId(pub(crate) u32);

/// What a decision is about.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Subject {
    /// The layout of an operation; see [`super::ties`].
    Op(Op),
    /// A value that control flow carries.
    Carried,
}

/// A value that one node makes and another takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edge {
    /// The value.
    pub(crate) value: Value,
    /// Who makes it.
    pub(crate) from: NodeId,
    /// Who takes it.
    pub(crate) to: NodeId,
    /// The layout in which it is made, where that is pinned.
    pub(crate) made: Option<Layout>,
    /// The layout that the operand slot which holds it asks for, where that is pinned.
    pub(crate) wanted: Option<Layout>,
    /// How often it is made.
    pub(crate) frequency: f64,
}

impl NodeId {
    /// Its place in lists of all nodes.
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A decision and what it depends on.
pub(crate) struct Node {
    /// What it is about.
    pub(crate) subject: Subject,
    /// Whether the operation allows no choice: see [`Pins`].
    pub(crate) fixed: bool,
    /// The value whose layout is decided.
    pub(crate) principal: Option<Value>,
    /// Loops around it.
    pub(crate) depth: usize,
    /// How it runs through memory, if it does.
    pub(crate) access: Option<Access>,
    /// The layout that its access would choose.
    pub(crate) preferred: Option<Layout>,
    /// A layout that may suit the operation better than those of what is around it.
    pub(crate) alternative: Option<Layout>,
    /// Edges that end here.
    pub(crate) ins: SmallVec<[usize; 4]>,
    /// Edges that begin here.
    pub(crate) outs: SmallVec<[usize; 4]>,
}

/// All decisions of a function.
pub(crate) struct Graph<'m> {
    pub(crate) module: &'m Module,
    pub(crate) cheap: Rematerializable,
    pub(crate) nodes: Vec<Node>,
    pub(crate) edges: Vec<Edge>,
    makers: FxHashMap<Value, NodeId>,
    /// Where each value that is not cheap is made: loops around it.
    depths: FxHashMap<Value, usize>,
    by_op: FxHashMap<Op, NodeId>,
    pins: &'m Pins,
    /// Whether what a dot made is stored from where it is.
    stores_fragments: bool,
}

impl<'m> Graph<'m> {
    /// The decisions of a function.
    pub(crate) fn new(
        module: &'m Module,
        function: Op,
        pins: &'m Pins,
        layouts: &mut Layouts,
        access: &mut dyn FnMut(Op) -> Option<Access>,
    ) -> Graph<'m> {
        let body = module.entry_of(function);
        let mut cheap = Rematerializable::default();
        cheap.visit(module, body);
        let mut graph = Graph {
            module,
            cheap,
            nodes: Vec::new(),
            edges: Vec::new(),
            makers: FxHashMap::default(),
            depths: FxHashMap::default(),
            by_op: FxHashMap::default(),
            pins,
            stores_fragments: machine_of(module).stores_fragments,
        };
        graph.add_block(body, 0, access);
        for node in &mut graph.nodes {
            node.preferred = match (&node.access, node.subject) {
                (Some(access), Subject::Op(op)) => {
                    let split = demand::split_of(module, op, pins, layouts);
                    let runs = demand::runs_along(module, op, pins, layouts);
                    // What lanes turn in registers goes through shared memory, and from memory as it lies there.
                    node.fixed |= runs.is_some();
                    let is_free = access.repeats() && split.is_none() && runs.is_none();
                    (!is_free).then(|| memory::preferred(access, split, runs, layouts))
                }
                (None, Subject::Op(op)) => {
                    let asked = neighbours::preferred(module, op, layouts);
                    let boxed = asked.or_else(|| memory::boxed(module, op, layouts));
                    boxed.or_else(|| memory::stored(module, op, layouts))
                }
                (_, Subject::Carried) => None,
            };
            if let Subject::Op(op) = node.subject {
                node.alternative = scan_cost::in_runs(module, op, layouts);
            }
        }
        graph.connect();
        graph
    }

    fn add(
        &mut self,
        subject: Subject,
        depth: usize,
        access: Option<Access>,
        principal: Option<Value>,
    ) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        let fixed = matches!(subject, Subject::Op(op) if self.is_pinned(op));
        self.nodes.push(Node {
            subject,
            fixed,
            principal,
            depth,
            access,
            preferred: None,
            alternative: None,
            ins: SmallVec::new(),
            outs: SmallVec::new(),
        });
        id
    }

    /// Whether the layouts of what an operation gives, or of what it takes, are no choice: a function that is called
    /// may take blocks of several shapes and give none.
    fn is_pinned(&self, op: Op) -> bool {
        let module = self.module;
        let mut slots = 0..module.operands(op).len() as u32;
        module.results(op).iter().any(|value| self.pins.results.contains_key(value))
            || slots.any(|slot| self.pins.operands.contains_key(&(op, slot)))
    }

    fn make(&mut self, values: &[Value], node: NodeId, depth: usize) {
        for &value in values {
            self.makers.insert(value, node);
            self.depths.insert(value, depth);
        }
    }

    /// One node for values that are one: the same position in several lists.
    fn carry(&mut self, lists: &[(&[Value], usize)]) {
        let count = lists.first().map_or(0, |list| list.0.len());
        for index in 0..count {
            let value = lists[0].0[index];
            if !is_tensor(self.module.ty(value)) || self.cheap.contains(value) {
                continue;
            }
            let depth = lists.iter().map(|list| list.1).max().unwrap_or(0);
            let node = self.add(Subject::Carried, depth, None, Some(value));
            for (values, depth) in lists {
                self.make(&values[index..=index], node, *depth);
            }
        }
    }

    fn add_block(&mut self, block: Block, depth: usize, access: &mut dyn FnMut(Op) -> Option<Access>) {
        let module = self.module;
        for op in module.ops(block) {
            let entry = |index: usize| module.entry(module.region(op, index));
            if module.is(op, &FOR) {
                let args = &module.args(entry(0))[1..];
                self.carry(&[(args, depth + 1), (module.results(op), depth)]);
                self.add_block(entry(0), depth + 1, access);
            } else if module.is(op, &WHILE) {
                self.carry(&[(module.args(entry(0)), depth + 1)]);
                self.carry(&[(module.args(entry(1)), depth + 1), (module.results(op), depth)]);
                self.add_block(entry(0), depth + 1, access);
                self.add_block(entry(1), depth + 1, access);
            } else if module.is(op, &IF) {
                self.carry(&[(module.results(op), depth)]);
                for &region in module.regions(op) {
                    for &inner in module.blocks(region) {
                        self.add_block(inner, depth, access);
                    }
                }
            } else if !module.has(op, Traits::TERMINATOR) && self.is_decided(op) {
                let access = access(op);
                let node = self.add(Subject::Op(op), depth, access, principal(module, op));
                self.by_op.insert(op, node);
                let blocks: SmallVec<[Value; 2]> =
                    module.results(op).iter().copied().filter(|&value| is_tensor(module.ty(value))).collect();
                self.make(&blocks, node, depth);
            }
        }
    }

    fn is_decided(&self, op: Op) -> bool {
        let mut values = self.module.results(op).iter().chain(self.module.operands(op));
        let cheap = self.module.results(op).first().is_some_and(|&value| self.cheap.contains(value));
        !cheap && values.any(|&value| is_tensor(self.module.ty(value)))
    }

    /// The node that takes a value in an operand slot.
    pub(crate) fn taker(&self, op: Op, slot: usize) -> Option<NodeId> {
        let module = self.module;
        let carried = |value: Option<&Value>| value.and_then(|value| self.makers.get(value)).copied();
        if module.is(op, &FOR) {
            return carried(module.results(op).get(slot.checked_sub(3)?));
        }
        if module.is(op, &WHILE) {
            return carried(module.args(module.entry_of(op)).get(slot));
        }
        if !module.has(op, Traits::TERMINATOR) {
            return self.by_op.get(&op).copied();
        }
        let around = module.parent_op(op)?;
        if module.is(op, &CONDITION) {
            return carried(module.results(around).get(slot.checked_sub(1)?));
        }
        if module.is(around, &WHILE) {
            return carried(module.args(module.entry_of(around)).get(slot));
        }
        carried(module.results(around).get(slot))
    }

    fn connect(&mut self) {
        let mut makers: Vec<(Value, NodeId)> =
            self.makers.iter().map(|(&value, &node)| (value, node)).collect();
        makers.sort_unstable();
        for (value, from) in makers {
            for &(user, slot) in self.module.uses(value) {
                let Some(to) = self.taker(user, slot as usize) else { continue };
                let edge = self.edges.len();
                let made = self.pins.results.get(&value).copied();
                let wanted = self.pins.operands.get(&(user, slot)).copied();
                let frequency = cost::frequency(self.depths.get(&value).copied().unwrap_or(0));
                self.edges.push(Edge { value, from, to, made, wanted, frequency });
                self.nodes[from.index()].outs.push(edge);
                self.nodes[to.index()].ins.push(edge);
            }
        }
    }

    /// The node that makes a value.
    pub(crate) fn maker(&self, value: Value) -> Option<NodeId> {
        self.makers.get(&value).copied()
    }

    /// The layout that a node's own layout asks of a value it takes; `None` for any.
    pub(crate) fn wanted(&self, layouts: &mut Layouts, edge: &Edge, own: Layout) -> Option<Layout> {
        match self.nodes[edge.to.index()].subject {
            Subject::Carried => Some(own),
            Subject::Op(op) => edge.wanted.or_else(|| tied(layouts, self.module, op, Side::Operand, own)),
        }
    }

    /// The layout that an operation asks of an operand; `None` for any.
    pub(crate) fn wanted_by(&self, layouts: &mut Layouts, op: Op, slot: u32, own: Layout) -> Option<Layout> {
        let pinned = self.pins.operands.get(&(op, slot)).copied();
        pinned.or_else(|| tied(layouts, self.module, op, Side::Operand, own))
    }

    /// The layout in which a node makes a value.
    pub(crate) fn made(&self, layouts: &mut Layouts, from: NodeId, value: Value, own: Layout) -> Layout {
        let pinned = self.pins.results.get(&value).copied();
        pinned.unwrap_or_else(|| self.made_by(layouts, from, own))
    }

    /// The same for the value of an edge.
    pub(crate) fn made_for(&self, layouts: &mut Layouts, edge: &Edge, own: Layout) -> Layout {
        edge.made.unwrap_or_else(|| self.made_by(layouts, edge.from, own))
    }

    fn made_by(&self, layouts: &mut Layouts, from: NodeId, own: Layout) -> Layout {
        match self.nodes[from.index()].subject {
            Subject::Carried => own,
            Subject::Op(op) => tied(layouts, self.module, op, Side::Result, own).unwrap_or(own),
        }
    }

    /// What a node's own work costs in a layout.
    pub(crate) fn own_cost(&self, layouts: &mut Layouts, id: NodeId, own: Layout) -> f64 {
        let node = &self.nodes[id.index()];
        let Subject::Op(op) = node.subject else { return 0.0 };
        let Some(value) = node.principal.filter(|_| !node.fixed) else { return 0.0 };
        let module = self.module;
        let frequency = cost::frequency(node.depth);
        if let Some(access) = &node.access {
            let bases = layouts.bases(own, module.ty(AccessOp::new(module, op).ptr()));
            let is_direct = self.stores_fragments && AccessOp::store(module, op).is_some();
            if is_direct && matches!(layouts.encoding(own), Encoding::Fragments(_)) {
                return access.moved() * frequency;
            }
            return access.cost(&bases) * frequency;
        }
        let ty = module.ty(value);
        let bases = layouts.bases(own, ty);
        if let Some(combine) = CombineOp::of(module, op) {
            let axis = combine.axis();
            let bytes: u64 = module
                .operands(op)
                .iter()
                .map(|&value| elem_bytes(ttir::types::elem(module.ty(value))))
                .sum();
            let body = module.ops(combine.block()).map(|inner| module.row(inner).cost.instructions());
            let (shape, operations) = (shape(ty), body.sum::<f64>().max(1.0));
            let cost = match module.is(op, &SCAN) {
                true => {
                    scan_cost::scan(&bases, shape, axis, bytes, (operations, combine.counted().is_some()))
                }
                false => cost::reduction(&bases, shape, axis, bytes, operations),
            };
            return cost * frequency;
        }
        if let Some(memory) =
            AllocOp::of(module, op).and_then(|alloc| SharedEncoding::of(module.ty(alloc.result())))
        {
            return cost::stored(&bases, shape(ty), memory.order()[0] as usize, elem_bytes(elem(ty)))
                * frequency;
        }
        let work = cost::work(&bases, module.row(op).cost.instructions() + 0.1);
        (work + neighbours::cost(module, op, layouts, own)) * frequency
    }
}

/// The value whose layout is the operation's own.
pub(crate) fn principal(module: &Module, op: Op) -> Option<Value> {
    let blocks = module.results(op).iter().chain(module.operands(op));
    let own = if tied_to_operand(module, op) { module.operands(op) } else { module.results(op) };
    own.first().copied().filter(|&value| is_tensor(module.ty(value))).or_else(|| {
        blocks.copied().filter(|&value| is_tensor(module.ty(value))).max_by_key(|&v| numel(module.ty(v)))
    })
}

fn tied_to_operand(module: &Module, op: Op) -> bool {
    matches!(module.row(op).layout, LayoutRule::Reduce | LayoutRule::Join)
}
