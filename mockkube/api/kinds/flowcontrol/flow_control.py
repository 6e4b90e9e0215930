"""FlowSchema and PriorityLevelConfiguration: strategies, defaults, validation, printer columns.

upstream 1.36: pkg/apis/flowcontrol/validation/validation.go
"""

from datetime import datetime
from math import ceil, log2
from typing import Final

from mockkube.api import names
from mockkube.api.catalogue import STATUS
from mockkube.api.fields import (
    FieldError,
    duplicate,
    find_duplicate_indexes,
    forbidden,
    invalid,
    not_supported,
    required,
)
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.kinds.flowcontrol.flow_control_forms import FLOW_SCHEMA_FORM, PRIORITY_LEVEL_FORM
from mockkube.api.printers.accessors import condition, name_of, number, string, value_at
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, NONE, Cell, Printer, text_column
from mockkube.api.strategy import StatusStrategy, StrategyContext
from mockkube.api.validation.formats import validate_format, validate_subdomain
from mockkube.api.validation.internal_form import to_internal
from mockkube.features.capabilities import Capabilities


# upstream 1.36: pkg/apis/flowcontrol/v1/defaults.go
def default_flow_schema(schema: Object, caps: Capabilities) -> None:
    """Default the matching precedence to 1000."""
    spec = schema.setdefault("spec", {})
    if not spec.get("matchingPrecedence"):
        spec["matchingPrecedence"] = 1000


def default_priority_level(level: Object, caps: Capabilities) -> None:
    """Default concurrency shares and queues."""
    spec = level.setdefault("spec", {})
    if "limited" in spec:
        _default_shares(spec["limited"], 30)
        _default_queues(spec["limited"].get("limitResponse", {}))
    if "exempt" in spec:
        _default_shares(spec["exempt"], 0)


def _default_shares(part: Object, shares: int) -> None:
    if part.get("nominalConcurrencyShares") is None:
        part["nominalConcurrencyShares"] = shares
    part.setdefault("lendablePercent", 0)


def _default_queues(response: Object) -> None:
    queuing = response.get("queuing")
    if queuing is None:
        return
    # These fields are no pointers in Go, so that zero means "not set".
    for name, count in (("handSize", 8), ("queues", 64), ("queueLengthLimit", 50)):
        if not queuing.get(name):
            queuing[name] = count


PRECEDENCE_MAX: Final = 10_000
QUEUES_MAX: Final = 10_000_000
HASH_BITS_MAX: Final = 60
_PRESERVE_ZERO: Final = "flowcontrol.k8s.io/preserve-zero-concurrency-shares"
_DISTINGUISHER_METHODS: Final = ("ByNamespace", "ByUser")
_VERBS: Final = ("create", "delete", "deletecollection", "get", "list", "patch", "proxy", "update", "watch")
_SUBJECT_FIELDS: Final = {"ServiceAccount": "serviceAccount", "User": "user", "Group": "group"}
_ALL_REQUESTS: Final[Object] = {
    "resourceRules": [
        {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
    ],
    "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}],
}


def _bootstrap_schema(level: str, precedence: int, groups: tuple[str, ...], method: Object) -> Object:
    subjects = [{"kind": "Group", "group": {"name": group}} for group in groups]
    rules = [{"subjects": subjects, **_ALL_REQUESTS}]
    return {
        "priorityLevelConfiguration": {"name": level},
        "matchingPrecedence": precedence,
        **method,
        "rules": rules,
    }


# upstream 1.36: apiserver/pkg/apis/flowcontrol/bootstrap/default.go
# The API server relies on these objects and keeps them as they are; users may change nothing of them.
_MANDATORY_SCHEMAS: Final = {
    "exempt": _bootstrap_schema("exempt", 1, ("system:masters",), {}),
    "catch-all": _bootstrap_schema(
        "catch-all",
        PRECEDENCE_MAX,
        ("system:unauthenticated", "system:authenticated"),
        {"distinguisherMethod": {"type": "ByUser"}},
    ),
}
_CATCH_ALL_LEVEL: Final = {
    "type": "Limited",
    "limited": {"nominalConcurrencyShares": 5, "lendablePercent": 0, "limitResponse": {"type": "Reject"}},
}


class FlowControlStrategy(StatusStrategy):
    """Common strategy of both kinds."""

    def prepare_for_status_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep the stored spec and metadata."""
        super().prepare_for_status_update(new, old, context)
        managed = new["metadata"].get("managedFields")
        version = new["metadata"].get("resourceVersion")
        new["metadata"] = dict(old["metadata"])
        for name, value in (("managedFields", managed), ("resourceVersion", version)):
            if value is not None:
                new["metadata"][name] = value

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate as on creation, or the conditions of the status."""
        return _validate_status(new) if context.subresource == "status" else self.validate(new, context)


class FlowSchemaStrategy(FlowControlStrategy):
    """Strategy of FlowSchema."""

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate precedence, priority level and rules; `exempt` and `catch-all` are fixed."""
        spec, name = obj["spec"], obj["metadata"].get("name", "")
        errors = _validate_schema(spec, name)
        if name in _MANDATORY_SCHEMAS and spec != _MANDATORY_SCHEMAS[name]:
            detail = f"spec of '{name}' must equal the fixed value"
            errors.append(invalid("spec", to_internal(spec, FLOW_SCHEMA_FORM), detail))
        return errors + _validate_status(obj)


class PriorityLevelConfigurationStrategy(FlowControlStrategy):
    """Strategy of PriorityLevelConfiguration."""

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate shares and queues; `exempt` and `catch-all` are fixed."""
        spec, name = obj["spec"], obj["metadata"].get("name", "")
        errors = []
        if _PRESERVE_ZERO in (obj["metadata"].get("annotations") or {}):
            errors.append(forbidden("metadata.annotations", f"annotation '{_PRESERVE_ZERO}' is forbidden"))
        errors += _validate_level(spec, name)
        shown = to_internal(spec, PRIORITY_LEVEL_FORM)
        if name == "exempt" and {key: value for key, value in spec.items() if key != "exempt"} != {"type": "Exempt"}:
            detail = f"spec of '{name}' except the 'spec.exempt' field must equal the fixed value"
            errors.append(invalid("spec", shown, detail))
        if name == "catch-all" and spec != _CATCH_ALL_LEVEL:
            errors.append(invalid("spec", shown, f"spec of '{name}' must equal the fixed value"))
        return errors + _validate_status(obj)


def _validate_status(obj: ReadOnlyObject) -> list[FieldError]:
    conditions = (obj.get("status") or {}).get("conditions") or []
    kinds = [each.get("type", "") for each in conditions]
    errors = []
    repeated = find_duplicate_indexes(kinds)
    for index, kind in enumerate(kinds):
        at = f"status.conditions[{index}].type"
        if index in repeated:
            errors.append(duplicate(at, kind))
        if not kind:
            errors.append(required(at))
    return errors


def _validate_schema(spec: ReadOnlyObject, name: str) -> list[FieldError]:
    precedence, at = spec.get("matchingPrecedence", 0), "spec.matchingPrecedence"
    errors = []
    if precedence <= 0:
        errors.append(invalid(at, precedence, "must be a positive value"))
    if precedence > PRECEDENCE_MAX:
        errors.append(invalid(at, precedence, f"must not be greater than {PRECEDENCE_MAX}"))
    # Nothing may be matched before the schema of administrators, or a misconfiguration could lock them out.
    if precedence == 1 and name != "exempt":
        detail = "only the schema named 'exempt' may have matchingPrecedence 1"
        errors.append(invalid(at, precedence, detail))
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in _DISTINGUISHER_METHODS:
        shown = {"Type": method.get("type", "")}
        errors.append(not_supported("spec.distinguisherMethod.type", shown, _DISTINGUISHER_METHODS))
    level, at = (spec.get("priorityLevelConfiguration") or {}).get("name"), "spec.priorityLevelConfiguration.name"
    errors += validate_subdomain(level, at) if level else [required(at, "must reference a priority level")]
    for index, rule in enumerate(spec.get("rules") or []):
        errors += _validate_rules(rule, f"spec.rules[{index}]")
    return errors


def _validate_rules(rule: ReadOnlyObject, at: str) -> list[FieldError]:
    subjects, resources, urls = (rule.get(name) or [] for name in ("subjects", "resourceRules", "nonResourceRules"))
    errors: list[FieldError] = []
    for index, subject in enumerate(subjects):
        errors += _validate_subject(subject, f"{at}.subjects[{index}]")
    if not subjects:
        errors.append(required(f"{at}.subjects", "subjects must contain at least one value"))
    if not resources and not urls:
        detail = "at least one of resourceRules and nonResourceRules has to be non-empty"
        errors.append(required(at, detail))
    for index, each in enumerate(resources):
        errors += _validate_resource_rule(each, f"{at}.resourceRules[{index}]")
    for index, each in enumerate(urls):
        errors += _validate_non_resource_rule(each, f"{at}.nonResourceRules[{index}]")
    return errors


def _validate_subject(subject: ReadOnlyObject, at: str) -> list[FieldError]:
    kind = subject.get("kind", "")
    if kind not in _SUBJECT_FIELDS:
        return [not_supported(f"{at}.kind", kind, sorted(_SUBJECT_FIELDS))]
    name = _SUBJECT_FIELDS[kind]
    errors = _validate_subject_name(subject.get(name), kind, f"{at}.{name}")
    others = (
        (other, field) for other, field in _SUBJECT_FIELDS.items() if other != kind and subject.get(field) is not None
    )
    detail = "{} is forbidden when subject kind is not '{}'"
    return errors + [forbidden(f"{at}.{field}", detail.format(field, other)) for other, field in others]


def _validate_subject_name(subject: ReadOnlyObject | None, kind: str, at: str) -> list[FieldError]:
    if subject is None:
        return [required(at, f"{_SUBJECT_FIELDS[kind]} is required when subject kind is '{kind}'")]
    name, namespace = subject.get("name", ""), subject.get("namespace", "")
    errors = [] if name else [required(f"{at}.name")]
    # Users and groups have free names.
    if kind != "ServiceAccount":
        return errors
    errors += validate_subdomain(name, f"{at}.name") if name not in ("", "*") else []
    if namespace:
        return errors + validate_format(namespace, f"{at}.namespace", names.check_dns_label)
    return [*errors, required(f"{at}.namespace", "must specify namespace for service account")]


def _validate_verbs(rule: ReadOnlyObject, at: str) -> list[FieldError]:
    verbs, at = rule.get("verbs") or [], f"{at}.verbs"
    if not verbs:
        return [required(at, "verbs must contain at least one value")]
    if "*" in verbs:
        return [invalid(at, verbs, "if '*' is present, must not specify other verbs")] if len(verbs) > 1 else []
    return [] if set(verbs) <= set(_VERBS) else [not_supported(at, verbs, _VERBS)]


def _validate_resource_rule(rule: ReadOnlyObject, at: str) -> list[FieldError]:
    errors = _validate_verbs(rule, at)
    for name, one, many in (("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")):
        values = rule.get(name) or []
        if not values:
            errors.append(required(f"{at}.{name}", f"resource rules must supply at least one {one}"))
        elif len(values) > 1 and "*" in values:
            errors.append(invalid(f"{at}.{name}", values, f"if '*' is present, must not specify other {many}"))
    namespaces, at = rule.get("namespaces") or [], f"{at}.namespaces"
    if not namespaces and not rule.get("clusterScope"):
        detail = "resource rules that are not cluster scoped must supply at least one namespace"
        return [*errors, required(at, detail)]
    if "*" in namespaces:
        other = "if '*' is present, must not specify other namespaces"
        return [*errors, invalid(at, namespaces, other)] if len(namespaces) > 1 else errors
    intro = "each member of this list must be '*' or a DNS-1123 label; "
    messages = ((index, each, text) for index, each in enumerate(namespaces) for text in names.check_dns_label(each))
    return errors + [invalid(f"{at}[{index}]", each, intro + text) for index, each, text in messages]


def _validate_non_resource_rule(rule: ReadOnlyObject, at: str) -> list[FieldError]:
    errors, urls, at = _validate_verbs(rule, at), rule.get("nonResourceURLs") or [], f"{at}.nonResourceURLs"
    if not urls:
        return [*errors, required(at, "nonResourceURLs must contain at least one value")]
    if "*" in urls:
        detail = "if '*' is present, must not specify other non-resource URLs"
        return [*errors, invalid(at, urls, detail)] if len(urls) > 1 else errors
    messages = ((index, url, _find_url_error(url)) for index, url in enumerate(urls))
    return errors + [invalid(f"{at}[{index}]", url, text) for index, url, text in messages if text]


def _find_url_error(url: str) -> str | None:
    if not url:
        return "must not be empty"
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    stars = url.count("*")
    wild = stars > 1 or (stars == 1 and not url.endswith("/*"))
    return "wildcard can only do suffix matching" if wild else None


def _validate_level(spec: ReadOnlyObject, name: str) -> list[FieldError]:
    kind, limited, exempt = spec.get("type", ""), spec.get("limited"), spec.get("exempt")
    errors = []
    if (name == "exempt") != (kind == "Exempt"):
        errors.append(invalid("spec.type", kind, "must be 'Exempt' if and only if `name` is 'exempt'"))
    match kind:
        case "Exempt":
            if limited is not None:
                errors.append(forbidden("spec.limited", "must be nil if the type is not Limited"))
            return errors + _validate_shares(exempt or {}, "spec.exempt")
        case "Limited":
            if exempt is not None:
                errors.append(forbidden("spec.exempt", "must be nil if the type is Limited"))
            if limited is None:
                return [*errors, required("spec.limited", "must not be empty when type is Limited")]
            return errors + _validate_limited(limited, "spec.limited")
        case "":
            return [*errors, required("spec.type")]
        case _:
            return [*errors, not_supported("spec.type", kind, ("Exempt", "Limited"))]


def _find_share_errors(level: ReadOnlyObject, at: str) -> tuple[list[FieldError], list[FieldError]]:
    shares, lendable_percent = level.get("nominalConcurrencyShares") or 0, level.get("lendablePercent") or 0
    negative = [invalid(f"{at}.nominalConcurrencyShares", shares, "must be a non-negative integer")]
    outside = [invalid(f"{at}.lendablePercent", lendable_percent, "must be between 0 and 100, inclusive")]
    return negative if shares < 0 else [], [] if 0 <= lendable_percent <= 100 else outside


def _validate_shares(level: ReadOnlyObject, at: str) -> list[FieldError]:
    negative, outside = _find_share_errors(level, at)
    return negative + outside


def _validate_limited(level: ReadOnlyObject, at: str) -> list[FieldError]:
    negative, outside = _find_share_errors(level, at)
    borrowed = level.get("borrowingLimitPercent") or 0
    # Upstream validates the response between the two shares.
    errors = negative + _validate_limit_response(level.get("limitResponse") or {}, f"{at}.limitResponse") + outside
    if borrowed < 0:
        detail = "if specified, must be a non-negative integer"
        errors.append(invalid(f"{at}.borrowingLimitPercent", borrowed, detail))
    return errors


def _validate_limit_response(response: ReadOnlyObject, at: str) -> list[FieldError]:
    kind, queuing = response.get("type", ""), response.get("queuing")
    match kind:
        case "Reject":
            # `Limited` instead of `Queue` is upstream's text, here and below.
            detail = "must be nil if limited.limitResponse.type is not Limited"
            return [] if queuing is None else [forbidden(f"{at}.queuing", detail)]
        case "Queue":
            if queuing is None:
                return [required(f"{at}.queuing", "must not be empty if limited.limitResponse.type is Limited")]
            return _validate_queues(queuing, f"{at}.queuing")
        case "":
            return [required(f"{at}.type")]
        case _:
            return [not_supported(f"{at}.type", kind, ("Queue", "Reject"))]


def _validate_queues(queuing: ReadOnlyObject, at: str) -> list[FieldError]:
    length, queues, hand = (queuing.get(name, 0) for name in ("queueLengthLimit", "queues", "handSize"))
    errors = [] if length > 0 else [invalid(f"{at}.queueLengthLimit", length, "must be positive")]
    if queues <= 0:
        errors.append(invalid(f"{at}.queues", queues, "must be positive"))
    elif queues > QUEUES_MAX:
        errors.append(invalid(f"{at}.queues", queues, f"must not be greater than {QUEUES_MAX}"))
    detail: str | None = None
    if hand <= 0:
        detail = "must be positive"
    elif hand > queues:
        detail = f"should not be greater than queues ({queues})"
    # A flow's hand of queues is dealt from a 64-bit hash, so that it must not need more entropy than that.
    elif ceil(log2(queues) * hand) > HASH_BITS_MAX:
        what = f"required entropy bits of deckSize {queues} and handSize {hand}"
        detail = f"{what} should not be greater than {HASH_BITS_MAX}"
    return [*errors, invalid(f"{at}.handSize", hand, detail)] if detail else errors


_QUEUING_FIELDS = ("queues", "handSize", "queueLengthLimit")


def flow_schema_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a FlowSchema."""
    dangling = condition(obj, "Dangling")
    method = value_at(obj, "spec", "distinguisherMethod")
    return [
        name_of(obj),
        string(obj, "spec", "priorityLevelConfiguration", "name"),
        number(obj, "spec", "matchingPrecedence"),
        NONE if method is None else string(obj, "spec", "distinguisherMethod", "type"),
        format_age(obj, now),
        "?" if dangling is None else string(dangling, "status"),
    ]


def priority_level_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a PriorityLevelConfiguration: numbers, or `<none>`."""
    limited = value_at(obj, "spec", "limited") is not None
    queuing = value_at(obj, "spec", "limited", "limitResponse", "queuing") is not None
    return [
        name_of(obj),
        string(obj, "spec", "type"),
        number(obj, "spec", "limited", "nominalConcurrencyShares") if limited else NONE,
        *[
            number(obj, "spec", "limited", "limitResponse", "queuing", key) if queuing else NONE
            for key in _QUEUING_FIELDS
        ],
        format_age(obj, now),
    ]


FLOW_SCHEMA = Printer(
    (
        NAME_COLUMN,
        text_column("PriorityLevel", "The priority level of matching requests."),
        text_column("MatchingPrecedence", "Precedence of the schema; lower values match first."),
        text_column("DistinguisherMethod", "How requests are divided into flows."),
        AGE_COLUMN,
        text_column("MissingPL", "Whether the priority level is missing."),
    ),
    flow_schema_cells,
)
PRIORITY_LEVEL = Printer(
    (
        NAME_COLUMN,
        text_column("Type", "Whether requests are limited or exempt."),
        text_column("NominalConcurrencyShares", "Share of the server's concurrency limit."),
        text_column("Queues", "Number of queues."),
        text_column("HandSize", "Number of queues that each flow may use."),
        text_column("QueueLengthLimit", "Number of requests that may wait in one queue."),
        AGE_COLUMN,
    ),
    priority_level_cells,
)

FLOW_SCHEMA_KIND: Final = Kind(
    "flowcontrol.apiserver.k8s.io",
    "FlowSchema",
    "flowschemas",
    namespaced=False,
    subresources=(STATUS,),
    strategy=lambda _: FlowSchemaStrategy(),
    defaults={"v1": default_flow_schema},
    printer=FLOW_SCHEMA,
)
PRIORITY_LEVEL_CONFIGURATION_KIND: Final = Kind(
    "flowcontrol.apiserver.k8s.io",
    "PriorityLevelConfiguration",
    "prioritylevelconfigurations",
    namespaced=False,
    subresources=(STATUS,),
    strategy=lambda _: PriorityLevelConfigurationStrategy(),
    defaults={"v1": default_priority_level},
    printer=PRIORITY_LEVEL,
)
