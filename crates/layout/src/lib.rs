//! Linear layouts over F2: pure maths, no IR.
//!
//! A layout says which element of a block each piece of hardware holds: a map from positions in the machine
//! (`register`, `lane`, `warp`, …) to positions in a block (`dim0`, `dim1`, …). All sizes are powers of two and the map
//! is linear over F2: the place of `a xor b` is the place of `a` xor the place of `b`. So a layout is a matrix of bits,
//! given by where each power of two of each input dimension goes (its bases), and every question about it (is it a
//! permutation, which part of a conversion stays in a lane, how wide an access may be) is linear algebra on 64-bit
//! words. The idea is that of K. Zhou et al., "Linear Layouts: Robust Code Generation of Efficient Tensor Computation
//! Using F2", 2025.
//!
//! Assumed: at most 64 input bits and 64 output bits in all, and output dimensions without holes. Left out: what the
//! dimensions mean.

pub mod convert;
mod dims;
mod linear;
mod matrix;
mod picture;
pub mod reduce;

mod subspace;

pub use dims::{Dim, Dims};
pub use linear::{Bases, LayoutError, LinearLayout};
pub use picture::{
    Cell, Matrix, Memory, banks_text, lanes_text, matrices, shared_svg, shared_text, svg, text,
};
