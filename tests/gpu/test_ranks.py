"""Several ranks of ``torchrun`` on one host: compiled steps of DDP and FSDP equal eager ones, and one rank compiles for all."""

import pytest
import torch

RANKS = [count for count in (2, 4) if count <= torch.cuda.device_count()]

PROGRAM = """
import copy, os, sys
import torch, torch.distributed as dist
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel
import triton, triton.language as tl
assert triton.__name__ == "deuteron"

rank = int(os.environ["RANK"])
torch.cuda.set_device(rank)
dist.init_process_group("nccl", device_id=torch.device("cuda", rank))


def model():
    torch.manual_seed(3)
    layers = [torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.LayerNorm(256), torch.nn.Linear(256, 64)]
    return torch.nn.Sequential(*layers).cuda()


def steps(model, run):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        torch.manual_seed(10 * step + rank)
        x = torch.randn(128, 64, device="cuda")
        optimizer.zero_grad()
        run(x).softmax(-1).square().sum().backward()
        optimizer.step()
    return [getattr(p, "full_tensor", lambda p=p: p)().detach().clone() for p in model.parameters()]


def near(found, expected):
    for one, other in zip(found, expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-5)


eager = DistributedDataParallel(model(), device_ids=[rank])
expected = steps(eager, eager)
ddp = DistributedDataParallel(model(), device_ids=[rank])
near(steps(ddp, torch.compile(ddp)), expected)
sharded = fully_shard(model())
near(steps(sharded, torch.compile(sharded)), expected)

# One kernel that no rank has: how many of them compiled it.
@triton.jit
def twice(p, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(p + i, tl.load(p + i, mask=i < n) * 2, mask=i < n)


data = torch.full((1000, ), float(rank + 1), device="cuda")
dist.barrier()
kernel = twice[(4, )](data, 1000, B=256)
assert bool((data == 2 * (rank + 1)).all())
compiled = torch.tensor([0 if kernel.from_cache else 1], device="cuda")
dist.all_reduce(compiled)
if rank == 0:
    print("ranks:", dist.get_world_size(), "compiled by:", int(compiled))
dist.destroy_process_group()
"""


@pytest.mark.parametrize("ranks", RANKS or [pytest.param(2, marks=pytest.mark.skip(reason="NOT RUN: it needs two GPUs"))])
def test_compiled_steps_of_several_ranks(ranks, python, tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    env = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "inductor"), "DEUTERON_CACHE_DIR": str(tmp_path / "kernels"),
           "OMP_NUM_THREADS": "1"}
    done = python("-m", "deuteron", "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", ranks,
                  tmp_path / "program.py", env=env)
    assert f"ranks: {ranks} compiled by: 1" in done.stdout, done.stdout + done.stderr
