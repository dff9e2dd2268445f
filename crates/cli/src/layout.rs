//! `deuteron layout`.

use crate::{Failure, output};
use clap::Args;
use ir::{Attr, Type};
use layout::{LinearLayout, Memory};
use std::path::PathBuf;
use ttgir::{Encoding, Machine, SharedEncoding};

/// Elements of the largest block that is drawn.
const MAX_ELEMENTS: i64 = 1 << 16;
/// The attribute of a module that is the encoding that was given.
const GIVEN: &str = "encoding";

/// Show where a layout puts each element of a tensor.
#[derive(Args)]
pub(crate) struct Layout {
    /// An encoding, `#ttg.blocked<{…}>`; with --in, also an alias such as `#mma`.
    encoding: String,
    /// A type that says shape and element, `tensor<64x64xf16>`.
    ty: String,
    /// A .ttgir file of which the aliases may be used.
    #[arg(long = "in", value_name = "FILE")]
    file: Option<PathBuf>,
    /// Show what each lane (or each bank of shared memory) holds, not who holds each element.
    #[arg(long)]
    hardware: bool,
    /// Write a drawing to a file as well.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

impl Layout {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let ty = ir::text::parse_type(&self.ty, ttgir::registry())
            .map_err(|error| Failure(format!("the type: {error}")))?;
        let shape = ttir::types::shape(ty);
        if shape.is_empty() {
            return Err(Failure(format!(
                "`{}` is not a tensor: write one such as tensor<64x64xf16>",
                self.ty
            )));
        }
        if let Some(size) = shape.iter().find(|&&size| size.count_ones() != 1) {
            return Err(Failure(format!("the type: a size of {size} is not a positive power of two")));
        }
        let attr = self.encoding()?;
        let shown = Shown::of(&attr, ty)?;
        let layout = &shown.layout;
        let picture = match (shown.memory, self.hardware) {
            _ if ttir::types::numel(ty) > MAX_ELEMENTS => String::new(),
            (Some(memory), false) => layout::shared_text(layout, memory),
            (Some(memory), true) => layout::banks_text(layout, memory),
            (None, false) => layout::text(layout),
            (None, true) => layout::lanes_text(layout),
        };
        let legend = match (shown.memory, self.hardware) {
            (Some(_), false) => "offset:bank of each element; * where an element is there more than once",
            (Some(_), true) => "the elements at the offsets of each line of the banks",
            (None, false) => "warp lane:register of each element; * where others hold it too",
            (None, true) => "the element in each register of each lane",
        };
        output::write(format!("{layout}\n\n{legend}\n{picture}").as_bytes())?;
        match &self.svg {
            Some(path) => self.draw(path, &shown, &attr),
            None => Ok(()),
        }
    }

    fn draw(&self, path: &PathBuf, shown: &Shown, attr: &Attr) -> Result<(), Failure> {
        let title = format!("{} of {}", ir::text::attr_to_string(attr), self.ty);
        let drawing = match shown.memory {
            Some(memory) => layout::shared_svg(&shown.layout, memory, &title),
            None => layout::svg(&shown.layout, &title),
        };
        std::fs::write(path, drawing)
            .map_err(|error| Failure(format!("cannot write {}: {error}", path.display())))
    }

    /// The encoding, read behind the aliases of the file.
    fn encoding(&self) -> Result<Attr, Failure> {
        let mut text = String::new();
        if let Some(file) = &self.file {
            let aliases = crate::source::read(file)?;
            let lines = aliases.lines().filter(|line| line.starts_with('#') && !line.starts_with("#loc"));
            text = lines.map(|line| format!("{line}\n")).collect();
        }
        // An alias is only known to a program.
        let program = format!("{text}module attributes {{{GIVEN} = {}}} {{\n}}\n", self.encoding.trim());
        let module = ir::text::parse(&program, ttgir::registry(), ir::text::ParseOptions::default())
            .map_err(|error| Failure(format!("the encoding: {}", error.message)))?;
        let attr = module.extra_attr(module.top(), GIVEN).cloned();
        attr.ok_or_else(|| Failure(format!("`{}` is no encoding", self.encoding)))
    }
}

/// A layout and, for one of memory, the memory.
struct Shown {
    layout: LinearLayout,
    memory: Option<Memory>,
}

impl Shown {
    fn of(attr: &Attr, ty: Type) -> Result<Shown, Failure> {
        let shape = ttir::types::shape(ty);
        let fits = |rank: usize| {
            if rank == shape.len() {
                Ok(())
            } else {
                Err(Failure(format!("the encoding has {rank} dimensions, {ty} has {}", shape.len())))
            }
        };
        if let Some(encoding) = Encoding::from_attr(attr) {
            fits(encoding.rank())?;
            return Ok(Shown { layout: encoding.to_linear(shape), memory: None });
        }
        let Some(encoding) = SharedEncoding::from_attr(attr) else {
            let text = ir::text::attr_to_string(attr);
            return Err(Failure(format!("`{text}` is neither an encoding of tensors nor of shared memory")));
        };
        fits(encoding.rank())?;
        let memory = Memory {
            element_bytes: ttir::types::elem_bytes(ty) as u32,
            banks: Machine::BASE.banks,
            bank_bytes: Machine::BASE.bank_bytes,
        };
        Ok(Shown { layout: encoding.to_linear(shape), memory: Some(memory) })
    }
}
