"""The one test that ReFrame runs, once on each host: it sends a job, starts it, and fetches what it left.

ReFrame loads a copy of this file by its path; toll itself never imports it. It lies beside `jobs.json`, whose
keys are ReFrame's partitions, one a host, and `sent/`, which every job gets.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import reframe
import reframe.utility.sanity as sanity
from reframe.core.builtins import run_before, sanity_function

HERE = Path(__file__).resolve().parent
JOBS = json.loads((HERE / "jobs.json").read_text(encoding="utf-8"))


@reframe.simple_test
class FleetCase(reframe.RunOnlyRegressionTest):  # type: ignore[misc]  # ships no types
    """One job on one host."""

    valid_systems = ["*"]  # noqa: RUF012  so are ReFrame's tests written
    valid_prog_environs = ["*"]  # noqa: RUF012
    sourcesdir = str(HERE / "sent")
    executable = "sh"

    @run_before("run")  # type: ignore[untyped-decorator]
    def takes_its_own_job(self) -> None:
        """Its files are copies: what is fetched from a host is written over them."""
        given = JOBS[self.current_partition.name]
        stage = Path(self.stagedir)
        (stage / "job.json").write_text(json.dumps(given["job"]), encoding="utf-8")
        unanswered = {"identity": given["job"]["identity"], "host": given["job"]["host"], "status": ""}
        (stage / "unanswered.json").write_text(json.dumps(unanswered), encoding="utf-8")
        for file in given["files"]:
            shutil.copyfile(file, stage / Path(file).name)
        self.executable_opts = ["start.sh", given["python"]]
        self.postrun_cmds = ["exit 0"]  # a job that failed would not be fetched
        self.max_pending_time = given["queue_s"] or None

    @sanity_function  # type: ignore[untyped-decorator]
    def has_an_answer(self) -> object:
        """Whether the host had a last word; toll judges what it says."""
        return sanity.assert_true((Path(self.stagedir) / "answer.json").is_file() or said(self))


def said(case: FleetCase) -> bool:
    """Whether the answer came on standard output, where a full disk took no file."""
    return "toll-fleet: " in (Path(case.stagedir) / str(case.stdout)).read_text(errors="replace")
