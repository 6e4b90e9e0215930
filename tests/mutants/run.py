"""Breaks the code in one place at a time and says which conformance scenarios and tests notice.

    python tests/mutants/run.py                 every mutation: all scenarios of its folders, and its tests
    python tests/mutants/run.py --first         every mutation, until one scenario notices
    python tests/mutants/run.py --known         every mutation: only the scenario that is known to notice
    python tests/mutants/run.py --sample        the same for the sample that CI runs
    python tests/mutants/run.py --only TEXT     the mutations whose name has the text
    python tests/mutants/run.py --check         only whether each text still occurs

Ends with 1 when a mutation survives, with 2 when the text of one no longer occurs. The checkout is not touched: each
mutation is made in a copy of the packages, which the scenarios and tests import.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from mutations import MUTATIONS, Mutation

TOP = Path(__file__).parents[2]
PACKAGES = ("mockkube", "storage/mockkube_storage", "cel/mockkube_cel")
SECONDS_MAX = 900
"""How long the scenarios, or the tests, of one mutation may take."""


class NoLonger(Exception):
    """The text of a mutation does not occur exactly once."""


@dataclass(frozen=True)
class Answer:
    """What noticed a mutation."""

    mutation: Mutation
    scenarios: tuple[str, ...]
    tests: tuple[str, ...]
    error: str = ""

    @property
    def survived(self) -> bool:
        """Return whether no scenario noticed."""
        return not self.scenarios


def find(mutation: Mutation) -> Path:
    """Return the file that has the text of a mutation, relative to the checkout; NoLonger if it is not one place."""
    named = TOP / mutation.file
    if named.is_file() and named.read_text().count(mutation.text) == 1:
        return Path(mutation.file)
    files = [file for package in PACKAGES for file in (TOP / package).rglob("*.py")]
    found = [file for file in files if mutation.text in file.read_text()]
    if len(found) == 1 and found[0].read_text().count(mutation.text) == 1:
        return found[0].relative_to(TOP)
    where = ", ".join(str(file.relative_to(TOP)) for file in found) or "nowhere"
    raise NoLonger(f"{mutation.name}: its text stands {where}: write the new text into tests/mutants/mutations.py")


@contextmanager
def mutant(mutation: Mutation) -> Iterator[Path]:
    """Make a folder to import from, with a copy of the packages in which one text is another."""
    file = find(mutation)
    with tempfile.TemporaryDirectory(prefix="mockkube-mutant-") as folder:
        for package in PACKAGES:
            target = Path(folder) / Path(package).name
            shutil.copytree(TOP / package, target, ignore=shutil.ignore_patterns("__pycache__"))
        package = next(one for one in PACKAGES if file.is_relative_to(one))
        changed = Path(folder) / file.relative_to(Path(package).parent)
        text = changed.read_text().replace(mutation.text, mutation.replacement)
        compile(text, str(changed), "exec")
        changed.write_text(text)
        yield Path(folder)


def environment(folder: Path) -> dict[str, str]:
    """Return an environment in which Python imports the packages of a folder."""
    return {**os.environ, "PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}


def failing_scenarios(folder: Path, paths: Sequence[str]) -> tuple[str, ...]:
    """Return the scenarios of files and folders of `conformance/` that do not end as they do without the mutation."""
    report = folder / "junit.xml"
    given = [str(TOP / "conformance" / path) for path in paths]
    command = [sys.executable, "-P", "-m", "mockkube", "test", *given, "--jobs", "1", "--junit", str(report)]
    done = subprocess.run(
        command, cwd=folder, env=environment(folder), capture_output=True, text=True, timeout=SECONDS_MAX
    )
    if not report.is_file():
        raise RuntimeError(f"{' '.join(command)} has played nothing: {done.stderr.strip() or done.stdout[-500:]}")
    cases = ElementTree.parse(report).iter("testcase")
    failed = (case for case in cases if case.find("failure") is not None or case.find("error") is not None)
    return tuple(dict.fromkeys(case.get("name", "").partition(" ")[0] for case in failed))


def failing_tests(folder: Path, paths: Sequence[str]) -> tuple[str, ...]:
    """Return the tests that fail with the mutation."""
    known = [path for path in paths if (TOP / path).exists()]
    if not known:
        return ()
    command = [sys.executable, "-P", "-m", "pytest", "-q", "--tb=no", "-p", "no:cacheprovider", *known]
    done = subprocess.run(
        command, cwd=TOP, env=environment(folder), capture_output=True, text=True, timeout=SECONDS_MAX
    )
    return tuple(re.findall(r"^(?:FAILED|ERROR) \S+?(\w+\.py\S*)", done.stdout, re.MULTILINE))


def answer(mutation: Mutation, *, first: bool, known: bool) -> Answer:
    """Return what notices a mutation; with `first` one scenario that does, with `known` the one it names alone."""
    try:
        with mutant(mutation) as folder:
            if first or known:
                found = failing_scenarios(folder, [mutation.caught_by])
                return Answer(mutation, found if found or known else failing_scenarios(folder, mutation.folders), ())
            scenarios = failing_scenarios(folder, mutation.folders)
            return Answer(mutation, scenarios, failing_tests(folder, mutation.tests))
    except (NoLonger, RuntimeError, SyntaxError, subprocess.TimeoutExpired) as error:
        return Answer(mutation, (), (), str(error))


def main() -> int:
    """Run as the command line says."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", action="store_true", help="stop at the first scenario that notices")
    parser.add_argument("--known", action="store_true", help="play only the scenario that is known to notice")
    parser.add_argument("--sample", action="store_true", help="the sample of CI, with --known")
    parser.add_argument("--check", action="store_true", help="only look whether each text still occurs")
    parser.add_argument("--only", default="", metavar="TEXT", help="mutations whose name has the text")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="mutations at a time")
    asked = parser.parse_args()
    chosen = [one for one in MUTATIONS if asked.only in one.name and (one.in_ci or not asked.sample)]
    gone = [text for one in chosen if (text := _gone(one))]
    for text in gone:
        print(text, file=sys.stderr)
    if gone or asked.check:
        print(f"{len(chosen)} mutations, {len(gone)} of which no longer occur", flush=True)
        return 2 if gone else 0
    answers = []
    with ThreadPoolExecutor(asked.jobs) as pool:
        for one in pool.map(lambda each: answer(each, first=asked.first, known=asked.known or asked.sample), chosen):
            answers.append(one)
            print("\n".join(lines(one)), flush=True)
    survivors = [one for one in answers if one.survived]
    print(f"\n{len(answers)} mutations: {len(answers) - len(survivors)} noticed by scenarios, {len(survivors)} by none")
    return 1 if survivors else 0


def _gone(mutation: Mutation) -> str:
    try:
        find(mutation)
    except NoLonger as error:
        return str(error)
    return ""


def lines(one: Answer) -> Iterator[str]:
    """Yield what is printed of one mutation."""
    yield f"{'SURVIVED' if one.survived else 'noticed '}  {one.mutation.name}"
    if one.error:
        yield f"          error: {one.error}"
    for what, names in (("scenarios", one.scenarios), ("tests", one.tests)):
        if names:
            yield f"          {len(names)} {what}: {', '.join(names[:4])}{', ...' if len(names) > 4 else ''}"


if __name__ == "__main__":
    sys.exit(main())
