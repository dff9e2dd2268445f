//! What an operation is, as far as passes ask: properties that rows declare by name.

/// Properties of an operation that generic code asks for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Traits(u32);

impl Traits {
    /// None.
    pub const NONE: Traits = Traits(0);
    /// No effect but its results: may be removed when unused, merged with an equal one, moved.
    pub const PURE: Traits = Traits(1);
    /// Ends a block.
    pub const TERMINATOR: Traits = Traits(1 << 1);
    /// The two operands may be swapped.
    pub const COMMUTATIVE: Traits = Traits(1 << 2);
    /// Works on each element by itself: [`OpRow::eval`] is its whole meaning on a scalar.
    pub const ELEMENTWISE: Traits = Traits(1 << 3);
    /// A constant: its attribute `value` is its result.
    pub const CONSTANT: Traits = Traits(1 << 4);
    /// Each element of its one result is an element of its one operand: it spreads them or lays them out otherwise.
    pub const MOVES: Traits = Traits(1 << 6);
    /// Its result is its operand, held in another layout.
    pub const RELAYOUT: Traits = Traits(1 << 14);
    /// Multiplies matrices: its first operands are a, b and c, its result is a · b + c.
    pub const MATMUL: Traits = Traits(1 << 5);
    /// Combines elements along its attribute `axis`: its region takes two elements of each operand and hands on one.
    pub const COMBINES: Traits = Traits(1 << 13);
    /// Its block is made of no other block: of a scalar, of the positions of its elements, or of nothing.
    pub const SOURCE: Traits = Traits(1 << 15);
    /// Its result is the sum of its two operands, and exact: of integers, or of an address and elements.
    pub const ADDS: Traits = Traits(1 << 16);
    /// Its result is the number that its one operand is, in more bits.
    pub const WIDENS: Traits = Traits(1 << 17);
    /// Each bit of its result is that bit of one of its operands (NaN aside), so that of equal ones it gives that one.
    pub const CHOOSES: Traits = Traits(1 << 18);
    /// Its result is the larger one of two numbers, with whatever rule for NaN.
    pub const MAXIMUM: Traits = Traits(1 << 19);
    /// Its result is a power of a number above 1.
    pub const EXPONENTIAL: Traits = Traits(1 << 20);
    /// A function that is many instructions where no instruction is it.
    pub const SERIES: Traits = Traits(1 << 21);
    /// Orders threads or launches, or states what holds: nothing to do for a program that is one thread.
    pub const MARKER: Traits = Traits(1 << 22);
    /// Integer arithmetic by which positions become other positions: sums, products, casts.
    pub const INDEX: Traits = Traits(1 << 23);
    /// Compares, selects, or works bit by bit.
    pub const LOGIC: Traits = Traits(1 << 24);
    /// Each element of its results, which are blocks, is the element of its one operand at another position.
    pub const VIEW: Traits = Traits(1 << 25);
    /// Each dimension of its operand is a dimension of its result, of the same size.
    pub const KEEPS_DIMS: Traits = Traits(1 << 26);
    /// Its result has each element of its one operand once, in another order or shape.
    pub const PERMUTES: Traits = Traits(1 << 27);
    /// Its result is its operand as a float of another format.
    pub const FLOAT_CAST: Traits = Traits(1 << 28);
    /// Goes on only when others have written what it looks for, or its time is over.
    pub const WAITS: Traits = Traits(1 << 29);
    /// Its regions may not use values from outside.
    pub const ISOLATED: Traits = Traits(1 << 7);
    /// Pure, but must not run where the program would not have run it (it may divide by zero).
    pub const NO_SPECULATION: Traits = Traits(1 << 8);
    /// Its effects are those of the operations in its regions.
    pub const REGION_EFFECTS: Traits = Traits(1 << 9);
    /// Runs its region zero or more times: invariant operations may be moved in front of it.
    pub const LOOP: Traits = Traits(1 << 10);
    /// Calls a symbol named by its attribute `callee`.
    pub const CALL: Traits = Traits(1 << 11);
    /// Defines a symbol named by its attribute `sym_name`.
    pub const SYMBOL: Traits = Traits(1 << 12);

    /// Both.
    pub const fn and(self, other: Traits) -> Traits {
        Traits(self.0 | other.0)
    }

    /// Whether all of `other` hold.
    pub const fn has(self, other: Traits) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether any of `other` holds.
    pub const fn has_any(self, other: Traits) -> bool {
        self.0 & other.0 != 0
    }
}
