//! The text of inline assembly with lists of operands.

/// `$first, $first+1, …`, so many.
pub(crate) fn operands(first: usize, count: usize) -> String {
    let list: Vec<String> = (first..first + count).map(|index| format!("${index}")).collect();
    list.join(", ")
}

/// A constraint string: results of a class, then operands that share their registers (or not), then the others.
pub(crate) fn constraints(results: &[&str], tied: usize, operands: &[&str]) -> String {
    let results = results.iter().map(|class| format!("={class}"));
    let tied = (0..tied).map(|index| index.to_string());
    let operands = operands.iter().map(ToString::to_string);
    results.chain(tied).chain(operands).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    #[test]
    fn lists() {
        assert_eq!(super::operands(3, 2), "$3, $4");
        assert_eq!(super::constraints(&["f", "f"], 2, &["l", "r"]), "=f,=f,0,1,l,r");
    }
}
