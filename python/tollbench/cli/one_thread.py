"""NumPy and SciPy without threads of their own: toll multiplies no matrices, and may be granted no thread.

Each brings an OpenBLAS, which starts a thread a CPU while it is imported. Where the kernel refuses one (a
container's limit of processes), it sends its own process SIGINT, which looks like Ctrl-C. How many it starts
is told by variables alone, which it reads at that moment: so they are set for as long as an import takes.
Programs that toll starts later find the user's own.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

# Of the libraries that a NumPy may be built with: OpenBLAS, MKL, BLIS, and OpenMP below any of them.
VARIABLES = ("OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS")


PACKAGES = {"numpy", "scipy"}


def import_numpy_with_one_thread() -> None:
    """From now on, whoever imports it: verbs do it at different moments, and some never."""
    if not any(isinstance(one, _Finder) for one in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Of PACKAGES alone, and of their parts, as any may be the first that needs a BLAS."""
        if fullname.partition(".")[0] not in PACKAGES:
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


class _Loader(Loader):
    def __init__(self, real: Loader) -> None:
        self._real = real

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        with _AT_IMPORT:  # a compiled module's libraries begin here
            return self._real.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        """The module is left with its own loader, as whoever asks it for its files expects."""
        module.__loader__ = self._real
        if module.__spec__ is not None:
            module.__spec__.loader = self._real
        with _AT_IMPORT:
            self._real.exec_module(module)


class _OneThread:
    """While entered, by one import within another or by those of several threads, the variables say 1."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._within = 0
        self._before: dict[str, str | None] = {}

    def __enter__(self) -> None:
        with self._lock:
            if self._within == 0:
                self._before = {name: os.environ.get(name) for name in VARIABLES}
                os.environ.update(dict.fromkeys(VARIABLES, "1"))
            self._within += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._within -= 1
            if self._within == 0:
                for name, value in self._before.items():
                    os.environ.pop(name)
                    if value is not None:
                        os.environ[name] = value


_AT_IMPORT = _OneThread()
