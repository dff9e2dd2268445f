//! Matrix products of operands that share scales.

use crate::codegen::value::Tensor;
use crate::codegen::{Ctx, Res};
use crate::diagnostic::Cause;
use crate::dtype::DType;
use crate::typing::{Shape, ShapeText, Ty};
use crate::value::PyValue;
use ir::{Attr, Type};
use ttir::ops::dot::{DOT_SCALED, SCALE_TYPE};

/// One operand of `tl.dot_scaled`.
pub(crate) struct ScaledOperand {
    /// `lhs` or `rhs`.
    pub(crate) name: &'static str,
    pub(crate) tensor: Tensor,
    pub(crate) scale: Option<Tensor>,
    pub(crate) format: String,
    /// Whether two elements of a byte are neighbours along k.
    pub(crate) k_pack: bool,
}

/// The arguments of `tl.dot_scaled`.
pub(crate) struct ScaledDotArgs {
    pub(crate) lhs: ScaledOperand,
    pub(crate) rhs: ScaledOperand,
    pub(crate) acc: Option<Tensor>,
    pub(crate) fast_math: bool,
    pub(crate) out_dtype: DType,
}

/// A format of operands: its name, the dtype of its elements, the dtype of their bits.
struct Format {
    name: &'static str,
    dtype: Option<DType>,
    bits: DType,
}

static FORMATS: &[Format] = &[
    Format { name: PACKED, dtype: None, bits: DType::UInt8 },
    Format { name: "e4m3", dtype: Some(DType::Fp8E4Nv), bits: DType::UInt8 },
    Format { name: "e5m2", dtype: Some(DType::Fp8E5), bits: DType::UInt8 },
    Format { name: "bf16", dtype: Some(DType::Bf16), bits: DType::UInt16 },
    Format { name: "fp16", dtype: Some(DType::Fp16), bits: DType::UInt16 },
];

/// The format of which two elements share a byte.
const PACKED: &str = "e2m1";

/// How many elements along k may share a scale, the usual number first.
const GROUPS: [u32; 2] = [32, 16];

/// How many elements along k share a scale, for both operands.
///
/// # Errors
/// For operands of which the scales say different numbers.
fn scale_group(sides: [&ScaledOperand; 2], k: u32) -> Result<u32, String> {
    let group = |side: &ScaledOperand| {
        let count = side.scale.as_ref()?.ty.shape.last().copied()?;
        GROUPS.into_iter().find(|group| count.checked_mul(*group) == Some(k))
    };
    match sides.map(group) {
        [Some(left), Some(right)] if left != right => {
            Err(format!("Operands must have the same scale factor; (lhs: {left} vs rhs: {right})"))
        }
        [left, right] => Ok(left.or(right).unwrap_or(GROUPS[0])),
    }
}

impl ScaledOperand {
    /// The shape of the elements, which may be packed.
    fn shape(&self, k_dim: usize) -> Shape {
        let mut shape = self.tensor.ty.shape.clone();
        if self.format == PACKED {
            let rank = shape.len();
            shape[if self.k_pack { k_dim } else { 2 * rank - 3 - k_dim }] *= 2;
        }
        shape
    }
}

impl Ctx<'_> {
    /// `tl.dot_scaled`.
    pub(crate) fn dot_scaled(&mut self, args: ScaledDotArgs) -> Res<Tensor> {
        let ScaledDotArgs { lhs, rhs, acc, fast_math, out_dtype } = args;
        let rank = lhs.tensor.ty.shape.len();
        if !(2..=3).contains(&rank) || rhs.tensor.ty.shape.len() != rank {
            let [left, right] = [&lhs, &rhs].map(|side| ShapeText(&side.tensor.ty.shape).to_string());
            return Err(self.error(
                Cause::Assertion
                    .says(format!("Both inputs must be either 2D or 3D; (lhs: {left} vs rhs: {right})")),
            ));
        }
        if !matches!(out_dtype, DType::Fp32 | DType::Fp16 | DType::Bf16) {
            return Err(self.error(
                Cause::Assertion
                    .says(format!("out_dtype must be float32, float16 or bfloat16. Got {out_dtype}")),
            ));
        }
        let formats = [self.scaled_format(&lhs)?, self.scaled_format(&rhs)?];
        let (a, b) = (lhs.shape(rank - 1), rhs.shape(rank - 2));
        if a[..rank - 2] != b[..rank - 2] || a[rank - 1] != b[rank - 2] {
            let [left, right] = [&a, &b].map(|shape| ShapeText(shape).to_string());
            return Err(self.error(Cause::Assertion.says(format!(
                "Reduction dimension should pack the same number of elements; (lhs: {left} vs rhs: {right}, unpacked)"
            ))));
        }
        let mut shape = a.clone();
        shape[rank - 1] = b[rank - 1];
        let k = a[rank - 1];
        let group = self.check(scale_group([&lhs, &rhs], k))?;
        self.check_scale(&lhs, &a, group)?;
        let mut lines_of_b = b;
        lines_of_b.swap(rank - 2, rank - 1);
        self.check_scale(&rhs, &lines_of_b, group)?;
        let ty = Ty { scalar: out_dtype.into(), shape };
        let acc = self.scaled_accumulator(acc, &ty)?;
        let mut operands = vec![lhs.tensor.value, rhs.tensor.value, acc.value];
        let mut given = 0;
        for (bit, side) in [&lhs, &rhs].into_iter().enumerate() {
            if let Some(scale) = &side.scale {
                given |= 1 << bit;
                operands.push(scale.value);
            }
        }
        let [left, right] = formats.map(|value| Some(Attr::Enum { row: &SCALE_TYPE, value }));
        let flags = [fast_math, lhs.k_pack, rhs.k_pack].map(|flag| Some(Attr::Bool(flag)));
        let [fast, left_pack, right_pack] = flags;
        let attrs = [left, right, fast, left_pack, right_pack, Some(Attr::int(given, Type::int(32)))];
        let value = self.emit(&DOT_SCALED, &operands, &attrs)?;
        Ok(Tensor { value, ty })
    }

    /// The number of an operand's format, if its elements are of it.
    fn scaled_format(&mut self, side: &ScaledOperand) -> Res<u32> {
        let found = FORMATS.iter().find(|format| format.name == side.format);
        let known = found.and_then(|format| Some((format, SCALE_TYPE.value(format.name)?)));
        let Some((format, value)) = known else {
            let names: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
            return Err(self.error_help(
                format!("Invalid float format: {}_format is '{}'", side.name, side.format),
                &format!("there are {}", names.join(", ")),
            ));
        };
        let dtype = side.tensor.ty.scalar.dtype();
        if dtype != Some(format.bits) && (dtype.is_none() || dtype != format.dtype) {
            let own = format.dtype.map(|dtype| format!("{dtype} or ")).unwrap_or_default();
            return Err(self.error(Cause::Assertion.says(format!(
                "Unexpected dtype for {}: {} must hold {own}{}. Got {}",
                format.name, side.name, format.bits, side.tensor.ty.scalar
            ))));
        }
        if !side.k_pack && format.name != PACKED {
            return Err(self.error(
                Cause::Assertion.says("only mxfp4 inputs can be packed along a dimension different than K"),
            ));
        }
        Ok(value)
    }

    /// Whether a scale fits its operand, of which the last dimension is k here, with a scale for each `group` elements.
    fn check_scale(&mut self, side: &ScaledOperand, lines: &[u32], group: u32) -> Res<()> {
        let Some(scale) = &side.scale else { return Ok(()) };
        let dtype = scale.ty.scalar.dtype();
        let is_scale = |dtype: DType| {
            matches!(dtype, DType::UInt8 | DType::Int8) || dtype.is_floating() && dtype.bits() <= 16
        };
        if !dtype.is_some_and(is_scale) {
            return Err(self.error(Cause::Assertion.says(format!(
                "{}_scale must hold 8 bits (e8m0), or floats of 8 or 16 bits. Got {}",
                side.name, scale.ty.scalar
            ))));
        }
        let mut expected = lines.to_vec();
        expected[lines.len() - 1] /= group;
        if *scale.ty.shape == *expected {
            return Ok(());
        }
        let (expected, found) = (ShapeText(&expected).to_string(), ShapeText(&scale.ty.shape).to_string());
        Err(self.error(Cause::Assertion.says(format!(
            "{}_scale must be a tensor of shape {expected}, one for each {group} elements along K. Got {found}",
            side.name
        ))))
    }

    fn scaled_accumulator(&mut self, acc: Option<Tensor>, ty: &Ty) -> Res<Tensor> {
        let Some(acc) = acc else { return self.literal(&PyValue::Int(0), ty.clone()) };
        if acc.ty.shape != ty.shape {
            let (expected, found) = (ShapeText(&ty.shape).to_string(), ShapeText(&acc.ty.shape).to_string());
            return Err(self.error(
                Cause::Assertion.says(format!("expected accumulator shape {expected}, got {found}")),
            ));
        }
        if acc.ty.scalar != ty.scalar {
            return Err(self.error(Cause::Assertion.says(format!(
                "expected accumulator dtype {}, got {found}; pass out_dtype={found} to use this accumulator dtype",
                ty.scalar,
                found = acc.ty.scalar
            ))));
        }
        Ok(acc)
    }
}
