//! Atomics: with the old value (`atom`), without it (`red`), and on the memory of several devices (`multimem`).

use crate::pattern::{Row, row};

pub(super) const ROWS: &[Row] = &[
    row(
        concat!("atom ", orders!(), "? ", scopes!(), "? global? and|or|xor L2::cache_hint@7.4/80? b32|b64"),
        "DMAC",
        "6.0",
    ),
    row(concat!("atom ", orders!(), "? ", scopes!(), "? ", shared!(), " and|or|xor b32|b64"), "DMA", "6.0"),
    row(
        concat!(
            "atom ",
            orders!(),
            "? ",
            scopes!(),
            "? global? exch L2::cache_hint@7.4/80? b32|b64|b128@8.4/90"
        ),
        "DMAC",
        "6.0",
    ),
    row(
        concat!("atom ", orders!(), "? ", scopes!(), "? ", shared!(), " exch b32|b64|b128@8.4/90"),
        "DMA",
        "6.0",
    ),
    row(
        concat!(
            "atom ",
            orders!(),
            "? ",
            scopes!(),
            "? global? add L2::cache_hint@7.4/80? u32|s32|u64|f32|f64"
        ),
        "DMAC",
        "6.0",
    ),
    row(
        concat!("atom ", orders!(), "? ", scopes!(), "? ", shared!(), " add u32|s32|u64|f32|f64"),
        "DMA",
        "6.0",
    ),
    row(
        concat!("atom ", orders!(), "? ", scopes!(), "? global? inc|dec L2::cache_hint@7.4/80? u32"),
        "DMAC",
        "6.0",
    ),
    row(concat!("atom ", orders!(), "? ", scopes!(), "? ", shared!(), " inc|dec u32"), "DMA", "6.0"),
    row(
        concat!(
            "atom ",
            orders!(),
            "? ",
            scopes!(),
            "? global? min|max L2::cache_hint@7.4/80? u32|s32|u64|s64"
        ),
        "DMAC",
        "6.0",
    ),
    row(
        concat!("atom ", orders!(), "? ", scopes!(), "? ", shared!(), " min|max u32|s32|u64|s64"),
        "DMA",
        "6.0",
    ),
    row(
        concat!(
            "atom ",
            orders!(),
            "? ",
            scopes!(),
            "? global? add noftz L2::cache_hint@7.4/80? f16x2@6.2/60|f16@6.3/70|bf16@7.8/90|bf16x2@7.8/90"
        ),
        "DMAC",
        "6.0",
    ),
    row(
        concat!(
            "atom ",
            orders!(),
            "? ",
            scopes!(),
            "? ",
            shared!(),
            " add noftz f16x2@6.2/60|f16@6.3/70|bf16@7.8/90|bf16x2@7.8/90"
        ),
        "DMA",
        "6.0",
    ),
    row(
        concat!("atom ", orders!(), "? ", scopes!(), "? global? cas b16@6.3/70|b32|b64|b128@8.4/90"),
        "DMAA",
        "6.0",
    ),
    row(
        concat!("atom ", orders!(), "? ", scopes!(), "? ", shared!(), " cas b16@6.3/70|b32|b64|b128@8.4/90"),
        "DMAA",
        "6.0",
    ),
    row(
        concat!("atom ", orders!(), "? ", scopes!(), "? global? add L2::cache_hint? v2|v4 f32"),
        "VMWC",
        "8.1/90",
    ),
    row(
        concat!(
            "atom ",
            orders!(),
            "? ",
            scopes!(),
            "? global? add|min|max noftz L2::cache_hint? v2|v4 f16|bf16|f16x2|bf16x2"
        ),
        "VMWC",
        "8.1/90",
    ),
    row(
        concat!(
            "atom ",
            orders!(),
            "? ",
            scopes!(),
            "? global? add|min|max noftz L2::cache_hint? v8 f16|bf16"
        ),
        "VMWC",
        "8.1/90",
    ),
    row(
        concat!(
            "red relaxed@6.0/70|release@6.0/70? ",
            scopes!(),
            "? global? and|or|xor L2::cache_hint@7.4/80? b32|b64"
        ),
        "MAC",
        "6.0",
    ),
    row(
        concat!("red relaxed@6.0/70|release@6.0/70? ", scopes!(), "? ", shared!(), " and|or|xor b32|b64"),
        "MA",
        "6.0",
    ),
    row(
        concat!(
            "red relaxed@6.0/70|release@6.0/70? ",
            scopes!(),
            "? global? add L2::cache_hint@7.4/80? u32|s32|u64|f32|f64"
        ),
        "MAC",
        "6.0",
    ),
    row(
        concat!(
            "red relaxed@6.0/70|release@6.0/70? ",
            scopes!(),
            "? ",
            shared!(),
            " add u32|s32|u64|f32|f64"
        ),
        "MA",
        "6.0",
    ),
    row(
        concat!(
            "red relaxed@6.0/70|release@6.0/70? ",
            scopes!(),
            "? global? inc|dec L2::cache_hint@7.4/80? u32"
        ),
        "MAC",
        "6.0",
    ),
    row(
        concat!("red relaxed@6.0/70|release@6.0/70? ", scopes!(), "? ", shared!(), " inc|dec u32"),
        "MA",
        "6.0",
    ),
    row(
        concat!(
            "red relaxed@6.0/70|release@6.0/70? ",
            scopes!(),
            "? global? min|max L2::cache_hint@7.4/80? u32|s32|u64|s64"
        ),
        "MAC",
        "6.0",
    ),
    row(
        concat!(
            "red relaxed@6.0/70|release@6.0/70? ",
            scopes!(),
            "? ",
            shared!(),
            " min|max u32|s32|u64|s64"
        ),
        "MA",
        "6.0",
    ),
    row(
        concat!(
            "red relaxed@6.0/70|release@6.0/70? ",
            scopes!(),
            "? global? add noftz L2::cache_hint@7.4/80? f16x2@6.2/60|f16@6.3/70|bf16@7.8/90|bf16x2@7.8/90"
        ),
        "MAC",
        "6.0",
    ),
    row(
        concat!(
            "red relaxed@6.0/70|release@6.0/70? ",
            scopes!(),
            "? ",
            shared!(),
            " add noftz f16x2@6.2/60|f16@6.3/70|bf16@7.8/90|bf16x2@7.8/90"
        ),
        "MA",
        "6.0",
    ),
    row(
        concat!("red relaxed@6.0/70|release@6.0/70? ", scopes!(), "? global? add L2::cache_hint? v2|v4 f32"),
        "MWC",
        "8.1/90",
    ),
    row(
        concat!(
            "red relaxed@6.0/70|release@6.0/70? ",
            scopes!(),
            "? global? add|min|max noftz L2::cache_hint? v2|v4 f16|bf16|f16x2|bf16x2"
        ),
        "MWC",
        "8.1/90",
    ),
    row(
        concat!(
            "red relaxed@6.0/70|release@6.0/70? ",
            scopes!(),
            "? global? add|min|max noftz L2::cache_hint? v8 f16|bf16"
        ),
        "MWC",
        "8.1/90",
    ),
    // Several devices.
    row("multimem.ld_reduce weak? global? add u32|s32|u64", "DM", "8.1/90"),
    row("multimem.ld_reduce weak? global? min|max u32|s32|u64|s64", "DM", "8.1/90"),
    row("multimem.ld_reduce weak? global? and|or|xor b32|b64", "DM", "8.1/90"),
    row("multimem.ld_reduce weak? global? add f32|f64", "DM", "8.1/90"),
    row("multimem.ld_reduce weak? global? add v2|v4 f32", "VM", "8.1/90"),
    row("multimem.ld_reduce weak? global? add|min|max v2|v4|v8 f16|bf16", "VM", "8.1/90"),
    row(
        "multimem.ld_reduce weak? global? add|min|max f16x2|bf16x2|v2.f16x2|v2.bf16x2|v4.f16x2|v4.bf16x2",
        "VM",
        "8.1/90",
    ),
    row(
        "multimem.ld_reduce weak? global? add acc::f32 v2.f16|v2.bf16|v4.f16|v4.bf16|v8.f16|v8.bf16|f16x2|bf16x2|v2.f16x2|v2.bf16x2|v4.f16x2|v4.bf16x2",
        "VM",
        "8.1/90",
    ),
    row(concat!("multimem.ld_reduce relaxed ", scopes!(), " global? add u32|s32|u64"), "DM", "8.1/90"),
    row(
        concat!("multimem.ld_reduce relaxed ", scopes!(), " global? min|max u32|s32|u64|s64"),
        "DM",
        "8.1/90",
    ),
    row(concat!("multimem.ld_reduce relaxed ", scopes!(), " global? and|or|xor b32|b64"), "DM", "8.1/90"),
    row(concat!("multimem.ld_reduce relaxed ", scopes!(), " global? add f32|f64"), "DM", "8.1/90"),
    row(concat!("multimem.ld_reduce relaxed ", scopes!(), " global? add v2|v4 f32"), "VM", "8.1/90"),
    row(
        concat!("multimem.ld_reduce relaxed ", scopes!(), " global? add|min|max v2|v4|v8 f16|bf16"),
        "VM",
        "8.1/90",
    ),
    row(
        concat!(
            "multimem.ld_reduce relaxed ",
            scopes!(),
            " global? add|min|max f16x2|bf16x2|v2.f16x2|v2.bf16x2|v4.f16x2|v4.bf16x2"
        ),
        "VM",
        "8.1/90",
    ),
    row(
        concat!(
            "multimem.ld_reduce relaxed ",
            scopes!(),
            " global? add acc::f32 v2.f16|v2.bf16|v4.f16|v4.bf16|v8.f16|v8.bf16|f16x2|bf16x2|v2.f16x2|v2.bf16x2|v4.f16x2|v4.bf16x2"
        ),
        "VM",
        "8.1/90",
    ),
    row(
        "multimem.st weak? global? u32|s32|u64|s64|b32|b64|f32|f64|f16x2|bf16x2|v2.f32|v4.f32|v2.f16|v4.f16|v8.f16|v2.bf16|v4.bf16|v8.bf16|v2.f16x2|v4.f16x2|v2.bf16x2|v4.bf16x2",
        "MW",
        "8.1/90",
    ),
    row(
        concat!(
            "multimem.st relaxed|release ",
            scopes!(),
            " global? u32|s32|u64|s64|b32|b64|f32|f64|f16x2|bf16x2|v2.f32|v4.f32|v2.f16|v4.f16|v8.f16|v2.bf16|v4.bf16|v8.bf16|v2.f16x2|v4.f16x2|v2.bf16x2|v4.bf16x2"
        ),
        "MW",
        "8.1/90",
    ),
    row(
        concat!("multimem.red relaxed|release ", scopes!(), " global? add u32|s32|u64|f32|f64|v2.f32|v4.f32"),
        "MW",
        "8.1/90",
    ),
    row(
        concat!("multimem.red relaxed|release ", scopes!(), " global? min|max u32|s32|u64|s64"),
        "MW",
        "8.1/90",
    ),
    row(concat!("multimem.red relaxed|release ", scopes!(), " global? and|or|xor b32|b64"), "MW", "8.1/90"),
    row(
        concat!(
            "multimem.red relaxed|release ",
            scopes!(),
            " global? add|min|max v2.f16|v4.f16|v8.f16|v2.bf16|v4.bf16|v8.bf16|v2.f16x2|v4.f16x2|v2.bf16x2|v4.bf16x2"
        ),
        "MW",
        "8.1/90",
    ),
    row(concat!("multimem.red relaxed|release ", scopes!(), " global? add f16x2|bf16x2"), "MW", "8.1/90"),
];
