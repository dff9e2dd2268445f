//! Changes texts and bytes at random, for tests that bad input never makes anything panic. Not used by any product
//! path.
//!
//! [`try_texts`] and [`try_bytes`] damage samples over and over and hand them to a function that may refuse them but
//! not panic. A failure prints the seed, with which the one case runs again: `FUZZ_SEED=… FUZZ_ROUNDS=1`. Without a
//! seed each run tries other damage; `FUZZ_ROUNDS` says how many cases. Left out: coverage, shrinking.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{SystemTime, UNIX_EPOCH};

/// A small generator of random numbers (splitmix64, Steele, Lea and Flood 2014).
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// A generator by its seed.
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below a limit; 0 where the limit is 0.
    pub fn below(&mut self, limit: usize) -> usize {
        (self.bits() % limit.max(1) as u64) as usize
    }

    fn pick<'a, T: ?Sized>(&mut self, from: &[&'a T]) -> &'a T {
        from[self.below(from.len())]
    }
}

/// Numbers that stand at an edge of something.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "3",
    "7",
    "8",
    "64",
    "1024",
    "1048576",
    "1073741824",
    "2147483648",
    "4294967295",
    "99999999999999999999",
    "0x",
    "0xFFFFFFFFFFFFFFFF",
    "1e999",
];

/// Pieces of a text: words, numbers, single other characters.
fn pieces(text: &str) -> Vec<&str> {
    let word = |c: char| c.is_ascii_alphanumeric() || "_.%".contains(c);
    let mut pieces = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length =
            if word(first) { rest.find(|c| !word(c)).unwrap_or(rest.len()) } else { first.len_utf8() };
        pieces.push(&rest[..length]);
        rest = &rest[length..];
    }
    pieces
}

/// The place of a random piece for which a condition holds, if the search meets one.
fn place(pieces: &[&str], random: &mut Random, holds: impl Fn(&str) -> bool) -> Option<usize> {
    let from = random.below(pieces.len());
    (from..pieces.len()).chain(0..from).find(|&at| holds(pieces[at]))
}

/// A line of the text goes, or comes twice.
fn change_line(pieces: &mut Vec<&str>, random: &mut Random) {
    let at = random.below(pieces.len());
    let begin = pieces[..at].iter().rposition(|&piece| piece == "\n").map_or(0, |end| end + 1);
    let end = pieces[at..].iter().position(|&piece| piece == "\n").map_or(pieces.len(), |end| at + end + 1);
    let line: Vec<&str> = pieces.drain(begin..end).collect();
    if random.below(2) == 0 {
        let twice = [line.clone(), line].concat();
        pieces.splice(begin..begin, twice);
    }
}

/// The text with one to three changes. `words` are put where others stood, besides those of the text itself.
pub fn text(text: &str, words: &[&str], random: &mut Random) -> String {
    let mut all = pieces(text);
    for _ in 0..=random.below(3) {
        if all.is_empty() {
            break;
        }
        let at = random.below(all.len());
        match random.below(8) {
            0 => all[at] = "",
            1 => all[at] = all[random.below(all.len())],
            2 => {
                let other = random.below(all.len());
                all.swap(at, other);
            }
            3 => change_line(&mut all, random),
            4 => {
                let number = |piece: &str| piece.starts_with(|c: char| c.is_ascii_digit());
                if let Some(at) = place(&all, random, number) {
                    all[at] = random.pick(NUMBERS);
                }
            }
            5 => {
                let word = |piece: &str| piece.starts_with(|c: char| c.is_ascii_alphabetic());
                let (to, from) = (place(&all, random, word), place(&all, random, word));
                if let (Some(to), Some(from)) = (to, from) {
                    all[to] = all[from];
                }
            }
            6 => all.insert(at, random.pick(words)),
            _ => all[at] = random.pick(words),
        }
    }
    all.concat()
}

/// The bytes with one to four changes: other bits, numbers at an edge, pieces that go, come twice or are cut off.
pub fn bytes(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut all = bytes.to_vec();
    for _ in 0..=random.below(4) {
        if all.is_empty() {
            break;
        }
        let at = random.below(all.len());
        let end = (at + 1 + random.below(16)).min(all.len());
        match random.below(7) {
            0 => all[at] ^= 1 << random.below(8),
            1 => all[at] = random.bits() as u8,
            2 => all[at..end].fill(0xFF),
            3 => all[at..end].fill(0),
            4 => drop(all.drain(at..end)),
            5 => all.splice(at..at, all[at..end].to_vec()).for_each(drop),
            _ => all.truncate(at),
        }
    }
    all
}

/// What the environment says about a number.
fn setting(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name} is a number, and not `{text}`")))
}

fn try_all<T>(
    rounds: u64,
    damaged: impl Fn(&mut Random) -> T,
    accepts: impl Fn(&T) -> bool,
    show: impl Fn(&T) -> String,
) {
    let clock = SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |time| time.as_nanos() as u64);
    let start = setting("FUZZ_SEED").unwrap_or(clock);
    let rounds = setting("FUZZ_ROUNDS").unwrap_or(rounds);
    let mut accepted = 0;
    for seed in (0..rounds).map(|round| start.wrapping_add(round)) {
        let input = damaged(&mut Random::new(seed));
        match catch_unwind(AssertUnwindSafe(|| accepts(&input))) {
            Ok(whole) => accepted += u64::from(whole),
            Err(_) => panic!("FUZZ_SEED={seed} FUZZ_ROUNDS=1 fails: {}", show(&input)),
        }
    }
    assert!(rounds < 100 || accepted > 0, "all was refused: the damage is too large to test anything");
}

/// Hands damaged samples to a function that says whether it took one for whole.
///
/// # Panics
/// When the function panics, or takes none of at least a hundred.
pub fn try_texts(rounds: u64, samples: &[String], words: &[&str], accepts: impl Fn(&str) -> bool) {
    let damaged = |random: &mut Random| {
        let sample = &samples[random.below(samples.len())];
        text(sample, words, random)
    };
    let show = |text: &String| {
        let path = std::env::temp_dir().join(format!("deuteron-fuzz-{}.txt", std::process::id()));
        std::fs::write(&path, text)
            .map_or_else(|_| text.clone(), |()| format!("the text is {}", path.display()))
    };
    try_all(rounds, damaged, |text| accepts(text), show);
}

/// As [`try_texts`], of bytes.
///
/// # Panics
/// When the function panics, or takes none of at least a hundred.
pub fn try_bytes(rounds: u64, samples: &[Vec<u8>], accepts: impl Fn(&[u8]) -> bool) {
    let damaged = |random: &mut Random| {
        let sample = &samples[random.below(samples.len())];
        bytes(sample, random)
    };
    try_all(rounds, damaged, |bytes| accepts(bytes), |bytes| format!("{} bytes", bytes.len()));
}

#[cfg(test)]
mod tests {
    use super::{Random, bytes, pieces, text, try_texts};

    #[test]
    fn the_pieces_are_the_text() {
        let sample = "%0 = tt.load %a : tensor<4x!tt.ptr<f32>> // é\n";
        assert_eq!(pieces(sample).concat(), sample);
    }

    #[test]
    fn damage_changes_most_inputs_and_a_seed_repeats_it() {
        let sample = "a b c d 1 2 3\nsecond line\n";
        let changed = (0..100).filter(|&seed| text(sample, &["x"], &mut Random::new(seed)) != sample).count();
        assert!(changed > 80, "{changed}");
        let once = bytes(sample.as_bytes(), &mut Random::new(7));
        assert_eq!(once, bytes(sample.as_bytes(), &mut Random::new(7)));
        assert_eq!(text("", &["x"], &mut Random::new(3)), "");
    }

    #[test]
    #[should_panic(expected = "FUZZ_ROUNDS=1 fails")]
    fn a_panic_is_told_with_its_seed() {
        try_texts(50, &["a b c".to_owned()], &["x"], |text| panic!("{text}"));
    }

    #[test]
    #[should_panic(expected = "all was refused")]
    fn refusing_everything_tests_nothing() {
        try_texts(100, &["a b c".to_owned()], &["x"], |_| false);
    }
}
