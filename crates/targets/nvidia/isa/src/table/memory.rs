//! Loads, stores, caches, fences.

use crate::pattern::Row;

pub(super) const ROWS: &[Row] = &[
    // Loads.
    Row {
        pattern: concat!("ld weak? global? ca|cg|cs|lu|cv? ", fetches!(), " ", values!()),
        operands: "VMC",
        since: "6.0",
    },
    Row {
        pattern: concat!("ld weak? global? ", evictions!(), " ", fetches!(), " ", values!()),
        operands: "VMC",
        since: "6.0",
    },
    Row {
        pattern: concat!("ld weak? ", shared!(), "|local ca|cg|cs|lu|cv? ", values!()),
        operands: "VM",
        since: "6.0",
    },
    Row {
        pattern: concat!("ld weak? const|param|param::entry@8.3|param::func@8.3 ", values!()),
        operands: "VM",
        since: "6.0",
    },
    Row {
        pattern: concat!("ld weak? global ca|cg|cs|lu|cv? L2::cache_hint@7.4/80? ", wide_values!()),
        operands: "VMC",
        since: "8.8/100",
    },
    Row {
        pattern: concat!(
            "ld weak? global ",
            evictions!(),
            "? L2::evict_last|L2::evict_normal|L2::evict_first L2::cache_hint@7.4/80? v8.b32|v4.b64"
        ),
        operands: "VMC",
        since: "8.8/100",
    },
    Row {
        pattern: concat!("ld volatile global? L2::64B@7.4/75|L2::128B@7.4/75|L2::256B@7.4/80? ", values!()),
        operands: "VM",
        since: "6.0",
    },
    Row {
        pattern: concat!("ld volatile ", shared!(), "|local@9.1 ", values!()),
        operands: "VM",
        since: "6.0",
    },
    Row {
        pattern: concat!(
            "ld relaxed|acquire ",
            scopes!(),
            " global? ",
            evictions!(),
            "? ",
            fetches!(),
            " ",
            values!()
        ),
        operands: "VMC",
        since: "6.0/70",
    },
    Row {
        pattern: concat!("ld relaxed|acquire ", scopes!(), " ", shared!(), " ", values!()),
        operands: "VM",
        since: "6.0/70",
    },
    Row {
        pattern: "ld mmio relaxed sys global? b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64|b128@8.3/70",
        operands: "DM",
        since: "8.2/70",
    },
    Row {
        pattern: concat!("ld global ca|cg|cs? nc ", fetches!(), " ", values!()),
        operands: "VMC",
        since: "6.0",
    },
    Row {
        pattern: concat!("ld global nc ", evictions!(), " ", fetches!(), " ", values!()),
        operands: "VMC",
        since: "6.0",
    },
    Row { pattern: concat!("ldu global? ", values!()), operands: "VM", since: "6.0" },
    // Stores.
    Row {
        pattern: concat!("st weak? global? wb|cg|cs|wt? L2::cache_hint@7.4/80? ", values!()),
        operands: "MWC",
        since: "6.0",
    },
    Row {
        pattern: concat!("st weak? global? ", evictions!(), " L2::cache_hint@7.4/80? ", values!()),
        operands: "MWC",
        since: "6.0",
    },
    Row {
        pattern: concat!("st weak? ", shared!(), "|local wb|cg|cs|wt? ", values!()),
        operands: "MW",
        since: "6.0",
    },
    Row { pattern: concat!("st weak? param|param::func@8.3 ", values!()), operands: "MW", since: "6.0" },
    Row {
        pattern: concat!("st weak? global wb|cg|cs|wt? L2::cache_hint@7.4/80? ", wide_values!()),
        operands: "MWC",
        since: "8.8/100",
    },
    Row { pattern: concat!("st volatile global? ", values!()), operands: "MW", since: "6.0" },
    Row {
        pattern: concat!("st volatile ", shared!(), "|local@9.1 ", values!()),
        operands: "MW",
        since: "6.0",
    },
    Row {
        pattern: concat!(
            "st relaxed|release ",
            scopes!(),
            " global? ",
            evictions!(),
            "? L2::cache_hint@7.4/80? ",
            values!()
        ),
        operands: "MWC",
        since: "6.0/70",
    },
    Row {
        pattern: concat!("st relaxed|release ", scopes!(), " ", shared!(), " ", values!()),
        operands: "MW",
        since: "6.0/70",
    },
    Row {
        pattern: "st mmio relaxed sys global? b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64|b128@8.3/70",
        operands: "MW",
        since: "8.2/70",
    },
    Row {
        pattern: "st.async weak? shared::cluster? mbarrier::complete_tx::bytes b32|b64|u32|u64|s32|s64|f32|f64|v2.b32|v2.b64|v2.u32|v2.u64|v2.s32|v2.s64|v2.f32|v2.f64|v4.b32|v4.u32|v4.s32|v4.f32",
        operands: "MWM",
        since: "8.1/90",
    },
    Row {
        pattern: "red.async relaxed cluster mbarrier::complete_tx::bytes shared::cluster? inc|dec u32",
        operands: "MAM",
        since: "8.1/90",
    },
    Row {
        pattern: "red.async relaxed cluster mbarrier::complete_tx::bytes shared::cluster? min|max u32|s32",
        operands: "MAM",
        since: "8.1/90",
    },
    Row {
        pattern: "red.async relaxed cluster mbarrier::complete_tx::bytes shared::cluster? and|or|xor b32",
        operands: "MAM",
        since: "8.1/90",
    },
    Row {
        pattern: "red.async relaxed cluster mbarrier::complete_tx::bytes shared::cluster? add u32|s32|u64",
        operands: "MAM",
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
    Row { pattern: "discard global? L2", operands: "MI128", since: "7.4/80" },
    Row { pattern: "applypriority global? L2::evict_normal", operands: "MI128", since: "7.4/80" },
    Row {
        pattern: "createpolicy.fractional L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged L2::evict_first|L2::evict_unchanged? b64",
        operands: "Da4",
        since: "7.4/80",
    },
    Row {
        pattern: "createpolicy.range global? L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged L2::evict_first|L2::evict_unchanged? b64",
        operands: "DMA4A4",
        since: "7.4/80",
    },
    Row { pattern: "createpolicy.cvt L2 b64", operands: "DA", since: "7.4/80" },
    // Fences.
    Row { pattern: "membar cta|gl|sys", operands: "", since: "6.0" },
    Row { pattern: "membar proxy alias|async", operands: "", since: "7.5/70" },
    Row {
        pattern: "fence sc|acq_rel|acquire@8.6/90|release@8.6/90? cta|gpu|sys|cluster@7.8/90",
        operands: "",
        since: "6.0/70",
    },
    Row { pattern: "fence acquire sync_restrict::shared::cluster cluster", operands: "", since: "8.6/90" },
    Row { pattern: "fence release sync_restrict::shared::cta cluster", operands: "", since: "8.6/90" },
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
        operands: "MI128",
        since: "8.3/90",
    },
    Row {
        pattern: "fence.proxy.async::generic acquire sync_restrict::shared::cluster cluster",
        operands: "",
        since: "8.6/90",
    },
    Row {
        pattern: "fence.proxy.async::generic release sync_restrict::shared::cta cluster",
        operands: "",
        since: "8.6/90",
    },
    Row { pattern: "fence.mbarrier_init release cluster", operands: "", since: "8.0/90" },
];
