//! The text form of encodings of shared memory: `#ttg.swizzled_shared<{vec = 4, …}>`.

use super::text::{Checked, Fields, Writer, made, read};
use super::{BasisList, Padding, SharedEncoding};
use ir::text::{ParseError, Parser, Printer};
use ir::{AttrData, AttrRow};

impl AttrData for SharedEncoding {
    fn name(&self) -> &'static str {
        match self {
            SharedEncoding::Swizzled { .. } => SWIZZLED.name,
            SharedEncoding::Rotating { .. } => ROTATING.name,
            SharedEncoding::Padded { .. } => PADDED.name,
            SharedEncoding::Nvmma { .. } => NVMMA.name,
            SharedEncoding::SharedLinear { .. } => SHARED_LINEAR.name,
        }
    }

    fn alias(&self) -> Option<&'static str> {
        Some("shared")
    }

    fn print(&self, printer: &mut Printer<'_>) {
        if let SharedEncoding::Padded { padding, offset, identity, cga } = self {
            return write_padded(printer, padding, offset, identity.as_deref(), cga);
        }
        let mut writer = Writer::open(printer);
        match self {
            SharedEncoding::Padded { .. } => unreachable!("written above"),
            SharedEncoding::Swizzled { vec, per_phase, max_phase, order, cga }
            | SharedEncoding::Rotating { vec, per_phase, max_phase, order, cga } => {
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

impl Checked for SharedEncoding {
    fn checked(self) -> Result<SharedEncoding, String> {
        self.check().map(|()| self)
    }
}

fn write_padded(
    printer: &mut Printer<'_>,
    padding: &[Padding],
    offset: &BasisList,
    identity: Option<&[u32]>,
    cga: &BasisList,
) {
    printer.text("<[");
    printer.list(padding, |printer, padding| {
        printer.int(i64::from(padding.every));
        printer.text(":+");
        printer.int(i64::from(padding.gap));
    });
    let mut writer = Writer::begin(printer, "] {");
    match identity {
        Some(order) => {
            let reach = |dim: usize| offset.iter().map(|basis| basis[dim]).max().unwrap_or(0);
            let shape: Vec<u32> = (0..order.len()).map(|dim| (reach(dim) + 1).next_power_of_two()).collect();
            writer.list("order", order);
            writer.list("shape", &shape);
            writer.cga(cga);
        }
        None => {
            writer.lists("offset", offset);
            writer.lists("block", cga);
        }
    }
    printer.text("}>");
}

pub(super) static SWIZZLED: AttrRow = AttrRow {
    name: "ttg.swizzled_shared",
    parse: |parser| {
        read(parser, |fields| {
            let (vec, per_phase, max_phase, order, cga) = phases(fields)?;
            Ok(SharedEncoding::Swizzled { vec, per_phase, max_phase, order, cga })
        })
    },
};

pub(super) static ROTATING: AttrRow = AttrRow {
    name: "ttg.amd_rotating_shared",
    parse: |parser| {
        read(parser, |fields| {
            let (vec, per_phase, max_phase, order, cga) = phases(fields)?;
            Ok(SharedEncoding::Rotating { vec, per_phase, max_phase, order, cga })
        })
    },
};

/// What encodings have whose rows exchange their vectors by phases: vec, perPhase, maxPhase, order and the cluster's
/// part.
type Phases = (u32, u32, u32, Vec<u32>, BasisList);

fn phases(fields: &mut Fields) -> Result<Phases, String> {
    let [vec, per_phase, max_phase] = [fields.int("vec")?, fields.int("perPhase")?, fields.int("maxPhase")?];
    Ok((vec, per_phase, max_phase, fields.list("order")?, fields.optional_lists("CGALayout")?))
}

pub(super) static PADDED: AttrRow = AttrRow {
    name: "ttg.padded_shared",
    parse: |parser| {
        parser.expect("<")?;
        let padding = parse_padding(parser)?;
        let fields = Fields { entries: parser.parse_dict()? };
        parser.expect(">")?;
        made(parser, fields, |fields| padded(padding, fields))
    },
};

/// `[512:+8, 2048:+16]`.
fn parse_padding(parser: &mut Parser<'_>) -> Result<Vec<Padding>, ParseError> {
    parser.expect("[")?;
    let mut padding = Vec::new();
    loop {
        let every = parser.parse_int()?;
        parser.expect(":")?;
        parser.expect("+")?;
        let gap = parser.parse_int()?;
        let (Ok(every), Ok(gap)) = (u32::try_from(every), u32::try_from(gap)) else {
            return Err(parser.error("padding is counted in elements"));
        };
        padding.push(Padding { every, gap });
        if !parser.accept(",") {
            break;
        }
    }
    parser.expect("]")?;
    Ok(padding)
}

fn padded(padding: Vec<Padding>, fields: &mut Fields) -> Result<SharedEncoding, String> {
    let order = fields.optional_list("order")?;
    if order.is_empty() {
        let (offset, cga) = (fields.lists("offset")?, fields.lists("block")?);
        return Ok(SharedEncoding::Padded { padding, offset, identity: None, cga });
    }
    let (shape, cga) = (fields.list("shape")?, fields.optional_lists("CGALayout")?);
    SharedEncoding::padded_identity(padding, order, &shape, cga)
}

pub(super) static NVMMA: AttrRow = AttrRow {
    name: "ttg.nvmma_shared",
    parse: |parser| {
        read(parser, |fields| {
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

pub(super) static SHARED_LINEAR: AttrRow = AttrRow {
    name: "ttg.shared_linear",
    parse: |parser| {
        parser.expect("<")?;
        let fields = Fields { entries: parser.parse_dict()? };
        parser.expect(",")?;
        parser.expect("alignment")?;
        parser.expect("=")?;
        let alignment = parser.parse_int()?;
        parser.expect(">")?;
        made(parser, fields, |fields| {
            Ok(SharedEncoding::SharedLinear {
                offset: fields.lists("offset")?,
                block: fields.lists("block")?,
                alignment: u32::try_from(alignment).map_err(|_| "alignment is too large")?,
            })
        })
    },
};
