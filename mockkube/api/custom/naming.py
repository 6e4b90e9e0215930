"""Accept the names of a CRD, unless another CRD of its group has them."""

# upstream 1.36: apiextensions-apiserver/pkg/controller/status/naming_controller.go, ../establish

from collections.abc import Iterable
from typing import Final

from mockkube.api.conditions import make_condition
from mockkube.api.custom.crd_conditions import ESTABLISHED, NAMES_ACCEPTED, is_condition_true, with_condition
from mockkube.api.errors import aggregate_messages
from mockkube.api.fields import quote
from mockkube.api.json_objects import Object, ReadOnlyObject

_NAME_FIELDS: Final = (
    ("plural", "PluralConflict", "resources"),
    ("singular", "SingularConflict", "resources"),
    ("shortNames", "ShortNamesConflict", "resources"),
    ("kind", "KindConflict", "kinds"),
    ("listKind", "ListKindConflict", "kinds"),
)


def accept_names(definition: ReadOnlyObject, others: Iterable[ReadOnlyObject], now: str) -> Object:
    """Return the CRD with the names it is granted and its conditions; `others` are the CRDs of its group."""
    wanted, status = definition["spec"]["names"], definition.get("status") or {}
    accepted = status.get("acceptedNames") or {}
    # Nothing to do; returned as a copy, which the caller compares with the original.
    if wanted == accepted and is_condition_true(definition, ESTABLISHED):
        return dict(definition)
    taken = _names_in_use([*others, definition])
    granted, problem = dict(accepted), None
    for name, reason, pool in _NAME_FIELDS:
        messages = _find_conflicts(wanted.get(name), accepted.get(name), taken[pool])
        if messages:
            problem = (reason, aggregate_messages(messages))
        else:
            granted[name] = wanted.get(name)
    # Categories may be shared by any number of kinds.
    granted["categories"] = wanted.get("categories")
    names = {name: value for name, value in granted.items() if value}
    settled_one = {**definition, "status": {**status, "acceptedNames": {"plural": "", "kind": "", **names}}}
    return _with_conditions(settled_one, problem, now)


def _with_conditions(definition: Object, problem: tuple[str, str] | None, now: str) -> Object:
    if problem is not None:
        reason, message = problem
        verdict = make_condition(NAMES_ACCEPTED, holds=False, reason=reason, message=message)
        established = make_condition(
            ESTABLISHED, holds=False, reason="NotAccepted", message="not all names are accepted"
        )
    else:
        verdict = make_condition(NAMES_ACCEPTED, holds=True, reason="NoConflicts", message="no conflicts found")
        message = "the initial names have been accepted"
        established = make_condition(ESTABLISHED, holds=True, reason="InitialNamesAccepted", message=message)
    definition = with_condition(definition, verdict, now)
    return definition if is_condition_true(definition, ESTABLISHED) else with_condition(definition, established, now)


def _names_in_use(definitions: Iterable[ReadOnlyObject]) -> dict[str, set[str]]:
    """Return the names that are in use in a group."""
    resources: set[str] = set()
    kinds: set[str] = set()
    for one in definitions:
        names = (one.get("status") or {}).get("acceptedNames") or {}
        resources |= {names.get("plural", ""), names.get("singular", ""), *(names.get("shortNames") or ())}
        kinds |= {names.get("kind", ""), names.get("listKind", "")}
    return {"resources": resources, "kinds": kinds}


def _find_conflicts(wanted: str | list[str] | None, accepted: str | list[str] | None, taken: set[str]) -> list[str]:
    if wanted == accepted:
        return []
    names = wanted if isinstance(wanted, list) else [wanted or ""]
    own = accepted if isinstance(accepted, list) else [accepted]
    return [f"{quote(name)} is already in use" for name in names if name and name in taken and name not in own]
