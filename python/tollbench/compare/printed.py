"""What all records that comparisons print have in common."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Finite = Annotated[float, Field(allow_inf_nan=False)]


class ComparisonRecord(BaseModel):
    """A part of what `toll compare`, `toll why` and `toll trust` print for programs."""

    model_config = ConfigDict(frozen=True, extra="ignore")
