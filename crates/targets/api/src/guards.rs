//! What a launch must be for a kernel that was compiled for it: conditions on numbers that are computed of its grid and
//! its arguments.
//!
//! ```text
//! %3:i32; program 0; 128; mul32 1 2 | 0 in 1..2147483647; 3 in 0..2147483519
//! ```
//!
//! A number stands for all values that it takes in any program of the launch, by a lower and an upper bound. What may
//! overflow its bits, and what is divided by what may be zero, has no bounds, and no condition on it holds.

use crate::Grid;
use crate::extents::{Extent, merged};
use std::fmt;
use std::str::FromStr;

/// How two numbers make one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub enum Arith {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Quotient, rounded towards zero.
    Div,
    /// What the quotient leaves.
    Rem,
    /// The smaller one.
    Min,
    /// The larger one.
    Max,
}

/// Names in texts.
const NAMES: [(Arith, &str); 7] = [
    (Arith::Add, "add"),
    (Arith::Sub, "sub"),
    (Arith::Mul, "mul"),
    (Arith::Div, "div"),
    (Arith::Rem, "rem"),
    (Arith::Min, "min"),
    (Arith::Max, "max"),
];

/// A number that a launch computes. Others are named by their place in the list, in front of it.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub enum Number {
    /// The argument of this number, an integer of so many bits.
    Arg {
        /// Its number.
        slot: usize,
        /// Its bits.
        bits: u32,
    },
    /// A number that is known.
    Constant(i64),
    /// The positions of programs along an axis of the grid.
    Program(usize),
    /// How many programs there are along an axis of the grid.
    Programs(usize),
    /// What counts from one number up to another, without it.
    Counter([usize; 2]),
    /// Made of two others, in so many bits.
    Combined {
        /// How.
        by: Arith,
        /// Bits of the result.
        bits: u32,
        /// The two.
        parts: [usize; 2],
    },
}

/// Memory that begins at an argument.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Piece {
    /// The number of the argument.
    pub base: usize,
    /// The number that is its bytes.
    pub bytes: usize,
}

/// A condition on a launch.
#[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub enum Condition {
    /// All values of a number lie between two others, both included.
    Within {
        /// The number.
        number: usize,
        /// The least.
        low: i64,
        /// The greatest.
        high: i64,
    },
    /// Two pieces of memory have nothing in common.
    Apart([Piece; 2]),
    /// What a program accesses by one argument is not what it accesses by another.
    Clear(Clear),
    /// A number is the same in both programs of each pair that lies side by side along x, of which the first has an
    /// even position. No number is that where programs are odd in number along x, or more than 65,536.
    Alike(usize),
}

/// Two arguments by which a program accesses memory.
#[derive(Clone, Copy, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
pub struct Clear {
    /// Their numbers.
    pub bases: [usize; 2],
    /// Whether they may be one address.
    pub same: bool,
    /// The bytes between them that are enough. Without, and where they are closer, they must be addresses of memory
    /// that does not belong together, as far as the launch knows.
    pub bytes: Option<u64>,
}

/// The conditions of a kernel.
#[derive(Clone, PartialEq, Eq, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct Guards {
    /// The numbers, each made of those in front of it.
    pub numbers: Vec<Number>,
    /// What must hold of them.
    pub conditions: Vec<Condition>,
}

/// The least and the greatest value of a number.
type Bounds = (i64, i64);

/// The most programs that [`Condition::Alike`] goes over.
const MOST_ALIKE: u64 = 1 << 16;

impl Guards {
    /// Whether every launch will do.
    pub fn is_empty(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Whether they depend on how far the memory of these arguments goes.
    pub fn ask_extents(&self, args: &[u64]) -> bool {
        self.conditions.iter().any(|condition| match condition {
            Condition::Clear(clear) => !clear.by_distance(args),
            _ => false,
        })
    }

    /// Whether a launch is as it must be, where the memory of its arguments goes so far.
    pub fn hold(&self, grid: Grid, args: &[u64], extents: &[Extent]) -> bool {
        let known = self.known(args, grid, &|axis| {
            let count = i64::from(*grid.get(axis)?);
            Some((0, count.max(1) - 1))
        });
        let alike = self.conditions.iter().filter_map(|condition| match condition {
            Condition::Alike(number) => Some(*number),
            _ => None,
        });
        self.conditions.iter().all(|condition| condition.holds(args, &known, extents))
            && self.are_alike(grid, args, &alike.collect::<Vec<_>>())
    }

    /// The bounds of all numbers, for programs whose positions along an axis are given.
    fn known(
        &self,
        args: &[u64],
        grid: Grid,
        positions: &dyn Fn(usize) -> Option<Bounds>,
    ) -> Vec<Option<Bounds>> {
        let mut known: Vec<Option<Bounds>> = Vec::with_capacity(self.numbers.len());
        for number in &self.numbers {
            let bounds = number.bounds((grid, positions), args, &known);
            known.push(bounds);
        }
        known
    }

    /// Whether numbers are the same in both programs of each pair.
    fn are_alike(&self, grid: Grid, args: &[u64], numbers: &[usize]) -> bool {
        let [x, y, z] = grid;
        let programs: u64 = grid.iter().copied().map(u64::from).product();
        if numbers.is_empty() {
            return true;
        }
        if !x.is_multiple_of(2) || programs > MOST_ALIKE {
            return false;
        }
        let at = |x: u32, y: u32, z: u32| {
            let known = self.known(args, grid, &|axis| {
                let position = i64::from(*[x, y, z].get(axis)?);
                Some((position, position))
            });
            let value = |&number: &usize| known[number].filter(|(least, greatest)| least == greatest);
            numbers.iter().map(value).collect::<Option<Vec<_>>>()
        };
        let pairs = (0..z).flat_map(|z| (0..y).flat_map(move |y| (0..x / 2).map(move |pair| (pair, y, z))));
        pairs
            .into_iter()
            .all(|(pair, y, z)| at(2 * pair, y, z).is_some_and(|one| at(2 * pair + 1, y, z) == Some(one)))
    }

    /// The arguments that it looks at, each once and in order.
    pub fn args(&self) -> Vec<usize> {
        let numbers = self.numbers.iter().filter_map(|number| match number {
            Number::Arg { slot, .. } => Some(*slot),
            _ => None,
        });
        let pieces = self.conditions.iter().flat_map(|condition| match condition {
            Condition::Apart(pieces) => pieces.iter().map(|piece| piece.base).collect(),
            Condition::Clear(clear) => clear.bases.to_vec(),
            Condition::Within { .. } | Condition::Alike(_) => Vec::new(),
        });
        let mut all: Vec<usize> = numbers.chain(pieces).collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

impl Number {
    fn bounds(
        &self,
        (grid, positions): (Grid, &dyn Fn(usize) -> Option<Bounds>),
        args: &[u64],
        known: &[Option<Bounds>],
    ) -> Option<Bounds> {
        let of = |at: usize| known.get(at).copied().flatten();
        match *self {
            Number::Arg { slot, bits } => {
                let unused = 64_u32.checked_sub(bits)?;
                let value = (*args.get(slot)? as i64) << unused >> unused;
                Some((value, value))
            }
            Number::Constant(value) => Some((value, value)),
            Number::Program(axis) => positions(axis),
            Number::Programs(axis) => {
                let count = i64::from(*grid.get(axis)?);
                Some((count, count))
            }
            Number::Counter([lower, upper]) => {
                let (lower, upper) = (of(lower)?, of(upper)?);
                Some((lower.0, upper.1.checked_sub(1)?.max(lower.0)))
            }
            Number::Combined { by, bits, parts } => {
                let bounds = combine(by, of(parts[0])?, of(parts[1])?)?;
                let most = i64::MAX >> 64_u32.checked_sub(bits)?;
                (bounds.0 >= -most - 1 && bounds.1 <= most).then_some(bounds)
            }
        }
    }
}

/// The bounds of a function that is monotonic in each of two numbers.
fn corners(one: Bounds, two: Bounds, of: impl Fn(i64, i64) -> Option<i64>) -> Option<Bounds> {
    let ends = [of(one.0, two.0)?, of(one.0, two.1)?, of(one.1, two.0)?, of(one.1, two.1)?];
    Some((*ends.iter().min()?, *ends.iter().max()?))
}

fn combine(by: Arith, one: Bounds, two: Bounds) -> Option<Bounds> {
    match by {
        Arith::Add => corners(one, two, i64::checked_add),
        Arith::Sub => corners(one, two, i64::checked_sub),
        Arith::Mul => corners(one, two, i64::checked_mul),
        Arith::Min => Some((one.0.min(two.0), one.1.min(two.1))),
        Arith::Max => Some((one.0.max(two.0), one.1.max(two.1))),
        Arith::Div if two.0 > 0 => corners(one, two, i64::checked_div),
        Arith::Rem if two.0 > 0 && one.0 == one.1 && two.0 == two.1 => corners(one, two, i64::checked_rem),
        Arith::Rem if two.0 > 0 => {
            let most = two.1 - 1;
            Some(match one {
                (0.., high) if high < two.0 => one,
                (0.., high) => (0, most.min(high)),
                (low, _) => (low.max(-most), most.min(one.1.max(0))),
            })
        }
        // No program that is asked about divides by what is not positive.
        Arith::Div | Arith::Rem => None,
    }
}

impl Condition {
    fn holds(&self, args: &[u64], known: &[Option<Bounds>], extents: &[Extent]) -> bool {
        let of = |at: usize| known.get(at).copied().flatten();
        match *self {
            Condition::Within { number, low, high } => {
                of(number).is_some_and(|(least, greatest)| least >= low && greatest <= high)
            }
            Condition::Apart(pieces) => {
                let ends = pieces.map(|piece| {
                    let base = *args.get(piece.base)?;
                    let (least, bytes) = of(piece.bytes)?;
                    let end = base.checked_add(u64::try_from(bytes).ok()?)?;
                    (least >= 0).then_some((base, end))
                });
                let [Some(one), Some(two)] = ends else { return false };
                one.1 <= two.0 || two.1 <= one.0
            }
            Condition::Clear(clear) => clear.by_distance(args) || clear.by_extents(args, extents),
            // Asked for all programs one by one.
            Condition::Alike(_) => true,
        }
    }
}

impl Clear {
    /// Whether the addresses alone are enough.
    fn by_distance(&self, args: &[u64]) -> bool {
        let [Some(&one), Some(&two)] = self.bases.map(|base| args.get(base)) else { return false };
        let is_far = self.bytes.is_some_and(|bytes| one.abs_diff(two) >= bytes);
        is_far || (self.same && one == two)
    }

    /// Whether they are addresses of memory that does not belong together.
    fn by_extents(&self, args: &[u64], extents: &[Extent]) -> bool {
        let pieces = merged(extents.to_vec());
        let piece = |base: usize| {
            let address = *args.get(base)?;
            pieces.iter().position(|piece| piece.holds(address))
        };
        let [Some(one), Some(two)] = self.bases.map(piece) else { return false };
        one != two
    }
}

impl fmt::Display for Clear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [one, two] = self.bases;
        write!(f, "%{one} clear %{two}{}", if self.same { " same" } else { "" })?;
        self.bytes.map_or(Ok(()), |bytes| write!(f, " by {bytes}"))
    }
}

impl fmt::Display for Guards {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |all: Vec<String>| all.join("; ");
        let numbers = self.numbers.iter().map(ToString::to_string).collect();
        let conditions = self.conditions.iter().map(ToString::to_string).collect();
        write!(f, "{} | {}", list(numbers), list(conditions))
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Arg { slot, bits } => write!(f, "%{slot}:i{bits}"),
            Number::Constant(value) => write!(f, "{value}"),
            Number::Program(axis) => write!(f, "program {axis}"),
            Number::Programs(axis) => write!(f, "programs {axis}"),
            Number::Counter([lower, upper]) => write!(f, "counter {lower} {upper}"),
            Number::Combined { by, bits, parts } => {
                let name = NAMES.iter().find(|row| row.0 == *by).expect("each has a name").1;
                write!(f, "{name}{bits} {} {}", parts[0], parts[1])
            }
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Within { number, low, high } => write!(f, "{number} in {low}..{high}"),
            Condition::Apart([one, two]) => {
                write!(f, "%{} {} apart %{} {}", one.base, one.bytes, two.base, two.bytes)
            }
            Condition::Clear(clear) => clear.fmt(f),
            Condition::Alike(number) => write!(f, "{number} alike"),
        }
    }
}

impl FromStr for Guards {
    type Err = String;

    fn from_str(text: &str) -> Result<Guards, String> {
        let (numbers, conditions) = text.split_once(" | ").ok_or_else(|| wrong(text))?;
        let guards = Guards {
            numbers: match numbers {
                "" => Vec::new(),
                numbers => numbers.split("; ").map(str::parse).collect::<Result<_, _>>()?,
            },
            conditions: conditions.split("; ").map(str::parse).collect::<Result<_, _>>()?,
        };
        let fits = |(at, number): (usize, &Number)| match number {
            Number::Counter(parts) | Number::Combined { parts, .. } => parts.iter().all(|&part| part < at),
            Number::Program(axis) | Number::Programs(axis) => *axis < 3,
            Number::Arg { .. } | Number::Constant(_) => true,
        };
        let stands = |condition: &Condition| match condition {
            Condition::Within { number, .. } => *number < guards.numbers.len(),
            Condition::Apart(pieces) => pieces.iter().all(|piece| piece.bytes < guards.numbers.len()),
            Condition::Clear(_) => true,
            Condition::Alike(number) => *number < guards.numbers.len(),
        };
        let is_whole = guards.numbers.iter().enumerate().all(fits) && guards.conditions.iter().all(stands);
        if is_whole { Ok(guards) } else { Err(wrong(text)) }
    }
}

fn wrong(text: &str) -> String {
    format!("`{text}` does not say what a launch must be")
}

fn bits_of(text: &str) -> Option<u32> {
    text.parse().ok().filter(|bits| matches!(bits, 32 | 64))
}

impl FromStr for Number {
    type Err = String;

    fn from_str(text: &str) -> Result<Number, String> {
        let words: Vec<&str> = text.split(' ').collect();
        let at = |word: &str| word.parse::<usize>().ok();
        let number = match words[..] {
            [word] => match word.strip_prefix('%') {
                Some(arg) => arg
                    .split_once(":i")
                    .and_then(|(slot, bits)| Some(Number::Arg { slot: at(slot)?, bits: bits_of(bits)? })),
                None => word.parse().ok().map(Number::Constant),
            },
            ["program", axis] => at(axis).map(Number::Program),
            ["programs", axis] => at(axis).map(Number::Programs),
            ["counter", lower, upper] => {
                at(lower).zip(at(upper)).map(|(lower, upper)| Number::Counter([lower, upper]))
            }
            [name, one, two] => NAMES.iter().find_map(|(by, own)| {
                let bits = bits_of(name.strip_prefix(own)?)?;
                Some(Number::Combined { by: *by, bits, parts: [at(one)?, at(two)?] })
            }),
            _ => None,
        };
        number.ok_or_else(|| wrong(text))
    }
}

impl FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Condition, String> {
        let words: Vec<&str> = text.split(' ').collect();
        let at = |word: &str| word.parse::<usize>().ok();
        let condition = match words[..] {
            [number, "in", range] => range.split_once("..").and_then(|(low, high)| {
                Some(Condition::Within {
                    number: at(number)?,
                    low: low.parse().ok()?,
                    high: high.parse().ok()?,
                })
            }),
            [number, "alike"] => at(number).map(Condition::Alike),
            [one, first, "apart", two, second] => {
                let piece =
                    |base: &str, bytes| Some(Piece { base: at(base.strip_prefix('%')?)?, bytes: at(bytes)? });
                piece(one, first).zip(piece(two, second)).map(|(one, two)| Condition::Apart([one, two]))
            }
            [one, "clear", two, ref rest @ ..] => {
                let base = |word: &str| at(word.strip_prefix('%')?);
                let rest = match rest {
                    [] => Some((false, None)),
                    ["same"] => Some((true, None)),
                    ["by", bytes] => bytes.parse().ok().map(|bytes| (false, Some(bytes))),
                    ["same", "by", bytes] => bytes.parse().ok().map(|bytes| (true, Some(bytes))),
                    _ => None,
                };
                base(one).zip(base(two)).zip(rest).map(|((one, two), (same, bytes))| {
                    Condition::Clear(Clear { bases: [one, two], same, bytes })
                })
            }
            _ => None,
        };
        condition.ok_or_else(|| wrong(text))
    }
}

#[cfg(test)]
mod tests {
    use super::Guards;
    use crate::Extent;

    fn guards(text: &str) -> Guards {
        let guards: Guards = text.parse().expect("guards");
        assert_eq!(guards.to_string(), text);
        guards
    }

    #[test]
    fn bounds_are_those_of_all_programs() {
        // The column of a grouped order of tiles: (pid % (8 * columns)) / min(rows - pid / (8 * columns) * 8, 8).
        let text = "%0:i32; %1:i32; 8; program 0; mul32 1 2; div32 3 4; mul32 5 2; sub32 0 6; min32 7 2; rem32 3 4; \
                    div32 9 8 | 10 in 0..1000";
        let column = guards(text);
        assert!(column.hold([12 * 20, 1, 1], &[12, 20], &[]));
        assert!(column.hold([1, 1, 1], &[1, 1], &[]));
        // More programs than tiles may divide by zero, as may no columns at all.
        assert!(!column.hold([20 * 20, 1, 1], &[12, 20], &[]));
        assert!(!column.hold([240, 1, 1], &[12, 0], &[]));
        assert_eq!(column.args(), [0, 1]);
    }

    #[test]
    fn what_may_overflow_has_no_bounds() {
        let text = "%0:i32; %1:i32; mul32 0 1; mul64 0 1 | ";
        let both = |number: usize| guards(&format!("{text}{number} in -9000000000..9000000000"));
        assert!(both(2).hold([1, 1, 1], &[46_340, 46_340], &[]));
        assert!(!both(2).hold([1, 1, 1], &[46_341, 46_341], &[]));
        assert!(both(3).hold([1, 1, 1], &[46_341, 46_341], &[]));
        // Of 32-bit numbers only the first bytes of their slots count.
        assert!(guards("%0:i32 | 0 in -1..-1").hold([1, 1, 1], &[0xffff_ffff], &[]));
        assert!(!guards("%3:i32 | 0 in 0..9").hold([1, 1, 1], &[1], &[]));
    }

    #[test]
    fn counters_lie_between_their_ends() {
        let text = "0; %0:i32; counter 0 1; 64; mul32 2 3 | 4 in 0..192";
        assert!(guards(text).hold([1, 1, 1], &[4], &[]));
        assert!(!guards(text).hold([1, 1, 1], &[5], &[]));
        assert!(guards(text).hold([1, 1, 1], &[0], &[]));
    }

    #[test]
    fn numbers_are_alike_in_pairs_of_programs() {
        // Row and column of a grouped order of tiles: groups of 8 rows, %0 columns, %1 rows.
        let text = "%0:i32; %1:i32; 8; program 0; mul32 2 0; div32 3 4; mul32 5 2; sub32 1 6; min32 7 2; rem32 3 4; \
                    div32 9 8; rem32 9 8; add32 6 11 | ";
        let alike = |number: u32, grid, columns: u64, rows: u64| {
            guards(&format!("{text}{number} alike")).hold(grid, &[columns, rows], &[])
        };
        assert!(alike(10, [33 * 16, 1, 1], 33, 16));
        assert!(!alike(12, [33 * 16, 1, 1], 33, 16));
        // The last group has three rows, so columns change within pairs.
        assert!(!alike(10, [4 * 11, 1, 1], 4, 11));
        // With one row in the last group, neighbours are of different columns.
        assert!(!alike(10, [4 * 9, 1, 1], 4, 9));
        // Programs are odd in number, or too many.
        assert!(!alike(10, [33 * 15, 1, 1], 33, 15) && !alike(10, [1 << 16, 2, 1], 1 << 13, 8));
        assert!(alike(10, [8, 3, 2], 1, 8));
        // What counts is no one number.
        assert!(!guards("0; %0:i32; counter 0 1 | 2 alike").hold([2, 1, 1], &[5], &[]));
        assert!(guards("0; %0:i32; counter 0 1 | 2 alike").hold([2, 1, 1], &[1], &[]));
    }

    #[test]
    fn pieces_are_apart() {
        let text = "%1:i64; %3:i64 | %0 0 apart %2 1";
        let apart = |args: [u64; 4]| guards(text).hold([1, 1, 1], &args, &[]);
        assert!(apart([100, 50, 150, 10]) && apart([150, 10, 100, 50]) && apart([100, 0, 100, 50]));
        assert!(!apart([100, 51, 150, 10]) && !apart([100, 50, 100, 50]) && !apart([u64::MAX, 2, 0, 1]));
        assert_eq!(guards(text).args(), [0, 1, 2, 3]);
    }

    #[test]
    fn memory_is_clear_of_other_memory() {
        let hold = |text: &str, args: [u64; 2], extents: &[(u64, u64)]| {
            let extents: Vec<Extent> =
                extents.iter().map(|&(base, len)| Extent { base, len, writable: true }).collect();
            guards(text).hold([1, 1, 1], &args, &extents)
        };
        let by = |args| hold(" | %0 clear %1 same by 256", args, &[]);
        assert!(by([0, 256]) && by([256, 0]) && by([64, 64]) && !by([0, 255]) && !by([4, 0]));
        assert!(!hold(" | %0 clear %1 by 256", [64, 64], &[]) && hold(" | %0 clear %1 same", [64, 64], &[]));
        let far = |args, extents: &[(u64, u64)]| hold(" | %0 clear %1", args, extents);
        assert!(far([100, 200], &[(100, 100), (200, 4)]) && !far([100, 200], &[(100, 101), (200, 4)]));
        assert!(!far([100, 200], &[(100, 100)]) && !far([100, 150], &[(100, 100)]) && !far([100, 200], &[]));
        // Three views, the first and the last of which have nothing in common but by the second one.
        assert!(!far([100, 190], &[(100, 50), (140, 60), (190, 50)]));
        assert!(guards(" | %0 clear %1 by 4").ask_extents(&[0, 3]));
        assert!(!guards(" | %0 clear %1 by 4").ask_extents(&[0, 4]));
        assert_eq!(guards("%0:i32 | 0 in 0..1; %1 clear %2 same").args(), [0, 1, 2]);
    }

    #[test]
    fn wrong_texts_are_refused() {
        let texts = [
            "",
            "1; 2",
            "add32 0 1; 1; 1 | 0 in 0..1",
            "program 3 | 0 in 0..1",
            "%0:i16 | 0 in 0..1",
            "1 | 1 in 0..1",
            "1 | 0 in 0",
            "1 | %0 0 apart %1 1",
            "pow32 0 0 | 0 in 0..1",
            "1 | ",
            " | ",
            " | %0 clear",
            " | %0 clear 1",
            " | %0 clear %1 by",
            " | %0 clear %1 by 4 same",
        ];
        for text in texts {
            assert!(text.parse::<Guards>().is_err(), "{text}");
        }
    }
}
