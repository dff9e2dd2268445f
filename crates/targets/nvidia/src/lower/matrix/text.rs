//! The text of inline assembly with lists of operands.

use llir::write_number;

/// `$first, $first+1, …`, so many.
pub(crate) fn operands(first: usize, count: usize) -> String {
    let mut list = String::with_capacity(6 * count);
    for index in first..first + count {
        list.push_str(if index == first { "$" } else { ", $" });
        write_number(&mut list, index as u32);
    }
    list
}

/// A constraint string: results of a class, then operands that share their registers (or not), then the others.
pub(crate) fn constraints(results: &[&str], tied: usize, operands: &[&str]) -> String {
    let mut list = String::with_capacity(4 * (results.len() + tied + operands.len()));
    for class in results {
        list.push('=');
        list.push_str(class);
        list.push(',');
    }
    for index in 0..tied {
        write_number(&mut list, index as u32);
        list.push(',');
    }
    for class in operands {
        list.push_str(class);
        list.push(',');
    }
    list.pop();
    list
}

#[cfg(test)]
mod tests {
    #[test]
    fn lists() {
        assert_eq!(super::operands(3, 2), "$3, $4");
        assert_eq!(super::constraints(&["f", "f"], 2, &["l", "r"]), "=f,=f,0,1,l,r");
    }
}
