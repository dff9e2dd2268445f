//! Loads, stores, atomics, caches, fences.

use crate::instructions::pattern::Row;

pub(super) const ROWS: &[Row] = &[
    Row {
        pattern: "ld weak@6.0/70? global|shared|shared::cta@7.8|shared::cluster@7.8/90|local|const|param|param::entry@8.3|param::func@8.3? ca|cg|cs|lu|cv? L1::evict_normal@7.4/70|L1::evict_unchanged@7.4/70|L1::evict_first@7.4/70|L1::evict_last@7.4/70|L1::no_allocate@7.4/70? L2::evict_last@8.8/100|L2::evict_normal@8.8/100|L2::evict_first@8.8/100? L2::cache_hint@7.4/80? L2::64B@7.4/75|L2::128B@7.4/75|L2::256B@7.4/80? v2|v4|v8@8.8/100? b8|b16|b32|b64|b128@8.3/70|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64",
        operands: "VMa",
        since: "6.0",
    },
    Row {
        pattern: "ld volatile global|shared|shared::cta@7.8|shared::cluster@7.8/90|local|const|param|param::entry@8.3|param::func@8.3? L2::64B@7.4/75|L2::128B@7.4/75|L2::256B@7.4/80? v2|v4? b8|b16|b32|b64|b128@8.3/70|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64",
        operands: "VM",
        since: "6.0",
    },
    Row {
        pattern: "ld relaxed|acquire cta|gpu|sys|cluster@7.8/90 global|shared|shared::cta@7.8|shared::cluster@7.8/90? L1::evict_normal@7.4/70|L1::evict_unchanged@7.4/70|L1::evict_first@7.4/70|L1::evict_last@7.4/70|L1::no_allocate@7.4/70? L2::cache_hint@7.4/80? L2::64B@7.4/75|L2::128B@7.4/75|L2::256B@7.4/80? v2|v4|v8@8.8/100? b8|b16|b32|b64|b128@8.3/70|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64",
        operands: "VMa",
        since: "6.0/70",
    },
    Row {
        pattern: "ld mmio relaxed sys global? b8|b16|b32|b64|b128@8.3/70|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64",
        operands: "DM",
        since: "8.2/70",
    },
    Row {
        pattern: "ld global ca|cg|cs? nc L1::evict_normal@7.4/70|L1::evict_unchanged@7.4/70|L1::evict_first@7.4/70|L1::evict_last@7.4/70|L1::no_allocate@7.4/70? L2::evict_last@8.8/100|L2::evict_normal@8.8/100|L2::evict_first@8.8/100? L2::cache_hint@7.4/80? L2::64B@7.4/75|L2::128B@7.4/75|L2::256B@7.4/80? v2|v4|v8@8.8/100? b8|b16|b32|b64|b128@8.3/70|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64",
        operands: "VMa",
        since: "6.0",
    },
    Row {
        pattern: "ldu global? v2|v4? b8|b16|b32|b64|b128@8.3/70|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64",
        operands: "VM",
        since: "6.0",
    },
    Row {
        pattern: "st weak@6.0/70? global|shared|shared::cta@7.8|shared::cluster@7.8/90|local|const|param|param::entry@8.3|param::func@8.3? wb|cg|cs|wt? L1::evict_normal@7.4/70|L1::evict_unchanged@7.4/70|L1::evict_first@7.4/70|L1::evict_last@7.4/70|L1::no_allocate@7.4/70? L2::evict_last@8.8/100|L2::evict_normal@8.8/100|L2::evict_first@8.8/100? L2::cache_hint@7.4/80? v2|v4|v8@8.8/100? b8|b16|b32|b64|b128@8.3/70|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64",
        operands: "MWa",
        since: "6.0",
    },
    Row {
        pattern: "st volatile global|shared|shared::cta@7.8|shared::cluster@7.8/90|local|const|param|param::entry@8.3|param::func@8.3? v2|v4? b8|b16|b32|b64|b128@8.3/70|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64",
        operands: "MW",
        since: "6.0",
    },
    Row {
        pattern: "st relaxed|release cta|gpu|sys|cluster@7.8/90 global|shared|shared::cta@7.8|shared::cluster@7.8/90? L1::evict_normal@7.4/70|L1::evict_unchanged@7.4/70|L1::evict_first@7.4/70|L1::evict_last@7.4/70|L1::no_allocate@7.4/70? L2::cache_hint@7.4/80? v2|v4|v8@8.8/100? b8|b16|b32|b64|b128@8.3/70|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64",
        operands: "MWa",
        since: "6.0/70",
    },
    Row {
        pattern: "st mmio relaxed sys global? b8|b16|b32|b64|b128@8.3/70|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64",
        operands: "MW",
        since: "8.2/70",
    },
    Row { pattern: "st.async weak? mbarrier::complete_tx::bytes", operands: "MWM", since: "8.1/90" },
    Row {
        pattern: "st.async weak? shared::cluster? mbarrier::complete_tx::bytes v2|v4? b32|b64|u32|u64|s32|s64|f32|f64",
        operands: "MWM",
        since: "8.1/90",
    },
    Row {
        pattern: "red.async relaxed cluster mbarrier::complete_tx::bytes shared::cluster? inc|dec|min|max|and|or|xor|add u32|s32|u64|b32",
        operands: "MAM",
        since: "8.1/90",
    },
    // Atomics.
    Row {
        pattern: "atom relaxed@6.0/70|acquire@6.0/70|release@6.0/70|acq_rel@6.0/70? cta|gpu|sys|cluster@7.8/90? global|shared|shared::cta@7.8|shared::cluster@7.8/90? and|or|xor|exch|add|inc|dec|min|max L2::cache_hint@7.4/80? b32|b64|u32|u64|s32|s64|f32|f64|b128@8.4/90",
        operands: "DMAa",
        since: "6.0",
    },
    Row {
        pattern: "atom relaxed@6.0/70|acquire@6.0/70|release@6.0/70|acq_rel@6.0/70? cta|gpu|sys|cluster@7.8/90? global|shared|shared::cta@7.8|shared::cluster@7.8/90? cas L2::cache_hint@7.4/80? b16@6.3/70|b32|b64|u32|u64|s32|s64|b128@8.4/90",
        operands: "DMAAa",
        since: "6.0",
    },
    Row {
        pattern: "atom relaxed@6.0/70|acquire@6.0/70|release@6.0/70|acq_rel@6.0/70? cta|gpu|sys|cluster@7.8/90? global|shared|shared::cta@7.8|shared::cluster@7.8/90? add noftz L2::cache_hint@7.4/80? f16x2@6.2/60|f16@6.3/70|bf16@7.8/90|bf16x2@7.8/90",
        operands: "DMAa",
        since: "6.0",
    },
    Row {
        pattern: "atom relaxed|acquire|release|acq_rel? cta|gpu|sys|cluster@7.8/90? global? add L2::cache_hint@7.4/80? v2|v4 f32",
        operands: "VMWa",
        since: "8.1/90",
    },
    Row {
        pattern: "atom relaxed|acquire|release|acq_rel? cta|gpu|sys|cluster@7.8/90? global? add|min|max noftz L2::cache_hint@7.4/80? v2|v4|v8 f16|bf16|f16x2|bf16x2",
        operands: "VMWa",
        since: "8.1/90",
    },
    Row {
        pattern: "red relaxed@6.0/70|release@6.0/70? cta|gpu|sys|cluster@7.8/90? global|shared|shared::cta@7.8|shared::cluster@7.8/90? and|or|xor|add|inc|dec|min|max L2::cache_hint@7.4/80? b32|b64|u32|u64|s32|s64|f32|f64",
        operands: "MAa",
        since: "6.0",
    },
    Row {
        pattern: "red relaxed@6.0/70|release@6.0/70? cta|gpu|sys|cluster@7.8/90? global|shared|shared::cta@7.8|shared::cluster@7.8/90? add noftz L2::cache_hint@7.4/80? f16x2@6.2/60|f16@6.3/70|bf16@7.8/90|bf16x2@7.8/90",
        operands: "MAa",
        since: "6.0",
    },
    Row {
        pattern: "red relaxed|release? cta|gpu|sys|cluster@7.8/90? global? add L2::cache_hint@7.4/80? v2|v4 f32",
        operands: "MWa",
        since: "8.1/90",
    },
    Row {
        pattern: "red relaxed|release? cta|gpu|sys|cluster@7.8/90? global? add|min|max noftz L2::cache_hint@7.4/80? v2|v4|v8 f16|bf16|f16x2|bf16x2",
        operands: "MWa",
        since: "8.1/90",
    },
    Row {
        pattern: "multimem.ld_reduce weak|relaxed? cta|gpu|sys|cluster@7.8/90? global? add|min|max|and|or|xor u32|s32|u64|s64|b32|b64|f32|f64",
        operands: "DM",
        since: "8.1/90",
    },
    Row {
        pattern: "multimem.ld_reduce weak|relaxed? cta|gpu|sys|cluster@7.8/90? global? add|min|max acc::f32? v2|v4|v8? f16|f16x2|bf16|bf16x2|f32",
        operands: "VM",
        since: "8.1/90",
    },
    Row {
        pattern: "multimem.st weak|relaxed|release? cta|gpu|sys|cluster@7.8/90? global? v2|v4|v8? u32|s32|u64|s64|b32|b64|f32|f64|f16|f16x2|bf16|bf16x2",
        operands: "MW",
        since: "8.1/90",
    },
    Row {
        pattern: "multimem.red relaxed|release? cta|gpu|sys|cluster@7.8/90? global? add|min|max|and|or|xor v2|v4|v8? u32|s32|u64|s64|b32|b64|f32|f64|f16|f16x2|bf16|bf16x2",
        operands: "MW",
        since: "8.1/90",
    },
    // Caches.
    Row { pattern: "prefetch global|local? L1|L2", operands: "M", since: "6.0" },
    Row {
        pattern: "prefetch global L2::evict_last@7.4/80|L2::evict_normal@7.4/80",
        operands: "M",
        since: "6.0",
    },
    Row { pattern: "prefetch const@8.0/90|param@8.0/90? tensormap", operands: "M", since: "8.0/90" },
    Row { pattern: "prefetchu L1", operands: "M", since: "6.0" },
    Row { pattern: "discard global? L2", operands: "MI", since: "7.4/80" },
    Row { pattern: "applypriority global? L2::evict_normal", operands: "MI", since: "7.4/80" },
    Row {
        pattern: "createpolicy.fractional L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged L2::evict_first|L2::evict_unchanged? b64",
        operands: "Da",
        since: "7.4/80",
    },
    Row {
        pattern: "createpolicy.range global? L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged L2::evict_first|L2::evict_unchanged? b64",
        operands: "DMAA",
        since: "7.4/80",
    },
    Row { pattern: "createpolicy.cvt L2 b64", operands: "DA", since: "7.4/80" },
    // Fences.
    Row { pattern: "membar cta|gl|sys", operands: "", since: "6.0" },
    Row { pattern: "membar proxy alias|async|async.global|async.shared::cta", operands: "", since: "7.5/70" },
    Row {
        pattern: "fence sc|acq_rel|acquire@8.6/90|release@8.6/90? cta|gpu|sys|cluster@7.8/90",
        operands: "",
        since: "6.0/70",
    },
    Row {
        pattern: "fence acquire|release sync_restrict::shared::cluster|sync_restrict::shared::cta cluster",
        operands: "",
        since: "8.6/90",
    },
    Row { pattern: "fence.proxy alias", operands: "", since: "7.5/70" },
    Row {
        pattern: "fence.proxy async|async.global|async.shared::cta|async.shared::cluster",
        operands: "",
        since: "8.0/90",
    },
    Row {
        pattern: "fence.proxy.tensormap::generic release cta|gpu|sys|cluster@7.8/90",
        operands: "",
        since: "8.3/90",
    },
    Row {
        pattern: "fence.proxy.tensormap::generic acquire cta|gpu|sys|cluster@7.8/90",
        operands: "MI",
        since: "8.3/90",
    },
    Row {
        pattern: "fence.proxy.async::generic acquire|release sync_restrict::shared::cluster|sync_restrict::shared::cta cluster",
        operands: "",
        since: "8.6/90",
    },
    Row { pattern: "fence.mbarrier_init release cluster", operands: "", since: "8.0/90" },
];
