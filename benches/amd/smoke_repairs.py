"""Faults of tinygrad's emulator that `smoke.py` repairs before it runs anything: each a piece of its source, what stands in its place, and
where that is written. A piece that is not found (in another version of the emulator) is left out, and ``smoke.py`` says which.
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
    ("permlane16 and permlanex16: half of the selectors are the third operand, which may be a literal (RDNA 3, 16.12)",
     "    return ctx.compile_lane_pcode(inst.op, inst)\n\n   # VOP3 VOPC",
     """    copy = UOp.placeholder((ctx.wave_size,), dtypes.uint32, slot=0, addrspace=AddrSpace.LOCAL)
    each, lane = ctx.range(), ctx.range()
    register = ctx.inst_field(type(inst).src0) - _c(256)
    copied = UOp.group(copy.index(each).store(ctx.rvgpr_dyn(register, each))).end(each)
    literal = ctx.optional_field(inst, 'literal')
    fields = (type(inst).src1, type(inst).src2)
    words = [ctx.rsrc_dyn(ctx.inst_field(field), _c(0, dtypes.int), literal=literal) for field in fields]
    in_row, row = lane & _c(15, dtypes.int), lane & _c(~15, dtypes.int)
    if 'PERMLANEX16' in op_name: row = row ^ _c(16, dtypes.int)
    word = (in_row < _c(8, dtypes.int)).where(*words)
    chosen = (word >> ((in_row & _c(7, dtypes.int)) * _c(4, dtypes.int)).cast(dtypes.uint32)) & _c(15)
    value = copy.after(copied).index(row + chosen.cast(dtypes.int)).load()
    return UOp.sink(ctx.wvgpr_dyn(ctx.inst_field(type(inst).vdst), lane, value, exec_mask).end(lane), *ctx.inc_pc())

   # VOP3 VOPC"""),
    ("sums of WMMA that begin at a constant",
     "  src2_r = (src2_r >= 256).where(src2_r - _c(256), src2_r)\n",
     """  has_sum = src2_r >= _c(256)
  start = ctx.rsgpr_dyn(src2_r, has_sum.ne(True))
  src2_r = has_sum.where(src2_r - _c(256), _c(0))
"""),
    ("the same: where the sum is read",
     "    mat_c = [ctx.rvgpr_dyn(src2_r + _c(vgpr), UOp.const(lane, dtypes.int)).bitcast(out_dt)\n",
     "    mat_c = [has_sum.where(ctx.rvgpr_dyn(src2_r + _c(vgpr), UOp.const(lane, dtypes.int)), start).bitcast(out_dt)\n"),
    ("caches are coherent here: `buffer_gl0_inv` and `buffer_gl1_inv` are no operations",
     "  inst = decode_inst(inst_bytes, arch)\n  try: return _get_runner",
     """  if arch == "rdna3" and int.from_bytes(inst_bytes[:4], "little") >> 18 in (0xe0ac0000 >> 18, 0xe0b00000 >> 18):
    inst_bytes = ir3.v_nop_e64().to_bytes() + inst_bytes[8:]
  inst = decode_inst(inst_bytes, arch)
  try: return _get_runner"""),
    ("LDS loads into a half of a register keep the other half (RDNA 3, 16.14)",
     "        bit_width, dword_idx = int(m.group(1)) - int(m.group(2)) + 1, int(m.group(2)) // 32\n",
     """        bit_width, dword_idx = int(m.group(1)) - int(m.group(2)) + 1, int(m.group(2)) // 32
        if 'D16' in op_name and bit_width == 16:
          low, kept = int(m.group(2)), ctx.rvgpr_dyn(vdst_reg, lane) & _c(0xFFFF0000 >> int(m.group(2)))
          val, bit_width = ((_to_u32(val) & _c(0xFFFF)) << _c(low)) | kept, 32
"""),
    ("both halves of a VOPD instruction read before one writes (RDNA 3, 7.6)",
     "  srcy0, srcy1 = ctx.rsrc_dyn(srcy0_off, lane, literal=literal), ctx.rvgpr_dyn(vsrcy1_reg, lane)\n",
     """  srcy0, srcy1 = ctx.rsrc_dyn(srcy0_off, lane, literal=literal), ctx.rvgpr_dyn(vsrcy1_reg, lane)
  srcx0, srcx1 = ctx.rsrc_dyn(srcx0_off, lane, literal=literal), ctx.rvgpr_dyn(vsrcx1_reg, lane)
  reads = (srcx0, srcx1, srcy0, srcy1, ctx.rvgpr_dyn(vdstx_reg, lane), ctx.rvgpr_dyn(vdsty_reg, lane))
"""),
    ("the same: where one writes",
     "_val_to_u32(val), exec_mask, after=srcy1))\n",
     "_val_to_u32(val), exec_mask, after=reads))\n"),
    ("the same: what writes come behind",
     "    buf = self.vgpr.after(after) if after is not None else self.vgpr\n",
     "    buf = self.vgpr if after is None else self.vgpr.after(*after) if isinstance(after, tuple) else self.vgpr.after(after)\n"),
    ("each wave has private memory of its own (RDNA 3, 12.3)",
     "Buffer('CPU', scratch_size * wave_size, dtypes.uint8)",
     "Buffer('CPU', scratch_size * (total_threads + wave_size), dtypes.uint8)"),
    ("the same: where it begins",
     "scratch_buf._buf.va_addr if scratch_buf else 0",
     "scratch_buf._buf.va_addr + wave_start * scratch_size if scratch_buf else 0"),
    ("the same: `global_inv` and `global_wb`; ds_swizzle, whose lanes are chosen by bits (CDNA 3, 11.3)",
     "  sink = handler(inst, ctx)\n",
     """  name = _op_name(inst)
  if any(word in name for word in ('GLOBAL_INV', 'GLOBAL_WB', 'V_NOP')): sink = UOp.sink(*ctx.inc_pc())
  elif 'DS_SWIZZLE' in name: sink = _compile_swizzle(inst, ctx)
  else: sink = handler(inst, ctx)
"""),
    ("the same: the lanes",
     "def _get_runner(",
     """def _compile_swizzle(inst, ctx: _Ctx) -> UOp:
  if int(inst.offset1) >= 128: raise NotImplementedError("ds_swizzle of four lanes")
  copy = UOp.placeholder((ctx.wave_size,), dtypes.uint32, slot=0, addrspace=AddrSpace.LOCAL)
  each, lane, exec_mask = ctx.range(), ctx.range(), ctx.rexec()
  register = ctx.inst_field(type(inst).addr)
  copied = UOp.group(copy.index(each).store(ctx.rvgpr_dyn(register, each))).end(each)
  word = (ctx.inst_field(type(inst).offset0) | (ctx.inst_field(type(inst).offset1) << _c(8))).cast(dtypes.int)
  kept, given, turned = [(word >> _c(at, dtypes.int)) & _c(31, dtypes.int) for at in (0, 5, 10)]
  source = (lane & _c(~31, dtypes.int)) | (((lane & kept) | given) ^ turned)
  value = copy.after(copied).index(source).load()
  return UOp.sink(ctx.wvgpr_dyn(ctx.inst_field(type(inst).vdst), lane, value, exec_mask).end(lane), *ctx.inc_pc())

def _get_runner("""),
    ("buffer loads of less than four bytes (CDNA 3, 9.1.2)",
     "      val = in_bounds.where(mem.index(word_addr.cast(dtypes.int64).valid(in_bounds)).load(), _c(0))\n      stores.append((ctx.wacc",
     """      val = in_bounds.where(mem.index(word_addr.cast(dtypes.int64).valid(in_bounds)).load(), _c(0))
      if narrow:
        val = (val >> ((addr & UOp.const(3, dtypes.uint64)).cast(dtypes.uint32) * _c(8))) & _c((1 << narrow) - 1)
        if signed: val = (val ^ _c(1 << (narrow - 1))) - _c(1 << (narrow - 1))
      stores.append((ctx.wacc"""),
    ("buffer stores of less than four bytes",
     "      stores.append(idx.store(in_bounds.where(_to_u32(val), idx)))\n",
     """      val = _to_u32(val) + idx.load() if adds else _to_u32(val)
      if narrow:
        shift = (addr & UOp.const(3, dtypes.uint64)).cast(dtypes.uint32) * _c(8)
        mask = _c((1 << narrow) - 1) << shift
        val = (idx.load() & (mask ^ _c(0xFFFFFFFF))) | ((val << shift) & mask)
      stores.append(idx.store(in_bounds.where(val, idx)))
"""),
    ("the same: how many bits; sums in memory (CDNA 3, 9.1.9); other buffer atomics and halves of registers are not known",
     "  n_dwords = 4 if 'X4' in op_name else 2 if 'X2' in op_name else 1\n\n  # instruction fields\n",
     """  n_dwords = 4 if 'X4' in op_name else 3 if 'X3' in op_name else 2 if 'X2' in op_name else 1
  narrow = 8 if 'BYTE' in op_name else 16 if 'SHORT' in op_name else 0
  signed = 'SBYTE' in op_name or 'SSHORT' in op_name
  if 'WBL2' in op_name or op_name == 'BUFFER_INV': return UOp.sink(*ctx.inc_pc())
  adds = op_name == 'BUFFER_ATOMIC_ADD' and not _iattr(inst, 'sc0') and not _iattr(inst, 'glc')
  is_store = is_store or adds
  unknown = not adds and any(word in op_name for word in ('ATOMIC', 'D16', 'FORMAT'))
  if unknown: raise NotImplementedError(f"{op_name} not implemented in emulator")

  # instruction fields
"""),
)


def source(checkout):
    """The file of the emulator in a clone, its text with the repairs, and the repairs that found no place."""
    path = Path(checkout) / "test" / "mockgpu" / "amd" / "emu.py"
    text, missing = path.read_text(), []
    for what, piece, repaired in REPAIRS:
        if text.count(piece) == 1:
            text = text.replace(piece, repaired)
        else:
            missing.append(what)
    return path, text, missing


def emulator(checkout):
    """The emulator of a clone as a module, repaired."""
    path, text, _ = source(checkout)
    spec = importlib.util.spec_from_file_location(MODULE, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE] = module
    exec(compile(text, str(path), "exec"), vars(module))
    return module
