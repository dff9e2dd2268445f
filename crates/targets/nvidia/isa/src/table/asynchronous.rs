//! Asynchronous copies, and the barriers in memory that wait for them.

use crate::pattern::{Role, Row, row};

pub(super) const ROWS: &[Row] = &[
    row(
        "cp.async ca shared|shared::cta@7.8 global L2::cache_hint@7.4/80? L2::64B@7.4/75|L2::128B@7.4/75|L2::256B@7.4/80?",
        "MMIaC",
        "7.0/80",
    ),
    row(
        "cp.async cg shared|shared::cta@7.8 global L2::cache_hint@7.4/80? L2::64B@7.4/75|L2::128B@7.4/75|L2::256B@7.4/80?",
        "MMIaC",
        "7.0/80",
    ),
    row("cp.async.commit_group", "", "7.0/80"),
    row("cp.async.wait_group", "I", "7.0/80").does(Role::CopyWait),
    row("cp.async.wait_all", "", "7.0/80"),
    row("cp.async.mbarrier.arrive noinc? shared|shared::cta@7.8? b64", "M", "7.0/80"),
    row(
        "cp.async.bulk shared::cluster global mbarrier::complete_tx::bytes L2::cache_hint@7.4/80?",
        "MMA4MC",
        "8.0/90",
    ),
    row(
        "cp.async.bulk shared::cluster global mbarrier::complete_tx::bytes multicast::cluster L2::cache_hint@7.4/80?",
        "MMA4MA2C",
        "8.0/90",
    ),
    row(
        "cp.async.bulk shared::cta global mbarrier::complete_tx::bytes L2::cache_hint@7.4/80?",
        "MMA4MC",
        "8.6/90",
    ),
    row("cp.async.bulk shared::cluster shared::cta mbarrier::complete_tx::bytes", "MMA4M", "8.0/90"),
    row("cp.async.bulk global shared::cta bulk_group L2::cache_hint@7.4/80?", "MMA4C", "8.0/90"),
    row("cp.async.bulk global shared::cta bulk_group L2::cache_hint@7.4/80? cp_mask", "MMA4CA2", "8.6/100"),
    row("cp.async.bulk.prefetch L2 global L2::cache_hint@7.4/80?", "MA4C", "8.0/90"),
    row(
        "cp.async.bulk.prefetch.tensor 1d|2d|3d|4d|5d L2 global tile|tile::gather4@8.6/100a|im2col? L2::cache_hint@7.4/80?",
        "MMaC",
        "8.0/90",
    ),
    row("cp.async.bulk.commit_group", "", "8.0/90"),
    row("cp.async.bulk.wait_group read?", "I", "8.0/90"),
    row(
        "cp.async.bulk.tensor 1d|2d|3d|4d|5d shared::cluster global tile|tile::gather4@8.6/100a|im2col? mbarrier::complete_tx::bytes multicast::cluster? cta_group::1@8.6/100a|cta_group::2@8.6/100a? L2::cache_hint@7.4/80?",
        "MMMaaC",
        "8.0/90",
    ),
    row(
        "cp.async.bulk.tensor 1d|2d|3d|4d|5d shared::cta global tile|tile::gather4@8.6/100a|im2col? mbarrier::complete_tx::bytes cta_group::1@8.6/100a|cta_group::2@8.6/100a? L2::cache_hint@7.4/80?",
        "MMMaC",
        "8.6/90",
    ),
    row(
        "cp.async.bulk.tensor 1d|2d|3d|4d|5d global shared::cta tile|tile::scatter4@8.6/100a|im2col_no_offs? bulk_group L2::cache_hint@7.4/80?",
        "MMC",
        "8.0/90",
    ),
    row(
        "cp.reduce.async.bulk.tensor 1d|2d|3d|4d|5d global shared::cta add|min|max|inc|dec|and|or|xor tile|im2col_no_offs? bulk_group L2::cache_hint@7.4/80?",
        "MMC",
        "8.0/90",
    ),
    row(
        "cp.reduce.async.bulk global shared::cta bulk_group L2::cache_hint@7.4/80? add u32|s32|u64|f32|f64",
        "MMA4C",
        "8.0/90",
    ),
    row(
        "cp.reduce.async.bulk global shared::cta bulk_group L2::cache_hint@7.4/80? add noftz f16|bf16",
        "MMA4C",
        "8.0/90",
    ),
    row(
        "cp.reduce.async.bulk global shared::cta bulk_group L2::cache_hint@7.4/80? inc|dec u32",
        "MMA4C",
        "8.0/90",
    ),
    row(
        "cp.reduce.async.bulk global shared::cta bulk_group L2::cache_hint@7.4/80? min|max u32|s32|u64|s64|f16|bf16",
        "MMA4C",
        "8.0/90",
    ),
    row(
        "cp.reduce.async.bulk global shared::cta bulk_group L2::cache_hint@7.4/80? and|or|xor b32|b64",
        "MMA4C",
        "8.0/90",
    ),
    row(
        "cp.reduce.async.bulk shared::cluster shared::cta mbarrier::complete_tx::bytes add u32|s32|u64",
        "MMA4M",
        "8.0/90",
    ),
    row(
        "cp.reduce.async.bulk shared::cluster shared::cta mbarrier::complete_tx::bytes inc|dec u32",
        "MMA4M",
        "8.0/90",
    ),
    row(
        "cp.reduce.async.bulk shared::cluster shared::cta mbarrier::complete_tx::bytes min|max u32|s32",
        "MMA4M",
        "8.0/90",
    ),
    row(
        "cp.reduce.async.bulk shared::cluster shared::cta mbarrier::complete_tx::bytes and|or|xor b32",
        "MMA4M",
        "8.0/90",
    ),
    // Barriers in memory.
    row("mbarrier.init shared|shared::cta@7.8? b64", "MA4", "7.0/80"),
    row("mbarrier.inval shared|shared::cta@7.8? b64", "M", "7.0/80"),
    row(
        "mbarrier.expect_tx relaxed.cta|relaxed.cluster? shared|shared::cta@7.8|shared::cluster@8.0/90? b64",
        "MA4",
        "8.0/90",
    ),
    row(
        "mbarrier.complete_tx relaxed.cta|relaxed.cluster? shared|shared::cta@7.8|shared::cluster@8.0/90? b64",
        "MA4",
        "8.0/90",
    ),
    row(
        "mbarrier.arrive release.cta@8.0|release.cluster@8.0|relaxed.cta@8.0/90|relaxed.cluster@8.0/90? shared|shared::cta@7.8|shared::cluster@8.0/90? b64",
        "DMa4",
        "7.0/80",
    ),
    row(
        "mbarrier.arrive.expect_tx release.cta@8.0|release.cluster@8.0|relaxed.cta@8.0/90|relaxed.cluster@8.0/90? shared|shared::cta@7.8|shared::cluster@8.0/90? b64",
        "DMA4",
        "8.0/90",
    ),
    row("mbarrier.arrive.noComplete release.cta? shared|shared::cta@7.8? b64", "DMA4", "7.0/80"),
    row(
        "mbarrier.arrive_drop release.cta@8.0|release.cluster@8.0|relaxed.cta@8.0/90|relaxed.cluster@8.0/90? shared|shared::cta@7.8|shared::cluster@8.0/90? b64",
        "DMa4",
        "7.0/80",
    ),
    row(
        "mbarrier.arrive_drop.expect_tx release.cta@8.0|release.cluster@8.0|relaxed.cta@8.0/90|relaxed.cluster@8.0/90? shared|shared::cta@7.8|shared::cluster@8.0/90? b64",
        "DMA4",
        "8.0/90",
    ),
    row("mbarrier.arrive_drop.noComplete release.cta? shared|shared::cta@7.8? b64", "DMA4", "7.0/80"),
    row(
        "mbarrier.test_wait acquire.cta@8.0|acquire.cluster@8.0|relaxed.cta@8.0/90|relaxed.cluster@8.0/90? shared|shared::cta@7.8? b64",
        "DpMA8",
        "7.0/80",
    ),
    row(
        "mbarrier.test_wait.parity acquire.cta@8.0|acquire.cluster@8.0|relaxed.cta@8.0/90|relaxed.cluster@8.0/90? shared|shared::cta@7.8? b64",
        "DpMA4",
        "7.1/80",
    ),
    row(
        "mbarrier.try_wait acquire.cta@8.0|acquire.cluster@8.0|relaxed.cta@8.0/90|relaxed.cluster@8.0/90? shared|shared::cta@7.8? b64",
        "DpMA8a4",
        "7.8/90",
    ),
    row(
        "mbarrier.try_wait.parity acquire.cta@8.0|acquire.cluster@8.0|relaxed.cta@8.0/90|relaxed.cluster@8.0/90? shared|shared::cta@7.8? b64",
        "DpMA4a4",
        "7.8/90",
    ),
    row("mbarrier.pending_count b64", "D4A8", "7.0/80"),
    // Descriptors of tensors.
    row("tensormap.replace tile global_address global|shared::cta? b1024 b64", "MA", "8.3/90a+"),
    row("tensormap.replace tile rank global|shared::cta? b1024 b32", "MA", "8.3/90a+"),
    row(
        "tensormap.replace tile box_dim|global_dim|element_stride global|shared::cta? b1024 b32",
        "MI1A",
        "8.3/90a+",
    ),
    row("tensormap.replace tile global_stride global|shared::cta? b1024 b64", "MI1A", "8.3/90a+"),
    row(
        "tensormap.replace tile elemtype|interleave_layout|swizzle_mode|fill_mode global|shared::cta? b1024 b32",
        "MI1",
        "8.3/90a+",
    ),
    row("tensormap.replace tile swizzle_atomicity global|shared::cta? b1024 b32", "MI1", "8.6/100a"),
    row(
        "tensormap.cp_fenceproxy global shared::cta tensormap::generic release cta|gpu|sys|cluster@7.8/90 sync aligned",
        "MMI128",
        "8.3/90",
    ),
    row(
        "clusterlaunchcontrol.try_cancel async shared::cta? mbarrier::complete_tx::bytes multicast::cluster::all? b128",
        "MM",
        "8.6/100",
    ),
    row("clusterlaunchcontrol.query_cancel is_canceled pred b128", "DA", "8.6/100"),
];
