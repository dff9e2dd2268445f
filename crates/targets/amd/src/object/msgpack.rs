//! MessagePack, as far as the notes of code objects use it: maps, lists, texts, numbers, truth values.

/// A value.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Value {
    Nil,
    Bool(bool),
    Int(i64),
    Text(String),
    List(Vec<Value>),
    Map(Vec<(Value, Value)>),
}

impl Value {
    /// The value of a name in a map.
    pub(super) fn get(&self, name: &str) -> Option<&Value> {
        let Value::Map(pairs) = self else { return None };
        pairs.iter().find(|(key, _)| matches!(key, Value::Text(text) if text == name)).map(|(_, value)| value)
    }

    pub(super) fn list(&self) -> &[Value] {
        if let Value::List(list) = self { list } else { &[] }
    }

    pub(super) fn int(&self) -> Option<i64> {
        if let Value::Int(value) = self { Some(*value) } else { None }
    }

    pub(super) fn text(&self) -> Option<&str> {
        if let Value::Text(text) = self { Some(text) } else { None }
    }
}

/// Bytes that are read from the front.
struct Reader<'a>(&'a [u8]);

/// Deeper than any note; a limit for damaged ones.
const DEEPEST: u32 = 16;

/// Reads one value; `None` where the bytes are none.
pub(super) fn read(bytes: &[u8]) -> Option<Value> {
    Reader(bytes).value(DEEPEST)
}

impl Reader<'_> {
    fn take(&mut self, count: usize) -> Option<&[u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// A number of so many bytes, the highest first.
    fn unsigned(&mut self, bytes: usize) -> Option<u64> {
        Some(self.take(bytes)?.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn signed(&mut self, bytes: usize) -> Option<i64> {
        let unused = 64 - 8 * bytes as u32;
        Some((self.unsigned(bytes)? << unused) as i64 >> unused)
    }

    fn count(&mut self, bytes: usize) -> Option<usize> {
        usize::try_from(self.unsigned(bytes)?).ok()
    }

    fn text(&mut self, count: usize) -> Option<Value> {
        Some(Value::Text(std::str::from_utf8(self.take(count)?).ok()?.to_owned()))
    }

    fn list(&mut self, count: usize, depth: u32) -> Option<Value> {
        (0..count).map(|_| self.value(depth)).collect::<Option<_>>().map(Value::List)
    }

    fn map(&mut self, count: usize, depth: u32) -> Option<Value> {
        let pairs = (0..count).map(|_| Some((self.value(depth)?, self.value(depth)?)));
        pairs.collect::<Option<_>>().map(Value::Map)
    }

    fn value(&mut self, depth: u32) -> Option<Value> {
        let depth = depth.checked_sub(1)?;
        let tag = self.unsigned(1)? as u8;
        let low = usize::from(tag & 15);
        match tag {
            0x00..=0x7f => Some(Value::Int(i64::from(tag))),
            0x80..=0x8f => self.map(low, depth),
            0x90..=0x9f => self.list(low, depth),
            0xa0..=0xbf => self.text(usize::from(tag & 31)),
            0xc0 => Some(Value::Nil),
            0xc2 | 0xc3 => Some(Value::Bool(tag == 0xc3)),
            0xcc..=0xcf => {
                let number = self.unsigned(1 << (tag - 0xcc))?;
                Some(Value::Int(i64::try_from(number).ok()?))
            }
            0xd0..=0xd3 => Some(Value::Int(self.signed(1 << (tag - 0xd0))?)),
            0xd9..=0xdb => {
                let count = self.count(1 << (tag - 0xd9))?;
                self.text(count)
            }
            0xdc | 0xdd => {
                let count = self.count(2 << (tag - 0xdc))?;
                self.list(count, depth)
            }
            0xde | 0xdf => {
                let count = self.count(2 << (tag - 0xde))?;
                self.map(count, depth)
            }
            0xe0..=0xff => Some(Value::Int(i64::from(tag as i8))),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Value, read};

    #[test]
    fn values_are_read() {
        let bytes = b"\x82\xa1a\x93\x01\xff\xcd\x01\x00\xd9\x01b\xdc\x00\x01\xc3";
        let value = read(bytes).expect("it is a map");
        assert_eq!(value.get("a").map(Value::list), Some(&[1, -1, 256].map(Value::Int)[..]));
        assert_eq!(value.get("b").map(Value::list), Some(&[Value::Bool(true)][..]));
        assert_eq!(value.get("c"), None);
        for damaged in [&b""[..], b"\x81", b"\xa5ab", b"\xc1", b"\xdd\xff\xff\xff\xff", &[0x91; 64]] {
            assert_eq!(read(damaged), None, "{damaged:?}");
        }
    }
}
