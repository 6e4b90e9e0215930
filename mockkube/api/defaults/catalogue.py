"""Which function fills in which kind: the storage and every served version of it."""

from collections.abc import Callable, Mapping
from typing import Final

from mockkube.api.defaults import core, pods, services
from mockkube.api.types import Object
from mockkube.features.capabilities import Capabilities

Default = Callable[[Object, Capabilities], None]

DEFAULTS: Final[Mapping[tuple[str, str, str], Default]] = {
    ("", "v1", "Endpoints"): core.default_endpoints,
    ("", "v1", "LimitRange"): core.default_limit_range,
    ("", "v1", "Namespace"): core.default_namespace,
    ("", "v1", "Node"): core.default_node,
    ("", "v1", "Pod"): pods.default_pod,
    ("", "v1", "PodTemplate"): core.default_pod_template,
    ("", "v1", "ReplicationController"): core.default_replication_controller,
    ("", "v1", "ResourceQuota"): core.default_resource_quota,
    ("", "v1", "Secret"): core.default_secret,
    ("", "v1", "Service"): services.default_service,
}
"""(group, version, kind) to what fills it in; a kind that is not here has no defaults."""
