"""NetworkPolicy: strategy, defaults, validation and printer columns."""

from collections.abc import Collection, Iterator
from datetime import datetime
from typing import Final

from mockkube.api.fields import FieldError, forbidden, invalid, not_supported, required
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.printers.accessors import name_of, section
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.labels import format_selector
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, Cell, Printer, text_column
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.validation.addresses import STRICT_GATE, get_cidr_warnings, parse_cidr, validate_cidr_for_legacy_field
from mockkube.api.validation.labels import is_invalid_selector, validate_label_selector
from mockkube.api.validation.numbers import validate_port, validate_port_or_name
from mockkube.features.capabilities import Capabilities
from mockkube.lazy_dataclasses import dataclass


def default_network_policy(policy: Object, caps: Capabilities) -> None:
    """Default to policy type Ingress, and Egress if there are egress rules; ports to TCP."""
    # upstream 1.36: pkg/apis/networking/v1/defaults.go
    spec = policy.setdefault("spec", {})
    if not spec.get("policyTypes"):
        # Policies written before egress rules existed must keep applying to ingress only.
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    for direction in ("ingress", "egress"):
        for rule in spec.get(direction) or ():
            for port in rule.get("ports") or ():
                port.setdefault("protocol", "TCP")


_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
_POLICY_TYPES: Final = ("Ingress", "Egress")
_RULE_PEERS: Final = (("ingress", "from"), ("egress", "to"))


@dataclass(frozen=True, slots=True)
class _NetworkPolicyValidationOptions:
    """Validation options: tolerated stored values, and whether CIDRs must be unambiguous."""

    allow_invalid_label_values: bool = False
    stored_cidrs: Collection[str] = ()
    strict_cidrs: bool = False


class NetworkPolicyStrategy(Strategy):
    """Strategy of NetworkPolicy."""

    tracks_generation = True

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate every rule."""
        return _validate_spec(
            obj["spec"], _NetworkPolicyValidationOptions(strict_cidrs=context.caps.enabled(STRICT_GATE))
        )

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate every rule; tolerate what the stored policy already violates."""
        stored = [
            cidr for _, block in _ip_blocks(old["spec"]) for cidr in (block.get("cidr", ""), *_excepted_cidrs(block))
        ]
        invalid_before = is_invalid_selector(old["spec"].get("podSelector"))
        return _validate_spec(
            new["spec"], _NetworkPolicyValidationOptions(invalid_before, stored, context.caps.enabled(STRICT_GATE))
        )

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about ambiguous CIDRs."""
        warnings = []
        for at, block in _ip_blocks(obj["spec"]):
            warnings += get_cidr_warnings(block.get("cidr", ""), f"{at}.cidr")
            for index, cidr in enumerate(_excepted_cidrs(block)):
                warnings += get_cidr_warnings(cidr, f"{at}.except[{index}]")
        return warnings

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn as on creation."""
        return self.warnings_on_create(new, context)


def _ip_blocks(spec: ReadOnlyObject) -> Iterator[tuple[str, ReadOnlyObject]]:
    """Yield the field path and content of each IP block."""
    for direction, peers in _RULE_PEERS:
        for i, rule in enumerate(spec.get(direction) or []):
            for j, peer in enumerate(rule.get(peers) or []):
                if peer.get("ipBlock") is not None:
                    yield f"spec.{direction}[{i}].{peers}[{j}].ipBlock", peer["ipBlock"]


def _excepted_cidrs(block: ReadOnlyObject) -> list[str]:
    return block.get("except") or []


def _validate_spec(spec: ReadOnlyObject, options: _NetworkPolicyValidationOptions) -> list[FieldError]:
    at = "spec.podSelector"
    errors = validate_label_selector(
        spec.get("podSelector"), at, allow_invalid_values=options.allow_invalid_label_values
    )
    for direction, peers in _RULE_PEERS:
        for i, rule in enumerate(spec.get(direction) or []):
            at = f"spec.{direction}[{i}]"
            for j, each in enumerate(rule.get("ports") or []):
                errors += _validate_port(each, f"{at}.ports[{j}]")
            for j, peer in enumerate(rule.get(peers) or []):
                errors += _validate_peer(peer, f"{at}.{peers}[{j}]", options)
    types = spec.get("policyTypes") or []
    if len(types) > len(_POLICY_TYPES):
        return [*errors, invalid("spec.policyTypes", types, "may not specify more than two policyTypes")]
    unknown = ((index, each) for index, each in enumerate(types) if each not in _POLICY_TYPES)
    return errors + [not_supported(f"spec.policyTypes[{index}]", each, _POLICY_TYPES) for index, each in unknown]


def _validate_port(each: ReadOnlyObject, at: str) -> list[FieldError]:
    protocol, number, end = each.get("protocol"), each.get("port"), each.get("endPort")
    errors = []
    if protocol is not None and protocol not in _PROTOCOLS:
        errors.append(not_supported(f"{at}.protocol", protocol, _PROTOCOLS))
    if number is None:
        if end is not None:
            errors.append(invalid(f"{at}.endPort", end, "may not be specified when `port` is not specified"))
        return errors
    if isinstance(number, str):
        if end is not None:
            errors.append(invalid(f"{at}.endPort", end, "may not be specified when `port` is non-numeric"))
        return errors + validate_port_or_name(number, f"{at}.port")
    errors += validate_port(number, f"{at}.port")
    if end is not None:
        if end < number:
            # Upstream prints the port, not the end port, as the bad value.
            errors.append(invalid(f"{at}.endPort", number, "must be greater than or equal to `port`"))
        errors += validate_port(end, f"{at}.endPort")
    return errors


def _validate_peer(peer: ReadOnlyObject, at: str, options: _NetworkPolicyValidationOptions) -> list[FieldError]:
    given = [name for name in ("podSelector", "namespaceSelector", "ipBlock") if peer.get(name) is not None]
    errors: list[FieldError] = []
    for name in given:
        if name == "ipBlock":
            errors += _validate_ip_block(peer["ipBlock"], f"{at}.ipBlock", options)
        else:
            errors += validate_label_selector(
                peer[name], f"{at}.{name}", allow_invalid_values=options.allow_invalid_label_values
            )
    if not given:
        errors.append(required(at, "must specify a peer"))
    elif len(given) > 1 and "ipBlock" in given:
        errors.append(forbidden(at, "may not specify both ipBlock and another peer"))
    return errors


def _validate_ip_block(block: ReadOnlyObject, at: str, options: _NetworkPolicyValidationOptions) -> list[FieldError]:
    cidr = block.get("cidr", "")
    if not cidr:
        return [required(f"{at}.cidr")]
    errors = validate_cidr_for_legacy_field(
        cidr, f"{at}.cidr", strict=options.strict_cidrs, stored=options.stored_cidrs
    )
    cidr_network = parse_cidr(cidr)
    if cidr_network is None:
        return errors
    for index, text in enumerate(_excepted_cidrs(block)):
        here = f"{at}.except[{index}]"
        errors += validate_cidr_for_legacy_field(text, here, strict=options.strict_cidrs, stored=options.stored_cidrs)
        except_network = parse_cidr(text)
        if except_network is None:
            continue
        inside = except_network.version == cidr_network.version and except_network.network_address in cidr_network
        # An exception as large as the block would leave nothing of it.
        if not inside or cidr_network.prefixlen >= except_network.prefixlen:
            errors.append(invalid(here, text, "must be a strict subset of `cidr`"))
    return errors


def network_policy_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a NetworkPolicy."""
    return [name_of(obj), format_selector(section(obj, "spec", "podSelector")), format_age(obj, now)]


NETWORK_POLICY = Printer(
    (NAME_COLUMN, text_column("Pod-Selector", "Selector of the pods that the policy applies to."), AGE_COLUMN),
    network_policy_cells,
)

KIND: Final = Kind(
    "networking.k8s.io",
    "NetworkPolicy",
    "networkpolicies",
    short_names=("netpol",),
    strategy=lambda _: NetworkPolicyStrategy(),
    defaults={"v1": default_network_policy},
    printer=NETWORK_POLICY,
)
