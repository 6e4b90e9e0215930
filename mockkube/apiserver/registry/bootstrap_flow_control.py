"""Flow schemas and priority levels of a new cluster. They are only stored: no request is ever queued or rejected."""

from typing import Final

from mockkube.api.json_objects import Object
from mockkube.lazy_dataclasses import dataclass

FLOW_CONTROL: Final = "flowcontrol.apiserver.k8s.io/v1"
_QUEUE_LENGTH: Final = 50
_AUTOUPDATE_ANNOTATION: Final = {"apf.kubernetes.io/autoupdate-spec": "true"}


@dataclass(frozen=True, slots=True)
class PriorityLevel:
    """Priority level: a share of the server's concurrency."""

    name: str
    shares: int
    lendable_percent: int
    # 0: requests beyond the level's concurrency are rejected instead of queued.
    queues: int = 0
    hand_size: int = 0
    is_exempt: bool = False

    def metadata_and_spec(self) -> Object:
        """Return metadata and spec of the PriorityLevelConfiguration."""
        share: Object = {"nominalConcurrencyShares": self.shares, "lendablePercent": self.lendable_percent}
        if self.is_exempt:
            spec: Object = {"type": "Exempt", "exempt": share}
        else:
            spec = {"type": "Limited", "limited": {**share, "limitResponse": self._limit_response()}}
        return {"metadata": {"name": self.name, "annotations": _AUTOUPDATE_ANNOTATION}, "spec": spec}

    def _limit_response(self) -> Object:
        if not self.queues:
            return {"type": "Reject"}
        queuing = {"queues": self.queues, "handSize": self.hand_size, "queueLengthLimit": _QUEUE_LENGTH}
        return {"type": "Queue", "queuing": queuing}


@dataclass(frozen=True, slots=True)
class FlowResources:
    """Resources of one API group that a flow schema applies to."""

    group: str = "*"
    plurals: tuple[str, ...] = ("*",)
    cluster_scoped: bool = True

    def to_rule(self, verbs: tuple[str, ...]) -> Object:
        """Return the resource rule for these verbs."""
        rule: Object = {"verbs": [*verbs], "apiGroups": [self.group], "resources": [*self.plurals], "namespaces": ["*"]}
        return {**rule, "clusterScope": True} if self.cluster_scoped else rule


_ALL_RESOURCES: Final = (FlowResources(),)
_ALL_PATHS: Final = ("*",)


@dataclass(frozen=True, slots=True)
class FlowSchema:
    """Flow schema: which requests belong to a priority level, and how they are divided into flows."""

    name: str
    level: str
    precedence: int
    # Written as `Kind:name`, or `ServiceAccount:namespace:name`.
    subjects: tuple[str, ...]
    flows: str = ""
    verbs: tuple[str, ...] = ("*",)
    resources: tuple[FlowResources, ...] = _ALL_RESOURCES
    paths: tuple[str, ...] = _ALL_PATHS

    @property
    def found_message(self) -> str:
        """Message of the Dangling condition when the priority level exists."""
        return f'This FlowSchema references the PriorityLevelConfiguration object named "{self.level}" and it exists'

    def metadata_and_spec(self) -> Object:
        """Return metadata and spec of the FlowSchema."""
        rule: Object = {"subjects": [_make_subject(one) for one in self.subjects]}
        if self.resources:
            rule["resourceRules"] = [one.to_rule(self.verbs) for one in self.resources]
        if self.paths:
            rule["nonResourceRules"] = [{"verbs": [*self.verbs], "nonResourceURLs": [*self.paths]}]
        spec: Object = {
            "priorityLevelConfiguration": {"name": self.level},
            "matchingPrecedence": self.precedence,
            "rules": [rule],
        }
        if self.flows:
            spec["distinguisherMethod"] = {"type": self.flows}
        return {"metadata": {"name": self.name, "annotations": _AUTOUPDATE_ANNOTATION}, "spec": spec}


def _make_subject(text: str) -> Object:
    kind, _, name = text.partition(":")
    if kind == "ServiceAccount":
        namespace, _, name = name.partition(":")
        return {"kind": kind, "serviceAccount": {"namespace": namespace, "name": name}}
    return {"kind": kind, kind.lower(): {"name": name}}


# upstream 1.36: apiserver/pkg/apis/flowcontrol/bootstrap/default.go
PRIORITY_LEVELS: Final = (
    PriorityLevel("exempt", 0, 0, is_exempt=True),
    PriorityLevel("catch-all", 5, 0),
    PriorityLevel("system", 30, 33, queues=64, hand_size=6),
    PriorityLevel("node-high", 40, 25, queues=64, hand_size=6),
    PriorityLevel("leader-election", 10, 0, queues=16, hand_size=4),
    PriorityLevel("workload-high", 40, 50, queues=128, hand_size=6),
    PriorityLevel("workload-low", 100, 90, queues=128, hand_size=6),
    PriorityLevel("global-default", 20, 50, queues=128, hand_size=6),
)
_ALL_USERS: Final = ("Group:system:unauthenticated", "Group:system:authenticated")
_NODES: Final = ("Group:system:nodes",)
_MANAGER: Final = "User:system:kube-controller-manager"
_SCHEDULER: Final = "User:system:kube-scheduler"
_SYSTEM_ACCOUNTS: Final = "ServiceAccount:kube-system:*"
_LEASES: Final = FlowResources("coordination.k8s.io", ("leases",), cluster_scoped=False)
_NODE_RESOURCES: Final = (FlowResources("", ("nodes", "nodes/status")), _LEASES)
_LEADER_ELECTION_SUBJECTS: Final = (_MANAGER, _SCHEDULER, _SYSTEM_ACCOUNTS)
_LEADER_ELECTION_VERBS: Final = ("get", "create", "update")
_PROBE_PATHS: Final = ("/healthz", "/readyz", "/livez")
FLOW_SCHEMAS: Final = (
    FlowSchema("exempt", "exempt", 1, ("Group:system:masters",)),
    FlowSchema("catch-all", "catch-all", 10000, _ALL_USERS, "ByUser"),
    FlowSchema("system-nodes", "system", 500, _NODES, "ByUser"),
    FlowSchema("system-node-high", "node-high", 400, _NODES, "ByUser", resources=_NODE_RESOURCES, paths=()),
    FlowSchema("probes", "exempt", 2, _ALL_USERS, verbs=("get",), resources=(), paths=_PROBE_PATHS),
    FlowSchema(
        "system-leader-election",
        "leader-election",
        100,
        _LEADER_ELECTION_SUBJECTS,
        "ByUser",
        _LEADER_ELECTION_VERBS,
        (_LEASES,),
        (),
    ),
    FlowSchema("kube-controller-manager", "workload-high", 800, (_MANAGER,), "ByNamespace"),
    FlowSchema("kube-scheduler", "workload-high", 800, (_SCHEDULER,), "ByNamespace"),
    FlowSchema("kube-system-service-accounts", "workload-high", 900, (_SYSTEM_ACCOUNTS,), "ByNamespace"),
    FlowSchema("service-accounts", "workload-low", 9000, ("Group:system:serviceaccounts",), "ByUser"),
    FlowSchema("global-default", "global-default", 9900, _ALL_USERS, "ByUser"),
)
