//! How the driver is spoken of, and what its statuses lead on to.

use gpu::driver::{Advice, Terms, late, row};

pub(super) const TERMS: Terms = Terms {
    name: "NVIDIA driver",
    needed: "version 525 (CUDA 12.0) or newer is needed",
    blocking: "CUDA_LAUNCH_BLOCKING",
    shared: "shared memory",
    advice: ADVICE,
};

const ADVICE: &[Advice] = &[
    row(4, "the process is ending, and the driver has shut down"),
    row(34, "a stub library was found in place of the driver: take its folder out of LD_LIBRARY_PATH"),
    row(46, "another process has the device for itself, or it needs a reset"),
    row(100, "check `nvidia-smi`, and that CUDA_VISIBLE_DEVICES names a device"),
    row(101, "check CUDA_VISIBLE_DEVICES"),
    row(218, "the assembler of the driver refuses the PTX"),
    row(221, "the driver's own assembler (libnvidia-ptxjitcompiler) is missing: install the whole driver"),
    row(222, "the PTX needs a newer driver: update it, or set ptx_version to an older one"),
    late(702, "the kernel ran longer than the display's time limit"),
    row(803, "the loaded driver library and the kernel module differ: restart the machine after an update"),
    row(804, "the compatibility package in use does not fit this device"),
    late(714, "the kernel damaged its own stack"),
    late(715, "the device met an instruction that it does not know"),
    late(716, "the kernel used an address that is not a multiple of the size of its access"),
    late(717, "the kernel used an address in the wrong address space"),
    late(718, "the kernel jumped out of its code"),
];
