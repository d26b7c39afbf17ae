"""What this machine is (`describe`) and how it behaves just now (`conditions`).

Everything comes from /proc and /sys, so nothing has to be installed. Each function takes the root of the
file system it reads, which lets the tests lay out machines that are not there. A fact that the kernel does
not tell is None, never a guess.
"""

from __future__ import annotations

import hashlib
import os
import platform
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

from tollbench.catalog import topology
from tollbench.catalog.noise import findings
from tollbench.catalog.tools import run_tool

ROOT = Path("/")
CPU_FOLDER = "sys/devices/system/cpu"
_OTP = 'io:format("Erlang/OTP ~s~n", [erlang:system_info(otp_release)]), halt().'
# How each tells its version; erlc does not know its own.
COMPILERS = dict.fromkeys(("g++", "clang++", "rustc", "ghc", "javac"), ("--version",)) | {
    "go": ("version",),
    "erl": ("-noshell", "-eval", _OTP),
}


def usable_cpus() -> tuple[int, ...]:
    """CPUs that this process may run on, ascending: the affinity mask, not what the machine has."""
    return tuple(sorted(os.sched_getaffinity(0)))


def describe(root: Path = ROOT, *, ask_compilers: bool = True) -> dict[str, Any]:
    """What does not change from minute to minute: CPU, topology, caches, memory, kernel, compilers.

    Compilers are started to say what they are, which takes half a second: nobody is asked where nothing is
    built, and the list is empty.

    Sizes are bytes, frequencies MHz. Holds no host name and no user name: run files are shared.
    """
    cpu = _cpuinfo(root)
    flags = _features(cpu)
    return {
        "cpu": cpu.get("model name") or cpu.get("Processor") or _arm_name(cpu) or platform.machine(),
        "architecture": platform.machine(),
        **_topology(root),
        "usable_cpus": list(usable_cpus()),
        "cpu_order": list(topology.order(_cpu_ids(root), root)),
        "caches": _caches(root),
        "frequency_mhz": _frequency(root, cpu),
        "memory_bytes": _memory_bytes(root),
        "page_bytes": os.sysconf("SC_PAGE_SIZE"),
        "kernel": f"{platform.system()} {platform.release()}",
        "os": _os_name(root),
        "libc": " ".join(platform.libc_ver()).strip(),
        "virtualization": _virtualization(root, cpu),
        "product": _dmi(root, "sys_vendor", "product_name"),
        "firmware": _dmi(root, "bios_vendor", "bios_version", "bios_date"),
        "microcode": cpu.get("microcode"),
        "mitigations": _mitigations(root),
        "invariant_tsc": {"constant_tsc", "nonstop_tsc"} <= flags if "tsc" in flags else None,
        "compilers": compilers() if ask_compilers else [],
    }


def conditions(root: Path = ROOT) -> dict[str, Any]:
    """What may change: governor, load, steal, pressure, limits, and `noise`: what they do to a measurement.

    Shares are between 0 and 1. `noise` is a list of {name, value, consequence, remedy}.
    """
    cpu = root / CPU_FOLDER
    found: dict[str, Any] = {
        "governor": _governors(cpu),
        "turbo": _turbo(cpu),
        "smt": _smt(cpu),
        "virtualization": _virtualization(root, _cpuinfo(root)),
        "load_1min": _load(root),
        "cpus": len(_cpu_ids(root)),
        "steal_share": _steal_share(root),
        "pressure_cpu_avg10": _pressure(root),
        "clock_source": _text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "transparent_huge_pages": _bracketed(_text(root / "sys/kernel/mm/transparent_hugepage/enabled")),
        "aslr": _number(root / "proc/sys/kernel/randomize_va_space"),
        "perf_event_paranoid": _number(root / "proc/sys/kernel/perf_event_paranoid"),
        "isolated_cpus": _text(cpu / "isolated") or "",
        "cpu_quota": _cpu_quota(root),
        "max_map_count": _number(root / "proc/sys/vm/max_map_count"),
        "threads_max": _number(root / "proc/sys/kernel/threads-max"),
        "pids_limit": _pids_limit(root),
        "usable_cpus": list(usable_cpus()),
    }
    found["noise"] = [finding.as_dict() for finding in findings(found)]
    return found


def processor_features(root: Path = ROOT) -> frozenset[str]:
    """What the processor can do and the kernel lets programs do, in the kernel's words."""
    return _features(_cpuinfo(root))


def _features(cpu: dict[str, str]) -> frozenset[str]:
    return frozenset(cpu.get("flags", cpu.get("Features", "")).split())


def processor_mark(root: Path = ROOT) -> str:
    """Differs where what a compiler makes of `native` may: of the processor's name and instructions."""
    cpu = _cpuinfo(root)
    names = ("model name", "cpu family", "model", "flags", "Features", "CPU implementer", "CPU part", "isa")
    told = [cpu.get(name, "") for name in names]
    return hashlib.sha256("\0".join([platform.machine(), *told]).encode()).hexdigest()[:16]


def compilers() -> list[dict[str, str]]:
    """Compilers on PATH as {name, version}; the first line that they say about themselves."""
    return [
        {"name": name, "version": _first_line([path, *asks])}
        for name, asks in COMPILERS.items()
        if (path := shutil.which(name))
    ]


def _first_line(command: list[str]) -> str:
    try:
        done = run_tool(command, limit_s=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ((done.stdout or done.stderr).strip().splitlines() or [""])[0]


def _text(path: Path) -> str | None:
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return None


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text is not None and re.fullmatch(r"-?\d+", text) else None


def _bracketed(text: str | None) -> str | None:
    match = re.search(r"\[(\w+)\]", text or "")
    return match.group(1) if match else None


def _cpuinfo(root: Path) -> dict[str, str]:
    """The first processor's block of /proc/cpuinfo."""
    block = (_text(root / "proc/cpuinfo") or "").split("\n\n")[0]
    pairs = (line.split(":", 1) for line in block.splitlines() if ":" in line)
    return {key.strip(): value.strip() for key, value in pairs}


def _arm_name(cpu: dict[str, str]) -> str | None:
    part, implementer = cpu.get("CPU part"), cpu.get("CPU implementer")
    return f"Arm implementer {implementer} part {part}" if part and implementer else None


def cpu_list(text: str) -> list[int]:
    """The kernel's list notation as numbers: "0-2,5" -> [0, 1, 2, 5]."""
    numbers: list[int] = []
    for piece in filter(None, (piece.strip() for piece in text.split(","))):
        first, _, last = piece.partition("-")
        numbers.extend(range(int(first), int(last or first) + 1))
    return numbers


def _cpu_ids(root: Path) -> list[int]:
    online = _text(root / CPU_FOLDER / "online")
    return cpu_list(online) if online else list(usable_cpus())


def _topology(root: Path) -> dict[str, int | None]:
    """Packages, cores, threads a core and NUMA nodes of the CPUs that are online."""
    cores, packages = set(), set()
    ids = _cpu_ids(root)
    for cpu in ids:
        folder = root / CPU_FOLDER / f"cpu{cpu}" / "topology"
        package = _number(folder / "physical_package_id")
        siblings = _text(folder / "thread_siblings_list") or str(cpu)
        packages.add(package if package is not None else 0)
        cores.add((package, siblings))
    nodes = list((root / "sys/devices/system/node").glob("node[0-9]*"))
    return {
        "cpus": len(ids),
        "packages": len(packages) or None,
        "cores": len(cores) or None,
        "threads_per_core": round(len(ids) / len(cores)) if cores else None,
        "numa_nodes": len(nodes) or None,
    }


def _caches(root: Path) -> list[dict[str, Any]]:
    """Each kind of cache once: level, type, bytes, how many CPUs share one, how many there are."""
    seen: dict[tuple[int, str, int, int], set[str]] = {}
    for cpu in _cpu_ids(root):
        for index in sorted((root / CPU_FOLDER / f"cpu{cpu}" / "cache").glob("index[0-9]*")):
            size = re.fullmatch(r"(\d+)([KMG]?)", _text(index / "size") or "")
            level = _number(index / "level")
            if not size or level is None:
                continue
            shared = _text(index / "shared_cpu_list") or str(cpu)
            bytes_ = int(size.group(1)) << {"": 0, "K": 10, "M": 20, "G": 30}[size.group(2)]
            key = (level, _text(index / "type") or "Unified", bytes_, len(cpu_list(shared)))
            seen.setdefault(key, set()).add(shared)
    return [
        {"level": level, "type": kind, "bytes": size, "shared_by": shared_by, "instances": len(instances)}
        for (level, kind, size, shared_by), instances in sorted(seen.items())
    ]


def _frequency(root: Path, cpu: dict[str, str]) -> dict[str, float | None]:
    folder = root / CPU_FOLDER / "cpu0" / "cpufreq"
    low, high = _number(folder / "cpuinfo_min_freq"), _number(folder / "cpuinfo_max_freq")
    now = re.fullmatch(r"[\d.]+", cpu.get("cpu MHz", ""))
    return {
        "min": low / 1000 if low else None,
        "max": high / 1000 if high else None,
        "now": float(now.group()) if now else None,
    }


def _memory_bytes(root: Path) -> int | None:
    match = re.search(r"MemTotal:\s+(\d+) kB", _text(root / "proc/meminfo") or "")
    return int(match.group(1)) * 1024 if match else None


def _os_name(root: Path) -> str | None:
    match = re.search(r'^PRETTY_NAME="?([^"\n]*)', _text(root / "etc/os-release") or "", re.MULTILINE)
    return match.group(1) if match else None


def _virtualization(root: Path, cpu: dict[str, str]) -> str | None:
    """ "none", or what lies between us and the hardware; None where the kernel tells neither."""
    product = _dmi(root, "sys_vendor", "product_name") or ""
    known = ("KVM", "QEMU", "VMware", "VirtualBox", "Xen", "Google", "Amazon EC2", "Microsoft", "OpenStack")
    is_guest = (root / "proc/xen").exists() or _is_guest(root, cpu, product)
    layers = []
    if is_guest:
        layers.append(next((name for name in known if name in product), "virtual machine"))
    if (root / ".dockerenv").exists() or (root / "run/.containerenv").exists():
        layers.append("container")
    return " + ".join(layers) or (None if is_guest is None else "none")


def _is_guest(root: Path, cpu: dict[str, str], product: str) -> bool | None:
    """By the processor's own word, which x86 alone has; else by what calls itself the machine."""
    if "flags" in cpu:
        return "hypervisor" in cpu["flags"].split()
    tree = root / "proc/device-tree"
    model = "".join(filter(None, (_text(tree / "model"), _text(tree / "compatible"))))
    virtual = r"KVM|QEMU|VMware|VirtualBox|Xen|OpenStack|Compute Engine|Virtual|Parallels|dummy-virt"
    if (tree / "hypervisor").exists() or re.search(virtual, product + model):
        return True
    if "Amazon EC2" in product:  # whose own machines are called metal
        return ".metal" not in product
    return False if product or model else None


def _dmi(root: Path, *names: str) -> str | None:
    """What the firmware says of itself; names and versions alone, no serial numbers."""
    found = [_text(root / "sys/class/dmi/id" / name) for name in names]
    return " ".join(filter(None, found)) or None


def _mitigations(root: Path) -> dict[str, str]:
    """What the kernel does against each weakness of the processor: it costs time, and differs by kernel."""
    folder = root / CPU_FOLDER / "vulnerabilities"
    return {path.name: text for path in sorted(folder.glob("*")) if (text := _text(path))}


def _governors(cpu: Path) -> str | None:
    names = {_text(path) for path in cpu.glob("cpu[0-9]*/cpufreq/scaling_governor")}
    return ", ".join(sorted(name for name in names if name)) or None


def _turbo(cpu: Path) -> bool | None:
    if (intel := _number(cpu / "intel_pstate/no_turbo")) is not None:
        return intel == 0
    boost = _number(cpu / "cpufreq/boost")
    return None if boost is None else boost == 1


def _smt(cpu: Path) -> bool | None:
    active = _number(cpu / "smt/active")
    return None if active is None else active == 1


def _load(root: Path) -> float | None:
    text = _text(root / "proc/loadavg")
    return float(text.split()[0]) if text else None


def _steal_share(root: Path) -> float | None:
    """Share of all CPU time since boot that the hypervisor gave to others."""
    fields = (_text(root / "proc/stat") or "").splitlines()[:1]
    words = fields[0].split() if fields else []
    if len(words) < 9 or words[0] != "cpu":
        return None
    times = [int(word) for word in words[1:9]]  # guest time is part of user time already
    return times[7] / sum(times) if any(times) else None


def _pressure(root: Path) -> float | None:
    match = re.search(r"some avg10=([\d.]+)", _text(root / "proc/pressure/cpu") or "")
    return float(match.group(1)) / 100 if match else None


def _cgroup_folders(root: Path, controller: str) -> list[Path]:
    """This process's control groups for one controller, innermost first; version 2, then version 1."""
    folders: list[Path] = []
    for line in (_text(root / "proc/self/cgroup") or "").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        base = root / "sys/fs/cgroup" / (controllers if controllers else "")
        here = base / path.strip("/")
        folders += [here, *(parent for parent in here.parents if parent.is_relative_to(base))]
    return folders


def _cpu_quota(root: Path) -> float | None:
    """CPUs' worth of time that the control group may use; None where there is no limit."""
    quotas = []
    for folder in _cgroup_folders(root, "cpu"):
        if match := re.fullmatch(r"(\d+) (\d+)", _text(folder / "cpu.max") or ""):
            quotas.append(int(match.group(1)) / int(match.group(2)))
        quota, period = _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
        if quota and period and quota > 0:
            quotas.append(quota / period)
    return min(quotas, default=None)


def _pids_limit(root: Path) -> int | None:
    """Threads and processes that the control group may have; None where there is no limit."""
    limits = [_number(folder / "pids.max") for folder in _cgroup_folders(root, "pids")]
    return min((limit for limit in limits if limit is not None), default=None)
