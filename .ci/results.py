"""Reads what test runners have written: counts of tests, agreement with recorded answers, the floors under it."""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree


@dataclass(frozen=True)
class Agreement:
    """How many of the cases agree."""

    agree: int
    total: int

    @property
    def percent(self) -> float:
        """The share that agrees; 0 when there are no cases."""
        return 100 * self.agree / self.total if self.total else 0.0

    def __add__(self, other: "Agreement") -> "Agreement":
        return Agreement(self.agree + other.agree, self.total + other.total)


def tests(report: str) -> int:
    """Print how many tests of a JUnit report passed and how many did not."""
    root = ElementTree.parse(report).getroot()
    suites = [root] if root.tag == "testsuite" else root.findall("testsuite")
    total, bad, skipped = (sum(_counts(suite, *names) for suite in suites) for names in _COUNTED)
    print(total - bad - skipped, bad)
    return 0


_COUNTED = (("tests",), ("failures", "errors"), ("skipped",))


def _counts(suite: ElementTree.Element, *names: str) -> int:
    return sum(int(suite.get(name, "0")) for name in names)


def names(floors: str) -> int:
    """Print the oracles that have a floor."""
    print("\n".join(_floors(Path(floors))))
    return 0


def areas(directory: str) -> int:
    """Print the areas of transcripts, those that wait for other components least first."""
    documents = [(path.stem, json.loads(path.read_text())) for path in sorted(Path(directory).glob("*.json"))]
    for area, _ in sorted(documents, key=lambda document: _waits(document[1])):
        print(area)
    return 0


def _waits(document: dict[str, Any]) -> int:
    return sum("until" in step for case in document["cases"] for step in case["steps"])


def agreement(name: str, floors: str, *results: str) -> int:
    """Print how far results agree and whether that is enough; fail if it is below the floor.

    After `--of DIRECTORY` the cases of the transcripts there are the whole, also those without a result.
    """
    whole: int | None = None
    if results[:1] == ("--of",):
        whole = sum(len(json.loads(path.read_text())["cases"]) for path in Path(results[1]).glob("*.json"))
        results = results[2:]
    found = sum((_agreement(Path(result)) for result in results if Path(result).exists()), Agreement(0, 0))
    if whole is not None:
        found = Agreement(found.agree, whole)
    floor = _floors(Path(floors)).get(name, 0.0)
    enough = found.total > 0 and found.percent >= floor
    verdict = "ok" if enough else "BELOW THE FLOOR"
    print(f"{name}: {found.agree} of {found.total} cases agree, {found.percent:.1f}% (floor {floor:g}%): {verdict}")
    return 0 if enough else 1


def _agreement(result: Path) -> Agreement:
    document = json.loads(result.read_text())
    if "agree" in document:
        return Agreement(document["agree"], document["total"])
    cases = document["cases"]
    return Agreement(sum(case["agree"] == case["steps"] for case in cases), len(cases))


def _floors(path: Path) -> dict[str, float]:
    lines = [line.split("#")[0].split() for line in path.read_text().splitlines()]
    return {line[0]: float(line[1]) for line in lines if line}


COMMANDS: dict[str, Callable[..., int]] = {"tests": tests, "names": names, "areas": areas, "agreement": agreement}


def main(arguments: Sequence[str]) -> int:
    """Run one of COMMANDS with the rest of the arguments."""
    return COMMANDS[arguments[0]](*arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
