//! Loads of lanes that lie near each other in a known order: every second element of a row, or a row from its end.
//!
//! Input:  16 lanes at `p`, `p + 2`, … `p + 30`
//! Output: vectors from `p` and from `p + 15` on, and a shuffle that takes each lane from one of them
//!
//! A gather makes an access for each lane. Vectors over all that lies between are a few, and bytes and 16-bit elements,
//! for which there is no gather, come by them as well.
//!
//! Legal where nothing is volatile: a vector begins and ends at elements that lanes read, and what is between two of
//! these less than a page apart is in the pages of both. Where some lanes are masked off, nothing but what the others
//! read is loaded, by masks for the vectors.

use super::chunk::Chunks;
use super::value::{Lanes, Val};
use ir::Value as IrValue;
use llir::{Type, Value};

/// The most vectors: a gather of 16 lanes takes as long as some ten loads.
const MOST_VECTORS: usize = 4;

/// The most elements between neighbours, so that they are in one page or two.
const MOST_BETWEEN: i64 = 16;

/// Vectors of as many elements as there are lanes, and which one has each lane.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Vectors {
    /// Where each begins, in elements.
    starts: Vec<i64>,
    /// For each lane the vector that has it, and its place there.
    picks: Vec<(usize, i32)>,
}

impl Vectors {
    /// The vectors for lanes at some places; `None` where they lie too far apart, or closer than a vector is long.
    fn of(lanes: &Lanes) -> Option<Vectors> {
        let length = i64::try_from(lanes.0.len()).ok()?;
        let mut places = lanes.0.to_vec();
        places.sort_unstable();
        let (first, last) = (*places.first()?, *places.last()?);
        let is_near = places.windows(2).all(|pair| (1..=MOST_BETWEEN).contains(&(pair[1] - pair[0])));
        if length < 4 || !is_near || last - first + 1 < length {
            return None;
        }
        let mut starts: Vec<i64> = Vec::new();
        for place in places {
            if starts.last().is_none_or(|&start| place >= start + length) {
                starts.push(place.min(last - length + 1));
            }
        }
        let pick = |place: i64| {
            let vector = starts.partition_point(|&start| start <= place) - 1;
            (vector, (place - starts[vector]) as i32)
        };
        let picks = lanes.0.iter().map(|&place| pick(place)).collect();
        (starts.len() <= MOST_VECTORS).then_some(Vectors { starts, picks })
    }
}

/// How accesses are noted.
pub(crate) const NEAR: &str = "vectors, of which lanes are taken";

/// A load by vectors.
#[derive(Debug)]
pub(crate) struct Near {
    address: Value,
    vectors: Vectors,
}

impl Chunks<'_, '_> {
    /// How a load by a pointer with a value is done by vectors, if so.
    pub(crate) fn near(&mut self, pointer: IrValue, val: &Val) -> Option<Near> {
        let Val::Affine(affine) = val else { return None };
        let vectors = Vectors::of(&affine.lanes).filter(|_| affine.lanes.stride() != Some(1))?;
        let element = self.pointee(self.module.ty(pointer));
        Some(Near { address: self.scalar_of(affine, element), vectors })
    }

    /// Loads the vectors and takes each lane from its own. Where lanes are given, no others are read, and these are
    /// anything.
    pub(crate) fn load_near(&mut self, lane: Type, near: &Near, lanes: Option<Value>) -> Value {
        let Near { address, vectors: Vectors { starts, picks } } = near;
        let (ty, count) = (self.vector_type(lane), picks.len() as i32);
        let mut vectors = Vec::with_capacity(starts.len());
        for (number, &start) in starts.iter().enumerate() {
            let start = self.b.i64(start);
            let place = self.b.gep(lane, *address, start);
            vectors.push(match lanes {
                None => self.b.load(ty, place, lane.lane_bytes()),
                Some(lanes) => {
                    let of_lanes = self.b.ty(lanes);
                    let (nothing, none) = (self.b.zero(ty), self.b.zero(of_lanes));
                    let whose = |element| picks.iter().position(|&pick| pick == (number, element));
                    let mask: Vec<i32> =
                        (0..count).map(|element| whose(element).map_or(count, |lane| lane as i32)).collect();
                    let read = self.b.shuffle(lanes, none, &mask);
                    self.b.masked_load(ty, place, lane.lane_bytes(), read, nothing)
                }
            });
        }
        let places: Vec<i32> = picks.iter().map(|&(_, place)| place).collect();
        let first = self.b.shuffle(vectors[0], vectors[0], &places);
        (1..).zip(&vectors[1..]).fold(first, |before, (number, &next)| {
            let own = |(lane, &(vector, place)): (i32, &(usize, i32))| {
                if vector == number { count + place } else { lane }
            };
            let mask: Vec<i32> = (0..).zip(picks).map(own).collect();
            self.b.shuffle(before, next, &mask)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Lanes, Vectors};

    fn vectors(places: &[i64]) -> Option<Vectors> {
        Vectors::of(&Lanes(places.into()))
    }

    /// Where each lane is taken from.
    fn taken(found: &Vectors) -> Vec<i64> {
        found.picks.iter().map(|&(vector, place)| found.starts[vector] + i64::from(place)).collect()
    }

    #[test]
    fn lanes_are_taken_from_vectors_within_their_places() {
        let orders: [(Vec<i64>, usize); 6] = [
            ((0..8).map(|lane| 2 * lane).collect(), 2),
            ((0..16).map(|lane| 3 * lane).collect(), 3),
            ((0..8).map(|lane| 4 * lane - 7).collect(), 4),
            ((0..8).map(|lane| -lane).collect(), 1),
            ((0..8).map(|lane| -2 * lane).collect(), 2),
            (vec![3, 0, 1, 2, 9, 8, 11, 10], 2),
        ];
        for (places, count) in orders {
            let found = vectors(&places).expect("some vectors have them");
            assert_eq!(taken(&found), places);
            assert_eq!(found.starts.len(), count, "{places:?}");
            let (first, last) = (places.iter().min().unwrap(), places.iter().max().unwrap());
            let ends = found.starts.iter().map(|start| start + places.len() as i64 - 1);
            assert!(found.starts.iter().all(|start| start >= first) && ends.max().unwrap() <= *last);
            assert!(found.picks.iter().all(|&(_, place)| (0..places.len() as i32).contains(&place)));
        }
    }

    #[test]
    fn others_are_gathered() {
        for places in [
            vec![0, 0, 4, 4, 8, 8, 12, 12],
            (0..8).map(|lane| 9 * lane).collect(),
            vec![0, 2],
            vec![0, 1, 2, 100],
        ] {
            assert_eq!(vectors(&places), None, "{places:?}");
        }
    }
}
