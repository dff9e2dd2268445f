//! The machines: facts of each architecture, from the tables of compute capabilities in the CUDA programming guide and
//! the matrix instructions in the PTX manual.
//!
//! Each names what it has beyond an older one. Left out: matrix instructions with operands in tensor memory, with
//! sparse or scaled operands; `sm_100` and later run the ones of a warp.

use ir::FloatKind::{self, BF16, F8E4M3FN, F8E5M2, F16, F32, F64};
use std::sync::{Mutex, OnceLock, PoisonError};
use ttgir::machine::{
    Copies, FragmentKind, Machine, MatrixKind, MatrixRow, Number, Pairs, Persistence, Roles,
};

/// Lanes of a warp.
pub(crate) const WARP: u32 = 32;

/// What every architecture from `sm_80` on has.
const SM_80: Machine = Machine {
    name: "cuda:80",
    resident_warps: 64,
    resident_programs: 32,
    shared_bytes: 163 << 10,
    sm_shared_bytes: 164 << 10,
    reserved_shared_bytes: 1 << 10,
    predicated: true,
    async_copy_bytes: &[4, 8, 16],
    matrix_load: true,
    matrix: OF_WARPS,
    conversions: &[(F32, F16), (F32, BF16), (F16, F32), (BF16, F32), (F32, F64), (F64, F32)],
    has_calls: true,
    ..Machine::BASE
};

const SM_86: Machine = Machine {
    name: "cuda:86",
    resident_warps: 48,
    resident_programs: 16,
    shared_bytes: 99 << 10,
    sm_shared_bytes: 100 << 10,
    ..SM_80
};

const SM_87: Machine = Machine { name: "cuda:87", resident_warps: 48, resident_programs: 16, ..SM_80 };

const SM_89: Machine = Machine {
    name: "cuda:89",
    resident_programs: 24,
    matrix: OF_WARPS_WITH_F8,
    conversions: WITH_F8,
    ..SM_86
};

const SM_90: Machine = Machine {
    name: "cuda:90",
    shared_bytes: 227 << 10,
    sm_shared_bytes: 228 << 10,
    bulk_copy: true,
    bulk_store: true,
    roles: Roles::Paying,
    persistence: Persistence::Noted,
    tile_groups: true,
    pairs: Pairs::Noted,
    copies: Copies::Noted,
    turns: None,
    reduction_bytes: 16,
    matrix_store: true,
    cluster: 16,
    matrix: OF_GROUPS_AND_WARPS,
    conversions: WITH_F8,
    ..SM_80
};

// Roles have been tried with dots of warp groups alone.
const SM_100: Machine = Machine {
    name: "cuda:100",
    vector_bytes: 32,
    matrix: OF_WARPS_WITH_F8,
    roles: Roles::None,
    turns: None,
    ..SM_90
};

const SM_103: Machine = Machine { name: "cuda:103", ..SM_100 };

const SM_120: Machine = Machine {
    name: "cuda:120",
    cluster: 8,
    resident_warps: 48,
    resident_programs: 24,
    shared_bytes: 99 << 10,
    sm_shared_bytes: 100 << 10,
    ..SM_100
};

/// Every machine with the number of its architecture.
pub static MACHINES: &[(u32, Machine)] = &[
    (80, SM_80),
    (86, SM_86),
    (87, SM_87),
    (89, SM_89),
    (90, SM_90),
    (100, SM_100),
    (103, SM_103),
    (120, SM_120),
];

/// The machine of an architecture: the newest one that is not newer. None below 80.
pub fn machine(arch: u32) -> Option<&'static Machine> {
    MACHINES.iter().rev().find(|(own, _)| *own <= arch).map(|(_, machine)| machine)
}

/// What [`machine`] gives, as text that is written once; empty where there is none.
pub(crate) fn text(arch: u32) -> &'static str {
    static TEXTS: [OnceLock<String>; MACHINES.len()] = [const { OnceLock::new() }; MACHINES.len()];
    let at = MACHINES.iter().rposition(|(own, _)| *own <= arch);
    at.map_or("", |at| TEXTS[at].get_or_init(|| MACHINES[at].1.to_string()))
}

/// A machine with some facts changed, as compiles ask for. Whoever asks again is given the same.
pub fn changed(machine: &'static Machine, change: impl FnOnce(&mut Machine)) -> &'static Machine {
    static KNOWN: Mutex<Vec<&'static Machine>> = Mutex::new(Vec::new());
    let mut other = *machine;
    change(&mut other);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known.iter().find(|known| ***known == other) {
        return known;
    }
    // As many are kept as there are ways to compile.
    let kept: &'static Machine = Box::leak(Box::new(other));
    known.push(kept);
    kept
}

/// The machine of a name as programs have it: `cuda:90`.
pub fn named(name: &str) -> Option<&'static Machine> {
    machine(name.strip_prefix("cuda:")?.parse().ok()?)
}

const WITH_F8: &[(FloatKind, FloatKind)] = &[
    (F32, F16),
    (F32, BF16),
    (F16, F32),
    (BF16, F32),
    (F32, F64),
    (F64, F32),
    (F32, F8E4M3FN),
    (F32, F8E5M2),
    (F16, F8E4M3FN),
    (F16, F8E5M2),
    (F8E4M3FN, F16),
    (F8E5M2, F16),
];

const fn of_warp(a: Number, b: Number, c: Number, k: u32) -> MatrixRow {
    MatrixRow {
        kind: MatrixKind::Warp,
        a,
        b,
        c,
        m: 16,
        n: &[8],
        k,
        fragments: FragmentKind::Pairs,
        warps: 1,
        a_in_registers: true,
        in_shared: false,
        any_major: false,
    }
}

const fn float(kind: FloatKind) -> Number {
    Number::Float(kind)
}

const F16_F32: MatrixRow = of_warp(float(F16), float(F16), float(F32), 16);
const F16_F16: MatrixRow = of_warp(float(F16), float(F16), float(F16), 16);
const BF16_F32: MatrixRow = of_warp(float(BF16), float(BF16), float(F32), 16);
const TF32_F32: MatrixRow = of_warp(Number::Tf32, Number::Tf32, float(F32), 8);
const I8_I32: MatrixRow = of_warp(Number::Int(8), Number::Int(8), Number::Int(32), 32);
const F64_F64: MatrixRow = MatrixRow { m: 8, ..of_warp(float(F64), float(F64), float(F64), 4) };
const E4M3: MatrixRow = of_warp(float(F8E4M3FN), float(F8E4M3FN), float(F32), 32);
const E4M3_E5M2: MatrixRow = of_warp(float(F8E4M3FN), float(F8E5M2), float(F32), 32);
const E5M2_E4M3: MatrixRow = of_warp(float(F8E5M2), float(F8E4M3FN), float(F32), 32);
const E5M2: MatrixRow = of_warp(float(F8E5M2), float(F8E5M2), float(F32), 32);

const OF_WARPS: &[MatrixRow] = &[F16_F32, F16_F16, BF16_F32, TF32_F32, I8_I32, F64_F64];

const OF_WARPS_WITH_F8: &[MatrixRow] =
    &[F16_F32, F16_F16, BF16_F32, TF32_F32, I8_I32, F64_F64, E4M3, E4M3_E5M2, E5M2_E4M3, E5M2];

/// The same dot by four warps. Only 16-bit numbers may have either dimension fastest.
const fn of_group(row: MatrixRow) -> MatrixRow {
    MatrixRow {
        kind: MatrixKind::Group,
        m: 64,
        n: &[8, 16, 32, 64, 128, 256],
        warps: 4,
        in_shared: true,
        any_major: row.a.bits() == 16,
        ..row
    }
}

const OF_GROUPS_AND_WARPS: &[MatrixRow] = &[
    of_group(F16_F32),
    of_group(F16_F16),
    of_group(BF16_F32),
    of_group(TF32_F32),
    of_group(I8_I32),
    of_group(E4M3),
    of_group(E4M3_E5M2),
    of_group(E5M2_E4M3),
    of_group(E5M2),
    F16_F32,
    F16_F16,
    BF16_F32,
    TF32_F32,
    I8_I32,
    F64_F64,
    E4M3,
    E4M3_E5M2,
    E5M2_E4M3,
    E5M2,
];

#[cfg(test)]
mod tests {
    use super::{MACHINES, machine};
    use ttgir::machine::MatrixKind;

    #[test]
    fn an_architecture_is_served_by_the_newest_machine_that_is_not_newer() {
        let name = |arch| machine(arch).map(|machine| machine.name);
        assert_eq!(name(75), None);
        assert_eq!(name(80), Some("cuda:80"));
        assert_eq!(name(88), Some("cuda:87"));
        assert_eq!(name(90), Some("cuda:90"));
        assert_eq!(name(121), Some("cuda:120"));
    }

    #[test]
    fn a_program_fits_its_processor_and_facts_tell_machines_apart() {
        let mut texts = Vec::new();
        for (arch, machine) in MACHINES {
            assert_eq!(machine.name, format!("cuda:{arch}"));
            assert!(machine.shared_bytes + machine.reserved_shared_bytes <= machine.sm_shared_bytes);
            assert!(machine.max_warps <= machine.resident_warps);
            texts.push(machine.to_string());
        }
        texts.sort();
        texts.dedup();
        assert_eq!(texts.len(), MACHINES.len());
    }

    #[test]
    fn products_of_groups_come_first() {
        let half = ir::Type::float(ir::FloatKind::F16);
        let single = ir::Type::float(ir::FloatKind::F32);
        let first = |arch| machine(arch).and_then(|machine| machine.matrix_rows(half, half, single).next());
        assert_eq!(first(90).map(|row| (row.kind, row.m, row.k)), Some((MatrixKind::Group, 64, 16)));
        assert_eq!(first(80).map(|row| (row.kind, row.m, row.k)), Some((MatrixKind::Warp, 16, 16)));
        let tf32 = machine(90).and_then(|machine| machine.matrix_rows(single, single, single).next());
        assert_eq!(tf32.map(|row| (row.k, row.any_major)), Some((8, false)));
    }
}
