//! The loop nest of a group, made more than once where a test at run time lets one version be better.

use super::chunk::{Assumed, Chunks, Memo};
use super::emitter::Emitter;
use super::error::Result;
use super::nest::{Nest, Run};
use super::plan::{Group, Root};
use super::remainders::Remainders;
use super::scratch::Buffer;
use super::types;
use ir::{Op, Value as IrValue};
use llir::Value;
use ttir::ops::access::AccessOp;

impl Emitter<'_> {
    /// A loop nest for a group. From now on, values that its roots have written are read from memory.
    pub(crate) fn group(&mut self, group: &Group) -> Result<()> {
        self.walk(group)?;
        for root in &group.roots {
            match root {
                Root::Keep(value, buffer) => {
                    let is_turned = group.turned.contains(value);
                    let buffer = if is_turned { self.crossed(buffer, &group.shape)? } else { buffer.clone() };
                    self.buffers.insert(*value, buffer);
                }
                Root::KeepWide(value, buffer) => self.wide.insert((*value, buffer.elem), buffer.clone()),
                Root::Reduce(op, buffers) => self.place_results(*op, buffers),
                Root::Store(_) | Root::Effect(_) | Root::Scan(_) => {}
            }
        }
        Ok(())
    }

    /// Says that the results of an operation are in these buffers, as far as there are buffers.
    pub(crate) fn place_results(&mut self, op: Op, buffers: &[Buffer]) {
        for (&result, buffer) in self.module.results(op).iter().zip(buffers) {
            self.buffers.insert(result, buffer.clone());
        }
    }

    /// The loops of a group: with inverses of divisors, where they serve.
    pub(crate) fn walk(&mut self, group: &Group) -> Result<()> {
        self.passes.group += 1;
        let nest = self.nest_of(group);
        match self.quotients(group, &nest)? {
            Some(quotients) => self.one_of_two(
                quotients.serve,
                |cx| cx.walk_runs(group, nest.clone(), &quotients),
                |cx| cx.walk_whole(group, &nest),
            ),
            None => self.walk_whole(group, &nest),
        }
    }

    /// The same without a look at quotients.
    fn walk_whole(&mut self, group: &Group, nest: &Nest) -> Result<()> {
        let plain = Assumed::default();
        match self.inverses(group)? {
            None => self.walk_unwrapped(group, nest, &plain),
            Some((serve, inverses)) => self.one_of_two(
                serve,
                |cx| cx.walk_unwrapped(group, nest, &Assumed { inverses, ..Assumed::default() }),
                |cx| cx.run(group, nest.plain(), &plain),
            ),
        }
    }

    /// The same, without remainders where none wraps around.
    fn walk_unwrapped(&mut self, group: &Group, nest: &Nest, assumed: &Assumed) -> Result<()> {
        match self.remainders(group, nest, assumed)? {
            Remainders::None => self.walk_streaming(group, nest, assumed),
            Remainders::Unknown => self.run(group, nest.clone(), assumed),
            Remainders::Fitting(fit, no_wrap) => self.one_of_two(
                fit,
                |cx| cx.run(group, nest.clone(), &Assumed { no_wrap, ..assumed.clone() }),
                |cx| cx.run(group, nest.plain(), assumed),
            ),
        }
    }

    /// The same, past the caches where the launch writes more than they hold.
    fn walk_streaming(&mut self, group: &Group, nest: &Nest, assumed: &Assumed) -> Result<()> {
        let has_whole_quotients = self.rests_on_whole_quotients(group, nest.lanes);
        // A scan begins there as well.
        let begins_first = has_whole_quotients || group.scans();
        let Some((wanted, peel)) = self.wants_stream(group, nest, (assumed, begins_first))? else {
            return self.run(group, nest.clone(), assumed);
        };
        self.has_streams = true;
        let wider = if has_whole_quotients { nest.clone() } else { self.wider(group, nest) };
        let is_load = |op: &&Op| AccessOp::load(self.module, **op).is_some();
        let is_of_one_load = group.members.iter().filter(is_load).count() == 1;
        self.one_of_two(
            wanted,
            |cx| {
                cx.run(
                    group,
                    wider,
                    &Assumed { peel: Some(peel), begins_first, is_of_one_load, ..assumed.clone() },
                )
            },
            |cx| cx.run(group, nest.clone(), assumed),
        )
    }

    /// Two versions, of which a condition picks one.
    fn one_of_two(
        &mut self,
        condition: Value,
        first: impl FnOnce(&mut Self) -> Result<()>,
        second: impl FnOnce(&mut Self) -> Result<()>,
    ) -> Result<()> {
        let mut branch = self.b.begin_if(condition);
        first(self)?;
        self.b.begin_else(&mut branch, &[]);
        second(self)?;
        self.b.end_if(branch, &[]);
        Ok(())
    }

    fn run(&mut self, group: &Group, nest: Nest, assumed: &Assumed) -> Result<()> {
        let (mut memo, lanes) = (Memo::default(), nest.lanes);
        Chunks::new(self, &mut memo, assumed, lanes).walk_space(&Run::new(group, nest))
    }

    /// Writes a value to a buffer, which the value itself does not move to.
    pub(crate) fn copy_block(&mut self, value: IrValue, buffer: &Buffer) -> Result<()> {
        let root = Root::Keep(value, buffer.clone());
        self.write_block(value, root)
    }

    /// The same in the type that it is multiplied in.
    pub(crate) fn copy_wide(&mut self, value: IrValue, buffer: &Buffer) -> Result<()> {
        let root = Root::KeepWide(value, buffer.clone());
        self.write_block(value, root)
    }

    fn write_block(&mut self, value: IrValue, root: Root) -> Result<()> {
        let shape = types::shape(self.module.ty(value)).to_vec();
        self.walk(&Group { shape, roots: vec![root], ..Group::default() })
    }
}
