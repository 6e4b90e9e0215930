"""ResourceClaim, allocation and device attributes as error messages print them."""

from typing import Final

from mockkube.api.validation.internal_form import Shape, optional

_TOLERATION: Final[Shape] = (
    ("Key", "key", ""),
    ("Operator", "operator", ""),
    ("Value", "value", ""),
    ("Effect", "effect", ""),
    ("TolerationSeconds", "tolerationSeconds", None),
)
_CAPACITY: Final[Shape] = (("Requests", "requests", None),)
_SELECTOR: Final[Shape] = (("CEL", "cel", optional((("Expression", "expression", ""),))),)
_REQUEST_START: Final[Shape] = (
    ("DeviceClassName", "deviceClassName", ""),
    ("Selectors", "selectors", optional(_SELECTOR)),
    ("AllocationMode", "allocationMode", ""),
    ("Count", "count", 0),
)
_REQUEST_END: Final[Shape] = (
    ("Tolerations", "tolerations", optional(_TOLERATION)),
    ("Capacity", "capacity", optional(_CAPACITY)),
)
_REQUEST: Final[Shape] = (
    ("Name", "name", ""),
    ("Exactly", "exactly", optional((*_REQUEST_START, ("AdminAccess", "adminAccess", None), *_REQUEST_END))),
    ("FirstAvailable", "firstAvailable", optional((("Name", "name", ""), *_REQUEST_START, *_REQUEST_END))),
)
_CONSTRAINT: Final[Shape] = (
    ("Requests", "requests", None),
    ("MatchAttribute", "matchAttribute", None),
    ("DistinctAttribute", "distinctAttribute", None),
)
_OPAQUE: Final[Shape] = (("Driver", "driver", ""), ("Parameters", "parameters", None))
_CONFIG: Final[Shape] = (("Requests", "requests", None), ("Opaque", "opaque", optional(_OPAQUE)))
CLAIM_SPEC: Final[Shape] = (
    (
        "Devices",
        "devices",
        (
            ("Requests", "requests", optional(_REQUEST)),
            ("Constraints", "constraints", optional(_CONSTRAINT)),
            ("Config", "config", optional(_CONFIG)),
        ),
    ),
)
_RESULT: Final[Shape] = (
    ("Request", "request", ""),
    ("Driver", "driver", ""),
    ("Pool", "pool", ""),
    ("Device", "device", ""),
    ("AdminAccess", "adminAccess", None),
    ("Tolerations", "tolerations", optional(_TOLERATION)),
    ("BindingConditions", "bindingConditions", None),
    ("BindingFailureConditions", "bindingFailureConditions", None),
    ("ShareID", "shareID", None),
    ("ConsumedCapacity", "consumedCapacity", None),
)
_REQUIREMENT: Final[Shape] = (("Key", "key", ""), ("Operator", "operator", ""), ("Values", "values", None))
_TERM: Final[Shape] = (
    ("MatchExpressions", "matchExpressions", optional(_REQUIREMENT)),
    ("MatchFields", "matchFields", optional(_REQUIREMENT)),
)
ALLOCATION: Final[Shape] = (
    (
        "Devices",
        "devices",
        (
            ("Results", "results", optional(_RESULT)),
            ("Config", "config", optional((("Source", "source", ""), *_CONFIG))),
        ),
    ),
    ("NodeSelector", "nodeSelector", optional((("NodeSelectorTerms", "nodeSelectorTerms", optional(_TERM)),))),
    ("AllocationTimestamp", "allocationTimestamp", None),
)
ATTRIBUTE: Final[Shape] = (
    ("IntValue", "int", None),
    ("BoolValue", "bool", None),
    ("StringValue", "string", None),
    ("VersionValue", "version", None),
    ("IntValues", "ints", None),
    ("BoolValues", "bools", None),
    ("StringValues", "strings", None),
    ("VersionValues", "versions", None),
)
TERMS: Final[Shape] = _TERM
