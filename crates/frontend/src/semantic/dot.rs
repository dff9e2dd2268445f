//! Matrix products.

use crate::codegen::value::Tensor;
use crate::codegen::{Ctx, Res};
use crate::diagnostic::Cause;
use crate::dtype::{DType, Scalar};
use crate::typing::{ShapeText, Ty};
use crate::value::PyValue;
use ir::{Attr, Type};
use ttir::ops::dot;

/// The arguments of `tl.dot`.
pub(crate) struct DotArgs {
    pub(crate) a: Tensor,
    pub(crate) b: Tensor,
    pub(crate) acc: Option<Tensor>,
    pub(crate) input_precision: Option<String>,
    pub(crate) allow_tf32: Option<bool>,
    pub(crate) max_num_imprecise_acc: Option<i64>,
    pub(crate) out_dtype: Option<DType>,
}

impl Ctx<'_> {
    /// `tl.dot`; stacks of more than one dimension are flattened to one.
    pub(crate) fn dot(&mut self, args: DotArgs) -> Res<Tensor> {
        let (a, b) = (args.a.ty.shape.clone(), args.b.ty.shape.clone());
        let (rank, texts) = (a.len(), [ShapeText(&a).to_string(), ShapeText(&b).to_string()]);
        let [left, right] = &texts;
        if rank < 2 || rank != b.len() {
            return Err(self.error(
                Cause::Assertion
                    .says(format!("input and other must have equal ranks >= 2, got {left} and {right}")),
            ));
        }
        if a[..rank - 2] != b[..rank - 2] {
            return Err(self.error(
                Cause::Assertion
                    .says(format!("input and other must have equal batch shapes, got {left} and {right}")),
            ));
        }
        if a[rank - 1] != b[rank - 2] {
            return Err(self.error_help(
                Cause::Assertion.says(format!(
                    "First input shape ({left}) and second input shape {right} are not compatible for matmul (second \
                     index of first shape ({}) must be equal to first index of second shape ({}))",
                    a[rank - 1],
                    b[rank - 2]
                )),
                "transpose one operand with `tl.trans(x)` or `x.T`",
            ));
        }
        let mut result_shape = a.clone();
        result_shape[rank - 1] = b[rank - 1];
        if let Some(acc) = &args.acc
            && acc.ty.shape != result_shape
        {
            let (expected, found) =
                (ShapeText(&result_shape).to_string(), ShapeText(&acc.ty.shape).to_string());
            return Err(self.error(
                Cause::Assertion
                    .says(format!("accumulator shape is incompatible: expected {expected}, got {found}")),
            ));
        }
        if rank <= 3 {
            return self.dot_matrices(args);
        }
        let flat = |shape: &[u32]| -> Vec<i128> {
            let batch: i128 = shape[..rank - 2].iter().map(|dim| i128::from(*dim)).product();
            vec![batch, i128::from(shape[rank - 2]), i128::from(shape[rank - 1])]
        };
        let (flat_a, flat_b, flat_c) = (flat(&a), flat(&b), flat(&result_shape));
        let acc = match args.acc {
            Some(acc) => Some(self.reshape(acc, &flat_c, false)?),
            None => None,
        };
        let (a, b) = (self.reshape(args.a, &flat_a, false)?, self.reshape(args.b, &flat_b, false)?);
        let result = self.dot_matrices(DotArgs { a, b, acc, ..args })?;
        let dims: Vec<i128> = result_shape.iter().map(|dim| i128::from(*dim)).collect();
        self.reshape(result, &dims, false)
    }

    /// Operands as they are multiplied: bf16 that was widened for a minimum or maximum is bf16 again, fp8e4b15 is fp16.
    fn dot_operands(&mut self, a: Tensor, b: Tensor) -> Res<(Tensor, Tensor)> {
        let types = [a.ty.clone(), b.ty.clone()];
        let (a, b) = (self.narrowed_extremum(a, &types[1])?, self.narrowed_extremum(b, &types[0])?);
        if types.iter().any(|ty| ty.scalar == DType::Fp8E4B15.into()) {
            if let Some(warning) = self.request.facts.fp8e4b15_warning.clone() {
                self.warn(&warning);
            }
            return Ok((self.cast(a, DType::Fp16)?, self.cast(b, DType::Fp16)?));
        }
        Ok((a, b))
    }

    fn dot_matrices(&mut self, mut args: DotArgs) -> Res<Tensor> {
        (args.a, args.b) = self.dot_operands(args.a, args.b)?;
        let precision = self.dot_precision(args.input_precision, args.allow_tf32)?;
        let (dtype_a, dtype_b) = self.dot_dtypes(&args.a, &args.b)?;
        self.check_dot_size(&args.a, &args.b)?;
        let asked = match (args.out_dtype, &args.acc) {
            (Some(dtype), _) => dtype,
            (None, Some(Tensor { ty: Ty { scalar: Scalar::Number(dtype), .. }, .. })) => *dtype,
            _ => DType::Fp32,
        };
        let result = self.dot_result(dtype_a, asked)?;
        let rank = args.a.ty.shape.len();
        let mut shape = args.a.ty.shape.clone();
        shape[rank - 1] = args.b.ty.shape[rank - 1];
        let ty = Ty { scalar: result.into(), shape };
        let acc = match args.acc {
            None => self.literal(&PyValue::Int(0), ty.clone())?,
            Some(acc) if acc.ty.scalar == result.into() => acc,
            Some(acc) => {
                let found = acc.ty.scalar;
                return Err(self.error_help(
                    Cause::Assertion.says(format!("expected accumulator dtype {result}, got {found}")),
                    &format!("make the accumulator a {result}, or pass `out_dtype={found}`"),
                ));
            }
        };
        // 0 stands for "not said"; who says 0 asks for as few as there can be.
        let imprecise = args.max_num_imprecise_acc.map_or(0, |asked| asked.max(1));
        let depth = i64::from(args.a.ty.shape[rank - 1]);
        if dtype_a.is_fp8() && dtype_b.is_fp8() && imprecise > depth {
            return Err(self.error(format!("max_num_imprecise_acc ({imprecise}) must be <= K ({depth})")));
        }
        let attrs = [Some(precision), Some(Attr::int(imprecise, Type::int(32)))];
        let value = self.emit(&dot::DOT, &[args.a.value, args.b.value, acc.value], &attrs)?;
        Ok(Tensor { value, ty })
    }

    fn dot_precision(&mut self, asked: Option<String>, allow_tf32: Option<bool>) -> Res<Attr> {
        if asked.is_some() && allow_tf32.is_some() {
            return Err(self.error(
                Cause::Assertion.says("Only one of input_precision and allow_tf32 can be specified"),
            ));
        }
        let facts = &self.request.facts;
        let allowed = &facts.allowed_dot_precisions;
        let name = match (asked, allow_tf32) {
            (Some(name), _) => name.to_ascii_lowercase(),
            (None, Some(true)) if allowed.iter().any(|name| name == "tf32") => "tf32".to_string(),
            (None, Some(_)) => "ieee".to_string(),
            (None, None) => facts.default_dot_precision.clone(),
        };
        let known = dot::INPUT_PRECISION.value(&name).filter(|_| allowed.contains(&name));
        match known {
            Some(value) => Ok(Attr::Enum { row: &dot::INPUT_PRECISION, value }),
            None => {
                let list = allowed.join(", ");
                Err(self.error(
                    Cause::Assertion
                        .says(format!("input_precision must be one of ({list}) on this target. Got {name}")),
                ))
            }
        }
    }

    fn dot_dtypes(&mut self, a: &Tensor, b: &Tensor) -> Res<(DType, DType)> {
        let supported = |scalar: Scalar| {
            scalar.dtype().filter(|dtype| dtype.is_floating() || matches!(dtype, DType::Int8 | DType::UInt8))
        };
        let (Some(left), Some(right)) = (supported(a.ty.scalar), supported(b.ty.scalar)) else {
            let side =
                if supported(a.ty.scalar).is_none() { ("lhs", a.ty.scalar) } else { ("rhs", b.ty.scalar) };
            return Err(self.error_help(
                Cause::Assertion.says(format!("Unsupported {} dtype {}", side.0, side.1)),
                "`tl.dot` takes int8, fp8, fp16, bf16, fp32 and fp64: cast the operand",
            ));
        };
        if left != right && !(left.is_fp8() && right.is_fp8()) {
            return Err(self.error_help(
                Cause::Assertion.says(format!("Both operands must be same dtype. Got {left} and {right}")),
                &format!("cast one of them, for example with `.to(tl.{})`", left.facts().public),
            ));
        }
        Ok((left, right))
    }

    fn check_dot_size(&mut self, a: &Tensor, b: &Tensor) -> Res<()> {
        let rank = a.ty.shape.len();
        let [m, n, k] = self.request.facts.min_dot_size;
        let (rows, depth, columns) = (a.ty.shape[rank - 2], a.ty.shape[rank - 1], b.ty.shape[rank - 1]);
        if rows >= m && columns >= n && depth >= k {
            return Ok(());
        }
        Err(self.error(Cause::Assertion.says(format!(
            "Input shapes should have M >= {m}, N >= {n} and K >= {k}; got M = {rows}, N = {columns}, K = {depth}"
        ))))
    }

    fn dot_result(&mut self, operand: DType, asked: DType) -> Res<DType> {
        if operand == DType::Int8 || operand == DType::UInt8 {
            return if operand == DType::Int8 {
                Ok(DType::Int32)
            } else {
                Err(self.error(Cause::Assertion.says("only int8 supported!")))
            };
        }
        if asked == DType::Bf16 {
            return Err(self.error(
                "out_dtype=bfloat16 is unsupported. Please use out_dtype=float32/float16 and cast with `.to(tl.bfloat16)`",
            ));
        }
        Ok(match operand {
            DType::Fp32 | DType::Bf16 => DType::Fp32,
            DType::Fp64 => DType::Fp64,
            _ if matches!(asked, DType::Fp16 | DType::Fp32 | DType::Fp64) => asked,
            _ => {
                return Err(self.error(format!(
                    "out_dtype={asked} is unsupported for operands of {operand}. Please use out_dtype=float32/float16"
                )));
            }
        })
    }
}
