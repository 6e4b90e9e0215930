from mockkube.api.kinds.apps.replica_set import ReplicaSetStrategy

STRATEGY = ReplicaSetStrategy()


def replica_set(**status):
    spec = {"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {}, "spec": {}}}
    return {"metadata": {"name": "r"}, "spec": spec, "status": status}


def test_counts_fit_together(judge):
    new = replica_set(replicas=1, readyReplicas=1, availableReplicas=2, fullyLabeledReplicas=-1)
    errors = STRATEGY.validate_update(new, replica_set(), judge(subresource="status"))
    assert [str(error) for error in errors] == [
        "status.fullyLabeledReplicas: Invalid value: -1: must be greater than or equal to 0",
        "status.availableReplicas: Invalid value: 2: cannot be greater than status.replicas",
        "status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas",
    ]


def test_a_template_that_does_not_fit_is_refused(judge):
    errors = STRATEGY.validate(replica_set(), judge())
    assert str(errors[0]) == (
        "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`"
    )


def test_pods_on_their_way_out_are_counted_behind_a_gate(judge):
    new = replica_set(terminatingReplicas=1)
    STRATEGY.prepare_for_update(new, replica_set(terminatingReplicas=0), judge(subresource="status"))
    assert "terminatingReplicas" in new["status"]
    STRATEGY.prepare_for_update(new, replica_set(), judge(subresource="status"))
    assert "terminatingReplicas" not in new["status"]
