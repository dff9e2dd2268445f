//! Names of cache entries.

use std::fmt;

/// The blake3 hash of all that an entry depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
pub struct Key(pub [u8; 32]);

impl Key {
    /// Reads 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Key> {
        blake3::Hash::from_hex(text).ok().map(|hash| Key(*hash.as_bytes()))
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&blake3::Hash::from_bytes(self.0).to_hex())
    }
}

/// Builds a [`Key`] from named parts. Every part carries its length, so that no two lists of parts hash alike.
pub struct KeyBuilder(blake3::Hasher);

impl KeyBuilder {
    /// A key for one purpose; keys of different purposes never meet.
    pub fn new(purpose: &str) -> KeyBuilder {
        KeyBuilder(blake3::Hasher::new()).part("purpose", purpose.as_bytes())
    }

    /// Adds a part.
    #[must_use]
    pub fn part(mut self, name: &str, bytes: &[u8]) -> KeyBuilder {
        for field in [name.as_bytes(), bytes] {
            self.0.update(&(field.len() as u64).to_le_bytes());
            self.0.update(field);
        }
        self
    }

    /// Adds a value by its postcard encoding.
    #[must_use]
    pub fn value<T: serde::Serialize>(self, name: &str, value: &T) -> KeyBuilder {
        // Encoding plain data into memory fails only for types that postcard cannot express; none is used here. Should
        // one appear, its text stands in, which never collides with an encoding because the part is named differently.
        match postcard::to_stdvec(value) {
            Ok(bytes) => self.part(name, &bytes),
            Err(error) => self.part("unencodable", format!("{name}: {error}").as_bytes()),
        }
    }

    /// The key.
    pub fn finish(self) -> Key {
        Key(*self.0.finalize().as_bytes())
    }
}
