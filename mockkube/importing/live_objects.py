"""Objects of a running cluster: every resource that can be listed, page by page."""

from collections.abc import Iterator
from functools import partial
from typing import Final

import orjson

from mockkube.api.json_objects import Object
from mockkube.client.blocking_http import BlockingHttpClient, NoResponseError, list_objects
from mockkube.client.discovery import AGGREGATED, ROOTS
from mockkube.importing.errors import UnreadableDumpError

PAGE_MAX: Final = 500
TIMEOUT_SECONDS: Final = 60.0
# Reported about other objects, or computed for each request.
_SKIPPED_GROUPS: Final = (
    "metrics.k8s.io",
    "custom.metrics.k8s.io",
    "external.metrics.k8s.io",
    "events.k8s.io",
    "control.mockkube.dev",
)
_EXPIRED: Final = 410
_CONTROL_API: Final = "control.mockkube.dev/v1alpha1"
_NODE_GROUPS: Final = f"/apis/{_CONTROL_API}/nodegroups"


class LiveObjects:
    """Reader of a cluster; raises UnreadableDumpError if it does not answer."""

    def __init__(self, client: BlockingHttpClient) -> None:
        self._client = client
        # Resources that may not be listed, with the reason.
        self.refused: dict[str, str] = {}

    def read_version(self) -> str:
        """Return the version of the API server, like `v1.36.2`."""
        info = self._get("/version") or {}
        return str(info.get("gitVersion", ""))

    def read(self) -> Iterator[Object]:
        """Yield every object, each in the version that its group prefers."""
        for api_version, plural, kind in self._list_resources():
            yield from self._list(api_version, plural, kind)

    def read_node_groups(self) -> list[Object]:
        """Return the NodeGroups of a cluster of mockkube; none of another cluster, or if they may not be read."""
        found = self._get(_NODE_GROUPS, name="nodegroups")
        items: list[Object] = [] if found is None else found.get("items") or []
        return [{**obj, "apiVersion": _CONTROL_API, "kind": "NodeGroup"} for obj in items]

    def _list_resources(self) -> Iterator[tuple[str, str, str]]:
        for root in ROOTS:
            for group in (self._get(root, accept=AGGREGATED) or {}).get("items", ()):
                name = group["metadata"].get("name", "")
                seen: set[str] = set()
                for version in group.get("versions", ()) if name not in _SKIPPED_GROUPS else ():
                    api_version = f"{name}/{version['version']}" if name else version["version"]
                    for resource in version.get("resources", ()):
                        # Versions come in the server's order of preference.
                        if resource["resource"] not in seen and "list" in resource.get("verbs", ()):
                            seen.add(resource["resource"])
                            yield api_version, resource["resource"], resource["responseKind"]["kind"]

    def _list(self, api_version: str, plural: str, kind: str) -> Iterator[Object]:
        get = partial(self._get, name=f"{plural} ({api_version})")
        return list_objects(get, api_version, plural, kind, page_size=PAGE_MAX)

    def _get(self, path: str, *, accept: str = "application/json", name: str = "") -> Object | None:
        """Return the JSON object at a path; None, with the reason recorded, for a resource that may not be read."""
        try:
            response = self._client.get(path, seconds=TIMEOUT_SECONDS, accept=accept)
            answer = orjson.loads(response.body) if response.body else {}
        except NoResponseError as error:
            raise UnreadableDumpError(str(error)) from None
        except ValueError:
            answer = {}
        if response.status == 200 and isinstance(answer, dict):
            return answer
        reason = str(answer.get("message", "")) if isinstance(answer, dict) else ""
        # An aggregated API that does not answer, or one that this user may not read, hides nothing else.
        if name and response.status != _EXPIRED:
            self.refused[name] = reason or f"answer {response.status}"
            return None
        place = path.partition("?")[0]
        raise UnreadableDumpError(f"{self._client.server} answers {response.status} to {place}: {reason or 'no JSON'}")
