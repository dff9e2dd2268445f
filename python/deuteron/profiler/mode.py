"""Modes of recording what happens inside a kernel. They can be made and printed; `start` refuses them."""

from dataclasses import dataclass, field
from enum import Enum

__all__ = ["BaseMode", "Default", "InstrumentationMode", "MMA", "Optimize", "PCSampling"]


class Optimize(Enum):
    """What may be left out to disturb a kernel less."""

    TIMESHIFT = "time_shift"
    SCHED_STORES = "sched_stores"
    SCHED_BARRIERS = "sched_barriers"
    CLOCK32 = "clock32"

    def __str__(self):
        return self.value


@dataclass(frozen=True)
class BaseMode:
    """A way to record."""

    name: str


@dataclass(frozen=True)
class PCSampling(BaseMode):
    """Which instructions kernels are at, again and again."""

    name: str = field(default="pcsampling", init=False)
    interval: int = 1000

    def __str__(self):
        return f"{self.name}:interval={self.interval}"


@dataclass(frozen=True)
class InstrumentationMode(BaseMode):
    """Clocks that are read inside a kernel."""

    metric_type: str = "cycle"
    sampling_strategy: str = "none"
    sampling_options: str = ""
    granularity: str = "warp"
    buffer_strategy: str = "circular"
    buffer_type: str = "shared"
    buffer_size: int = 0
    optimizations: tuple = ()

    def __str__(self):
        parts = [f"{name}={value}" for name, value in vars(self).items() if name not in ("name", "optimizations")]
        return ":".join([self.name, *parts, f"optimizations=[{','.join(map(str, self.optimizations))}]"])


@dataclass(frozen=True)
class Default(InstrumentationMode):
    """The usual one."""

    name: str = field(default="default", init=False)


@dataclass(frozen=True)
class MMA(InstrumentationMode):
    """Around matrix instructions."""

    name: str = field(default="mma", init=False)
