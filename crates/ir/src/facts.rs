//! What passes ask of an operation besides its properties: what an element costs, and how the layout of its result
//! follows.
//!
//! They stand in its row ([`crate::OpRow`]); passes look them up and list no operations.

/// What an element of the result of an operation takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CostClass {
    /// Nothing: elements are only made or moved.
    Nothing,
    /// An instruction.
    Simple,
    /// An elementary function.
    Function,
    /// A sequence of instructions, such as a division of integers.
    Sequence,
    /// So much, or so little of it in the element itself, that it is never done twice.
    Once,
}

impl CostClass {
    /// About how many instructions that is.
    pub fn instructions(self) -> f64 {
        match self {
            CostClass::Nothing => 0.0,
            CostClass::Simple | CostClass::Once => 1.0,
            CostClass::Function => 4.0,
            CostClass::Sequence => 8.0,
        }
    }
}

/// Operations on floats that an element takes, as tools count them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Rates {
    /// Of the type's own arithmetic.
    pub own: f64,
    /// Elementary functions.
    pub special: f64,
}

impl Rates {
    /// None.
    pub const NONE: Rates = Rates::new(0.0, 0.0);

    /// So many of each.
    pub const fn new(own: f64, special: f64) -> Rates {
        Rates { own, special }
    }
}

/// Where the elements of a result come from, and so how its layout follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LayoutRule {
    /// Operands and results that are tensors have one layout.
    Same,
    /// The same, where the operand may be one element wide.
    Broadcast,
    /// The result lacks dimension `axis`.
    Reduce,
    /// The result has dimension `axis` more.
    ExpandDims,
    /// The dimensions are permuted.
    Trans,
    /// The same elements in row-major order in another shape.
    Reshape,
    /// Pairs in a new last dimension.
    Join,
    /// The last dimension goes.
    Split,
    /// The result is that of a dot: c has its layout, a and b are operands of it.
    Dot,
    /// The result has the layout of the indices.
    Gather,
    /// Operands lie alike, the result as anything.
    Apart,
    /// The operand becomes a block of shared memory: only how the CTAs of a cluster share it matters.
    Stored,
    /// Nothing follows.
    Free,
}

/// How much one instruction may cover of an access by a block of addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccessWidth {
    /// One element.
    Single,
    /// Several elements of together so many bytes.
    Bytes(u64),
    /// As much as the machine can.
    Any,
}
