"""Defaults of API priority and fairness."""

from mockkube.api.types import Object
from mockkube.features.capabilities import Capabilities

# upstream 1.36: pkg/apis/flowcontrol/v1/defaults.go


def default_flow_schema(schema: Object, caps: Capabilities) -> None:
    """Default the matching precedence to 1000."""
    spec = schema.setdefault("spec", {})
    if not spec.get("matchingPrecedence"):
        spec["matchingPrecedence"] = 1000


def default_priority_level(level: Object, caps: Capabilities) -> None:
    """Fill in shares and queues."""
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
    for name, count in (("handSize", 8), ("queues", 64), ("queueLengthLimit", 50)):
        if not queuing.get(name):
            queuing[name] = count
