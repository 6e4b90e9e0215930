"""Random requests to an API server: every kind, verb, subresource and content type, for objects present or not."""

import json
from collections import defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final
from urllib.parse import quote

import odd_values as odd
import yaml

from mockkube.api.catalogue import KINDS, KindInfo, is_stable_version
from mockkube.api.protobuf.envelope import ProtobufSerializer
from mockkube.api.schema import Schema, TypeNode
from mockkube.features.versions import Version

Object = dict[str, Any]
JSON: Final = "application/json"
PROTOBUF: Final = "application/vnd.kubernetes.protobuf"
PATCHES: Final = (
    "application/json-patch+json", "application/merge-patch+json", "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
)  # fmt: skip
OTHER_MEDIA: Final = (
    "", "application/cbor", "text/plain", "application/JSON; charset=utf-8", "application/apply-patch+cbor", "a/b;;=",
    "*/*", "json",
)  # fmt: skip
ACCEPTED: Final = (
    "", "", "*/*", JSON, "application/yaml", PROTOBUF, "text/html", ";;", "application/cbor", "text/plain",
    "application/json;as=Table;g=meta.k8s.io;v=v1",
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    "application/json;as=APIGroupDiscoveryList;v=v2;g=apidiscovery.k8s.io", "application/json;q=x,*/*;q=-1",
)  # fmt: skip
PARAMETERS: Final = (
    "limit", "continue", "resourceVersion", "resourceVersionMatch", "labelSelector", "fieldSelector",
    "sendInitialEvents", "allowWatchBookmarks", "pretty", "dryRun", "fieldValidation", "fieldManager",
    "includeObject", "gracePeriodSeconds", "propagationPolicy", "orphanDependents", "force", "timeout",
    "preconditions", "container", "tailLines", "sinceTime", "limitBytes", "shardSelector",
    "ignoreStoreReadErrorWithClusterBreakingPotential", "export", "exact", "command", "path",
)  # fmt: skip
ARGUMENTS: Final = (
    "0", "1", "-1", "9223372036854775808", "1e5", "true", "false", "All", "Strict", "Warn", "Ignore", "Exact",
    "Object", "NotOlderThan", "Foreground", "Orphan", "None", "a=b", "a in (b,c)", "!a", "a>5", "metadata.name=a",
    "(", "a in (", "status.phase!=Running", "metadata.name=\\", "=", ",", "..", "W10", "e30", "1s", "-1s", "1h1", "9"
    * 30,
)  # fmt: skip
PLAIN: Final = (
    "/", "/api", "/apis", "/api/v1", "/apis/apps", "/apis/apps/v1", "/apis/nobody/v1", "/version", "/healthz",
    "/livez/ping", "/readyz", "/metrics", "/openapi/v2", "/openapi/v3", "/openapi/v3/apis/apps/v1", "/flagz",
    "/statusz", "/.well-known/openid-configuration", "/openid/v1/jwks", "/debug/pprof", "/logs",
    "/apis/apps/v1/deployments/../x", "//api/v1", "/api/v1/%2e%2e/x", "/api/v1/pods%00", "/api/v1/namespaces/%ff",
    "/apis/control.mockkube.dev/v1alpha1/components", "/apis/metrics.k8s.io/v1beta1/nodes", "/ui", "*",
)  # fmt: skip
STEERING: Final = ("admissionregistration.k8s.io", "apiregistration.k8s.io", "rbac.authorization.k8s.io")
"""Groups whose objects change how the server answers others: nothing of them is stored."""
NAMESPACES: Final = ("fuzz-0", "fuzz-1", "fuzz-2", "default")
POOL_MAX: Final = 20
_CONTROL: Final = ("components", "clocks", "faults", "snapshots")


@dataclass(frozen=True, slots=True)
class Request:
    """A request, before it is written as HTTP."""

    method: str
    path: str
    media: str = ""
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()
    streams: bool = False
    """Its answer does not end by itself."""

    def to_bytes(self, host: str) -> bytes:
        """Return the request as HTTP/1.1."""
        lines = [f"{self.method} {self.path} HTTP/1.1", f"Host: {host}", "User-Agent: fuzz/1.0"]
        if self.media:
            lines.append(f"Content-Type: {self.media}")
        if self.body or self.method != "GET":
            lines.append(f"Content-Length: {len(self.body)}")
        lines += [f"{name}: {value}" for name, value in self.headers]
        return "\r\n".join((*lines, "", "")).encode() + self.body


@dataclass(frozen=True, slots=True)
class Target:
    """A kind in one of its versions, and where its objects are."""

    kind: KindInfo
    version: str
    node: TypeNode

    @property
    def api_version(self) -> str:
        """What its objects say."""
        return f"{self.kind.group}/{self.version}" if self.kind.group else self.version

    def path(self, namespace: str, name: str = "", subresource: str = "") -> str:
        """Return the path of the collection, an object, or a part of it."""
        root = f"/apis/{self.kind.group}/{self.version}" if self.kind.group else f"/api/{self.version}"
        parts = [root, f"namespaces/{namespace}"] if self.kind.namespaced else [root]
        parts += [self.kind.plural, quote(name, safe=""), subresource]
        return "/".join(part for part in parts if part)


def targets(version: Version) -> list[Target]:
    """Return everything that is served by default and has a schema in a version of Kubernetes."""
    schema = Schema(version)
    return [
        Target(kind, served, node)
        for kind in KINDS
        for served in kind.versions
        if is_stable_version(served) and (node := schema.find_kind_type(kind.group, served, kind.kind)) is not None
    ]


@dataclass(slots=True)
class Requests:
    """Draws requests; it knows the objects that earlier ones have created."""

    chance: Random
    protobuf: ProtobufSerializer
    targets: list[Target]
    known: dict[str, list[Object]] = field(default_factory=lambda: defaultdict(list))
    minimal: str = (Path(__file__).parents[1] / "contract" / "api" / "minimal.json").read_text()

    def draw(self) -> Request:
        """Return a request of any sort."""
        target = self.chance.choice(self.targets)
        match self.chance.randrange(20):
            case 0 | 1 | 2 | 3 | 4:
                return self.create(target)
            case 5 | 6 | 7 | 8 | 9 | 10 | 11:
                return self.change(target)
            case 12:
                return self.delete(target)
            case 13 | 14 | 15:
                return self.read(target)
            case 16 | 17:
                return self.part(target)
            case 18:
                return self.plain()
            case _:
                return self.custom()

    # What there is

    def learn(self, target: Target, obj: Object) -> None:
        """Remember an object as the server has shown it."""
        pool = self.known[target.kind.kind]
        pool.append(obj)
        del pool[:-POOL_MAX]

    def forget(self, target: Target, obj: Object) -> None:
        """Forget an object that is deleted."""
        uid = obj["metadata"].get("uid")
        pool = self.known[target.kind.kind]
        pool[:] = [one for one in pool if one["metadata"].get("uid") != uid]

    def valid(self, target: Target) -> Object:
        """Return the least that is valid, under a random name."""
        namespace = self.chance.choice(NAMESPACES)
        bodies = json.loads(self.minimal.replace("{namespace}", namespace))
        body = bodies.get(f"{target.kind.group or 'core'}/{target.kind.kind}", {})
        metadata = {"name": f"f-{self.chance.randrange(100)}", **body.get("metadata", {})}
        if target.kind.namespaced:
            metadata["namespace"] = namespace
        return {**body, "apiVersion": target.api_version, "kind": target.kind.kind, "metadata": metadata}

    def some(self, target: Target) -> Object:
        """Return an object that is there, or else a valid one that is not."""
        pool = self.known[target.kind.kind]
        return self.chance.choice(pool) if pool and self.chance.random() < 0.9 else self.valid(target)

    def spoiled(self, target: Target, obj: Object) -> Any:
        """Return the object with something odd in it."""
        if self.chance.random() < 0.5:
            obj = odd.merged(obj, odd.value_of(target.node, self.chance))
        for _ in range(self.chance.choice((0, 1, 1, 2))):
            obj = odd.changed(obj, self.chance)
        return obj

    # Requests

    def create(self, target: Target, *, valid: bool = False) -> Request:
        """Create an object, valid or nearly so."""
        obj = self.valid(target)
        path = target.path(obj["metadata"].get("namespace", ""))
        if valid or self.chance.random() < 0.2:
            return Request("POST", self._quietly(target, path), JSON, json.dumps(obj).encode())
        return self._with_body("POST", target, path, self.spoiled(target, obj))

    def change(self, target: Target) -> Request:
        """Update, patch or apply an object."""
        obj = self.some(target)
        metadata = obj["metadata"]
        sub = self.chance.choice(("", "", "", *(sub.name for sub in target.kind.subresources)))
        path = target.path(metadata.get("namespace", ""), str(metadata.get("name", "")), sub)
        if self.chance.random() < 0.2:
            new = self.spoiled(target, obj)
            if isinstance(new, dict) and isinstance(new.get("metadata"), dict) and self.chance.random() < 0.7:
                new["metadata"].pop("resourceVersion", None)
            return self._with_body("PUT", target, path, new)
        media = self.chance.choice(PATCHES)
        asked = self._quietly(target, self._asked(path, apply=media == PATCHES[3]))
        return Request("PATCH", asked, media, self._patch(media, target, obj), self._headers())

    def _patch(self, media: str, target: Target, obj: Object) -> bytes:
        chance = self.chance
        if media == PATCHES[0]:
            return odd.text_of(odd.json_patch(obj, chance), chance)
        if media == PATCHES[3]:
            metadata = {key: value for key, value in obj["metadata"].items() if key in ("name", "namespace", "labels")}
            base = {**obj, "metadata": metadata} if chance.random() < 0.8 else obj
            applied = self.spoiled(target, base)
            if chance.random() < 0.1 and isinstance(applied, dict):
                applied = {**applied, "metadata": odd.any_json(chance)}
            return self._yaml(applied) if chance.random() < 0.3 else odd.text_of(applied, chance)
        change = odd.value_of(target.node, chance) if chance.random() < 0.6 else self.spoiled(target, obj)
        if media == PATCHES[2]:
            change = odd.with_directives(change, chance)
        return odd.text_of(change, chance)

    def delete(self, target: Target) -> Request:
        """Delete an object or a collection, with options or not."""
        obj = self.some(target)
        metadata = obj["metadata"]
        name = str(metadata.get("name", "")) if self.chance.random() < 0.8 else ""
        path = target.path(metadata.get("namespace", ""), name)
        # options in the body count instead of those in the query: what steers the server would really be deleted
        if self.chance.random() < 0.5 or target.kind.group in STEERING:
            return Request("DELETE", self._quietly(target, self._asked(path)), headers=self._headers())
        options = {
            "kind": "DeleteOptions",
            "apiVersion": "v1",
            "gracePeriodSeconds": 0,
            "preconditions": {"uid": "x", "resourceVersion": "1"},
            "propagationPolicy": "Background",
            "dryRun": ["All"],
            "orphanDependents": False,
        }
        few = {key: value for key, value in options.items() if self.chance.random() < 0.4}
        return self._with_body("DELETE", target, path, odd.changed(few, self.chance) if few else few)

    def read(self, target: Target) -> Request:
        """Get, list or watch."""
        obj = self.some(target)
        metadata = obj["metadata"]
        sub = self.chance.choice(("", "", "", *(sub.name for sub in target.kind.subresources)))
        name = str(metadata.get("name", "")) if self.chance.random() < 0.5 else ""
        path = self._asked(target.path(metadata.get("namespace", ""), name, sub if name else ""))
        if not name and self.chance.random() < 0.3:
            path += f"{'&' if '?' in path else '?'}watch=true&timeoutSeconds=1"
            return Request("GET", path, headers=self._headers(), streams=True)
        return Request("GET", path, headers=self._headers())

    def watch(self, target: Target, obj: Object) -> Request:
        """Watch the collection of an object from when it was seen."""
        revision = obj["metadata"].get("resourceVersion", "")
        path = target.path(obj["metadata"].get("namespace", ""))
        accept = (("Accept", self.chance.choice((JSON, PROTOBUF, ACCEPTED[10]))),)
        query = f"watch=true&timeoutSeconds=5&resourceVersion={revision}"
        return Request("GET", f"{path}?{query}", headers=accept, streams=True)

    def part(self, target: Target) -> Request:
        """Do something below an object, with the body of any kind."""
        obj, other = self.some(target), self.chance.choice(self.targets)
        subs = [sub.name for sub in target.kind.subresources] or ["status"]
        path = target.path(
            obj["metadata"].get("namespace", ""), str(obj["metadata"].get("name", "")), self.chance.choice(subs)
        )
        method = self.chance.choice(("POST", "POST", "PUT", "GET", "DELETE", "PATCH", "HEAD", "OPTIONS"))
        body = {
            **self.spoiled_kind(self.chance.choice(("Scale", "Eviction", "Binding", "TokenRequest", "DeleteOptions")))
        }
        if self.chance.random() < 0.3:
            spoiled = self.spoiled(other, self.valid(other))
            body = spoiled if isinstance(spoiled, dict) else {}
        body.setdefault("metadata", {"name": obj["metadata"].get("name", "")})
        return self._with_body(
            method, target, path, odd.changed(body, self.chance) if self.chance.random() < 0.6 else body
        )

    def spoiled_kind(self, kind: str) -> Object:
        """Return the body of a subresource."""
        bodies: dict[str, Object] = {
            "Scale": {"apiVersion": "autoscaling/v1", "spec": {"replicas": self.chance.choice(odd.NUMBERS)}},
            "Eviction": {
                "apiVersion": "policy/v1",
                "deleteOptions": {"gracePeriodSeconds": self.chance.choice(odd.NUMBERS)},
            },
            "Binding": {"apiVersion": "v1", "target": {"kind": "Node", "name": self.chance.choice(odd.TEXTS)}},
            "TokenRequest": {
                "apiVersion": "authentication.k8s.io/v1",
                "spec": {
                    "audiences": [self.chance.choice(odd.TEXTS)],
                    "expirationSeconds": self.chance.choice(odd.NUMBERS),
                },
            },
            "DeleteOptions": {"apiVersion": "v1"},
        }
        return {"kind": kind, **bodies[kind]}

    def plain(self) -> Request:
        """Ask for what is no resource, or for something that is steered by its own API."""
        path = self._asked(self.chance.choice(PLAIN))
        if self.chance.random() < 0.2:
            path = f"/apis/control.mockkube.dev/v1alpha1/{self.chance.choice(_CONTROL)}"
            body = odd.text_of(
                odd.changed({"metadata": {"name": "x"}, "spec": {"running": True, "mode": "Real"}}, self.chance),
                self.chance,
            )
            return Request("POST", f"{path}?dryRun=All", JSON, body)
        return Request(
            self.chance.choice(("GET", "GET", "GET", "POST", "PUT", "DELETE", "HEAD", "TRACE")),
            path,
            headers=self._headers(),
        )

    def custom(self) -> Request:
        """Define a kind, or write an object of it."""
        plural = self.chance.choice(("alphas", "betas"))
        kind = plural.capitalize().removesuffix("s")
        if self.chance.random() < 0.15:
            scale = {"specReplicasPath": ".spec.n", "statusReplicasPath": ".status.n"}
            version = {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": self._schema()},
                "subresources": {"status": {}, "scale": scale},
            }
            names = {"plural": plural, "kind": kind}
            definition = {
                "apiVersion": "apiextensions.k8s.io/v1",
                "kind": "CustomResourceDefinition",
                "metadata": {"name": f"{plural}.fuzz.example"},
                "spec": {"group": "fuzz.example", "scope": "Namespaced", "names": names, "versions": [version]},
            }
            whole = odd.changed(definition, self.chance) if self.chance.random() < 0.5 else definition
            return Request(
                "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", JSON, json.dumps(whole).encode()
            )
        obj = {
            "apiVersion": "fuzz.example/v1",
            "kind": kind,
            "metadata": {"name": f"f-{self.chance.randrange(5)}"},
            "spec": odd.any_json(self.chance),
        }
        path = f"/apis/fuzz.example/v1/namespaces/fuzz-0/{plural}"
        if self.chance.random() < 0.5:
            return Request("POST", self._asked(path), JSON, odd.text_of(odd.changed(obj, self.chance), self.chance))
        path += f"/f-{self.chance.randrange(5)}{self.chance.choice(('', '', '/status', '/scale'))}"
        media = self.chance.choice((PATCHES[0], PATCHES[1], PATCHES[3]))
        body = odd.json_patch(obj, self.chance) if media == PATCHES[0] else odd.changed(obj, self.chance)
        return Request("PATCH", self._asked(path, apply=media == PATCHES[3]), media, odd.text_of(body, self.chance))

    def _schema(self) -> Object:
        number = {
            "type": "integer",
            "minimum": self.chance.choice(odd.NUMBERS),
            "default": self.chance.choice(odd.NUMBERS),
        }
        inner = {
            "type": self.chance.choice(("object", "string", "array", "boolean")),
            "x-kubernetes-preserve-unknown-fields": True,
        }
        spec = {
            "type": "object",
            "properties": {
                "n": {"type": "integer"},
                "a": number,
                "name": inner,
                "value": {"x-kubernetes-int-or-string": True},
            },
        }
        return {
            "type": "object",
            "properties": {"spec": spec, "status": {"type": "object", "properties": {"n": {"type": "integer"}}}},
        }

    # Their parts

    def _with_body(self, method: str, target: Target, path: str, value: Any) -> Request:
        media, body = self._written(value)
        return Request(method, self._quietly(target, self._asked(path)), media, body, self._headers())

    def _written(self, value: Any) -> tuple[str, bytes]:
        match self.chance.randrange(12):
            case 0 | 1:
                return "application/yaml", self._yaml(value)
            case 2 | 3:
                return PROTOBUF, self._message(value)
            case 4 if self.chance.random() < 0.3:
                return self.chance.choice((*OTHER_MEDIA, *PATCHES)), odd.text_of(value, self.chance)
        return JSON, odd.text_of(value, self.chance)

    def _yaml(self, value: Any) -> bytes:
        text = yaml.dump(value, Dumper=yaml.CSafeDumper, allow_unicode=True)
        if self.chance.random() < 0.1:
            text = text.replace(":", self.chance.choice((": &a", ": *a", ": !!binary", ":\t", ": |", ": {", "::")), 1)
        return text.encode("utf-8", "replace")

    def _message(self, value: Any) -> bytes:
        try:
            data = self.protobuf.encode(value)
        except Exception:  # what cannot be written as a message goes as something else
            return odd.text_of(value, self.chance)
        for _ in range(self.chance.choice((0, 0, 1, 3))):
            at = self.chance.randrange(len(data))
            data = data[:at] + bytes([self.chance.randrange(256)]) + data[at + 1 :]
        return data if self.chance.random() < 0.9 else data[: self.chance.randrange(len(data))]

    def _asked(self, path: str, *, apply: bool = False) -> str:
        pairs = [("fieldManager", "fuzz"), ("force", "true")] if apply and self.chance.random() < 0.9 else []
        for _ in range(self.chance.choice((0, 0, 0, 1, 2))):
            argument = self.chance.choice((*ARGUMENTS, *odd.TEXTS[:20]))[:2000]
            pairs.append((self.chance.choice(PARAMETERS), argument))
        query = "&".join(f"{name}={quote(value, safe='')}" for name, value in pairs)
        return f"{path}?{query}" if query else path

    def _quietly(self, target: Target, path: str) -> str:
        if target.kind.group not in STEERING:
            return path
        path = path.replace("dryRun=", "other=")
        return f"{path}{'&' if '?' in path else '?'}dryRun=All"

    def _headers(self) -> tuple[tuple[str, str], ...]:
        headers = []
        if self.chance.random() < 0.3 and (accept := self.chance.choice(ACCEPTED)):
            headers.append(("Accept", accept))
        if self.chance.random() < 0.02:
            name = self.chance.choice(
                (
                    "Impersonate-User",
                    "Impersonate-Group",
                    "Impersonate-Uid",
                    "Impersonate-Extra-a%2fb",
                    "Impersonate-Extra-%",
                )
            )
            headers.append((name, self.chance.choice(("x", "system:node:a", "system:serviceaccount:a:b", ""))))
        if self.chance.random() < 0.02:
            headers.append((self.chance.choice(("Audit-Id", "If-None-Match", "Range", "Expect", "X-Remote-User")), "x"))
        return tuple(headers)
