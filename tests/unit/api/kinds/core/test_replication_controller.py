from mockkube.api.kinds.core.replication_controller import ReplicationControllerStrategy

STRATEGY = ReplicationControllerStrategy()


def controller(labels=None, **spec):
    container = {
        "name": "c",
        "image": "i",
        "imagePullPolicy": "Always",
        "terminationMessagePolicy": "File",
        "resources": {},
    }
    pod = {"restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "containers": [container]}
    pod["terminationGracePeriodSeconds"] = 30
    template = {"metadata": {"labels": labels or {"a": "b"}}, "spec": pod}
    return {"metadata": {"name": "r"}, "spec": {"replicas": 1, "selector": {"a": "b"}, "template": template, **spec}}


def test_a_whole_controller_is_fine(judge):
    assert STRATEGY.validate(controller(), judge()) == []


def test_what_is_missing_is_asked_for(judge):
    errors = STRATEGY.validate(controller(selector=None, replicas=None, template=None), judge())
    assert [str(error) for error in errors] == [
        "spec.selector: Required value",
        "spec.replicas: Required value",
        "spec.template: Required value",
    ]


def test_labels_fit_the_selector(judge):
    (error,) = STRATEGY.validate(controller({"a": "c"}), judge())
    assert error.field == "spec.template.metadata.labels"


def test_a_selector_that_older_versions_cannot_hold_stays(judge):
    old = controller()
    old["metadata"]["annotations"] = {"non-convertible.kubernetes.io/v1.Selector.selector": "x"}
    new = controller({"a": "c"}, selector={"a": "c"})
    assert [error.detail for error in STRATEGY.validate_update(new, old, judge())] == [
        "cannot update non-convertible selector"
    ]


def test_the_length_of_a_name_is_told_in_bytes():
    assert ReplicationControllerStrategy().validate_name("a" * 254) == ["must be no more than 253 bytes"]
