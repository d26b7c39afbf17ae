"""How programs of each language are made, by the language's name in suite.toml."""

from collections.abc import Mapping

from tollbench.building.recipes.erlang import Erlang
from tollbench.building.recipes.go import Go
from tollbench.building.recipes.haskell import Haskell
from tollbench.building.recipes.java import Java
from tollbench.building.recipes.kotlin import Kotlin
from tollbench.building.recipes.parts import BuildStep, Job, Recipe, Tool
from tollbench.building.recipes.rust import Rust

RECIPES: Mapping[str, Recipe] = {
    "Go": Go(),
    "Rust": Rust(),
    "Java": Java(),
    "Kotlin": Kotlin(),
    "Erlang": Erlang(),
    "Haskell": Haskell(),
}

__all__ = ["RECIPES", "BuildStep", "Job", "Recipe", "Tool"]
