//! Matrix instructions: of a warp, of four warps, and the loads and stores that feed them.

use crate::pattern::Row;

pub(super) const ROWS: &[Row] = &[
    Row {
        pattern: "ldmatrix.sync.aligned m8n8 x1|x2|x4 trans? shared|shared::cta@7.8? b16",
        operands: "V{M",
        since: "6.5/75",
    },
    Row {
        pattern: "ldmatrix.sync.aligned m16n16 x1|x2 trans shared|shared::cta? b8",
        operands: "V{M",
        since: "8.6/100a",
    },
    Row {
        pattern: "ldmatrix.sync.aligned m16n16 x1|x2 trans shared|shared::cta? b8x16.b6x16_p32|b8x16.b4x16_p64",
        operands: "V{M",
        since: "8.6/100a",
    },
    Row {
        pattern: "ldmatrix.sync.aligned m8n16 x1|x2|x4 shared|shared::cta? b8x16.b6x16_p32|b8x16.b4x16_p64",
        operands: "V{M",
        since: "8.6/100a",
    },
    Row {
        pattern: "stmatrix.sync.aligned m8n8 x1|x2|x4 trans? shared|shared::cta? b16",
        operands: "MW{",
        since: "7.8/90",
    },
    Row {
        pattern: "stmatrix.sync.aligned m16n8 x1|x2|x4 trans shared|shared::cta? b8",
        operands: "MW{",
        since: "8.6/100a",
    },
    Row { pattern: "movmatrix.sync.aligned m8n8 trans b16", operands: "DA", since: "7.8/75" },
    Row {
        pattern: "mma.sync.aligned m8n8k4 row|col row|col f16|f32 f16 f16 f16|f32",
        operands: "V{W{W{W{",
        since: "6.4/70",
    },
    Row {
        pattern: "mma.sync.aligned m16n8k8 row col f16|f32 f16 f16 f16|f32",
        operands: "V{W{W{W{",
        since: "6.5/75",
    },
    Row {
        pattern: "mma.sync.aligned m16n8k16 row col f16|f32 f16 f16 f16|f32",
        operands: "V{W{W{W{",
        since: "7.0/80",
    },
    Row {
        pattern: "mma.sync.aligned m16n8k8|m16n8k16 row col f32 bf16 bf16 f32",
        operands: "V{W{W{W{",
        since: "7.0/80",
    },
    Row {
        pattern: "mma.sync.aligned m16n8k4|m16n8k8 row col f32 tf32 tf32 f32",
        operands: "V{W{W{W{",
        since: "7.0/80",
    },
    Row { pattern: "mma.sync.aligned m8n8k4 row col f64 f64 f64 f64", operands: "V{W{W{W{", since: "7.0/80" },
    Row {
        pattern: "mma.sync.aligned m16n8k4|m16n8k8|m16n8k16 row col f64 f64 f64 f64",
        operands: "V{W{W{W{",
        since: "7.8/90",
    },
    Row {
        pattern: "mma.sync.aligned m8n8k16 row col satfinite? s32 u8|s8 u8|s8 s32",
        operands: "V{W{W{W{",
        since: "6.5/75",
    },
    Row {
        pattern: "mma.sync.aligned m16n8k16|m16n8k32 row col satfinite? s32 u8|s8 u8|s8 s32",
        operands: "V{W{W{W{",
        since: "7.0/80",
    },
    Row {
        pattern: "mma.sync.aligned m8n8k32 row col satfinite? s32 u4|s4 u4|s4 s32",
        operands: "V{W{W{W{",
        since: "6.5/75",
    },
    Row {
        pattern: "mma.sync.aligned m16n8k32|m16n8k64 row col satfinite? s32 u4|s4 u4|s4 s32",
        operands: "V{W{W{W{",
        since: "7.0/80",
    },
    Row {
        pattern: "mma.sync.aligned m8n8k128|m16n8k128|m16n8k256 row col s32 b1 b1 s32 xor.popc|and.popc@7.1/80",
        operands: "V{W{W{W{",
        since: "7.0/75",
    },
    Row {
        pattern: "mma.sync.aligned m16n8k32 row col f32 e4m3|e5m2 e4m3|e5m2 f32",
        operands: "V{W{W{W{",
        since: "8.4/89",
    },
    Row {
        pattern: "mma.sync.aligned m16n8k32 row col f16 e4m3|e5m2 e4m3|e5m2 f16",
        operands: "V{W{W{W{",
        since: "8.7/89",
    },
    Row {
        pattern: "mma.sync.aligned m16n8k16 row col f32|f16 e4m3|e5m2 e4m3|e5m2 f32|f16",
        operands: "V{W{W{W{",
        since: "8.7/89",
    },
    Row {
        pattern: "mma.sync.aligned m16n8k32 row col kind::f8f6f4 f32|f16 e4m3|e5m2|e3m2|e2m3|e2m1 e4m3|e5m2|e3m2|e2m3|e2m1 f32|f16",
        operands: "V{W{W{W{",
        since: "8.7/120a",
    },
    Row {
        pattern: "mma.sync.aligned m16n8k32 row col kind::mxf8f6f4 block_scale scale_vec::1X? f32 e4m3|e5m2|e3m2|e2m3|e2m1 e4m3|e5m2|e3m2|e2m3|e2m1 f32 ue8m0",
        operands: "V{W{W{W{WWWW",
        since: "8.7/120a",
    },
    Row {
        pattern: "mma.sync.aligned m16n8k64 row col kind::mxf4|kind::mxf4nvf4 block_scale scale_vec::2X|scale_vec::4X? f32 e2m1 e2m1 f32 ue8m0|ue4m3",
        operands: "V{W{W{W{WWWW",
        since: "8.7/120a",
    },
    Row { pattern: "wgmma.fence.sync.aligned", operands: "", since: "8.0/90a" },
    Row { pattern: "wgmma.commit_group.sync.aligned", operands: "", since: "8.0/90a" },
    Row { pattern: "wgmma.wait_group.sync.aligned", operands: "I", since: "8.0/90a" },
    Row {
        pattern: "wgmma.mma_async.sync.aligned m64n8k16|m64n16k16|m64n24k16|m64n32k16|m64n40k16|m64n48k16|m64n56k16|m64n64k16|m64n72k16|m64n80k16|m64n88k16|m64n96k16|m64n104k16|m64n112k16|m64n120k16|m64n128k16|m64n136k16|m64n144k16|m64n152k16|m64n160k16|m64n168k16|m64n176k16|m64n184k16|m64n192k16|m64n200k16|m64n208k16|m64n216k16|m64n224k16|m64n232k16|m64n240k16|m64n248k16|m64n256k16 f32|f16 f16 f16",
        operands: "V{AAAAAaa",
        since: "8.0/90a",
    },
    Row {
        pattern: "wgmma.mma_async.sync.aligned m64n8k16|m64n16k16|m64n24k16|m64n32k16|m64n40k16|m64n48k16|m64n56k16|m64n64k16|m64n72k16|m64n80k16|m64n88k16|m64n96k16|m64n104k16|m64n112k16|m64n120k16|m64n128k16|m64n136k16|m64n144k16|m64n152k16|m64n160k16|m64n168k16|m64n176k16|m64n184k16|m64n192k16|m64n200k16|m64n208k16|m64n216k16|m64n224k16|m64n232k16|m64n240k16|m64n248k16|m64n256k16 f32 bf16 bf16",
        operands: "V{AAAAAaa",
        since: "8.0/90a",
    },
    Row {
        pattern: "wgmma.mma_async.sync.aligned m64n8k8|m64n16k8|m64n24k8|m64n32k8|m64n40k8|m64n48k8|m64n56k8|m64n64k8|m64n72k8|m64n80k8|m64n88k8|m64n96k8|m64n104k8|m64n112k8|m64n120k8|m64n128k8|m64n136k8|m64n144k8|m64n152k8|m64n160k8|m64n168k8|m64n176k8|m64n184k8|m64n192k8|m64n200k8|m64n208k8|m64n216k8|m64n224k8|m64n232k8|m64n240k8|m64n248k8|m64n256k8 f32 tf32 tf32",
        operands: "V{AAAAA",
        since: "8.0/90a",
    },
    Row {
        pattern: "wgmma.mma_async.sync.aligned m64n8k32|m64n16k32|m64n24k32|m64n32k32|m64n40k32|m64n48k32|m64n56k32|m64n64k32|m64n72k32|m64n80k32|m64n88k32|m64n96k32|m64n104k32|m64n112k32|m64n120k32|m64n128k32|m64n136k32|m64n144k32|m64n152k32|m64n160k32|m64n168k32|m64n176k32|m64n184k32|m64n192k32|m64n200k32|m64n208k32|m64n216k32|m64n224k32|m64n232k32|m64n240k32|m64n248k32|m64n256k32 f32|f16 e4m3|e5m2 e4m3|e5m2",
        operands: "V{AAAAA",
        since: "8.0/90a",
    },
    Row {
        pattern: "wgmma.mma_async.sync.aligned m64n8k32|m64n16k32|m64n24k32|m64n32k32|m64n48k32|m64n64k32|m64n80k32|m64n96k32|m64n112k32|m64n128k32|m64n144k32|m64n160k32|m64n176k32|m64n192k32|m64n208k32|m64n224k32|m64n240k32|m64n256k32 satfinite? s32 u8|s8 u8|s8",
        operands: "V{AAA",
        since: "8.0/90a",
    },
];
