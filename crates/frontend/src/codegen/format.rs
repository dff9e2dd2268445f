//! f-strings over values known at compile time.

use crate::codegen::value::Val;
use crate::codegen::{Ctx, Res};
use crate::constexpr;
use crate::value::PyValue;
use ruff_python_ast::{self as ast, ConversionFlag, FStringPart, InterpolatedStringElement};

impl Ctx<'_> {
    /// An f-string. Format specifications are not applied, as in the reference.
    pub(crate) fn f_string(&mut self, expr: &ast::ExprFString) -> Res<Val> {
        let mut text = String::new();
        for part in expr.value.iter() {
            match part {
                FStringPart::Literal(literal) => text.push_str(literal),
                FStringPart::FString(inner) => {
                    for element in &inner.elements {
                        self.f_string_element(element, &mut text)?;
                    }
                }
            }
        }
        Ok(Val::Const(PyValue::str(&text)))
    }

    fn f_string_element(&mut self, element: &InterpolatedStringElement, text: &mut String) -> Res<()> {
        match element {
            InterpolatedStringElement::Literal(literal) => text.push_str(&literal.value),
            InterpolatedStringElement::Interpolation(inner) => {
                let val = self.expr(&inner.expression)?;
                if let Some(debug) = &inner.debug_text {
                    text.push_str(&format!(
                        "{}{}{}",
                        debug.leading(),
                        self.text_of(&inner.expression),
                        debug.trailing()
                    ));
                }
                let value = match &val {
                    Val::Type(ty) => PyValue::str(&ty.to_string()),
                    Val::ConstexprType(value) => {
                        PyValue::str(&format!("constexpr_type[{}]", constexpr::text(value)))
                    }
                    other => match other.to_py() {
                        Some(value) => value,
                        None => {
                            let message = format!(
                                "Cannot evaluate f-string containing non-constexpr conversion values, found {}",
                                val.describe()
                            );
                            return Err(
                                self.unsupported(message, "print run-time values with `tl.device_print`")
                            );
                        }
                    },
                };
                text.push_str(&match inner.conversion {
                    ConversionFlag::Repr | ConversionFlag::Ascii => constexpr::repr(&value),
                    _ => constexpr::text(&value),
                });
            }
        }
        Ok(())
    }

    fn text_of(&mut self, expr: &ast::Expr) -> String {
        use ruff_text_size::Ranged;
        self.frame().parsed.text.slice(expr.range()).to_string()
    }
}
