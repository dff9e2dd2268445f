//! The text form of encodings: `#ttg.blocked<{sizePerThread = [1, 4], …}>`. That of shared memory is in
//! [`super::text_shared`].

use super::{BasisList, Encoding, Fragments, Tiles};
use ir::text::{NamedAttr, ParseError, Parser, Printer};
use ir::{Attr, AttrData, AttrRow, DialectAttr};

/// `#ttg.shared_memory`: the memory space that lanes of a block share.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct SharedMemory;

// --- writing ---

impl AttrData for SharedMemory {
    fn name(&self) -> &'static str {
        SMEM.name
    }

    fn alias(&self) -> Option<&'static str> {
        Some("smem")
    }

    fn print(&self, _: &mut Printer<'_>) {}
}

impl AttrData for Encoding {
    fn name(&self) -> &'static str {
        match self {
            Encoding::Blocked { .. } => BLOCKED.name,
            Encoding::Slice { .. } => SLICE.name,
            Encoding::DotOp { .. } => DOT_OP.name,
            Encoding::Mma { .. } => MMA.name,
            Encoding::Fragments(Fragments { tiles: Tiles::Counts { .. }, .. }) => FRAGMENTS_64.name,
            Encoding::Fragments(_) => FRAGMENTS_32.name,
            Encoding::Linear { .. } => LINEAR.name,
        }
    }

    fn alias(&self) -> Option<&'static str> {
        match self {
            Encoding::Blocked { .. } => Some("blocked"),
            Encoding::Mma { .. } | Encoding::Fragments(_) => Some("mma"),
            Encoding::Linear { .. } => Some("linear"),
            Encoding::Slice { .. } | Encoding::DotOp { .. } => None,
        }
    }

    fn print(&self, printer: &mut Printer<'_>) {
        let mut writer = Writer::open(printer);
        match self {
            Encoding::Blocked { size_per_thread, threads_per_warp, warps_per_cta, order, cga } => {
                writer.list("sizePerThread", size_per_thread);
                writer.list("threadsPerWarp", threads_per_warp);
                writer.list("warpsPerCTA", warps_per_cta);
                writer.list("order", order);
                writer.cga(cga);
            }
            Encoding::Slice { dim, parent } => {
                writer.int("dim", *dim);
                writer.attr("parent", &parent.attr());
            }
            Encoding::DotOp { op_idx, parent, k_width } => {
                writer.int("opIdx", *op_idx);
                writer.attr("parent", &parent.attr());
                if *k_width != 0 {
                    writer.int("kWidth", *k_width);
                }
            }
            Encoding::Mma { version, warps_per_cta, cga, instr_shape } => {
                writer.int("versionMajor", version[0]);
                writer.int("versionMinor", version[1]);
                writer.list("warpsPerCTA", warps_per_cta);
                writer.cga(cga);
                writer.list("instrShape", instr_shape);
            }
            Encoding::Fragments(fragments) => write_fragments(&mut writer, fragments),
            Encoding::Linear { register, lane, warp, block } => {
                writer.lists("register", register);
                writer.lists("lane", lane);
                writer.lists("warp", warp);
                writer.lists("block", block);
            }
        }
        printer.text("}>");
    }
}

fn write_fragments(writer: &mut Writer<'_, '_>, fragments: &Fragments) {
    writer.int("version", fragments.version);
    match &fragments.tiles {
        Tiles::Counts { per_warp, warps } => {
            writer.list("warpsPerCTA", warps);
            writer.list("instrShape", &fragments.instr_shape);
            writer.flag("isTransposed", fragments.transposed);
            writer.cga(&fragments.cga);
            writer.optional_list("tilesPerWarp", per_warp);
            if fragments.element_bits != 32 {
                writer.int("elementBitWidth", fragments.element_bits);
            }
        }
        Tiles::Bases { register, warp } => {
            writer.flag("isTranspose", fragments.transposed);
            writer.name("ctaLayout");
            let mut inner = Writer::begin(writer.printer, "{");
            for (name, list) in [("register", register), ("warp", warp)] {
                if !list.is_empty() {
                    inner.lists(name, list);
                }
            }
            writer.printer.text("}");
            writer.cga(&fragments.cga);
            if fragments.instr_shape != SMALLEST {
                writer.list("instrShape", &fragments.instr_shape);
            }
        }
    }
    writer.optional_list("interleaved", &fragments.interleaved);
}

/// Writes `name = value` with commas between.
pub(super) struct Writer<'p, 'm> {
    pub(super) printer: &'p mut Printer<'m>,
    first: bool,
}

impl<'p, 'm> Writer<'p, 'm> {
    pub(super) fn open(printer: &'p mut Printer<'m>) -> Writer<'p, 'm> {
        Writer::begin(printer, "<{")
    }

    pub(super) fn begin(printer: &'p mut Printer<'m>, bracket: &str) -> Writer<'p, 'm> {
        printer.text(bracket);
        Writer { printer, first: true }
    }

    fn name(&mut self, name: &str) {
        if !std::mem::take(&mut self.first) {
            self.printer.text(", ");
        }
        self.printer.text(name);
        self.printer.text(" = ");
    }

    pub(super) fn int(&mut self, name: &str, value: u32) {
        self.name(name);
        self.printer.int(i64::from(value));
    }

    pub(super) fn flag(&mut self, name: &str, value: bool) {
        self.name(name);
        self.printer.text(if value { "true" } else { "false" });
    }

    fn attr(&mut self, name: &str, attr: &Attr) {
        self.name(name);
        self.printer.attr(attr);
    }

    pub(super) fn list(&mut self, name: &str, values: &[u32]) {
        self.name(name);
        numbers(self.printer, values);
    }

    pub(super) fn lists(&mut self, name: &str, lists: &[Vec<u32>]) {
        self.name(name);
        self.printer.text("[");
        self.printer.list(lists, |printer, list| numbers(printer, list));
        self.printer.text("]");
    }

    /// A list that is empty where every number in it would be 1.
    fn optional_list(&mut self, name: &str, values: &[u32]) {
        if !values.is_empty() {
            self.list(name, values);
        }
    }

    pub(super) fn cga(&mut self, cga: &[Vec<u32>]) {
        if !cga.is_empty() {
            self.lists("CGALayout", cga);
        }
    }
}

fn numbers(printer: &mut Printer<'_>, values: &[u32]) {
    printer.text("[");
    printer.list(values, |printer, &value| printer.int(i64::from(value)));
    printer.text("]");
}

// --- reading ---

pub(super) static BLOCKED: AttrRow = AttrRow {
    name: "ttg.blocked",
    parse: |parser| {
        read(parser, |fields| {
            Ok(Encoding::Blocked {
                size_per_thread: fields.list("sizePerThread")?,
                threads_per_warp: fields.list("threadsPerWarp")?,
                warps_per_cta: fields.list("warpsPerCTA")?,
                order: fields.list("order")?,
                cga: fields.optional_lists("CGALayout")?,
            })
        })
    },
};

pub(super) static SLICE: AttrRow = AttrRow {
    name: "ttg.slice",
    parse: |parser| {
        read(parser, |fields| {
            Ok(Encoding::Slice { dim: fields.int("dim")?, parent: Box::new(fields.encoding("parent")?) })
        })
    },
};

pub(super) static DOT_OP: AttrRow = AttrRow {
    name: "ttg.dot_op",
    parse: |parser| {
        read(parser, |fields| {
            Ok(Encoding::DotOp {
                op_idx: fields.int("opIdx")?,
                parent: Box::new(fields.encoding("parent")?),
                k_width: fields.optional_int("kWidth")?.unwrap_or(0),
            })
        })
    },
};

pub(super) static MMA: AttrRow = AttrRow {
    name: "ttg.nvidia_mma",
    parse: |parser| {
        read(parser, |fields| {
            Ok(Encoding::Mma {
                version: [fields.int("versionMajor")?, fields.int("versionMinor")?],
                warps_per_cta: fields.list("warpsPerCTA")?,
                cga: fields.optional_lists("CGALayout")?,
                instr_shape: fields.list("instrShape")?,
            })
        })
    },
};

/// The shape of an instruction that is not written.
const SMALLEST: [u32; 3] = [16, 16, 16];

/// Instructions of warps of 64 lanes.
pub(super) static FRAGMENTS_64: AttrRow = AttrRow {
    name: "ttg.amd_mfma",
    parse: |parser| {
        read(parser, |fields| {
            Ok(Encoding::Fragments(Fragments {
                lanes: 64,
                version: fields.int("version")?,
                instr_shape: fields.list("instrShape")?,
                transposed: fields.optional_flag("isTransposed")?,
                interleaved: fields.optional_list("interleaved")?,
                tiles: Tiles::Counts {
                    per_warp: fields.optional_list("tilesPerWarp")?,
                    warps: fields.list("warpsPerCTA")?,
                },
                element_bits: fields.optional_int("elementBitWidth")?.unwrap_or(32),
                cga: fields.optional_lists("CGALayout")?,
            }))
        })
    },
};

/// Instructions of warps of 32 lanes.
pub(super) static FRAGMENTS_32: AttrRow = AttrRow {
    name: "ttg.amd_wmma",
    parse: |parser| {
        read(parser, |fields| {
            let mut tiles = fields.dict("ctaLayout")?;
            let (register, warp) = (tiles.optional_lists("register")?, tiles.optional_lists("warp")?);
            tiles.finish()?;
            let instr_shape = fields.optional_list("instrShape")?;
            Ok(Encoding::Fragments(Fragments {
                lanes: 32,
                version: fields.int("version")?,
                instr_shape: if instr_shape.is_empty() { SMALLEST.to_vec() } else { instr_shape },
                transposed: fields.optional_flag("isTranspose")?,
                interleaved: fields.optional_list("interleaved")?,
                tiles: Tiles::Bases { register, warp },
                element_bits: 32,
                cga: fields.optional_lists("CGALayout")?,
            }))
        })
    },
};

pub(super) static LINEAR: AttrRow = AttrRow {
    name: "ttg.linear",
    parse: |parser| {
        read(parser, |fields| {
            Ok(Encoding::Linear {
                register: fields.lists("register")?,
                lane: fields.lists("lane")?,
                warp: fields.lists("warp")?,
                block: fields.lists("block")?,
            })
        })
    },
};

pub(super) static SMEM: AttrRow =
    AttrRow { name: "ttg.shared_memory", parse: |_| Ok(DialectAttr::new(SharedMemory)) };

/// Encodings that are checked when they are read.
pub(super) trait Checked: AttrData + Sized {
    /// Whether its parts belong together.
    fn checked(self) -> Result<Self, String>;
}

impl Checked for Encoding {
    fn checked(self) -> Result<Encoding, String> {
        self.check().map(|()| self)
    }
}

/// Reads `<{name = value, …}>` and makes an encoding of it.
pub(super) fn read<E: Checked>(
    parser: &mut Parser<'_>,
    make: fn(&mut Fields) -> Result<E, String>,
) -> Result<DialectAttr, ParseError> {
    let fields = Fields::parse(parser)?;
    made(parser, fields, make)
}

/// Makes an encoding of what was read, all of it.
pub(super) fn made<E: Checked>(
    parser: &mut Parser<'_>,
    mut fields: Fields,
    make: impl FnOnce(&mut Fields) -> Result<E, String>,
) -> Result<DialectAttr, ParseError> {
    let encoding = make(&mut fields).and_then(|encoding| {
        fields.finish()?;
        encoding.checked()
    });
    encoding.map(DialectAttr::new).map_err(|message| parser.error(message))
}

/// What was read and is not used yet.
pub(super) struct Fields {
    pub(super) entries: Vec<NamedAttr>,
}

impl Fields {
    pub(super) fn parse(parser: &mut Parser<'_>) -> Result<Fields, ParseError> {
        parser.expect("<")?;
        let entries = parser.parse_dict()?;
        parser.expect(">")?;
        Ok(Fields { entries })
    }

    fn take(&mut self, name: &str) -> Option<Attr> {
        let at = self.entries.iter().position(|entry| entry.0.name() == name)?;
        Some(self.entries.remove(at).1)
    }

    fn required(&mut self, name: &str) -> Result<Attr, String> {
        self.take(name).ok_or_else(|| format!("`{name}` is missing"))
    }

    fn finish(&self) -> Result<(), String> {
        match self.entries.first() {
            None => Ok(()),
            Some((name, _)) => Err(format!("`{}` is not known here", name.name())),
        }
    }

    pub(super) fn int(&mut self, name: &str) -> Result<u32, String> {
        number(&self.required(name)?, name)
    }

    pub(super) fn optional_int(&mut self, name: &str) -> Result<Option<u32>, String> {
        self.take(name).map(|attr| number(&attr, name)).transpose()
    }

    pub(super) fn optional_flag(&mut self, name: &str) -> Result<bool, String> {
        match self.take(name) {
            None => Ok(false),
            Some(attr) => attr.as_bool().ok_or_else(|| format!("`{name}` must be true or false")),
        }
    }

    pub(super) fn list(&mut self, name: &str) -> Result<Vec<u32>, String> {
        numbers_of(&self.required(name)?, name)
    }

    pub(super) fn optional_list(&mut self, name: &str) -> Result<Vec<u32>, String> {
        self.take(name).map_or(Ok(Vec::new()), |attr| numbers_of(&attr, name))
    }

    fn dict(&mut self, name: &str) -> Result<Fields, String> {
        match self.required(name)? {
            Attr::Dict(entries) => Ok(Fields { entries: entries.iter().cloned().collect() }),
            _ => Err(format!("`{name}` must be a dictionary")),
        }
    }

    pub(super) fn lists(&mut self, name: &str) -> Result<BasisList, String> {
        lists_of(&self.required(name)?, name)
    }

    pub(super) fn optional_lists(&mut self, name: &str) -> Result<BasisList, String> {
        self.take(name).map_or(Ok(Vec::new()), |attr| lists_of(&attr, name))
    }

    fn encoding(&mut self, name: &str) -> Result<Encoding, String> {
        let attr = self.required(name)?;
        Encoding::from_attr(&attr).ok_or_else(|| format!("`{name}` must be the encoding of a tensor"))
    }
}

fn number(attr: &Attr, name: &str) -> Result<u32, String> {
    let value = attr.as_int().and_then(|value| u32::try_from(value).ok());
    value.ok_or_else(|| format!("`{name}` must be a small number that is not negative"))
}

fn numbers_of(attr: &Attr, name: &str) -> Result<Vec<u32>, String> {
    match attr {
        Attr::Array(items) => items.iter().map(|item| number(item, name)).collect(),
        _ => Err(format!("`{name}` must be a list of numbers")),
    }
}

fn lists_of(attr: &Attr, name: &str) -> Result<BasisList, String> {
    match attr {
        Attr::Array(items) => items.iter().map(|item| numbers_of(item, name)).collect(),
        _ => Err(format!("`{name}` must be a list of lists of numbers")),
    }
}
