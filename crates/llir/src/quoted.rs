//! Texts in quotes as LLVM reads them.

use std::borrow::Cow;

/// A symbol, quoted where its letters ask for it.
pub(crate) fn symbol(name: &str) -> Cow<'_, str> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "$._-".contains(c);
    if !name.is_empty() && name.chars().all(plain) && !name.starts_with(|c: char| c.is_ascii_digit()) {
        return name.into();
    }
    format!("\"{}\"", escape(name.as_bytes())).into()
}

/// Text between quotes as LLVM reads it.
pub(crate) fn escape(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut text = String::with_capacity(bytes.len() + bytes.len() / 4);
    for &byte in bytes {
        if (0x20..0x7f).contains(&byte) && byte != b'"' && byte != b'\\' {
            text.push(char::from(byte));
        } else {
            text.push('\\');
            text.push(char::from(DIGITS[usize::from(byte >> 4)]));
            text.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    }
    text
}
