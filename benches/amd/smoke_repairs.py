"""Faults of tinygrad's emulator that `smoke.py` repairs before it runs anything: each a piece of its source, what stands in its place, and
where that is written. A piece that is not found (another version of the emulator) is said and left out.
"""

import importlib.util
import sys
from pathlib import Path

#: The module of the emulator.
MODULE = "test.mockgpu.amd.emu"

#: What is repaired, the piece, and what takes its place. CDNA 3 and RDNA 3 name the ISA manuals.
REPAIRS = (
    ("rows of 32x32 matrix instructions: 8 (item / 4) + 4 (lane / 32) + item mod 4 (CDNA 3, 7.1.4.2)",
     "m_base = c_grp * UOp.const(16, dtypes.int) + UOp.const((out_reg // 4) * 4 + out_reg % 4, dtypes.int)",
     "m_base = c_grp * UOp.const(4, dtypes.int) + UOp.const((out_reg // 4) * 8 + out_reg % 4, dtypes.int)"),
    ("numbers of 8 bits have the type of the memory that they are put into",
     "return (byte.cast(dtypes.int32) ^ UOp.const(0x80, dtypes.int32)) - UOp.const(0x80, dtypes.int32)\n    if is_f32_src",
     "return ((byte.cast(dtypes.int32) ^ UOp.const(0x80, dtypes.int32)) - UOp.const(0x80, dtypes.int32)).bitcast(dtypes.uint32)\n"
     "    if is_f32_src"),
    ("DPP reads all lanes before it writes one (CDNA 3, 4.9.2)",
     "  swizzled = ctx.rvgpr_dyn(ctx.inst_field(type(inst).vsrc0), safe_src_lane)\n",
     """  register = ctx.inst_field(type(inst).vsrc0)
  if copies:
    copy = UOp.placeholder((ctx.wave_size,), dtypes.uint32, slot=0, addrspace=AddrSpace.LOCAL)
    each = ctx.range()
    copied = UOp.group(copy.index(each).store(ctx.rvgpr_dyn(register, each))).end(each)
    swizzled = copy.after(copied).index(safe_src_lane).load()
  else: swizzled = ctx.rvgpr_dyn(register, safe_src_lane)
"""),
    ("the same: who asks for it",
     "def _load_dpp16_src0(ctx: _Ctx, inst, lane: UOp, fallback: UOp) -> UOp:",
     "def _load_dpp16_src0(ctx: _Ctx, inst, lane: UOp, fallback: UOp, copies: bool = False) -> UOp:"),
    ("the same: who asks for it",
     "s0 = _load_dpp16_src0(ctx, inst, lane, fallback)\n",
     "s0 = _load_dpp16_src0(ctx, inst, lane, fallback, copies=True)\n"),
    ("rows that read the last lane of the row in front (CDNA 3, 4.9.2); row_share and row_xmask (RDNA 3, 3.4.1)",
     "    elif op == 'row_bcast': src_lane = row_base\n",
     """    elif op == 'row_bcast' and arg == 15: src_lane, valid = row_base - _c(1, dtypes.int), lane_i >= _c(16, dtypes.int)
    elif op == 'row_bcast': src_lane, valid = lane_i * _c(0, dtypes.int) + _c(31, dtypes.int), lane_i >= _c(32, dtypes.int)
    elif op == 'row_newbcast': src_lane = row_base + _c(arg, dtypes.int)
    elif op == 'row_share': src_lane = row_base + (lane_in_row ^ _c(arg, dtypes.int))
"""),
    ("buffer loads of less than four bytes (CDNA 3, 9.1.2)",
     "      val = in_bounds.where(mem.index(word_addr.cast(dtypes.int64).valid(in_bounds)).load(), _c(0))\n      stores.append((ctx.wacc",
     """      val = in_bounds.where(mem.index(word_addr.cast(dtypes.int64).valid(in_bounds)).load(), _c(0))
      if narrow:
        val = (val >> ((addr & UOp.const(3, dtypes.uint64)).cast(dtypes.uint32) * _c(8))) & _c((1 << narrow) - 1)
        if signed: val = (val ^ _c(1 << (narrow - 1))) - _c(1 << (narrow - 1))
      stores.append((ctx.wacc"""),
    ("buffer stores of less than four bytes",
     "      stores.append(idx.store(in_bounds.where(_to_u32(val), idx)))\n",
     """      val = _to_u32(val)
      if narrow:
        shift = (addr & UOp.const(3, dtypes.uint64)).cast(dtypes.uint32) * _c(8)
        mask = _c((1 << narrow) - 1) << shift
        val = (idx.load() & (mask ^ _c(0xFFFFFFFF))) | ((val << shift) & mask)
      stores.append(idx.store(in_bounds.where(val, idx)))
"""),
    ("the same: how many bits; buffer atomics and halves of registers are not known",
     "  n_dwords = 4 if 'X4' in op_name else 2 if 'X2' in op_name else 1\n\n  # instruction fields\n",
     """  n_dwords = 4 if 'X4' in op_name else 3 if 'X3' in op_name else 2 if 'X2' in op_name else 1
  narrow = 8 if 'BYTE' in op_name else 16 if 'SHORT' in op_name else 0
  signed = 'SBYTE' in op_name or 'SSHORT' in op_name
  if any(word in op_name for word in ('ATOMIC', 'D16', 'FORMAT')): raise NotImplementedError(f"{op_name} not implemented in emulator")

  # instruction fields
"""),
)


def emulator(checkout):
    """The emulator of a clone as a module, repaired, and the repairs that found no place."""
    path = Path(checkout) / "test" / "mockgpu" / "amd" / "emu.py"
    text, missing = path.read_text(), []
    for what, piece, repaired in REPAIRS:
        if text.count(piece) == 1:
            text = text.replace(piece, repaired)
        else:
            missing.append(what)
    spec = importlib.util.spec_from_file_location(MODULE, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE] = module
    exec(compile(text, str(path), "exec"), vars(module))
    return module, missing
