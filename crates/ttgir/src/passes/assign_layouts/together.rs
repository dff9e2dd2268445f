//! Moves of several nodes at once: what a loop carries and all that it is made of, and accesses with all that lies
//! between them, which no single change makes cheaper.
//!
//! ```text
//! for iter_args(%w = %one : #a)               for iter_args(%w = %one : #b)
//!   %v = arith.addf %w, %one : #a       =>      %v = arith.addf %w, %one : #b
//!   %u = ttg.convert_layout %v : #a -> #b       %y = arith.divf %x, %v : #b
//!   %y = arith.divf %x, %u : #b                 yield %v : #b
//!   yield %v : #a
//! ```
//!
//! From each conversion, the nodes on one side of it that no other conversion divides are tried in the layout of the
//! other side. Each access, and each scan, that is not in the layout that suits it is tried in that, with what follows
//! it.

use super::graph::NodeId;
use super::layouts::Layout;
use super::search::{Choice, EPSILON, Search, Tried};

/// Nodes that move at once, at most.
const LIMIT: usize = 96;

impl Search<'_, '_> {
    /// Tries every group beside a conversion; whether anything changed.
    pub(super) fn improve_groups(&mut self, choice: &mut Choice, tried: &mut Tried) -> bool {
        let mut changed = false;
        for edge in 0..self.graph.edges.len() {
            if !self.converts(choice, edge) {
                continue;
            }
            let ends = [self.graph.edges[edge].from, self.graph.edges[edge].to];
            changed |= ends.into_iter().any(|end| {
                let layout = self.candidate(&|id| Some(choice[id.index()]), edge, end);
                layout.is_some_and(|layout| self.move_group(choice, end, layout, tried))
            });
        }
        for at in 0..self.graph.nodes.len() {
            let node = &self.graph.nodes[at];
            let suits = if node.access.is_some() { node.preferred } else { node.alternative };
            let suits = suits.filter(|own| *own != choice[at]);
            let start = NodeId(at as u32);
            changed |= suits.is_some_and(|layout| self.move_group(choice, start, layout, tried));
        }
        changed
    }

    fn converts(&mut self, choice: &Choice, edge: usize) -> bool {
        let made = self.made(choice, edge);
        self.wanted(choice, edge).is_some_and(|wanted| wanted != made)
    }

    /// Moves a node and those that follow it, if that is cheaper.
    fn move_group(&mut self, choice: &mut Choice, start: NodeId, layout: Layout, tried: &mut Tried) -> bool {
        if !tried.refused.insert((start, layout)) {
            return false;
        }
        let Some((moved, group)) = self.group(choice, start, layout) else { return false };
        let graph = self.graph;
        let mut touched = group.clone();
        for id in group {
            touched.extend(graph.nodes[id.index()].ins.iter().map(|&edge| graph.edges[edge].from));
        }
        touched.sort_unstable();
        touched.dedup();
        let mut known = |id| *tried.costs.entry(id).or_insert_with(|| self.own_and_outgoing(choice, id));
        let before: f64 = touched.iter().map(|&id| known(id)).sum();
        let after: f64 = touched.iter().map(|&id| self.own_and_outgoing(&moved, id)).sum();
        let is_cheaper = after + EPSILON < before;
        if is_cheaper {
            *choice = moved;
            *tried = Tried::default();
        }
        is_cheaper
    }

    /// The choice in which a node has another layout, and all that would need a conversion by that alone follow it.
    fn group(&mut self, choice: &Choice, start: NodeId, layout: Layout) -> Option<(Choice, Vec<NodeId>)> {
        let graph = self.graph;
        if graph.nodes[start.index()].fixed {
            return None;
        }
        let (mut moved, mut group, mut open) = (choice.clone(), vec![start], vec![start]);
        moved[start.index()] = layout;
        while let Some(id) = open.pop() {
            let node = &graph.nodes[id.index()];
            for &edge in node.ins.iter().chain(&node.outs) {
                let ends = &graph.edges[edge];
                let other = if ends.from == id { ends.to } else { ends.from };
                let stays = graph.nodes[other.index()].fixed || group.contains(&other);
                if stays || self.converts(choice, edge) || !self.converts(&moved, edge) {
                    continue;
                }
                if let Some(layout) = self.candidate(&|id| Some(moved[id.index()]), edge, other) {
                    moved[other.index()] = layout;
                    group.push(other);
                    open.push(other);
                }
            }
            if group.len() > LIMIT {
                return None;
            }
        }
        (group.len() > 1).then_some((moved, group))
    }
}
