"""Random kernels that are written together with their values: every engine must give what NumPy gives.

``python benches/compatibility/valued.py --seconds 600 --first 1 --folder /tmp/valued`` goes from seed to seed, and leaves the source of what is
wrong in the folder, made smaller by leaving out statements. ``--seed 17`` runs one and prints it; ``--engines cpu,cuda:90`` says which engines.

Each production of the grammar answers a text and a function that computes its value, by the rules of the language as the reference states
them. So a mistake that all engines share, such as one of the front end, is seen as well. Blocks have up to four dimensions, of sizes from one
on. Sums of floats are of small whole numbers, and exact in any order; zeros that are the maximum of a block lose their sign.
"""

import argparse
import contextlib
import itertools
import pathlib
import sys
import time
import traceback

import numpy as np
import torch
import triton
from extended import EXTENSIONS
from fold_statements import Left
from programs import Differs, load, message
from statements import Writer
from triton.tools.tensor_descriptor import TensorDescriptor
from values import HEAD, INTEGERS, LENGTH, NARROW, REGION, SCRATCH, SMALL, TORCH, TYPES, fit


def parameters():
    return [f"{dtype}_ptr" for dtype in TYPES] + [f"small_{dtype}_ptr"
                                                  for dtype in SMALL] + [f"scratch_{dtype}_ptr"
                                                                         for dtype in SCRATCH] + [f"out_{dtype}_ptr" for dtype in TYPES]


def source_of(writer, statements, stores):
    lines = ["pid = (tl.program_id(2) * tl.num_programs(1) + tl.program_id(1)) * tl.num_programs(0) + tl.program_id(0)"]
    lines += [line for part, _ in statements + stores for line in part]
    text = "\n\n\n".join([HEAD, *writer.helpers, "@triton.jit\n"])
    if writer.extended:
        text = text.replace("@triton.jit\n", f"@triton.jit(extensions={EXTENSIONS})\n")
    names = [*parameters(), "n", *(descriptor.name for descriptor in writer.descriptors)]
    return f"{text}def kernel({', '.join(names)}):\n" + "".join(f"    {line}\n" for line in lines)


def memory(dtype, values):
    """A tensor of these elements."""
    if dtype in TORCH:
        return torch.from_numpy(values).to(TORCH[dtype])
    return torch.from_numpy(values.copy())


def inputs_of(seed):
    rng, inputs = np.random.default_rng(seed), {}
    for dtype in TYPES:
        if dtype == "int1":
            inputs[dtype] = rng.random(LENGTH) < 0.5
        elif dtype in INTEGERS:
            info = np.iinfo(dtype)
            wide, near = rng.integers(info.min, info.max, LENGTH, endpoint=True, dtype=dtype), rng.integers(0, 20, LENGTH)
            values = np.where(rng.random(LENGTH) < 0.5, wide, near.astype(dtype)).astype(dtype)
            values[rng.random(LENGTH) < 0.03], values[rng.random(LENGTH) < 0.03] = info.min, info.max
            inputs[dtype] = values
        else:
            values = rng.standard_normal(LENGTH) * rng.choice([1, 8, 1000], LENGTH)
            if dtype not in NARROW:
                values[rng.integers(0, LENGTH, 40)] = rng.choice([np.inf, -np.inf, np.nan, 0.0, 1e-6], 40)
            inputs[dtype] = fit(dtype, np.clip(values, -100, 100) if dtype in NARROW else values)
    for dtype in SMALL:
        inputs["small_" + dtype] = fit(dtype, rng.integers(-2, 3, LENGTH * 4))
    return inputs, int(rng.choice([0, 2, 3, 4, 5, 16]))


def names_of_outputs():
    return [f"scratch_{dtype}" for dtype in SCRATCH] + [f"out_{dtype}" for dtype in TYPES]


def initial(name, programs):
    dtype = name.split("_")[1]
    values = np.arange(programs * REGION) % 50
    return fit(dtype, values if name.startswith("scratch") else values % 2)


def expected(writer, statements, stores, seed):
    """What memory holds in the end."""
    inputs, n = inputs_of(seed)
    grid = (*writer.grid, 1, 1)[:3]
    programs = int(np.prod(grid))
    memories = {name: initial(name, programs) for name in names_of_outputs()}
    with np.errstate(all="ignore"):
        for pid in itertools.product(*(range(size) for size in reversed(grid))):
            z, y, x = pid
            at = (z * grid[1] + y) * grid[0] + x
            env = {name: values[at * REGION:(at + 1) * REGION] for name, values in memories.items()}
            env.update(inputs=inputs, pid=(x, y, z), n=n)
            with contextlib.suppress(Left):
                for _, run in statements + stores:
                    run(env)
    return memories


def run_on(engine, kernel, writer, seed):
    inputs, n = inputs_of(seed)
    programs = int(np.prod(writer.grid))
    tensors = [memory(name.removeprefix("small_"), values) for name, values in inputs.items()]
    outputs = {name: memory(name.split("_")[1], initial(name, programs)) for name in names_of_outputs()}
    with triton.knobs.runtime.scope():
        if engine == "interpreter":
            triton.knobs.runtime.interpret = True
        elif engine not in ("cpu", "gpu"):
            triton.knobs.runtime.emulate = engine
        device = "cuda" if engine == "gpu" else "cpu"
        buffers = [tensor.to(device) for tensor in [*tensors, *outputs.values()]]
        described = dict(zip([*inputs, *outputs], buffers))
        descriptors = [descriptor.argument(described[descriptor.memory], TensorDescriptor) for descriptor in writer.descriptors]
        ctas = writer.ctas if engine in ("cuda:90", "gpu") else 1
        kernel[writer.grid](*buffers, n, *descriptors, num_warps=writer.warps, num_stages=writer.stages, num_ctas=ctas, enable_fp_fusion=False)
    return dict(zip(outputs, (buffer.cpu() for buffer in buffers[len(tensors):])))


def check(text, writer, statements, stores, folder, name, seed, engines):
    """Raises where an engine differs; answers an error that all have in common."""
    wanted, errors = expected(writer, statements, stores, seed), {}
    for engine in engines:
        kernel = load(text, folder, name)
        try:
            found = run_on(engine, kernel, writer, seed)
        except Exception as error:
            if "input_precision must be one of" not in str(error):
                errors[engine] = message(error)
            continue
        for what, values in wanted.items():
            got = found[what]
            got = got.float().numpy() if what.split("_")[1] in TORCH else got.numpy()
            wrong = np.nonzero(~((got == values) | (got != got) & (values != values)))[0]
            if wrong.size:
                at = int(wrong[0])
                raise Differs(
                    f"{engine}: {what}, element {at % REGION}, program {at // REGION}: {got[at]!r}, wanted {values[at]!r} ({wrong.size} elements)")
    if errors and len(errors) == len(engines):
        return errors[engines[0]]
    if errors:
        raise Differs("; ".join(f"{engine} refuses: {error}" for engine, error in errors.items()))
    return None


def allocated(size, align, stream):
    whole = torch.empty(size + align, dtype=torch.int8)
    return whole[-whole.data_ptr() % align:]


def smaller(writer, statements, stores, fails):
    """Leaves out stores and statements while it still fails alike."""
    for which in (1, 0):
        at = 0
        while at < len((statements, stores)[which]):
            parts = [statements, stores]
            parts[which] = parts[which][:at] + parts[which][at + 1:]
            if fails(*parts):
                statements, stores = parts
            else:
                at += 1
    return statements, stores


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--seed", type=int)
    parser.add_argument("--engines", default="interpreter,cpu,cuda:90,hip:gfx942")
    parser.add_argument("--extended", action="store_true", help="with sizes that are no powers of two, slices, and exits of loops")
    parser.add_argument("--large", action="store_true", help="with blocks of up to 8,192 elements")
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    triton.set_allocator(allocated)
    engines = arguments.engines.split(",")
    end, seed, ran, refused, failures = time.monotonic() + arguments.seconds, arguments.first, 0, {}, 0
    if arguments.seed is not None:
        seed, end = arguments.seed, 0
    while True:
        try:
            writer = Writer(seed, arguments.extended, arguments.large)
            statements, stores = writer.program()
            text = source_of(writer, statements, stores)
            if arguments.seed is not None:
                print(text)
            error = check(text, writer, statements, stores, arguments.folder, f"p{seed}", seed, engines)
            ran += error is None
            if error is not None:
                refused.setdefault(error, []).append(seed)
            (arguments.folder / f"p{seed}.py").unlink(missing_ok=True)
        except Differs as found:
            failures += 1
            manner, tries = str(found).split(":")[0], iter(range(10**6))

            def fails(*parts):
                name = f"s{seed}_{next(tries)}"
                try:
                    check(source_of(writer, *parts), writer, *parts, arguments.folder, name, seed, engines)
                except Differs as other:
                    return str(other).split(":")[0] == manner
                except Exception:
                    return False
                finally:
                    (arguments.folder / f"{name}.py").unlink(missing_ok=True)
                return False

            statements, stores = smaller(writer, statements, stores, fails)
            (arguments.folder / f"s{seed}.py").write_text(source_of(writer, statements, stores))
            print(f"seed {seed}: {found}", flush=True)
        except Exception:
            print(f"seed {seed}: the generator itself\n{traceback.format_exc()}", flush=True)
        seed += 1
        if time.monotonic() > end:
            break
    print(f"{ran} programs agree, {failures} differ, {sum(map(len, refused.values()))} refused by all, up to seed {seed - 1}")
    for error, seeds in sorted(refused.items(), key=lambda item: -len(item[1]))[:20]:
        print(f"  {len(seeds)} ({seeds[0]}): {error}")
    sys.exit(failures > 0)


if __name__ == "__main__":
    main()
