"""One `toll run` from its plan to its report; `tollbench.cli.run` is the table of contents."""

from __future__ import annotations

import math
import shlex
import sys
import uuid
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Literal, Self

from tollbench import building, measure, numbers
from tollbench.analysis.results import Results
from tollbench.analysis.stated import stated
from tollbench.catalog import environments, machine, packages, suites
from tollbench.cli import forecasts, report
from tollbench.cli.asking import Wishes, settings_of, with_time_to_read
from tollbench.cli.builds import build_plan, only_planned
from tollbench.cli.console import Progress, progress, say, tell_json, telling_what_is_kept
from tollbench.cli.edition import edition, is_this_edition
from tollbench.cli.machine_use import machine_taken
from tollbench.cli.named_files import file_path, files_of_run
from tollbench.cli.places import ROOT, build_folder, in_runs, make_folder, run_path, shown_path
from tollbench.errors import Exit, TollError
from tollbench.home import COMMAND
from tollbench.measure import Interrupt, events
from tollbench.measure.program_files import PROGRAMS, begun_with
from tollbench.plan import PROFILES, Plan, Selection, by_name, make
from tollbench.store import RunFile, RunHeader, now_utc
from tollbench.text import as_text, shown
from tollbench.words import HOST, Environment, Program, Status, Workload
from tollbench.writing import Output, check_outputs
from tollbench.writing.marks import OF_RUN, RUN_FILE

Shown = Literal["screen", "tables", "json"]  # what a run prints at its end

# A quick run of all workloads: 105 cases in 165 s, all ratios with an interval, on a machine that others use.
ENOUGH_S = 1.6  # a case
SHORT_S = 1.0

# What a run of the profile `check` must not find; what cannot run here is skipped or unsupported instead.
BROKEN = frozenset(Status) - {Status.OK, Status.PLANNED, Status.SKIPPED, Status.UNSUPPORTED}


def planned(selection: Selection, wishes: Wishes, output: str, *, force: bool = False) -> Session:
    """A new run. Everything that a typing error can break is checked here, before anything is installed."""
    catalogue = suites.load(ROOT)
    cpus = len(machine.usable_cpus())
    selection = replace(selection, environments=environments.expanded(selection.environments))
    settings = with_time_to_read(settings_of(wishes), selection.values.get("input", ()))
    plan = make(catalogue, selection, environments.OFFERED, settings, cpus)
    session = Session(plan, _new_path(output), resume=False, force=force)
    session.precision_asked = wishes.precision is not None
    session.left_out = by_name(catalogue)
    return session


def resumed(name: str, *, force: bool = False) -> Session:
    """The rest of an interrupted run. Raises TollError where it is complete or not ours."""
    path = run_path(name)
    if path.is_symlink():
        raise TollError(
            f"{path} is a link to {path.readlink()}, and toll writes through no link",
            f"name the run itself: {COMMAND} run --resume {shlex.quote(str(path.resolve()))}",
        )
    return Session(_stored_plan(path), path, resume=True, force=force)


def _stored_plan(path: Path) -> Plan:
    with RunFile.open(path) as run_file:
        known = environments.including(item.name for item in run_file.environments())
        return measure.plan_of(run_file, suites.load(ROOT), known)


# What no machine changes: launches of two of these would be one row.
_NEVER_ANOTHER = ("cpu", "architecture", "cpus", "usable_cpus")


class Session:
    """The stages of one run; each is called once, in order."""

    def __init__(self, plan: Plan, path: Path, *, resume: bool, force: bool = False) -> None:
        self.plan = plan
        self.path = path
        self.folder = build_folder(HOST.name)
        self.programs: tuple[Program, ...] = ()
        self.run_file: RunFile | None = None
        self.stopped_by = ""
        self.page = Output(
            path.with_suffix(".html"),
            OF_RUN["html"],
            "the page",
            force,
            "name another run file, or do without the page: --no-html",
        )
        self._enter: tuple[str, ...] = ()
        self._resume = resume
        self._names_each = False
        self.precision_asked = False
        self.identity = str(uuid.uuid4())  # of a new run
        self.left_out: tuple[str, ...] = ()  # topics and workloads that a run without names does not measure
        self._alone = ExitStack()

    def check_page(self, *inputs: Path) -> None:
        """Raises TollError where the page could not, or must not, be written; `inputs` are read as well."""
        check_outputs([self.page], [*files_of_run(self.path), *inputs])

    def take_machine(self, *, wait: bool) -> None:
        """Before the build, which would disturb another run as much as a measurement does."""
        with Interrupt() as interrupt:  # while waiting; the build is ended by Ctrl-C as usual
            self._alone.enter_context(machine_taken(interrupt, wait=wait))
            if interrupt.requested:  # it came as the machine was got
                raise TollError("interrupted", "start again when it suits", Exit.INTERRUPTED)
        if self._resume:  # the run that was waited for may have gone on with this very file
            with RunFile.open(self.path) as run_file:  # a refusal comes before the build, and leaves the file
                what_is_another(run_file)
                run_file.check_interrupted()
            self.plan = _stored_plan(self.path)

    def prepare(self, *, install: bool) -> None:
        """System packages, then the build. A contender that cannot be built becomes a row with its reason."""
        # A root has its own packages.
        chosen = only_planned(self.plan, [item.name for item in self.plan.environments if not item.root])
        _system_packages(chosen, self.plan.environments, install=install)
        built = build_plan(self.plan, self.plan.settings.layouts_used)
        self.programs, self.folder, self._enter = built.programs, built.folder, built.enter
        self.plan = replace(self.plan, environments=built.environments)

    def measure(self, *, names_each: bool = False) -> None:
        """Launches until enough is known, the budget is spent, or somebody interrupts.

        `names_each`: forecasts name every workload, however many there are.
        """
        self._names_each = names_each
        if self._resume:  # a refusal leaves the file as it is
            with RunFile.open(self.path) as stored:
                begun_with(self.programs, stored.header().plan.get(PROGRAMS))
        self.run_file = (
            RunFile.resume(self.path) if self._resume else RunFile.create(self.path, self._header())
        )
        if self._resume and (another := what_is_another(self.run_file)):
            self.run_file.set_meanwhile([*self.run_file.header().meanwhile, *another])
        say(f"measuring {len(self.plan.cases)} cases into {shown_path(self.path)}; Ctrl-C stops and reports")
        if not self._resume and (told := _short_of_time(self.plan)):
            say(told)
        try:
            with progress("measuring") as bar:
                self.stopped_by = self._launch(self.run_file, bar)
        except TollError:
            with suppress(TollError):  # a full disk refuses this too; the first error says more
                self._forget_empty(self.run_file)
            raise
        with self._telling_what_is_kept():
            self._close()

    def _launch(self, run_file: RunFile, bar: Progress) -> str:
        return measure.run(
            self.plan,
            self.programs,
            run_file,
            canary=measure.Canary(_canary(self.folder, self._enter)),
            allocations_library=building.allocation_counter(self.folder),
            on_event=lambda event: self._tell(bar, event),
        )

    def _tell(self, bar: Progress, event: events.Event) -> None:
        match event:
            case events.CaseEnded(case=case, status=status, reason=reason):
                say(f"{case.workload} {case.contender}: {status}: {reason}")
            case events.FileIsFull():
                say("the run ends: its file holds as many launches as is read of one; name fewer at a time")
            case events.TimePlanned():
                settings = self.plan.settings
                usual = PROFILES.get(settings.profile, settings).precision  # who resumes asked before
                asked = self.precision_asked or settings.precision != usual
                for text in forecasts.sentences(event, settings, each=self._names_each, asked=asked):
                    say(text)
            case events.LaunchDone(elapsed_s=elapsed, left_s=left) if left is not None:
                bar.step(elapsed, elapsed + left, _told(event), left)

    def _forget_empty(self, run_file: RunFile) -> None:
        """A run that was refused before its first launch leaves no file behind."""
        empty = not self._resume and run_file.launch_count() == 0
        self._close()
        if empty:
            self.path.unlink(missing_ok=True)

    def _close(self) -> None:
        run_file, self.run_file = self.run_file, None
        if run_file is not None:
            run_file.close()

    def show(self, *, html: bool, form: Shown) -> Exit:
        """Writes the HTML file, prints the answer as `form` says, and says how the run ended.

        Raises TollError at the end where the page is refused; its code is 1 where a check failed.
        """
        with self._telling_what_is_kept():
            return self._show(html=html, form=form)

    @contextmanager
    def _telling_what_is_kept(self) -> Iterator[None]:
        """Who interrupts once nothing more is measured is told where all of it is, and not to start again."""
        verb = "run --resume" if self.stopped_by == "interrupt" else "report"
        with telling_what_is_kept(f"{COMMAND} {verb} {shlex.quote(shown_path(self.path))}"):
            yield

    def _show(self, *, html: bool, form: Shown) -> Exit:
        results = report.analyse(self.path)
        refused = self._write_page(results) if html else None
        written = shown_path(self.page.path) if html and refused is None else ""
        if form == "json":
            from tollbench.report import json

            tell_json(json.render(results).rstrip("\n"))
        elif form == "tables":
            report.show(results)
        else:
            report.show_answers(results, written, shown_path(self.path))
        if written and form != "screen":
            say(f"report: {written}")
        code = self._exit_code(results)
        if refused is not None:
            worse = code if code is Exit.REGRESSION_OR_FAILED_CHECK else refused.code
            raise TollError(refused.what, refused.next_step, worse)
        return code

    def _write_page(self, results: Results) -> TollError | None:
        """Why it could not be written, to be raised once the answer stands on the screen."""
        from tollbench.report import html as page

        again = f"{COMMAND} report {shlex.quote(shown_path(self.path))} --format html --output FILE"
        try:
            self.page.write(page.render(results), f"every launch is in the run file: {again}")
        except TollError as error:
            return error
        return None

    def _exit_code(self, results: Results) -> Exit:
        if self.stopped_by == "interrupt":
            say(f"interrupted; go on with: {COMMAND} run --resume {shlex.quote(shown_path(self.path))}")
            return Exit.INTERRUPTED
        statuses = {row.status for workload in results.workloads for row in workload.rows}
        unwanted = BROKEN if results.run.profile == "check" else {Status.WRONG_ANSWER}
        if statuses & unwanted:
            return Exit.REGRESSION_OR_FAILED_CHECK
        if results.run.profile == "check" and Status.PLANNED in statuses:
            return Exit.INCONCLUSIVE  # whether that works was not seen
        return Exit.FINE if Status.OK in statuses else Exit.INCONCLUSIVE

    def _header(self) -> RunHeader:
        settings = self.plan.settings
        return RunHeader(
            name=self.path.stem,
            uuid=self.identity,
            toll_version=edition(),
            command_line=as_text(shlex.join(["toll", *sys.argv[1:]])),
            profile=settings.profile,
            seed=settings.seed,
            level=settings.level,
            precision=settings.precision,
            budget_s=settings.budget_s,
            plan=measure.plan_json(self.plan),
            machine=machine.describe(),
            conditions=machine.conditions(),
            started_utc=now_utc(),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()
        self._alone.close()


def _short_of_time(plan: Plan) -> str:
    """Before a run whose budget is too small whatever launches cost; "" where pilots have to tell."""
    cases, budget_s = len(plan.cases), plan.settings.budget_s
    if not budget_s or plan.settings.max_launches < 2 or budget_s >= SHORT_S * cases:
        return ""
    enough_s = math.ceil(ENOUGH_S * cases / 5.0) * 5
    return (
        f"{budget_s:g} s are little for {cases} cases: the headline comes first, some rows may have no turn"
        f" or no interval; short launches of all of them take --budget {enough_s}s, long ones more"
    )


def _system_packages(workloads: Sequence[Workload], wanted: Sequence[Environment], *, install: bool) -> None:
    """Brings what the build cannot do without, and what contenders and environments would like."""
    needed = packages.missing(packages.group("build"))
    names = {need for workload in workloads for contender in workload.contenders for need in contender.needs}
    names |= {environment.allocator for environment in wanted}
    # Toolchains of other languages are large: they come by `toll setup`, which was asked for them.
    unasked = [need for need in packages.table().values() if need.group not in ("language", "extra")]
    wished = packages.missing(need for need in unasked if need.name in names)
    if needed and not install:
        raise TollError(
            f"missing on this machine: {', '.join(need.name for need in needed)}",
            packages.command_for([*needed, *wished]),
        )
    if needed:
        packages.install([*needed, *wished], say)
    elif wished and install:
        try:
            packages.install(wished, say)
        except TollError as error:
            say(f"{error.what}; going on without\n  next: {error.next_step}")


def _new_path(output: str) -> Path:
    """The new run file. Its folder is made; a file that exists and a read-only folder are refused."""
    path = file_path(output) if "/" in output or output.endswith(".toll") else in_runs(output)
    if not output:
        path = in_runs(datetime.now().astimezone().strftime("%Y-%m-%d-%H%M%S"))
    path = path if path.suffix == ".toll" else path.with_name(f"{path.name}.toll")
    make_folder(path.parent, "--output /tmp/x.toll")
    with suppress(OSError):  # a name that is too long; told below
        if path.is_file() and not path.is_symlink():
            raise TollError(
                f"{path} exists already",
                f"choose another name, or go on with it: {COMMAND} run --resume {shlex.quote(str(path))}",
            )
    # SQLite takes what has these names for its own: an old log would be joined to the new run, or deleted.
    for file in files_of_run(path):
        Output(file, RUN_FILE, instead="choose another name: --output NAME").check()
    return path


def _canary(folder: Path, enter: tuple[str, ...]) -> Program:
    return Program("toll/canary", "canary", HOST.name, (*enter, *building.canary(folder)))


def what_is_another(run_file: RunFile) -> list[str]:
    """What has changed about machine and toll since the run began, as sentences for its file.

    Raises TollError on another processor, or with other CPUs: launches of both would be one row.
    """
    header = run_file.header()
    then, now = stated(header.machine), stated(machine.describe(ask_compilers=False))
    changed = [
        name
        for name in then
        if name in now and then[name] != now[name] and None not in (then[name], now[name])
    ]
    if moved := next((name for name in changed if name in _NEVER_ANOTHER), None):
        raise TollError(
            f"{shown_path(run_file.path)} was begun on another machine: {moved.replace('_', ' ')} was"
            f" {shown(str(then[moved]), 80)} and is {now[moved]} here",
            "go on with it there, or as it was begun (taskset, a container's CPUs), or start a new run",
        )
    told = [f"The run was begun with {_was_and_is(name, then[name], now[name])}." for name in changed]
    if not is_this_edition(header.toll_version):
        began = shown(header.toll_version, 40)
        told.append(f"The run was begun by toll {began} and gone on with by {edition()}.")
    return [sentence for sentence in told if sentence not in header.meanwhile]


def _was_and_is(name: str, then: object, now: object) -> str:
    """Of what a machine states; not of what is long, where the difference may come late."""
    what = name.replace("_", " ")
    if isinstance(then, dict | list):
        return f"other {what} than it was gone on with"
    return f"{what} {shown(str(then), 80)} and gone on with {shown(str(now), 80)}"


def _told(event: events.LaunchDone) -> str:
    """What was launched, and how well its workload is known by now."""
    if event.case is None:
        return "canary"
    known = f"±{numbers.percent(event.known)} so far: " if event.known is not None else ""
    return f"{known}{event.case.workload} {event.case.contender}"
