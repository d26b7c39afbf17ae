"""How programs of each language are made, by the language's name in suite.toml."""

from collections.abc import Mapping

from toll.build.recipes.erlang import Erlang
from toll.build.recipes.go import Go
from toll.build.recipes.haskell import Haskell
from toll.build.recipes.java import Java
from toll.build.recipes.rust import Rust
from toll.build.recipes.words import Job, Recipe, Step, Tool

RECIPES: Mapping[str, Recipe] = {
    "Go": Go(),
    "Rust": Rust(),
    "Java": Java(),
    "Erlang": Erlang(),
    "Haskell": Haskell(),
}

__all__ = ["RECIPES", "Job", "Recipe", "Step", "Tool"]
