//! Copies from global to shared memory that go on while the program does.

use crate::types::{MUTABLE, TOKEN_ONLY, memdesc, token_type};
use ir::{Effect, Format, Infer, OpRow};
use smallvec::smallvec;
use ttir::ops::memory::CacheModifier;
use ttir::ops::memory::EvictionPolicy;
use ttir::ops::memory_text;
use ttir::types::{BOOL_LIKE, PTR_LIKE, VALUE_LIKE, pointee, shape};

const TOKEN: Infer = Infer::Rule(|_| Ok(smallvec![token_type()]));

ir::op_view! {
    AsyncCopyOp of ASYNC_COPY {
        operands {
            ptr: One PTR_LIKE => Read,
            dst: One MUTABLE => WriteUntil(ASYNC_WAIT),
            mask: Optional BOOL_LIKE,
            other: Optional VALUE_LIKE,
        }
        attrs {
            cache "cacheModifier": CacheModifier = Enum(CacheModifier::None as u32),
            evict "evictionPolicy": EvictionPolicy = Enum(EvictionPolicy::Normal as u32),
            volatile "isVolatile": bool = Bool(false),
            contiguity: u32 = Int(1),
        }
        results { token: One TOKEN_ONLY }
    }
}

/// Begins a copy.
pub static ASYNC_COPY: OpRow = OpRow {
    name: "ttg.async_copy_global_to_local",
    doc: "Begins to copy the elements at pointers to shared memory; where the mask does not hold, `other` or 0.",
    infer: TOKEN,
    format: Format::Custom {
        print: |printer, op| {
            let directives = "$ptr, $dst (mask $mask)? (other $other)? attr-dict : type($ptr) -> \
                              short-type($dst)";
            memory_text::print(printer, op, directives);
        },
        parse: |parser| {
            let directives = "$ptr, $dst (mask $mask)? (other $other)? (cacheModifier = $cacheModifier)? \
                              (evictionPolicy = $evictionPolicy)? attr-dict : type($ptr) -> short-type($dst)";
            memory_text::parse(parser, &ASYNC_COPY, directives)
        },
    },
    verify: Some(|module, op| {
        let pointers = module.ty(module.operand(op, 0));
        let to = memdesc(module.ty(module.operand(op, 1))).ok_or("operand 1 is not a memory descriptor")?;
        if shape(pointers) != to.shape || pointee(pointers) != Some(to.elem) {
            return Err(format!("{pointers} do not fill memory of {:?} elements of {}", to.shape, to.elem));
        }
        let others = module.operands(op).iter().skip(2);
        match others.map(|&value| module.ty(value)).find(|&ty| shape(ty) != shape(pointers)) {
            None => Ok(()),
            Some(ty) => Err(format!("{ty} has not the shape of the pointers")),
        }
    }),
    ..AsyncCopyOp::ROW
};

ir::op_view! {
    AsyncCommitGroupOp of ASYNC_COMMIT_GROUP {
        operands { tokens: Variadic TOKEN_ONLY }
        results { token: One TOKEN_ONLY }
    }
}

/// Ends a group of copies.
pub static ASYNC_COMMIT_GROUP: OpRow = OpRow {
    name: "ttg.async_commit_group",
    doc: "The copies begun since the last group are the next group.",
    infer: TOKEN,
    effect: Effect::Write,
    format: Format::Text("(tokens $tokens)? attr-dict"),
    ..AsyncCommitGroupOp::ROW
};

ir::op_view! {
    AsyncWaitOp of ASYNC_WAIT {
        operands { tokens: Variadic TOKEN_ONLY }
        attrs { num / set_num: u32 }
        results { token: One TOKEN_ONLY }
    }
}

/// Waits for groups of copies.
pub static ASYNC_WAIT: OpRow = OpRow {
    name: "ttg.async_wait",
    doc: "Waits until at most `num` of the newest groups of copies are going on.",
    infer: TOKEN,
    effect: Effect::Atomic,
    format: Format::Text("($tokens)? attr-dict"),
    ..AsyncWaitOp::ROW
};
