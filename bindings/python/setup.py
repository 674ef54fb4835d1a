"""Packs libobjstore.so, built by scripts/build-lib, into the wheel (tag py3-none-<platform>)."""

import os
import shutil
import subprocess
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "python"  # setuptools would write beside the sources
LIBRARY = "libobjstore.so"


def shared_library() -> Path:
    """The library to pack: the one the caller names, else the release build shared with make and CMake."""
    if named := os.environ.get("OBJSTORE_LIBRARY"):
        return Path(named)
    folder = ROOT / "build" / "lib"
    subprocess.run([ROOT / "scripts" / "build-lib", folder], check=True)
    return folder / LIBRARY


class BuildPy(build_py):
    def run(self) -> None:
        super().run()
        if self.editable_mode:  # the package finds build/lib from its own place in the checkout
            shared_library()
            return
        target = Path(self.build_lib) / "objstore" / LIBRARY
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(shared_library(), target)
        target.chmod(0o755)


class PlatformWheel(bdist_wheel):
    """The library is called through ctypes: any Python 3, but one platform."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


class BinaryDistribution(Distribution):
    def has_ext_modules(self) -> bool:
        return True


if not (ROOT / "scripts" / "build-lib").exists():
    raise SystemExit("objstore is built from a checkout: run pip on bindings/python inside it")

BUILD.mkdir(parents=True, exist_ok=True)
setup(
    version=subprocess.run([ROOT / "scripts" / "version"], check=True, capture_output=True, text=True).stdout.strip(),
    cmdclass={"build_py": BuildPy, "bdist_wheel": PlatformWheel},
    distclass=BinaryDistribution,
    options={"build": {"build_base": str(BUILD)}, "egg_info": {"egg_base": str(BUILD)}},
)
