//! Inline assembly that reads the clock or a hardware register, as the intrinsic for it: LLVM then knows what is waited
//! for, and the emulator runs it.
//!
//! ```text
//! tt.elementwise_inline_asm "s_getreg_b32 $0, hwreg(4, 8, 8)" {…} -> i32    =>    call i32 @llvm.amdgcn.s.getreg(i32 14852)
//! ```
//!
//! Only scalars, one instruction, and waits behind it; every other text is LLVM's to assemble.

use amdgcn_isa::{Row, system};
use ir::{Module, Op};
use lanes::{Cx, Handler, LaneValue, Result};
use llir::{Type, Value};
use ttir::ops::extern_call::{INLINE_ASM, InlineAsmOp};
use ttir::types::is_tensor;

/// The message that asks for the time.
const GET_REALTIME: i32 = 131;

/// What a text reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Source {
    /// The clock, on CDNA.
    Clock,
    /// The clock, by a message.
    Message,
    /// A hardware register: number, offset and width as the instruction has them.
    Register(i32),
}

/// The handler of a text that is known.
pub(super) fn handler(module: &Module, op: Op) -> Option<Handler> {
    (module.is(op, &INLINE_ASM) && source(module, op).is_some()).then_some(read as Handler)
}

fn source(module: &Module, op: Op) -> Option<Source> {
    let of = InlineAsmOp::new(module, op);
    let [result] = module.results(op) else { return None };
    let ty = module.ty(*result);
    if !of.args().is_empty() || is_tensor(ty) {
        return None;
    }
    let (source, bits) = parse(of.asm_string())?;
    (ty.as_int() == Some(bits)).then_some(source)
}

/// What a text reads, and into how many bits.
fn parse(text: &str) -> Option<(Source, u32)> {
    let mut lines = text.split(['\n', ';']).map(str::trim).filter(|line| !line.is_empty());
    let (name, operands) = lines.next()?.split_once(' ')?;
    let waits = |line: &str| line.starts_with("s_waitcnt") || line.starts_with("s_wait_");
    if !lines.all(waits) {
        return None;
    }
    let operands: String = operands.split_whitespace().collect();
    match (name, operands.as_str()) {
        ("s_memrealtime", "$0") => Some((Source::Clock, 64)),
        ("s_sendmsg_rtn_b64", "$0,sendmsg(MSG_RTN_GET_REALTIME)") => Some((Source::Message, 64)),
        ("s_getreg_b32", operands) => {
            let fields = operands.strip_prefix("$0,hwreg(")?.strip_suffix(')')?;
            let fields: Vec<i32> =
                fields.split(',').map(|field| field.parse().ok()).collect::<Option<_>>()?;
            let [number @ 0..64, offset @ 0..32, width @ 1..=32] = fields[..] else { return None };
            Some((Source::Register(number | offset << 6 | (width - 1) << 11), 32))
        }
        _ => None,
    }
}

fn read(cx: &mut Cx<'_>, op: Op) -> Result<()> {
    let source = source(cx.module, op).expect("the handler is only given for texts that are known");
    let (row, ty, operand): (&Row, _, _) = match source {
        Source::Clock => (&system::S_MEMREALTIME, Type::I64, None),
        Source::Message => (&system::S_SENDMSG_RTN, Type::I64, Some(GET_REALTIME)),
        Source::Register(word) => (&system::S_GETREG, Type::I32, Some(word)),
    };
    let operands: Vec<Value> = operand.map(|operand| cx.b.i32(operand)).into_iter().collect();
    let value = cx.b.intrinsic(row, ty, &operands);
    cx.set_result(op, LaneValue::Scalar(value));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Source, parse};

    #[test]
    fn texts_of_one_instruction_are_known() {
        let clock = "s_memrealtime $0\n                 s_waitcnt vmcnt(0)";
        assert_eq!(parse(clock), Some((Source::Clock, 64)));
        let message = "s_sendmsg_rtn_b64 $0, sendmsg(MSG_RTN_GET_REALTIME)\n s_wait_kmcnt 0";
        assert_eq!(parse(message), Some((Source::Message, 64)));
        let register = parse("s_getreg_b32 $0, hwreg(4, 8, 8)");
        assert_eq!(register, Some((Source::Register(4 | 8 << 6 | 7 << 11), 32)));
        for text in
            ["s_getreg_b32 $0, hwreg(HW_REG_HW_ID)", "s_memrealtime $0\ns_nop 0", "", "v_mov_b32 $0, 1"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
