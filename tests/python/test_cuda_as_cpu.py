"""``--cuda-as-cpu`` with automatic casts and ``torch._dynamo``, and what an emulated device answers."""

import textwrap


def test_compiled_functions_and_automatic_casts(python, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(textwrap.dedent("""\
        import torch
        x = torch.randn(40, 50, device="cuda")
        with torch.autocast("cuda"):
            assert torch.is_autocast_enabled("cuda") and (x @ x.t()).dtype == torch.float16
        with torch.autocast(device_type="cuda", dtype=torch.bfloat16, enabled=True):
            assert (x @ x.t()).dtype == torch.get_autocast_dtype("cuda") == torch.bfloat16
        assert not torch.is_autocast_enabled("cuda") and (x @ x.t()).dtype == torch.float32

        @torch.compile(backend="eager", fullgraph=True)
        def f(x):
            assert torch.cuda.get_device_properties(0).multi_processor_count > 0
            return torch.zeros(3, device="cuda") + x.to("cuda").sum()

        y = f(x)
        assert x.is_cuda and y.device.type == "cpu" and torch.equal(y, x.sum().expand(3))
        print(torch.cuda.get_device_capability())
        """))
    assert python("-m", "deuteron", "--cuda-as-cpu", program).stdout == "(8, 9)\n"


def test_memory_says_that_it_is_pinned(python):
    code = textwrap.dedent("""\
        import torch
        x = torch.ones(4, requires_grad=True)
        made, copied = torch.zeros(4, pin_memory=True), x.pin_memory()
        assert not x.is_pinned() and made.is_pinned() and copied.is_pinned() and copied[1:].view(-1).is_pinned()
        assert made.pin_memory() is made and not made.cuda().clone().is_pinned() and not torch.zeros(4).is_pinned()
        with torch.no_grad():
            copied.zero_()
        assert x.sum() == 4 and torch.empty_like(x, device="cpu", pin_memory=True).is_pinned()
        print(torch.compile(lambda y: (y + 1).pin_memory().sum(), backend="eager")(torch.ones(3)))
        """)
    done = python("-m", "deuteron", "--cuda-as-cpu", "-c", code)
    assert done.stdout == "tensor(6.)\n", done.stderr


def test_an_emulated_device_answers_for_its_capability(python):
    code = ("import torch, triton; print(torch.cuda.get_device_capability(), triton.runtime.driver.active.get_device_capability(), "
            "torch.cuda.get_device_properties(0).shared_memory_per_block_optin)")
    done = python("-m", "deuteron", "--cuda-as-cpu", "-c", code, env={"DEUTERON_EMULATE": "cuda:90"})
    assert done.stdout == "(9, 0) (9, 0) 232448\n", done.stderr


def test_an_emulated_device_answers_for_its_architecture(python):
    code = "import torch; facts = torch.cuda.get_device_properties(0); print(facts.gcnArchName in (facts.name, 'gfx942'), facts.gcnArchName)"
    done = python("-m", "deuteron", "--cuda-as-cpu", "-c", code, env={"DEUTERON_EMULATE": "hip:gfx942"})
    assert done.stdout == "True gfx942\n", done.stderr
    assert python("-m", "deuteron", "--cuda-as-cpu", "-c", code).stdout.startswith("True ")


def test_what_fast_launchers_ask_torch_for(python):
    """By the names that functions of ``torch.cuda`` call themselves."""
    code = textwrap.dedent("""\
        import torch
        C = torch._C
        x = torch.ones(3, device="cuda")
        C._cuda_setDevice(C._cuda_getDevice())
        C._cuda_synchronize()
        before = C._cuda_exchangeDevice(0), C._cuda_maybeExchangeDevice(-1)
        with torch.cuda.device(x.get_device()):
            print(C._cuda_getDevice(), C._cuda_getDeviceCount(), before, C._cuda_getCurrentRawStream(0))
        print(C._cuda_isCurrentStreamCapturing(), C._cuda_emptyCache())
        """)
    done = python("-m", "deuteron", "--cuda-as-cpu", "-c", code)
    assert done.stdout == "0 1 (0, 0) 0\nFalse None\n", done.stderr


def test_what_libraries_of_kernels_ask_torch_for(python):
    code = textwrap.dedent("""\
        import torch
        from torch._C import _cuda_getCurrentRawStream as stream
        assert torch.ones(2, device=0).to(0).device.type == "cpu"
        with torch.random.fork_rng():
            forked = torch.rand(4, device="cuda")
        assert torch.equal(forked, torch.rand(4)) and torch.get_device_module("cuda").max_memory_allocated() == 0
        assert torch.cuda.memory_stats()["active_bytes.all.peak"] == 0

        class Double(torch.autograd.Function):

            @staticmethod
            def forward(ctx, x):
                return 2 * x

            @staticmethod
            def backward(ctx, gradient):
                return torch.full((2, ), 2.0, device="cuda") * gradient.to("cuda")

        x = torch.ones(2, device="cuda", requires_grad=True)
        Double.apply(x).sum().backward()
        assert torch.autograd.grad(Double.apply(x).sum(), x)[0].tolist() == x.grad.tolist() == [2, 2]
        generator = torch.cuda.default_generators[0]
        generator.manual_seed(7)
        state = generator.get_state()
        seed, offset = state.view(torch.int64).tolist()
        state.view(torch.int64)[1] += 8
        generator.set_state(state)
        drawn = [torch.randn(3, device="cuda", generator=torch.Generator(device=where).manual_seed(5)) for where in ("cuda:0", "cpu")]
        assert torch.equal(*drawn) and isinstance(torch.default_generator, torch.Generator) and not isinstance(3, torch.Generator)
        with torch.cuda._DeviceGuard(0):
            torch.ones(2, device="cuda").record_stream(torch.cuda.current_stream())
            torch.accelerator.synchronize()
            assert torch.accelerator.current_device_index() == 0
            print(stream(0), seed, offset, generator.get_state().view(torch.int64).tolist(), generator.initial_seed())
        """)
    assert python("-m", "deuteron", "--cuda-as-cpu", "-c", code).stdout == "0 7 0 [7, 8] 7\n"


def test_the_device_of_a_cpu_is_entered(python):
    code = "import torch\nwith torch.cpu.device(0): print(torch.ones(2, device='cuda').tolist())"
    assert python("-m", "deuteron", "--cuda-as-cpu", "-c", code).stdout == "[1.0, 1.0]\n"


def test_events_and_streams_of_any_accelerator(python):
    code = textwrap.dedent("""\
        import torch
        start, end = torch.Event("cuda", enable_timing=True), torch.Event(enable_timing=True)
        start.record()
        with torch.Stream("cuda") as stream:
            stream.wait_event(start)
        end.record(torch.accelerator.current_stream())
        end.synchronize()
        assert start.elapsed_time(end) >= 0 and end.query()
        with torch.accelerator.device_index(torch.accelerator.current_device_index()):
            torch.accelerator.set_stream(torch.cuda.current_stream())
        if hasattr(torch.accelerator, "get_memory_info"):
            assert 0 < torch.accelerator.get_memory_info("cuda")[0] <= torch.cuda.mem_get_info()[1]

        class Mine(torch.Event):
            pass

        assert isinstance(Mine(), torch.Event) and issubclass(Mine, torch.Event) and torch.Event.__name__ == "Event"

        @torch.compile(backend="eager")
        def f(x):
            end.record()
            return x + 1

        print(f(torch.zeros(1, device="cuda")).tolist())
        """)
    assert python("-m", "deuteron", "--cuda-as-cpu", "-c", code).stdout == "[1.0]\n"


def test_histograms_of_integers(python):
    code = textwrap.dedent("""\
        import torch
        x = torch.tensor([[0, 3, 3], [7, 5, 3]], device="cuda", dtype=torch.int32)
        counts = torch.histc(x, bins=4, min=0, max=8)
        assert counts.dtype == torch.int32 and counts.tolist() == [1, 3, 1, 1]
        assert x.long().histc(8, 0, 7).tolist() == [1, 0, 0, 3, 0, 1, 0, 1]
        assert torch.histc(x, bins=7).tolist() == [1, 0, 0, 3, 0, 1, 1]
        assert torch.histc(x[0, 1:], bins=2).tolist() == [0, 2]
        assert torch.histc(x, bins=2, min=4, max=6).tolist() == [0, 1]
        assert torch.histc(torch.empty(0, dtype=torch.int64), bins=3).tolist() == [0, 0, 0]
        print(torch.histc(x.float(), bins=4, min=0, max=8).tolist())
        """)
    done = python("-m", "deuteron", "--cuda-as-cpu", "-c", code)
    assert done.stdout == "[1.0, 3.0, 1.0, 1.0]\n", done.stderr


def test_products_of_another_type_than_their_operands(python):
    code = textwrap.dedent("""\
        import torch
        x = torch.full((2, 3), 1.0078125, device="cuda", dtype=torch.bfloat16, requires_grad=True)
        y = torch.full((3, 2), 1.0078125, device="cuda", dtype=torch.bfloat16)
        exact, added = 3 * 1.0078125**2, torch.full((2, 2), 0.5, device="cuda")
        for wide in (torch.mm(x, y, out_dtype=torch.float32), torch.mm(x, y, torch.float32),
                     torch.mm(input=x, mat2=y, out_dtype=torch.float32), torch.bmm(x[None], y[None], out_dtype=torch.float32)[0]):
            assert wide.dtype == torch.float32 and wide.flatten().tolist() == [exact] * 4, wide
        sums = torch.addmm(added, x, y, out_dtype=torch.float32), torch.baddbmm(added[None], x[None], y[None], torch.float32, alpha=2)[0]
        assert [total.flatten().tolist() for total in sums] == [[0.5 + exact] * 4, [0.5 + 2 * exact] * 4], sums
        wide.sum().backward()
        print(torch.mm(x, y).dtype, x.grad.dtype)
        """)
    done = python("-m", "deuteron", "--cuda-as-cpu", "-c", code)
    assert done.stdout == "torch.bfloat16 torch.bfloat16\n", done.stderr


def test_operators_that_are_registered_for_cuda(python):
    code = textwrap.dedent("""\
        import torch

        def never(x):
            raise AssertionError

        torch.library.define("shop::double", "(Tensor x) -> Tensor")
        torch.library.impl("shop::double", "CPU")(never)

        @torch.library.impl("shop::double", "CUDA")
        def double(x):
            return 2 * x + torch.zeros(1, device="cuda")

        shop = torch.library.Library("shop", "FRAGMENT")
        for name in ("triple", "half", "same"):
            shop.define(f"{name}(Tensor x) -> Tensor")
        shop.impl("triple", lambda x: 3 * x, "CUDA")
        shop.impl("triple", never, "CPU")
        shop.impl("same", lambda x: x.clone(), "CPU")
        halves = torch.library.Library("shop", "IMPL", "CUDA")
        halves.impl("half", lambda x: x / 2)

        @torch.library.custom_op("shop::negated", mutates_args=(), device_types="cuda")
        def negated(x: torch.Tensor) -> torch.Tensor:
            return torch.zeros(1, device="cuda") - x

        class Square(torch.autograd.Function):

            @staticmethod
            def forward(ctx, x):
                ctx.save_for_backward(x)
                return x * x

            @staticmethod
            def backward(ctx, grad):
                return 2 * grad * ctx.saved_tensors[0]

        shop.define("square(Tensor x) -> Tensor")
        shop.impl("square", Square.apply, "CUDA")
        shop.impl("square", Square.apply, "AutogradCUDA")
        # Operators of torch's own are what they were.
        torch.library.Library("aten", "IMPL", "CUDA").impl("mul.Tensor", lambda x, y: never(x))
        x = torch.arange(4.0, device="cuda")
        for name, by in (("double", 2), ("triple", 3), ("half", 0.5), ("negated", -1), ("same", 1)):
            assert torch.equal(getattr(torch.ops.shop, name)(x), by * x), name
        y = x.clone().requires_grad_()
        torch.ops.shop.square(y).sum().backward()
        assert torch.equal(y.grad, 2 * x)
        print("done")
        """)
    done = python("-m", "deuteron", "--cuda-as-cpu", "-c", code)
    assert done.stdout == "done\n", done.stderr


def test_a_device_that_an_operator_takes_by_its_place(python):
    code = textwrap.dedent("""\
        import torch
        from torch._inductor import inductor_prims

        torch.library.define("shop::zeros", "(int count, Device device) -> Tensor")

        @torch.library.impl("shop::zeros", "BackendSelect")
        def zeros(count, device):
            return torch.zeros(count, device=device)

        device = torch.accelerator.current_accelerator()
        assert device.type == "cuda"
        assert torch.ops.shop.zeros(3, device).tolist() == torch.ops.shop.zeros.default(3, device).tolist() == [0, 0, 0]
        torch.manual_seed(5)
        one = inductor_prims.seeds(2, device)
        torch.manual_seed(5)
        assert torch.equal(one, inductor_prims.seeds(2, torch.device("cpu")))
        print(one.shape, inductor_prims.seed(device).device)
        """)
    done = python("-m", "deuteron", "--cuda-as-cpu", "-c", code)
    assert done.stdout == "torch.Size([2]) cpu\n", done.stderr
