"""ServiceAccount: strategy."""

from typing import Final

from mockkube.api.catalogue import Subresource
from mockkube.api.fields import FieldError
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.printers.default_printers import NAME_AND_AGE_PRINTER
from mockkube.api.strategy import Strategy, StrategyContext

ENFORCE_MOUNTABLE_SECRETS: Final = "kubernetes.io/enforce-mountable-secrets"


class ServiceAccountStrategy(Strategy):
    """Strategy of ServiceAccount."""

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Keep only the names of the referenced secrets."""
        # Upstream keeps an ObjectReference here, of which only the name has a meaning.
        if obj.get("secrets"):
            obj["secrets"] = [{"name": ref["name"]} if ref.get("name") else {} for ref in obj["secrets"]]

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Keep only the names of the referenced secrets."""
        self.prepare_for_create(new, context)

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Accept every change; only metadata is validated."""
        return []

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about the deprecated annotation."""
        if not _enforces_mountable_secrets(obj):
            return []
        at = f"metadata.annotations[{ENFORCE_MOUNTABLE_SECRETS}]"
        return [f"{at}: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"]

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about the deprecated annotation if the update adds it."""
        return [] if _enforces_mountable_secrets(old) else self.warnings_on_create(new, context)


def _enforces_mountable_secrets(obj: ReadOnlyObject) -> bool:
    return ENFORCE_MOUNTABLE_SECRETS in (obj["metadata"].get("annotations") or {})


KIND: Final = Kind(
    "",
    "ServiceAccount",
    "serviceaccounts",
    short_names=("sa",),
    subresources=(Subresource("token", "TokenRequest", ("create",), "authentication.k8s.io/v1"),),
    strategy=lambda _: ServiceAccountStrategy(),
    printer=NAME_AND_AGE_PRINTER,
)
