//! Immediate post-dominators of blocks: where lanes that part meet again.

/// For each block the nearest one that every way from it to the end of the kernel comes through; `None` where there is
/// none.
pub(crate) fn post_dominators(targets: &[Vec<u32>]) -> Vec<Option<u32>> {
    // The end of the kernel is one block more.
    let end = targets.len();
    let mut sources: Vec<Vec<usize>> = vec![Vec::new(); end + 1];
    let mut out: Vec<Vec<usize>> = Vec::with_capacity(end + 1);
    for (block, next) in targets.iter().enumerate() {
        let next: Vec<usize> =
            if next.is_empty() { vec![end] } else { next.iter().map(|to| *to as usize).collect() };
        for to in &next {
            sources[*to].push(block);
        }
        out.push(next);
    }
    let order = from_the_end(&sources, end);
    let mut number = vec![usize::MAX; end + 1];
    for (index, block) in order.iter().enumerate() {
        number[*block] = index;
    }
    let mut parent: Vec<Option<usize>> = vec![None; end + 1];
    parent[end] = Some(end);
    let mut changed = true;
    while changed {
        changed = false;
        for block in order.iter().copied().skip(1) {
            let known = out[block].iter().copied().filter(|to| parent[*to].is_some());
            let meet = known.reduce(|a, b| common(a, b, &parent, &number));
            if meet != parent[block] {
                parent[block] = meet;
                changed = true;
            }
        }
    }
    parent[..end]
        .iter()
        .map(|parent| parent.filter(|block| *block != end).map(|block| block as u32))
        .collect()
}

/// Blocks from which the end can be reached, the end first, each behind one that it leads to.
fn from_the_end(sources: &[Vec<usize>], end: usize) -> Vec<usize> {
    let mut seen = vec![false; sources.len()];
    let mut postorder = Vec::new();
    let mut stack = vec![(end, 0)];
    seen[end] = true;
    while let Some((block, index)) = stack.pop() {
        let Some(source) = sources[block].get(index).copied() else {
            postorder.push(block);
            continue;
        };
        stack.push((block, index + 1));
        if !seen[source] {
            seen[source] = true;
            stack.push((source, 0));
        }
    }
    postorder.reverse();
    postorder
}

fn common(mut a: usize, mut b: usize, parent: &[Option<usize>], number: &[usize]) -> usize {
    while a != b {
        let deeper = if number[a] > number[b] { &mut a } else { &mut b };
        match parent[*deeper] {
            Some(above) => *deeper = above,
            None => return a,
        }
    }
    a
}

#[cfg(test)]
mod tests {
    use super::post_dominators;

    #[test]
    fn branches_and_loops_meet_behind() {
        // 0 → 1, 2 → 3 → 4; 4 → 4, 5; 5 ends.
        let targets = vec![vec![1, 2], vec![3], vec![3], vec![4], vec![4, 5], vec![]];
        assert_eq!(post_dominators(&targets), [Some(3), Some(3), Some(3), Some(4), Some(5), None]);
        // 1 ends early: nothing lies on every way.
        assert_eq!(post_dominators(&[vec![1, 2], vec![], vec![]]), [None, None, None]);
        // 1 never ends: every way to the end comes through 2.
        assert_eq!(post_dominators(&[vec![1, 2], vec![1], vec![]]), [Some(2), None, None]);
    }
}
