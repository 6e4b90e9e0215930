"""Reads what test runners have written: counts of tests, agreement with recorded answers, the floors under it."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from recordings import RECORDINGS, Case, split_transcripts


@dataclass(frozen=True)
class Agreement:
    """How many steps, and how many whole cases, agree."""

    steps: int
    steps_total: int
    cases: int
    cases_total: int

    @property
    def percent(self) -> float:
        """The share of steps that agree; 0 when there are none."""
        return 100 * self.steps / self.steps_total if self.steps_total else 0.0

    def row(self, name: str) -> str:
        """Return the line of a table."""
        return f"{name:24} {self.steps:5}/{self.steps_total:<5} {self.percent:4.0f}%  {self.cases:4}/{self.cases_total}"


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


def transcripts(oracle: str, target: str, seconds: str) -> int:
    """Write transcripts' cases into files of their own and print these in the order to replay them."""
    print("\n".join(str(path) for path in split_transcripts(Path(oracle), Path(target), float(seconds))))
    return 0


def agreement(name: str, floors: str, oracle: str, results: str) -> int:
    """Print how far results agree, by area and in all, and whether that is enough; fail if it is below the floor."""
    recording = RECORDINGS[name]
    cases = recording.cases(Path(oracle))
    agreeing = recording.agreeing(Path(results), cases)
    print(f"{name + ' area':24} {'steps':>11}        whole cases")
    for area in sorted({case.area for case in cases.values()}):
        print(_agreement({key: case for key, case in cases.items() if case.area == area}, agreeing).row(area))
    whole = _agreement(cases, agreeing)
    print(whole.row("all"))
    floor = _floors(Path(floors)).get(name, 0.0)
    enough = whole.steps_total > 0 and whole.percent >= floor
    print(
        f"{name}: {whole.percent:.1f}% of the steps agree (floor {floor:g}%): {'ok' if enough else 'BELOW THE FLOOR'}"
    )
    return 0 if enough else 1


def _agreement(cases: Mapping[str, Case], agreeing: Mapping[str, int]) -> Agreement:
    pairs: Iterable[tuple[int, int]] = [(agreeing.get(name, 0), case.steps) for name, case in cases.items()]
    return Agreement(
        steps=sum(agree for agree, _ in pairs),
        steps_total=sum(steps for _, steps in pairs),
        cases=sum(agree == steps for agree, steps in pairs),
        cases_total=len(cases),
    )


def _floors(path: Path) -> dict[str, float]:
    lines = [line.split("#")[0].split() for line in path.read_text().splitlines()]
    return {line[0]: float(line[1]) for line in lines if line}


COMMANDS: dict[str, Callable[..., int]] = {
    "tests": tests,
    "names": names,
    "transcripts": transcripts,
    "agreement": agreement,
}


def main(arguments: Sequence[str]) -> int:
    """Run one of COMMANDS with the rest of the arguments."""
    return COMMANDS[arguments[0]](*arguments[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
