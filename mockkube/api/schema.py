"""Schema of one Kubernetes version: the fields of each type, and how their empty values are written.

Two sources are joined: the published JSON schemas in `data/published` (fields per version, list and patch
keys; `tools/published_types.py` writes them) and `data/gotypes.json` (order, Go type, omitempty: what the schemas
lack). A proposal adds its fields as an overlay. Types are read and nodes built when first used; `codec.py` compiles
them into decoders. Descriptions, two thirds of the published text, are in files of their own that only OpenAPI
documents load.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import field, replace
from enum import Enum, auto
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import orjson

from mockkube.api.compile_cache import CompileCache
from mockkube.api.lazy_table import LazyTable, load_lines
from mockkube.features.versions import DEFAULT, Version
from mockkube.lazy_dataclasses import dataclass

_DATA: Final = Path(__file__).parent / "data"
_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1."


class Shape(Enum):
    """Form of a value, as a decoder distinguishes it."""

    STRUCT = auto()
    LIST = auto()
    MAP = auto()
    STRING = auto()
    BYTES = auto()
    BOOL = auto()
    INT32 = auto()
    INT64 = auto()
    FLOAT = auto()
    QUANTITY = auto()
    INT_OR_STRING = auto()
    TIME = auto()
    MICRO_TIME = auto()
    ANY = auto()


_SPECIAL: Final = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": Shape.QUANTITY,
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": Shape.INT_OR_STRING,
    _META + "Time": Shape.TIME,
    _META + "MicroTime": Shape.MICRO_TIME,
    _META + "FieldsV1": Shape.ANY,
    "io.k8s.apimachinery.pkg.runtime.RawExtension": Shape.ANY,
}
_PROPS: Final = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
# Types of a CRD's schema that hold a schema or something else, with the Python type of the latter.
SCHEMA_OR: Final = {f"{_PROPS}OrBool": bool, f"{_PROPS}OrArray": list, f"{_PROPS}OrStringArray": list}
_SCALARS: Final = {
    ("string", "byte"): Shape.BYTES,
    ("integer", "int32"): Shape.INT32,
    ("boolean", ""): Shape.BOOL,
    ("string", "int-or-string"): Shape.INT_OR_STRING,
}
_BY_TYPE: Final = {
    "string": Shape.STRING,
    "integer": Shape.INT64,
    "boolean": Shape.BOOL,
    "number": Shape.FLOAT,
}


# Alias under which a Go file imports a package: `corev1`.
_ALIAS: Final = re.compile(r"\b[a-z]+(?=v\d|types\.)")
_GO_SCALARS: Final = {
    Shape.STRING: "string",
    Shape.BOOL: "bool",
    Shape.INT32: "int32",
    Shape.INT64: "int64",
    Shape.FLOAT: "float64",
}
_NEVER_POINTERS: Final = (Shape.LIST, Shape.MAP, Shape.STRING, Shape.BYTES, Shape.ANY)
_STRUCTS: Final = (Shape.STRUCT, Shape.TIME, Shape.MICRO_TIME, Shape.QUANTITY, Shape.INT_OR_STRING)


@dataclass(slots=True, eq=False)
class TypeNode:
    """One type: its shape, the Go type that error messages name, and what it contains."""

    shape: Shape
    go: str = ""
    definition: str = ""
    # Type of the items of a list or map; for ANY, the type that an object in its place must have.
    item: "TypeNode | None" = None
    raw: Mapping[str, Any] = field(default_factory=dict)
    fields: "dict[str, TypeField]" = field(default_factory=dict)

    @property
    def is_struct(self) -> bool:
        """True if Go holds the value in a struct, which `omitempty` never drops."""
        return self.shape in _STRUCTS or (self.shape is Shape.ANY and self.definition.endswith("RawExtension"))

    @property
    def list_type(self) -> str:
        """`atomic`, `set` or `map`: how server-side apply merges the list."""
        return str(self.raw.get("x-kubernetes-list-type", "atomic"))

    @property
    def map_keys(self) -> tuple[str, ...]:
        """Keys that identify an item of a `map` list."""
        return tuple(self.raw.get("x-kubernetes-list-map-keys", ()))


@dataclass(frozen=True, slots=True, eq=False)
class TypeField:
    """A field of a struct."""

    name: str
    node: TypeNode
    pointer: bool
    omit_empty: bool
    omit_zero: bool
    # Name of the field in messages of Go's decoder: with the embedded structs that contain it.
    go_path: str = ""

    @property
    def always_written(self) -> bool:
        """True if the field is written even when it is empty."""
        if self.pointer:
            return not self.omit_empty and not self.omit_zero
        if self.node.is_struct:
            return not self.omit_zero
        return not self.omit_empty and not self.omit_zero

    @property
    def patch_strategy(self) -> str:
        """Strategic merge strategy: `merge`, `replace`, `retainKeys`, comma separated."""
        return str(self.node.raw.get("x-kubernetes-patch-strategy", ""))

    @property
    def merge_key(self) -> str:
        """Key by which a strategic merge patch matches list items."""
        return str(self.node.raw.get("x-kubernetes-patch-merge-key", ""))


@dataclass(frozen=True, slots=True)
class _GoField:
    name: str
    go: str
    empty: str
    # Embedded structs that the field comes from, each followed by a dot.
    embedded: str = ""


class Schema:
    """Types of one Kubernetes version."""

    def __init__(self, version: Version, overlays: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self.version = version
        self._overlays = overlays or {}
        self._nodes: CompileCache[str, TypeNode] = CompileCache()

    @cached_property
    def overlay_digest(self) -> str:
        """Digest of the fields that overlays add; it tells schemas of one version apart."""
        if not self._overlays:
            return ""
        added = orjson.dumps(
            {name: dict(one) for name, one in self._overlays.items()}, option=orjson.OPT_SORT_KEYS, default=dict
        )
        return f"+{sha256(added).hexdigest()[:12]}"

    @cached_property
    def definitions(self) -> LazyTable:
        """JSON schema of each type by its full name, overlays included, without the published descriptions."""
        published = _load_published("types", self.version)
        overlaid = {}
        for name, properties in self._overlays.items():
            if name in published:  # else this version does not have the type
                known = published[name]
                overlaid[name] = {**known, "properties": {**known.get("properties", {}), **properties}}
        return published.with_entries(overlaid)

    def describe_definition(self, name: str) -> dict[str, Any]:
        """Return the JSON schema of a type with the published descriptions of it and of its fields."""
        definition: dict[str, Any] = self.definitions[name]
        added = self._overlays.get(name, {})
        published = _load_published("descriptions", self.version).get(name, {})
        texts = {each: text for each, text in published.items() if each not in added}
        described = {"description": texts.pop(""), **definition} if "" in texts else definition
        if not texts:
            return described
        properties = definition["properties"]
        with_texts = {each: {"description": text, **properties[each]} for each, text in texts.items()}
        return {**described, "properties": {**properties, **with_texts}}

    @cached_property
    def _definitions_by_kind(self) -> dict[tuple[str, str, str], str]:
        return {
            (entry["group"], entry["version"], entry["kind"]): name
            for name, kinds in self.definitions.find_all("x-kubernetes-group-version-kind")
            for entry in kinds
        }

    @property
    def kinds(self) -> Iterator[tuple[str, str]]:
        """Group and name of each kind."""
        return ((group, kind) for group, _, kind in self._definitions_by_kind)

    def find_definition(self, group: str, version: str, kind: str) -> str | None:
        """Return the full name of the type of a kind; None if this version does not have it."""
        return self._definitions_by_kind.get((group, version, kind))

    def find_kind_type(self, group: str, version: str, kind: str) -> TypeNode | None:
        """Return the type of a kind; None if this version does not have it."""
        name = self.find_definition(group, version, kind)
        return self.get_type(name) if name else None

    def get_kind_type(self, group: str, version: str, kind: str) -> TypeNode:
        """Return the type of a kind that this version has."""
        node = self.find_kind_type(group, version, kind)
        assert node is not None, f"{self.version} has {kind} of {group}/{version}"
        return node

    def has_status(self, group: str, version: str, kind: str) -> bool:
        """Return whether objects of a kind have a status."""
        name = self.find_definition(group, version, kind)
        return name is not None and "status" in self.definitions[name].get("properties", {})

    def added_fields(self, node: TypeNode) -> Collection[str]:
        """Return the names of the fields that an overlay adds to a struct."""
        return self._overlays.get(node.definition, {}) if node.definition else node.raw["properties"]

    def types_of_kind(self, group: str, kind: str) -> Iterator[TypeNode]:
        """Yield the type of a kind in each version of its group."""
        for (own_group, _, own_kind), name in self._definitions_by_kind.items():
            if (own_group, own_kind) == (group, kind):
                yield self.get_type(name)

    def get_type(self, definition: str) -> TypeNode:
        """Return the type with this full name."""
        known = self._nodes.get(definition)
        if known is not None:
            return known
        # Its parts get the node before its fields are filled in, so that types may contain themselves.
        built = self._build_type(definition)
        return self._nodes.get_or_compile(definition, lambda: self._fill_fields(built), built)

    def _build_type(self, definition: str) -> TypeNode:
        raw: Mapping[str, Any] = self.definitions[definition]
        go = _go_name(definition)
        if definition in _SPECIAL:
            return TypeNode(_SPECIAL[definition], go, definition, raw=raw)
        if raw.get("properties"):
            return TypeNode(Shape.STRUCT, go, definition, raw=raw)
        if _json_type(raw) == "string":
            return TypeNode(Shape.STRING, go, definition, raw=raw)
        if definition in SCHEMA_OR:
            return TypeNode(Shape.ANY, go, definition, item=self.get_type(_PROPS), raw=raw)
        return TypeNode(Shape.ANY, go, definition, raw=raw)

    def _fill_fields(self, node: TypeNode) -> TypeNode:
        if node.shape is not Shape.STRUCT:
            return node
        properties = node.raw["properties"]
        rows = {row.name: row for row in _go_fields(node.definition)}
        order = [name for name in rows if name in properties]
        # Fields that Go's tables do not have come last: those of overlays, and of versions newer than the tables.
        order += [name for name in properties if name not in rows]
        added = self.added_fields(node)
        for name in order:
            row = rows.get(name) or _GoField(name, "", "omit")
            child = self._build_field_type(
                properties[name], row.go.removeprefix("*"), _package_of_definition(node.definition)
            )
            pointer = row.go.startswith("*") and child.shape not in (Shape.LIST, Shape.MAP)
            # The API conventions make optional fields pointers: false, 0 and {} must stay distinct from absence.
            pointer = pointer or (name in added and child.shape not in _NEVER_POINTERS)
            if name in added:
                _set_go_name(child, name, _package_of_definition(node.definition).rpartition("/")[2])
            node.fields[name] = TypeField(
                name, child, pointer, row.empty == "omit", row.empty == "zero", row.embedded + name
            )
        return node

    def _build_field_type(self, raw: Mapping[str, Any], go: str, package: str) -> TypeNode:
        if "$ref" in raw:
            return self._build_reference(raw)
        kind = _json_type(raw)
        if kind == "object" and raw.get("properties"):  # published types have none of these, proposals may
            return self._fill_fields(TypeNode(Shape.STRUCT, go, raw=raw))
        if kind == "array":
            items = go if go.startswith("[]") else find_go_alias(package, go) or "[]"
            return TypeNode(
                Shape.LIST,
                _format_go_type(go, package),
                item=self._build_field_type(raw["items"], items[2:], package),
                raw=raw,
            )
        if kind == "object" and isinstance(raw.get("additionalProperties"), dict):
            item = self._build_field_type(raw["additionalProperties"], go.partition("]")[2], package)
            return TypeNode(Shape.MAP, _format_go_map(go, package), item=item, raw=raw)
        shape = _SCALARS.get((kind, raw.get("format", ""))) or _BY_TYPE.get(kind, Shape.ANY)
        return TypeNode(shape, _format_go_type(go, package), raw=raw)

    def _build_reference(self, raw: Mapping[str, Any]) -> TypeNode:
        target = self.get_type(raw["$ref"].rpartition("/")[2])
        own = {key: value for key, value in raw.items() if key.startswith("x-kubernetes")}
        if not own:
            return target
        return TypeNode(target.shape, target.go, target.definition, target.item, {**target.raw, **own}, target.fields)


def _set_go_name(node: TypeNode, name: str, package: str) -> None:
    """Set the Go type name of an added field, which messages show and no table has."""
    if node.go:
        return
    if node.item is not None:
        _set_go_name(node.item, name, package)
    item = "" if node.item is None else node.item.go or _GO_SCALARS.get(node.item.shape, "interface {}")
    match node.shape:
        case Shape.STRUCT:
            node.go = f"{package or 'v1'}.{name[:1].upper()}{name[1:]}"
        case Shape.LIST:
            node.go = f"[]{item}"
        case Shape.MAP:
            node.go = f"map[string]{item}"


def _json_type(raw: Mapping[str, Any]) -> str:
    kind = raw.get("type", "")
    return next((one for one in kind if one != "null"), "") if isinstance(kind, list) else kind


def _package_of_definition(definition: str) -> str:
    return "/".join(definition.split(".")[-3:-1])


def _go_name(definition: str) -> str:
    """Return `v1.PodSpec`, the form in which Go prints a type."""
    return ".".join(definition.split(".")[-2:])


def _format_go_type(go: str, package: str) -> str:
    """Return a field's Go type as `reflect` prints it: qualified by its package unless it is a built-in."""
    prefix, name = re.fullmatch(r"((?:\[\]|\*)*)(.*)", go).groups()  # type: ignore[union-attr]
    if name[:1].isupper():
        return f"{prefix}{package.rpartition('/')[2]}.{name}"
    return _ALIAS.sub("", go).replace("[]byte", "[]uint8")


def _format_go_map(go: str, package: str) -> str:
    if go.startswith("map["):
        key, _, value = go[4:].partition("]")
        return f"map[{_format_go_type(key, package)}]{_format_go_type(value, package)}"
    return _format_go_type(go, package)


@cache
def _load_go_types() -> LazyTable:
    return LazyTable(load_lines(_DATA / "gotypes.json"))


def find_go_struct(package: str, name: str) -> list[tuple[str, str, str, int]] | None:
    """Return the fields of a Go struct: name, type, tag for empty values, number; None if it is no struct."""
    found = _load_go_types().get(f"{package}.{name}")
    return found if isinstance(found, list) else None


def find_go_alias(package: str, name: str) -> str:
    """Return the Go type that a name stands for; empty if it is a struct or not known."""
    found = _load_go_types().get(f"{package}.{name}")
    return found if isinstance(found, str) else ""


@cache
def _load_published(content: str, version: Version) -> LazyTable:
    """Return `types` or `descriptions` of a version by type; versions share what did not change between them."""
    lines = _load_published_lines(content, version)
    return LazyTable({name: lines[name] for name in sorted(lines) if lines[name]})


@cache
def _load_published_lines(content: str, version: Version) -> Mapping[str, bytes]:
    lines = load_lines(_DATA / f"published/{content}-{version}.json")
    if version != DEFAULT:  # other files hold what differs from their neighbour, and null for a type it alone has
        neighbour = Version(version.major, version.minor + (1 if version < DEFAULT else -1))
        return {**_load_published_lines(content, neighbour), **lines}
    return lines


def _go_fields(definition: str) -> Iterator[_GoField]:
    """Yield the fields of a struct in Go's order, those of embedded structs in their place."""
    package, name = _package_of_definition(definition), definition.rpartition(".")[2]
    yield from _struct_fields(package, name)


def _struct_fields(package: str, name: str) -> Iterator[_GoField]:
    rows = find_go_struct(package, name)
    if rows is None:
        if alias := find_go_alias(package, name):
            yield from _struct_fields(_package_of_type(package, alias), alias.rpartition(".")[2])
        return
    for field_name, go, empty, _ in rows:
        if field_name:
            yield _GoField(field_name, go, empty)
        elif go == "metav1.TypeMeta" or (go == "TypeMeta" and package == "meta/v1"):
            yield _GoField("kind", "string", "omit", "TypeMeta.")
            yield _GoField("apiVersion", "string", "omit", "TypeMeta.")
        else:
            embedded = go.rpartition(".")[2]
            for row in _struct_fields(_package_of_type(package, go), embedded):
                yield replace(row, embedded=f"{embedded}.{row.embedded}")


def _package_of_type(package: str, go: str) -> str:
    """Return the package of an embedded or aliased type."""
    qualifier, _, name = go.rpartition(".")
    if not qualifier:
        return package
    group = package.partition("/")[0]
    candidates = ["meta/v1"] if qualifier == "metav1" else [f"{group}/v1", "core/v1", "meta/v1"]
    return next((one for one in candidates if find_go_struct(one, name) is not None), package)
