"""Role and ClusterRole: strategies and validation."""

from typing import Final

from mockkube.api import names
from mockkube.api.fields import FieldError, invalid, required
from mockkube.api.json_objects import ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.selectors.errors import BadSelector
from mockkube.api.selectors.labels import from_label_selector
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.validation.labels import validate_label_selector


class RoleStrategy(Strategy):
    """Strategy of Role; a PUT may create it."""

    allow_create_on_update = True
    namespaced = True

    def validate_name(self, name: str, *, prefix: bool = False) -> list[str]:
        """Require a path segment: names such as `system:node` have colons."""
        return names.check_path_segment(name, prefix=prefix)

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate each rule."""
        errors: list[FieldError] = []
        for index, rule in enumerate(obj.get("rules") or []):
            errors += _validate_rule(rule, f"rules[{index}]", namespaced=self.namespaced)
        return errors

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate as on creation."""
        return self.validate(new, context)


class ClusterRoleStrategy(RoleStrategy):
    """Strategy of ClusterRole, which may aggregate others."""

    namespaced = False

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate rules and aggregation selectors."""
        return super().validate(obj, context) + _validate_aggregation(obj, lenient=False)

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate as on creation; tolerate label values of stored selectors."""
        lenient = bool(_validate_aggregation(old, lenient=False))
        # The class is named because `super().validate_update` would come back to the strict validation of this class.
        return RoleStrategy.validate(self, new, context) + _validate_aggregation(new, lenient=lenient)


def _validate_rule(rule: ReadOnlyObject, at: str, *, namespaced: bool) -> list[FieldError]:
    errors = [] if rule.get("verbs") else [required(f"{at}.verbs", "verbs must contain at least one value")]
    urls = rule.get("nonResourceURLs")
    if urls:
        details = ["namespaced rules cannot apply to non-resource URLs"] if namespaced else []
        if any(rule.get(name) for name in ("apiGroups", "resources", "resourceNames")):
            details.append("rules cannot apply to both regular resources and non-resource URLs")
        return errors + [invalid(f"{at}.nonResourceURLs", urls, detail) for detail in details]
    if not rule.get("apiGroups"):
        errors.append(required(f"{at}.apiGroups", "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        errors.append(required(f"{at}.resources", "resource rules must supply at least one resource"))
    return errors


def _validate_aggregation(obj: ReadOnlyObject, *, lenient: bool) -> list[FieldError]:
    if obj.get("aggregationRule") is None:
        return []
    at = "aggregationRule.clusterRoleSelectors"
    selectors = obj["aggregationRule"].get("clusterRoleSelectors") or []
    detail = "at least one clusterRoleSelector required if aggregationRule is non-nil"
    errors = [] if selectors else [required(at, detail)]
    for index, selector in enumerate(selectors):
        errors += validate_label_selector(selector, f"{at}[{index}]", allow_invalid_values=lenient)
        try:
            from_label_selector(selector)
        except BadSelector:
            errors.append(invalid(f"{at}[{index}]", None, "invalid label selector."))
    return errors


CLUSTER_ROLE_KIND: Final = Kind(
    "rbac.authorization.k8s.io",
    "ClusterRole",
    "clusterroles",
    namespaced=False,
    strategy=lambda _: ClusterRoleStrategy(),
)
ROLE_KIND: Final = Kind("rbac.authorization.k8s.io", "Role", "roles", strategy=lambda _: RoleStrategy())
