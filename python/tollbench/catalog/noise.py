"""What makes a machine noisy: for each condition, what it does to a measurement and what helps.

A rule sees the dictionary of `machine.conditions()` and either stays silent or says one `Finding`. Most look
at one condition and stand in the table `RULES`; the others are functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

Conditions = Mapping[str, Any]

# Those that the vDSO reads without a system call.
FAST_CLOCKS = ("tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter")


@dataclass(frozen=True, slots=True)
class Finding:
    """One source of noise: the condition, its value, what follows from it, and what to do."""

    name: str
    value: str
    consequence: str
    remedy: str

    def as_dict(self) -> dict[str, str]:
        return asdict(self)


Rule = Callable[[Conditions], Finding | None]


@dataclass(frozen=True, slots=True)
class OneCondition:
    """A rule that speaks where `condition` is known and `noisy`; `shown` is a format of its value."""

    name: str
    condition: str
    noisy: Callable[[Any], bool]
    shown: str
    consequence: str
    remedy: str

    def __call__(self, conditions: Conditions) -> Finding | None:
        value = conditions.get(self.condition)
        if value is None or not self.noisy(value):
            return None
        return Finding(self.name, self.shown.format(value), self.consequence, self.remedy)


def findings(conditions: Conditions) -> list[Finding]:
    """What these conditions do to a measurement, the worst kinds first; empty on a quiet machine."""
    return [finding for rule in RULES if (finding := rule(conditions)) is not None]


# Turns come one after the other, so that a quota of one CPU or more is hardly ever spent by them.
_BELOW_ONE_CPU = (
    "; programs that take turns are stopped in the midst of batches, which count by their time on the "
    "processor, and have as many launches less"
)


def _one_cpu(c: Conditions) -> Finding | None:
    usable = c.get("usable_cpus", ())
    if len(usable) != 1:
        return None
    return Finding(
        "CPUs to run on", "1",
        "toll and the program that it asks take the processor in turn: each batch begins where toll has just "
        "been at work, and a program's threads never work at the same time",
        "let toll run on a second CPU (taskset, docker run --cpuset-cpus=...)",
    )  # fmt: skip


def _quota(c: Conditions) -> Finding | None:
    quota = c.get("cpu_quota")
    if quota is None or quota >= len(c.get("usable_cpus", ())):
        return None
    return Finding(
        "CPU quota", f"{quota:g} CPUs",
        "the kernel stops all threads for the rest of each period once the quota is spent, so multi-threaded "
        "contenders show pauses of up to 100 ms" + (_BELOW_ONE_CPU if quota < 1 else ""),
        "raise or lift the limit of the container (docker run --cpus=...)",
    )  # fmt: skip


def _load(c: Conditions) -> Finding | None:
    load, cpus = c.get("load_1min"), c.get("cpus") or 1
    if load is None or load < 0.25 * cpus:
        return None
    return Finding(
        "load", f"{load:.2f} on {cpus} CPUs",
        "other processes compete for the CPUs: more switches, longer tails, wider intervals",
        "stop what is running and wait a minute; `top` shows who it is",
    )  # fmt: skip


def _maps(c: Conditions) -> Finding | None:
    maps = c.get("max_map_count")
    if maps is None or maps >= 262_144:
        return None
    return Finding(
        "max_map_count", str(maps),
        "each guarded fiber stack takes two mappings: contenders fail beyond about "
        f"{maps // 2:,} stacks at once",
        "sudo sysctl vm.max_map_count=1048576",
    )  # fmt: skip


def _threads(c: Conditions) -> Finding | None:
    limits = [limit for limit in (c.get("threads_max"), c.get("pids_limit")) if limit is not None]
    if not limits or min(limits) >= 32_768:
        return None
    return Finding(
        "thread limit", f"{min(limits):,}",
        "contenders with one thread a task fail beyond this number",
        "sudo sysctl kernel.threads-max=126000, or raise the container's --pids-limit",
    )  # fmt: skip


RULES: tuple[Rule, ...] = (
    _one_cpu,
    _quota,
    _load,
    OneCondition(
        "CPU pressure", "pressure_cpu_avg10", lambda pressure: pressure >= 0.05, "{:.0%} of the last 10 s",
        "runnable threads waited for a CPU",
        "stop what is running and wait a minute; `top` shows who it is",
    ),
    OneCondition(
        "steal", "steal_share", lambda share: share >= 0.001, "{:.1%} of CPU time since boot",
        "the host gives this machine's CPUs to other guests: long tails and drift, recorded with each launch",
        "use a machine with dedicated CPUs, or let --profile thorough run until the intervals are met",
    ),
    OneCondition(
        "virtualization", "virtualization", lambda kind: kind != "none", "{}",
        "wake-ups between CPUs and page faults leave the guest and cost more than on bare metal; neighbours "
        "share caches and memory bandwidth",
        "compare contenders on this machine only, or measure on bare metal",
    ),
    OneCondition(
        "frequency governor", "governor", lambda governor: governor != "performance", "{}",
        "the clock rate follows the load: short work is timed at a lower frequency than long work",
        "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
    ),
    OneCondition(
        "turbo", "turbo", bool, "on",
        "the clock rate depends on temperature and on how many cores work, so a single thread is timed at "
        "another frequency than many",
        "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo  (AMD: echo 0 into cpufreq/boost)",
    ),
    OneCondition(
        "SMT", "smt", bool, "on",
        "two hardware threads share one core: where the scheduler puts two threads changes their speed",
        "echo off | sudo tee /sys/devices/system/cpu/smt/control",
    ),
    OneCondition(
        "clock source", "clock_source", lambda source: source not in FAST_CLOCKS, "{}",
        "the kernel reads a slow clock: each reading may cost a microsecond and shows in timed samples",
        "boot with tsc=reliable if the CPU's counter is invariant (`toll doctor` says)",
    ),
    OneCondition(
        "transparent huge pages", "transparent_huge_pages", lambda pages: pages == "always", "always",
        "whether an allocation gets huge pages depends on fragmentation, so memory-bound work varies from "
        "launch to launch",
        "echo madvise | sudo tee /sys/kernel/mm/transparent_hugepage/enabled",
    ),
    OneCondition(
        "address randomisation", "aslr", lambda aslr: aslr != 2, "randomize_va_space = {}",
        "every launch gets the same layout, and one layout is one sample: a lucky one looks like a result",
        "sudo sysctl kernel.randomize_va_space=2",
    ),
    OneCondition(
        "perf_event_paranoid", "perf_event_paranoid", lambda level: level > 2, "{}",
        "no hardware counters (instructions, cache misses) beside the times",
        "sudo sysctl kernel.perf_event_paranoid=2",
    ),
    _maps,
    _threads,
)  # fmt: skip
