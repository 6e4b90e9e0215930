from mockkube.api.kinds.core.namespace import NamespaceStrategy

STRATEGY = NamespaceStrategy()


def namespace(*finalizers, phase="Active", **metadata):
    spec = {"finalizers": list(finalizers)} if finalizers else {}
    return {"metadata": {"name": "n", **metadata}, "spec": spec, "status": {"phase": phase}}


def test_a_new_namespace_is_active_and_holds_its_finalizer(judge):
    obj = namespace("example.com/a", phase="Odd")
    STRATEGY.prepare_for_create(obj, judge())
    assert obj["spec"]["finalizers"] == ["example.com/a", "kubernetes"]
    assert obj["status"] == {"phase": "Active"}


def test_only_finalize_changes_finalizers(judge):
    old = namespace("kubernetes")
    new = namespace()
    STRATEGY.prepare_for_update(new, old, judge())
    assert new["spec"] == {"finalizers": ["kubernetes"]}
    new = namespace()
    STRATEGY.prepare_for_update(new, old, judge(subresource="finalize"))
    assert new["spec"] == {}


def test_finalizers_are_standard_or_have_a_domain(judge):
    (error,) = STRATEGY.validate(namespace("odd"), judge())
    text = "name is neither a standard finalizer name nor is it fully qualified"
    assert str(error) == f'spec.finalizers: Invalid value: "odd": {text}'
    assert STRATEGY.validate_update(namespace("odd"), namespace(), judge(subresource="finalize"))[0].field == (
        "spec.finalizers[0]"
    )


def test_the_phase_follows_the_deletion(judge):
    status = judge(subresource="status")
    assert STRATEGY.validate_update(namespace(phase="Terminating"), namespace(), status)[0].field == "status.Phase"
    going = namespace(phase="Terminating", deletionTimestamp="2026-01-01T00:00:00Z")
    assert STRATEGY.validate_update(going, namespace(), status) == []


def test_a_namespace_carries_its_name_as_a_label():
    obj = namespace(labels={"a": "b"})
    STRATEGY.canonicalize(obj)
    assert obj["metadata"]["labels"] == {"a": "b", "kubernetes.io/metadata.name": "n"}


def test_a_namespace_is_found_by_phase():
    assert STRATEGY.selectable_fields(namespace()) == {"status.phase": "Active"}
    assert set(STRATEGY.selectable_fields(namespace())) == set(STRATEGY.selectable_field_names)
