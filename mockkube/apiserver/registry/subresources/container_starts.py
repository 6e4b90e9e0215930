"""Starts of simulated containers, with lookups in the watch cache for what they know about other objects."""

import uuid
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from mockkube.api.json_objects import ReadOnlyObject
from mockkube.apiserver.identity.service_account_tokens import TokenTerms
from mockkube.apiserver.registry.resource import Resource

if TYPE_CHECKING:
    from mockkube.shell.containers.container_start import ContainerStart

_TOKEN_SECONDS_DEFAULT: Final = 3600


def make_container_start(pods: Resource, run: int, began: datetime) -> "ContainerStart":
    """Return the start of a run of a container, as the interpreter of its command expects it."""
    from mockkube.shell.containers.container_start import (
        ContainerStart,  # loaded for the first container that is looked into
    )

    return ContainerStart(
        run,
        began,
        lookup=lambda kind, namespace, name: find_object(pods, kind, namespace, name),
        services=lambda: _list_services(pods),
        make_token=lambda pod, source: _make_token(pods, pod, source, began),
        states=pods.dependencies.simulated_kubelets.container_states,
    )


def find_object(pods: Resource, kind: str, namespace: str, name: str) -> ReadOnlyObject | None:
    """Return an object of the core group; None if it does not exist."""
    resource = pods.dependencies.find_by_kind("v1", kind)
    cached = resource.get_cached(namespace, name) if resource is not None else None
    return None if cached is None else {**cached.load(), "kind": kind}


def _list_services(pods: Resource) -> Iterable[ReadOnlyObject]:
    resource = pods.dependencies.find_by_kind("v1", "Service")
    return [] if resource is None else [cached.load() for cached in resource.collection.objects.values()]


def _make_token(pods: Resource, pod: ReadOnlyObject, source: ReadOnlyObject, began: datetime) -> str | None:
    """Return the token that a kubelet requests for a volume: the same at each call until it is renewed."""
    account = find_object(
        pods, "ServiceAccount", pod["metadata"]["namespace"], pod["spec"].get("serviceAccountName") or "default"
    )
    if account is None:
        return None
    issuer, seconds = pods.dependencies.token_issuer, source.get("expirationSeconds") or _TOKEN_SECONDS_DEFAULT
    # upstream 1.36: pkg/kubelet/token/token_manager.go renews a token after four fifths of its life.
    renewals = max(0, int((pods.dependencies.clock.now() - began).total_seconds() / (seconds * 0.8)))
    issued = began + timedelta(seconds=renewals * seconds * 0.8)
    audiences = [source["audience"]] if source.get("audience") else [*issuer.audiences]
    uid = pod["metadata"]["uid"]
    return issuer.issue(
        account,
        TokenTerms(
            audiences=audiences,
            issued_at=issued,
            expires_at=issued + timedelta(seconds=seconds),
            token_id=str(uuid.uuid5(uuid.NAMESPACE_OID, f"{uid}/{source.get('path', '')}/{renewals}")),
            bound_object={**pod, "kind": "Pod"},
            node=find_object(pods, "Node", "", pod["spec"].get("nodeName", "")),
        ),
    )
