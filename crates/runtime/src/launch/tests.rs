//! Keys, variants and predictions of launches, for an interface whose values are numbers and memory.

use super::prediction::float_slot;
use super::{Context, Prediction, Prepared, Seen, Slots, Value, Variants};
use crate::specialize::{Argument, FINEST, LaunchKey, ParamRules, decode};
use crate::testing::FakeTarget;
use frontend::{ArgSpec, DType, PyValue, Scalar};
use std::collections::BTreeSet;
use std::sync::Arc;
use target::Extent;

fn context(needs_alignment: bool) -> Context {
    let mut context = Context::new(Arc::new(FakeTarget::default()));
    context.needs_alignment = needs_alignment;
    context
}

const ADDRESSES: ParamRules = ParamRules {
    constexpr: false,
    constant: false,
    specialize: true,
    align: true,
    addresses: true,
    fixed: None,
};

/// What integers are known to be multiples of, in a call with memory of these element types.
fn divisors(context: &Context, rules: ParamRules, elements: &[DType], integers: &[i64]) -> Vec<u8> {
    let mut prepared = Prepared::new(context);
    for &dtype in elements {
        prepared.pointer(&rules, dtype, 0x1000);
    }
    for &integer in integers {
        prepared.argument(&rules, Argument::Int(integer)).expect("fits");
    }
    prepared.end_arguments(context, false);
    let args = decode(prepared.key.words(), &|_| PyValue::None);
    let divisor = |arg: &ArgSpec| match arg {
        ArgSpec::Runtime { known, .. } => known.divisibility,
        _ => 0,
    };
    args.iter().skip(elements.len()).map(divisor).collect()
}

#[test]
fn integers_are_looked_at_as_far_as_accesses_get_wider() {
    let (fine, plain) = (context(true), context(false));
    let all = [4040, 4100, 4098, 4097, 4096, 0, -8, 1];
    assert_eq!(divisors(&fine, ADDRESSES, &[DType::Fp16], &all), [8, 4, 2, 1, 16, 16, 8, 0]);
    assert_eq!(divisors(&fine, ADDRESSES, &[DType::Fp32], &all), [4, 4, 2, 1, 16, 16, 4, 0]);
    assert_eq!(divisors(&fine, ADDRESSES, &[DType::Fp64], &all), [2, 2, 2, 1, 16, 16, 2, 0]);
    assert_eq!(divisors(&fine, ADDRESSES, &[DType::Int8, DType::Fp32], &all), [8, 4, 2, 1, 16, 16, 8, 0]);
    assert_eq!(divisors(&fine, ADDRESSES, &[DType::Fp32, DType::Bf16], &all), [8, 4, 2, 1, 16, 16, 8, 0]);
    // Without memory, on targets that need no alignment, and for integers that reach no address, as ever.
    let usual = [1, 1, 1, 1, 16, 16, 1, 0];
    assert_eq!(divisors(&fine, ADDRESSES, &[], &all), usual);
    assert_eq!(divisors(&plain, ADDRESSES, &[DType::Fp16], &all), usual);
    assert_eq!(divisors(&fine, ParamRules::default(), &[DType::Fp16], &all), usual);
    let unaligned = ParamRules { align: false, ..ADDRESSES };
    assert_eq!(divisors(&fine, unaligned, &[DType::Fp16], &all), [1, 1, 1, 1, 1, 1, 1, 0]);
    let unspecialized = ParamRules { specialize: false, ..ADDRESSES };
    assert_eq!(divisors(&fine, unspecialized, &[DType::Fp16], &all), [1; 8]);
}

/// How many kernels a sweep of sizes makes.
fn variants(context: &Context, elements: &[DType], calls: impl Iterator<Item = Vec<i64>>) -> usize {
    let keys: BTreeSet<Vec<u8>> = calls.map(|call| divisors(context, ADDRESSES, elements, &call)).collect();
    keys.len()
}

#[test]
fn sweeps_of_sizes_make_few_variants() {
    let (fine, plain) = (context(true), context(false));
    // An elementwise kernel over every size from 2 to 4096.
    let sizes = || (2..=4096).map(|n| vec![n]);
    assert_eq!((variants(&plain, &[DType::Fp32], sizes()), variants(&fine, &[DType::Fp32], sizes())), (2, 4));
    assert_eq!(variants(&fine, &[DType::Fp16], sizes()), 5);
    // The usual sweep of a square matmul, M, N, K and three strides: nothing but multiples of 16.
    let squares = || (2..=64).map(|step| vec![step * 128; 6]);
    assert_eq!(variants(&fine, &[DType::Fp16; 3], squares()), 1);
    // Rows of a softmax, 128 columns apart and one column apart.
    let rows = || (2..=100).map(|step| vec![128 * step, 128 * step]).chain((781..=800).map(|n| vec![n, n]));
    assert_eq!((variants(&plain, &[DType::Fp32], rows()), variants(&fine, &[DType::Fp32], rows())), (2, 4));
}

/// A value of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Given {
    Int(i64),
    Float(f64),
    Memory(DType, u64),
}

impl Value for Given {
    type Object = Given;

    fn is(&self, object: &Given) -> bool {
        self == object
    }

    fn int(&self) -> Option<i64> {
        if let Given::Int(value) = self { Some(*value) } else { None }
    }

    fn float(&self) -> Option<f64> {
        if let Given::Float(value) = self { Some(*value) } else { None }
    }

    fn memory(&self) -> Option<(DType, u64)> {
        if let Given::Memory(dtype, address) = self { Some((*dtype, *address)) } else { None }
    }

    fn extent(&self) -> Option<Extent> {
        if let Given::Memory(_, address) = self { extent_at(*address) } else { None }
    }
}

/// How far memory goes: what begins at a megabyte has 4 GiB, what lies behind says nothing.
fn extent_at(address: u64) -> Option<Extent> {
    let len = if address < 1 << 20 { 1 << 20 } else { 1 << 32 };
    let base = if address < 1 << 20 { 0 } else { 1 << 20 };
    (address < 1 << 33).then_some(Extent { base, len, writable: true })
}

fn prepared(context: &Context, call: &[Given]) -> Prepared {
    let mut prepared = Prepared::new(context);
    for value in call {
        let argument = match *value {
            Given::Int(value) => Argument::Int(value),
            Given::Float(value) => Argument::Float(value),
            Given::Memory(dtype, address) => Argument::Pointer { dtype, address },
        };
        prepared.argument(&ADDRESSES, argument).expect("fits");
        if let Some(extent) = value.extent() {
            prepared.extent(&extent);
        }
    }
    prepared.end_arguments(context, false);
    prepared
}

fn predicted(context: &Context, call: &[Given]) -> Prediction<Given> {
    let mut prediction = Prediction::new(call.len(), &prepared(context, call));
    for (at, value) in call.iter().enumerate() {
        let seen = match *value {
            Given::Int(int) => Seen::Number(Argument::Int(int), *value),
            Given::Float(float) => Seen::Number(Argument::Float(float), *value),
            Given::Memory(dtype, address) => Seen::Memory { dtype, address, extent: value.extent() },
        };
        assert!(prediction.argument(Some(at), seen, &ADDRESSES));
    }
    prediction
}

#[test]
fn a_prediction_takes_calls_of_the_same_key_and_no_others() {
    let ints =
        [0, 1, 2, 4, 8, 12, 16, 17, 4040, -1, -16, 1 << 31, (1 << 31) - 1, i64::MIN, i64::MAX, 1 << 40];
    // The last two lie in memory of 4 GiB, and where nobody knows how far it goes.
    let pointers = [
        (DType::Fp16, 0x1000),
        (DType::Fp16, 0x1008),
        (DType::Fp32, 0x1000),
        (DType::Fp16, 1 << 21),
        (DType::Fp16, 1 << 34),
    ];
    let calls: Vec<Vec<Given>> = pointers
        .into_iter()
        .flat_map(|(dtype, address)| ints.map(|int| (dtype, address, int)))
        .flat_map(|(dtype, address, int)| {
            let memory = Given::Memory(dtype, address);
            [vec![memory, Given::Int(int)], vec![memory, Given::Float(int as f64 + 0.5)]]
        })
        .collect();
    let mut looking = context(true);
    looking.looks_at_extents = true;
    for context in [context(true), context(false), looking] {
        for first in &calls {
            let (prediction, key) = (predicted(&context, first), prepared(&context, first).key);
            for next in &calls {
                let other = prepared(&context, next);
                let mut slots = Slots::new();
                let fits = prediction.read(|at| next.get(at).copied(), &mut slots);
                assert_eq!(fits, other.key == key, "{first:?} then {next:?}");
                assert!(!fits || slots == other.slots, "{first:?} then {next:?}");
            }
        }
    }
}

#[test]
fn words_and_slots_are_those_of_the_rules() {
    for value in [0, 1, 2, 16, 17, -1, 8, i64::MIN, i64::MAX, 1 << 40] {
        for (rules, finest) in [(ADDRESSES, FINEST), (ADDRESSES, 0), (ParamRules::default(), FINEST)] {
            let mut key = LaunchKey::new();
            let slot = rules.apply(Argument::Int(value), finest, &mut key).expect("an integer");
            match rules.int_word(value, finest) {
                Some(word) => assert_eq!((key.words(), slot), (&[word][..], Some(value.cast_unsigned()))),
                None => assert_eq!((value, slot), (1, None)),
            }
        }
    }
    for value in [0.0, -0.0, 0.1, 1e300, f64::NAN, f64::INFINITY] {
        // Annotated as what it is, it has the same words, so that the next launch is predicted all the same.
        let single = ParamRules { fixed: Some(Scalar::Number(DType::Fp32)), ..ParamRules::default() };
        let [plain, annotated] = [ParamRules::default(), single].map(|rules| {
            let mut key = LaunchKey::new();
            let slot = rules.apply(Argument::Float(value), 0, &mut key).expect("a float");
            (slot, key)
        });
        assert_eq!(plain.0, Some(float_slot(value)));
        assert_eq!(plain, annotated);
    }
}

#[test]
fn floats_are_predicted_where_they_are_annotated_as_such() {
    let context = context(true);
    let single = ParamRules { fixed: Some(Scalar::Number(DType::Fp32)), ..ADDRESSES };
    let mut prediction = Prediction::new(1, &prepared(&context, &[]));
    let seen = Seen::Number(Argument::Float(0.5), Given::Float(0.5));
    assert!(prediction.argument(Some(0), seen, &single));
    let mut slots = Slots::new();
    assert!(prediction.read(|_| Some(Given::Float(7.25)), &mut slots));
    assert!(!prediction.read(|_| Some(Given::Int(7)), &mut Slots::new()));
    let mut wanted = Slots::new();
    wanted.extend(Some(float_slot(7.25)));
    assert_eq!(slots, wanted);
}

#[test]
fn predictions_go_with_their_kernels() {
    let variants: Variants<u32, u32> = Variants::default();
    let mut key = LaunchKey::new();
    key.int(7);
    assert!(variants.find(&key).is_none());
    let first = variants.add(key.clone(), Arc::new(1));
    assert_eq!(*variants.add(key.clone(), Arc::new(2)), 1, "who was first stays");
    variants.remember(&key, &first, || Some(10));
    assert_eq!(variants.prediction().as_deref(), Some(&10));
    variants.remember(&key, &Arc::new(1), || Some(11));
    assert_eq!(variants.prediction().as_deref(), Some(&10), "the kernel of the key is another one");
    variants.clear();
    assert!(variants.find(&key).is_none() && variants.prediction().is_none() && variants.all().is_empty());
    variants.remember(&key, &first, || Some(12));
    assert!(variants.prediction().is_none());
}
