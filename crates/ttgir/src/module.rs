//! What a whole program says about how it runs: attributes of the module.

use ir::{Attr, AttrKey, DeclaredKey, Diagnostic, Module, Type};

/// Warps of a program.
pub static NUM_WARPS: DeclaredKey = DeclaredKey::new("ttg.num-warps", "Warps of a program.");
/// Lanes of a warp.
pub static THREADS_PER_WARP: DeclaredKey = DeclaredKey::new("ttg.threads-per-warp", "Lanes of a warp.");
/// Blocks of a cluster.
pub static NUM_CTAS: DeclaredKey = DeclaredKey::new("ttg.num-ctas", "Blocks of a cluster.");
/// The machine.
pub static TARGET: DeclaredKey = DeclaredKey::new("ttg.target", "The machine that the program is for.");
/// Bytes of shared memory.
pub static SHARED: DeclaredKey =
    DeclaredKey::new("ttg.shared", "Bytes of shared memory that a program needs.");

/// Rows of a matrix instruction.
pub static MATRIX_SIZE: DeclaredKey =
    DeclaredKey::new("ttg.matrix-size", "Rows of the matrix instructions that dots are best made by.");

/// The size of matrix instructions that is asked for, if one is.
pub fn matrix_size(module: &Module) -> Option<u32> {
    let size = module.extra_attr(module.top(), MATRIX_SIZE.name)?.as_int()?;
    u32::try_from(size).ok().filter(|&size| size > 0)
}

/// Asks for a size of matrix instructions; 0 for none.
pub fn set_matrix_size(module: &mut Module, size: u32) {
    let top = module.top();
    module.set_extra(top, MATRIX_SIZE.key(), (size > 0).then(|| Attr::i32(size as i32)));
}

/// Whether operands that stay the same may not move to shared memory.
pub static OPERANDS_STAY: DeclaredKey = DeclaredKey::new(
    "ttg.operands-stay",
    "Operands of dots that stay the same in a loop do not move to shared memory.",
);

/// Whether operands of dots that stay the same in a loop stay in registers.
pub fn operands_stay(module: &Module) -> bool {
    module.extra_attr(module.top(), OPERANDS_STAY.name).is_some()
}

/// Leaves operands of dots in registers: shared memory is needed for other things.
pub fn let_operands_stay(module: &mut Module) {
    let top = module.top();
    module.set_extra(top, OPERANDS_STAY.key(), Some(Attr::Bool(true)));
}

/// Bytes that a store may take.
pub static STORE_BYTES: DeclaredKey = DeclaredKey::new(
    "ttg.store-bytes",
    "Bytes of shared memory for a bulk store that goes on while its loop does: a larger block is stored in parts.",
);

/// The most bytes of shared memory for a bulk store that goes on while its loop does, if somebody says.
pub fn store_bytes(module: &Module) -> Option<u64> {
    let bytes = module.extra_attr(module.top(), STORE_BYTES.name)?.as_int()?;
    u64::try_from(bytes).ok()
}

/// Lets bulk stores that go on while their loop does take at most so many bytes of shared memory, as far as they can.
pub fn set_store_bytes(module: &mut Module, bytes: Option<u64>) {
    let top = module.top();
    let attr = bytes.map(|bytes| Attr::int(bytes as i64, Type::int(64)));
    module.set_extra(top, STORE_BYTES.key(), attr);
}

/// Whether programs are in pairs.
pub static PAIRED: DeclaredKey = DeclaredKey::new(
    "ttg.paired",
    "Two programs that lie side by side are a cluster, and each copies half of what both read.",
);

/// Whether two programs that lie side by side are a cluster.
pub fn is_paired(module: &Module) -> bool {
    module.extra_attr(module.top(), PAIRED.name).is_some()
}

/// Lets two programs that lie side by side be a cluster.
pub(crate) fn pair(module: &mut Module) {
    let top = module.top();
    module.set_extra(top, PAIRED.key(), Some(Attr::Unit));
}

/// For how many programs an SM is to have registers.
pub static PROGRAMS: DeclaredKey = DeclaredKey::new(
    "ttg.programs",
    "For so many programs an SM is to have registers, though some values are spilled then.",
);

/// Lets an SM have registers for so many programs.
pub(crate) fn ask_for_programs(module: &mut Module, programs: u32) {
    let top = module.top();
    module.set_extra(top, PROGRAMS.key(), Some(Attr::int(i64::from(programs), Type::int(32))));
}

/// For how many programs an SM is to have registers, if that is said.
pub fn programs_asked(module: &Module) -> Option<u32> {
    let programs = module.extra_attr(module.top(), PROGRAMS.name)?.as_int()?;
    u32::try_from(programs).ok().filter(|&programs| programs > 0)
}

/// Why the warps of a loop have no roles.
pub static NO_ROLES: DeclaredKey =
    DeclaredKey::new("ttg.no-roles", "Why the warps of this loop have no roles, though that was asked for.");

/// What is to be said of loops whose warps should have roles and have none.
pub fn take_role_remarks(module: &mut Module) -> Vec<Diagnostic> {
    let mut remarks = Vec::new();
    for op in module.walk(module.top()) {
        let Some(reason) = module.extra_attr(op, NO_ROLES.name).and_then(Attr::as_str) else { continue };
        let message =
            format!("the warps of the loop have no roles of their own (`warp_specialize`): {reason}");
        remarks.push(Diagnostic::new(message).at(module.locs.describe(module.loc(op))));
        module.set_extra(op, NO_ROLES.key(), None);
    }
    remarks
}

/// How many lanes, warps and blocks run a program.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Config {
    /// Warps of a program.
    pub num_warps: u32,
    /// Lanes of a warp.
    pub threads_per_warp: u32,
    /// Blocks of a cluster.
    pub num_ctas: u32,
}

impl Config {
    /// What a module says; 32 lanes and one block where it does not say.
    ///
    /// # Errors
    /// When it does not say the number of warps, or a number is not a power of two.
    pub fn of(module: &Module) -> Result<Config, String> {
        Ok(Config {
            num_warps: number(module, &NUM_WARPS)?
                .ok_or_else(|| format!("the module lacks \"{}\"", NUM_WARPS.name))?,
            threads_per_warp: number(module, &THREADS_PER_WARP)?.unwrap_or(32),
            num_ctas: number(module, &NUM_CTAS)?.unwrap_or(1),
        })
    }

    /// Writes it to a module.
    pub fn set(self, module: &mut Module) {
        let top = module.top();
        let all = [
            (&NUM_WARPS, self.num_warps),
            (&THREADS_PER_WARP, self.threads_per_warp),
            (&NUM_CTAS, self.num_ctas),
        ];
        for (key, value) in all {
            module.set_extra(top, key.key(), Some(Attr::i32(value as i32)));
        }
    }
}

/// The name of the machine that a module is for.
pub fn target(module: &Module) -> Option<&str> {
    module.extra_attr(module.top(), TARGET.name)?.as_str()
}

/// Writes the name of the machine.
pub fn set_target(module: &mut Module, name: &str) {
    let top = module.top();
    module.set_extra(top, AttrKey::unknown(TARGET.name), Some(Attr::str(name)));
}

/// Writes how much shared memory a program needs.
pub fn set_shared(module: &mut Module, bytes: u32) {
    let top = module.top();
    module.set_extra(top, SHARED.key(), Some(Attr::i32(bytes as i32)));
}

fn number(module: &Module, key: &DeclaredKey) -> Result<Option<u32>, String> {
    let Some(attr) = module.extra_attr(module.top(), key.name) else { return Ok(None) };
    let value =
        attr.as_int().and_then(|value| u32::try_from(value).ok()).filter(|value| value.is_power_of_two());
    value.map(Some).ok_or_else(|| format!("\"{}\" is not a power of two", key.name))
}
