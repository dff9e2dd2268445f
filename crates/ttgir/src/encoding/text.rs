//! The text form of encodings: `#ttg.blocked<{sizePerThread = [1, 4], …}>`.

use super::{BasisList, Encoding, SharedEncoding};
use ir::text::{NamedAttr, ParseError, Parser, Printer};
use ir::{Attr, AttrData, AttrRow, DialectAttr};

/// How each attribute is read.
pub static ATTR_ROWS: &[&AttrRow] =
    &[&BLOCKED, &SLICE, &DOT_OP, &MMA, &LINEAR, &SWIZZLED, &NVMMA, &SHARED_LINEAR, &SMEM];

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
            Encoding::Linear { .. } => LINEAR.name,
        }
    }

    fn alias(&self) -> Option<&'static str> {
        match self {
            Encoding::Blocked { .. } => Some("blocked"),
            Encoding::Mma { .. } => Some("mma"),
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

impl AttrData for SharedEncoding {
    fn name(&self) -> &'static str {
        match self {
            SharedEncoding::Swizzled { .. } => SWIZZLED.name,
            SharedEncoding::Nvmma { .. } => NVMMA.name,
            SharedEncoding::SharedLinear { .. } => SHARED_LINEAR.name,
        }
    }

    fn alias(&self) -> Option<&'static str> {
        Some("shared")
    }

    fn print(&self, printer: &mut Printer<'_>) {
        let mut writer = Writer::open(printer);
        match self {
            SharedEncoding::Swizzled { vec, per_phase, max_phase, order, cga } => {
                writer.int("vec", *vec);
                writer.int("perPhase", *per_phase);
                writer.int("maxPhase", *max_phase);
                writer.list("order", order);
                writer.cga(cga);
                printer.text("}>");
            }
            SharedEncoding::Nvmma {
                swizzling_byte_width,
                transposed,
                element_bit_width,
                rank,
                fp4_padded,
                cga,
            } => {
                writer.int("swizzlingByteWidth", *swizzling_byte_width);
                writer.flag("transposed", *transposed);
                writer.int("elementBitWidth", *element_bit_width);
                if *fp4_padded {
                    writer.flag("fp4Padded", true);
                }
                writer.cga(cga);
                if cga.is_empty() && *rank != 2 {
                    writer.int("rank", *rank);
                }
                printer.text("}>");
            }
            SharedEncoding::SharedLinear { offset, block, alignment } => {
                writer.lists("offset", offset);
                writer.lists("block", block);
                printer.text("}, alignment = ");
                printer.int(i64::from(*alignment));
                printer.text(">");
            }
        }
    }
}

/// Writes `name = value` with commas between.
struct Writer<'p, 'm> {
    printer: &'p mut Printer<'m>,
    first: bool,
}

impl<'p, 'm> Writer<'p, 'm> {
    fn open(printer: &'p mut Printer<'m>) -> Writer<'p, 'm> {
        printer.text("<{");
        Writer { printer, first: true }
    }

    fn name(&mut self, name: &str) {
        if !std::mem::take(&mut self.first) {
            self.printer.text(", ");
        }
        self.printer.text(name);
        self.printer.text(" = ");
    }

    fn int(&mut self, name: &str, value: u32) {
        self.name(name);
        self.printer.int(i64::from(value));
    }

    fn flag(&mut self, name: &str, value: bool) {
        self.name(name);
        self.printer.text(if value { "true" } else { "false" });
    }

    fn attr(&mut self, name: &str, attr: &Attr) {
        self.name(name);
        self.printer.attr(attr);
    }

    fn list(&mut self, name: &str, values: &[u32]) {
        self.name(name);
        numbers(self.printer, values);
    }

    fn lists(&mut self, name: &str, lists: &[Vec<u32>]) {
        self.name(name);
        self.printer.text("[");
        self.printer.list(lists, |printer, list| numbers(printer, list));
        self.printer.text("]");
    }

    fn cga(&mut self, cga: &[Vec<u32>]) {
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

static BLOCKED: AttrRow = AttrRow {
    name: "ttg.blocked",
    parse: |parser| {
        tensor(parser, |fields| {
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

static SLICE: AttrRow = AttrRow {
    name: "ttg.slice",
    parse: |parser| {
        tensor(parser, |fields| {
            Ok(Encoding::Slice { dim: fields.int("dim")?, parent: Box::new(fields.encoding("parent")?) })
        })
    },
};

static DOT_OP: AttrRow = AttrRow {
    name: "ttg.dot_op",
    parse: |parser| {
        tensor(parser, |fields| {
            Ok(Encoding::DotOp {
                op_idx: fields.int("opIdx")?,
                parent: Box::new(fields.encoding("parent")?),
                k_width: fields.optional_int("kWidth")?.unwrap_or(0),
            })
        })
    },
};

static MMA: AttrRow = AttrRow {
    name: "ttg.nvidia_mma",
    parse: |parser| {
        tensor(parser, |fields| {
            Ok(Encoding::Mma {
                version: [fields.int("versionMajor")?, fields.int("versionMinor")?],
                warps_per_cta: fields.list("warpsPerCTA")?,
                cga: fields.optional_lists("CGALayout")?,
                instr_shape: fields.list("instrShape")?,
            })
        })
    },
};

static LINEAR: AttrRow = AttrRow {
    name: "ttg.linear",
    parse: |parser| {
        tensor(parser, |fields| {
            Ok(Encoding::Linear {
                register: fields.lists("register")?,
                lane: fields.lists("lane")?,
                warp: fields.lists("warp")?,
                block: fields.lists("block")?,
            })
        })
    },
};

static SWIZZLED: AttrRow = AttrRow {
    name: "ttg.swizzled_shared",
    parse: |parser| {
        shared(parser, |fields| {
            Ok(SharedEncoding::Swizzled {
                vec: fields.int("vec")?,
                per_phase: fields.int("perPhase")?,
                max_phase: fields.int("maxPhase")?,
                order: fields.list("order")?,
                cga: fields.optional_lists("CGALayout")?,
            })
        })
    },
};

static NVMMA: AttrRow = AttrRow {
    name: "ttg.nvmma_shared",
    parse: |parser| {
        shared(parser, |fields| {
            let cga = fields.optional_lists("CGALayout")?;
            let of_cga = cga.first().map_or(2, |basis| basis.len() as u32);
            Ok(SharedEncoding::Nvmma {
                swizzling_byte_width: fields.int("swizzlingByteWidth")?,
                transposed: fields.optional_flag("transposed")?,
                element_bit_width: fields.int("elementBitWidth")?,
                rank: fields.optional_int("rank")?.unwrap_or(of_cga),
                fp4_padded: fields.optional_flag("fp4Padded")?,
                cga,
            })
        })
    },
};

static SHARED_LINEAR: AttrRow = AttrRow {
    name: "ttg.shared_linear",
    parse: |parser| {
        parser.expect("<")?;
        let mut fields = Fields { entries: parser.parse_dict()? };
        parser.expect(",")?;
        parser.expect("alignment")?;
        parser.expect("=")?;
        let alignment = parser.parse_int()?;
        parser.expect(">")?;
        let made = (|| {
            let encoding = SharedEncoding::SharedLinear {
                offset: fields.lists("offset")?,
                block: fields.lists("block")?,
                alignment: u32::try_from(alignment).map_err(|_| "alignment is too large")?,
            };
            fields.finish()?;
            encoding.check().map(|()| DialectAttr::new(encoding))
        })();
        made.map_err(|message: String| parser.error(message))
    },
};

static SMEM: AttrRow = AttrRow { name: "ttg.shared_memory", parse: |_| Ok(DialectAttr::new(SharedMemory)) };

fn tensor(
    parser: &mut Parser<'_>,
    make: fn(&mut Fields) -> Result<Encoding, String>,
) -> Result<DialectAttr, ParseError> {
    let mut fields = Fields::parse(parser)?;
    let made = make(&mut fields).and_then(|encoding| {
        fields.finish()?;
        encoding.check().map(|()| DialectAttr::new(encoding))
    });
    made.map_err(|message| parser.error(message))
}

fn shared(
    parser: &mut Parser<'_>,
    make: fn(&mut Fields) -> Result<SharedEncoding, String>,
) -> Result<DialectAttr, ParseError> {
    let mut fields = Fields::parse(parser)?;
    let made = make(&mut fields).and_then(|encoding| {
        fields.finish()?;
        encoding.check().map(|()| DialectAttr::new(encoding))
    });
    made.map_err(|message| parser.error(message))
}

/// What was read and is not used yet.
struct Fields {
    entries: Vec<NamedAttr>,
}

impl Fields {
    fn parse(parser: &mut Parser<'_>) -> Result<Fields, ParseError> {
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

    fn int(&mut self, name: &str) -> Result<u32, String> {
        number(&self.required(name)?, name)
    }

    fn optional_int(&mut self, name: &str) -> Result<Option<u32>, String> {
        self.take(name).map(|attr| number(&attr, name)).transpose()
    }

    fn optional_flag(&mut self, name: &str) -> Result<bool, String> {
        match self.take(name) {
            None => Ok(false),
            Some(attr) => attr.as_bool().ok_or_else(|| format!("`{name}` must be true or false")),
        }
    }

    fn list(&mut self, name: &str) -> Result<Vec<u32>, String> {
        numbers_of(&self.required(name)?, name)
    }

    fn lists(&mut self, name: &str) -> Result<BasisList, String> {
        lists_of(&self.required(name)?, name)
    }

    fn optional_lists(&mut self, name: &str) -> Result<BasisList, String> {
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
