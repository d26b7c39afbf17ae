"""What many machines found: a folder of Parquet, and questions over all of it."""

from importlib.util import find_spec

from tollbench.errors import TollError

for _module in ("duckdb", "pyarrow"):
    if find_spec(_module) is None:
        raise TollError(
            f"a lake needs {_module}, which is not installed here",
            'install toll with it: pipx install "tollbench[lake]", or pip install duckdb pyarrow'
            " where toll is",
        )
