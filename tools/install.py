"""Install the packages of a lock file, and this checkout, into the environment of this Python; show the progress.

Uses uv where there is one, else pip. Needs only the standard library, as it runs before anything is installed.
"""

import argparse
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

TOP = Path(__file__).parents[1]
PACKAGES = ("mockkube", "storage", "cel")
ENVIRONMENT = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
LINE_START = "\r\033[K" if sys.stderr.isatty() else ""
FIRST_START = "from mockkube.testing import MockKube\nwith MockKube(nodes=1): pass"


def main() -> int:
    """Install, compile what a first start would compile, and say how long it took; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lock", help="the lock file")
    parser.add_argument("--uv", default="uv", help="the uv to use, where there is one")
    given = parser.parse_args()
    total = sum(1 for line in (TOP / given.lock).read_text().splitlines() if line.strip())
    began = time.monotonic()
    uv = shutil.which(given.uv)
    show(f"Installing {total} packages of {given.lock} with {'uv' if uv else 'pip'}; later starts skip this")
    status = install_with_uv(uv, given.lock) if uv else 1
    if status != 0:
        status = install_with_pip(given.lock, total)
    if status == 0:
        compile_bytecode()
        show(f"Installed in {time.monotonic() - began:.0f} s")
    return status


def install_with_uv(uv: str, lock: str) -> int:
    """Run uv, which loads packages side by side and shows its own progress; return its exit status."""
    command = [uv, "pip", "install", "--python", sys.executable, "--no-deps", "-r", lock, "--editable", "."]
    return subprocess.run(command, cwd=TOP, check=False).returncode


def install_with_pip(lock: str, total: int) -> int:
    """Run pip, show how many packages it has, and return its exit status; what it says is shown if it fails."""
    # bytecode of what is never imported would take longer than everything else
    options = ["--disable-pip-version-check", "--no-deps", "--no-compile", "--progress-bar", "off"]
    command = [sys.executable, "-m", "pip", "install", *options, "-r", lock, "--editable", "."]
    said: list[str] = []
    done = 0
    with subprocess.Popen(command, cwd=TOP, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as pip:
        assert pip.stdout is not None
        for line in pip.stdout:
            said.append(line)
            if line.startswith(("Collecting ", "Processing ", "Requirement already satisfied: ")):
                done += 1
                show_count(done, total, line)
            elif line.startswith("Installing collected packages"):
                show(f"{LINE_START}Unpacking {done} packages")
    if pip.returncode:
        show("".join(said))
    return pip.returncode


def show_count(done: int, total: int, line: str) -> None:
    """Show the package that a line of pip names: on one line of a terminal, else every tenth."""
    name = line.partition(" (")[0].split()[-1].rpartition("/")[2]
    if sys.stderr.isatty():
        print(f"{LINE_START}{done}/{total} {name}", end="", file=sys.stderr, flush=True)
    elif done % 10 == 0:
        show(f"{done}/{total} {name}")


def compile_bytecode() -> None:
    """Compile what a start loads, so that already the first one is fast."""
    command = [sys.executable, "-m", "compileall", "-q", *PACKAGES]
    subprocess.run(command, cwd=TOP, env=ENVIRONMENT, check=False)
    subprocess.run([sys.executable, "-c", FIRST_START], cwd=TOP, env=ENVIRONMENT, check=False)


def show(text: str) -> None:
    """Print a line where it is seen at once."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
