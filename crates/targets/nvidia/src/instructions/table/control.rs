//! Jumps, calls, barriers, exchange between lanes, timers.

use crate::instructions::pattern::Row;

pub(super) const ROWS: &[Row] = &[
    Row { pattern: "bra uni?", operands: "N", since: "6.0" },
    Row { pattern: "brx idx uni?", operands: "AN", since: "6.0" },
    Row { pattern: "call uni?", operands: "naaaa", since: "6.0" },
    Row { pattern: "ret uni?", operands: "", since: "6.0" },
    Row { pattern: "exit", operands: "", since: "6.0" },
    Row { pattern: "trap", operands: "", since: "6.0" },
    Row { pattern: "brkpt", operands: "", since: "6.0" },
    Row { pattern: "nanosleep u32", operands: "A", since: "6.3/70" },
    Row { pattern: "pmevent", operands: "A", since: "6.0" },
    Row { pattern: "setmaxnreg inc|dec sync aligned u32", operands: "I", since: "8.0/90a" },
    Row { pattern: "griddepcontrol launch_dependents|wait", operands: "", since: "7.8/90" },
    Row { pattern: "elect sync", operands: "DA", since: "8.0/90" },
    Row { pattern: "stacksave u32|u64", operands: "D", since: "7.3/52" },
    Row { pattern: "stackrestore u32|u64", operands: "A", since: "7.3/52" },
    Row { pattern: "alloca u32|u64", operands: "DAa", since: "7.3/52" },
    // Barriers.
    Row { pattern: "bar sync|arrive", operands: "Aa", since: "6.0" },
    Row { pattern: "bar cta sync|arrive", operands: "Aa", since: "7.8" },
    Row { pattern: "bar red popc u32", operands: "DAaA", since: "6.0" },
    Row { pattern: "bar red and|or pred", operands: "DAaA", since: "6.0" },
    Row { pattern: "bar warp sync", operands: "A", since: "6.0" },
    Row { pattern: "barrier sync|arrive aligned?", operands: "Aa", since: "6.0" },
    Row { pattern: "barrier cta sync|arrive aligned?", operands: "Aa", since: "7.8" },
    Row { pattern: "barrier cta? red popc aligned? u32", operands: "DAaA", since: "6.0" },
    Row { pattern: "barrier cta? red and|or aligned? pred", operands: "DAaA", since: "6.0" },
    Row { pattern: "barrier cluster arrive release|relaxed@8.0/90? aligned?", operands: "", since: "7.8/90" },
    Row { pattern: "barrier cluster wait acquire? aligned?", operands: "", since: "7.8/90" },
    // Lanes of a warp.
    Row { pattern: "shfl sync up|down|bfly|idx b32", operands: "DAAAA", since: "6.0" },
    Row { pattern: "shfl up|down|bfly|idx b32", operands: "DAAA", since: "6.0" },
    Row { pattern: "vote sync all|any|uni pred", operands: "DAA", since: "6.0" },
    Row { pattern: "vote sync ballot b32", operands: "DAA", since: "6.0" },
    Row { pattern: "match any sync b32|b64", operands: "DAA", since: "6.0/70" },
    Row { pattern: "match all sync b32|b64", operands: "DAA", since: "6.0/70" },
    Row { pattern: "activemask b32", operands: "D", since: "6.2" },
    Row { pattern: "redux sync add|min|max u32|s32", operands: "DAA", since: "7.0/80" },
    Row { pattern: "redux sync and|or|xor b32", operands: "DAA", since: "7.0/80" },
    Row { pattern: "redux sync min|max abs? NaN? f32", operands: "DAA", since: "8.6/100a" },
];
