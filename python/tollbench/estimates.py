"""A number with its interval, as every contract has it: a file that takes no other room to read."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Model(BaseModel):
    """A frozen record; a field that nobody defined is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Estimate(Model):
    """A number with its interval at the run's level; low and high are None where too few launches."""

    value: float
    low: float | None = None
    high: float | None = None
