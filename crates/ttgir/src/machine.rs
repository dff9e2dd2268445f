//! Facts about a machine, as data.
//!
//! Passes and lowering ask these facts and nothing else: no pass knows an architecture by name. A target makes one
//! [`Machine`] for each architecture; its text, one fact a line, is part of the key of compiled programs.

use ir::{FloatKind, Type};
use std::fmt;

/// The type of numbers that a matrix instruction multiplies or sums.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Number {
    /// A float of this format.
    Float(FloatKind),
    /// A 32-bit float of which the low bits of the mantissa are not looked at.
    Tf32,
    /// A signless integer of so many bits.
    Int(u32),
}

impl Number {
    /// The type of values of it.
    pub fn ty(self) -> Type {
        match self {
            Number::Float(kind) => Type::float(kind),
            Number::Tf32 => Type::float(FloatKind::F32),
            Number::Int(bits) => Type::int(bits),
        }
    }

    /// Bits of a value.
    pub const fn bits(self) -> u32 {
        match self {
            Number::Float(kind) => kind.bits(),
            Number::Tf32 => 32,
            Number::Int(bits) => bits,
        }
    }
}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Number::Float(kind) => f.write_str(kind.name()),
            Number::Tf32 => f.write_str("tf32"),
            Number::Int(bits) => write!(f, "i{bits}"),
        }
    }
}

/// Who executes a matrix instruction, and so where its operands are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum MatrixKind {
    /// One warp, all in registers: `Encoding::Mma` of version 2, operands in `Encoding::DotOp`.
    Warp,
    /// Four warps, asynchronously: `Encoding::Mma` of version 3, the right operand (and, unless in registers, the left
    /// one) in shared memory.
    Group,
}

/// How the lanes of a warp hold the operands and the result of a matrix instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FragmentKind {
    /// Pairs of neighbours, 4 lanes side by side and 8 below each other: `Encoding::Mma`.
    Pairs,
    /// Runs of neighbours: `Encoding::Fragments`.
    Runs {
        /// The version of the encoding.
        version: u32,
        /// How many elements along k a lane gives.
        k_base: u32,
    },
}

/// A matrix instruction: c (m × n) += a (m × k) · b (k × n).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MatrixRow {
    /// Who executes it.
    pub kind: MatrixKind,
    /// The numbers of a.
    pub a: Number,
    /// The numbers of b.
    pub b: Number,
    /// The numbers of c.
    pub c: Number,
    /// Rows of the result.
    pub m: u32,
    /// Columns of the result: the sizes there are.
    pub n: &'static [u32],
    /// The length of the sums.
    pub k: u32,
    /// How lanes hold its operands and its result.
    pub fragments: FragmentKind,
    /// Warps that execute it together.
    pub warps: u32,
    /// Whether a may be in registers.
    pub a_in_registers: bool,
    /// Whether operands may be in shared memory.
    pub in_shared: bool,
    /// Whether operands in shared memory may have either dimension fastest; otherwise it is k.
    pub any_major: bool,
}

impl MatrixRow {
    /// Whether it multiplies a few rows with many columns. Its lanes hold several places along k of the rows, one after
    /// the other of which all columns are multiplied with; the same instruction makes many rows and a few columns when
    /// its operands change places.
    pub fn is_narrow(&self) -> bool {
        matches!(self.fragments, FragmentKind::Runs { .. }) && self.n[0] > self.m
    }
}

impl fmt::Display for MatrixRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let MatrixRow { kind, a, b, c, m, n, k, fragments, warps, a_in_registers, in_shared, any_major } =
            self;
        let kind = match kind {
            MatrixKind::Warp => "warp",
            MatrixKind::Group => "group",
        };
        write!(f, "{kind} {a} * {b} -> {c}, m {m}, n {n:?}, k {k}, warps {warps}")?;
        if let FragmentKind::Runs { version, k_base } = fragments {
            write!(f, ", runs of version {version}, {k_base} along k")?;
        }
        write!(f, ", a in registers: {a_in_registers}, in shared: {in_shared}, any major: {any_major}")
    }
}

/// Which loops have warps with roles of their own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Roles {
    /// None: the machine cannot.
    None,
    /// Those that ask for it.
    Asked,
    /// Those that ask for it, and those that gain by it.
    Paying,
    /// All that can.
    All,
}

/// Whether kernels become loops over the programs of their launch.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Persistence {
    /// Never.
    Never,
    /// No, but kernels say what launches would gain by it.
    Noted,
    /// Those that can.
    Loop,
}

/// Whether two programs that lie side by side are a cluster, and each copies half of what both read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pairs {
    /// None are.
    Never,
    /// Kernels say which launches they could be in.
    Noted,
    /// Those of kernels whose warps have roles, and which read the same of the tensor at the parameter of this number.
    Of(usize),
}

/// Whether what bulk copies cannot load, as its rows begin where they cannot, is copied first to where they can.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Copies {
    /// It is not.
    Never,
    /// Kernels say of what that would help.
    Noted,
    /// Launches do it.
    Made,
}

/// Facts about a machine.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Machine {
    /// Its name, as in the attribute `ttg.target`.
    pub name: &'static str,
    /// Lanes of a warp.
    pub warp_size: u32,
    /// Warps of a program at most.
    pub max_warps: u32,
    /// Warps that an SM holds at once.
    pub resident_warps: u32,
    /// Programs that an SM holds at once.
    pub resident_programs: u32,
    /// 32-bit registers of a lane at most.
    pub lane_registers: u32,
    /// 32-bit registers of an SM.
    pub sm_registers: u32,
    /// Bytes of shared memory of a program at most.
    pub shared_bytes: u32,
    /// Bytes of shared memory of an SM.
    pub sm_shared_bytes: u32,
    /// Bytes of shared memory that the system keeps for itself in each program.
    pub reserved_shared_bytes: u32,
    /// Banks of shared memory.
    pub banks: u32,
    /// Bytes of a bank that one access reads.
    pub bank_bytes: u32,
    /// Bytes that a lane loads or stores at once at most.
    pub vector_bytes: u32,
    /// Whether an access of a lane that its mask forbids costs no more than the instruction.
    pub predicated: bool,
    /// Bytes that one atomic combines into memory at most where it takes several floats and nobody asks what was there
    /// before.
    pub reduction_bytes: u32,
    /// Bytes that move to or from memory together.
    pub sector_bytes: u32,
    /// Bytes of a line of the cache.
    pub line_bytes: u32,
    /// Bytes that a lane's copy from global to shared memory moves which goes on while the program does: the sizes
    /// there are.
    pub async_copy_bytes: &'static [u32],
    /// The stages of a loop with dots from which on such copies take the place of staged loads; a copy of a warp then
    /// puts the parts of its lanes one behind the other.
    pub direct_stages: u32,
    /// Whether loads that feed dots are best begun an iteration ahead, into registers, and put into shared memory
    /// behind the dot.
    pub staged_loads: bool,
    /// Whether what a dot made is best stored from where it is: its way through shared memory would take more of that
    /// than the loop did, and leave room for fewer programs.
    pub stores_fragments: bool,
    /// Whether functions that ask for it (`noinline`) are called.
    pub has_calls: bool,
    /// Whether boxes of tensors are copied by descriptor.
    pub bulk_copy: bool,
    /// Whether loads by addresses that read boxes of tensors are bulk copies too: launches then check what the code
    /// alone does not show.
    pub bulk_loads: bool,
    /// Which loops have warps that do nothing but begin copies.
    pub roles: Roles,
    /// Whether kernels become loops over the programs of their launch.
    pub persistence: Persistence,
    /// Whether programs over a plane of tiles are taken in groups of tiles that read the same, in place of one row of
    /// them after the other.
    pub tile_groups: bool,
    /// Whether two programs are a cluster that shares copies.
    pub pairs: Pairs,
    /// Whether launches copy tensors to where bulk copies can load them.
    pub copies: Copies,
    /// The length of the sums of a dot from which warp groups that do not begin copies take turns with the matrix
    /// units; none: never.
    pub turns: Option<u32>,
    /// The work of a dot (rows × columns × length of its sums × bits of an element) from which on two groups of
    /// warps run its loop half an iteration apart, one loading while the other multiplies; none: never.
    pub ping_pong: Option<u64>,
    /// Whether blocks that dots made are stored by bulk copies, where descriptors name them.
    pub bulk_store: bool,
    /// Whether matrices of 8 × 8 16-bit elements are loaded from shared memory to registers by one instruction.
    pub matrix_load: bool,
    /// Whether they are stored by one as well.
    pub matrix_store: bool,
    /// Blocks of a cluster at most.
    pub cluster: u32,
    /// The matrix instructions, better ones first for equal numbers.
    pub matrix: &'static [MatrixRow],
    /// The matrix instructions of numbers with scales, better ones first: their operands are bytes in a format that the
    /// dot names, of which 32 along k share an exponent.
    pub scaled_matrix: &'static [MatrixRow],
    /// Pairs of formats, from and to, that convert by one instruction.
    pub conversions: &'static [(FloatKind, FloatKind)],
}

impl Machine {
    /// A plain machine without matrix instructions or asynchronous copies: what a target starts from, and tests use.
    pub const BASE: Machine = Machine {
        name: "plain",
        warp_size: 32,
        max_warps: 32,
        resident_warps: 32,
        resident_programs: 16,
        lane_registers: 255,
        sm_registers: 1 << 16,
        shared_bytes: 48 << 10,
        sm_shared_bytes: 64 << 10,
        reserved_shared_bytes: 0,
        banks: 32,
        bank_bytes: 4,
        vector_bytes: 16,
        predicated: false,
        reduction_bytes: 4,
        sector_bytes: 32,
        line_bytes: 128,
        async_copy_bytes: &[],
        direct_stages: u32::MAX,
        staged_loads: false,
        stores_fragments: false,
        has_calls: false,
        bulk_copy: false,
        bulk_loads: false,
        bulk_store: false,
        roles: Roles::None,
        persistence: Persistence::Never,
        tile_groups: false,
        pairs: Pairs::Never,
        copies: Copies::Never,
        turns: None,
        ping_pong: None,
        matrix_load: false,
        matrix_store: false,
        cluster: 1,
        matrix: &[],
        scaled_matrix: &[],
        conversions: &[],
    };

    /// Whether copies from global to shared memory go on while the program does.
    pub fn async_copy(&self) -> bool {
        !self.async_copy_bytes.is_empty()
    }

    /// The fewest bytes that a lane copies to shared memory at once. What lanes put there themselves fills its banks.
    pub(crate) fn narrowest_copy(&self) -> u64 {
        let copies = self.async_copy_bytes.iter().min().copied().filter(|_| !self.staged_loads);
        copies.unwrap_or(self.bank_bytes).into()
    }

    /// The matrix instructions for numbers of these types, better ones first. For 32-bit floats it is those that drop
    /// bits.
    pub fn matrix_rows(&self, a: Type, b: Type, c: Type) -> impl Iterator<Item = &'static MatrixRow> {
        self.matrix.iter().filter(move |row| row.a.ty() == a && row.b.ty() == b && row.c.ty() == c)
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "machine {}", self.name)?;
        let numbers = [
            ("lanes of a warp", self.warp_size),
            ("warps of a program", self.max_warps),
            ("resident warps", self.resident_warps),
            ("resident programs", self.resident_programs),
            ("registers of a lane", self.lane_registers),
            ("registers of an SM", self.sm_registers),
            ("bytes of shared memory of a program", self.shared_bytes),
            ("bytes of shared memory of an SM", self.sm_shared_bytes),
            ("reserved bytes of shared memory", self.reserved_shared_bytes),
            ("banks", self.banks),
            ("bytes of a bank", self.bank_bytes),
            ("bytes of an access", self.vector_bytes),
            ("bytes of a reduction", self.reduction_bytes),
            ("bytes of a sector", self.sector_bytes),
            ("bytes of a line", self.line_bytes),
            ("blocks of a cluster", self.cluster),
        ];
        for (name, value) in numbers {
            writeln!(f, "{name}: {value}")?;
        }
        writeln!(f, "accesses with predicates: {}", self.predicated)?;
        writeln!(f, "asynchronous copies: {:?}", self.async_copy_bytes)?;
        writeln!(f, "staged loads: {}, below {} stages", self.staged_loads, self.direct_stages)?;
        writeln!(f, "dots are stored from where they are: {}", self.stores_fragments)?;
        writeln!(f, "calls of functions: {}", self.has_calls)?;
        writeln!(f, "bulk copies: {}, for stores: {}", self.bulk_copy, self.bulk_store)?;
        writeln!(f, "bulk copies for loads by addresses: {}", self.bulk_loads)?;
        writeln!(f, "roles of warps: {:?}, taking turns: {:?}", self.roles, self.turns)?;
        writeln!(f, "loops over programs: {:?}, groups of tiles: {}", self.persistence, self.tile_groups)?;
        writeln!(f, "pairs of programs: {:?}", self.pairs)?;
        writeln!(f, "copies of tensors: {:?}", self.copies)?;
        writeln!(f, "groups half an iteration apart: {:?}", self.ping_pong)?;
        writeln!(f, "matrix loads: {}, stores: {}", self.matrix_load, self.matrix_store)?;
        for row in self.matrix {
            writeln!(f, "matrix: {row}")?;
        }
        for row in self.scaled_matrix {
            writeln!(f, "scaled matrix: {row}")?;
        }
        for (from, to) in self.conversions {
            writeln!(f, "conversion: {} to {}", from.name(), to.name())?;
        }
        Ok(())
    }
}
