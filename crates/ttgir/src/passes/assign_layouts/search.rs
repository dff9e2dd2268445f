//! Finds layouts for all nodes of a graph that together cost little.
//!
//! Two starts, one in which layouts flow from definitions to uses and one in which they flow back, are each improved
//! node by node, then group by group, until nothing gets cheaper; the cheaper end wins. A conversion thus slides along
//! a chain of operations to where the fewest bytes cross it.

use super::graph::{Graph, NodeId, Subject};
use super::layouts::{Layout, Layouts, Side};
use super::ties::tied;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;
use ttir::types::{numel, shape};

/// Rounds of improvement; each makes the whole cheaper, and chains longer than this are rare.
const ROUNDS: usize = 12;
/// Less than this is no improvement.
pub(super) const EPSILON: f64 = 1e-6;

/// A layout for each node.
pub(crate) type Choice = Vec<Layout>;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Forward,
    Backward,
}

/// The best choice found.
pub(crate) fn search(graph: &Graph<'_>, layouts: &mut Layouts) -> Choice {
    let mut search = Search { graph, layouts, own_costs: FxHashMap::default() };
    let mut forward = search.start(Flow::Forward);
    let cost = search.improve(&mut forward);
    if search.converts_nothing(&forward) {
        return forward;
    }
    let mut backward = search.start(Flow::Backward);
    if search.improve(&mut backward) + EPSILON < cost { backward } else { forward }
}

pub(super) struct Search<'a, 'm> {
    pub(super) graph: &'a Graph<'m>,
    layouts: &'a mut Layouts,
    /// What a node's own work costs in a layout, as far as it was asked.
    own_costs: FxHashMap<(NodeId, Layout), f64>,
}

/// Of moves of groups, what was tried since a choice changed last.
#[derive(Default)]
pub(super) struct Tried {
    /// Moves that make nothing cheaper.
    pub(super) refused: FxHashSet<(NodeId, Layout)>,
    /// What nodes cost with what goes out of them.
    pub(super) costs: FxHashMap<NodeId, f64>,
}

impl Search<'_, '_> {
    pub(super) fn made(&mut self, choice: &Choice, edge: usize) -> Layout {
        let edge = &self.graph.edges[edge];
        self.graph.made_for(self.layouts, edge, choice[edge.from.index()])
    }

    pub(super) fn wanted(&mut self, choice: &Choice, edge: usize) -> Option<Layout> {
        let edge = &self.graph.edges[edge];
        self.graph.wanted(self.layouts, edge, choice[edge.to.index()])
    }

    fn converts_nothing(&mut self, choice: &Choice) -> bool {
        (0..self.graph.edges.len()).all(|edge| {
            let made = self.made(choice, edge);
            self.wanted(choice, edge).is_none_or(|wanted| wanted == made)
        })
    }

    /// What nodes would choose that look only at what they take (or only at who takes what they make).
    fn start(&mut self, flow: Flow) -> Choice {
        let count = self.graph.nodes.len();
        // What is pinned is known from the start.
        let mut fixed = |at: usize| {
            let node = &self.graph.nodes[at];
            node.fixed.then(|| node.preferred.unwrap_or_else(|| self.default(at)))
        };
        let mut chosen: Vec<Option<Layout>> = (0..count).map(&mut fixed).collect();
        // Twice, since values that loops carry depend on what comes later.
        for round in 0..2 {
            for step in 0..count {
                let at = if flow == Flow::Forward { step } else { count - 1 - step };
                let node = &self.graph.nodes[at];
                if node.fixed && chosen[at].is_some() {
                    continue;
                }
                let own = node.preferred.filter(|_| flow == Flow::Forward);
                let own = own.or_else(|| self.near(&chosen, NodeId(at as u32), flow)).or(node.preferred);
                let own = own.or_else(|| (round == 1).then(|| self.fallback(&chosen, at, flow)));
                if own.is_some() {
                    chosen[at] = own;
                }
            }
        }
        (0..count).map(|at| chosen[at].unwrap_or_else(|| self.default(at))).collect()
    }

    /// The layout to which the widest neighbour on one side leads.
    fn near(&mut self, chosen: &[Option<Layout>], id: NodeId, flow: Flow) -> Option<Layout> {
        let node = &self.graph.nodes[id.index()];
        let edges = if flow == Flow::Forward { &node.ins } else { &node.outs };
        let mut best: Option<(i64, Layout)> = None;
        for &edge in edges {
            let size = numel(self.graph.module.ty(self.graph.edges[edge].value));
            if best.is_none_or(|(known, _)| size > known)
                && let Some(layout) = self.candidate(&|id| chosen[id.index()], edge, id)
            {
                best = Some((size, layout));
            }
        }
        best.map(|(_, layout)| layout)
    }

    fn fallback(&mut self, chosen: &[Option<Layout>], at: usize, flow: Flow) -> Layout {
        let other = if flow == Flow::Forward { Flow::Backward } else { Flow::Forward };
        self.near(chosen, NodeId(at as u32), other).unwrap_or_else(|| self.default(at))
    }

    fn default(&mut self, at: usize) -> Layout {
        let value = self.graph.nodes[at].principal;
        self.layouts.default_for(value.map_or(&[1], |value| shape(self.graph.module.ty(value))))
    }

    /// The layout of `id` that makes a conversion on this edge needless.
    pub(super) fn candidate(
        &mut self,
        chosen: &dyn Fn(NodeId) -> Option<Layout>,
        edge: usize,
        id: NodeId,
    ) -> Option<Layout> {
        let (graph, edge) = (self.graph, &self.graph.edges[edge]);
        let takes = edge.to == id;
        let given = if takes {
            graph.made_for(self.layouts, edge, chosen(edge.from)?)
        } else {
            graph.wanted(self.layouts, edge, chosen(edge.to)?)?
        };
        match graph.nodes[id.index()].subject {
            Subject::Carried => Some(given),
            Subject::Op(op) => {
                let side = if takes { Side::FromOperand } else { Side::FromResult };
                tied(self.layouts, graph.module, op, side, given)
            }
        }
    }

    /// Changes one node after another to its cheapest layout, then groups of them; the cost at the end.
    fn improve(&mut self, choice: &mut Choice) -> f64 {
        self.improve_nodes(choice);
        let mut tried = Tried::default();
        for _ in 0..ROUNDS {
            if !self.improve_groups(choice, &mut tried) {
                break;
            }
            if self.improve_nodes(choice) {
                tried = Tried::default();
            }
        }
        (0..choice.len()).map(|at| self.own_and_outgoing(choice, NodeId(at as u32))).sum()
    }

    /// Changes one node after another to its cheapest layout; whether anything changed.
    fn improve_nodes(&mut self, choice: &mut Choice) -> bool {
        let count = self.graph.nodes.len();
        let mut any = false;
        for round in 0..ROUNDS {
            let mut changed = false;
            for step in 0..count {
                // Back and forth, so that changes spread both ways.
                let at = if round % 2 == 0 { step } else { count - 1 - step };
                changed |= self.improve_node(choice, NodeId(at as u32));
            }
            any |= changed;
            if !changed {
                break;
            }
        }
        any
    }

    fn improve_node(&mut self, choice: &mut Choice, id: NodeId) -> bool {
        let node = &self.graph.nodes[id.index()];
        if node.fixed {
            return false;
        }
        let current = choice[id.index()];
        let mut candidates: SmallVec<[Layout; 8]> = SmallVec::new();
        for &edge in node.ins.iter().chain(&node.outs) {
            let layout = self.candidate(&|id| Some(choice[id.index()]), edge, id);
            if let Some(layout) = layout.filter(|own| *own != current && !candidates.contains(own)) {
                candidates.push(layout);
            }
        }
        for own in node.preferred.into_iter().chain(node.alternative) {
            if own != current && !candidates.contains(&own) {
                candidates.push(own);
            }
        }
        self.add_split_alike(id, current, &mut candidates);
        if candidates.is_empty() {
            return false;
        }
        let mut best = (self.local_cost(choice, id), current);
        for candidate in candidates {
            choice[id.index()] = candidate;
            let cost = self.local_cost(choice, id);
            if cost + EPSILON < best.0 {
                best = (cost, candidate);
            }
        }
        choice[id.index()] = best.1;
        best.1 != current
    }

    /// Where blocks of a cluster share the whole, an access as it prefers to be in each way in which a neighbour splits
    /// it.
    fn add_split_alike(&mut self, id: NodeId, current: Layout, candidates: &mut SmallVec<[Layout; 8]>) {
        let node = &self.graph.nodes[id.index()];
        let (Some(preferred), Some(access)) = (node.preferred, &node.access) else { return };
        if self.layouts.blocks == 1 {
            return;
        }
        for index in 0..candidates.len() {
            let cga = self.layouts.encoding(candidates[index]).cga();
            let split = self.layouts.split_as(preferred, access.shape, &cga);
            candidates.extend(split.filter(|own| *own != current && !candidates.contains(own)));
        }
    }

    fn local_cost(&mut self, choice: &Choice, id: NodeId) -> f64 {
        self.own_and_outgoing(choice, id) + self.incoming(choice, id)
    }

    pub(super) fn own_and_outgoing(&mut self, choice: &Choice, id: NodeId) -> f64 {
        let graph = self.graph;
        let own = choice[id.index()];
        let layouts = &mut *self.layouts;
        let mut total = *self.own_costs.entry((id, own)).or_insert_with(|| graph.own_cost(layouts, id, own));
        let outs = &graph.nodes[id.index()].outs;
        for (index, &edge) in outs.iter().enumerate() {
            let wanted = self.wanted(choice, edge);
            // A conversion serves all who want the same.
            let is_first = outs[..index].iter().all(|&earlier| {
                graph.edges[earlier].value != graph.edges[edge].value
                    || self.wanted(choice, earlier) != wanted
            });
            if is_first {
                total += self.conversion(choice, edge, wanted);
            }
        }
        total
    }

    /// Conversions of what the node takes that nobody else needs.
    fn incoming(&mut self, choice: &Choice, id: NodeId) -> f64 {
        let graph = self.graph;
        let ins = &graph.nodes[id.index()].ins;
        let mut total = 0.0;
        for (index, &edge) in ins.iter().enumerate() {
            let wanted = self.wanted(choice, edge);
            let value = graph.edges[edge].value;
            let siblings = &graph.nodes[graph.edges[edge].from.index()].outs;
            let is_shared = siblings.iter().any(|&other| {
                let sibling = &graph.edges[other];
                sibling.value == value
                    && (sibling.to != id || ins[..index].contains(&other))
                    && self.wanted(choice, other) == wanted
            });
            if !is_shared {
                total += self.conversion(choice, edge, wanted);
            }
        }
        total
    }

    fn conversion(&mut self, choice: &Choice, edge: usize, wanted: Option<Layout>) -> f64 {
        let Some(wanted) = wanted else { return 0.0 };
        let made = self.made(choice, edge);
        let edge = &self.graph.edges[edge];
        self.layouts.conversion(made, wanted, self.graph.module.ty(edge.value)) * edge.frequency
    }
}
