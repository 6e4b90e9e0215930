"""Build sdist and wheel into dist/, and check them as a user gets them: `make dist`.

The wheel is built from the sdist, so that a file which the sdist lacks is missed here. It is installed into a new
environment, in which the commands of README run.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Final

TOP: Final = Path(__file__).parents[1]
DIST: Final = TOP / "dist"
PASTED: Final = "tests/architecture/test_pasted_commands.py::test_readme_works_as_pasted"


def main() -> None:
    """Build and check; a command that fails ends the program with its output."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--uv", default="uv", help="the uv to install with, where there is one")
    given = parser.parse_args()
    shutil.rmtree(DIST, ignore_errors=True)
    run([sys.executable, "-m", "build", "--no-isolation", "--outdir", DIST, TOP])
    run([sys.executable, "-m", "twine", "check", "--strict", *DIST.iterdir()])
    [wheel] = DIST.glob("*.whl")
    with tempfile.TemporaryDirectory() as place:
        environment = Path(place) / "environment"
        install(wheel, environment, shutil.which(given.uv))
        check_commands(environment, Path(place))
        print(f"{measure_mebibytes(environment)} MiB installed, {wheel.stat().st_size >> 10} KiB of them in the wheel")
        commands = PASTED if shutil.which("kubectl") else f"{PASTED}_without_kubectl"
        run([sys.executable, "-m", "pytest", "-q", commands], MOCKKUBE_TEST_ENVIRONMENT=str(environment))
    for path in sorted(DIST.iterdir()):
        print(path.relative_to(TOP))


def install(wheel: Path, environment: Path, uv: str | None) -> None:
    """Create an environment with pip and the wheel, and what it depends on in the versions of the lock."""
    run([sys.executable, "-m", "venv", environment])
    python, constraints = environment / "bin" / "python", TOP / "requirements.lock"
    if uv is None:
        # No compiler: each dependency comes as a wheel.
        run([python, "-m", "pip", "install", "--quiet", "--only-binary=:all:", "-c", constraints, wheel])
    else:
        run([uv, "pip", "install", "--quiet", "--only-binary=:all:", "--python", python, "-c", constraints, wheel])


def check_commands(environment: Path, place: Path) -> None:
    """Run the console script and the module, outside of the checkout: both name the version of the project."""
    version = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]["version"]
    for command in ([environment / "bin" / "mockkube"], [environment / "bin" / "python", "-m", "mockkube"]):
        done = subprocess.run([*command, "--version"], cwd=place, capture_output=True, text=True, check=True)
        if version not in done.stdout.split():
            sys.exit(f"{command[-1]} --version prints {done.stdout!r}, and the version of pyproject.toml is {version}")


def measure_mebibytes(folder: Path) -> int:
    """Return the size of all files in a folder, without bytecode and without pip."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    counted = (path for path in files if not {"__pycache__", "pip", "setuptools"} & set(path.parts))
    return sum(path.stat().st_size for path in counted) >> 20


def run(command: list[object], **variables: str) -> None:
    """Run a command in the checkout; exit if it fails."""
    done = subprocess.run(list(map(str, command)), cwd=TOP, env={**os.environ, **variables}, check=False)
    if done.returncode:
        sys.exit(done.returncode)


if __name__ == "__main__":
    main()
