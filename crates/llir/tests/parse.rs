//! Text of modules read back: the same text again, edits, and what is told about damage.

use llir::{
    Callee, Flags, FunctionBuilder, IntCompare, Kernel, Module, Ordering, Param, Purity, Rmw, SyncScope,
    Type, parse, verify,
};

fn param(ty: Type, name: &str) -> Param {
    Param {
        ty,
        name: name.into(),
        attributes: llir::ParamAttributes { noalias: ty == Type::PTR, align: 16, ..Default::default() },
    }
}

/// A module with a loop, memory of all kinds, constants of all kinds, calls and assembly.
fn module() -> Module {
    let mut module = Module::new("kernel");
    module.print_locations = true;
    let file = module.add_file("/a/b \"c\".py");
    let params = vec![param(Type::PTR, "x"), param(Type::I32, ""), param(Type::F32, "bb1")];
    let id = module.add_function("kernel", Type::VOID, params);
    let helper = module.declare(Callee {
        attributes: vec!["nounwind".into()],
        ..Callee::new("help me", Type::F32.twice(), vec![Type::F32], Purity::Pure)
    });
    let mut builder = FunctionBuilder::new(&mut module, id);
    builder.set_loc(Some(llir::Location { file, line: 7, column: 3 }));
    let (x, n, f) = (builder.param(0), builder.param(1), builder.param(2));
    let (body, end) = (builder.create_block(), builder.create_block());
    let index = builder.add_block_param(body, Type::I32);
    let sum = builder.add_block_param(body, Type::F32);
    let zero = builder.i32(0);
    let nan = builder.bits(Type::F32, 0x7f80_0001);
    builder.br(body, &[zero, nan]);
    builder.switch_to(body);
    let place = builder.gep_with(Type::F32, x, index, Flags::INBOUNDS);
    let loaded = builder.load(Type::F32, place, 4);
    builder.set_float_flags(Flags::FLOAT);
    let next_sum = builder.fadd(sum, loaded);
    builder.set_loc(None);
    let one = builder.i32(1);
    let next = builder.add(index, one);
    let again = builder.icmp(IntCompare::Slt, next, n);
    builder.cond_br(again, (body, &[next, next_sum]), (end, &[]));
    builder.switch_to(end);
    let lanes = builder.lanes(Type::I16.vector(4), &[1, 0xffff, 3, 4]);
    let shuffled = builder.permute(lanes, &[3, -1, 0, 1]);
    builder.store(shuffled, x, 8);
    let half = builder.float(Type::F16, 0.5);
    builder.store(half, x, 2);
    let many = Type::structure(&[Type::F32; 12]);
    let made = builder
        .inline_asm(
            llir::Asm::effect("mov \"$0\";\n\\", "=f,=r,=l,f"),
            Type::structure(&[Type::F32, Type::I32, Type::I64]),
            &[f],
        )
        .expect("it has results");
    let part = builder.part(made, 1);
    let wide = builder
        .inline_asm(llir::Asm::pure("many", &["=f"; 12].join(",")), many, &[])
        .expect("it has results");
    let called = builder.call(helper, &[f]).expect("it has results");
    let called = builder.part(called, 1);
    let wide = builder.part(wide, 11);
    let total = builder.fadd(called, wide);
    builder.store(total, x, 4);
    builder.atomic_rmw(Rmw::UMax, x, part, Ordering::AcqRel);
    builder.cmpxchg(x, part, zero, Ordering::Release);
    builder.fence(Ordering::SeqCst);
    let agent = llir::Memory {
        ordering: Some(Ordering::Monotonic),
        scope: SyncScope::Agent,
        ..llir::Memory::aligned(4)
    };
    builder.atomic_rmw_with(Rmw::Add, x, part, agent);
    builder.cmpxchg_with(x, part, zero, agent);
    let loaded = builder.load_with(Type::I32, x, agent, llir::Flags::NONE);
    builder.store_with(loaded, x, agent, llir::Flags::NONE);
    builder.fence_among(Ordering::Release, SyncScope::Workgroup);
    builder.ret(None);
    builder.finish();
    let function = module.function_mut(id).expect("it was made");
    function.kernel = Some(Kernel { lanes: Some([128, 1, 1]), ..Kernel::default() });
    function.attributes = vec!["nounwind".into(), "\"a\"=\"{b}\"".into(), "\"c\"".into()];
    verify(&module).unwrap_or_else(|errors| panic!("{}\n{module}", errors[0]));
    module
}

#[test]
fn what_is_printed_is_read_back() {
    let module = module();
    let text = module.to_string();
    let again = parse(&text, &module).unwrap_or_else(|error| panic!("{error}\n{text}"));
    verify(&again).unwrap_or_else(|errors| panic!("{}\n{again}", errors[0]));
    assert_eq!(again.to_string(), text);
    let kernel = again.functions().next().and_then(|function| function.kernel.clone());
    assert_eq!(kernel.and_then(|kernel| kernel.lanes), Some([128, 1, 1]));
}

#[test]
fn edits_are_taken_over() {
    let module = module();
    let text = module.to_string();
    let edited = text.replace("add i32 %0, 1", "add i32 %0, 2 ; two steps").replace(
        "  fence seq_cst",
        "  %extra = call float @llvm.sqrt.f32(float 1.500000e+00)\n\n  fence acquire",
    );
    let again = parse(&edited, &module).unwrap_or_else(|error| panic!("{error}\n{edited}"));
    verify(&again).unwrap_or_else(|errors| panic!("{}\n{again}", errors[0]));
    let text = again.to_string();
    assert!(text.contains("add i32 %0, 2") && text.contains("fence acquire"), "{text}");
    assert!(text.contains("call float @llvm.sqrt.f32(float 0x3FF8000000000000)"), "{text}");
    assert!(text.contains("declare float @llvm.sqrt.f32(float)"), "{text}");
}

#[test]
fn damage_is_told_with_its_place() {
    let module = module();
    let text = module.to_string();
    let line_of = |text: &str, part: &str| {
        text.lines().position(|line| line.contains(part)).map_or(0, |line| line as u32 + 1)
    };
    for (from, to, part, message) in [
        ("fence seq_cst", "fence nothing", "fence nothing", "an ordering is expected here"),
        ("fence seq_cst", "defence seq_cst", "defence", "there is no instruction `defence`"),
        ("icmp slt", "icmp bigger", "bigger", "a comparison is expected here"),
        ("label %bb2", "label %nowhere", "nowhere", "there is no block %nowhere"),
        ("add i32 %0, 1", "add i32 %unknown, 1", "%unknown", "%unknown is not defined"),
        ("add i32 %0, 1", "add i64 %0, 1", "add i64", "is of type i32, and not i64"),
        ("<4 x i16>", "<4097 x i16>", "4097", "a vector has 1 to 4096 lanes"),
        ("<4 x i16>", "<0 x i16>", "<0", "a vector has 1 to 4096 lanes"),
        ("bb2:", "bb1:", "bb1:", "there are two blocks bb1"),
        ("@kernel(ptr", "@kernel(i64", "@kernel(i64", "the parameters of a function cannot be edited"),
        ("@kernel(", "@other(", "@other(", "only bodies can be edited"),
        ("ret void\n}", "ret void\n", "", "instruction"),
    ] {
        let damaged = text.replacen(from, to, 1);
        assert_ne!(damaged, text, "{from}");
        match parse(&damaged, &module) {
            Ok(_) => panic!("{to} is taken"),
            Err(error) => {
                assert!(error.message.contains(message), "{to}: {error}");
                assert!(
                    part.is_empty() || error.line == line_of(&damaged, part) || part == "bb1:",
                    "{to}: {error}"
                );
            }
        }
    }
    assert!(parse("", &module).is_err(), "the kernel is missing");
    for length in (0..text.len()).step_by(7).filter(|length| text.is_char_boundary(*length)) {
        // Cut off anywhere: an error or a shorter module, never a panic.
        let _ = parse(&text[..length], &module).map(|module| verify(&module));
    }
}

#[test]
fn constants_and_attributes_of_a_whole_text_are_read() {
    let text = "@.words = private unnamed_addr addrspace(1) constant [3 x i32] [i32 1, i32 -2, i32 3], align 4
@.text = private unnamed_addr constant [3 x i8] c\"a\\22b\", align 1
define gpu_kernel void @k(ptr addrspace(1) inreg dereferenceable(16) %p) \"uniform-work-group-size\"=\"true\" !dbg !4 {
  ret void
}
";
    let module = llir::read(text).expect("it is well formed");
    let kinds: Vec<_> = module.globals().iter().map(|global| global.kind.clone()).collect();
    let bytes = [b'a', b'"', b'b'].map(u128::from).to_vec();
    let words = vec![1, 0xffff_fffe, 3];
    assert_eq!(kinds, [llir::GlobalKind::Constant(words), llir::GlobalKind::Constant(bytes)]);
    let attributes = module.functions().next().expect("one").params[0].attributes;
    assert!(attributes.in_register && attributes.dereferenceable == 16);
    let short = text.replace("[3 x i32]", "[4 x i32]");
    assert!(llir::read(&short).is_err_and(|error| error.message.contains("4 elements")));
}

/// Results have the numbers, so a parameter that had one would be defined twice in what is printed.
#[test]
fn a_parameter_is_not_named_by_a_number() {
    let text = "define void @k(i32 %2) {\nbb0:\n  ret void\n}\n";
    let error = llir::read(text).expect_err("the name is a number");
    assert!(error.to_string().contains("needs a name with a letter"), "{error}");
    assert!(llir::read(&text.replace("%2", "%x2")).is_ok());
}
