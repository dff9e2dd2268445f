//! Blanks out comments, strings and character literals, so that braces and keywords can be counted.
//!
//! Input: `let a = "{"; // }`. Output: `let a =    ;     `. Line breaks stay, so places stay true. Left out: everything
//! else that a parser would know.

/// The text with comments and literals replaced by blanks.
pub(crate) fn mask(text: &str) -> String {
    let mut masker = Masker { rest: text, out: String::with_capacity(text.len()) };
    while !masker.rest.is_empty() {
        masker.step();
    }
    masker.out
}

struct Masker<'a> {
    rest: &'a str,
    out: String,
}

impl Masker<'_> {
    fn step(&mut self) {
        if self.rest.starts_with("//") {
            self.blank(self.rest.find('\n').unwrap_or(self.rest.len()));
        } else if self.rest.starts_with("/*") {
            self.blank(block_comment(self.rest));
        } else if let Some(length) = raw_string(self.rest, self.out.chars().next_back()) {
            self.blank(length);
        } else if self.rest.starts_with('"') {
            self.blank(string(self.rest));
        } else if self.rest.starts_with('\'') {
            self.blank(char_literal(self.rest));
        } else {
            let first = self.rest.chars().next().expect("the rest is not empty");
            self.out.push(first);
            self.rest = &self.rest[first.len_utf8()..];
        }
    }

    /// Replaces the next `length` bytes by blanks, one a character.
    fn blank(&mut self, length: usize) {
        let (skipped, rest) = self.rest.split_at(length);
        self.out.extend(skipped.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
        self.rest = rest;
    }
}

fn block_comment(text: &str) -> usize {
    let mut depth = 0usize;
    let mut at = 0;
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

/// The length of a raw string at the beginning of `text`, unless an identifier merely ends in `r` there.
fn raw_string(text: &str, before: Option<char>) -> Option<usize> {
    if before.is_some_and(|c| c.is_alphanumeric() || c == '_') {
        return None;
    }
    let prefix = ["r", "br", "cr"].into_iter().find(|prefix| {
        text.strip_prefix(prefix).is_some_and(|rest| rest.trim_start_matches('#').starts_with('"'))
    })?;
    let hashes = text[prefix.len()..].chars().take_while(|&c| c == '#').count();
    let begin = prefix.len() + hashes + 1;
    let end = format!("\"{}", "#".repeat(hashes));
    Some(text[begin..].find(&end).map_or(text.len(), |at| begin + at + end.len()))
}

fn string(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The length of a character literal; 1 for the tick of a lifetime.
fn char_literal(text: &str) -> usize {
    let mut characters = text.char_indices().skip(1);
    match characters.next() {
        Some((_, '\\')) => {
            characters.next();
            characters.find(|&(_, c)| c == '\'').map_or(1, |(at, _)| at + 1)
        }
        Some(_) => match characters.next() {
            Some((at, '\'')) => at + 1,
            _ => 1,
        },
        None => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::mask;

    #[test]
    fn literals_and_comments_become_blanks() {
        assert_eq!(mask("a(\"{\\\"}\") // }\nb"), "a(      )     \nb");
        assert_eq!(mask("x /* { /* } */ { */ y"), "x                   y");
        assert_eq!(mask("r#\"{\"# }"), "       }");
        assert_eq!(mask("'{' '\\'' '\\u{7b}' }"), format!("{:18}}}", ""));
    }

    #[test]
    fn lifetimes_and_identifiers_stay() {
        assert_eq!(mask("fn f<'a>(x: &'a str) {}"), "fn f< a>(x: & a str) {}");
        assert_eq!(mask("for\"s\""), "for   ");
    }
}
