"""FlowSchema and PriorityLevelConfiguration as error messages print them."""

from typing import Final

from mockkube.api.validation.internal_form import InternalShape, make_optional

_NAME: Final[InternalShape] = (("Name", "name", ""),)
_SUBJECT: Final[InternalShape] = (
    ("Kind", "kind", ""),
    ("User", "user", make_optional(_NAME)),
    ("Group", "group", make_optional(_NAME)),
    ("ServiceAccount", "serviceAccount", make_optional((("Namespace", "namespace", ""), *_NAME))),
)
_RESOURCES: Final[InternalShape] = (
    ("Verbs", "verbs", None),
    ("APIGroups", "apiGroups", None),
    ("Resources", "resources", None),
    ("ClusterScope", "clusterScope", False),
    ("Namespaces", "namespaces", None),
)
_RULES: Final[InternalShape] = (
    ("Subjects", "subjects", make_optional(_SUBJECT)),
    ("ResourceRules", "resourceRules", make_optional(_RESOURCES)),
    (
        "NonResourceRules",
        "nonResourceRules",
        make_optional((("Verbs", "verbs", None), ("NonResourceURLs", "nonResourceURLs", None))),
    ),
)
FLOW_SCHEMA_FORM: Final[InternalShape] = (
    ("PriorityLevelConfiguration", "priorityLevelConfiguration", _NAME),
    ("MatchingPrecedence", "matchingPrecedence", 0),
    ("DistinguisherMethod", "distinguisherMethod", make_optional((("Type", "type", ""),))),
    ("Rules", "rules", make_optional(_RULES)),
)
_QUEUES: Final[InternalShape] = (
    ("Queues", "queues", 0),
    ("HandSize", "handSize", 0),
    ("QueueLengthLimit", "queueLengthLimit", 0),
)
_LIMITED: Final[InternalShape] = (
    ("NominalConcurrencyShares", "nominalConcurrencyShares", 0),
    ("LimitResponse", "limitResponse", (("Type", "type", ""), ("Queuing", "queuing", make_optional(_QUEUES)))),
    ("LendablePercent", "lendablePercent", None),
    ("BorrowingLimitPercent", "borrowingLimitPercent", None),
)
_EXEMPT: Final[InternalShape] = (
    ("NominalConcurrencyShares", "nominalConcurrencyShares", None),
    ("LendablePercent", "lendablePercent", None),
)
PRIORITY_LEVEL_FORM: Final[InternalShape] = (
    ("Type", "type", ""),
    ("Limited", "limited", make_optional(_LIMITED)),
    ("Exempt", "exempt", make_optional(_EXEMPT)),
)
