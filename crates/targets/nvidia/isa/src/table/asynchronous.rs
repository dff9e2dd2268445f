//! Asynchronous copies, and the barriers in memory that wait for them.

use crate::pattern::Row;

pub(super) const ROWS: &[Row] = &[
    Row {
        pattern: "cp.async ca shared|shared::cta@7.8 global L2::cache_hint@7.4/80? L2::64B@7.4/75|L2::128B@7.4/75|L2::256B@7.4/80?",
        operands: "MMIaC",
        since: "7.0/80",
    },
    Row {
        pattern: "cp.async cg shared|shared::cta@7.8 global L2::cache_hint@7.4/80? L2::64B@7.4/75|L2::128B@7.4/75|L2::256B@7.4/80?",
        operands: "MMIaC",
        since: "7.0/80",
    },
    Row { pattern: "cp.async.commit_group", operands: "", since: "7.0/80" },
    Row { pattern: "cp.async.wait_group", operands: "I", since: "7.0/80" },
    Row { pattern: "cp.async.wait_all", operands: "", since: "7.0/80" },
    Row {
        pattern: "cp.async.mbarrier.arrive noinc? shared|shared::cta@7.8? b64",
        operands: "M",
        since: "7.0/80",
    },
    Row {
        pattern: "cp.async.bulk shared::cluster global mbarrier::complete_tx::bytes L2::cache_hint@7.4/80?",
        operands: "MMA4MC",
        since: "8.0/90",
    },
    Row {
        pattern: "cp.async.bulk shared::cluster global mbarrier::complete_tx::bytes multicast::cluster L2::cache_hint@7.4/80?",
        operands: "MMA4MA2C",
        since: "8.0/90",
    },
    Row {
        pattern: "cp.async.bulk shared::cta global mbarrier::complete_tx::bytes L2::cache_hint@7.4/80?",
        operands: "MMA4MC",
        since: "8.6/90",
    },
    Row {
        pattern: "cp.async.bulk shared::cluster shared::cta mbarrier::complete_tx::bytes",
        operands: "MMA4M",
        since: "8.0/90",
    },
    Row {
        pattern: "cp.async.bulk global shared::cta bulk_group L2::cache_hint@7.4/80?",
        operands: "MMA4C",
        since: "8.0/90",
    },
    Row {
        pattern: "cp.async.bulk global shared::cta bulk_group L2::cache_hint@7.4/80? cp_mask",
        operands: "MMA4CA2",
        since: "8.6/100",
    },
    Row {
        pattern: "cp.async.bulk.prefetch L2 global L2::cache_hint@7.4/80?",
        operands: "MA4C",
        since: "8.0/90",
    },
    Row {
        pattern: "cp.async.bulk.prefetch.tensor 1d|2d|3d|4d|5d L2 global tile|tile::gather4@8.6/100a|im2col? L2::cache_hint@7.4/80?",
        operands: "MMaC",
        since: "8.0/90",
    },
    Row { pattern: "cp.async.bulk.commit_group", operands: "", since: "8.0/90" },
    Row { pattern: "cp.async.bulk.wait_group read?", operands: "I", since: "8.0/90" },
    Row {
        pattern: "cp.async.bulk.tensor 1d|2d|3d|4d|5d shared::cluster global tile|tile::gather4@8.6/100a|im2col? mbarrier::complete_tx::bytes multicast::cluster? cta_group::1@8.6/100a|cta_group::2@8.6/100a? L2::cache_hint@7.4/80?",
        operands: "MMMaaC",
        since: "8.0/90",
    },
    Row {
        pattern: "cp.async.bulk.tensor 1d|2d|3d|4d|5d shared::cta global tile|tile::gather4@8.6/100a|im2col? mbarrier::complete_tx::bytes cta_group::1@8.6/100a|cta_group::2@8.6/100a? L2::cache_hint@7.4/80?",
        operands: "MMMaC",
        since: "8.6/90",
    },
    Row {
        pattern: "cp.async.bulk.tensor 1d|2d|3d|4d|5d global shared::cta tile|tile::scatter4@8.6/100a|im2col_no_offs? bulk_group L2::cache_hint@7.4/80?",
        operands: "MMC",
        since: "8.0/90",
    },
    Row {
        pattern: "cp.reduce.async.bulk.tensor 1d|2d|3d|4d|5d global shared::cta add|min|max|inc|dec|and|or|xor tile|im2col_no_offs? bulk_group L2::cache_hint@7.4/80?",
        operands: "MMC",
        since: "8.0/90",
    },
    Row {
        pattern: "cp.reduce.async.bulk global shared::cta bulk_group L2::cache_hint@7.4/80? add u32|s32|u64|f32|f64",
        operands: "MMA4C",
        since: "8.0/90",
    },
    Row {
        pattern: "cp.reduce.async.bulk global shared::cta bulk_group L2::cache_hint@7.4/80? add noftz f16|bf16",
        operands: "MMA4C",
        since: "8.0/90",
    },
    Row {
        pattern: "cp.reduce.async.bulk global shared::cta bulk_group L2::cache_hint@7.4/80? inc|dec u32",
        operands: "MMA4C",
        since: "8.0/90",
    },
    Row {
        pattern: "cp.reduce.async.bulk global shared::cta bulk_group L2::cache_hint@7.4/80? min|max u32|s32|u64|s64|f16|bf16",
        operands: "MMA4C",
        since: "8.0/90",
    },
    Row {
        pattern: "cp.reduce.async.bulk global shared::cta bulk_group L2::cache_hint@7.4/80? and|or|xor b32|b64",
        operands: "MMA4C",
        since: "8.0/90",
    },
    Row {
        pattern: "cp.reduce.async.bulk shared::cluster shared::cta mbarrier::complete_tx::bytes add u32|s32|u64",
        operands: "MMA4M",
        since: "8.0/90",
    },
    Row {
        pattern: "cp.reduce.async.bulk shared::cluster shared::cta mbarrier::complete_tx::bytes inc|dec u32",
        operands: "MMA4M",
        since: "8.0/90",
    },
    Row {
        pattern: "cp.reduce.async.bulk shared::cluster shared::cta mbarrier::complete_tx::bytes min|max u32|s32",
        operands: "MMA4M",
        since: "8.0/90",
    },
    Row {
        pattern: "cp.reduce.async.bulk shared::cluster shared::cta mbarrier::complete_tx::bytes and|or|xor b32",
        operands: "MMA4M",
        since: "8.0/90",
    },
    // Barriers in memory.
    Row { pattern: "mbarrier.init shared|shared::cta@7.8? b64", operands: "MA4", since: "7.0/80" },
    Row { pattern: "mbarrier.inval shared|shared::cta@7.8? b64", operands: "M", since: "7.0/80" },
    Row {
        pattern: "mbarrier.expect_tx relaxed.cta|relaxed.cluster? shared|shared::cta@7.8|shared::cluster@8.0/90? b64",
        operands: "MA4",
        since: "8.0/90",
    },
    Row {
        pattern: "mbarrier.complete_tx relaxed.cta|relaxed.cluster? shared|shared::cta@7.8|shared::cluster@8.0/90? b64",
        operands: "MA4",
        since: "8.0/90",
    },
    Row {
        pattern: "mbarrier.arrive release.cta@8.0|release.cluster@8.0|relaxed.cta@8.0/90|relaxed.cluster@8.0/90? shared|shared::cta@7.8|shared::cluster@8.0/90? b64",
        operands: "DMa4",
        since: "7.0/80",
    },
    Row {
        pattern: "mbarrier.arrive.expect_tx release.cta@8.0|release.cluster@8.0|relaxed.cta@8.0/90|relaxed.cluster@8.0/90? shared|shared::cta@7.8|shared::cluster@8.0/90? b64",
        operands: "DMA4",
        since: "8.0/90",
    },
    Row {
        pattern: "mbarrier.arrive.noComplete release.cta? shared|shared::cta@7.8? b64",
        operands: "DMA4",
        since: "7.0/80",
    },
    Row {
        pattern: "mbarrier.arrive_drop release.cta@8.0|release.cluster@8.0|relaxed.cta@8.0/90|relaxed.cluster@8.0/90? shared|shared::cta@7.8|shared::cluster@8.0/90? b64",
        operands: "DMa4",
        since: "7.0/80",
    },
    Row {
        pattern: "mbarrier.arrive_drop.expect_tx release.cta@8.0|release.cluster@8.0|relaxed.cta@8.0/90|relaxed.cluster@8.0/90? shared|shared::cta@7.8|shared::cluster@8.0/90? b64",
        operands: "DMA4",
        since: "8.0/90",
    },
    Row {
        pattern: "mbarrier.arrive_drop.noComplete release.cta? shared|shared::cta@7.8? b64",
        operands: "DMA4",
        since: "7.0/80",
    },
    Row {
        pattern: "mbarrier.test_wait acquire.cta@8.0|acquire.cluster@8.0|relaxed.cta@8.0/90|relaxed.cluster@8.0/90? shared|shared::cta@7.8? b64",
        operands: "DpMA8",
        since: "7.0/80",
    },
    Row {
        pattern: "mbarrier.test_wait.parity acquire.cta@8.0|acquire.cluster@8.0|relaxed.cta@8.0/90|relaxed.cluster@8.0/90? shared|shared::cta@7.8? b64",
        operands: "DpMA4",
        since: "7.1/80",
    },
    Row {
        pattern: "mbarrier.try_wait acquire.cta@8.0|acquire.cluster@8.0|relaxed.cta@8.0/90|relaxed.cluster@8.0/90? shared|shared::cta@7.8? b64",
        operands: "DpMA8a4",
        since: "7.8/90",
    },
    Row {
        pattern: "mbarrier.try_wait.parity acquire.cta@8.0|acquire.cluster@8.0|relaxed.cta@8.0/90|relaxed.cluster@8.0/90? shared|shared::cta@7.8? b64",
        operands: "DpMA4a4",
        since: "7.8/90",
    },
    Row { pattern: "mbarrier.pending_count b64", operands: "D4A8", since: "7.0/80" },
    // Descriptors of tensors.
    Row {
        pattern: "tensormap.replace tile global_address global|shared::cta? b1024 b64",
        operands: "MA",
        since: "8.3/90a",
    },
    Row {
        pattern: "tensormap.replace tile rank global|shared::cta? b1024 b32",
        operands: "MA",
        since: "8.3/90a",
    },
    Row {
        pattern: "tensormap.replace tile box_dim|global_dim|element_stride global|shared::cta? b1024 b32",
        operands: "MI1A",
        since: "8.3/90a",
    },
    Row {
        pattern: "tensormap.replace tile global_stride global|shared::cta? b1024 b64",
        operands: "MI1A",
        since: "8.3/90a",
    },
    Row {
        pattern: "tensormap.replace tile elemtype|interleave_layout|swizzle_mode|fill_mode global|shared::cta? b1024 b32",
        operands: "MI1",
        since: "8.3/90a",
    },
    Row {
        pattern: "tensormap.replace tile swizzle_atomicity global|shared::cta? b1024 b32",
        operands: "MI1",
        since: "8.6/100a",
    },
    Row {
        pattern: "tensormap.cp_fenceproxy global shared::cta tensormap::generic release cta|gpu|sys|cluster@7.8/90 sync aligned",
        operands: "MMI128",
        since: "8.3/90",
    },
    Row {
        pattern: "clusterlaunchcontrol.try_cancel async shared::cta? mbarrier::complete_tx::bytes multicast::cluster::all? b128",
        operands: "MM",
        since: "8.6/100",
    },
    Row {
        pattern: "clusterlaunchcontrol.query_cancel is_canceled pred b128",
        operands: "DA",
        since: "8.6/100",
    },
];
