//! What one program has seen of the others, as a clock for each of them.
//!
//! Clocks of thousands of programs are alike but for a few entries, so they are trees that share what is equal:
//! taking over all that another program has seen is one pointer, and joining two clocks walks where they differ.

use std::sync::Arc;

/// Children of a node.
const FAN: usize = 16;
/// Bits of a program's number that one level decides.
const BITS: u32 = 4;

#[derive(Debug)]
enum Node {
    Leaf([u32; FAN]),
    Inner([Tree; FAN]),
}

/// A part of a clock; nothing was seen of the programs of an empty one.
type Tree = Option<Arc<Node>>;

/// Up to which of its own times each program was seen; 0 if it was not.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    tree: Tree,
    /// Levels of inner nodes: all clocks of a launch have as many.
    levels: u32,
}

fn is_same(a: &Tree, b: &Tree) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => Arc::ptr_eq(a, b),
        (None, None) => true,
        _ => false,
    }
}

fn digit(program: u32, level: u32) -> usize {
    (program >> (level * BITS)) as usize % FAN
}

fn with(tree: &Tree, level: u32, program: u32, time: u32) -> Tree {
    let at = digit(program, level);
    let node = if level == 0 {
        let mut times = match tree.as_deref() {
            Some(Node::Leaf(times)) => *times,
            _ => [0; FAN],
        };
        times[at] = time;
        Node::Leaf(times)
    } else {
        let mut children = match tree.as_deref() {
            Some(Node::Inner(children)) => children.clone(),
            _ => Default::default(),
        };
        children[at] = with(&children[at], level - 1, program, time);
        Node::Inner(children)
    };
    Some(Arc::new(node))
}

/// The later time of each program. One of the two themselves where it has them all.
fn join(a: &Tree, b: &Tree) -> Tree {
    let (Some(left), Some(right)) = (a, b) else { return a.clone().or_else(|| b.clone()) };
    if Arc::ptr_eq(left, right) {
        return a.clone();
    }
    match (&**left, &**right) {
        (Node::Leaf(x), Node::Leaf(y)) => {
            let times: [u32; FAN] = std::array::from_fn(|at| x[at].max(y[at]));
            match times {
                times if times == *x => a.clone(),
                times if times == *y => b.clone(),
                times => Some(Arc::new(Node::Leaf(times))),
            }
        }
        (Node::Inner(x), Node::Inner(y)) => {
            let children: [Tree; FAN] = std::array::from_fn(|at| join(&x[at], &y[at]));
            let all_of =
                |side: &[Tree; FAN]| children.iter().zip(side).all(|(own, other)| is_same(own, other));
            if all_of(x) {
                a.clone()
            } else if all_of(y) {
                b.clone()
            } else {
                Some(Arc::new(Node::Inner(children)))
            }
        }
        _ => unreachable!("clocks of one launch have as many levels"),
    }
}

impl Clock {
    /// Of a launch of so many programs, of which none was seen.
    pub(super) fn new(programs: u64) -> Clock {
        let mut levels = 0;
        while (FAN as u64) << (levels * BITS) < programs {
            levels += 1;
        }
        Clock { tree: None, levels }
    }

    /// Up to when a program was seen.
    pub(super) fn of(&self, program: u32) -> u32 {
        let (mut tree, mut level) = (&self.tree, self.levels);
        loop {
            match tree.as_deref() {
                None => return 0,
                Some(Node::Leaf(times)) => return times[digit(program, 0)],
                Some(Node::Inner(children)) => tree = &children[digit(program, level)],
            }
            level -= 1;
        }
    }

    /// The same with another time of one program.
    pub(super) fn with(&self, program: u32, time: u32) -> Clock {
        Clock { tree: with(&self.tree, self.levels, program, time), levels: self.levels }
    }

    /// Takes over what another clock has seen; whether that was anything new.
    pub(super) fn join(&mut self, other: &Clock) -> bool {
        let joined = join(&self.tree, &other.tree);
        let is_new = !is_same(&joined, &self.tree);
        self.tree = joined;
        is_new
    }
}

#[cfg(test)]
mod tests {
    use super::Clock;

    #[test]
    fn clocks_hold_the_later_of_two_times() {
        for programs in [16, 17, 70_000] {
            let last = programs as u32 - 1;
            let a = Clock::new(programs).with(0, 3).with(last, 5);
            let b = Clock::new(programs).with(0, 4).with(last / 2, 2).with(last, 1);
            let mut both = a.clone();
            assert!(both.join(&b));
            for program in [0, last / 2, last] {
                assert_eq!(both.of(program), a.of(program).max(b.of(program)), "{program} of {programs}");
            }
            assert!(!both.join(&a) && !both.join(&b) && !both.clone().join(&Clock::new(programs)));
        }
    }
}
