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
/// The largest are placed first, each at the lowest place that is free as long as it lives.
pub(crate) fn place(requests: &[Request]) -> (Vec<u32>, u32) {
    let mut order: Vec<usize> = (0..requests.len()).collect();
    order.sort_by_key(|&index| (std::cmp::Reverse((requests[index].align, requests[index].bytes)), index));
    let mut offsets = vec![0; requests.len()];
    let mut placed: Vec<usize> = Vec::new();
    let mut total = 0;
    for index in order {
        let request = &requests[index];
        let mut taken: Vec<(u32, u32)> = placed
            .iter()
            .filter(|&&other| requests[other].meets(request))
            .map(|&other| (offsets[other], offsets[other] + requests[other].bytes))
            .collect();
        taken.sort_unstable();
        let mut at = 0u32;
        for (start, end) in taken {
            if at + request.bytes > start && request.bytes > 0 {
                at = at.max(end).next_multiple_of(request.align.max(1));
            }
        }
        offsets[index] = at;
        total = total.max(at + request.bytes);
        placed.push(index);
    }
    (offsets, total)
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
                    let apart = offsets[index] + one.bytes <= offsets[other] || offsets[other] + two.bytes <= offsets[index];
                    prop_assert!(apart || !one.meets(two));
                }
            }
        }
    }
}
