//! Chooses PTX instructions for the llir of one function.
//!
//! Blocks are visited from the last to the first, their instructions too, and only what a later instruction asked for
//! is made: what was folded into its users (address arithmetic, constants, lanes taken out of vectors) leaves nothing
//! behind. Assumes verified llir. Left out: integers of widths other than 1, 8, 16, 32, 64.

mod asm;
mod call;
mod cast;
mod compare;
mod control;
mod division;
mod float;
mod integer;
mod intrinsic;
mod memory;
mod resolve;
mod vector;

use super::error::PtxError;
use super::machine::{Class, MBlock, MFunction, MInst, Operand, Reg, Text};
use super::shape::{shape, word_class, word_count};
use cranelift_entity::packed_option::PackedOption;
use cranelift_entity::{PrimaryMap, SecondaryMap};
use llir::{
    Block, Effect, Format, FuncId, Function, Inst, InstData, Location, Module, Op, Payload, Purity, Type,
    Value, ValueDef,
};
use ptx_isa::Arch;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::sync::LazyLock;

pub(crate) use call::{call_bits, returned_words};
pub(crate) use resolve::Part;

/// What went wrong with one instruction.
pub(crate) type Outcome = Result<(), String>;

/// Chooses instructions for one part of a result: which, and the register it goes to.
type EmitPart = fn(&mut Selector<'_>, &InstData, Part, Reg) -> Outcome;

/// How an instruction of llir becomes PTX.
#[derive(Clone, Copy)]
pub(crate) enum Handler {
    /// Lane by lane.
    Lanes(EmitPart),
    /// Register by register where the function says that packed lanes have an instruction, else lane by lane.
    Packed(EmitPart, fn(&Selector<'_>, &InstData) -> bool),
    /// All registers of its result at once.
    Whole(fn(&mut Selector<'_>, Inst, &InstData) -> Outcome),
}

/// The handlers by the number of the row of an instruction.
static HANDLERS: LazyLock<Vec<Option<Handler>>> = LazyLock::new(|| {
    let mut handlers = vec![None; Op::all().count()];
    let families = [
        division::HANDLERS,
        integer::HANDLERS,
        float::HANDLERS,
        compare::HANDLERS,
        cast::HANDLERS,
        memory::HANDLERS,
        vector::HANDLERS,
    ];
    for (op, handler) in families.into_iter().flatten() {
        handlers[op.index()] = Some(*handler);
    }
    handlers[Op::CALL.index()] = Some(Handler::Whole(call::emit));
    handlers[Op::ASM.index()] = Some(Handler::Whole(asm::emit));
    handlers
});

/// Selects one function.
pub(crate) struct Selector<'a> {
    module: &'a Module,
    func: &'a Function,
    arch: Arch,
    /// What becomes of those callees that are intrinsics.
    rules: SecondaryMap<FuncId, Option<intrinsic::Rule>>,
    regs: PrimaryMap<Reg, Class>,
    /// Which places of `words` are for the registers of a value, once one was asked for.
    word_places: SecondaryMap<Value, (u32, u32)>,
    /// Registers asked for, those of a value one after another.
    words: Vec<PackedOption<Reg>>,
    /// Lanes of packed vectors asked for in registers of their own.
    lanes: SecondaryMap<Value, SmallVec<[(u32, Reg); 2]>>,
    /// How often a value is used.
    uses: SecondaryMap<Value, u32>,
    /// Constants in registers.
    pool: FxHashMap<(Class, u64), Reg>,
    /// Addresses of symbols in registers.
    symbols: FxHashMap<(String, u8), Reg>,
    /// What fills those, for the beginning of the function.
    prologue: Vec<MInst>,
    /// What the current instruction of llir becomes, in order.
    out: Vec<MInst>,
    location: Option<Location>,
    stack: (u64, u32),
    errors: Vec<PtxError>,
}

/// Selects a function; `prefix` names its parameters.
pub(crate) fn select(module: &Module, func: &Function, arch: Arch) -> Result<MFunction, Vec<PtxError>> {
    let mut selector = Selector {
        module,
        func,
        arch,
        rules: module.callees().map(|(id, callee)| (id, intrinsic::rule(callee))).collect(),
        regs: PrimaryMap::new(),
        word_places: func.about_values(),
        words: Vec::with_capacity(func.len()),
        lanes: SecondaryMap::new(),
        uses: count_uses(func),
        pool: FxHashMap::default(),
        symbols: FxHashMap::default(),
        prologue: Vec::new(),
        out: Vec::new(),
        location: None,
        stack: (0, 1),
        errors: Vec::new(),
    };
    let mut blocks = selector.blocks();
    if let Some(entry) = blocks.first_mut() {
        let params = selector.params();
        let mut insts = std::mem::take(&mut selector.prologue);
        insts.extend(params);
        insts.append(&mut entry.insts);
        entry.insts = insts;
    }
    if !selector.errors.is_empty() {
        return Err(selector.errors);
    }
    Ok(MFunction { blocks, regs: selector.regs, stack: selector.stack })
}

fn count_uses(func: &Function) -> SecondaryMap<Value, u32> {
    let mut uses: SecondaryMap<Value, u32> = func.about_values();
    for block in &func.layout {
        for inst in &func.block(*block).insts {
            let data = func.inst(*inst);
            let passed = data.targets.iter().flat_map(|call| &call.args);
            data.operands.iter().chain(passed).for_each(|value| uses[*value] += 1);
        }
    }
    uses
}

impl<'a> Selector<'a> {
    /// All blocks, in the order of the layout.
    fn blocks(&mut self) -> Vec<MBlock> {
        let func = self.func;
        for block in &func.layout {
            for param in &func.block(*block).params {
                self.all_words(*param);
            }
        }
        let mut done: SecondaryMap<Block, Option<MBlock>> = SecondaryMap::new();
        for block in llir::postorder(func) {
            done[block] = Some(self.block(block));
        }
        func.layout.iter().filter_map(|block| done[*block].take()).collect()
    }

    fn block(&mut self, block: Block) -> MBlock {
        let func = self.func;
        let insts = &func.block(block).insts;
        let mut reversed: Vec<MInst> = Vec::with_capacity(insts.len());
        let Some((last, rest)) = insts.split_last() else {
            return MBlock {
                block,
                params: Vec::new(),
                insts: reversed,
                end: super::machine::End::Unreachable,
            };
        };
        self.location = func.location_of(*last);
        let end = self.end(func.inst(*last));
        reversed.extend(self.out.drain(..).rev());
        for inst in rest.iter().rev() {
            self.location = func.location_of(*inst);
            if let Err(message) = self.inst(*inst) {
                self.fail(message);
            }
            reversed.extend(self.out.drain(..).rev());
        }
        self.location = None;
        let mut params = Vec::new();
        for param in &func.block(block).params {
            params.extend(self.words_of(*param).iter().filter_map(|word| word.expand()));
            self.unpack_lanes(*param);
        }
        reversed.extend(self.out.drain(..).rev());
        reversed.reverse();
        MBlock { block, params, insts: reversed, end }
    }

    fn fail(&mut self, message: String) {
        let location = self.location.map(|place| {
            let file = self.module.files().find(|(id, _)| *id == place.file);
            (file.map(|(_, path)| path.to_owned()).unwrap_or_default(), place.line, place.column)
        });
        self.errors.push(PtxError { function: self.func.name.clone(), location, message });
    }

    /// One instruction that is no terminator: into `out`, in order.
    fn inst(&mut self, inst: Inst) -> Outcome {
        let (func, result) = (self.func, self.func.result(inst));
        let data = func.inst(inst);
        let wanted = result.is_some_and(|value| self.is_wanted(value));
        if !wanted && !self.has_effect(data) {
            return Ok(());
        }
        let handler =
            HANDLERS[data.op.index()].ok_or_else(|| format!("`{}` has no PTX here", data.op.row().name))?;
        match (handler, result) {
            (Handler::Whole(emit), _) => {
                let before = self.out.len();
                if let Some(value) = result {
                    self.unpack_lanes(value);
                }
                let unpacking = self.out.split_off(before);
                emit(self, inst, data)?;
                self.out.extend(unpacking);
                Ok(())
            }
            (Handler::Packed(emit, packs), Some(value)) if data.ty.is_vector() && packs(self, data) => {
                self.unpack_lanes(value);
                let unpacking = std::mem::take(&mut self.out);
                for (index, reg) in self.wanted_words(value) {
                    emit(self, data, Part::Word(index), reg)?;
                }
                self.out.extend(unpacking);
                Ok(())
            }
            (Handler::Lanes(emit) | Handler::Packed(emit, _), Some(value)) => {
                self.lane_by_lane(value, data, emit)
            }
            (_, None) => Err(format!("`{}` gives nothing", data.op.row().name)),
        }
    }

    /// Makes the lanes of a result that are asked for one by one, then the registers that pack them.
    fn lane_by_lane(&mut self, value: Value, data: &InstData, emit: EmitPart) -> Outcome {
        let shape = self.shape(data.ty)?;
        if !data.ty.is_vector() {
            let reg = self.word(value, 0);
            return emit(self, data, Part::Scalar, reg);
        }
        let words = self.wanted_words(value);
        if shape.per_word == 1 {
            return words.into_iter().try_for_each(|(index, reg)| emit(self, data, Part::Lane(index), reg));
        }
        let mut lanes = std::mem::take(&mut self.lanes[value]);
        let mut packs = Vec::new();
        for (index, reg) in words {
            let parts: Vec<Reg> = (0..shape.per_word)
                .map(|lane| self.lane_reg(&mut lanes, index * shape.per_word + lane))
                .collect();
            packs.push((reg, parts));
        }
        for (lane, reg) in lanes {
            emit(self, data, Part::Lane(lane), reg)?;
        }
        for (reg, parts) in packs {
            let parts: Vec<Operand> = parts.into_iter().map(Operand::Reg).collect();
            self.pack(reg, &parts, data.ty.lane_bits());
        }
        Ok(())
    }

    fn lane_reg(&mut self, lanes: &mut SmallVec<[(u32, Reg); 2]>, lane: u32) -> Reg {
        if let Some((_, reg)) = lanes.iter().find(|(index, _)| *index == lane) {
            return *reg;
        }
        let reg = self.fresh(Class::B16);
        lanes.push((lane, reg));
        reg
    }

    fn has_effect(&self, data: &InstData) -> bool {
        match (data.op.row().effect, &data.payload) {
            (Effect::Pure, _) => false,
            (Effect::Memory | Effect::Callee, _) if data.op == Op::ALLOCA => false,
            (Effect::Callee, Payload::Callee(id)) => self.module.callee(*id).purity != Purity::Pure,
            (Effect::Callee, Payload::Asm(asm)) => !asm.is_pure(),
            _ => true,
        }
    }

    /// A new register.
    fn fresh(&mut self, class: Class) -> Reg {
        self.regs.push(class)
    }

    fn shape(&self, ty: Type) -> Result<super::shape::Shape, String> {
        shape(ty).ok_or_else(|| format!("PTX has no registers for {ty}"))
    }

    fn ty(&self, value: Value) -> Type {
        self.func.value(value).ty
    }

    /// Adds an instruction.
    fn push(&mut self, mnemonic: impl Into<Cow<'static, str>>, defs: &[Reg], uses: &[Operand]) {
        let mut operands = SmallVec::with_capacity(defs.len() + uses.len());
        defs.iter().for_each(|reg| operands.push(Operand::Reg(*reg)));
        uses.iter().for_each(|operand| operands.push(operand.clone()));
        self.push_operands(mnemonic, defs.len(), operands);
    }

    fn push_operands(
        &mut self,
        mnemonic: impl Into<Cow<'static, str>>,
        defs: usize,
        operands: SmallVec<[Operand; 4]>,
    ) {
        let location = self.location;
        self.out.push(MInst { text: Text::Plain(mnemonic.into()), defs, operands, location });
    }

    /// Adds a copy; of something that is no register, a move.
    fn copy(&mut self, to: Reg, from: Operand) {
        let location = self.location;
        let text = match from {
            Operand::Reg(_) => Text::Copy,
            _ => Text::Plain(self.regs[to].mov().into()),
        };
        let operands = SmallVec::from_iter([Operand::Reg(to), from]);
        self.out.push(MInst { text, defs: 1, operands, location });
    }

    /// Adds an instruction with a new register as its only result.
    fn temp(&mut self, mnemonic: impl Into<Cow<'static, str>>, class: Class, uses: &[Operand]) -> Operand {
        let reg = self.fresh(class);
        self.push(mnemonic, &[reg], uses);
        Operand::Reg(reg)
    }

    /// Loads the parameters that are used.
    fn params(&mut self) -> Vec<MInst> {
        let func = self.func;
        self.location = None;
        for (index, param) in func.params.iter().enumerate() {
            let value = llir::Value::from_u32(index as u32);
            if !self.is_wanted(value) {
                continue;
            }
            if let Err(message) = self.param(index, param, value) {
                self.fail(message);
            }
        }
        std::mem::take(&mut self.out)
    }

    fn param(&mut self, index: usize, param: &llir::Param, value: Value) -> Outcome {
        let before = self.out.len();
        self.unpack_lanes(value);
        let unpacking = self.out.split_off(before);
        let name = super::text::param_name(&self.func.name, index);
        if param.attributes.by_value > 0 {
            let reg = self.word(value, 0);
            let address = self.temp("mov.b64", Class::B64, &[Operand::Name(name.into())]);
            self.push("cvta.param.u64", &[reg], &[address]);
            return Ok(());
        }
        let shape = self.shape(param.ty)?;
        if shape.class == Class::Pred {
            let byte = self.param_read("ld.param.b8", Class::B16, &name, 0);
            let bit = self.temp("and.b16", Class::B16, &[byte, Operand::Int(1)]);
            let reg = self.word(value, 0);
            self.push("setp.ne.b16", &[reg], &[bit, Operand::Int(0)]);
            return Ok(());
        }
        let bits = if param.ty.is_vector() { shape.class.bits() } else { param.ty.lane_bits() };
        for (index, reg) in self.wanted_words(value) {
            let at = i64::from(index * bits / 8);
            let address = Operand::Address(super::machine::Base::Name(name.clone().into()), at);
            self.push(format!("ld.param.b{bits}"), &[reg], &[address]);
        }
        self.out.extend(unpacking);
        Ok(())
    }

    fn param_read(&mut self, mnemonic: &'static str, class: Class, name: &str, at: i64) -> Operand {
        let address = Operand::Address(super::machine::Base::Name(name.to_owned().into()), at);
        self.temp(mnemonic, class, &[address])
    }

    /// Whether a register of a value was asked for.
    fn is_wanted(&self, value: Value) -> bool {
        self.words_of(value).iter().any(PackedOption::is_some) || !self.lanes[value].is_empty()
    }

    /// The registers of a value that were asked for, with their numbers.
    fn wanted_words(&self, value: Value) -> SmallVec<[(u32, Reg); 4]> {
        let words = self.words_of(value).iter().enumerate();
        words.filter_map(|(index, word)| Some((index as u32, word.expand()?))).collect()
    }

    /// The registers of a value, those that were asked for; empty where none was.
    fn words_of(&self, value: Value) -> &[PackedOption<Reg>] {
        let (start, end) = self.word_places[value];
        &self.words[start as usize..end as usize]
    }

    /// Asks for a register of a value.
    fn word(&mut self, value: Value, index: u32) -> Reg {
        if let Some(reg) = self.words_of(value).get(index as usize).and_then(|word| word.expand()) {
            return reg;
        }
        let ty = self.ty(value);
        if self.word_places[value] == (0, 0) {
            let Some(count) = word_count(ty) else {
                self.fail(format!("PTX has no registers for {ty}"));
                return self.fresh(Class::B32);
            };
            let start = self.words.len();
            self.words.resize(start + count as usize, None.into());
            self.word_places[value] = (start as u32, self.words.len() as u32);
        }
        let (start, end) = self.word_places[value];
        let (Some(class), true) = (word_class(ty, index), index < end - start) else {
            self.fail(format!("PTX has no register {index} for {ty}"));
            return self.fresh(Class::B32);
        };
        let reg = self.fresh(class);
        self.words[(start + index) as usize] = reg.into();
        reg
    }

    /// Asks for all registers of a value.
    fn all_words(&mut self, value: Value) -> SmallVec<[Reg; 4]> {
        let Some(count) = word_count(self.ty(value)) else {
            self.fail(format!("PTX has no registers for {}", self.ty(value)));
            return SmallVec::new();
        };
        (0..count).map(|index| self.word(value, index)).collect()
    }

    /// The instruction that makes a value nobody else uses.
    fn only_use(&self, value: Value) -> Option<&'a InstData> {
        (self.uses[value] == 1).then(|| self.func.defining(value)).flatten()
    }
}

/// Whether a value is a constant integer, and which, sign extended.
fn as_int(func: &Function, value: Value) -> Option<i64> {
    let constant = func.constant(value)?;
    let width = constant.ty.lane_bits();
    if !constant.ty.is_int() || width > 64 || width == 0 {
        return None;
    }
    let bits = constant.splat_bits()? as u64;
    Some(((bits << (64 - width)) as i64) >> (64 - width))
}

/// Whether a value comes from an instruction of this kind.
fn is_op(func: &Function, value: Value, op: Op) -> bool {
    matches!(func.value(value).def, ValueDef::Inst(inst) if func.inst(inst).op == op)
}

/// Whether an instruction is a call or assembly.
fn is_callish(data: &InstData) -> bool {
    matches!(data.op.row().format, Format::Call | Format::CallIndirect | Format::Asm)
}

/// The number of a width among 16, 32, 64; 8 bits have 16-bit registers.
fn width_index(bits: u32) -> Result<usize, String> {
    Ok(match bits {
        64 => 2,
        32 => 1,
        8 | 16 => 0,
        _ => return Err(format!("PTX has no integers of {bits} bits")),
    })
}
