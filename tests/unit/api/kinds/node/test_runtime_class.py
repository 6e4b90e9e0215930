from mockkube.api.kinds.node.runtime_class import RuntimeClassStrategy

STRATEGY = RuntimeClassStrategy()


def runtime(**fields):
    return {"metadata": {"name": "r"}, "handler": "h", **fields}


def test_the_handler_is_a_label_and_stays(judge):
    assert STRATEGY.validate(runtime(), judge()) == []
    assert [str(error) for error in STRATEGY.validate(runtime(handler=""), judge())] == ["handler: Required value"]
    (error,) = STRATEGY.validate_update(runtime(handler="g"), runtime(), judge())
    assert str(error) == 'handler: Invalid value: "g": field is immutable'


def test_a_toleration_stands_once(judge):
    toleration = {"key": "a", "operator": "Exists"}
    (error,) = STRATEGY.validate(runtime(scheduling={"tolerations": [toleration] * 2}), judge())
    assert str(error) == (
        'scheduling.tolerations[1]: Duplicate value: {"Key":"a","Operator":"Exists","Value":"","Effect":"",'
        '"TolerationSeconds":null}'
    )


def test_comparison_is_unknown_here_whatever_the_gate(judge):
    toleration = {"key": "a", "operator": "Gt", "value": "1"}
    gate = judge("TaintTolerationComparisonOperators")
    assert STRATEGY.validate(runtime(scheduling={"tolerations": [toleration]}), gate) != []
