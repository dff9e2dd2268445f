//! The loops that pack and the calls of the kernels.

use super::super::dot::Starts;
use super::super::emitter::{Emitter, Place};
use super::super::error::Result;
use super::super::plan::{self, Root};
use super::super::scratch::{Buffer, Panels};
use super::super::types;
use super::keys::{self, Kept};
use super::slice::Slice;
use super::{DotLoop, InPlace, PanelDot, Side};
use crate::dot::Transpose;
use ir::{Block, Type as IrType, Value as IrValue};
use llir::{IntCompare, Op as Inst, Purity, Type, Value, intrinsics};
use rustc_hash::FxHashMap;
use ttir::ops::control::{self, ForOp};

/// The iterations that are packed at once.
struct Iterations {
    block: Block,
    /// The counters of the first and of the one behind the last.
    first: Value,
    end: Value,
    step: Value,
    /// What the loop carries into them: all its scalars, by their number.
    carried: FxHashMap<usize, Value>,
}

/// Panels that may be those of an earlier program, as it turns out at run time.
struct Lookup {
    /// Whether they must be packed.
    is_stale: Value,
    /// Whether the program before took the same.
    is_same: Value,
    /// Groups of elements from the place of all panels to those of the first block of iterations.
    first: Value,
    /// Groups from those of one block of iterations to the next.
    stride: Value,
    /// Whether panels are not kept, where that may be: no rows follow that would share what is not there yet.
    is_last: Option<Value>,
}

/// How the right operand of a dot is multiplied.
#[derive(Clone, Copy)]
enum Way<'a> {
    /// It is packed.
    Packed,
    /// Where it lies.
    InPlace(&'a InPlace),
    /// Where it lies if a condition holds.
    Either(&'a InPlace, Value),
}

impl Emitter<'_> {
    /// A loop that only adds dots.
    pub(crate) fn dot_loop(&mut self, of: ForOp<'_>, dot_loop: &DotLoop) -> Result<()> {
        let module = self.module;
        let (block, args, inits) = (of.body(), of.carried(), of.inits());
        let accumulators = self.buffers_for(args);
        let [start, end, step] = self.bounds_of(of)?;
        let starts = self.begin_sums(dot_loop, inits, &accumulators, (start, end))?;
        let ways: Vec<Way> = dot_loop.dots.iter().map(|dot| self.way_of(dot)).collect();
        let iterations = self.iterations_at_once(dot_loop, &ways);
        let stride = self.b.mul(step, iterations);
        let mut lookups = self.lookups(dot_loop, &ways, [start, end, stride])?;
        let place = Place { repeats: None, ..self.here() };
        let after = self.in_region(place, |cx| {
            let panels: Vec<[u64; 3]> =
                dot_loop.dots.iter().map(|dot| cx.panels_of(dot, dot_loop.in_place_iterations)).collect();
            for ((dot, lookups), &places) in dot_loop.dots.iter().zip(&mut lookups).zip(&panels) {
                if let [_, Some(lookup)] = lookups {
                    cx.pack_aside(dot, lookup, places);
                }
            }
            let blocks = (0..args.len()).filter(|&index| ttir::types::is_tensor(module.ty(args[index])));
            let places: FxHashMap<usize, &Buffer> = blocks.zip(&accumulators).collect();
            let mut first = cx.scalars_of(inits)?;
            first.push(cx.b.i64(0));
            let opened = cx.b.begin_for(start, end, stride, &first);
            let more = cx.b.add(opened.iv, stride);
            let until = cx.b.intrinsic(&intrinsics::SMIN, Type::I64, &[more, end]);
            let (&number, carried) = opened.carried.split_last().expect("the number of a block is carried");
            assert_eq!(dot_loop.moves.carried.len(), carried.len(), "all scalars are moved");
            let carried = dot_loop.moves.carried.iter().copied().zip(carried.iter().copied()).collect();
            let iterations = Iterations { block, first: opened.iv, end: until, step, carried };
            let (mut next, count) = cx.move_scalars(dot_loop, &iterations)?;
            let one = cx.b.i64(1);
            let before = cx.b.sub(count, one);
            let before = cx.b.mul(before, step);
            let last = cx.b.add(iterations.first, before);
            let dots = dot_loop.dots.iter().zip(&ways).zip(&lookups).zip(&panels);
            for (((dot, &way), lookups), packed) in dots {
                let c = &places[&dot.carried];
                let shift = cx.pack_shared((dot, 0), &iterations, packed[0], lookups[0].as_ref(), number)?;
                let branch = match way {
                    Way::Packed => None,
                    Way::InPlace(in_place) => {
                        cx.run_in_place((dot, in_place), dot_loop, &iterations, *packed, (shift, count), c)?;
                        continue;
                    }
                    Way::Either(in_place, is_only) => {
                        let mut branch = cx.b.begin_if(is_only);
                        cx.run_in_place((dot, in_place), dot_loop, &iterations, *packed, (shift, count), c)?;
                        cx.b.begin_else(&mut branch, &[]);
                        Some(branch)
                    }
                };
                let more = cx.pack_shared((dot, 1), &iterations, packed[1], lookups[1].as_ref(), number)?;
                let number = (starts == Starts::Zero).then_some(number);
                let steps = cx.steps_of(dot, (block, last), count)?;
                let [a, b, _] = *packed;
                cx.multiply_panels(dot, [a, b], ([shift, more], lookups), c, (steps, number))?;
                if let Some(branch) = branch {
                    cx.b.end_if(branch, &[]);
                }
            }
            next.push(cx.b.add(number, one));
            Ok(cx.b.end_for(opened, &next))
        })?;
        let results = module.results(of.op);
        self.bind(results, &after);
        self.place_in(results, &accumulators);
        Ok(())
    }

    /// How the right operand of a dot is multiplied.
    fn way_of<'a>(&mut self, dot: &'a PanelDot) -> Way<'a> {
        match &dot.in_place {
            None => Way::Packed,
            Some(in_place) if in_place.is_shared => Way::Either(in_place, self.is_only_block(dot)),
            Some(in_place) => Way::InPlace(in_place),
        }
    }

    /// How many iterations run at once.
    fn iterations_at_once(&mut self, dot_loop: &DotLoop, ways: &[Way<'_>]) -> Value {
        let [packed, in_place] = [dot_loop.iterations, dot_loop.in_place_iterations]
            .map(|iterations| self.b.i64(i64::from(iterations)));
        match ways {
            &[Way::Either(_, is_only)] => self.b.select(is_only, in_place, packed),
            _ => packed,
        }
    }

    /// Makes what the accumulators begin with. Zeros are not written where the first block of iterations begins at
    /// them; a loop without iterations has no such block.
    fn begin_sums(
        &mut self,
        dot_loop: &DotLoop,
        inits: &[IrValue],
        accumulators: &[Buffer],
        (start, end): (Value, Value),
    ) -> Result<Starts> {
        let module = self.module;
        let is_free = |&init: &IrValue| {
            !ttir::types::is_tensor(module.ty(init)) || super::super::operands::is_zero(module, init)
        };
        let has_kernel = |dot: &PanelDot| dot.plan.from_either().is_some() && dot.in_place.is_none();
        let has_kernels = dot_loop.dots.iter().all(has_kernel);
        if !has_kernels || !inits.iter().all(is_free) {
            self.fill(inits, accumulators)?;
            return Ok(Starts::Sums);
        }
        let is_empty = self.b.icmp(IntCompare::Sge, start, end);
        let branch = self.b.begin_if(is_empty);
        self.fill(inits, accumulators)?;
        self.b.end_if(branch, &[]);
        Ok(Starts::Zero)
    }

    /// Where the panels of a dot are, and what is not kept: panels, or the table of an operand that is multiplied where
    /// it lies.
    fn panels_of(&mut self, dot: &PanelDot, iterations: u32) -> [u64; 3] {
        let is_packed = dot.in_place.as_ref().is_none_or(|in_place| in_place.is_shared);
        let sizes = [dot.a_bytes(), if is_packed { dot.b_bytes() } else { 0 }];
        let place = |(side, bytes): (&Side, u64)| match &side.kept {
            Some(kept) => kept.panels,
            None => self.arena.bytes(bytes),
        };
        let mut places = dot.sides.iter().zip(sizes).map(place);
        let [a, b] = [(); 2].map(|()| places.next().expect("two operands"));
        let aside = match dot.in_place_bytes(iterations) {
            Some(bytes) => self.arena.bytes(bytes),
            None if dot.packs_aside() => self.arena.bytes(dot.b_bytes()),
            None => 0,
        };
        [a, b, aside]
    }

    /// Lets panels that are not kept go to a place of their own, the same for all blocks of iterations, which stays in
    /// a near cache.
    fn pack_aside(&mut self, dot: &PanelDot, lookup: &mut Lookup, [_, kept, aside]: [u64; 3]) {
        let Some(is_last) = lookup.is_last.filter(|_| dot.in_place.is_none()) else { return };
        let [first, stride] = [(aside - kept) / u64::from(dot.spec.operands.bytes()), 0]
            .map(|number| self.b.i64(number as i64));
        lookup.first = self.b.select(is_last, first, lookup.first);
        lookup.stride = self.b.select(is_last, stride, lookup.stride);
    }

    /// Looks whether the panels of earlier programs serve, and notes what those of this one are made of.
    fn lookups(
        &mut self,
        dot_loop: &DotLoop,
        ways: &[Way<'_>],
        [start, end, stride]: [Value; 3],
    ) -> Result<Vec<[Option<Lookup>; 2]>> {
        let length = self.b.sub(end, start);
        let one = self.b.i64(1);
        let last = self.b.sub(length, one);
        let more = self.b.add(last, stride);
        let blocks = self.b.sdiv(more, stride);
        let blocks = self.b.intrinsic(&intrinsics::SMAX, Type::I64, &[blocks, one]);
        let mut lookups = Vec::new();
        for (dot, way) in dot_loop.dots.iter().zip(ways) {
            let kept = dot.sides[1].kept.as_ref().filter(|_| dot.limits[0].is_some());
            let is_last = kept.map(|_| match *way {
                Way::Either(_, is_only) => is_only,
                _ => self.are_last_rows(dot),
            });
            let mut both =
                [(0, None), (1, is_last)].into_iter().map(|(index, looks)| match &dot.sides[index].kept {
                    Some(kept) => self.lookup(kept, dot.block_elements(index), (blocks, looks)).map(Some),
                    None => Ok(None),
                });
            let [a, b] = [(); 2].map(|()| both.next().expect("two operands"));
            lookups.push([a?, b?]);
        }
        Ok(lookups)
    }

    /// Looks for the panels of one operand: so many blocks of so many groups of elements. Where a condition is given
    /// and holds, it does no more than look.
    fn lookup(
        &mut self,
        kept: &Kept,
        elements: u64,
        (blocks, looks): (Value, Option<Value>),
    ) -> Result<Lookup> {
        let notes = self.b.i64(kept.notes as i64);
        let notes = self.b.offset(self.frame.scratch, notes);
        for (number, &key) in kept.keys.iter().enumerate() {
            let key = self.scalar(key)?;
            let key = self.as_bits(key);
            let at = self.b.i64((kept.sought() + 8 * number as u64) as i64);
            let place = self.b.offset(notes, at);
            self.b.store(key, place, 8);
        }
        let [sought, keys, room] =
            [kept.sought(), kept.keys.len() as u64, kept.blocks].map(|number| self.b.i64(number as i64));
        let slots = self.b.sdiv(room, blocks);
        let no = self.b.bool(false);
        let args = [notes, sought, keys, slots, blocks, looks.unwrap_or(no)];
        let found = self.call_text(&[keys::search()], keys::SEARCH, Type::I64, &args, Purity::Impure);
        let found = found.expect("a slot is answered");
        let (zero, all) = (self.b.i64(0), self.b.i64(-1));
        let is_stale = self.b.icmp(IntCompare::Slt, found, zero);
        let other = self.b.xor(found, all);
        let slot = self.b.select(is_stale, other, found);
        let last = self.b.i64(kept.last() as i64);
        let last = self.b.offset(notes, last);
        let before = self.b.load(Type::I64, last, 8);
        self.b.store(slot, last, 8);
        let is_same = self.b.icmp(IntCompare::Eq, before, slot);
        let has_room = self.b.icmp(IntCompare::Sgt, slots, zero);
        let elements = self.b.i64(elements as i64);
        let stride = self.b.select(has_room, elements, zero);
        let first = self.b.mul(slot, blocks);
        let first = self.b.mul(first, stride);
        let is_last = looks.map(|looks| self.b.and(looks, is_stale));
        Ok(Lookup { is_stale, is_same, first, stride, is_last })
    }

    /// A scalar as 64 bits.
    pub(super) fn as_bits(&mut self, value: Value) -> Value {
        let ty = self.b.ty(value);
        let bits = match ty.is_ptr() {
            true => return self.b.cast(Inst::PTRTOINT, value, Type::I64),
            false if ty.is_int() => value,
            false => self.b.bitcast(value, ty.as_int()),
        };
        self.b.resize_unsigned(bits, Type::I64)
    }

    /// Moves the scalars that the loop carries over a block of iterations; answers all of them in their order, and how
    /// many iterations there are.
    fn move_scalars(&mut self, dot_loop: &DotLoop, iterations: &Iterations) -> Result<(Vec<Value>, Value)> {
        self.each_iteration(&dot_loop.moves, iterations, (1, self.here()), |cx, _| {
            let plan = plan::slice(cx.planning(), iterations.block, &dot_loop.moves.ops, None);
            cx.run_plan(&plan, |_, _| Ok(false))
        })
    }

    /// Multiplies a block of iterations whose right operand is not packed.
    fn run_in_place(
        &mut self,
        (dot, in_place): (&PanelDot, &InPlace),
        dot_loop: &DotLoop,
        iterations: &Iterations,
        [a, _, table]: [u64; 3],
        (shift, count): (Option<Value>, Value),
        c: &Buffer,
    ) -> Result<()> {
        let packing = Place { is_packing: true, ..self.here() };
        let step = dot.spec.step;
        self.each_iteration(&dot.sides[1].slice, iterations, (step, packing), |cx, done| {
            let at_once = dot_loop.in_place_iterations;
            cx.table_iteration((dot, in_place), iterations.block, (table, at_once), done)
        })?;
        self.multiply_in_place((dot, in_place), [a, table], shift, c, count)
    }

    /// Packs an operand, unless an earlier program has; answers where its panels are, in groups of elements behind
    /// their place.
    fn pack_shared(
        &mut self,
        (dot, index): (&PanelDot, usize),
        iterations: &Iterations,
        place: u64,
        lookup: Option<&Lookup>,
        number: Value,
    ) -> Result<Option<Value>> {
        let Some(&Lookup { is_stale, first, stride, .. }) = lookup else {
            self.pack((dot, index), iterations, (place, None))?;
            return Ok(None);
        };
        let shift = self.b.mul(number, stride);
        let shift = self.b.add(first, shift);
        let branch = self.b.begin_if(is_stale);
        self.pack((dot, index), iterations, (place, Some(shift)))?;
        self.b.end_if(branch, &[]);
        Ok(Some(shift))
    }

    /// Packs one operand of a block of iterations.
    fn pack(
        &mut self,
        (dot, index): (&PanelDot, usize),
        iterations: &Iterations,
        (place, shift): (u64, Option<Value>),
    ) -> Result<()> {
        let side = &dot.sides[index];
        let packing = Place { is_packing: true, ..self.here() };
        self.each_iteration(&side.slice, iterations, (dot.spec.step, packing), |cx, done| {
            cx.pack_iteration(dot, side, index, iterations.block, (place, shift, done))
        })?;
        Ok(())
    }

    /// Emits part of the loop body for each iteration of a block, given the steps of `k` before it. Returns the scalars
    /// of the slice behind the block, in the order of `slice.carried`, and the steps of `k` in all.
    fn each_iteration(
        &mut self,
        slice: &Slice,
        iterations: &Iterations,
        (step, place): (u32, Place),
        run: impl FnOnce(&mut Self, Value) -> Result<()>,
    ) -> Result<(Vec<Value>, Value)> {
        let module = self.module;
        let args = &module.args(iterations.block)[1..];
        let carried = &slice.carried;
        let mut inits: Vec<Value> = carried.iter().map(|index| iterations.carried[index]).collect();
        inits.push(self.b.i64(0));
        let opened = self.b.begin_for(iterations.first, iterations.end, iterations.step, &inits);
        let counter = module.args(iterations.block)[0];
        let narrow = types::register(module.ty(counter));
        let counted = self.b.resize_signed(opened.iv, narrow);
        let done = opened.carried.last().copied().expect("the steps of k are carried");
        let next = self.in_region(place.in_loop(None), |cx| {
            cx.scalars.insert(counter, counted);
            for (&index, &value) in carried.iter().zip(&opened.carried) {
                cx.scalars.insert(args[index], value);
            }
            run(cx, done)?;
            let yields = control::yielded(module, iterations.block);
            let mut next: Vec<Value> =
                carried.iter().map(|&index| cx.scalar(yields[index])).collect::<Result<_>>()?;
            let step = cx.b.i64(i64::from(step));
            next.push(cx.b.add(done, step));
            Ok(next)
        })?;
        let mut after = self.b.end_for(opened, &next);
        let count = after.pop().expect("the steps of k are carried");
        Ok((after.to_vec(), count))
    }

    /// Packs one operand of one iteration, behind so many steps of `k`.
    fn pack_iteration(
        &mut self,
        dot: &PanelDot,
        side: &Side,
        index: usize,
        block: Block,
        (place, shift, done): (u64, Option<Value>, Value),
    ) -> Result<()> {
        let (source, is_turned) = super::super::operands::source(self.module, side.operand);
        let width = i64::from(dot.plan.panel_width());
        let by = if index == 0 {
            done
        } else {
            let width = self.b.i64(width);
            self.b.mul(done, width)
        };
        let by = match shift {
            Some(shift) => self.b.add(by, shift),
            None => by,
        };
        let group = self.b.i64(dot.group());
        let by = self.b.mul(by, group);
        let target = target(dot, index, is_turned, (place, by));
        let mut plan = plan::slice(self.planning(), block, &side.slice.ops, Some((source, target.clone())));
        let turned = self.detour(&mut plan, source, &target);
        // What an earlier iteration or the code around has of it is not what is packed now.
        self.wide.remove(&(source, dot.elem));
        self.run_plan(&plan, |_, _| Ok(false))?;
        match turned {
            Some(temporary) => self.turn_into(dot, index, &temporary, &target),
            None if index == 1 && dot.group() > 1 => {
                let (interleave, at) = (dot.plan.interleave()?, self.address(&target));
                let symbol = interleave.symbol.clone();
                self.call_text(&[interleave], &symbol, Type::VOID, &[at], Purity::Impure);
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Where the elements of an operand come in the other order than they are packed in, they go to memory of their own
    /// first, to be turned as a whole.
    fn detour(&mut self, plan: &mut plan::RegionPlan, source: IrValue, target: &Buffer) -> Option<Buffer> {
        let shape = types::shape(self.module.ty(source));
        for step in &mut plan.steps {
            let plan::RegionStep::Group(group) = step else { continue };
            let along = group.along.unwrap_or(1);
            for root in &mut group.roots {
                let Root::KeepWide(value, buffer) = root else { continue };
                if *value != source || buffer.strides[along] == 1 {
                    continue;
                }
                let across = 1 - along;
                let own = self.arena.block(&[shape[across], shape[along]], target.elem);
                let mut strides = vec![1; 2];
                strides[across] = own.strides[0];
                *buffer = Buffer { strides, ..own };
                return Some(buffer.clone());
            }
        }
        None
    }

    /// Transposes an operand from memory of its own into its panels.
    fn turn_into(&mut self, dot: &PanelDot, index: usize, from: &Buffer, to: &Buffer) -> Result<()> {
        let spec = &dot.spec;
        let (rows, columns, row_stride, count) = match index {
            0 => (spec.step, spec.m, spec.a_row_stride, 1),
            _ => {
                let width = dot.plan.panel_width();
                (width, spec.step, width, spec.n / width)
            }
        };
        let transpose = Transpose {
            rows,
            columns,
            element_bytes: spec.operands.bytes(),
            to_row_stride: row_stride,
            vector_bytes: self.machine.vector_bytes,
        };
        let definition = transpose.definition()?;
        let (source, from_stride) = self.grouped(dot, index, from)?;
        let (lane, target) = (dot.unit(), self.address(to));
        let stride = self.b.i64(from_stride);
        let [zero, one, end] = [0, 1, i64::from(count)].map(|number| self.b.i64(number));
        let opened = self.b.begin_for(zero, end, one, &[]);
        let from_panel = self.b.i64(from_stride * i64::from(rows));
        let to_panel = self.b.i64(i64::from(dot.plan.panel_stride()));
        let [source, target] = [(source, from_panel), (target, to_panel)].map(|(base, each)| {
            let offset = self.b.mul(opened.iv, each);
            self.b.gep(lane, base, offset)
        });
        let args = [source, stride, target];
        self.call_text(&[definition], &transpose.symbol(), Type::VOID, &args, Purity::Impure);
        self.b.end_for(opened, &[]);
        Ok(())
    }

    /// A matrix that is to be turned, as groups of elements that lie side by side, and the groups from one of its rows
    /// to the next. The rows of a `B` hold such groups already, those of an `A` lie across them.
    fn grouped(&mut self, dot: &PanelDot, index: usize, from: &Buffer) -> Result<(Value, i64)> {
        let stride = from.strides.iter().copied().max().expect("two dimensions");
        let source = self.address(from);
        if dot.group() == 1 || index == 1 {
            return Ok((source, stride / dot.group()));
        }
        let spec = &dot.spec;
        let groups = self.arena.block(&[i64::from(spec.step), i64::from(spec.m)], IrType::int(32));
        let rows = spec.step * spec.operands.group();
        let target = self.interleave(spec.operands, [rows, spec.m], (source, stride), &groups)?;
        Ok((target, groups.strides[0]))
    }

    /// Multiplies what is packed. The block of iterations that is numbered zero begins at zero, where it is said which
    /// one this is.
    fn multiply_panels(
        &mut self,
        dot: &PanelDot,
        [a, b]: [u64; 2],
        (shifts, lookups): ([Option<Value>; 2], &[Option<Lookup>; 2]),
        c: &Buffer,
        (steps, from_zero): (Value, Option<Value>),
    ) -> Result<()> {
        let spec = crate::dot::PanelSpec { c_row_stride: c.strides[0] as u32, ..dot.spec };
        let plan = crate::dot::PanelPlan::choose(&spec)?;
        let sizes = [(spec.m, spec.used[0]), (spec.n, spec.used[1])];
        let mut seen = dot.limits.iter().zip(sizes).map(|(mask, (size, used))| {
            let seen = mask.filter(|_| used == size).and_then(|mask| self.seen(mask, size));
            (seen, i64::from(used))
        });
        let seen = [(); 2].map(|()| seen.next().expect("rows and columns"));
        let is_part = seen.iter().any(|(seen, _)| seen.is_some());
        let plan = if is_part { plan.of_a_part() } else { plan };
        let plan = match from_zero {
            Some(_) => plan.from_either().expect("asked for before"),
            None => plan,
        };
        let [a, b] = [(a, shifts[0]), (b, shifts[1])].map(|(place, shift)| {
            let place = self.b.i64(place as i64);
            let start = self.b.offset(self.frame.scratch, place);
            shift.map_or(start, |shift| self.b.gep(dot.unit(), start, shift))
        });
        let c = self.address(c);
        let mut args = vec![a, b, c, steps];
        if is_part {
            args.extend(seen.map(|(seen, all)| seen.unwrap_or_else(|| self.b.i64(all))));
        }
        if let Some(number) = from_zero {
            let first = self.b.i64(0);
            args.push(self.b.icmp(IntCompare::Eq, number, first));
        }
        if plan.has_orders() {
            args.push(self.is_a_further_away(lookups));
        }
        self.call_text(&plan.definitions(), &plan.symbol(), Type::VOID, &args, Purity::Impure);
        Ok(())
    }

    /// Whether `B` is what the program before multiplied by, and `A` is not: what is packed now, or was just read, is
    /// in a near cache.
    fn is_a_further_away(&mut self, lookups: &[Option<Lookup>; 2]) -> Value {
        let [Some(a), Some(b)] = lookups else { return self.b.bool(false) };
        let differs = self.b.not(a.is_same);
        self.b.and(b.is_same, differs)
    }
}

/// The panels of an operand as the memory of its source, `by` elements behind their place.
fn target(dot: &PanelDot, index: usize, is_turned: bool, (offset, by): (u64, Value)) -> Buffer {
    let width = i64::from(dot.plan.panel_width());
    let row = if index == 0 { i64::from(dot.spec.a_row_stride) * dot.group() } else { width };
    let (strides, dim) = if is_turned { (vec![1, row], 0) } else { (vec![row, 1], 1) };
    let stride = i64::from(dot.plan.panel_stride()) * dot.group();
    let panels = (index == 1).then_some(Panels { dim, width, stride });
    Buffer { offset, strides, elem: dot.elem, by: Some(by), panels }
}
