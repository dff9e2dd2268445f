//! Loads, stores, caches, fences.

use crate::pattern::{Role, Row, row};

pub(super) const ROWS: &[Row] = &[
    // Loads.
    row(concat!("ld weak? global? ca|cg|cs|lu|cv? ", fetches!(), " ", values!()), "VMC", "6.0").does(Role::Access),
    row(concat!("ld weak? global? ", evictions!(), " ", fetches!(), " ", values!()), "VMC", "6.0").does(Role::Access),
    row(concat!("ld weak? ", shared!(), "|local ca|cg|cs|lu|cv? ", values!()), "VM", "6.0").does(Role::Access),
    row(concat!("ld weak? const|param|param::entry@8.3|param::func@8.3 ", values!()), "VM", "6.0").does(Role::Access),
    row(concat!("ld weak? global ca|cg|cs|lu|cv? L2::cache_hint@7.4/80? ", wide_values!()), "VMC", "8.8/100").does(Role::Access),
    row(concat!(
            "ld weak? global ",
            evictions!(),
            "? L2::evict_last|L2::evict_normal|L2::evict_first L2::cache_hint@7.4/80? v8.b32|v4.b64"
        ), "VMC", "8.8/100").does(Role::Access),
    row(concat!("ld volatile global? L2::64B@7.4/75|L2::128B@7.4/75|L2::256B@7.4/80? ", values!()), "VM", "6.0").does(Role::Access),
    row(concat!("ld volatile ", shared!(), "|local@9.1 ", values!()), "VM", "6.0").does(Role::Access),
    row(concat!(
            "ld relaxed|acquire ",
            scopes!(),
            " global? ",
            evictions!(),
            "? ",
            fetches!(),
            " ",
            values!()
        ), "VMC", "6.0/70").does(Role::Access),
    row(concat!("ld relaxed|acquire ", scopes!(), " ", shared!(), " ", values!()), "VM", "6.0/70").does(Role::Access),
    row("ld mmio relaxed sys global? b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64|b128@8.3/70", "DM", "8.2/70").does(Role::Access),
    row(concat!("ld global ca|cg|cs? nc ", fetches!(), " ", values!()), "VMC", "6.0").does(Role::Access),
    row(concat!("ld global nc ", evictions!(), " ", fetches!(), " ", values!()), "VMC", "6.0").does(Role::Access),
    row(concat!("ldu global? ", values!()), "VM", "6.0"),
    // Stores.
    row(concat!("st weak? global? wb|cg|cs|wt? L2::cache_hint@7.4/80? ", values!()), "MWC", "6.0").does(Role::Access),
    row(concat!("st weak? global? ", evictions!(), " L2::cache_hint@7.4/80? ", values!()), "MWC", "6.0").does(Role::Access),
    row(concat!("st weak? ", shared!(), "|local wb|cg|cs|wt? ", values!()), "MW", "6.0").does(Role::Access),
    row(concat!("st weak? param|param::func@8.3 ", values!()), "MW", "6.0").does(Role::Access),
    row(concat!("st weak? global wb|cg|cs|wt? L2::cache_hint@7.4/80? ", wide_values!()), "MWC", "8.8/100").does(Role::Access),
    row(concat!("st volatile global? ", values!()), "MW", "6.0").does(Role::Access),
    row(concat!("st volatile ", shared!(), "|local@9.1 ", values!()), "MW", "6.0").does(Role::Access),
    row(concat!(
            "st relaxed|release ",
            scopes!(),
            " global? ",
            evictions!(),
            "? L2::cache_hint@7.4/80? ",
            values!()
        ), "MWC", "6.0/70").does(Role::Access),
    row(concat!("st relaxed|release ", scopes!(), " ", shared!(), " ", values!()), "MW", "6.0/70").does(Role::Access),
    row("st mmio relaxed sys global? b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64|b128@8.3/70", "MW", "8.2/70").does(Role::Access),
    row("st.async weak? shared::cluster? mbarrier::complete_tx::bytes b32|b64|u32|u64|s32|s64|f32|f64|v2.b32|v2.b64|v2.u32|v2.u64|v2.s32|v2.s64|v2.f32|v2.f64|v4.b32|v4.u32|v4.s32|v4.f32", "MWM", "8.1/90").does(Role::Access),
    row("red.async relaxed cluster mbarrier::complete_tx::bytes shared::cluster? inc|dec u32", "MAM", "8.1/90"),
    row("red.async relaxed cluster mbarrier::complete_tx::bytes shared::cluster? min|max u32|s32", "MAM", "8.1/90"),
    row("red.async relaxed cluster mbarrier::complete_tx::bytes shared::cluster? and|or|xor b32", "MAM", "8.1/90"),
    row("red.async relaxed cluster mbarrier::complete_tx::bytes shared::cluster? add u32|s32|u64", "MAM", "8.1/90"),
    // Caches.
    row("prefetch global|local? L1|L2", "M", "6.0"),
    row("prefetch global L2::evict_last@7.4/80|L2::evict_normal@7.4/80", "M", "6.0"),
    row("prefetch const@8.0/90|param@8.0/90? tensormap", "M", "8.0/90"),
    row("prefetchu L1", "M", "6.0"),
    row("discard global? L2", "MI128", "7.4/80"),
    row("applypriority global? L2::evict_normal", "MI128", "7.4/80"),
    row("createpolicy.fractional L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged L2::evict_first|L2::evict_unchanged? b64", "Da4", "7.4/80"),
    row("createpolicy.range global? L2::evict_last|L2::evict_normal|L2::evict_first|L2::evict_unchanged L2::evict_first|L2::evict_unchanged? b64", "DMA4A4", "7.4/80"),
    row("createpolicy.cvt L2 b64", "DA", "7.4/80"),
    // Fences.
    row("membar cta|gl|sys", "", "6.0"),
    row("membar proxy alias|async", "", "7.5/70"),
    row("fence sc|acq_rel|acquire@8.6/90|release@8.6/90? cta|gpu|sys|cluster@7.8/90", "", "6.0/70"),
    row("fence acquire sync_restrict::shared::cluster cluster", "", "8.6/90"),
    row("fence release sync_restrict::shared::cta cluster", "", "8.6/90"),
    row("fence.proxy alias", "", "7.5/70"),
    row("fence.proxy async|async.global|async.shared::cta|async.shared::cluster", "", "8.0/90"),
    row("fence.proxy.tensormap::generic release cta|gpu|sys|cluster@7.8/90", "", "8.3/90"),
    row("fence.proxy.tensormap::generic acquire cta|gpu|sys|cluster@7.8/90", "MI128", "8.3/90"),
    row("fence.proxy.async::generic acquire sync_restrict::shared::cluster cluster", "", "8.6/90"),
    row("fence.proxy.async::generic release sync_restrict::shared::cta cluster", "", "8.6/90"),
    row("fence.mbarrier_init release cluster", "", "8.0/90"),
];
