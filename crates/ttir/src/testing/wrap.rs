//! Puts a kernel around a function of scalars and blocks, so that every engine can call it: blocks and results pass
//! through memory.

use super::Argument;
use crate::ops::{arith_cast, func, memory, shape};
use crate::types::{elem, elem_bits, elem_bytes, is_tensor, numel, pointee, ptr, tensor, with_elem};
use ir::{Attr, Builder, Module, Op, OpInit, Place, Type, TypeKind, Value};
use smallvec::smallvec;

/// The types of a function.
#[derive(Clone, Debug)]
pub struct Signature {
    /// Of its parameters.
    pub params: Vec<Type>,
    /// Of its results.
    pub results: Vec<Type>,
}

impl Signature {
    /// The signature of a function of a module.
    pub fn of(module: &Module, function: Op) -> Option<Signature> {
        let ty = func::FuncOp::of(module, function)?.ty();
        let TypeKind::Function { params, results } = ty.kind() else { return None };
        Some(Signature { params: params.clone(), results: results.clone() })
    }

    /// The arguments of the wrapping kernel, given the elements of each argument of the function.
    pub fn arguments(&self, values: &[Vec<u64>]) -> Vec<Argument> {
        let mut args = Vec::new();
        for (&ty, values) in self.params.iter().zip(values) {
            args.push(match pointee(ty) {
                Some(pointee) => Argument::Buffer(bytes_of(values, pointee)),
                None if is_tensor(ty) => Argument::Buffer(bytes_of(values, ty)),
                None => Argument::Bits(values[0]),
            });
        }
        let results = self.results.iter();
        args.extend(
            results.map(|&ty| Argument::Buffer(vec![0xa5; (numel(ty) as u64 * elem_bytes(ty)) as usize])),
        );
        args
    }
}

/// The bytes of elements in memory.
pub fn bytes_of(values: &[u64], ty: Type) -> Vec<u8> {
    let size = elem_bytes(ty) as usize;
    values.iter().flat_map(|value| value.to_le_bytes().into_iter().take(size)).collect()
}

/// The elements that bytes in memory hold.
pub fn values_of(bytes: &[u8], ty: Type) -> Vec<u64> {
    let bits = elem_bits(ty);
    bytes
        .chunks_exact(elem_bytes(ty) as usize)
        .map(|chunk| {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            ir::scalar::truncate(bits, u64::from_le_bytes(word))
        })
        .collect()
}

/// The name of the kernel that [`wrap`] adds.
const WRAPPER: &str = "call_from_test";

/// Adds a kernel that calls a function: pointers and scalars are its own parameters, blocks are loaded from memory,
/// results stored to memory that follows the arguments. Gives the kernel's name.
pub fn wrap(module: &mut Module, function: Op, signature: &Signature) -> &'static str {
    let in_memory =
        |ty: Type| if pointee(ty).is_some() || !is_tensor(ty) { ty } else { ptr(stored(elem(ty))) };
    let mut params: Vec<Type> = signature.params.iter().map(|&ty| in_memory(ty)).collect();
    params.extend(signature.results.iter().map(|&ty| ptr(stored(elem(ty)))));
    let entry = add_function(module, WRAPPER, &params);
    let arguments = module.args(entry).to_vec();
    let name = Attr::Symbol(func::FuncOp::new(module, function).name().into());
    let mut builder = Builder::new(module, Place::End(entry));
    let mut given = Vec::new();
    for (&ty, &argument) in signature.params.iter().zip(&arguments) {
        let from_memory = is_tensor(ty);
        given.push(if from_memory { load(&mut builder, argument, ty) } else { argument });
    }
    let init = OpInit {
        operands: given.into(),
        results: signature.results.iter().copied().collect(),
        attrs: smallvec![Some(name)],
        regions: 0,
    };
    let call = builder.insert(&func::CALL, init);
    for (index, &pointer) in arguments[signature.params.len()..].iter().enumerate() {
        let result = builder.module.result(call, index);
        store(&mut builder, pointer, result);
    }
    builder.build_effect(&func::RETURN, &[], &[]);
    WRAPPER
}

/// Adds an empty public function; gives its block.
pub(super) fn add_function(module: &mut Module, name: &str, params: &[Type]) -> ir::Block {
    let attrs = smallvec![
        Some(Attr::Symbol(name.into())),
        Some(Attr::Type(Type::function(params.to_vec(), Vec::new()))),
        Some(Attr::str("public")),
    ];
    let body = module.body();
    let mut builder = Builder::new(module, Place::End(body));
    let function = builder.insert(&func::FUNC, OpInit { attrs, regions: 1, ..OpInit::default() });
    let region = module.region(function, 0);
    let entry = module.add_block(region);
    for &param in params {
        module.add_arg(entry, param);
    }
    entry
}

/// Truth values are stored as bytes.
fn stored(elem: Type) -> Type {
    if elem.as_int() == Some(1) { Type::int(8) } else { elem }
}

/// The pointers to the elements of a block that lies in memory from `base` on.
pub(super) fn pointers(builder: &mut Builder<'_>, base: Value, count: i64) -> Value {
    let range = Attr::i32(count as i32);
    let offsets = builder.build(&shape::MAKE_RANGE, &[], &[Some(range), Some(Attr::i32(0))]);
    let ty = tensor(&[count], builder.module.ty(base));
    let bases = builder.build_as(&shape::SPLAT, &[base], &[], ty);
    builder.build(&memory::ADDPTR, &[bases, offsets], &[])
}

fn load(builder: &mut Builder<'_>, base: Value, ty: Type) -> Value {
    let pointers = pointers(builder, base, numel(ty));
    let mut loaded = builder.build(&memory::LOAD, &[pointers], &[]);
    if elem(ty) != stored(elem(ty)) {
        let narrow = with_elem(builder.module.ty(loaded), elem(ty));
        loaded = builder.build_as(&arith_cast::TRUNCI, &[loaded], &[], narrow);
    }
    if builder.module.ty(loaded) == ty {
        loaded
    } else {
        builder.build_as(&shape::RESHAPE, &[loaded], &[], ty)
    }
}

fn store(builder: &mut Builder<'_>, base: Value, mut value: Value) {
    let ty = builder.module.ty(value);
    if elem(ty) != stored(elem(ty)) {
        value = builder.build_as(&arith_cast::EXTUI, &[value], &[], with_elem(ty, stored(elem(ty))));
    }
    if !is_tensor(ty) {
        builder.build_effect(&memory::STORE, &[base, value], &[]);
        return;
    }
    let flat = tensor(&[numel(ty)], stored(elem(ty)));
    if builder.module.ty(value) != flat {
        value = builder.build_as(&shape::RESHAPE, &[value], &[], flat);
    }
    let pointers = pointers(builder, base, numel(ty));
    builder.build_effect(&memory::STORE, &[pointers, value], &[]);
}
