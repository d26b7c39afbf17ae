"""A run for other tools: Parquet, CSV, JSON and Google Benchmark's JSON; raw replicates, streamed."""

from importlib.util import find_spec

from tollbench.errors import TollError

if find_spec("pyarrow") is None:
    raise TollError(
        "exporting needs pyarrow, which is not installed here",
        'install toll with it: pipx install "tollbench[export]", or pip install pyarrow where toll is',
    )
