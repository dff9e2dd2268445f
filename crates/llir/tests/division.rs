//! Quotients and rests by constants are what they were.

mod evaluate;

use llir::passes::optimize;
use llir::{FunctionBuilder, Module, Op, Param, ParamAttributes, Type, Value, verify};

/// Stores quotient and rest, of signed and of unsigned numbers, by a constant.
fn divisions(ty: Type, mask: i64, divisor: i64) -> Module {
    let mut module = Module::new("test");
    let param = |ty: Type| Param { ty, name: String::new(), attributes: ParamAttributes::default() };
    let id = module.add_function("f", Type::VOID, vec![param(Type::pointer(1)), param(ty)]);
    let mut b = FunctionBuilder::new(&mut module, id);
    let (to, x) = (b.param(0), b.param(1));
    let (mask, divisor) = (b.int(ty, mask), b.int(ty, divisor));
    let x = b.and(x, mask);
    let results: Vec<Value> =
        [Op::SDIV, Op::SREM, Op::UDIV, Op::UREM].iter().map(|op| b.binary(*op, x, divisor)).collect();
    for value in results {
        b.store(value, to, 1);
    }
    b.ret(None);
    b.finish();
    module
}

#[test]
fn constants_divide_exactly() {
    let near = |number: i64| [number - 1, number, number + 1];
    let divisors =
        [2, 3, 5, 6, 7, 9, 10, 12, 25, 28, 64, 100, 641, 1000, 4096, 65537, 0x4000_0000, 0x7fff_ffff];
    let least = i64::from(i32::MIN);
    for divisor in divisors.iter().flat_map(|number| [*number, -number]).chain([least]) {
        for (ty, mask) in [(Type::I32, -1), (Type::I32, 0xffff), (Type::I64, -1), (Type::I64, 0xffff_ffff)] {
            let before = divisions(ty, mask, divisor);
            let mut after = before.clone();
            optimize(&mut after, &[], &mut |_, _| {});
            verify(&after).unwrap_or_else(|errors| panic!("{errors:?}\n{after}"));
            let left = after.to_string().contains("div i32") || after.to_string().contains("rem i32");
            assert!(!left || divisor == least, "{after}");
            let multiples = (-3..4).map(|times| divisor * times);
            let numbers = multiples.chain([0, least, -least, 1 << 32, i64::MAX, 123_456_789, -987_654_321]);
            for number in numbers.flat_map(|number| near(number.clamp(i64::MIN + 1, i64::MAX - 1))) {
                let args = [0x1000, u128::from(number as u64) & ((1 << ty.lane_bits()) - 1)];
                let of = |module: &Module| {
                    evaluate::stores(module.functions().next().expect("one"), &args)
                        .expect("it has a meaning")
                };
                assert_eq!(of(&before), of(&after), "{number} by {divisor}\n{after}");
            }
        }
    }
}

#[test]
fn a_quotient_gives_its_rest() {
    let mut module = Module::new("test");
    let param = |ty: Type| Param { ty, name: String::new(), attributes: ParamAttributes::default() };
    let params = vec![param(Type::pointer(1)), param(Type::I32), param(Type::I32)];
    let id = module.add_function("f", Type::VOID, params);
    let mut b = FunctionBuilder::new(&mut module, id);
    let (to, x, y) = (b.param(0), b.param(1), b.param(2));
    for op in [Op::SDIV, Op::SREM] {
        let value = b.binary(op, x, y);
        b.store(value, to, 4);
    }
    b.ret(None);
    b.finish();
    optimize(&mut module, &[], &mut |_, _| {});
    let text = module.to_string();
    assert!(text.contains("sdiv") && !text.contains("srem"), "{text}");
}
