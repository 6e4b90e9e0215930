from datetime import UTC, datetime

from mockkube.api.kinds.storage import csi_driver, csi_node, storage_class, volume_attachment

NOW = datetime(2026, 3, 14, 12, 0, 0, tzinfo=UTC)
META = {"name": "s", "creationTimestamp": "2026-03-14T11:00:00Z"}


def test_a_storage_class_shows_defaults_where_nothing_is_set() -> None:
    cells = storage_class.STORAGE_CLASS.row({"metadata": META, "provisioner": "p"}, NOW).cells
    assert cells == ["s", "p", "Delete", "Immediate", False, "60m"]


def test_the_default_storage_class_is_marked_by_either_annotation() -> None:
    for key in ("storageclass.kubernetes.io", "storageclass.beta.kubernetes.io"):
        meta = {**META, "annotations": {f"{key}/is-default-class": "true"}}
        obj = {"metadata": meta, "reclaimPolicy": "Retain", "allowVolumeExpansion": True}
        assert storage_class.STORAGE_CLASS.row(obj, NOW).cells == [
            "s (default)",
            "",
            "Retain",
            "Immediate",
            True,
            "60m",
        ]


def test_a_driver_shows_what_it_can_do() -> None:
    spec = {
        "attachRequired": False,
        "storageCapacity": True,
        "tokenRequests": [{"audience": "a"}, {"audience": "b"}],
        "volumeLifecycleModes": ["Persistent", "Ephemeral"],
    }
    cells = csi_driver.CSI_DRIVER.row({"metadata": META, "spec": spec}, NOW).cells
    assert cells == ["s", False, False, True, "a,b", False, "Persistent,Ephemeral", "60m"]


def test_a_bare_driver_attaches() -> None:
    cells = csi_driver.CSI_DRIVER.row({"metadata": META, "spec": {}}, NOW).cells
    assert cells == ["s", True, False, False, "<unset>", False, "<none>", "60m"]


def test_an_attachment_shows_its_volume_and_node() -> None:
    spec = {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}}
    obj = {"metadata": META, "spec": spec, "status": {"attached": True}}
    assert volume_attachment.VOLUME_ATTACHMENT.row(obj, NOW).cells == ["s", "a", "v", "n", True, "60m"]


def test_drivers_of_a_node_are_counted() -> None:
    assert csi_node.CSI_NODE.row({"metadata": META, "spec": {"drivers": [{}, {}]}}, NOW).cells == ["s", 2, "60m"]


def test_an_attributes_class_shows_its_driver() -> None:
    assert storage_class.VOLUME_ATTRIBUTES_CLASS.row({"metadata": META, "driverName": "d"}, NOW).cells == [
        "s",
        "d",
        "60m",
    ]
