//! What bulk copies could load if the rows of its tensor began at multiples of 16 bytes: launches that read it often
//! copy it to where they do, and take a kernel that is compiled for that.

use super::map_parts::MapParts;
use ir::{Attr, DeclaredKey, Module, Op};
use std::fmt;
use std::str::FromStr;

/// Attribute of a kernel: what bulk copies could load if launches copied it first.
pub static UNALIGNED: DeclaredKey =
    DeclaredKey::new("tt.unaligned", "What bulk copies could load if launches copied it first.");

/// A load that would be a bulk copy if the rows of its tensor began as they must.
///
/// Its text is `%0[%1:i32,%2:i32][%3:i64] 2 128xall %4,%5`: the tensor as in `tt.map_of`, bytes of an element, how many
/// elements along each axis a program reads in the loop, and the parameters through which the kernel writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnalignedLoad {
    /// The tensor.
    pub parts: MapParts,
    /// Bytes of an element.
    pub bytes: u64,
    /// Elements that the innermost loop around it reads along each axis; none for all.
    pub reads: Vec<Option<u64>>,
    /// Parameters whose memory it must lie apart from, as the kernel writes there.
    pub apart: Vec<usize>,
}

/// What a program reads of an axis from end to end.
const ALL: &str = "all";

impl UnalignedLoad {
    /// Between two in a text.
    pub(super) const BETWEEN: &str = "; ";
}

/// What bulk copies could load of a kernel if launches copied it first.
///
/// # Errors
/// When the kernel says what nobody can read.
pub fn unaligned(module: &Module, kernel: Op) -> Result<Vec<UnalignedLoad>, String> {
    let text = module.extra_attr(kernel, UNALIGNED.name).and_then(Attr::as_str);
    text.map_or_else(|| Ok(Vec::new()), |text| text.split(UnalignedLoad::BETWEEN).map(str::parse).collect())
}

impl fmt::Display for UnalignedLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let reads =
            self.reads.iter().map(|reads| reads.map_or_else(|| ALL.to_owned(), |count| count.to_string()));
        let apart: Vec<String> = self.apart.iter().map(|slot| format!("%{slot}")).collect();
        let (reads, apart) = (reads.collect::<Vec<_>>().join("x"), apart.join(","));
        write!(f, "{} {} {reads} {apart}", self.parts, self.bytes)
    }
}

impl FromStr for UnalignedLoad {
    type Err = String;

    fn from_str(text: &str) -> Result<UnalignedLoad, String> {
        let wrong = || format!("`{text}` names no load of a tensor whose rows begin anywhere");
        let mut words = text.split(' ');
        let (Some(parts), Some(bytes), Some(reads), Some(apart), None) =
            (words.next(), words.next(), words.next(), words.next(), words.next())
        else {
            return Err(wrong());
        };
        let read = |word: &str| match word {
            ALL => Ok(None),
            count => count.parse().map(Some).map_err(|_| wrong()),
        };
        let slot = |word: &str| word.strip_prefix('%').and_then(|slot| slot.parse().ok()).ok_or_else(wrong);
        let found = UnalignedLoad {
            parts: parts.parse()?,
            bytes: bytes.parse().map_err(|_| wrong())?,
            reads: reads.split('x').map(read).collect::<Result<_, _>>()?,
            apart: apart.split(',').filter(|word| !word.is_empty()).map(slot).collect::<Result<_, _>>()?,
        };
        let fits = found.reads.len() == found.parts.sizes.len() && matches!(found.bytes, 1 | 2 | 4 | 8);
        if fits { Ok(found) } else { Err(wrong()) }
    }
}

#[cfg(test)]
mod tests {
    use super::UnalignedLoad;

    #[test]
    fn texts_say_what_is_read() {
        for (text, apart) in
            [("%0[%1:i32,%2:i32][%3:i64] 2 128xall %4,%5", &[4, 5][..]), ("%0[1,2][3] 1 allx1 ", &[])]
        {
            let load: UnalignedLoad = text.parse().expect("a load");
            assert_eq!(load.reads.iter().filter(|reads| reads.is_none()).count(), 1);
            assert_eq!(load.apart, apart);
            assert_eq!(load.to_string(), text);
        }
        for wrong in [
            "",
            "%0[1,2][3] 2 1x1",
            "%0[1,2][3] 2 128 %4",
            "%0[1,2][3] 3 1x1 %4",
            "%0[1,2][3] 2 1xmany %4",
            "%0[1,2][3] 2 1x1 4",
            "%0[1,2][3] 2 1x1 %4 %5",
        ] {
            assert!(wrong.parse::<UnalignedLoad>().is_err(), "{wrong}");
        }
    }
}
