"""Conan recipe of toll's measuring library: toll::toll and toll::main, for contenders in other projects.

`conan create packaging/conan` from a checkout; README.md beside this folder says what of it was tested.
"""

from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, load


class Toll(ConanFile):
    """Builds from the checkout that the recipe lies in."""

    name = "toll"
    license = "MIT"
    description = "Measuring library of toll: what C++ primitives cost on your machine"
    topics = ("benchmark", "performance")
    settings = "os", "arch", "compiler", "build_type"
    package_type = "static-library"

    def set_version(self) -> None:
        """The version stands once, in CMakeLists.txt."""
        text = load(self, Path(self.recipe_folder, "../../CMakeLists.txt"))
        self.version = text.partition("project(toll VERSION ")[2].split()[0]

    def export_sources(self) -> None:
        """What the library is built of."""
        root = str(Path(self.recipe_folder, "../.."))
        for pattern in ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "src/*"):
            copy(self, pattern, root, self.export_sources_folder)

    def validate(self) -> None:
        """Linux, C++20."""
        if self.settings.os != "Linux":
            from conan.errors import ConanInvalidConfiguration

            raise ConanInvalidConfiguration("toll measures on Linux")
        if self.settings.compiler.get_safe("cppstd"):
            check_min_cppstd(self, 20)

    def requirements(self) -> None:
        """Headers for the library's own sources; whoever links it needs none of them."""
        self.requires("nlohmann_json/[>=3.10 <4]", visible=False)

    def layout(self) -> None:
        """Conan's own for CMake."""
        cmake_layout(self)

    def generate(self) -> None:
        """A toolchain without suites, tests and benchmarks."""
        toolchain = CMakeToolchain(self)
        for option in ("TOLL_SUITES", "TOLL_TESTS", "TOLL_BENCH"):
            toolchain.cache_variables[option] = False
        toolchain.cache_variables["TOLL_INSTALL"] = True
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self) -> None:
        """The library and what installs with it."""
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self) -> None:
        """As `cmake --install` does it."""
        copy(self, "LICENSE", self.source_folder, str(Path(self.package_folder, "licenses")))
        CMake(self).install()

    def package_info(self) -> None:
        """The package's own toll-config.cmake is found, and none is generated."""
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs.append("lib/cmake/toll")
