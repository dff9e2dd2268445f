//! Objects with named fields: `@triton.aggregate` classes and calls of `NamedTuple` classes.
//!
//! The classes themselves live outside; they are asked for their fields, defaults and methods. An aggregate is a value
//! like any other: its fields are set while its `__init__` is walked, and never again.

use crate::codegen::value::{Aggregate, Tuple, Val};
use crate::codegen::{Ctx, Res};
use crate::value::{ObjectRef, PyValue};
use ruff_python_ast::name::Name;
use std::rc::Rc;
use std::sync::Arc;

/// What a class says of itself under a name.
fn texts(value: Option<PyValue>) -> Option<Vec<Arc<str>>> {
    let Some(PyValue::Tuple(tuple)) = value else { return None };
    let text = |item: &PyValue| match item {
        PyValue::Str(text) => Some(text.clone()),
        _ => None,
    };
    tuple.items.iter().map(text).collect()
}

impl Ctx<'_> {
    pub(crate) fn class_attribute(&self, class: &ObjectRef, name: &str) -> Option<PyValue> {
        self.request.globals.attribute(class, name)
    }

    /// The fields of an object that is an aggregate class.
    fn aggregate_fields(&self, class: &ObjectRef) -> Option<Vec<Arc<str>>> {
        if class.0.type_name != "type" {
            return None;
        }
        texts(self.class_attribute(class, "__aggregate_fields__"))
    }

    /// A function of a class that kernels can walk: a `@jit` function, or the text of a plain method.
    pub(crate) fn class_function(&self, class: &ObjectRef, name: &str) -> Option<PyValue> {
        if let Some(plain) = self.class_attribute(class, &format!("__deuteron_method_{name}")) {
            return Some(plain);
        }
        self.class_attribute(class, name)
    }

    /// Calls a class that has fields; `None` for any other object.
    pub(crate) fn call_class(
        &mut self,
        class: &ObjectRef,
        args: Vec<Val>,
        keywords: Vec<(String, Val)>,
    ) -> Option<Res<Val>> {
        if let Some(names) = self.aggregate_fields(class) {
            return Some(self.make_aggregate(class, names, args, keywords));
        }
        if class.0.type_name != "type" {
            return None;
        }
        let fields = texts(self.class_attribute(class, "_fields"))?;
        Some(self.make_named_tuple(class, fields, args, keywords))
    }

    /// Arguments in the order of fields; those without one are asked of `default`.
    fn fields(
        &mut self,
        class: &ObjectRef,
        names: &[Arc<str>],
        args: Vec<Val>,
        keywords: Vec<(String, Val)>,
        default: fn(&Self, &ObjectRef, &str) -> Option<PyValue>,
    ) -> Res<Vec<Val>> {
        let class_name = self.class_name(class);
        if args.len() > names.len() {
            let (most, given) = (names.len(), args.len());
            return Err(self.error(format!("{class_name}() takes {most} arguments but {given} were given")));
        }
        let mut values: Vec<Option<Val>> = args.into_iter().map(Some).collect();
        values.resize(names.len(), None);
        for (keyword, val) in keywords {
            if matches!(keyword.as_str(), "_semantic" | "_generator" | "_builder") {
                continue;
            }
            match names.iter().position(|name| **name == *keyword) {
                Some(at) if values[at].is_some() => {
                    let message = format!("{class_name}() got multiple values for argument '{keyword}'");
                    return Err(self.error(message));
                }
                Some(at) => values[at] = Some(val),
                None => {
                    let message = format!("{class_name}() got an unexpected keyword argument '{keyword}'");
                    return Err(self.error(message));
                }
            }
        }
        let mut bound = Vec::with_capacity(names.len());
        for (name, value) in names.iter().zip(values) {
            let value = value.or_else(|| default(self, class, name).map(Val::from_py));
            let Some(value) = value else {
                return Err(self.error(format!("{class_name}() missing required argument: '{name}'")));
            };
            self.usable(&value)?;
            bound.push(value);
        }
        Ok(bound)
    }

    pub(crate) fn class_name(&self, class: &ObjectRef) -> String {
        match self.class_attribute(class, "__name__") {
            Some(PyValue::Str(name)) => name.to_string(),
            _ => class.0.text.clone(),
        }
    }

    fn make_named_tuple(
        &mut self,
        class: &ObjectRef,
        fields: Vec<Arc<str>>,
        args: Vec<Val>,
        keywords: Vec<(String, Val)>,
    ) -> Res<Val> {
        let default = |ctx: &Self, class: &ObjectRef, name: &str| {
            let Some(PyValue::Object(all)) = ctx.class_attribute(class, "_field_defaults") else {
                return None;
            };
            let Some(PyValue::Object(get)) = ctx.class_attribute(&all, "__getitem__") else { return None };
            ctx.request.globals.call(&get, &[PyValue::str(name)], &[]).ok()
        };
        let items = self.fields(class, &fields, args, keywords, default)?;
        Ok(Val::Tuple(Rc::new(Tuple { items, fields: Some(fields) })))
    }

    fn make_aggregate(
        &mut self,
        class: &ObjectRef,
        names: Vec<Arc<str>>,
        args: Vec<Val>,
        keywords: Vec<(String, Val)>,
    ) -> Res<Val> {
        let Some(PyValue::JitFunction(init)) = self.class_attribute(class, "__deuteron_init__") else {
            let default = |ctx: &Self, class: &ObjectRef, name: &str| ctx.class_attribute(class, name);
            let values = self.fields(class, &names, args, keywords, default)?;
            return Ok(Val::Aggregate(Rc::new(Aggregate { class: class.clone(), names, values })));
        };
        let unset = Val::Undefined(Rc::from("a field of an aggregate was not set by its `__init__`"));
        let values = vec![unset; names.len()];
        let empty = Val::Aggregate(Rc::new(Aggregate { class: class.clone(), names, values }));
        let args = std::iter::once(empty).chain(args).collect();
        let (_, locals) = self.walk_jit(&init, args, keywords, true)?;
        let Some((_, Val::Aggregate(made))) = locals.into_iter().next() else {
            return Err(self.error("internal error: `__init__` lost the object that it makes"));
        };
        for (name, value) in made.names.iter().zip(&made.values) {
            if matches!(value, Val::Undefined(_)) {
                let class_name = self.class_name(class);
                let message = format!("constructor for {class_name} did not initialize attribute '{name}'");
                return Err(self.error(message));
            }
        }
        Ok(Val::Aggregate(made))
    }

    /// An attribute of an object from outside; of an aggregate class, plain methods are functions that can be walked.
    pub(crate) fn class_member(&self, object: &ObjectRef, name: &str) -> Option<PyValue> {
        match self.class_attribute(object, name) {
            Some(PyValue::Object(found)) if object.0.type_name == "type" => {
                Some(self.class_function(object, name).unwrap_or(PyValue::Object(found)))
            }
            found => found,
        }
    }

    /// `aggregate.name`.
    pub(crate) fn aggregate_attribute(
        &mut self,
        value: &Val,
        aggregate: &Aggregate,
        name: &str,
    ) -> Res<Option<Val>> {
        if let Some(at) = aggregate.names.iter().position(|own| **own == *name) {
            let field = aggregate.values[at].clone();
            self.usable(&field)?;
            return Ok(Some(field));
        }
        Ok(match self.class_function(&aggregate.class, name) {
            Some(PyValue::JitFunction(_) | PyValue::ConstexprFunction(_)) => {
                Some(Val::Method { receiver: Rc::new(value.clone()), name: Rc::from(name) })
            }
            other => other.map(Val::from_py),
        })
    }

    /// Calls a method of an aggregate.
    pub(crate) fn call_aggregate_method(
        &mut self,
        value: &Val,
        aggregate: &Aggregate,
        name: &str,
        mut args: Vec<Val>,
        keywords: Vec<(String, Val)>,
    ) -> Res<Val> {
        match self.class_function(&aggregate.class, name) {
            Some(PyValue::JitFunction(function)) => {
                args.insert(0, value.clone());
                self.call_jit(&function, args, keywords)
            }
            Some(PyValue::ConstexprFunction(function)) => {
                let instance = self.instance(aggregate)?;
                args.insert(0, Val::Const(instance));
                self.call_value(&Val::Const(PyValue::ConstexprFunction(function)), args, keywords)
            }
            _ => {
                let class_name = self.class_name(&aggregate.class);
                Err(self.error(format!("'{class_name}' object has no attribute '{name}'")))
            }
        }
    }

    /// The Python object of an aggregate, for functions that run when compiling. Fields with run-time values are
    /// markers in it, which refuse to be read.
    pub(crate) fn instance(&mut self, aggregate: &Aggregate) -> Res<PyValue> {
        let attribute = |name| self.class_attribute(&aggregate.class, name);
        let (Some(PyValue::Object(make)), Some(run_time)) =
            (attribute("__deuteron_make__"), attribute("__deuteron_run_time__"))
        else {
            return Err(self.error("this aggregate's class cannot make objects when compiling"));
        };
        let mut values = Vec::with_capacity(aggregate.values.len());
        for value in &aggregate.values {
            values.push(match value {
                Val::Aggregate(inner) => self.instance(inner)?,
                _ => value.to_py().unwrap_or_else(|| run_time.clone()),
            });
        }
        let made = self.request.globals.call(&make, &values, &[]);
        self.check(made)
    }

    /// `tl.aggregate_replace`.
    pub(crate) fn aggregate_replace(&mut self, args: Vec<Val>, keywords: Vec<(String, Val)>) -> Res<Val> {
        let [Val::Aggregate(aggregate)] = args.as_slice() else {
            let found = args.first().map_or_else(|| "nothing".to_owned(), Val::describe);
            return Err(self.error(format!("aggregate_replace() expects an aggregate instance, got {found}")));
        };
        let mut changed = Aggregate::clone(aggregate);
        for (name, val) in keywords.into_iter().filter(|(name, _)| !name.starts_with('_')) {
            self.usable(&val)?;
            let Some(at) = changed.names.iter().position(|own| **own == *name) else {
                let class_name = self.class_name(&changed.class);
                return Err(self.error(format!("aggregate_replace(): {class_name} has no field '{name}'")));
            };
            changed.values[at] = val;
        }
        Ok(Val::Aggregate(Rc::new(changed)))
    }

    /// `self.name = value`, which only an `__init__` may say of the object that it makes.
    pub(crate) fn set_field(&mut self, object: &Name, name: &str, value: Val) -> Res<()> {
        let Some(Val::Aggregate(aggregate)) = self.frame().locals.get(object).cloned() else {
            return Err(
                self.unsupported("Attribute assignment is not supported in triton", "use a local name")
            );
        };
        if !self.frame().initializes {
            let class_name = self.class_name(&aggregate.class);
            return Err(self.error_help(
                format!("cannot assign to field '{name}' on immutable aggregate {class_name}"),
                "make a changed copy with `tl.aggregate_replace(x, field=value)`",
            ));
        }
        let Some(at) = aggregate.names.iter().position(|own| **own == *name) else {
            let class_name = self.class_name(&aggregate.class);
            return Err(self.error(format!("{class_name} has no attribute '{name}'")));
        };
        let mut changed = Aggregate::clone(&aggregate);
        changed.values[at] = value;
        self.frame().locals.insert(object.clone(), Val::Aggregate(Rc::new(changed)));
        Ok(())
    }

    /// Whether a value is of a class from outside, for `isinstance`.
    pub(crate) fn is_instance_of(&self, val: &Val, class: &ObjectRef) -> bool {
        match val {
            Val::Aggregate(aggregate) => aggregate.class == *class,
            Val::Tuple(tuple) => {
                let fields = texts(self.class_attribute(class, "_fields"));
                fields.is_some() && fields == tuple.fields
            }
            _ => false,
        }
    }
}
