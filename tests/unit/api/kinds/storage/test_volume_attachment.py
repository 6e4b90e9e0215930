from mockkube.api.kinds.storage.volume_attachment import VolumeAttachmentStrategy

STRATEGY = VolumeAttachmentStrategy()


def attachment(source=None, **spec):
    own = {"attacher": "a.b", "nodeName": "n", "source": source or {"persistentVolumeName": "pv"}}
    return {"metadata": {"name": "v"}, "spec": {**own, **spec}, "status": {"attached": False}}


def test_a_volume_is_named_once(judge):
    assert STRATEGY.validate(attachment(), judge()) == []
    text = "must specify exactly one of inlineVolumeSpec and persistentVolumeName"
    errors = STRATEGY.validate(attachment({"persistentVolumeName": "a", "inlineVolumeSpec": {}}), judge())
    assert [str(error) for error in errors] == [f"spec.source: Forbidden: {text}"]


def test_an_inline_volume_is_described_by_its_driver(judge):
    csi = {"driver": "a.b", "volumeHandle": "h"}
    fine = attachment({"inlineVolumeSpec": {"accessModes": ["ReadWriteOnce"], "csi": csi}})
    assert STRATEGY.validate(fine, judge()) == []
    errors = STRATEGY.validate(attachment({"inlineVolumeSpec": {"capacity": {"storage": "1Gi"}}}), judge())
    at = "spec.source.inlineVolumeSpec"
    assert [error.field for error in errors] == [f"{at}.capacity", f"{at}.csi", f"{at}.accessModes"]


def test_the_wish_never_changes(judge):
    (error,) = STRATEGY.validate_update(attachment(nodeName="m"), attachment(), judge())
    assert str(error) == (
        'spec: Invalid value: {"Attacher":"a.b","Source":{"PersistentVolumeName":"pv","InlineVolumeSpec":null},'
        '"NodeName":"m"}: field is immutable'
    )


def test_a_write_of_the_status_changes_nothing_else(judge):
    new, old = attachment(nodeName="m"), attachment()
    new["metadata"]["labels"] = {"a": "b"}
    new["status"] = {"attached": True, "attachError": {"errorCode": 3}}
    STRATEGY.prepare_for_update(new, old, judge(subresource="status"))
    assert new["spec"] == old["spec"]
    assert new["metadata"] == {"name": "v"}
    assert new["status"] == {"attached": True, "attachError": {}}
