"""Validate DNS policy and DNS configuration of a pod."""

# upstream 1.36: pkg/apis/core/validation/validation.go, validatePodDNSConfig

from collections.abc import Sequence
from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, invalid, not_supported, required
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.validation.addresses import validate_ip_for_legacy_field

_DNS_POLICIES: Final = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_NAMESERVERS_MAX: Final = 3
_SEARCH_PATHS_MAX: Final = 32
_SEARCH_LIST_LENGTH_MAX: Final = 2048


def validate_dns_policy(policy: str, at: str) -> list[FieldError]:
    """Validate dnsPolicy."""
    if policy in _DNS_POLICIES:
        return []
    return [not_supported(at, policy, _DNS_POLICIES) if policy else required(at)]


def validate_dns_config(spec: ReadOnlyObject, at: str, *, relaxed: bool, strict_addresses: bool) -> list[FieldError]:
    """Validate dnsConfig; `relaxed` allows underscores and a lone dot in search paths."""
    config = spec.get("dnsConfig")
    servers = (config or {}).get("nameservers", ())
    if spec.get("dnsPolicy") == "None":
        if config is None:
            return [required(at, "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not servers:
            text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            return [required(f"{at}.nameservers", text)]
    if config is None:
        return []
    errors: list[FieldError] = []
    if len(servers) > _NAMESERVERS_MAX:
        text = f"must not have more than {_NAMESERVERS_MAX} nameservers"
        errors.append(invalid(f"{at}.nameservers", servers, text))
    for i, server in enumerate(servers):
        errors += validate_ip_for_legacy_field(server, f"{at}.nameservers[{i}]", strict=strict_addresses)
    errors += _validate_searches(config.get("searches", ()), f"{at}.searches", relaxed)
    options = enumerate(config.get("options", ()))
    return errors + [required(f"{at}.options[{i}]", "must not be empty") for i, item in options if not item.get("name")]


def _validate_searches(searches: Sequence[str], at: str, relaxed: bool) -> list[FieldError]:
    errors = []
    if len(searches) > _SEARCH_PATHS_MAX:
        errors.append(invalid(at, searches, f"must not have more than {_SEARCH_PATHS_MAX} search paths"))
    if names.byte_length(" ".join(searches)) > _SEARCH_LIST_LENGTH_MAX:
        text = f"must not have more than {_SEARCH_LIST_LENGTH_MAX} characters (including spaces) in the search list"
        errors.append(invalid(at, searches, text))
    check = names.check_dns_subdomain_with_underscores if relaxed else names.check_dns_subdomain
    for i, search in enumerate(searches):
        if not (relaxed and search == "."):
            # One trailing dot marks a fully qualified domain.
            plain = search.removesuffix(".")
            errors += [invalid(f"{at}[{i}]", plain, text) for text in check(plain)]
    return errors
