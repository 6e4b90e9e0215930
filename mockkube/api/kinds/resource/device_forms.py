"""ResourceClaim, allocation and device attributes as error messages print them."""

from typing import Final

from mockkube.api.validation.internal_form import InternalShape, make_optional

_TOLERATION: Final[InternalShape] = (
    ("Key", "key", ""),
    ("Operator", "operator", ""),
    ("Value", "value", ""),
    ("Effect", "effect", ""),
    ("TolerationSeconds", "tolerationSeconds", None),
)
_CAPACITY: Final[InternalShape] = (("Requests", "requests", None),)
_SELECTOR: Final[InternalShape] = (("CEL", "cel", make_optional((("Expression", "expression", ""),))),)
_REQUEST_START: Final[InternalShape] = (
    ("DeviceClassName", "deviceClassName", ""),
    ("Selectors", "selectors", make_optional(_SELECTOR)),
    ("AllocationMode", "allocationMode", ""),
    ("Count", "count", 0),
)
_REQUEST_END: Final[InternalShape] = (
    ("Tolerations", "tolerations", make_optional(_TOLERATION)),
    ("Capacity", "capacity", make_optional(_CAPACITY)),
)
_REQUEST: Final[InternalShape] = (
    ("Name", "name", ""),
    ("Exactly", "exactly", make_optional((*_REQUEST_START, ("AdminAccess", "adminAccess", None), *_REQUEST_END))),
    ("FirstAvailable", "firstAvailable", make_optional((("Name", "name", ""), *_REQUEST_START, *_REQUEST_END))),
)
_CONSTRAINT: Final[InternalShape] = (
    ("Requests", "requests", None),
    ("MatchAttribute", "matchAttribute", None),
    ("DistinctAttribute", "distinctAttribute", None),
)
_OPAQUE: Final[InternalShape] = (("Driver", "driver", ""), ("Parameters", "parameters", None))
_CONFIG: Final[InternalShape] = (("Requests", "requests", None), ("Opaque", "opaque", make_optional(_OPAQUE)))
CLAIM_SPEC: Final[InternalShape] = (
    (
        "Devices",
        "devices",
        (
            ("Requests", "requests", make_optional(_REQUEST)),
            ("Constraints", "constraints", make_optional(_CONSTRAINT)),
            ("Config", "config", make_optional(_CONFIG)),
        ),
    ),
)
_RESULT: Final[InternalShape] = (
    ("Request", "request", ""),
    ("Driver", "driver", ""),
    ("Pool", "pool", ""),
    ("Device", "device", ""),
    ("AdminAccess", "adminAccess", None),
    ("Tolerations", "tolerations", make_optional(_TOLERATION)),
    ("BindingConditions", "bindingConditions", None),
    ("BindingFailureConditions", "bindingFailureConditions", None),
    ("ShareID", "shareID", None),
    ("ConsumedCapacity", "consumedCapacity", None),
)
_REQUIREMENT: Final[InternalShape] = (("Key", "key", ""), ("Operator", "operator", ""), ("Values", "values", None))
_TERM: Final[InternalShape] = (
    ("MatchExpressions", "matchExpressions", make_optional(_REQUIREMENT)),
    ("MatchFields", "matchFields", make_optional(_REQUIREMENT)),
)
ALLOCATION: Final[InternalShape] = (
    (
        "Devices",
        "devices",
        (
            ("Results", "results", make_optional(_RESULT)),
            ("Config", "config", make_optional((("Source", "source", ""), *_CONFIG))),
        ),
    ),
    (
        "NodeSelector",
        "nodeSelector",
        make_optional((("NodeSelectorTerms", "nodeSelectorTerms", make_optional(_TERM)),)),
    ),
    ("AllocationTimestamp", "allocationTimestamp", None),
)
ATTRIBUTE: Final[InternalShape] = (
    ("IntValue", "int", None),
    ("BoolValue", "bool", None),
    ("StringValue", "string", None),
    ("VersionValue", "version", None),
    ("IntValues", "ints", None),
    ("BoolValues", "bools", None),
    ("StringValues", "strings", None),
    ("VersionValues", "versions", None),
)
TERMS: Final[InternalShape] = _TERM
