//! Prose ends at column 120: the pages, outside of code and tables, and the comments of Rust files.
//!
//! A line that has no place to break, such as a long link or a piece of code, may be longer.

const COLUMNS: usize = 120;

/// The lines of a Markdown page that are too long.
pub(crate) fn in_page(text: &str) -> Vec<usize> {
    let mut is_code = false;
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let words = line.trim_start();
        if words.starts_with("```") {
            is_code = !is_code;
        } else if !is_code && !words.starts_with(['|', '<', '#']) && is_too_long(line) {
            found.push(index + 1);
        }
    }
    found
}

/// The comments of a Rust file that are too long, code and tables in them left out.
pub(crate) fn in_comments(text: &str) -> Vec<usize> {
    let mut is_code = false;
    let mut found = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let Some(comment) = line.trim_start().strip_prefix("//") else {
            is_code = false;
            continue;
        };
        let words = comment.trim_start_matches(['/', '!']).trim_start();
        if words.starts_with("```") {
            is_code = !is_code;
        } else if !is_code && !words.starts_with('|') && is_too_long(line) {
            found.push(index + 1);
        }
    }
    found
}

/// Whether a line goes on behind the last column though it could have ended before.
fn is_too_long(line: &str) -> bool {
    if line.chars().count() <= COLUMNS {
        return false;
    }
    let indent = line.chars().take_while(|c| c.is_whitespace() || "/!-*".contains(*c)).count();
    let mut is_code = false;
    line.chars().take(COLUMNS + 1).skip(indent).any(|c| {
        is_code ^= c == '`';
        c == ' ' && !is_code
    })
}

#[cfg(test)]
mod tests {
    use super::{in_comments, in_page};

    #[test]
    fn prose_ends_where_it_can_be_broken() {
        let long = "word ".repeat(25);
        let link = format!("- [name](https://example.org/{})", "x".repeat(120));
        let code = format!("    `{long}`");
        let page = format!("{long}\n```\n{long}\n```\n| {long}\n{link}\n{code}\nshort\n{long}\n");
        assert_eq!(in_page(&page), [1, 9]);
    }

    #[test]
    fn columns_are_characters() {
        assert_eq!(in_page(&"äö ".repeat(40)), []);
    }

    #[test]
    fn comments_are_prose_and_code_is_not() {
        let long = "word ".repeat(25);
        let file = format!(
            "//! {long}\n\nlet a = \"{long}\";\n    /// {long}\n/// ```\n/// {long}\n/// ```\n// {long}\n"
        );
        assert_eq!(in_comments(&file), [1, 4, 8]);
    }
}
