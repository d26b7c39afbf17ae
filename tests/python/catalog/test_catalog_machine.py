"""The machine as /proc and /sys describe it, laid out by the tests."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tollbench.catalog import machine
from tollbench.catalog.noise import findings

CPU = "sys/devices/system/cpu"


def lay_out(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text + "\n")
    return root


def cpu(number: int, core: str, package: int = 0) -> dict[str, str]:
    folder = f"{CPU}/cpu{number}"
    return {
        f"{folder}/topology/physical_package_id": str(package),
        f"{folder}/topology/thread_siblings_list": core,
        f"{folder}/cache/index0/level": "1",
        f"{folder}/cache/index0/type": "Data",
        f"{folder}/cache/index0/size": "32K",
        f"{folder}/cache/index0/shared_cpu_list": core,
        f"{folder}/cache/index3/level": "3",
        f"{folder}/cache/index3/type": "Unified",
        f"{folder}/cache/index3/size": "8M",
        f"{folder}/cache/index3/shared_cpu_list": "0-3",
        f"{folder}/cpufreq/scaling_governor": "powersave",
        f"{folder}/cpufreq/cpuinfo_max_freq": "4200000",
    }


ARM = {"proc/cpuinfo": "processor : 0\nFeatures : fp asimd atomics\nCPU implementer : 0x41"}


def dmi(vendor: str, product: str) -> dict[str, str]:
    return {"sys/class/dmi/id/sys_vendor": vendor, "sys/class/dmi/id/product_name": product}


@pytest.fixture
def laptop(tmp_path: Path) -> Path:
    """Two cores with two hardware threads each, turbo, powersave: everything that makes noise."""
    files = {
        f"{CPU}/online": "0-3",
        **cpu(0, "0,2"), **cpu(1, "1,3"), **cpu(2, "0,2"), **cpu(3, "1,3"),
        f"{CPU}/smt/active": "1",
        f"{CPU}/intel_pstate/no_turbo": "0",
        f"{CPU}/isolated": "2-3",
        "sys/devices/system/node/node0/cpulist": "0-3",
        "sys/devices/system/clocksource/clocksource0/current_clocksource": "hpet",
        "sys/kernel/mm/transparent_hugepage/enabled": "[always] madvise never",
        "proc/cpuinfo": "processor : 0\nmodel name : A CPU: fast\ncpu MHz : 3999.5\nmicrocode : 0xf0\n"
        "flags : tsc constant_tsc nonstop_tsc\n\nprocessor : 1\nmodel name : other",
        "sys/class/dmi/id/bios_vendor": "Made", "sys/class/dmi/id/bios_version": "1.2",
        "sys/class/dmi/id/product_serial": "SERIAL-7", "sys/class/dmi/id/product_name": "m1.large",
        f"{CPU}/vulnerabilities/spectre_v2": "Mitigation: Retpolines",
        f"{CPU}/vulnerabilities/meltdown": "Not affected",
        "proc/meminfo": "MemTotal:       1024 kB",
        "proc/loadavg": "3.50 1.00 0.50 2/300 4242",
        "proc/stat": "cpu  100 0 50 800 0 0 0 50 7 7",
        "proc/pressure/cpu": "some avg10=12.50 avg60=0.00 avg300=0.00 total=1",
        "proc/sys/kernel/randomize_va_space": "0",
        "proc/sys/kernel/perf_event_paranoid": "4",
        "proc/sys/kernel/threads-max": "1000",
        "proc/sys/vm/max_map_count": "65530",
        "proc/self/cgroup": "0::/user/me",
        "sys/fs/cgroup/user/cpu.max": "50000 100000",
        "sys/fs/cgroup/user/me/cpu.max": "150000 100000",
        "sys/fs/cgroup/user/me/pids.max": "500",
        "etc/os-release": 'NAME="Debian"\nPRETTY_NAME="Debian GNU/Linux 99"',
    }  # fmt: skip
    return lay_out(tmp_path, files)


def test_describes_topology_and_caches(laptop):
    found = machine.describe(laptop)
    assert (found["cpu"], found["os"]) == ("A CPU: fast", "Debian GNU/Linux 99")
    wanted = {"cpus": 4, "cores": 2, "packages": 1, "threads_per_core": 2, "numa_nodes": 1}
    assert {name: found[name] for name in wanted} == wanted
    assert found["caches"] == [
        {"level": 1, "type": "Data", "bytes": 32768, "shared_by": 2, "instances": 2},
        {"level": 3, "type": "Unified", "bytes": 8 << 20, "shared_by": 4, "instances": 1},
    ]
    assert found["frequency_mhz"] == {"min": None, "max": 4200.0, "now": 3999.5}
    assert found["memory_bytes"] == 1 << 20
    assert found["invariant_tsc"] is True
    assert found["virtualization"] == "none"


def test_reads_conditions(laptop):
    found = machine.conditions(laptop)
    wanted = {
        "governor": "powersave", "turbo": True, "smt": True, "load_1min": 3.5, "steal_share": 0.05,
        "pressure_cpu_avg10": 0.125, "clock_source": "hpet", "transparent_huge_pages": "always", "aslr": 0,
        "perf_event_paranoid": 4, "isolated_cpus": "2-3", "cpu_quota": 0.5, "max_map_count": 65530,
        "threads_max": 1000, "pids_limit": 500,
    }  # fmt: skip
    assert {name: found[name] for name in wanted} == wanted


def test_a_noisy_machine_hears_of_every_kind_of_noise(laptop):
    named = {finding["name"] for finding in machine.conditions(laptop)["noise"]}
    assert named - {"CPUs to run on"} == {
        "CPU quota", "load", "CPU pressure", "steal", "frequency governor", "turbo", "SMT", "clock source",
        "transparent huge pages", "address randomisation", "perf_event_paranoid", "max_map_count",
        "thread limit",
    }  # fmt: skip


def test_a_machine_that_tells_nothing_gives_no_guesses(tmp_path):
    found = machine.conditions(tmp_path)
    assert [one for one in found["noise"] if one["name"] != "CPUs to run on"] == []
    told = {name for name, value in found.items() if value is not None}
    assert told <= {"noise", "cpus", "usable_cpus", "isolated_cpus"}
    json.dumps(machine.describe(tmp_path))


def test_a_quiet_machine_is_called_quiet():
    quiet = {
        "governor": "performance", "turbo": False, "smt": False, "virtualization": "none", "load_1min": 0.1,
        "cpus": 8, "steal_share": 0.0, "pressure_cpu_avg10": 0.0, "clock_source": "tsc",
        "transparent_huge_pages": "madvise", "aslr": 2, "perf_event_paranoid": 2, "isolated_cpus": "",
        "cpu_quota": None, "max_map_count": 1048576, "threads_max": 100000, "pids_limit": None,
        "usable_cpus": [0, 1],
    }  # fmt: skip
    assert findings(quiet) == []


@pytest.mark.parametrize(
    ("source", "slow"),
    [("tsc", False), ("kvm-clock", False), ("hyperv_clocksource_tsc_page", False), ("acpi_pm", True)],
)
def test_a_clock_that_is_read_without_a_system_call_is_no_noise(source: str, slow: bool) -> None:
    assert bool(findings({"clock_source": source, "usable_cpus": [0, 1]})) is slow


def test_a_quota_counts_only_below_the_usable_cpus():
    conditions = {"cpu_quota": 2.0, "usable_cpus": [0, 1]}
    assert findings(conditions) == []
    assert [f.name for f in findings(conditions | {"usable_cpus": [0, 1, 2]})] == ["CPU quota"]


def test_what_turns_cost_on_one_cpu_and_under_a_small_quota_is_told():
    (one,) = findings({"usable_cpus": [3]})
    assert "toll and the program that it asks take the processor in turn" in one.consequence
    (small,) = findings({"cpu_quota": 0.5, "usable_cpus": [0, 1]})
    (large,) = findings({"cpu_quota": 1.5, "usable_cpus": [0, 1]})
    assert "programs that take turns are stopped in the midst of batches" in small.consequence
    assert "take turns" not in large.consequence


def test_control_groups_of_version_1(tmp_path):
    lay_out(
        tmp_path,
        {
            "proc/self/cgroup": "4:cpu,cpuacct:/box\n3:pids:/box\n0::/",
            "sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_quota_us": "150000",
            "sys/fs/cgroup/cpu,cpuacct/box/cpu.cfs_period_us": "100000",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us": "-1",
            "sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us": "100000",
            "sys/fs/cgroup/pids/box/pids.max": "max",
        },
    )
    found = machine.conditions(tmp_path)
    assert (found["cpu_quota"], found["pids_limit"]) == (1.5, None)


@pytest.mark.parametrize(
    ("files", "kind"),
    [
        ({"proc/cpuinfo": "flags : tsc hypervisor", "sys/class/dmi/id/sys_vendor": "QEMU"}, "QEMU"),
        ({"proc/cpuinfo": "flags : hypervisor"}, "virtual machine"),
        ({"proc/cpuinfo": "flags : tsc", ".dockerenv": ""}, "container"),
        ({"proc/cpuinfo": "flags : hypervisor", "run/.containerenv": ""}, "virtual machine + container"),
        # Arm's /proc/cpuinfo says nothing of it.
        ({**ARM, **dmi("Amazon EC2", "c7g.large")}, "Amazon EC2"),
        ({**ARM, **dmi("Amazon EC2", "c7g.metal")}, "none"),
        ({**ARM, **dmi("Google", "Google Compute Engine")}, "Google"),
        ({**ARM, **dmi("Microsoft Corporation", "Virtual Machine")}, "Microsoft"),
        ({**ARM, **dmi("Microsoft Corporation", "Surface Pro X")}, "none"),
        ({**ARM, **dmi("Ampere", "Altra")}, "none"),
        ({**ARM, "proc/device-tree/compatible": "linux,dummy-virt"}, "virtual machine"),
        ({**ARM, "proc/device-tree/hypervisor/compatible": "xen,xen"}, "virtual machine"),
        ({**ARM, "proc/device-tree/model": "Raspberry Pi 5"}, "none"),
        ({**ARM, ".dockerenv": ""}, "container"),
        (ARM, None),
    ],
)
def test_layers_below_are_named(tmp_path, files, kind):
    assert machine.conditions(lay_out(tmp_path, files))["virtualization"] == kind


@pytest.mark.parametrize(
    ("text", "numbers"), [("0", [0]), ("0-2,5", [0, 1, 2, 5]), ("", []), ("1, 3-4", [1, 3, 4])]
)
def test_cpu_lists(text, numbers):
    assert machine.cpu_list(text) == numbers


def test_this_machine_fits_into_a_run_file_and_names_nobody():
    import getpass
    import platform

    text = json.dumps([machine.describe(), machine.conditions()])
    assert platform.node() not in text or len(platform.node()) < 4
    assert f"/{getpass.getuser()}/" not in text


def test_each_compiler_is_asked_in_its_own_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """erlc once answered "Unknown option: --version", and the report showed that as its version."""
    for name in machine.COMPILERS:
        tool = tmp_path / name
        tool.write_text('#!/bin/sh\necho "$0" "$@"\n', encoding="utf-8")
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    told = {found["name"]: found["version"].split(maxsplit=1)[1] for found in machine.compilers()}
    assert told["g++"] == "--version"
    assert told["go"] == "version"
    assert told["erl"].startswith("-noshell -eval")
    assert "erlc" not in told


def test_firmware_and_what_the_kernel_mitigates_are_stated_and_serial_numbers_are_not(laptop: Path) -> None:
    told = machine.describe(laptop, ask_compilers=False)
    assert told["firmware"] == "Made 1.2"
    assert told["product"] == "m1.large"
    assert told["microcode"] == "0xf0"
    assert told["mitigations"] == {"meltdown": "Not affected", "spectre_v2": "Mitigation: Retpolines"}
    assert "SERIAL" not in json.dumps(told)


def test_what_the_firmware_does_not_say_is_unknown(tmp_path: Path) -> None:
    told = machine.describe(tmp_path, ask_compilers=False)
    assert (told["firmware"], told["product"], told["microcode"]) == (None, None, None)
    assert told["mitigations"] == {}


def test_another_instruction_set_is_another_processor(tmp_path: Path) -> None:
    def marked(name: str, **told: str) -> str:
        told = {"model name": "A CPU", "flags": "fpu avx2", "cpu MHz": "2000.1", "bogomips": "4000"} | told
        text = "\n".join(f"{key} : {value}" for key, value in told.items())
        return machine.processor_mark(lay_out(tmp_path / name, {"proc/cpuinfo": text}))

    one = marked("one")
    assert machine.processor_features(tmp_path / "one") == {"fpu", "avx2"}
    assert marked("same", **{"cpu MHz": "3999.5"}) == one
    assert len({one, marked("wider", flags="fpu avx2 avx512f"), marked("other", **{"model name": "B"})}) == 3
