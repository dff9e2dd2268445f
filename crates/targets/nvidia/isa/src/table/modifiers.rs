//! Groups of words that several patterns have.

/// What one access moves: a value, two of them, or four that have 16 bytes at most.
macro_rules! values {
    () => {
        "b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64|b128@8.3/70|v2.b8|v2.b16|v2.b32|v2.b64|v2.u8|v2.u16|v2.u32|v2.u64|v2.s8|v2.s16|v2.s32|v2.s64|v2.f32|v2.f64|v4.b8|v4.b16|v4.b32|v4.u8|v4.u16|v4.u32|v4.s8|v4.s16|v4.s32|v4.f32"
    };
}

/// What an access of 32 bytes moves.
macro_rules! wide_values {
    () => {
        "v4.b64|v4.u64|v4.s64|v4.f64|v8.b32|v8.u32|v8.s32|v8.f32"
    };
}

/// What the first level of the cache does with a line.
macro_rules! evictions {
    () => {
        "L1::evict_normal@7.4/70|L1::evict_unchanged@7.4/70|L1::evict_first@7.4/70|L1::evict_last@7.4/70|L1::no_allocate@7.4/70"
    };
}

/// What the second level does, and how much it fetches.
macro_rules! fetches {
    () => {
        "L2::cache_hint@7.4/80? L2::64B@7.4/75|L2::128B@7.4/75|L2::256B@7.4/80?"
    };
}

/// Among whom something is atomic.
macro_rules! scopes {
    () => {
        "cta|gpu|sys|cluster@7.8/90"
    };
}

/// Memory of a block, and of the blocks of its cluster.
macro_rules! shared {
    () => {
        "shared|shared::cta@7.8|shared::cluster@7.8/90"
    };
}

/// How an atomic orders the accesses around it.
macro_rules! orders {
    () => {
        "relaxed@6.0/70|acquire@6.0/70|release@6.0/70|acq_rel@6.0/70"
    };
}
