"""The command line: one module a verb. This page is the list of verbs and what becomes of an error."""

from __future__ import annotations

import contextlib
import errno
import importlib
import io
import os
import re
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException

from tollbench.cli.console import say, tell
from tollbench.cli.one_thread import import_numpy_with_one_thread
from tollbench.errors import MORE_PROCESSES, REFUSALS, Exit, TollError
from tollbench.home import COMMAND, NoCache
from tollbench.text import visible
from tollbench.writing import sweep_scratch

import_numpy_with_one_thread()  # before a verb or a script of somebody's own imports it by the way

# Each with its line in `toll --help`, which is the first of its docstring: help imports no verb.
VERBS = dict(
    line.split(" ", 1)
    for line in """\
run Measure this machine: set up, build, launch, print the answers, and write one HTML file.
report Show a run: tables in the terminal, or HTML, Markdown, JSON (schemas/report.schema.json), CSV.
compare Compare two sides or more, launched in alternation: slower, faster, or no difference larger than x %.
why Name the functions that a benchmark's change began in: instructions, calls, allocations, misses.
bisect Find the commit that changed a benchmark, by launches that may err, with a stated probability.
history Measure commits beside one reference, night after night, and tell since when a benchmark changed.
lake Add runs of many machines to a folder of Parquet, and ask over all of them.
fleet Measure many machines, over ssh or a queue, and tell what each one answers.
trust Compare programs with themselves and with slow-downs of known size: false alarms, and what is found.
list What can be measured here: every workload and contender, and why one cannot.
doctor What this machine can measure, the command that brings what is missing, and what makes it noisy.
setup Bring what contenders need from the system: as root or by sudo, else the command to type is printed.
env Where programs are built and run: the host, compilers and flags, allocators preloaded, roots.
export Export a run: Parquet for DuckDB, Polars or pandas; CSV; JSON; Google Benchmark's JSON.
new Write a new contender from its workload's template: one file and one line in suite.toml.
test Run all tests: formatters, linters, C++ with sanitizers, Python, browser. Installs what they need.
""".splitlines()
)
ELSEWHERE = {"report", "export"}  # what other systems than Linux have
MODULES = {"list": "list_"}  # of the verbs that Python has another use for
# A command in a sentence; what stands in quotes, or is part of a longer name, is somebody's own.
_TYPED = re.compile(rf"""'[^']*'|"[^"]*"|(?<![\w./'"-])toll (?=(?:{"|".join(VERBS)})\b)""")


class _Verbs(TyperGroup):
    """What a usage error quotes may be a file's name: `toll report *` in a stranger's folder."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        with _readable():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        with _readable(), _interruptible():
            return super().invoke(ctx)


@contextlib.contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except TyperException as error:
        error.message = visible(error.message)
        raise


def _app(arguments: Sequence[str]) -> typer.Typer:
    """With the verbs that are asked for alone: the others would import what they need, a second in all."""
    app = typer.Typer(
        name="toll",
        cls=_Verbs,
        help="What C++ threads, fibers, locks, frameworks and containers cost on this machine.",
        epilog=as_typed("Start with: toll run"),
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_toll)
    for name, line in VERBS.items():
        if name not in arguments:
            app.command(name, help=line)(_not_asked_for)
            continue
        module = importlib.import_module(f"tollbench.cli.{MODULES.get(name, name)}")
        if hasattr(module, "app"):  # a verb with verbs of its own
            for verb in module.app.registered_commands:
                verb.epilog = as_typed(verb.epilog or "")
            app.add_typer(module.app, name=name, epilog=as_typed(f"Example: {module.EXAMPLE}"))
        else:
            app.command(name, epilog=as_typed(f"Example: {module.EXAMPLE}"))(module.command)
    return app


def as_typed(text: str) -> str:
    """With `toll run` and its like as they are typed here: `./toll run` in a checkout."""
    return _TYPED.sub(lambda found: f"{COMMAND} " if found[0] == "toll " else found[0], text)


def _not_asked_for() -> None:
    raise AssertionError("a verb that is called is among the arguments")


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """Ctrl-C outside of measuring (which has its own answer to it) ends with the shell's code for it.

    So do SIGTERM and the end of a terminal, which would end toll without a word, and leave what it started.
    """
    try:
        yield
    except KeyboardInterrupt as interrupt:
        by = f" by {interrupt.args[0]}" if interrupt.args else ""
        raise TollError(f"interrupted{by}", "start again when it suits", Exit.INTERRUPTED) from None


def _interrupted_by(number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt(signal.Signals(number).name)


@contextlib.contextmanager
def _heeding_signals() -> Iterator[None]:
    """Not where the caller has them ignored, as nohup does."""
    heeded = [
        number
        for number in (getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
        if signal.getsignal(number) is signal.SIG_DFL
        and threading.current_thread() is threading.main_thread()
    ]
    for number in heeded:
        signal.signal(number, _interrupted_by)
    try:
        yield
    finally:
        for number in heeded:
            signal.signal(number, signal.SIG_DFL)


def _drop_output() -> None:
    """Sends what is still buffered for standard output nowhere: writing it would fail once more."""
    with contextlib.suppress(OSError, ValueError):  # a test's stand-in has no descriptor
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_version(asked: bool) -> None:
    if asked:
        from tollbench.cli.edition import edition

        tell(f"toll {edition()}")
        raise typer.Exit


def _toll(
    version: bool = typer.Option(  # its callback has answered before
        False, "--version", callback=_print_version, is_eager=True, help="Print the version and end."
    ),
) -> None:
    pass


def main() -> int:
    """Runs one command line and returns its exit code (tollbench.errors.Exit). Never prints a traceback."""
    if hasattr(signal, "SIGCHLD"):  # ignored by some parents: then no exit code comes back
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if isinstance(sys.stdout, io.TextIOWrapper):  # where the locale has no letter for it, "?" stands for it
        sys.stdout.reconfigure(errors="replace", encoding="utf-8" if sys.platform == "win32" else None)
    with _heeding_signals():
        code = _guarded(_dispatch)
        return code or _guarded(_flush)


def _dispatch() -> int:
    if not sys.platform.startswith("linux"):
        _told_what_is_left(sys.argv[1:])
    elif sys.argv[1:2] and sys.argv[1] in VERBS:  # a question about the version looks nowhere
        sweep_scratch()
    try:
        _app(sys.argv[1:])(prog_name=COMMAND)
    except SystemExit as end:
        if isinstance(end.__context__, BrokenPipeError):  # Click makes 1 of it, which says: a failed check
            raise end.__context__ from None
        if end.code == Exit.REGRESSION_OR_FAILED_CHECK and not isinstance(end.__context__, typer.Exit):
            return int(Exit.USAGE)  # Click's own 1: only a verb says it, by typer.Exit
        return end.code if isinstance(end.code, int) else int(Exit.FINE)
    return int(Exit.FINE)


def _told_what_is_left(arguments: Sequence[str]) -> None:
    """The first line on a system that toll does not measure. Raises TollError for a verb that wants Linux."""
    say(f"toll measures on Linux; on this system ({sys.platform}) it shows runs")
    wanted = next((word for word in arguments if word in VERBS), "report")
    if wanted not in ELSEWHERE and not {"--help", "-h"} & set(arguments):
        raise TollError(
            f"toll {wanted} needs Linux", f"measure there, and read the run file here: {COMMAND} report FILE"
        )


def _flush() -> int:
    """Now, because at the interpreter's end nobody could catch its failure."""
    if sys.stdout is not None:  # closed by the caller: >&-
        sys.stdout.flush()
    return int(Exit.FINE)


def _guarded(work: Callable[[], int]) -> int:
    """What can end any verb, and its help, from outside becomes a sentence and an exit code.

    A full disk or a folder without permission is named, also where standard output goes there; a reader of
    standard output that has left (`| head`) is no error.
    """
    try:
        with _interruptible():
            return work()
    except BrokenPipeError:
        _drop_output()
        return int(Exit.FINE)
    except TollError as error:
        return _told(error)
    except NoCache as error:
        return _told(TollError(str(error), error.next_step))
    except OSError as error:
        if _refused_a_process(error):
            return _told(TollError("this system lets toll start no more processes", MORE_PROCESSES))
        if error.errno not in REFUSALS:
            return _unexpected(error)
        _drop_output()
        what = error.filename or "the output"
        return _told(TollError(f"cannot write {what}: {error.strerror}", REFUSALS[error.errno]))
    except ImportError as error:
        if "GLIBC" not in str(error):
            return _unexpected(error)
        return _told(
            TollError(
                f"this system's C library is too old for what toll needs: {error}",
                "use a system of 2019 or later: Debian 10, Ubuntu 20.04, RHEL 8 (glibc 2.28) or newer",
            )
        )
    except RuntimeError as error:
        if str(error) != "can't start new thread":  # Python has no better name for it
            return _unexpected(error)
        return _told(TollError("this system lets toll start no more threads", MORE_PROCESSES))
    except Exception as error:  # the one place that may: a user never sees a traceback
        return _unexpected(error)


def _refused_a_process(error: OSError) -> bool:
    """By a limit. Where a stream that is full says the same, Python knows how much was written."""
    return error.errno == errno.EAGAIN and not hasattr(error, "characters_written")


def _told(error: TollError) -> int:
    say(f"toll: {error.what}")
    if error.next_step:
        say(f"  next: {as_typed(error.next_step)}")
    return int(error.code)


def _unexpected(error: Exception) -> int:
    text = "".join(traceback.format_exception(error))
    try:
        with tempfile.NamedTemporaryFile("w", prefix="toll-error-", suffix=".txt", delete=False) as file:
            file.write(text)
        where = str(Path(file.name))
    except OSError:
        where = "nowhere: the temporary folder is not writable"
    message = str(error).splitlines()[0] if str(error) else ""
    say(f"toll: this is a bug: {type(error).__name__}: {message[:300]}")
    say(f"  next: report it with the traceback, which was saved here: {where}")
    return int(Exit.BUG)
