//! How the runtime is spoken of, and what its statuses lead on to.

use gpu::driver::{Advice, Terms, row};

pub(super) const TERMS: Terms = Terms {
    name: "HIP runtime",
    needed: "6.0 or newer is needed",
    blocking: "HIP_LAUNCH_BLOCKING",
    shared: "LDS",
    advice: ADVICE,
};

const ADVICE: &[Advice] = &[
    row(
        100,
        "check `rocminfo`, HIP_VISIBLE_DEVICES and ROCR_VISIBLE_DEVICES, and that you may open /dev/kfd and /dev/dri",
    ),
    row(101, "check HIP_VISIBLE_DEVICES"),
    row(200, "the code object is damaged, or its version is newer than the runtime"),
];
