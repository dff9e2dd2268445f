//! The rules against the reference's table.

use super::{Argument, LaunchKey, ParamRules, TensorArgument, decode};
use frontend::{ArgSpec, DType, DescriptorSpec, Known, Pointer, PyValue, Scalar};
use smallvec::smallvec;

fn apply(rules: ParamRules, argument: Argument) -> (ArgSpec, Option<u64>) {
    let mut key = LaunchKey::new();
    let slot = rules.apply(argument, 0, &mut key).expect("fits");
    let mut args = decode(key.words(), &|_| PyValue::None);
    assert_eq!(args.len(), 1);
    (args.remove(0), slot)
}

fn runtime(dtype: DType, divisible_by_16: bool) -> ArgSpec {
    ArgSpec::Runtime {
        ty: Scalar::Number(dtype),
        known: Known::divisible_by(if divisible_by_16 { 16 } else { 1 }),
    }
}

#[test]
fn integers() {
    let rules = ParamRules::default();
    let cases = [
        (1, ArgSpec::Constexpr(PyValue::Int(1))),
        (0, runtime(DType::Int32, true)),
        (-16, runtime(DType::Int32, true)),
        (17, runtime(DType::Int32, false)),
        (i64::from(i32::MAX), runtime(DType::Int32, false)),
        (i64::from(i32::MIN), runtime(DType::Int32, true)),
        (i64::from(i32::MAX) + 1, runtime(DType::Int64, true)),
        (i64::from(i32::MIN) - 1, runtime(DType::Int64, false)),
        (i64::MAX, runtime(DType::Int64, false)),
    ];
    for (value, spec) in cases {
        let (got, slot) = apply(rules, Argument::Int(value));
        assert_eq!(got, spec, "{value}");
        assert_eq!(slot.is_none(), value == 1);
        assert!(slot.is_none_or(|slot| slot == value.cast_unsigned()));
    }
    assert_eq!(apply(rules, Argument::BigInt(1 << 63)), (runtime(DType::UInt64, true), Some(1 << 63)));
}

#[test]
fn texts_of_annotations() {
    let pointer = |pointee, constant| Some(Scalar::Pointer(Pointer { pointee, constant }));
    let cases = [
        ("int", None),
        ("int*", pointer(DType::Int32, false)),
        ("int32_t", Some(DType::Int32.into())),
        ("float", Some(DType::Fp32.into())),
        ("'bool'", Some(DType::Int1.into())),
        ("double", Some(DType::Fp64.into())),
        ("int64_t", Some(DType::Int64.into())),
        ("tl.uint8", Some(DType::UInt8.into())),
        ("half*", pointer(DType::Fp16, false)),
        ("const float *", pointer(DType::Fp32, true)),
        ("*ki32", pointer(DType::Int32, true)),
        ("torch.Tensor", None),
        ("tl.pi32_t", None),
    ];
    for (text, fixed) in cases {
        assert_eq!(ParamRules::of_annotation(text).fixed, fixed, "{text}");
    }
    assert!(ParamRules::of_annotation("tl.constexpr").constexpr);
    assert!(ParamRules::of_annotation("const float*").constant);
}

#[test]
fn what_is_not_to_be_specialised() {
    let none = ParamRules { specialize: false, ..ParamRules::default() };
    assert_eq!(apply(none, Argument::Int(1)), (runtime(DType::Int32, false), Some(1)));
    assert_eq!(apply(none, Argument::Int(32)), (runtime(DType::Int32, false), Some(32)));
    let unaligned = ParamRules { align: false, ..ParamRules::default() };
    assert_eq!(apply(unaligned, Argument::Int(1)), (ArgSpec::Constexpr(PyValue::Int(1)), None));
    assert_eq!(apply(unaligned, Argument::Int(32)).0, runtime(DType::Int32, false));
}

#[test]
fn pointers_floats_bools_and_none() {
    let rules = ParamRules { constant: true, ..ParamRules::default() };
    let pointer = |address| apply(rules, Argument::Pointer { dtype: DType::Bf16, address }).0;
    let ty = Scalar::Pointer(Pointer { pointee: DType::Bf16, constant: true });
    assert_eq!(pointer(0x1000), ArgSpec::Runtime { ty, known: Known::divisible_by(16) });
    assert_eq!(pointer(0x1008), ArgSpec::Runtime { ty, known: Known::NOTHING });
    assert_eq!(
        apply(rules, Argument::Float(0.1)),
        (runtime(DType::Fp32, false), Some(u64::from(0.1f32.to_bits())))
    );
    assert_eq!(apply(rules, Argument::Bool(true)), (runtime(DType::Int1, false), Some(1)));
    assert_eq!(apply(rules, Argument::None), (ArgSpec::Constexpr(PyValue::None), None));
}

#[test]
fn an_annotation_fixes_the_type() {
    let fixed = |ty| ParamRules { fixed: Some(ty), ..ParamRules::default() };
    let number = |dtype| fixed(Scalar::Number(dtype));
    let ones = |dtype| {
        let known = Known { one: true, ..Known::NOTHING };
        (ArgSpec::Runtime { ty: Scalar::Number(dtype), known }, Some(1))
    };
    assert_eq!(apply(number(DType::Int64), Argument::Int(1)), ones(DType::Int64));
    assert_eq!(apply(number(DType::UInt8), Argument::BigInt(1)), ones(DType::UInt8));
    assert_eq!(apply(number(DType::Int64), Argument::Int(3)), (runtime(DType::Int64, false), Some(3)));
    assert_eq!(apply(number(DType::Int1), Argument::Int(1)), (runtime(DType::Int1, false), Some(1)));
    let plain = ParamRules { specialize: false, ..number(DType::Int64) };
    assert_eq!(apply(plain, Argument::Int(1)), (runtime(DType::Int64, false), Some(1)));
    assert_eq!(
        apply(number(DType::Int8), Argument::Int(-16)),
        (runtime(DType::Int8, true), Some((-16i64) as u64))
    );
    assert_eq!(
        apply(number(DType::Fp64), Argument::Int(3)),
        (runtime(DType::Fp64, false), Some(3f64.to_bits()))
    );
    assert_eq!(apply(number(DType::Fp16), Argument::Float(1.0)), (runtime(DType::Fp16, false), Some(0x3c00)));
    assert_eq!(apply(number(DType::Bf16), Argument::Float(1.0)).1, Some(0x3f80));
    let pointer = Scalar::Pointer(Pointer { pointee: DType::Fp32, constant: false });
    assert_eq!(apply(fixed(pointer), Argument::None).1, Some(0));
    let refuse = |rules: ParamRules, argument| {
        rules.apply(argument, 0, &mut LaunchKey::new()).expect_err("does not fit").to_string()
    };
    assert!(refuse(number(DType::Int8), Argument::Int(128)).contains("-128 to 127"));
    assert!(refuse(number(DType::UInt32), Argument::Int(-1)).contains("out of range"));
    assert!(refuse(number(DType::Int32), Argument::Float(1.5)).contains("annotated as i32"));
    assert!(refuse(fixed(pointer), Argument::Float(1.5)).contains("*fp32"));
    assert!(
        refuse(number(DType::Int32), Argument::Pointer { dtype: DType::Fp32, address: 0 })
            .contains("an array")
    );
}

#[test]
fn a_key_holds_nested_tuples_and_stops_at_the_options() {
    let mut key = LaunchKey::new();
    key.tuple(2, Some(3));
    key.runtime(Scalar::Number(DType::Fp32), 0);
    key.const_tuple(2, None);
    key.int(-5);
    key.object(8);
    key.dtype(Scalar::Number(DType::Fp8E5));
    key.float(-0.0);
    key.bool(true);
    key.option(1, 4);
    let object = |number| match number {
        3 => PyValue::tuple(vec![PyValue::str("x"), PyValue::str("y")]),
        other => PyValue::Int(i128::from(other)),
    };
    let args = decode(key.words(), &object);
    let inner = PyValue::tuple(vec![PyValue::Int(-5), PyValue::Int(8)]);
    assert_eq!(args.len(), 4);
    assert_eq!(
        args[0],
        ArgSpec::Tuple {
            items: vec![runtime(DType::Fp32, false), ArgSpec::Constexpr(inner)],
            fields: Some(vec!["x".into(), "y".into()])
        }
    );
    assert_eq!(args[1], ArgSpec::Constexpr(PyValue::dtype(DType::Fp8E5)));
    let ArgSpec::Constexpr(PyValue::Float(zero)) = args[2] else { panic!("not a float") };
    assert!(zero.is_sign_negative());
    assert_eq!(args[3], ArgSpec::Constexpr(PyValue::Bool(true)));
}

#[test]
fn values_that_python_calls_equal_are_different_keys() {
    let key = |write: &dyn Fn(&mut LaunchKey)| {
        let mut key = LaunchKey::new();
        write(&mut key);
        key
    };
    let keys = [
        key(&|key| key.int(1)),
        key(&|key| key.bool(true)),
        key(&|key| key.float(1.0)),
        key(&|key| key.none()),
        key(&|key| key.float(0.0)),
        key(&|key| key.float(-0.0)),
    ];
    for (index, one) in keys.iter().enumerate() {
        assert!(keys.iter().skip(index + 1).all(|other| other != one));
    }
}

fn descriptor() -> TensorArgument {
    TensorArgument {
        dtype: DType::Bf16,
        address: 0x1000,
        shape: smallvec![3, 5, 48],
        strides: smallvec![5 * 56, 56, 1],
        block: smallvec![1, 1 << 10, 1 << 10],
        pads_nan: true,
        rounds_to_tf32: false,
    }
}

#[test]
fn descriptors_are_a_word_of_the_key_and_slots() {
    let spec = |tensor: &TensorArgument, rules: ParamRules| {
        let mut key = LaunchKey::new();
        rules.describe(tensor, &mut key).expect("it keeps the rules");
        key.int(7);
        let mut args = decode(key.words(), &|_| PyValue::None);
        assert_eq!(args.pop(), Some(ArgSpec::Constexpr(PyValue::Int(7))));
        args.remove(0)
    };
    let mut tensor = descriptor();
    let expected = DescriptorSpec {
        element: DType::Bf16,
        block: vec![1, 1 << 10, 1 << 10],
        pads_nan: true,
        rounds_to_tf32: false,
        divisible_by_16: true,
    };
    assert_eq!(spec(&tensor, ParamRules::default()), ArgSpec::Descriptor(expected.clone()));
    assert_eq!(tensor.slots().collect::<Vec<_>>(), [0x1000, 3, 5, 48, 280, 56, 1]);
    let not_divisible = DescriptorSpec { divisible_by_16: false, ..expected.clone() };
    let unspecialized = ParamRules { specialize: false, ..ParamRules::default() };
    assert_eq!(spec(&tensor, unspecialized), ArgSpec::Descriptor(not_divisible.clone()));
    assert!(tensor.fits(&expected).is_ok() && tensor.fits(&not_divisible).is_ok());
    tensor.shape[2] = 56;
    assert!(tensor.fits(&expected).is_ok());
    tensor.shape[2] = 47;
    assert_eq!(spec(&tensor, ParamRules::default()), ArgSpec::Descriptor(not_divisible.clone()));
    assert!(tensor.fits(&not_divisible).is_ok());
    let error = tensor.fits(&expected).expect_err("47 are 94 bytes").to_string();
    assert!(error.contains("tensordesc<bf16[1, 1024, 1024], padding=nan>, its rows"), "{error}");
}

#[test]
fn descriptors_keep_the_rules() {
    type Change = fn(&mut TensorArgument);
    let changes: [(Change, &str); 12] = [
        (|tensor| tensor.address = 0x1008, "base must be 16-byte aligned"),
        (|tensor| tensor.strides[1] = 52, "strides must be 16-byte aligned"),
        (|tensor| tensor.strides[2] = 8, "Last dimension must be contiguous"),
        (|tensor| tensor.shape[0] = 0, "shape must be positive"),
        (|tensor| tensor.shape[0] = 1 << 31, "fit 32 bits"),
        (|tensor| tensor.shape.truncate(2), "rank mismatch"),
        (|tensor| tensor.block.push(1), "rank mismatch"),
        (|tensor| tensor.block[1] = 12, "must be a power of 2"),
        (|tensor| tensor.block[1] = -8, "must be a power of 2"),
        (|tensor| tensor.block[0] = 2, "exceeds triton maximum"),
        (|tensor| tensor.dtype = DType::Int16, "only supported for floating point"),
        (|tensor| tensor.rounds_to_tf32 = true, "only supported for float32"),
    ];
    for (change, wanted) in changes {
        let mut tensor = descriptor();
        change(&mut tensor);
        let error = ParamRules::default().describe(&tensor, &mut LaunchKey::new()).expect_err(wanted);
        assert!(error.to_string().contains(wanted), "{error}");
    }
    let mut none = descriptor();
    (none.shape, none.strides, none.block) = Default::default();
    assert!(none.check().expect_err("no dimension").contains("rank must be"));
}
