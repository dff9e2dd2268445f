//! Where buffers lie: those alive at the same time lie apart, others may share bytes.

/// A buffer to place.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    /// Its size.
    pub(crate) bytes: u32,
    /// What its address must be a multiple of; a power of two.
    pub(crate) align: u32,
    /// When it is alive: closed ranges of positions in the program.
    pub(crate) alive: Vec<(u32, u32)>,
}

impl Request {
    fn meets(&self, other: &Request) -> bool {
        self.alive.iter().any(|one| other.alive.iter().any(|two| one.0 <= two.1 && two.0 <= one.1))
    }
}

/// The offset of each buffer, and the size of all.
///
/// The largest are placed first, each at the lowest place that is free as long as it lives. Then, without needing more,
/// those that live for one operation alone are spread: each behind the one before, so that neighbours in the program
/// need not wait for each other to reuse bytes.
pub(crate) fn place(requests: &[Request]) -> (Vec<u32>, u32) {
    let mut order: Vec<usize> = (0..requests.len()).collect();
    order.sort_by_key(|&index| (std::cmp::Reverse((requests[index].align, requests[index].bytes)), index));
    let mut offsets: Vec<Option<u32>> = vec![None; requests.len()];
    let mut total = 0;
    for index in order {
        let at = lowest(requests, &offsets, index, 0);
        offsets[index] = Some(at);
        total = total.max(at + requests[index].bytes);
    }
    let short = |request: &Request| matches!(request.alive[..], [(start, end)] if start == end);
    let mut spread: Vec<usize> = (0..requests.len()).filter(|&index| short(&requests[index])).collect();
    spread.sort_by_key(|&index| requests[index].alive[0]);
    let mut from = 0;
    for index in spread {
        let old = offsets[index].take();
        let further = lowest(requests, &offsets, index, from);
        let fits = further + requests[index].bytes <= total;
        let at = if fits { further } else { lowest(requests, &offsets, index, 0) };
        // Others were placed around the old place; the lowest may be another by now, and is never too high then.
        let at = if at + requests[index].bytes <= total { at } else { old.unwrap_or(at) };
        offsets[index] = Some(at);
        from = at + requests[index].bytes;
    }
    (offsets.into_iter().map(Option::unwrap_or_default).collect(), total)
}

/// The lowest place from some offset on that is free of what is placed and alive at the same time.
fn lowest(requests: &[Request], offsets: &[Option<u32>], index: usize, from: u32) -> u32 {
    let request = &requests[index];
    let placed = requests.iter().zip(offsets).enumerate().filter(|(other, _)| *other != index);
    let mut taken: Vec<(u32, u32)> = placed
        .filter(|(_, (other, _))| other.meets(request))
        .filter_map(|(_, (other, offset))| offset.map(|offset| (offset, offset + other.bytes)))
        .collect();
    taken.sort_unstable();
    let mut at = from.next_multiple_of(request.align.max(1));
    for (start, end) in taken {
        if at + request.bytes > start && at < end && request.bytes > 0 {
            at = end.next_multiple_of(request.align.max(1));
        }
    }
    at
}

#[cfg(test)]
mod tests {
    use super::{Request, place};
    use proptest::prelude::*;

    fn request(bytes: u32, align: u32, alive: &[(u32, u32)]) -> Request {
        Request { bytes, align, alive: alive.to_vec() }
    }

    #[test]
    fn buffers_that_never_meet_share_bytes() {
        let requests =
            [request(512, 16, &[(0, 3)]), request(256, 16, &[(4, 5)]), request(128, 16, &[(3, 4)])];
        let (offsets, total) = place(&requests);
        assert_eq!((offsets, total), (vec![0, 0, 512], 640));
    }

    #[test]
    fn neighbours_do_not_reuse_bytes_where_there_are_others() {
        let requests =
            [request(512, 16, &[(9, 9)]), request(256, 16, &[(1, 1)]), request(256, 16, &[(2, 2)])];
        assert_eq!(place(&requests), (vec![0, 0, 256], 512));
    }

    proptest! {
        #[test]
        fn buffers_that_meet_lie_apart(list in proptest::collection::vec((0..200u32, 0..4u32, 0..20u32, 0..8u32), 1..12)) {
            let requests: Vec<Request> =
                list.iter().map(|&(bytes, align, from, len)| request(bytes, 16 << align, &[(from, from + len)])).collect();
            let (offsets, total) = place(&requests);
            for (index, one) in requests.iter().enumerate() {
                prop_assert_eq!(offsets[index] % one.align, 0);
                prop_assert!(offsets[index] + one.bytes <= total);
                for (other, two) in requests.iter().enumerate().skip(index + 1) {
                    // No bytes are nowhere, also between those of others.
                    let is_empty = one.bytes == 0 || two.bytes == 0;
                    let apart = offsets[index] + one.bytes <= offsets[other] || offsets[other] + two.bytes <= offsets[index];
                    prop_assert!(apart || is_empty || !one.meets(two));
                }
            }
        }
    }
}
