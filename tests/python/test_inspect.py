"""What `kernel.inspect()` says of kernels whose bottlenecks are known, and its page in a browser."""

import os
import re
from pathlib import Path

import inspected
import pytest
import triton
from browser import Browser
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

HOPPER = GPUTarget("cuda", 90, 32)
SOURCE = Path(inspected.__file__).read_text().splitlines()


def lines(text):
    """The numbers of the lines of the kernels that hold a text."""
    return [number for number, line in enumerate(SOURCE, 1) if text in line]


def flat(report):
    """The report without the ends of its lines."""
    return " ".join(str(report).split())


def compiled(kernel, signature, constants, target=HOPPER, **options):
    """A kernel for arguments of which all integers and addresses are multiples of 16."""
    attrs = {(index,): [["tt.divisibility", 16]] for index, name in enumerate(signature) if name not in constants}
    types = {name: "constexpr" if name in constants else kind for name, kind in signature.items()}
    source = ASTSource(fn=kernel, signature=types, constexprs=dict(constants), attrs=attrs)
    return triton.compile(source, target=target, options=options)


def softmax(target=HOPPER):
    signature = dict(in_ptr="*fp32", output_ptr="*fp32", row_stride="i32", n_cols="i32", BLOCK_SIZE="constexpr")
    return compiled(inspected.softmax_naive, signature, dict(BLOCK_SIZE=256), target)


def matmul(dtype="fp16", exact=False, target=HOPPER, **constants):
    names = ("a_ptr", "b_ptr", "c_ptr"), ("M", "N", "K", "stride_am", "stride_bk", "stride_cm")
    signature = {name: f"*{dtype}" for name in names[0]} | {name: "i32" for name in names[1]}
    constants = dict(EXACT=exact, BLOCK_M=128, BLOCK_N=256, BLOCK_K=64) | constants
    signature |= {name: "constexpr" for name in constants}
    return compiled(inspected.matmul, signature, constants, target, num_warps=8, num_stages=3)


def test_the_naive_softmax_reads_its_rows_three_times():
    report = softmax().inspect(grid=[8192], args=dict(row_stride=8192, n_cols=8192), device="H200")
    first, second, third = lines("data = tl.load(in_ptr")
    assert "3 passes over the same data" in report.verdict
    assert f"`in_ptr` is read at lines {first}, {second} and {third}" in report.verdict
    assert report.bounds[0][0] == "memory"
    assert any("read 3 times" in line for line in report.evidence)


def test_machine_code_for_amd_gpus_is_read():
    kernel = matmul(target=GPUTarget("hip", "gfx942", 64), BLOCK_N=128)
    report = flat(kernel.inspect(args=dict(M=4096, N=4096, K=4096)))
    assert "limits of MI300X" in report
    assert re.search(r"vector registers \d+, 0 of them accumulators", report)
    assert re.search(r"by LDS \d+: 65536 bytes / \d+ of a program", report)
    loop = report[report.index("main loop"):]
    assert "v_mfma_f32_" in loop and "global_load_dwordx4" in loop and "s_waitcnt" in loop and "2 s_barrier" in loop
    assert "v_accvgpr" not in loop


def test_dots_in_parts_share_the_instructions_of_their_line():
    kernel = matmul(target=GPUTarget("hip", "gfx942", 64), BLOCK_M=256)
    text = str(kernel.inspect(args=dict(M=4096, N=4096, K=4096)))
    (dot, *_), mfma = lines("tl.dot(a, b, total, input_precision"), r"64 × llvm\.amdgcn\.mfma\.f32\.32x32x8f16;"
    parts = re.findall(rf"^  {dot}:\d+ +(.*): {mfma}", text, re.MULTILINE)
    # A loop of two groups of warps does the dot in four parts, and the last iteration stands behind it.
    assert parts == ["4 of 256×256×16", "256×256×64"]
    assert re.search(r"main loop.*?matrix instructions +64 v_mfma_f32_32x32x8_f16", text, re.DOTALL)


def test_short_rows_stay_in_the_cache():
    report = softmax().inspect(grid=[4096], args=dict(row_stride=1024, n_cols=1024), device="H200")
    assert "each byte moved once" in report.verdict
    assert any("after the first time from the cache" in line for line in report.evidence)


def test_a_transposed_copy_stores_uncoalesced():
    signature = dict(x_ptr="*fp32", y_ptr="*fp32", n="i32", stride="i32", BLOCK="constexpr")
    kernel = compiled(inspected.transposed_copy, signature, dict(BLOCK=4096))
    report = kernel.inspect(grid=[4096], args=dict(n=4096, stride=4096))
    store, = lines("tl.store(y_ptr + columns * stride + row")
    assert f"an uncoalesced store at line {store}" in report.verdict
    assert "32 sectors in 32 lines of the cache where 4 would hold its 128 bytes" in report.verdict
    assert "neighbours along dim 0 are 16384 bytes apart, not 4" in flat(report)


def test_tiles_are_transposed_through_shared_memory():
    signature = dict(x_ptr="*fp32", y_ptr="*fp32", stride="i32", BLOCK="constexpr")
    kernel = compiled(inspected.transposed_tiles, signature, dict(BLOCK=64))
    report = kernel.inspect(grid=[64, 64], args=dict(stride=4096))
    assert "uncoalesced" not in report.verdict and "each byte moved once" in report.verdict
    assert re.search(r"64×64×f32 \(16.4 kB\) by shared memory", flat(report))
    assert "no bank conflicts" in flat(report)


def test_a_matmul_is_bound_by_the_matrix_units():
    report = matmul().inspect(grid=[32, 16], args=dict(M=4096, N=4096, K=4096))
    dot, = lines("total = tl.dot")
    assert f"Compute bound by the matrix units: the dot at line {dot}" in report.verdict
    assert "wgmma" in report.verdict and "m64n256k16" in report.verdict
    # Each step takes 1024 clocks of either, and the end of the tile makes shared memory 2 % longer.
    bounds = dict(report.bounds)
    assert {what for what, _ in report.bounds[:2]} == {"arithmetic: matrix f16", "shared memory"}
    assert 1 < bounds["shared memory"] / bounds["arithmetic: matrix f16"] < 1.05
    assert "As long takes: shared memory." in report.verdict
    text = flat(report)
    assert "both from shared memory" in text and "asynchronous copy: 16 B an access" in text
    assert "cdiv(K, 64) = 64" in text


def passes(report):
    """What goes through shared memory, in passes over its banks: by what does it and where, and whether it writes."""
    found = {}
    pattern = r"(\d+):\d+ ([a-z_. ]+) (read|write) [\d.]+ \w+ in (\d+) passes(, \d+ of them lost)?"
    for line, what, verb, number, lost in re.findall(pattern, flat(report)):
        assert not lost
        found[what, int(line), verb] = int(number)
    return found


def test_what_a_matmul_moves_through_shared_memory_with_products_of_four_warps():
    kernel = matmul()
    report = kernel.inspect(grid=[32, 16], args=dict(M=4096, N=4096, K=4096), device="H200")
    a, b, dot, store = (lines(text)[0] for text in (" a = tl.load", " b = tl.load", "total = tl.dot", "tl.store(c_ptr"))
    steps = 4096 // 64
    # Copies run two steps ahead of the first dot; those past the end write zeros.
    copied = steps + 2
    # Two groups of warps make 64 rows each, in four steps of 16 along k: 8 instructions, of which each reads 64 x 16 and
    # 16 x 256 numbers of two bytes. The tile of the result, 128 x 256 of them, is turned once. A pass moves 128 bytes.
    assert passes(report) == {
        ("asynchronous copies", a, "write"): copied * 128 * 64 * 2 // 128,
        ("asynchronous copies", b, "write"): copied * 64 * 256 * 2 // 128,
        ("operands of matrix instructions", dot, "read"): steps * 8 * (64 * 16 + 16 * 256) * 2 // 128,
        ("matrix stores", store, "write"): 128 * 256 * 2 // 128,
        ("layout conversion", store, "read"): 128 * 256 * 2 // 128,
    }
    clocks = sum(passes(report).values()) * 512 / 132
    assert dict(report.bounds)["shared memory"] == pytest.approx(clocks / 1.83e9 / (512 / 132 / 4), rel=1e-3)


def test_what_a_matmul_moves_through_shared_memory_with_products_of_a_warp():
    kernel = matmul(target=GPUTarget("cuda", 80, 32))
    report = kernel.inspect(grid=[32, 16], args=dict(M=4096, N=4096, K=4096))
    a, b, dot, store = (lines(text)[0] for text in (" a = tl.load", " b = tl.load", "total = tl.dot", "tl.store(c_ptr"))
    rows, columns = map(int, re.search(r"versionMajor = 2.*?warpsPerCTA = \[(\d+), (\d+)\]", kernel.asm["ttgir"]).groups())
    steps = 4096 // 64
    found = passes(report)
    assert rows * columns == 8
    # Warps side by side load the same rows of a, those below each other the same columns of b.
    assert found["matrix loads", a, "read"] == steps * columns * 128 * 64 * 2 // 128
    assert found["matrix loads", b, "read"] == steps * rows * 64 * 256 * 2 // 128
    assert found["asynchronous copies", a, "write"] == (steps + 2) * 128 * 64 * 2 // 128
    assert f"Compute bound by the matrix units: the dot at line {dot}" in report.verdict
    assert dict(report.bounds)["shared memory"] < report.bounds[0][1]


def test_small_tiles_of_a_matmul_are_bound_by_shared_memory():
    kernel = matmul(BLOCK_M=64, BLOCK_N=32, BLOCK_K=32)
    report = kernel.inspect(grid=[64, 128], args=dict(M=4096, N=4096, K=4096))
    assert report.bounds[0][0] == "shared memory"
    assert "Bound by shared memory" in report.verdict and "Larger tiles" in report.verdict


def test_the_last_round_of_a_grid_is_told():
    signature = dict(x_ptr="*fp32", y_ptr="*fp32", stride="i32", BLOCK="constexpr")
    kernel = compiled(inspected.transposed_tiles, signature, dict(BLOCK=64))
    told = [line for line in kernel.inspect(grid=[300], device="H200").evidence if "the grid has" in line]
    assert told == ["the grid has 300 programs for 132 SMs: the last of 3 waves has work for 27 % of them, so that 76 % of "
                    "their time is used at most"]
    few = kernel.inspect(grid=[100], device="H200").evidence
    assert "the grid has 100 programs for 132 SMs" in few
    assert not any("the grid has" in line for line in kernel.inspect(grid=[1320], device="H200").evidence)


def test_exact_products_say_why_no_matrix_instruction_makes_them():
    kernel = matmul("fp32", exact=True, BLOCK_M=64, BLOCK_N=64, BLOCK_K=32)
    report = kernel.inspect(grid=[64, 64])
    assert 'input_precision is "ieee"' in report.verdict
    assert report.bounds[0][0] == "arithmetic: f32"


def test_the_processors_of_this_machine():
    cpu = triton.runtime.driver.active.get_current_target()
    if cpu.backend != "cpu":
        pytest.skip("the target of this machine is a GPU")
    report = matmul("fp32", target=cpu, BLOCK_M=64, BLOCK_N=64).inspect(grid=[16, 16], args=dict(M=1024, N=1024, K=1024))
    assert report.verdict.startswith("Compute bound: the dot")
    signature = dict(x_ptr="*fp32", y_ptr="*fp32", n="i32", stride="i32", BLOCK="constexpr")
    kernel = compiled(inspected.transposed_copy, signature, dict(BLOCK=4096), cpu)
    report = kernel.inspect(grid=[4096], args=dict(n=4096, stride=4096))
    assert "a strided store" in report.verdict and "16384 bytes apart" in report.verdict
    assert "sectors" not in flat(report) and "scatter, one address for each lane" in flat(report)
    text = flat(softmax(target=cpu).inspect(grid=[4096]))
    assert "vector past the caches where a launch writes more than the last one holds" in text
    assert "arithmetic: special" in text


def test_wrong_questions_have_answers():
    kernel = softmax()
    with pytest.raises(ValueError, match="no parameter `columns`; it has in_ptr"):
        kernel.inspect(args=dict(columns=3))
    with pytest.raises(ValueError, match="no device `Z80`.*H100"):
        kernel.inspect(device="Z80")
    with pytest.raises(ValueError, match="one to three sizes"):
        kernel.inspect(grid=[0])


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """The page of the matmul, opened."""
    folder = Path(os.environ.get("DEUTERON_TEST_BROWSER", Path(__file__).parents[2] / ".venv" / "browser"))
    program = folder / "chromium"
    if not program.is_file():
        pytest.skip("there is no browser: make python-test gets one")
    data = tmp_path_factory.mktemp("browser")
    file = data / "report.html"
    file.write_text(matmul().inspect(grid=[32, 16]).html, encoding="utf-8")
    browser = Browser(str(program), str(data))
    try:
        browser.open(file.as_uri())
        yield browser
    finally:
        browser.close()


def centre(browser, selector):
    """Moves an element into view; the middle of what is seen of it."""
    return browser.evaluate(f"""(() => {{
        const element = document.querySelector({selector!r});
        element.scrollIntoView({{block: "center"}});
        const box = element.getBoundingClientRect();
        return [box.left + Math.min(box.width, 200) / 2, box.top + box.height / 2];
    }})()""")


def marked(browser, name, stage):
    """The texts of the lines of a stage that have a mark."""
    return browser.evaluate(
        f"[...document.querySelectorAll('ol[data-stage={name}] li.{stage}')].map(line => line.textContent)"
    )


def test_the_page_needs_nothing_else(page):
    resources = page.evaluate("performance.getEntriesByType('resource').length")
    asked = [event["params"]["request"]["url"] for event in page.events if event["method"] == "Network.requestWillBeSent"]
    assert resources == 0 and all(url.startswith("file://") for url in asked)
    assert not [event for event in page.events if event["method"] == "Runtime.exceptionThrown"]
    assert "Compute bound by the matrix units" in page.evaluate("document.querySelector('#verdict').innerText")


def test_lines_light_up_together(page):
    dot, = lines("total = tl.dot")
    page.move(*centre(page, f"#left-0 li:nth-child({dot})"))
    assert [line.strip() for line in page.evaluate(
        "[...document.querySelectorAll('#left li.on')].map(line => line.textContent)"
    ) if "tl.dot" in line]
    assert any("warp_group_dot" in line for line in marked(page, "ttgir", "on"))
    assert any("tt.dot" in line for line in marked(page, "ttir", "on"))
    assert any("wgmma.mma_async" in line for line in marked(page, "ptx", "on"))
    assert any("wgmma.mma_async" in line for line in marked(page, "llir", "on"))
    assert not any("tt.store" in line for line in marked(page, "ttgir", "on"))
    colour = "getComputedStyle(document.querySelector('#right li.on')).backgroundColor"
    plain = "getComputedStyle(document.querySelector('#right li:not(.on)')).backgroundColor"
    assert page.evaluate(colour) != page.evaluate(plain)
    page.move(5, 5)
    assert page.evaluate("document.querySelectorAll('.on').length") == 0


def test_a_click_keeps_the_lines_and_shows_them(page):
    store, = lines("tl.store(c_ptr")
    page.move(*centre(page, f"#left-0 li:nth-child({store})"))
    page.click(*centre(page, f"#left-0 li:nth-child({store})"))
    page.move(5, 5)
    assert any("tt.store" in line for line in marked(page, "ttgir", "pinned"))
    seen = page.evaluate("""(() => {
        const list = document.querySelector('#right ol:not([hidden])').getBoundingClientRect();
        const box = document.querySelector('#right ol:not([hidden]) li.pinned').getBoundingClientRect();
        return box.top >= list.top && box.bottom <= list.bottom;
    })()""")
    assert seen


def test_tabs_and_keys(page):
    tab = "#right [role=tab][aria-selected=true]"
    assert page.evaluate(f"document.querySelector('{tab}').textContent") == "ttgir"
    page.click(*centre(page, tab))
    page.press("ArrowRight")
    assert page.evaluate(f"document.querySelector('{tab}').textContent") == "llir"
    assert page.evaluate("document.querySelectorAll('#right ol:not([hidden])').length") == 1
    page.evaluate("document.querySelector('#right ol[data-stage=ttgir]').focus()")
    page.evaluate("document.querySelector('#left-0').focus()")
    dot, = lines("total = tl.dot")
    for _ in range(dot):
        page.press("ArrowDown")
    assert any("wgmma" in line for line in marked(page, "ptx", "on"))


def test_both_colour_schemes(page, tmp_path):
    def paper(scheme):
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        picture = tmp_path / f"{scheme}.png"
        page.screenshot(str(picture))
        assert picture.stat().st_size > 10_000
        return page.evaluate("getComputedStyle(document.body).backgroundColor")

    assert paper("light") != paper("dark")


def test_a_program_that_lacks_a_few_registers_shares_its_sm():
    """133 registers for 8 warps by itself, where 128 are enough for two programs: it is assembled again."""
    constants = dict(WIDTH=512, TAIL=64, ROWS=16, BLOCK=64)
    signature = dict(q_ptr="*bf16", kv_ptr="*bf16", index_ptr="*i32", out_ptr="*bf16", n="i32")
    signature |= {name: "constexpr" for name in constants}
    report = flat(compiled(inspected.chosen_rows, signature, constants, num_warps=8, num_stages=2).inspect())
    assert "in flight a program, 2 at a time on each SM" in report
