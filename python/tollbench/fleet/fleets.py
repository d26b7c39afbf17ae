"""What a fleet found, host by host: the contract of `toll fleet --json` (schemas/fleet.schema.json)."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

MOST_TEXT = 2_000  # characters
Text = Annotated[str, Field(max_length=MOST_TEXT)]
Instant = Annotated[str, Field(pattern=r"^$|^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[.\d]{0,10}(Z|[+-]\d\d:\d\d)$")]
Identity = Annotated[str, Field(pattern=r"^$|^[0-9a-f-]{8,64}$")]
HostName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$")]
FileName = Annotated[str, Field(pattern=r"^$|^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,200}$")]


class FleetRecord(BaseModel):
    """A part of what `toll fleet` prints and keeps."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class HostStatus(StrEnum):
    """What became of a host's run."""

    PLANNED = "planned"  # not sent yet
    SENT = "sent"  # on its way, or measuring
    OK = "ok"
    FAILED = "failed"  # toll ended there without a result, or could not be brought there
    BUSY = "busy"  # another run held the host
    LATE = "late"  # the time limit was over
    STOPPED = "stopped"  # by Ctrl-C
    UNREACHABLE = "unreachable"  # before anything was sent
    LOST = "lost"  # after it: died, hung, or without network
    REFUSED = "refused"  # what it answered is not sound, or it is another host than it was


class HostNoise(FleetRecord):
    """What made a host noisy before it measured, as `toll doctor` says it."""

    name: Text
    value: Text


class HostRow(FleetRecord):
    """One host."""

    host: HostName
    status: HostStatus = HostStatus.PLANNED
    reason: Text = Field(default="", description="why there is no result; empty: there is one, or not yet")
    run: Identity = Field(default="", description="identity of its run, made before it was sent")
    started: Instant = Field(default="", description="when toll began there, by the host's clock")
    ended: Instant = Field(default="", description="when it ended there, by the host's clock")
    file: FileName = Field(default="", description="the result, in the fleet's folder")
    sources: Text = Field(
        default="", description="the toll that was sent there, as toll.sources of `toll doctor --json` has it"
    )
    attempt: int = Field(default=1, ge=1, description="1, and one more for each --resume that measured again")
    machine: Text = Field(default="", description="processor, CPUs and kernel, as it says of itself")
    noise: tuple[HostNoise, ...] = Field(default=(), description="what makes it noisy, looked at before")
    notes: tuple[Text, ...] = Field(
        default=(), description="what else is to know: clocks that differ, no lock"
    )
    left: tuple[Text, ...] = Field(
        default=(), description="folders that may still be there, as it could not be reached any more"
    )


class FleetRun(FleetRecord):
    """All hosts of one fleet run."""

    schema_: Literal["toll-fleet/1"] = Field(
        default="toll-fleet/1", alias="schema", serialization_alias="schema"
    )
    run: Identity = Field(description="identity of the fleet's run")
    folder: str = Field(description="where its results lie")
    hosts: tuple[HostRow, ...]

    def missing(self) -> list[HostRow]:
        """Rows of hosts without a result."""
        return [row for row in self.hosts if row.status is not HostStatus.OK]


class HostFacts(FleetRecord):
    """What a host says of itself when it is looked at."""

    python: Text = ""
    architecture: Text = ""
    system: Text = ""
    hostname: Text = ""
    boot_id: Text = ""
    lock: tuple[tuple[int, int], ...] = ()
    time: float = Field(default=0.0, allow_inf_nan=False)
    free_mb: float = Field(default=0.0, allow_inf_nan=False)
    has: tuple[Text, ...] = ()


class HostAnswer(FleetRecord):
    """How a job ended, as the host says."""

    identity: Identity
    host: HostName
    status: HostStatus
    reason: Text = ""
    started: Instant = ""
    ended: Instant = ""
    result: FileName = ""
    sha256: Annotated[str, Field(pattern="^$|^[0-9a-f]{64}$")] = ""
    bytes: int = Field(default=0, ge=0)
    exit_code: int = 0
    facts: HostFacts = HostFacts()
    doctor: HostDoctor | None = None


class _Noisy(FleetRecord):
    noise: tuple[HostNoise, ...] = Field(default=(), max_length=100)


class _Machine(FleetRecord):
    cpu: Text = ""
    cpus: int = 0
    kernel: Text = ""


class HostDoctor(FleetRecord):
    """The part of `toll doctor --json` that stands beside results."""

    machine: _Machine = _Machine()
    conditions: _Noisy = _Noisy()


class HostState(FleetRecord):
    """What a host says about a run that it was given."""

    alive: bool = False
    process: Annotated[str, Field(max_length=4)] = ""
    begun: bool = False
    answer: HostAnswer | None = None
    facts: HostFacts = HostFacts()
    left: tuple[Text, ...] = ()


HostAnswer.model_rebuild()
HostState.model_rebuild()
