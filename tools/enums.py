"""Write mockkube/api/data/enums.json: the closed sets of values that the JSON schemas leave out.

Run it in a bare or full clone of kubernetes/kubernetes: `python tools/enums.py REPOSITORY`. It reads the generated
OpenAPI definitions of the supported releases and keeps facts only: which field has which values, what is said about
each, the first release that has them so, and the few defaults that do not follow from the type of a field.
"""

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from mockkube.api.schema import Schema
from mockkube.apiserver.http.openapi.schemas import zero_default
from mockkube.features.versions import Version

RELEASES = ("1.33", "1.34", "1.35", "1.36", "1.37")
SOURCE = "pkg/generated/openapi/zz_generated.openapi.go"
FUNCTION = re.compile(r"^func schema_(\w+)\(")
PROPERTY = re.compile(r'^\t{5}"([^"]+)": \{')
STATEMENT = re.compile(r"^\t{7,10}(Description|Default|Enum):\s+(.*),$")
VALUE_LINE = re.compile(r'^ - `"([^"]*)"`(?: (.*))?$')

Facts = dict[str, dict[str, dict[str, object]]]
"""By type, field, and the first release that has it so."""


@dataclass
class Property:
    """What one field of one type is said to be."""

    description: str = ""
    default: object = None
    values: list[str] = field(default_factory=list)
    of_items: bool = False

    def documented(self) -> list[list[str]]:
        """Pairs of a value and what is said about it."""
        said: dict[str, str] = {}
        value = ""
        for line in self.description.partition("\n\nPossible enum values:\n")[2].splitlines():
            if match := VALUE_LINE.match(line):
                value = match[1]
                said[value] = match[2] or ""
            else:
                said[value] += "\n" + line
        return [[one, said.get(one, "")] for one in self.values]


def read(text: str) -> Iterator[tuple[str, str, Property]]:
    """The fields that have a set of values or a default worth telling, as type, name and facts."""
    function = name = ""
    found: dict[tuple[str, str], Property] = {}
    for line in text.splitlines():
        if match := FUNCTION.match(line):
            function, name = match[1], ""
        elif match := PROPERTY.match(line):
            name = match[1]
        elif name and (match := STATEMENT.match(line)):
            note(found.setdefault((function, name), Property()), match[1], match[2], len(line) - len(line.lstrip()))
    for (function, name), fact in found.items():
        if fact.values or fact.default is not None:
            yield function, name, fact


def note(fact: Property, what: str, value: str, depth: int) -> None:
    """Add one statement to what is known of a field."""
    if what == "Description" and depth == 7:
        fact.description = json.loads(value)
    elif what == "Default" and depth == 7:
        text = value.replace("map[string]interface{}", "")
        fact.default = json.loads(constant(text) if re.fullmatch(r"\w+\.\w+", text) else text)
    elif what == "Enum":
        fact.values = json.loads(f"[{value.removeprefix('[]interface{}{').removesuffix('}')}]")
        fact.of_items = depth > 7


def constant(name: str) -> str:
    """The literal behind a Go constant of the core group."""
    path = f"release-{RELEASES[-1]}:staging/src/k8s.io/api/core/v1/types.go"
    match = re.search(rf"\b{name.rpartition('.')[2]}\s+\w+ = (\".*\")", show(path))
    assert match, name
    return match[1]


def show(spec: str) -> str:
    """The text of a file at a release."""
    return subprocess.run(["git", "show", spec], cwd=sys.argv[1], capture_output=True, text=True, check=True).stdout


def implied(schema: Schema, definition: str, name: str) -> object:
    """The default that follows from the type of a field."""
    field = schema.get_type(definition).fields.get(name)
    return zero_default(field) if field else None


def full_name(function: str, known: dict[str, str]) -> str | None:
    """The type a Go function describes; None when it is not part of the API."""
    tail = function.replace("k8sio_", "")
    matches = [name for key, name in known.items() if key == tail or key.endswith("_" + tail)]
    assert len(matches) < 2, function
    return matches[0] if matches else None


def main() -> None:
    """Collect the facts and write them."""
    sets: list[list[list[str]]] = []
    fields: Facts = {}
    defaults: Facts = {}
    for release in RELEASES:
        schema = Schema(Version.parse(release))
        known = {name.replace("io.k8s.", "").replace("-", "").replace(".", "_"): name for name in schema.definitions}
        for function, name, fact in read(show(f"release-{release}:{SOURCE}")):
            definition = full_name(function, known)
            if definition is None:
                continue
            if fact.default is not None and fact.default != implied(schema, definition, name):
                remember(defaults.setdefault(definition, {}).setdefault(name, {}), release, fact.default)
            if fact.values:
                if (values := fact.documented()) not in sets:
                    sets.append(values)
                remember(fields.setdefault(definition, {}).setdefault(name, {}), release, sets.index(values))
    write(sets, fields, defaults)


def remember(since: dict[str, object], release: str, value: object) -> None:
    """Add what holds from a release on, unless it held before."""
    if list(since.values())[-1:] != [value]:
        since[release] = value


def write(sets: list[list[list[str]]], fields: Facts, defaults: Facts) -> None:
    """One set, and one type, to a line."""
    rows = ",\n".join(f"  {json.dumps(one)}" for one in sets)
    types = ",\n".join(f"  {json.dumps(name)}: {json.dumps(fields[name])}" for name in sorted(fields))
    out = Path(__file__).parents[1] / "mockkube/api/data/enums.json"
    kept = ",\n".join(f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in sorted(defaults.items()))
    out.write_text(f'{{"defaults": {{\n{kept}\n}},\n"sets": [\n{rows}\n],\n"fields": {{\n{types}\n}}}}\n')


if __name__ == "__main__":
    main()
