"""CSIDriver: strategy, defaults, validation and printer columns."""

from datetime import datetime
from typing import Final

from mockkube.api.fields import FieldError, duplicate, invalid, not_supported, required
from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kind import Kind
from mockkube.api.printers.accessors import elements, name_of, sections, string, truth
from mockkube.api.printers.ages import format_age
from mockkube.api.printers.table import AGE_COLUMN, NAME_COLUMN, NONE, UNSET, Cell, Printer, boolean_column, text_column
from mockkube.api.strategy import Strategy, StrategyContext
from mockkube.api.validation.formats import validate_immutable_field
from mockkube.features.capabilities import Capabilities
from mockkube.features.versions import Version

# First version with the field preventPodSchedulingIfMissing; the gate VolumeLimitScaling is older.
_PREVENT_SCHEDULING_SINCE: Final = Version(1, 36)


def default_csi_driver(driver: Object, caps: Capabilities) -> None:
    """Default to attachment, persistent volumes, and no pod information on mount."""
    spec = driver.setdefault("spec", {})
    spec.setdefault("attachRequired", True)
    spec.setdefault("podInfoOnMount", False)
    spec.setdefault("storageCapacity", False)
    spec.setdefault("fsGroupPolicy", "ReadWriteOnceWithFSType")
    spec.setdefault("requiresRepublish", False)
    spec.setdefault("volumeLifecycleModes", ["Persistent"])
    if caps.enabled("SELinuxMountReadWriteOncePod"):
        spec.setdefault("seLinuxMount", False)
    if caps.version >= _PREVENT_SCHEDULING_SINCE and caps.enabled("VolumeLimitScaling"):
        spec.setdefault("preventPodSchedulingIfMissing", False)


_FIELD_GATES: Final = {
    "seLinuxMount": "SELinuxMountReadWriteOncePod",
    "nodeAllocatableUpdatePeriodSeconds": "MutableCSINodeAllocatableCount",
    "serviceAccountTokenInSecrets": "CSIServiceAccountTokenSecrets",
    "preventPodSchedulingIfMissing": "VolumeLimitScaling",
}
_FS_GROUP_POLICIES: Final = ("File", "None", "ReadWriteOnceWithFSType")
_LIFECYCLE_MODES: Final = ("Persistent", "Ephemeral")
_TOKENS_WARNING: Final = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible "
    "logging of tokens in volume attributes"
)


class CSIDriverStrategy(Strategy):
    """Strategy of CSIDriver; attachRequired and volumeLifecycleModes are immutable."""

    allow_unconditional_update = False

    def prepare_for_create(self, obj: Object, context: StrategyContext) -> None:
        """Drop fields of disabled gates."""
        for name, gate in _FIELD_GATES.items():
            if not context.caps.enabled(gate):
                obj["spec"].pop(name, None)

    def prepare_for_update(self, new: Object, old: ReadOnlyObject, context: StrategyContext) -> None:
        """Drop fields of disabled gates that are not in use; raise the generation for changes."""
        for name, gate in _FIELD_GATES.items():
            if name not in old["spec"] and not context.caps.enabled(gate):
                new["spec"].pop(name, None)
        # Upstream raises the generation on update but does not set it on creation.
        if new["spec"] != old["spec"]:
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def validate(self, obj: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate every field."""
        spec = obj["spec"]
        # `attachedRequired` is upstream's path, here and in the update.
        errors = [] if spec.get("attachRequired") is not None else [required("spec.attachedRequired")]
        errors += [required(f"spec.{name}") for name in ("podInfoOnMount", "storageCapacity") if spec.get(name) is None]
        policy = spec.get("fsGroupPolicy")
        if policy is not None and policy not in _FS_GROUP_POLICIES:
            errors.append(not_supported("spec.fsGroupPolicy", policy, _FS_GROUP_POLICIES))
        errors += _validate_token_requests(spec.get("tokenRequests") or [])
        unknown = [mode for mode in spec.get("volumeLifecycleModes") or [] if mode not in _LIFECYCLE_MODES]
        errors += [not_supported("spec.volumeLifecycleModes", mode, _LIFECYCLE_MODES) for mode in unknown]
        if spec.get("seLinuxMount") is None and context.caps.enabled("SELinuxMountReadWriteOncePod"):
            errors.append(required("spec.seLinuxMount"))
        return errors + _validate_gated_fields(spec, context)

    def validate_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
        """Validate as on creation, and reject changes of immutable fields."""
        errors = self.validate(new, context)
        attach = new["spec"].get("attachRequired")
        if attach != old["spec"].get("attachRequired"):
            errors.append(invalid("spec.attachedRequired", attach, "field is immutable"))
        return errors + validate_immutable_field(new["spec"], old["spec"], "volumeLifecycleModes", "spec")

    def warnings_on_create(self, obj: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn about tokens that drivers may log."""
        spec = obj["spec"]
        may_log_tokens = spec.get("tokenRequests") and spec.get("serviceAccountTokenInSecrets") is None
        return [_TOKENS_WARNING] if may_log_tokens and context.caps.enabled("CSIServiceAccountTokenSecrets") else []

    def warnings_on_update(self, new: ReadOnlyObject, old: ReadOnlyObject, context: StrategyContext) -> list[str]:
        """Warn when the token requests change."""
        changed = new["spec"].get("tokenRequests") != old["spec"].get("tokenRequests")
        return self.warnings_on_create(new, context) if changed else []


def _validate_token_requests(requests: list[ReadOnlyObject]) -> list[FieldError]:
    errors = []
    seen: set[str] = set()
    for index, request in enumerate(requests):
        at, audience = f"spec.tokenRequests[{index}]", request.get("audience", "")
        if audience in seen:
            errors.append(duplicate(f"{at}.audience", audience))
            continue
        seen.add(audience)
        seconds = request.get("expirationSeconds")
        if seconds is not None and seconds < 600:
            errors.append(
                invalid(f"{at}.expirationSeconds", seconds, "may not specify a duration less than 10 minutes")
            )
        if seconds is not None and seconds > 2**32:
            detail = "may not specify a duration larger than 2^32 seconds"
            errors.append(invalid(f"{at}.expirationSeconds", seconds, detail))
    return errors


def _validate_gated_fields(spec: ReadOnlyObject, context: StrategyContext) -> list[FieldError]:
    errors = []
    period, in_secrets = spec.get("nodeAllocatableUpdatePeriodSeconds"), spec.get("serviceAccountTokenInSecrets")
    if period is not None and period < 10:
        detail = "must be greater than or equal to 10 seconds"
        errors.append(invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, detail))
    if in_secrets is not None and not spec.get("tokenRequests"):
        detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
        errors.append(invalid("spec.serviceAccountTokenInSecrets", in_secrets, detail))
    if spec.get("preventPodSchedulingIfMissing") is None and context.caps.enabled("VolumeLimitScaling"):
        errors.append(required("spec.preventPodSchedulingIfMissing"))
    return errors


def csi_driver_cells(obj: ReadOnlyObject, now: datetime) -> list[Cell]:
    """Return the table cells of a CSIDriver."""
    audiences = [string(request, "audience") for request in sections(obj, "spec", "tokenRequests")]
    return [
        name_of(obj),
        truth(obj, "spec", "attachRequired", missing=True),
        truth(obj, "spec", "podInfoOnMount"),
        truth(obj, "spec", "storageCapacity"),
        ",".join(audiences) if audiences else UNSET,
        truth(obj, "spec", "requiresRepublish"),
        ",".join(str(mode) for mode in elements(obj, "spec", "volumeLifecycleModes")) or NONE,
        format_age(obj, now),
    ]


CSI_DRIVER = Printer(
    (
        NAME_COLUMN,
        boolean_column("AttachRequired", "Whether volumes need to be attached before they are mounted."),
        boolean_column("PodInfoOnMount", "Whether the driver gets information about the pod on mount."),
        boolean_column("StorageCapacity", "Whether the scheduler considers the capacity that the driver reports."),
        text_column("TokenRequests", "Audiences of the tokens that the driver gets."),
        boolean_column("RequiresRepublish", "Whether volumes are published periodically after the mount."),
        text_column("Modes", "Volume lifecycle modes that the driver supports."),
        AGE_COLUMN,
    ),
    csi_driver_cells,
)

KIND: Final = Kind(
    "storage.k8s.io",
    "CSIDriver",
    "csidrivers",
    namespaced=False,
    strategy=lambda _: CSIDriverStrategy(),
    defaults={"v1": default_csi_driver},
    printer=CSI_DRIVER,
)
