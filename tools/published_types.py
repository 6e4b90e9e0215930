"""Write mockkube/api/data/published: the types of Kubernetes releases, and their descriptions.

The source is the package `kubernetes-validate`, a development dependency that holds the JSON schemas of each release
in full: 110 MB. The files of the default release are whole, those of others hold what differs from their neighbour on
the way to it; null is for a type that a release does not have. A test compares the files with the package.

Run it after an update of that package, or for a new release: `make types`.
"""

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import orjson

from mockkube.features.versions import DEFAULT, NEWEST, OLDEST, Version

PUBLISHED: Final = Path(__file__).parents[1] / "mockkube" / "api" / "data" / "published"

Table = dict[str, dict[str, Any]]
"""Types of a release, or their descriptions, by type."""


def main() -> None:
    """Write the files of every release."""
    PUBLISHED.mkdir(exist_ok=True)
    releases = {minor: read_package(Version(OLDEST.major, minor)) for minor in range(OLDEST.minor, NEWEST.minor + 1)}
    for minor, types in releases.items():
        version = Version(OLDEST.major, minor)
        neighbour = releases[minor + (version < DEFAULT) - (version > DEFAULT)]
        for content, extract in (("types", remove_descriptions), ("descriptions", extract_descriptions)):
            table = extract(types)
            if version != DEFAULT:
                table = list_differences(table, extract(neighbour))
            write_lines(PUBLISHED / f"{content}-{version}.json", table)


def read_package(version: Version) -> Table:
    """Return the types of a release as the package has them."""
    path = files("kubernetes_validate") / f"kubernetes-json-schema/v{version}.0-local/_definitions.json"
    types: Table = orjson.loads(path.read_bytes())["$defs"]
    return types


def remove_descriptions(types: Table) -> Table:
    """Return types without their descriptions and those of their fields; published types have no others."""
    bare = {name: remove_description(definition) for name, definition in types.items()}
    for definition in bare.values():
        if "properties" in definition:
            properties = definition["properties"].items()
            definition["properties"] = {name: remove_description(field) for name, field in properties}
    return bare


def remove_description(schema: Mapping[str, Any]) -> dict[str, Any]:
    """Return a schema without its description."""
    return {key: value for key, value in schema.items() if key != "description"}


def extract_descriptions(types: Table) -> Table:
    """Return the descriptions of each type by field; that of the type itself has an empty name."""
    return {
        name: {
            field: schema["description"]
            for field, schema in {"": definition, **definition.get("properties", {})}.items()
            if "description" in schema
        }
        for name, definition in types.items()
    }


def list_differences(table: Table, neighbour: Table) -> Mapping[str, dict[str, Any] | None]:
    """Return the entries that a neighbour does not have or has otherwise, and null for those that only it has."""
    names = sorted(table.keys() | neighbour.keys())
    return {name: table.get(name) for name in names if table.get(name) != neighbour.get(name)}


def write_lines(path: Path, table: Mapping[str, Any]) -> None:
    """Write a table as JSON with one line per entry, so that a renewal can be reviewed as a diff."""
    lines = [b"%b: %b" % (orjson.dumps(name), orjson.dumps(value)) for name, value in table.items()]
    path.write_bytes(b"{\n" + b",\n".join(lines) + b"\n}\n")


if __name__ == "__main__":
    main()
