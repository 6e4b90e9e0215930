"""ServiceAccount: assign a service account to every pod, with its token volume and image pull secrets."""

from collections.abc import Iterable, Iterator
from typing import Final

from mockkube.api.kinds.core.pod.secret_references import find_disallowed_reference, visit_pod_secret_names
from mockkube.api.types import Object, ReadOnlyObject
from mockkube.apiserver.admission.refusals import refuse
from mockkube.apiserver.registry.admission import Operation, Plugin, Request

DEFAULT: Final = "default"
MOUNT_PATH: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
ROOT_CA: Final = "kube-root-ca.crt"
MIRROR: Final = "kubernetes.io/config.mirror"
_ENFORCE: Final = "kubernetes.io/enforce-mountable-secrets"
_TRUE: Final = frozenset(("1", "t", "T", "true", "TRUE", "True"))
_VOLUME: Final = "kube-api-access-"
_TOKEN_SECONDS: Final = 3607


class ServiceAccount(Plugin):
    """Assigns a service account to new pods, and mounts its token."""

    # upstream 1.36: plugin/pkg/admission/serviceaccount/admission.go
    name = "ServiceAccount"

    def admit(self, request: Request) -> None:
        """Complete a new pod; a mirror pod is only validated."""
        if request.operation is not Operation.CREATE or not request.about("", "pods"):
            return
        if MIRROR in request.annotations:
            _validate_mirror(request)
            return
        spec = request.given["spec"]
        spec["serviceAccountName"] = spec["serviceAccount"] = spec.get("serviceAccountName") or DEFAULT
        account = _account(request)
        if _automounts(account, spec):
            _mount_token(spec, _VOLUME + request.resource.services.chance.new_suffix())
        if not spec.get("imagePullSecrets") and account.get("imagePullSecrets"):
            spec["imagePullSecrets"] = [{"name": one.get("name", "")} for one in account["imagePullSecrets"]]
        _validate_secrets(request, account, ephemeral=False)

    def validate(self, request: Request) -> None:
        """Reject a pod without a service account, or with secrets that it may not use."""
        ephemeral = request.about("", "pods", "ephemeralcontainers") and request.operation is Operation.UPDATE
        created = request.about("", "pods") and request.operation is Operation.CREATE
        if created and MIRROR in request.annotations:
            _validate_mirror(request)
        elif created or ephemeral:
            if not request.given["spec"].get("serviceAccountName"):
                title = f"{request.call.namespace}/{request.given['metadata'].get('name', '')}"
                raise refuse(request, f"no service account specified for pod {title}")
            _validate_secrets(request, _account(request), ephemeral=ephemeral)


def _account(request: Request) -> Object:
    namespace, name = request.call.namespace, request.given["spec"]["serviceAccountName"]
    record = request.find("", "serviceaccounts").record(namespace, name)
    if record is None:
        why = f'error looking up service account {namespace}/{name}: serviceaccount "{name}" not found'
        raise refuse(request, why)
    return record.load()


def _automounts(account: ReadOnlyObject, spec: ReadOnlyObject) -> bool:
    """Return whether to mount the token: the pod's setting wins over the service account's."""
    wishes = (spec.get("automountServiceAccountToken"), account.get("automountServiceAccountToken"))
    return next((wish for wish in wishes if wish is not None), True)


def _mount_token(spec: Object, fresh_name: str) -> None:
    volumes = spec.get("volumes") or []
    # A pod created from a stored one may have the volume already.
    existing = next((one["name"] for one in volumes if one.get("name", "").startswith(_VOLUME)), None)
    mount = {"name": existing or fresh_name, "readOnly": True, "mountPath": MOUNT_PATH}
    lacking = [one for one in _containers(spec) if not _mounts_something(one)]
    for container in lacking:
        container["volumeMounts"] = [*(container.get("volumeMounts") or ()), dict(mount)]
    # No volume if every container mounts something of its own at that path.
    if lacking and not existing:
        spec["volumes"] = [*volumes, {"name": fresh_name, "projected": _token_volume()}]


def _containers(spec: Object) -> Iterator[Object]:
    yield from spec.get("initContainers") or ()
    yield from spec.get("containers") or ()


def _mounts_something(container: ReadOnlyObject) -> bool:
    mounts: Iterable[ReadOnlyObject] = container.get("volumeMounts") or ()
    return any(mount.get("mountPath") == MOUNT_PATH for mount in mounts)


def _token_volume() -> Object:
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": _TOKEN_SECONDS, "path": "token"}},
            {"configMap": {"name": ROOT_CA, "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
        ],
        "defaultMode": 0o644,
    }


def _validate_mirror(request: Request) -> None:
    spec = request.given["spec"]
    if spec.get("serviceAccountName"):
        raise refuse(request, "a mirror pod may not reference service accounts")
    if any(visit_pod_secret_names(spec)):
        raise refuse(request, "a mirror pod may not reference secrets")
    for volume in spec.get("volumes") or ():
        if any("serviceAccountToken" in source for source in (volume.get("projected") or {}).get("sources") or ()):
            raise refuse(request, "a mirror pod may not use ServiceAccountToken volume projections")


def _validate_secrets(request: Request, account: ReadOnlyObject, *, ephemeral: bool) -> None:
    if (account["metadata"].get("annotations") or {}).get(_ENFORCE) not in _TRUE:
        return
    why = find_disallowed_reference(request.given["spec"], account, ephemeral=ephemeral)
    if why:
        raise refuse(request, why)
