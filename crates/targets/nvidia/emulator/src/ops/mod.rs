//! Instructions, one family a file; the table says which file knows a mnemonic.

mod atomic;
mod bits;
mod bulk;
mod compare;
mod control;
mod convert;
mod copy;
mod float;
mod half;
mod integer;
mod matrix;
mod mbarrier;
mod memory;
mod mma;
mod moves;
mod reduction;
mod registers;
mod sync;
pub(crate) mod system;
mod tensor;
mod vote;
mod wgmma;

use crate::decode::site::Site;
use crate::diagnostic::Diagnostic;
use crate::machine::Execute;

/// What decodes a mnemonic.
type Decode = fn(&mut Site<'_>) -> Result<Box<dyn Execute>, Diagnostic>;

/// Every mnemonic.
const FAMILIES: &[(&str, Decode)] = &[
    ("abs", integer::sign),
    ("activemask", vote::activemask),
    ("add", integer::add),
    ("addc", integer::carry),
    ("and", bits::logic),
    ("atom", atomic::atom),
    ("bar", sync::bar),
    ("barrier", sync::bar),
    ("bfe", bits::extract),
    ("bfi", bits::insert),
    ("bfind", bits::find),
    ("bmsk", bits::bitmask),
    ("bra", control::bra),
    ("brev", bits::reverse),
    ("brkpt", control::trap),
    ("brx", control::brx),
    ("call", system::call),
    ("clz", bits::count),
    ("cnot", bits::not),
    ("copysign", float::copysign),
    ("cos", float::approximate),
    ("cp", copy::cp),
    ("createpolicy", memory::createpolicy),
    ("cvt", convert::cvt),
    ("cvta", moves::cvta),
    ("discard", memory::hint),
    ("div", integer::div),
    ("dp2a", integer::dot),
    ("dp4a", integer::dot),
    ("elect", vote::elect),
    ("ex2", float::approximate),
    ("exit", control::exit),
    ("applypriority", memory::hint),
    ("fence", sync::fence),
    ("fma", float::fma),
    ("fns", bits::nth_set),
    ("getctarank", moves::getctarank),
    ("griddepcontrol", control::nothing),
    ("isspacep", moves::isspacep),
    ("ld", memory::ld),
    ("ldmatrix", matrix::ldmatrix),
    ("ldu", memory::ld),
    ("lg2", float::approximate),
    ("lop3", bits::lop3),
    ("mad", integer::mad),
    ("mad24", integer::mad),
    ("madc", integer::carry),
    ("mapa", moves::mapa),
    ("match", vote::matching),
    ("max", integer::extremum),
    ("mbarrier", mbarrier::mbarrier),
    ("membar", sync::membar),
    ("min", integer::extremum),
    ("mma", mma::mma),
    ("mov", moves::mov),
    ("movmatrix", matrix::movmatrix),
    ("mul", integer::mul),
    ("mul24", integer::mul),
    ("nanosleep", control::nanosleep),
    ("neg", integer::sign),
    ("not", bits::not),
    ("or", bits::logic),
    ("pmevent", control::nothing),
    ("popc", bits::count),
    ("prefetch", memory::hint),
    ("prefetchu", memory::hint),
    ("prmt", bits::permute),
    ("rcp", float::reciprocal),
    ("red", atomic::red),
    ("redux", vote::redux),
    ("rem", integer::div),
    ("ret", control::ret),
    ("rsqrt", float::reciprocal),
    ("sad", integer::sad),
    ("selp", compare::selp),
    ("set", compare::set),
    ("setmaxnreg", registers::set),
    ("setp", compare::setp),
    ("shf", bits::funnel),
    ("shfl", vote::shfl),
    ("shl", bits::shift),
    ("shr", bits::shift),
    ("sin", float::approximate),
    ("slct", compare::slct),
    ("sqrt", float::reciprocal),
    ("st", memory::st),
    ("stmatrix", matrix::stmatrix),
    ("sub", integer::add),
    ("subc", integer::carry),
    ("szext", bits::extend),
    ("tanh", float::approximate),
    ("tensormap", tensor::tensormap),
    ("testp", float::testp),
    ("trap", control::trap),
    ("vote", vote::vote),
    ("wgmma", wgmma::wgmma),
    ("xor", bits::logic),
];

/// Decodes an instruction.
pub(crate) fn decode(site: &mut Site<'_>) -> Result<Box<dyn Execute>, Diagnostic> {
    match FAMILIES.iter().find(|(name, _)| *name == site.mnemonic) {
        Some((_, decode)) => decode(site),
        None => site.error("the instruction is unknown or cannot be run here"),
    }
}
