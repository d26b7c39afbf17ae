"""The controller's own work with many hosts, stand-ins of ssh and scp: `many_hosts.py HOSTS SECONDS`.

Each host answers at once, works for SECONDS by sleeping, and sends a sound run file. What is told is the
processor time and the memory of toll and of ReFrame themselves, not that of the stand-ins.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parents[2] / "python")]

import simulated  # noqa: E402

from tollbench.interpreters import interpreter  # noqa: E402
from tollbench.store import RunFile, RunHeader, now_utc  # noqa: E402

UUID = "00000000-0000-4000-8000-000000000000"
STAND_IN = """#!/bin/sh
name=${{0##*/}}
while :; do
    case $1 in -o | -F) shift 2 ;; --) shift; break ;; -r) shift ;; *) break ;; esac
done
if [ "$name" = scp ]; then
    for last; do :; done
    case $last in
    *:*) for file; do case $file in */job.json) cp "$file" "${{last#*:}}" ;; esac; done ;;
    *)
        from=${{1#*:}}; from=${{from%/*}}
        read -r job <"$from/job.json"
        run=${{job#*'"identity": "'}}; run=${{run%%'"'*}}
        host=${{job#*'"host": "'}}; host=${{host%%'"'*}}
        LC_ALL=C sed "s/{uuid}/$run/" {folder}/result.toll >"$last/result.toll"
        set -- $(sha256sum "$last/result.toll")
        printf '{{"identity": "%s", "host": "%s", "status": "ok", ' "$run" "$host" >"$last/answer.json"
        printf '"result": "result.toll", "sha256": "%s", "bytes": {size}}}' "$1" >>"$last/answer.json"
        ;;
    esac
    exit
fi
host=$1
shift
case "$*" in
*" look "*)
    printf 'toll-fleet: {{"system": "Linux", "boot_id": "%s", "free_mb": 900, ' "$host"
    printf '"time": {now}, "lock": [[1, 1]]}}\\n'
    ;;
*mktemp*) mkdir {folder}/"$host"; echo {folder}/"$host" ;;
*" remove "*) rm -r {folder}/"$host"; printf 'toll-fleet: {{}}\\n' ;;
*) exec sleep {seconds} ;;
esac
"""


def used(pid: int) -> tuple[float, float]:
    """(CPU seconds, largest resident memory in MB) of one process; (0, 0) of one that is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0, 0.0
    memory = next((line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")), "0")
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), int(memory) / 1024


def engine_of(pid: int) -> int:
    """ReFrame's process; 0 before it is started."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        return next((int(child) for child in children if "reframe" in simulated.command_of(int(child))), 0)
    except OSError:
        return 0


def main(count: int, seconds: float) -> int:
    """The exit code."""
    with tempfile.TemporaryDirectory(prefix="toll-fleet-many-") as name:
        folder = Path(name)
        header = RunHeader(
            name="fake", uuid=UUID, toll_version="0", command_line="", profile="quick", seed=1, level=0.95,
            precision=0.01, budget_s=1.0, plan={}, machine={}, conditions={}, started_utc=now_utc(),
        )  # fmt: skip
        with RunFile.create(folder / "result.toll", header) as run_file:
            run_file.finish("launches")
        size = (folder / "result.toll").stat().st_size
        (folder / "bin").mkdir()
        text = STAND_IN.format(uuid=UUID, folder=folder, size=size, seconds=seconds, now=time.time())
        for program in ("ssh", "scp"):
            (folder / "bin" / program).write_text(text)
            (folder / "bin" / program).chmod(0o755)
        (folder / "work").mkdir()
        file = simulated.write_hosts(folder / "lab.toml", [f"host{number}" for number in range(count)])
        return _measured(folder, file, count)


def _measured(folder: Path, file: Path, count: int) -> int:
    toll = str(simulated.ROOT / "python/tollbench/__main__.py")
    started = time.monotonic()
    words = ("fleet", "run", "latency/wakeup/std_mutex", "--hosts", str(file), "--json", "--output", "many")
    with (folder / "out").open("w") as out, (folder / "err").open("w") as err:
        process = subprocess.Popen(
            interpreter(toll, *words), cwd=folder / "work", stdout=out, stderr=err,
            env={**os.environ, "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"},
        )  # fmt: skip
        seen: dict[str, tuple[float, float]] = {}
        engine = 0
        while process.poll() is None:
            engine = engine or engine_of(process.pid)
            for name, pid in (("toll", process.pid), ("ReFrame", engine)):
                before, now = seen.get(name, (0.0, 0.0)), used(pid)
                seen[name] = max(before[0], now[0]), max(before[1], now[1])
            time.sleep(0.25)
    took_s = time.monotonic() - started
    rows = json.loads((folder / "out").read_text() or '{"hosts": []}')["hosts"]
    there = sum(row["status"] == "ok" for row in rows)
    print(f"{there} of {count} results in {took_s:.0f} s; {os.cpu_count()} CPUs")
    for name, (cpu_s, memory_mb) in seen.items():
        print(f"  {name}: {cpu_s:.1f} s of CPU time, {memory_mb:.0f} MB at most")
    total_s, memory = sum(one[0] for one in seen.values()), sum(one[1] for one in seen.values())
    print(f"  both: {total_s:.1f} s, {total_s / took_s:.1%} of a CPU over this run, {memory:.0f} MB")
    if there < count:
        print((folder / "err").read_text()[-1500:])
    return int(there < count)


if __name__ == "__main__":
    given = [float(word) for word in sys.argv[1:]]
    sys.exit(main(*(int(given[0]), given[1]) if len(given) == 2 else (1000, 600.0)))
