//! Recording against one world and replaying against another.

use super::{Recorder, replay};
use frontend::{ArgSpec, DType, Function, FunctionRef, Globals, Object, ObjectRef, PyValue};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Functions, objects and values by name. Identities are drawn from `base`, as if from another process.
#[derive(Clone)]
struct World {
    base: u64,
    values: BTreeMap<&'static str, i128>,
    helper: &'static str,
    method: &'static str,
    factor: i128,
}

impl World {
    fn new(base: u64) -> World {
        World {
            base,
            values: BTreeMap::from([("N", 4)]),
            helper: "def helper(x): return x + K\n",
            method: "def twice(x): return x + x\n",
            factor: 3,
        }
    }

    fn function(&self, offset: u64, name: &str, source: &str) -> FunctionRef {
        FunctionRef(Arc::new(Function {
            id: self.base + offset,
            name: name.into(),
            module: "m".into(),
            file: "m.py".into(),
            first_line: 1,
            source: source.into(),
            noinline: false,
            extensions: frontend::Extensions::default(),
        }))
    }

    fn kernel(&self) -> FunctionRef {
        self.function(0, "kernel", "def kernel(x): pass\n")
    }

    fn object(&self, offset: u64, type_name: &str) -> ObjectRef {
        ObjectRef(Arc::new(Object {
            id: self.base + offset,
            type_name: type_name.into(),
            text: type_name.into(),
        }))
    }
}

impl Globals for World {
    fn lookup(&self, function: &FunctionRef, name: &str) -> Option<PyValue> {
        match name {
            "helper" => Some(PyValue::JitFunction(self.function(1, "helper", self.helper))),
            "scale" => Some(PyValue::ConstexprFunction(self.object(2, "ConstexprFunction"))),
            "config" => Some(PyValue::Object(self.object(3, "module"))),
            _ => {
                let value = self
                    .values
                    .get(name)
                    .copied()
                    .map(|value| PyValue::Constexpr(Box::new(PyValue::Int(value))));
                value.filter(|_| function.0.module == "m")
            }
        }
    }

    fn attribute(&self, object: &ObjectRef, name: &str) -> Option<PyValue> {
        (object.0.id == self.base + 3 && name == "BLOCK").then_some(PyValue::Int(self.factor * 10))
    }

    fn call(
        &self,
        callee: &ObjectRef,
        args: &[PyValue],
        kwargs: &[(String, PyValue)],
    ) -> Result<PyValue, frontend::Fault> {
        assert_eq!(callee.0.id, self.base + 2);
        assert_eq!(kwargs.len(), 1);
        let [PyValue::Int(value)] = args else { return Err("one integer".into()) };
        Ok(PyValue::tuple(vec![PyValue::Int(value * self.factor), PyValue::dtype(DType::Bf16)]))
    }

    fn block_method(&self, name: &str) -> Option<PyValue> {
        (name == "twice").then(|| PyValue::JitFunction(self.function(4, "twice", self.method)))
    }
}

fn args(world: &World) -> Vec<ArgSpec> {
    vec![
        ArgSpec::runtime(DType::Int32),
        ArgSpec::Constexpr(PyValue::JitFunction(world.function(9, "passed", "def passed(a): return a\n"))),
    ]
}

/// What a compile might ask.
fn compile(globals: &dyn Globals, kernel: &FunctionRef, args: &[ArgSpec]) {
    assert!(globals.lookup(kernel, "absent").is_none());
    assert!(globals.lookup(kernel, "N").is_some());
    assert!(globals.lookup(kernel, "N").is_some());
    let Some(PyValue::JitFunction(helper)) = globals.lookup(kernel, "helper") else { panic!("no helper") };
    globals.lookup(&helper, "K");
    let ArgSpec::Constexpr(PyValue::JitFunction(passed)) = &args[1] else { panic!("no function") };
    globals.lookup(passed, "P");
    let Some(PyValue::Object(config)) = globals.lookup(&helper, "config") else { panic!("no module") };
    globals.attribute(&config, "BLOCK");
    assert!(globals.block_method("thrice").is_none());
    assert!(globals.block_method("twice").is_some());
    assert!(globals.block_method("twice").is_some());
    let Some(PyValue::ConstexprFunction(scale)) = globals.lookup(kernel, "scale") else { panic!("no scale") };
    globals
        .call(&scale, &[PyValue::Int(5)], &[("nan".into(), PyValue::Float(f64::NAN))])
        .expect("it answers");
}

fn recorded(world: &World) -> Vec<super::Answered> {
    let recorder = Recorder::new(world, &world.kernel(), &args(world));
    compile(&recorder, &world.kernel(), &args(world));
    recorder.finish().expect("everything came from an answer")
}

fn holds(steps: &[super::Answered], world: &World) -> bool {
    replay(steps, world, &world.kernel(), &args(world))
}

#[test]
fn the_same_world_in_another_process_answers_alike() {
    let steps = recorded(&World::new(100));
    assert_eq!(steps.len(), 11, "a name that is asked twice is written once");
    let bytes = postcard::to_stdvec(&steps).expect("plain data");
    let steps: Vec<super::Answered> = postcard::from_bytes(&bytes).expect("what was written");
    assert!(holds(&steps, &World::new(7000)));
}

#[test]
fn every_change_that_matters_is_seen() {
    let steps = recorded(&World::new(100));
    for name in ["N", "K", "P", "absent"] {
        let mut world = World::new(1);
        world.values.insert(name, 5);
        assert!(!holds(&steps, &world), "{name} changed");
    }
    assert!(!holds(&steps, &World { factor: 4, ..World::new(1) }), "an attribute and a result changed");
    assert!(
        !holds(&steps, &World { helper: "def helper(x): return x - K\n", ..World::new(1) }),
        "a callee changed"
    );
    assert!(
        !holds(&steps, &World { method: "def twice(x): return 2 * x\n", ..World::new(1) }),
        "a method of blocks changed"
    );
    let mut world = World::new(1);
    world.values.insert("unrelated", 5);
    assert!(holds(&steps, &world), "what nobody asked does not matter");
}

#[test]
fn what_no_answer_gave_makes_the_list_unsound() {
    let world = World::new(1);
    let recorder = Recorder::new(&world, &world.kernel(), &[]);
    recorder.lookup(&world.function(77, "stranger", "def stranger(): pass\n"), "N");
    assert!(recorder.finish().is_none());
}

#[test]
fn two_names_of_one_object_differ_from_two_objects() {
    struct Pair(u64);
    impl Globals for Pair {
        fn lookup(&self, _function: &FunctionRef, name: &str) -> Option<PyValue> {
            let id = if name == "b" { self.0 } else { 1 };
            Some(PyValue::Object(ObjectRef(Arc::new(Object { id, type_name: "T".into(), text: "T".into() }))))
        }
        fn attribute(&self, _object: &ObjectRef, _name: &str) -> Option<PyValue> {
            None
        }
        fn call(
            &self,
            _: &ObjectRef,
            _: &[PyValue],
            _: &[(String, PyValue)],
        ) -> Result<PyValue, frontend::Fault> {
            Err(String::new().into())
        }
    }
    let kernel = World::new(50).kernel();
    let (same, different) = (Pair(1), Pair(2));
    let recorder = Recorder::new(&same, &kernel, &[]);
    recorder.lookup(&kernel, "a");
    recorder.lookup(&kernel, "b");
    let steps = recorder.finish().expect("sound");
    assert!(replay(&steps, &same, &kernel, &[]));
    assert!(!replay(&steps, &different, &kernel, &[]));
}
