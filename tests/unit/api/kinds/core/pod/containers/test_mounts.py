"""Mounts and devices of a container."""

import pytest

from mockkube.api.kinds.core.pod.containers.mounts import validate_volume_devices, validate_volume_mounts

VOLUMES = {"v": {"name": "v", "emptyDir": {}}, "c": {"name": "c", "persistentVolumeClaim": {"claimName": "x"}}}


def mounts(*given, container=None):
    return [str(error) for error in validate_volume_mounts(given, "m", container or {}, VOLUMES)]


def devices(*given, container=None):
    return [str(error) for error in validate_volume_devices(given, "d", container or {}, VOLUMES)]


@pytest.mark.parametrize(
    ("mount", "says"),
    [
        pytest.param({"name": "v", "mountPath": "/a"}, [], id="plain"),
        pytest.param({"name": "w", "mountPath": "/a"}, ['m[0].name: Not found: "w"'], id="unknown volume"),
        pytest.param({"name": "v"}, ["m[0].mountPath: Required value"], id="no path"),
        pytest.param(
            {"name": "v", "mountPath": "/a", "subPath": "/b"},
            ['m.subPath: Invalid value: "/b": must be a relative path'],
            id="absolute sub-path",
        ),
        pytest.param(
            {"name": "v", "mountPath": "/a", "subPath": "b", "subPathExpr": "c"},
            ['m[0].subPathExpr: Invalid value: "c": subPathExpr and subPath are mutually exclusive'],
            id="two sub-paths",
        ),
        pytest.param(
            {"name": "v", "mountPath": "/a", "mountPropagation": "Bidirectional"},
            [
                "m.mountPropagation: Forbidden: "
                "Bidirectional mount propagation is available only to privileged containers"
            ],
            id="propagation without privilege",
        ),
        pytest.param(
            {"name": "v", "mountPath": "/a", "recursiveReadOnly": "Enabled"},
            ["m.recursiveReadOnly: Forbidden: may only be specified when readOnly is true"],
            id="recursively, but not read-only",
        ),
    ],
)
def test_mounts(mount, says):
    assert mounts(mount) == says


def test_two_mounts_have_two_paths():
    assert mounts({"name": "v", "mountPath": "/a"}, {"name": "c", "mountPath": "/a"}) == [
        'm[1].mountPath: Invalid value: "/a": must be unique'
    ]


def test_a_volume_is_mounted_or_a_device_not_both():
    container = {"volumeDevices": [{"name": "c", "devicePath": "/a"}]}
    assert mounts({"name": "c", "mountPath": "/a"}, container=container) == [
        'm[0].name: Invalid value: "c": must not already exist in volumeDevices',
        'm[0].mountPath: Invalid value: "/a": must not already exist as a path in volumeDevices',
    ]


def test_a_privileged_container_may_propagate_its_mounts():
    mount = {"name": "v", "mountPath": "/a", "mountPropagation": "Bidirectional"}
    assert mounts(mount, container={"securityContext": {"privileged": True}}) == []


@pytest.mark.parametrize(
    ("given", "says"),
    [
        pytest.param([{"name": "c", "devicePath": "/a"}], [], id="a claim"),
        pytest.param(
            [{"name": "v", "devicePath": "/a"}],
            [
                'd[0].name: Invalid value: "v": '
                "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
            ],
            id="no block device",
        ),
        pytest.param(
            [{"name": "c", "devicePath": "/a/../b"}],
            ["d[0].devicePath: Invalid value: \"/a/../b\": can not contain backsteps ('..')"],
            id="path that climbs",
        ),
        pytest.param(
            [{"name": "c", "devicePath": "/a"}, {"name": "c", "devicePath": "/a"}],
            ['d[1].name: Invalid value: "c": must be unique', 'd[1].devicePath: Invalid value: "/a": must be unique'],
            id="twice",
        ),
        pytest.param([{"name": "x", "devicePath": "/a"}], ['d[0].name: Not found: "x"'], id="unknown"),
    ],
)
def test_devices(given, says):
    assert devices(*given) == says
