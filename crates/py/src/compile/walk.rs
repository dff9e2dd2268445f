//! The operations of a kernel, for Python code that walks them.

use super::ahead_of_time::{Given, specs};
use super::build::run;
use crate::devices::options::options_of;
use crate::devices::targets::target_of;
use crate::errors::OrRaise;
use crate::kernel::function::JitFunction;
use crate::kernel::value::Registry;
use ::ttir::ops::constant::splat_bits;
use ir::text::PrintOptions;
use ir::{Attr, Block, Module, Op, Value};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::{Bound, PyAny, PyResult, Python, pyclass, pyfunction, pymethods};
use pyo3::types::{PyAnyMethods, PyDict};

/// A kernel in the stage `ttir`, or in `ttgir` where a file has that.
#[pyclass(module = "deuteron._core", frozen)]
pub(crate) struct Ttir {
    module: Module,
}

/// One operation: name, operands, results, regions, block, attributes.
type Row<'py> = (&'static str, Vec<u32>, Vec<u32>, Vec<u32>, Option<u32>, Bound<'py, PyDict>);

/// Operations, then by number: each block's arguments and region, each region's blocks, each value's type.
type Contents<'py> = (Vec<Row<'py>>, Bound<'py, PyDict>, Bound<'py, PyDict>, Bound<'py, PyDict>);

/// Brings a kernel as far as `ttir`, with the signature of an `ASTSource`; where `stage` is `source`, no further than
/// the front end.
#[pyfunction]
#[pyo3(signature = (function, signature, constexprs, attrs, target, options, stage="ttir"))]
pub(crate) fn ttir(
    function: &Bound<'_, JitFunction>,
    signature: &Bound<'_, PyDict>,
    constexprs: &Bound<'_, PyDict>,
    attrs: &Bound<'_, PyDict>,
    target: &Bound<'_, PyAny>,
    options: &Bound<'_, PyDict>,
    stage: &str,
) -> PyResult<Ttir> {
    let py = function.py();
    let compile = match stage {
        "ttir" => runtime::compile::to_ttir,
        "source" => runtime::compile::to_source,
        _ => return Err(PyValueError::new_err(format!("`{stage}` is not `source` or `ttir`"))),
    };
    let target = target_of(py, Some(target))?;
    let options = runtime::options::parse(target.as_ref(), &options_of(Some(options))?).or_raise(py)?;
    let registry = Registry::default();
    let args =
        specs(function, &Given { signature, constexprs: Some(constexprs), attrs: Some(attrs) }, &registry)?;
    let (module, _) = run(function, args, options, target, registry, compile)?;
    Ok(Ttir { module })
}

/// Reads the text of a stage. `file` is for messages.
#[pyfunction]
pub(crate) fn parse_module(py: Python<'_>, text: &str, file: &str) -> PyResult<Ttir> {
    let module = runtime::compile::parse_module(text, file).or_raise(py)?;
    Ok(Ttir { module })
}

#[pymethods]
impl Ttir {
    /// The text.
    #[getter]
    fn text(&self) -> String {
        ir::text::print(&self.module, PrintOptions::default())
    }

    /// The text without places in the source.
    #[getter]
    fn plain_text(&self) -> String {
        ir::text::print(&self.module, PrintOptions::PLAIN)
    }

    /// Everything that is in it, operations of a region before the one that owns the region.
    fn contents<'py>(&self, py: Python<'py>) -> PyResult<Contents<'py>> {
        let mut walk = Walk {
            module: &self.module,
            rows: Vec::with_capacity(self.module.num_ops()),
            blocks: PyDict::new(py),
            regions: PyDict::new(py),
            types: PyDict::new(py),
        };
        walk.op(self.module.top())?;
        Ok((walk.rows, walk.blocks, walk.regions, walk.types))
    }
}

/// Collects what is below an operation.
struct Walk<'a, 'py> {
    module: &'a Module,
    rows: Vec<Row<'py>>,
    blocks: Bound<'py, PyDict>,
    regions: Bound<'py, PyDict>,
    types: Bound<'py, PyDict>,
}

impl<'py> Walk<'_, 'py> {
    fn op(&mut self, op: Op) -> PyResult<()> {
        let module = self.module;
        for &region in module.regions(op) {
            let blocks = module.blocks(region);
            self.regions.set_item(region.as_u32(), numbers(blocks, Block::as_u32))?;
            for &block in blocks {
                let args = numbers(self.typed(module.args(block))?, Value::as_u32);
                self.blocks.set_item(block.as_u32(), (args, region.as_u32()))?;
                for inner in module.ops(block) {
                    self.op(inner)?;
                }
            }
        }
        let operands = numbers(module.operands(op), Value::as_u32);
        let results = numbers(self.typed(module.results(op))?, Value::as_u32);
        let regions = numbers(module.regions(op), ir::Region::as_u32);
        let block = module.block_of(op).map(Block::as_u32);
        self.rows.push((module.row(op).name, operands, results, regions, block, self.attrs(op)?));
        Ok(())
    }

    /// Notes the types of values.
    fn typed<'v>(&self, values: &'v [Value]) -> PyResult<&'v [Value]> {
        for &value in values {
            self.types.set_item(value.as_u32(), self.module.ty(value).to_string())?;
        }
        Ok(values)
    }

    /// The attributes that are numbers and texts.
    fn attrs(&self, op: Op) -> PyResult<Bound<'py, PyDict>> {
        let all = PyDict::new(self.types.py());
        let row = self.module.row(op);
        for (spec, attr) in row.attrs.iter().zip(self.module.attrs(op)) {
            if let Some(attr) = attr {
                add(&all, spec.name, attr)?;
            }
        }
        for (key, attr) in self.module.extra(op) {
            add(&all, key.name(), attr)?;
        }
        Ok(all)
    }
}

fn numbers<T: Copy>(items: &[T], number: impl Fn(T) -> u32) -> Vec<u32> {
    items.iter().map(|&item| number(item)).collect()
}

fn add(all: &Bound<'_, PyDict>, name: &str, attr: &Attr) -> PyResult<()> {
    match attr {
        Attr::Unit => all.set_item(name, true),
        Attr::Bool(flag) => all.set_item(name, flag),
        Attr::Int { value, .. } => all.set_item(name, value),
        Attr::Str(text) => all.set_item(name, &**text),
        Attr::Symbol(text) => all.set_item(name, &**text),
        // Under a key that no attribute has: the number that all elements are.
        Attr::Dense { ty, .. } => match (integer_bits(*ty), splat_bits(attr)) {
            (Some(width), Some(bits)) => {
                let unused = 64 - width.min(64);
                all.set_item((name,), ((bits << unused) as i64) >> unused)
            }
            _ => Ok(()),
        },
        _ => Ok(()),
    }
}

/// The width of the elements of a block of integers.
fn integer_bits(ty: ir::Type) -> Option<u32> {
    ty.shape_and_element()?.1.as_int()
}
