"""FlowSchema and PriorityLevelConfiguration as error messages print them."""

from typing import Final

from mockkube.api.validation.internal_form import Shape, optional

_NAME: Final[Shape] = (("Name", "name", ""),)
_SUBJECT: Final[Shape] = (
    ("Kind", "kind", ""),
    ("User", "user", optional(_NAME)),
    ("Group", "group", optional(_NAME)),
    ("ServiceAccount", "serviceAccount", optional((("Namespace", "namespace", ""), *_NAME))),
)
_RESOURCES: Final[Shape] = (
    ("Verbs", "verbs", None),
    ("APIGroups", "apiGroups", None),
    ("Resources", "resources", None),
    ("ClusterScope", "clusterScope", False),
    ("Namespaces", "namespaces", None),
)
_RULES: Final[Shape] = (
    ("Subjects", "subjects", optional(_SUBJECT)),
    ("ResourceRules", "resourceRules", optional(_RESOURCES)),
    (
        "NonResourceRules",
        "nonResourceRules",
        optional((("Verbs", "verbs", None), ("NonResourceURLs", "nonResourceURLs", None))),
    ),
)
FLOW_SCHEMA_FORM: Final[Shape] = (
    ("PriorityLevelConfiguration", "priorityLevelConfiguration", _NAME),
    ("MatchingPrecedence", "matchingPrecedence", 0),
    ("DistinguisherMethod", "distinguisherMethod", optional((("Type", "type", ""),))),
    ("Rules", "rules", optional(_RULES)),
)
_QUEUES: Final[Shape] = (
    ("Queues", "queues", 0),
    ("HandSize", "handSize", 0),
    ("QueueLengthLimit", "queueLengthLimit", 0),
)
_LIMITED: Final[Shape] = (
    ("NominalConcurrencyShares", "nominalConcurrencyShares", 0),
    ("LimitResponse", "limitResponse", (("Type", "type", ""), ("Queuing", "queuing", optional(_QUEUES)))),
    ("LendablePercent", "lendablePercent", None),
    ("BorrowingLimitPercent", "borrowingLimitPercent", None),
)
_EXEMPT: Final[Shape] = (
    ("NominalConcurrencyShares", "nominalConcurrencyShares", None),
    ("LendablePercent", "lendablePercent", None),
)
PRIORITY_LEVEL_FORM: Final[Shape] = (
    ("Type", "type", ""),
    ("Limited", "limited", optional(_LIMITED)),
    ("Exempt", "exempt", optional(_EXEMPT)),
)
