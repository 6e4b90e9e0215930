"""ServiceAccount: assign a service account to every pod, with its token volume and image pull secrets."""

from collections.abc import Iterable, Iterator
from typing import Final

from mockkube_cel.golang.strconv import BOOLEANS

from mockkube.api.json_objects import Object, ReadOnlyObject
from mockkube.api.kinds.core.pod.secret_references import find_disallowed_reference, visit_pod_secret_names
from mockkube.apiserver.admission.errors import new_forbidden
from mockkube.apiserver.registry.admission import AdmissionAttributes, AdmissionPlugin, Operation

DEFAULT_ACCOUNT: Final = "default"
MOUNT_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
ROOT_CA: Final = "kube-root-ca.crt"
MIRROR_ANNOTATION: Final = "kubernetes.io/config.mirror"
_ENFORCE_SECRETS_ANNOTATION: Final = "kubernetes.io/enforce-mountable-secrets"
_VOLUME_PREFIX: Final = "kube-api-access-"
_TOKEN_SECONDS: Final = 3607


class ServiceAccount(AdmissionPlugin):
    """Assigns a service account to new pods, and mounts its token."""

    # upstream 1.36: plugin/pkg/admission/serviceaccount/admission.go
    name = "ServiceAccount"
    resources = (("", "pods"),)

    def admit(self, request: AdmissionAttributes) -> None:
        """Complete a new pod; a mirror pod is only validated."""
        if request.operation is not Operation.CREATE or not request.is_for("", "pods"):
            return
        if MIRROR_ANNOTATION in request.annotations:
            _validate_mirror(request)
            return
        spec = request.new["spec"]
        spec["serviceAccountName"] = spec["serviceAccount"] = spec.get("serviceAccountName") or DEFAULT_ACCOUNT
        account = _find_account(request)
        if _automounts_token(account, spec):
            _mount_token(spec, _VOLUME_PREFIX + request.resource.dependencies.random.new_suffix())
        if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
            spec["imagePullSecrets"] = [{"name": one.get("name", "")} for one in account["imagePullSecrets"]]
        _validate_secrets(request, account, ephemeral=False)

    def validate(self, request: AdmissionAttributes) -> None:
        """Reject a pod without a service account, or with secrets that it may not use."""
        ephemeral = request.is_for("", "pods", "ephemeralcontainers") and request.operation is Operation.UPDATE
        created = request.is_for("", "pods") and request.operation is Operation.CREATE
        if created and MIRROR_ANNOTATION in request.annotations:
            _validate_mirror(request)
        elif created or ephemeral:
            if not request.new["spec"].get("serviceAccountName"):
                title = f"{request.scope.namespace}/{request.new['metadata'].get('name', '')}"
                raise new_forbidden(request, f"no service account specified for pod {title}")
            _validate_secrets(request, _find_account(request), ephemeral=ephemeral)


def _find_account(request: AdmissionAttributes) -> Object:
    namespace, name = request.scope.namespace, request.new["spec"]["serviceAccountName"]
    cached = request.find_resource("", "serviceaccounts").get_cached(namespace, name)
    if cached is None:
        why = f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
        raise new_forbidden(request, why)
    return cached.load()


def _automounts_token(account: ReadOnlyObject, spec: ReadOnlyObject) -> bool:
    """Return whether to mount the token: the pod's setting wins over the service account's."""
    settings = (spec.get("automountServiceAccountToken"), account.get("automountServiceAccountToken"))
    return next((setting for setting in settings if setting is not None), True)


def _mount_token(spec: Object, fresh_name: str) -> None:
    volumes = spec.get("volumes") or []
    # A pod created from a stored one may have the volume already.
    existing = next((one["name"] for one in volumes if one.get("name", "").startswith(_VOLUME_PREFIX)), None)
    mount = {"name": existing or fresh_name, "readOnly": True, "mountPath": MOUNT_PATH}
    lacking = [one for one in _containers(spec) if not _has_token_mount(one)]
    for container in lacking:
        container["volumeMounts"] = [*(container.get("volumeMounts") or ()), dict(mount)]
    # No volume if every container mounts something of its own at that path.
    if lacking and not existing:
        spec["volumes"] = [*volumes, {"name": fresh_name, "projected": _make_token_volume()}]


def _containers(spec: Object) -> Iterator[Object]:
    yield from spec.get("initContainers") or ()
    yield from spec.get("containers") or ()


def _has_token_mount(container: ReadOnlyObject) -> bool:
    mounts: Iterable[ReadOnlyObject] = container.get("volumeMounts") or ()
    return any(mount.get("mountPath") == MOUNT_PATH for mount in mounts)


def _make_token_volume() -> Object:
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": _TOKEN_SECONDS, "path": "token"}},
            {"configMap": {"name": ROOT_CA, "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
        ],
        "defaultMode": 0o644,
    }


def _validate_mirror(request: AdmissionAttributes) -> None:
    spec = request.new["spec"]
    if spec.get("serviceAccountName"):
        raise new_forbidden(request, "a mirror pod may not reference service accounts")
    if any(visit_pod_secret_names(spec)):
        raise new_forbidden(request, "a mirror pod may not reference secrets")
    for volume in spec.get("volumes") or ():
        if any("serviceAccountToken" in source for source in (volume.get("projected") or {}).get("sources") or ()):
            raise new_forbidden(request, "a mirror pod may not use ServiceAccountToken volume projections")


def _validate_secrets(request: AdmissionAttributes, account: ReadOnlyObject, *, ephemeral: bool) -> None:
    if not BOOLEANS.get((account["metadata"].get("annotations") or {}).get(_ENFORCE_SECRETS_ANNOTATION, "")):
        return
    why = find_disallowed_reference(request.new["spec"], account, ephemeral=ephemeral)
    if why:
        raise new_forbidden(request, why)
