"""The jobs over rows, tiles and planes at small and odd sizes, checked and not timed, on whatever device there is.

``python -m deuteron --cuda-as-cpu benches/gpu/small.py`` needs no GPU. Prints a line for each job and ends with 1 if a result is
wrong.
"""

import sys

import deuteron
import kernels
import plane_jobs
import row_jobs
import tile_jobs
from jobs import split_k

JOBS = [
    lambda: row_jobs.layer_norm_backward(70, 200),
    lambda: row_jobs.long_softmax(5, 3000),
    lambda: row_jobs.rotary(2, 50, 4, 16),
    lambda: row_jobs.embedding(40, 50, 100),
    lambda: row_jobs.running_sums(9, 300),
    lambda: row_jobs.sort(7, 64),
    lambda: row_jobs.transpose(130, 200),
    lambda: tile_jobs.matrix_vector(100, 700),
    lambda: tile_jobs.persistent(300, 280, 200),
    lambda: tile_jobs.typed(130, 140, 250, "int8"),
    lambda: tile_jobs.typed(130, 140, 96, "tf32"),
    lambda: tile_jobs.block_scaled(130, 256, 256),
    lambda: tile_jobs.attention_backward(1, 2, 256, 32, False),
    lambda: tile_jobs.attention_backward(1, 2, 256, 32, True),
    lambda: tile_jobs.paged(2, 2, 4, 32, 16, 128),
    lambda: split_k(16, 256, 512),
    lambda: plane_jobs.plane(200, 300, 100),
    lambda: plane_jobs.plane(70, 130, 72, 3),
    lambda: plane_jobs.line(130, 600, 100),
    lambda: plane_jobs.attention(1, 2, 150, 24, False),
    lambda: plane_jobs.attention(2, 2, 130, 40, True),
]


def main():
    wrong = 0
    for make in JOBS:
        for job in make():
            module = kernels.load(job.file, deuteron)
            for configuration in job.configurations:
                job.make(module, configuration)()
                try:
                    job.check()
                except AssertionError as error:
                    wrong += 1
                    print(f"{job.family} {job.label} {configuration}: {error}")
            print(f"{job.family} {job.label}: {len(job.configurations)} configurations")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
