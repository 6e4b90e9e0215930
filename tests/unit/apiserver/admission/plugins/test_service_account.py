import pytest

from mockkube.api.errors import Forbidden
from mockkube.apiserver.admission.plugins.service_account import ServiceAccount

PLUGIN = ServiceAccount()
MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"


def account(name="default", **rest):
    metadata = {"name": name, "namespace": "ns", **rest.pop("metadata", {})}
    return {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata, **rest}


def pod(metadata=None, **spec):
    containers = [{"name": "c", "image": "i"}]
    metadata = {"name": "p", "namespace": "ns", **(metadata or {})}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"containers": containers, **spec}}


def admitted(world, obj):
    request = world.creation(obj)
    PLUGIN.admit(request)
    return request.new["spec"]


def refusal(world, obj):
    with pytest.raises(Forbidden) as caught:
        PLUGIN.admit(world.creation(obj))
    return caught.value.message.removeprefix('pods "p" is forbidden: ')


async def test_a_pod_runs_as_the_default_account(world):
    await world.put(account())
    spec = admitted(world, pod())
    assert spec["serviceAccountName"] == spec["serviceAccount"] == "default"


async def test_the_token_is_mounted_into_every_container(world):
    await world.put(account())
    spec = admitted(world, pod(initContainers=[{"name": "first", "image": "i"}]))
    volume = spec["volumes"][0]
    assert volume["name"].startswith("kube-api-access-")
    assert volume["projected"] == {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {
                "downwardAPI": {
                    "items": [
                        {"path": "namespace", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"}}
                    ]
                }
            },
        ],
        "defaultMode": 420,
    }
    mount = {"name": volume["name"], "readOnly": True, "mountPath": MOUNT_PATH}
    assert spec["containers"][0]["volumeMounts"] == spec["initContainers"][0]["volumeMounts"] == [mount]


async def test_a_container_that_mounts_something_there_gets_no_token(world):
    await world.put(account())
    mounts = [{"name": "mine", "mountPath": MOUNT_PATH}]
    containers = [{"name": "c", "image": "i", "volumeMounts": mounts}]
    spec = admitted(world, pod(containers=containers, volumes=[{"name": "mine", "emptyDir": {}}]))
    assert spec["containers"][0]["volumeMounts"] == mounts
    assert [volume["name"] for volume in spec["volumes"]] == ["mine"]


@pytest.mark.parametrize(
    ("of_account", "of_pod", "mounted"),
    [
        pytest.param({"automountServiceAccountToken": False}, {}, False, id="the account does not want it"),
        pytest.param({}, {"automountServiceAccountToken": False}, False, id="the pod does not want it"),
        pytest.param(
            {"automountServiceAccountToken": False},
            {"automountServiceAccountToken": True},
            True,
            id="the pod wants it all the same",
        ),
    ],
)
async def test_whether_the_token_is_mounted_is_a_choice(world, of_account, of_pod, mounted):
    await world.put(account(**of_account))
    assert ("volumes" in admitted(world, pod(**of_pod))) is mounted


async def test_image_pull_secrets_come_from_the_account(world):
    await world.put(account(imagePullSecrets=[{"name": "pull"}]))
    assert admitted(world, pod())["imagePullSecrets"] == [{"name": "pull"}]
    own = [{"name": "own"}]
    assert admitted(world, pod(imagePullSecrets=own))["imagePullSecrets"] == own


async def test_a_missing_account_is_named(world):
    why = 'error looking up service account ns/robot: serviceaccount "robot" not found'
    assert refusal(world, pod(serviceAccountName="robot")) == why


MIRROR = {"annotations": {"kubernetes.io/config.mirror": "x"}}


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        pytest.param({"serviceAccountName": "a"}, "a mirror pod may not reference service accounts", id="an account"),
        pytest.param(
            {"volumes": [{"name": "v", "secret": {"secretName": "s"}}]},
            "a mirror pod may not reference secrets",
            id="a secret",
        ),
        pytest.param(
            {"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}]},
            "a mirror pod may not use ServiceAccountToken volume projections",
            id="a token",
        ),
    ],
)
async def test_a_mirror_pod_may_not_reference(world, spec, why):
    assert refusal(world, pod(MIRROR, **spec)) == why


async def test_a_mirror_pod_stays_as_it_is(world):
    assert "serviceAccountName" not in admitted(world, pod(MIRROR))


ENFORCED = {"annotations": {"kubernetes.io/enforce-mountable-secrets": "true"}}
ELSEWHERE = "is not allowed because service account default does not reference that"


@pytest.mark.parametrize(
    ("spec", "why"),
    [
        pytest.param(
            {"volumes": [{"name": "v", "secret": {"secretName": "s"}}]},
            f'volume with secret.secretName="s" {ELSEWHERE} secret',
            id="in a volume",
        ),
        pytest.param(
            {
                "containers": [
                    {
                        "name": "c",
                        "image": "i",
                        "env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}],
                    }
                ]
            },
            f'container c with envVar E referencing secret.secretName="s" {ELSEWHERE} secret',
            id="in the environment",
        ),
        pytest.param(
            {"initContainers": [{"name": "i", "image": "i", "envFrom": [{"secretRef": {"name": "s"}}]}]},
            f'init container i with envFrom referencing secret.secretName="s" {ELSEWHERE} secret',
            id="in the environment of an init container",
        ),
        pytest.param(
            {"imagePullSecrets": [{"name": "s"}]},
            f'imagePullSecrets[0].name="s" {ELSEWHERE} imagePullSecret',
            id="to pull images",
        ),
    ],
)
async def test_an_account_may_limit_secrets_to_its_own(world, spec, why):
    await world.put(account(metadata=ENFORCED, secrets=[{"name": "mine"}]))
    assert refusal(world, pod(**spec)) == why
