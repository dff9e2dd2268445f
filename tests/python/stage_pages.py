"""`docs/how-it-works.md` and its pictures: one kernel through all stages, as the compiler writes them."""

import functools
import inspect
import re
from html import escape

import stage_kernel
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

BLOCK = 256
LOCATION = re.compile(r' loc\((?:#loc\d*|"[^"]*":\d+:\d+|unknown)\)')
# A colour for each line of the kernel's source, by its number behind the decorator.
HUES = (None, None, 210, 265, 130, 20)
CHARACTER, LINE = 6.05, 15
WIDEST = 104


@functools.cache
def stages():
    """The text of every stage for a GPU, and the kernel's first line."""
    divisible = {(index, ): [["tt.divisibility", 16]] for index in range(3)}
    signature = {"x_ptr": "*fp32", "out_ptr": "*fp32", "n": "i32", "BLOCK": "constexpr"}
    source = ASTSource(stage_kernel.scale, signature=signature, constexprs={(3, ): BLOCK}, attrs=divisible)
    compiled = triton.compile(source, target=GPUTarget("cuda", 90, 32), options={"num_warps": 4})
    return {name: compiled.asm[name] for name in ("ttir", "ttgir", "llir", "ptx")}


@functools.cache
def source():
    """The lines of the kernel, and the number of the first."""
    lines, first = inspect.getsourcelines(stage_kernel.scale.fn)
    return [line.rstrip("\n") for line in lines], first


def with_places(name):
    """The lines of a stage without their places, each with the line of the kernel that it comes from (from 0), if any."""
    reader = {"ttir": mlir_lines, "ttgir": mlir_lines, "llir": llvm_lines, "ptx": ptx_lines}[name]
    last = len(source()[0])
    for text, line in reader(stages()[name]):
        place = None if line is None else line - source()[1]
        yield text, place if place is not None and 2 <= place < last else None


def mlir_lines(text):
    """Lines of ttir and ttgir."""
    places = {name: int(line) for name, line in re.findall(r'^(#loc\d*) = loc\("[^"]*":(\d+):', text, re.MULTILINE)}
    for line in text.splitlines():
        if line.strip() and not line.startswith("#loc"):
            names = re.findall(r"loc\((#loc\d*)\)$", line)
            yield LOCATION.sub("", line), places.get(names[0]) if names else None


def llvm_lines(text):
    """Lines of llir, without metadata, declarations and the head of the module."""
    places = {name: int(line) for name, line in re.findall(r"^(!\d+) = !DILocation\(line: (\d+)", text, re.MULTILINE)}
    body = text[text.index("define"):text.index("\n}") + 2]
    for line in body.splitlines():
        name = re.search(r", !dbg (!\d+)$", line)
        yield re.sub(r",? !dbg !\d+", "", line), places.get(name[1]) if name else None


def ptx_lines(text):
    """Lines of PTX."""
    place = None
    for line in text.splitlines():
        found = re.match(r"\s*\.loc\s+\d+ (\d+)", line)
        place = int(found[1]) if found else place
        if line.strip() and not found and not line.startswith(("//", "\t.file")):
            yield line.replace("\t", "    "), place if line.startswith("\t") else None


def panel(left, top, width, title, lines):
    """A box of code; lines that come from one line of the kernel have its colour."""
    parts = [f'<text x="{left}" y="{top - 6}" font-family="sans-serif" font-size="12">{escape(title)}</text>',
             f'<rect x="{left}" y="{top}" width="{width}" height="{LINE * len(lines) + 8}" fill="#fafafa" stroke="#999" '
             'stroke-width="0.6"/>']
    for index, (text, place) in enumerate(lines):
        y = top + 4 + LINE * index
        hue = HUES[place] if place is not None else None
        if hue is not None:
            parts.append(f'<rect x="{left + 1}" y="{y}" width="{width - 2}" height="{LINE}" fill="hsl({hue},70%,90%)"/>')
        shown = text if len(text) <= WIDEST else text[:WIDEST - 1] + "…"
        parts.append(f'<text x="{left + 6}" y="{y + 11}" xml:space="preserve">{escape(shown)}</text>')
    return parts


def svg(width, height, parts):
    """A picture."""
    head = (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'font-family="monospace" font-size="10">\n<rect width="{width}" height="{height}" fill="#fff"/>\n')
    return head + "\n".join(parts) + "\n</svg>\n"


def stage_picture(name):
    """The kernel, and below it a stage of it."""
    width = int(WIDEST * CHARACTER) + 14
    code = [(line, index) for index, line in enumerate(source()[0])]
    lines = list(with_places(name))
    second = 24 + LINE * len(code) + 34
    parts = panel(6, 24, width, "source", code) + panel(6, second, width, name, lines)
    return svg(width + 12, second + LINE * len(lines) + 16, parts)


def lanes_picture():
    """Which lane of which warp holds which elements of a block, by the layout in ttgir."""
    layout = re.search(r"sizePerThread = \[(\d+)\], threadsPerWarp = \[(\d+)\], warpsPerCTA = \[(\d+)\]", stages()["ttgir"])
    size, lanes, warps = map(int, layout.groups())
    assert size * lanes * warps == BLOCK, "the picture shows a layout that covers the block once"
    cell, parts = 26, [f'<text x="6" y="16" font-family="sans-serif" font-size="12">{BLOCK} elements: {warps} warps of {lanes} '
                       f"lanes, {size} elements a lane</text>"]
    for warp in range(warps):
        parts.append(f'<text x="6" y="{58 + warp * cell}" font-family="sans-serif">warp {warp}</text>')
        for lane in range(lanes):
            x, y, first = 52 + lane * cell, 40 + warp * cell, (warp * lanes + lane) * size
            held = ", ".join(str(first + i) for i in range(size))
            parts.append(f'<rect x="{x}" y="{y}" width="{cell}" height="{cell}" fill="hsl({90 * warp},65%,{92 - lane % 2 * 5}%)" '
                         f'stroke="#555" stroke-width="0.4"><title>lane {lane} of warp {warp}: {held}</title></rect>')
            parts += [f'<text x="{x + 2}" y="{y + 10 + 11 * i}" font-size="9">{first + i}</text>' for i in range(min(size, 2))]
            if warp == 0:
                parts.append(f'<text x="{x + 6}" y="36" font-size="8" fill="#555">{lane}</text>')
    return svg(58 + lanes * cell, 46 + warps * cell, parts)


BOXES = (
    ("kernel.py", "Python text", ""), ("ttir", "blocks", "frontend, ttir"), ("ttgir", "blocks with layouts", "ttgir"),
    ("llir", "one lane", "lanes"), ("ptx", "GPU assembly", "targets/nvidia"), ("cubin", "machine code", "driver or ptxas"),
)
CPU_BOXES = (("llir", "loops over vectors", "targets/cpu"), ("obj", "machine code", "LLVM"))


def path_picture():
    """The stages in a row, with the crate that makes each; the CPU's path branches off behind ttir."""
    width, gap, parts = 112, 22, []

    def box(column, row, name, what, by):
        x, y = 8 + column * (width + gap), 20 + row * 92
        parts.extend([
            f'<rect x="{x}" y="{y}" width="{width}" height="48" rx="4" fill="hsl({200 + 25 * column},60%,92%)" stroke="#555" stroke-width="0.6"/>',
            f'<text x="{x + 8}" y="{y + 19}" font-size="12">{name}</text>',
            f'<text x="{x + 8}" y="{y + 36}" font-family="sans-serif">{what}</text>',
            f'<text x="{x + 2}" y="{y + 62}" font-family="sans-serif" font-size="9" fill="#555">{by}</text>'])

    def arrow(x1, y1, x2, y2):
        parts.append(f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="#555" marker-end="url(#head)"/>')

    parts.append('<defs><marker id="head" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="6" markerHeight="6" orient="auto">'
                 '<path d="M0 0 L6 3 L0 6 z" fill="#555"/></marker></defs>')
    for column, content in enumerate(BOXES):
        box(column, 0, *content)
        if column:
            arrow(8 + column * (width + gap) - gap, 44, 8 + column * (width + gap) - 1, 44)
    for column, content in enumerate(CPU_BOXES, start=2):
        box(column, 1, *content)
    start = 8 + width + gap + width
    arrow(start, 60, start + gap - 1, 128)
    arrow(start + gap + width, 136, start + 2 * gap + width - 1, 136)
    parts.append(f'<text x="{8 + width + gap}" y="128" font-family="sans-serif" font-size="9" fill="#555">the CPU\'s path</text>')
    return svg(16 + len(BOXES) * width + (len(BOXES) - 1) * gap, 190, parts)


ABOUT = {
    "ttir": """## `ttir`: what a program computes

The front end parses the text of the function and walks its syntax tree once. What is known at compile time is computed on the way: `BLOCK` is
`256`, and the shape of every block follows. Everything else becomes an operation on a whole block.

- `tt.splat` makes a block of a scalar, so that both sides of an operation have one shape.
- `tt.addptr` counts in elements. A block of pointers has the type `tensor<256x!tt.ptr<f32>>`.
- Nothing says yet who computes what: there are no lanes and no warps.

Passes over ttir simplify, merge equal operations and move what does not change out of loops. Each operation is
described in [the reference](ops/index.md#operations-of-the-compiler).""",
    "ttgir": """## `ttgir`: where each element lives

For a GPU every block gets a layout, a map from (register, lane, warp) to elements. It is part of the type:
`tensor<256xf32, #blocked>`.

![which lane holds which elements](pictures/stage-lanes.svg)

Two neighbouring elements lie in one lane, so one instruction moves 8 bytes, and the lanes of a warp touch 256 bytes in a row. That this
is possible follows from facts about the arguments: the pointers are multiples of 16 bytes, `n` is a multiple of 16 (so
the mask is the same for both elements of a lane), and `tt.make_range` counts up by one. Kernels with dots get layouts of matrix
instructions, copies through shared memory and pipelines here. [Layouts](layouts.md) shows more of them.""",
    "llir": """## `llir`: what one lane does

Now every block is what one lane holds of it: two floats. The number of the element follows from the number of the lane. It is textual LLVM IR,
which LLVM's own tools read, but no LLVM runs on this path.

- The mask is one comparison for both elements.
- The load is one instruction for both, written with its predicate.
- `2 * x` is two multiplications.""",
    "ptx": """## `ptx`: assembly

PTX is written directly, from a table of instructions. The sum and product of an address have become one `mad`; registers are virtual still.
The driver turns this into machine code when it loads the kernel.""",
}


def page():
    """The page."""
    code = "\n".join(source()[0])
    parts = [f"""<!-- Made from the compiler's output by tests/python/stage_pages.py; do not edit. -->
# How it works

One small kernel, followed from Python text to GPU assembly. It doubles the elements of a vector:

```python
{code}
```

![the stages of a compile](pictures/stages.svg)

The pictures below show the kernel above each stage. What comes from one line of the source has one colour. All of it is what
`kernel.asm[…]` holds after a compile for `cuda:90` with `BLOCK=256`, four warps and arguments that are multiples of 16; places in the source are left out.
"""]
    for name, about in ABOUT.items():
        text = "\n".join(line for line, _ in with_places(name))
        language = {"ttir": "mlir", "ttgir": "mlir", "llir": "llvm", "ptx": "ptx"}[name]
        parts.append(f"""{about}

![the kernel and its {name}](pictures/stage-{name}.svg)

<details>
<summary>{name} as text</summary>

```{language}
{text}
```

</details>
""")
    parts.append("""## On the CPU

The path branches off behind `ttir`. A program becomes loops over chunks of one vector register: the mask `offsets < n` becomes the bound
of a loop, and only the last chunk is masked. LLVM makes the machine code, and a pool of threads runs the grid. The same
text of `ttir` also runs in the interpreter, which is the oracle of all tests.

## See it yourself

| | |
|---|---|
| `kernel.asm["ttgir"]` | a stage of a launched kernel |
| `deuteron compile kernel.py -s "*fp32:16, *fp32:16, i32:16, 256" --target cuda:90 --emit ttgir` | the same without a launch |
| `MLIR_ENABLE_DUMP=1` | the program in front of every pass |
| `deuteron inspect` | stages beside the source, with what each access costs |

[Architecture](architecture.md) says which crate does what, and why.
""")
    return "\n".join(parts)


def pages():
    """Every file: path below `docs/` to the function that makes it."""
    pictures = {f"pictures/stage-{name}.svg": lambda name=name: stage_picture(name) for name in ABOUT}
    return {"how-it-works.md": page, "pictures/stages.svg": path_picture, "pictures/stage-lanes.svg": lanes_picture, **pictures}
