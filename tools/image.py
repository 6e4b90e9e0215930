"""Make an installed mockkube small and fast to start, for the image of `Containerfile`: `image.py ROOT`.

ROOT/opt/mockkube holds the packages. Symbols for debuggers and sources in C leave, half of what the wheels bring;
bytecode of what a start loads comes in, that of the standard library included: the image has no place to write it to.
"""

import os
import py_compile
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from importlib.util import cache_from_source
from pathlib import Path
from typing import Final

# Needed to compile wheels, not to run them.
SOURCES: Final = {".c", ".cpp", ".h", ".hash", ".pxd", ".pyi", ".pyx"}
# Starts a cluster and prints the files of all modules that were loaded, one per line.
FIRST_START: Final = """
import sys
from mockkube.cli.main import run
from mockkube.testing import MockKube
with MockKube(nodes=1):
    run(["status"])
import mockkube.apiserver.http2.connection  # imported with the first connection of a kubectl
for module in list(sys.modules.values()):
    print(getattr(module, "__file__", None) or "", file=sys.stderr)
"""


def main() -> None:
    """Change the tree and print its size."""
    root = Path(sys.argv[1])
    packages = root / "opt" / "mockkube"
    remove_files(packages)
    subprocess.run(["strip", "--strip-unneeded", *packages.rglob("*.so"), *packages.rglob("*.so.*")], check=True)
    compile_bytecode(list_loaded(packages), packages, root)
    size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    print(f"{size / 1_000_000:.0f} MB in {root}")


def remove_files(packages: Path) -> None:
    """Remove sources, tests of other packages, and time zones, which the image has of its own."""
    for path in packages.rglob("*"):
        if path.suffix in SOURCES:
            path.unlink()
    for folder in (*packages.glob("*/tests"), *packages.glob("tzdata*"), packages / "bin"):
        shutil.rmtree(folder, ignore_errors=True)


def list_loaded(packages: Path) -> list[Path]:
    """Return the modules that a first start of mockkube loads."""
    environment = {**os.environ, "PYTHONPATH": str(packages), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", FIRST_START]
    done = subprocess.run(command, env=environment, stderr=subprocess.PIPE, text=True, check=True, cwd="/")
    return [Path(line) for line in done.stderr.splitlines() if line.endswith(".py")]


def compile_bytecode(modules: Iterable[Path], packages: Path, root: Path) -> None:
    """Compile modules into the tree, at the places where the Python of the image looks for them."""
    library = Path(sysconfig.get_path("stdlib"))
    for module in modules:
        target = Path(cache_from_source(str(module)))
        if module.is_relative_to(packages):
            destination = target
        elif module.is_relative_to(library):
            destination = root / target.relative_to("/")
        else:
            continue
        # Not checked against the source: files of the image have other times than those compiled here.
        mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
        shown = module if not module.is_relative_to(root) else Path("/") / module.relative_to(root)
        destination.parent.mkdir(parents=True, exist_ok=True)
        py_compile.compile(str(module), str(destination), str(shown), doraise=True, invalidation_mode=mode)


if __name__ == "__main__":
    main()
