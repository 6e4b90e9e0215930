"""Objects of a real cluster at rest, as its kubelets, container runtime and controllers report them."""

from collections.abc import Iterator
from typing import Any

from mockkube.features.capabilities import Capabilities
from mockkube.features.gates import enabled_gates
from mockkube.features.versions import Version
from mockkube.kubelet.nodes.node_rules import NodeRules

Object = dict[str, Any]

CREATED = "2026-03-01T10:00:00Z"
NOW = "2026-03-01T12:00:00Z"
HASH = "6d4cf56db6"
_CONDITIONS = (
    ("MemoryPressure", "False", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
    ("Ready", "True", "KubeletReady", "kubelet is posting ready status. AppArmor enabled"),
)
_NAMESPACE_FIELD = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
_TOKEN_VOLUME = {
    "name": "kube-api-access-7xkq2",
    "projected": {
        "defaultMode": 420,
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"items": [{"key": "ca.crt", "path": "ca.crt"}], "name": "kube-root-ca.crt"}},
            {"downwardAPI": {"items": [{"fieldRef": _NAMESPACE_FIELD, "path": "namespace"}]}},
        ],
    },
}
_TOKEN_MOUNT = {
    "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
    "name": "kube-api-access-7xkq2",
    "readOnly": True,
}


def make_metadata(
    kind: str, name: str, namespace: str = "", owner: tuple[str, str, str] | None = None, **more: Any
) -> Object:
    """Return metadata with a uid that follows from kind and name; `owner` is apiVersion, kind and name."""
    metadata = {
        "name": name,
        "uid": f"uid-{kind}-{name}",
        "creationTimestamp": CREATED,
        "resourceVersion": "12",
        **more,
    }
    if namespace:
        metadata["namespace"] = namespace
    if owner:
        api_version, owner_kind, owner_name = owner
        metadata["ownerReferences"] = [
            {
                "apiVersion": api_version,
                "kind": owner_kind,
                "name": owner_name,
                "uid": f"uid-{owner_kind}-{owner_name}",
                "controller": True,
                "blockOwnerDeletion": True,
            }
        ]
    return metadata


def make_node(name: str, version: str = "1.36", *, ready: str = "True", **labels: str) -> Object:
    """Return a node as containerd and a kubelet of a patch release report it."""
    features = {"recursiveReadOnlyMounts": True, "userNamespaces": True}
    resources = {"cpu": "32", "memory": "128Gi", "pods": "110", "ephemeral-storage": "100Gi", "hugepages-1Gi": "0"}
    conditions = [
        {
            "type": kind,
            "status": ready if kind == "Ready" else status,
            "reason": reason,
            "message": message,
            "lastHeartbeatTime": NOW,
            "lastTransitionTime": CREATED,
        }
        for kind, status, reason, message in _CONDITIONS
    ]
    parsed = Version.parse(version)
    rules = NodeRules.from_capabilities(Capabilities(parsed, enabled_gates(parsed, component="kubelet")))
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": make_metadata(
            "Node",
            name,
            labels={
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                "beta.kubernetes.io/os": "linux",
                "beta.kubernetes.io/arch": "amd64",
                **labels,
            },
            annotations={"node.alpha.kubernetes.io/ttl": "0"},
        ),
        "spec": {"podCIDR": "10.244.0.0/24", "podCIDRs": ["10.244.0.0/24"], "providerID": f"kind://docker/kind/{name}"},
        "status": {
            "addresses": [{"type": "InternalIP", "address": "172.18.0.2"}, {"type": "Hostname", "address": name}],
            "allocatable": resources,
            "capacity": resources,
            "conditions": conditions,
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            **rules.feature_status(),
            "images": [
                {"names": ["docker.io/library/nginx@sha256:abc", "docker.io/library/nginx:latest"], "sizeBytes": 100}
            ],
            "nodeInfo": {
                "architecture": "amd64",
                "bootID": "b",
                "containerRuntimeVersion": "containerd://2.1.3",
                "kernelVersion": "6.1.0",
                "kubeProxyVersion": "",
                "kubeletVersion": f"v{version}.2",
                "machineID": "m",
                "operatingSystem": "linux",
                "osImage": "Debian GNU/Linux 12 (bookworm)",
                "systemUUID": "s",
            },
            "runtimeHandlers": [{"name": "runc", "features": features}, {"name": "", "features": features}],
        },
    }


def make_namespace(name: str) -> list[Object]:
    """Return a namespace with what every namespace has."""
    description = (
        "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the "
        "internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of "
        "Kubernetes clusters."
    )
    return [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": make_metadata("Namespace", name, labels={"kubernetes.io/metadata.name": name}),
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        },
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": make_metadata("ServiceAccount", "default", name)},
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": make_metadata(
                "ConfigMap", "kube-root-ca.crt", name, annotations={"kubernetes.io/description": description}
            ),
            "data": {"ca.crt": "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n"},
        },
    ]


def make_pod(name: str, namespace: str, owner: tuple[str, str, str], labels: dict[str, str], node: str) -> Object:
    """Return a running pod as a kubelet with containerd reports it."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": make_metadata(
            "Pod", name, namespace, owner, labels=labels, generateName=f"{owner[2]}-", generation=1
        ),
        "spec": {
            **make_pod_spec(),
            "containers": [{**make_pod_spec()["containers"][0], "volumeMounts": [_TOKEN_MOUNT]}],
            "enableServiceLinks": True,
            "nodeName": node,
            "preemptionPolicy": "PreemptLowerPriority",
            "priority": 0,
            "serviceAccount": "default",
            "serviceAccountName": "default",
            "tolerations": [
                {
                    "effect": "NoExecute",
                    "key": f"node.kubernetes.io/{key}",
                    "operator": "Exists",
                    "tolerationSeconds": 300,
                }
                for key in ("not-ready", "unreachable")
            ],
            "volumes": [_TOKEN_VOLUME],
        },
        "status": {
            "conditions": [
                {
                    "type": kind,
                    "status": "True",
                    "lastProbeTime": None,
                    "lastTransitionTime": CREATED,
                    "observedGeneration": 1,
                }
                for kind in ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
            ],
            "containerStatuses": [
                {
                    "containerID": "containerd://5d1f",
                    "image": "docker.io/library/nginx:latest",
                    "imageID": "docker.io/library/nginx@sha256:abc",
                    "lastState": {},
                    "name": "main",
                    "ready": True,
                    "resources": {},
                    "restartCount": 2,
                    "started": True,
                    "state": {"running": {"startedAt": CREATED}},
                    "user": {"linux": {"gid": 0, "supplementalGroups": [0], "uid": 0}},
                    "volumeMounts": [{**_TOKEN_MOUNT, "recursiveReadOnly": "Disabled"}],
                }
            ],
            "hostIP": "172.18.0.2",
            "hostIPs": [{"ip": "172.18.0.2"}],
            "observedGeneration": 1,
            "phase": "Running",
            "podIP": "10.244.0.7",
            "podIPs": [{"ip": "10.244.0.7"}],
            "qosClass": "BestEffort",
            "startTime": CREATED,
        },
    }


def make_pod_spec() -> Object:
    """Return the pod spec of a template, with its defaults."""
    container = {
        "name": "main",
        "image": "nginx",
        "imagePullPolicy": "Always",
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }
    return {
        "containers": [container],
        "dnsPolicy": "ClusterFirst",
        "restartPolicy": "Always",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
    }


def make_deployment(name: str, namespace: str, replicas: int, nodes: tuple[str, ...] = ("NODE",)) -> Iterator[Object]:
    """Yield a Deployment at rest, its ReplicaSet and its pods, spread over nodes."""
    labels = {"app": name, "pod-template-hash": HASH}
    set_name = f"{name}-{HASH}"
    template = {"metadata": {"labels": {"app": name}}, "spec": make_pod_spec()}
    counts = {"observedGeneration": 1, "replicas": replicas, "readyReplicas": replicas, "availableReplicas": replicas}
    conditions = [
        ("Available", "MinimumReplicasAvailable", "Deployment has minimum availability."),
        ("Progressing", "NewReplicaSetAvailable", f'ReplicaSet "{set_name}" has successfully progressed.'),
    ]
    yield {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": make_metadata(
            "Deployment", name, namespace, generation=1, annotations={"deployment.kubernetes.io/revision": "1"}
        ),
        "spec": {
            "progressDeadlineSeconds": 600,
            "replicas": replicas,
            "revisionHistoryLimit": 10,
            "selector": {"matchLabels": {"app": name}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
            "template": template,
        },
        "status": {
            **counts,
            "updatedReplicas": replicas,
            "terminatingReplicas": 0,
            "conditions": [
                {
                    "type": kind,
                    "status": "True",
                    "reason": reason,
                    "message": message,
                    "lastTransitionTime": CREATED,
                    "lastUpdateTime": CREATED,
                }
                for kind, reason, message in conditions
            ],
        },
    }
    surge = replicas + -(-replicas // 4)
    yield {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": make_metadata(
            "ReplicaSet",
            set_name,
            namespace,
            ("apps/v1", "Deployment", name),
            generation=1,
            labels=labels,
            annotations={
                "deployment.kubernetes.io/desired-replicas": str(replicas),
                "deployment.kubernetes.io/max-replicas": str(surge),
                "deployment.kubernetes.io/revision": "1",
            },
        ),
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {**template, "metadata": {"labels": labels}},
        },
        "status": {**counts, "fullyLabeledReplicas": replicas, "terminatingReplicas": 0},
    }
    for number in range(replicas):
        owner = ("apps/v1", "ReplicaSet", set_name)
        yield make_pod(f"{set_name}-{number:05}", namespace, owner, labels, nodes[number % len(nodes)])


def make_list(objects: list[Object]) -> Object:
    """Return a list as `kubectl get` prints it."""
    return {"apiVersion": "v1", "items": objects, "kind": "List", "metadata": {"resourceVersion": ""}}
