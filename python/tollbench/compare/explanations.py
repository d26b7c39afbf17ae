"""Why a benchmark takes more or less: the contract of `toll why --json` (schemas/why.schema.json)."""

from __future__ import annotations

from pydantic import Field

from tollbench.compare.printed import ComparisonRecord, Finite


class Amounts(ComparisonRecord):
    """One count on both sides, an iteration, or a process where nobody knows of iterations."""

    a: Finite
    b: Finite

    @property
    def more(self) -> float:
        """b - a."""
        return self.b - self.a


class SourceLine(ComparisonRecord):
    """A line of the second side's source and what ran there."""

    file: str
    line: int
    instructions: Finite


class Hunk(ComparisonRecord):
    """Lines of the diff between two revisions that a function's lines overlap."""

    file: str
    line_a: int = Field(description="where it begins in the first revision")
    line_b: int = Field(description="where it begins in the second one")
    text: str = Field(description="lines with - and + before them")


class FunctionChange(ComparisonRecord):
    """One function of the source, compiled by itself or inlined."""

    function: str = Field(description="with its parameters")
    called: str = Field(description="the same in short")
    file: str = Field(description="of its code: empty for the program itself, else a shared library")
    inlined_into: tuple[str, ...] = Field(default=(), description="functions that hold it; empty: it is one")
    changed: bool | None = Field(description="whether its code or data differ; null where nobody knows")
    code: str = Field(description="what differs; empty: nothing, or nobody knows")
    doing: Finite = Field(
        description="instructions that begin here: of its own, and calls that it added, with all they take"
    )
    share: Finite | None = Field(description="of the change of all instructions; null where there is none")
    instructions: Amounts = Field(description="of the function itself, without what it calls")
    inclusive: Amounts = Field(description="with what it calls")
    calls: Amounts | None = Field(description="of it; null for an inlined one, of which nobody knows")
    allocations: Amounts = Field(description="that it asks malloc or operator new for itself")
    data_misses: Amounts = Field(description="simulated, first level")
    memory_misses: Amounts = Field(description="simulated, last level, code and data")
    mispredicted: Amounts = Field(description="simulated branches")
    system_calls: Amounts
    source: str = Field(default="", description="FILE:FIRST-LAST of the lines that ran, second side")
    lines: tuple[SourceLine, ...] = Field(default=(), description="that take most on the second side")
    diff: tuple[Hunk, ...] = ()


class FlameNode(ComparisonRecord):
    """A function in the tree of calls; of each stack the outermost function first."""

    name: str
    a: Finite = Field(description="instructions, with everything below")
    b: Finite
    below: tuple[FlameNode, ...] = ()


class Explanation(ComparisonRecord):
    """What is known of one benchmark, one side against the first."""

    benchmark: str
    a: str
    b: str
    per: str = Field(description="iteration or process")
    sentence: str = Field(description="the answer, or why there is none")
    failed: bool = False
    instructions: Amounts | None = None
    allocations: Amounts | None = None
    data_misses: Amounts | None = None
    memory_misses: Amounts | None = None
    mispredicted: Amounts | None = None
    system_calls: Amounts | None = None
    unchanged_code: bool | None = Field(
        default=None, description="proved for all that it runs; null: not known"
    )
    code: str = Field(default="", description="what the proof says")
    functions: tuple[FunctionChange, ...] = Field(
        default=(), description="the likeliest to be at fault first"
    )
    flame: FlameNode | None = None
    notes: tuple[str, ...] = ()


class Explanations(ComparisonRecord):
    """All that one `toll why` found. Fields may be added."""

    kind: str
    sides: tuple[str, ...]
    explanations: tuple[Explanation, ...]
    notes: tuple[str, ...] = ()
    toll_version: str = ""
    command_line: str = ""
    machine: str = ""
    sandbox: str = Field(default="", description="what all sides ran in; empty: without a sandbox")
    started_utc: str = ""
    interrupted: bool = False
    no_room: str = Field(
        default="", description="of an interrupted one: which disk was full, where that is what ended it"
    )
