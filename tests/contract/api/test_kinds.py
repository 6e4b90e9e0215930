"""The kind contract: every entry of the catalogue is discovered, created, read, listed, watched and deleted."""

import base64
from typing import TYPE_CHECKING, Any, Final

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from mockkube.api.catalogue import KINDS, Kind, stable
from mockkube.api.schema import Schema
from mockkube.features.versions import DEFAULT

if TYPE_CHECKING:
    from tests.contract.api.conftest import Api

Object = dict[str, Any]
pytestmark = pytest.mark.asyncio(loop_scope="module")


def certificate_request() -> str:
    """A request for a certificate, as a certificate signing request carries it."""
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([]))
    request = builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    return base64.b64encode(request.public_bytes(serialization.Encoding.PEM)).decode()


CONTAINER: Final = {"name": "main", "image": "image:1"}
POD: Final = {"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [CONTAINER]}}
SELECTOR: Final = {"matchLabels": {"app": "a"}}
WORKLOAD: Final = {"selector": SELECTOR, "template": POD}
JOB: Final = {"template": {"spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}}
CLIENT: Final = {"url": "https://example.com"}
EXPRESSION: Final = {"validations": [{"expression": "true"}]}
CONSTRAINTS: Final = {
    "resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
}
MUTATION: Final = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}
DEVICES: Final = {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}
RULES: Final = {"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]}
ROLE: Final = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
CRD: Final = {
    "group": "example.com",
    "scope": "Namespaced",
    "names": {"plural": "things", "kind": "Thing"},
    "versions": [{"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}],
}
FLOW: Final = {"priorityLevelConfiguration": {"name": "exempt"}}
WEBHOOK: Final = {
    "name": "a.example.com",
    "clientConfig": CLIENT,
    "sideEffects": "None",
    "admissionReviewVersions": ["v1"],
}

BODIES: Final[dict[tuple[str, str], Object]] = {
    ("", "Endpoints"): {},
    ("", "Event"): {"involvedObject": {"kind": "Pod", "name": "p", "namespace": "{namespace}"}},
    ("", "PersistentVolumeClaim"): {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    },
    ("", "PersistentVolume"): {
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "hostPath": {"path": "/data"}}
    },
    ("", "Pod"): {"spec": POD["spec"]},
    ("", "PodTemplate"): {"template": POD},
    ("", "ReplicationController"): {"spec": {"selector": {"app": "a"}, "template": POD}},
    ("", "Service"): {"spec": {"ports": [{"port": 80}]}},
    ("apiregistration.k8s.io", "APIService"): {
        "metadata": {"name": "v1.example.com"},
        "spec": {
            "group": "example.com",
            "version": "v1",
            "groupPriorityMinimum": 1,
            "versionPriority": 1,
            "insecureSkipTLSVerify": True,
            "service": {"name": "s", "namespace": "default"},
        },
    },
    ("apps", "ControllerRevision"): {"revision": 1, "data": {"a": 1}},
    ("apps", "DaemonSet"): {"spec": WORKLOAD},
    ("apps", "Deployment"): {"spec": WORKLOAD},
    ("apps", "ReplicaSet"): {"spec": WORKLOAD},
    ("apps", "StatefulSet"): {"spec": {**WORKLOAD, "serviceName": "a"}},
    ("events.k8s.io", "Event"): {
        "regarding": {"kind": "Pod", "name": "p", "namespace": "{namespace}"},
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "example.com/controller",
        "reportingInstance": "one",
        "action": "Acting",
        "reason": "Because",
        "type": "Normal",
    },
    ("autoscaling", "HorizontalPodAutoscaler"): {
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}, "maxReplicas": 1}
    },
    ("batch", "CronJob"): {"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": JOB}}},
    ("batch", "Job"): {"spec": JOB},
    ("certificates.k8s.io", "CertificateSigningRequest"): {
        "spec": {
            "request": certificate_request(),
            "signerName": "example.com/signer",
            "usages": ["digital signature"],
        }
    },
    ("networking.k8s.io", "Ingress"): {"spec": {"defaultBackend": {"service": {"name": "a", "port": {"number": 80}}}}},
    ("networking.k8s.io", "IngressClass"): {"spec": {"controller": "example.com/controller"}},
    ("networking.k8s.io", "IPAddress"): {
        "metadata": {"name": "192.0.2.1"},
        "spec": {"parentRef": {"resource": "services", "namespace": "default", "name": "a"}},
    },
    ("networking.k8s.io", "ServiceCIDR"): {"spec": {"cidrs": ["192.0.2.0/24"]}},
    ("policy", "PodDisruptionBudget"): {"spec": {"selector": SELECTOR, "minAvailable": 1}},
    ("rbac.authorization.k8s.io", "ClusterRoleBinding"): {"roleRef": ROLE},
    ("rbac.authorization.k8s.io", "ClusterRole"): RULES,
    ("rbac.authorization.k8s.io", "RoleBinding"): {"roleRef": ROLE},
    ("rbac.authorization.k8s.io", "Role"): RULES,
    ("storage.k8s.io", "CSINode"): {"spec": {"drivers": []}},
    ("storage.k8s.io", "CSIStorageCapacity"): {"storageClassName": "a"},
    ("storage.k8s.io", "StorageClass"): {"provisioner": "example.com/provisioner"},
    ("storage.k8s.io", "VolumeAttachment"): {
        "spec": {"attacher": "example.com", "nodeName": "n", "source": {"persistentVolumeName": "v"}}
    },
    ("storage.k8s.io", "VolumeAttributesClass"): {"driverName": "example.com", "parameters": {"a": "b"}},
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicy"): {
        "spec": {"matchConstraints": CONSTRAINTS, "mutations": [MUTATION], "reinvocationPolicy": "Never"}
    },
    ("admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding"): {"spec": {"policyName": "p"}},
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration"): {"webhooks": [WEBHOOK]},
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy"): {
        "spec": {"matchConstraints": CONSTRAINTS, **EXPRESSION}
    },
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding"): {
        "spec": {"policyName": "p", "validationActions": ["Deny"]}
    },
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"): {"webhooks": [WEBHOOK]},
    ("apiextensions.k8s.io", "CustomResourceDefinition"): {"metadata": {"name": "things.example.com"}, "spec": CRD},
    ("scheduling.k8s.io", "PriorityClass"): {"value": 1},
    ("node.k8s.io", "RuntimeClass"): {"handler": "runc"},
    ("discovery.k8s.io", "EndpointSlice"): {"addressType": "IPv4", "endpoints": []},
    ("resource.k8s.io", "ResourceClaim"): {"spec": {"devices": DEVICES}},
    ("resource.k8s.io", "ResourceClaimTemplate"): {"spec": {"spec": {"devices": DEVICES}}},
    ("resource.k8s.io", "ResourceSlice"): {
        "spec": {"driver": "example.com", "pool": {"name": "p", "resourceSliceCount": 1}, "allNodes": True}
    },
    ("resource.k8s.io", "DeviceTaintRule"): {
        "spec": {"deviceSelector": {"driver": "example.com"}, "taint": {"key": "k", "effect": "NoSchedule"}}
    },
    ("flowcontrol.apiserver.k8s.io", "FlowSchema"): {"spec": FLOW},
    ("flowcontrol.apiserver.k8s.io", "PriorityLevelConfiguration"): {
        "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}
    },
    ("storagemigration.k8s.io", "StorageVersionMigration"): {"spec": {"resource": {"group": "", "resource": "pods"}}},
}
"""The least that is valid of each kind, where a name alone is not."""

SCHEMA: Final = Schema(DEFAULT)


def served(kind: Kind) -> tuple[str, ...]:
    """The stable versions of a kind that the default version of Kubernetes has."""
    found = (version for version in kind.versions if SCHEMA.kind(kind.group, version, kind.kind))
    return tuple(version for version in found if stable(version))


STORED: Final = [
    pytest.param(kind, version, id=f"{kind.group or 'core'}/{version}/{kind.plural}")
    for kind in KINDS
    for version in served(kind)
    if "create" in kind.verbs and "get" in kind.verbs
]


def path_of(kind: Kind, version: str, namespace: str) -> str:
    """Where objects of a kind are created."""
    root = f"/apis/{kind.group}/{version}" if kind.group else f"/api/{version}"
    return f"{root}/namespaces/{namespace}/{kind.plural}" if kind.namespaced else f"{root}/{kind.plural}"


def body_of(kind: Kind, version: str, namespace: str) -> Object:
    """A minimal valid object of a kind."""
    body = BODIES.get((kind.group, kind.kind), {})
    for reference in ("involvedObject", "regarding"):
        if reference in body:
            body = {**body, reference: {**body[reference], "namespace": namespace}}
    api_version = f"{kind.group}/{version}" if kind.group else version
    metadata = {"name": "contract", **body.get("metadata", {})}
    return {**body, "apiVersion": api_version, "kind": kind.kind, "metadata": metadata}


@pytest.mark.parametrize(("kind", "version"), STORED)
async def test_every_kind_can_be_created_read_listed_watched_and_deleted(
    api: "Api", lab: str, kind: Kind, version: str
) -> None:
    namespace = lab.rpartition("/")[2]
    path, body = path_of(kind, version, namespace), body_of(kind, version, namespace)
    name = body["metadata"]["name"]
    start = (await api.get(path))["metadata"]["resourceVersion"]
    created = await api.create(f"{path}?fieldValidation=Strict", body)
    listed = await api.get(path)
    assert (created["kind"], created["apiVersion"]) == (kind.kind, body["apiVersion"])
    assert await api.get(f"{path}/{name}") == created
    assert listed["kind"] == kind.list_kind
    assert [item for item in listed["items"] if item["metadata"]["name"] == name] == [without_kind(created)]
    noted = await api.patch(f"{path}/{name}", {"metadata": {"annotations": {"k": "v"}}})
    assert {**noted, "metadata": None} == {**created, "metadata": None}
    await api.delete(f"{path}/{name}?gracePeriodSeconds=0")
    await unhold(api, f"{path}/{name}")
    assert (await api.ask("GET", f"{path}/{name}")).status == 404
    async with api.watch(path, f"resourceVersion={start}&fieldSelector=metadata.name%3D{name}") as watch:
        assert await watch.next() == ("ADDED", created)
        assert await watch.next() == ("MODIFIED", noted)


def without_kind(obj: Object) -> Object:
    """The object as it stands in a list."""
    return {key: value for key, value in obj.items() if key not in ("kind", "apiVersion")}


async def unhold(api: "Api", path: str) -> None:
    """Do what a controller would before the object may go."""
    answer = await api.ask("GET", path)
    if answer.status == 404:
        return
    if answer.json["kind"] == "Namespace":
        await api.ask("PUT", f"{path}/finalize", {**answer.json, "spec": {}})
    else:
        await api.patch(path, {"metadata": {"finalizers": None}})


@pytest.mark.parametrize(("kind", "version"), STORED)
async def test_every_kind_has_a_table(api: "Api", kind: Kind, version: str) -> None:
    accept = "application/json;as=Table;g=meta.k8s.io;v=v1"
    answer = await api.ask("GET", path_of(kind, version, "default"), accept=accept)
    assert answer.status == 200
    assert answer.json["columnDefinitions"][0]["name"] in ("Name", "Last Seen")


@pytest.mark.parametrize("kind", [pytest.param(kind, id=f"{kind.group or 'core'}/{kind.plural}") for kind in KINDS])
async def test_every_kind_is_discovered_as_the_catalogue_says(api: "Api", kind: Kind) -> None:
    for version in served(kind):
        root = f"/apis/{kind.group}/{version}" if kind.group else f"/api/{version}"
        resources = {one["name"]: one for one in (await api.get(root))["resources"]}
        entry = resources[kind.plural]
        assert (entry["kind"], entry["namespaced"]) == (kind.kind, kind.namespaced)
        assert entry["verbs"] == sorted(kind.verbs)
        assert entry.get("shortNames", []) == list(kind.short_names)
        assert {f"{kind.plural}/{sub.name}" for sub in kind.subresources} <= set(resources)


async def test_both_forms_of_discovery_say_the_same(api: "Api") -> None:
    accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
    items = [item for root in ("/api", "/apis") for item in (await api.ask("GET", root, accept=accept)).json["items"]]
    for item in items:
        group = item["metadata"].get("name", "")
        for version in item["versions"]:
            path = f"/apis/{group}/{version['version']}" if group else f"/api/{version['version']}"
            legacy = {one["name"]: one["verbs"] for one in (await api.get(path))["resources"] if "/" not in one["name"]}
            assert legacy == {one["resource"]: one["verbs"] for one in version["resources"]}
    groups = [group["name"] for group in (await api.get("/apis"))["groups"]]
    assert groups == [item["metadata"]["name"] for item in items if item["metadata"]]
