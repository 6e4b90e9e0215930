from mockkube.api.validation.conditions import is_condition_false, is_condition_true, validate_conditions

GOOD = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z", "reason": "Fine"}


def test_a_whole_condition_is_fine():
    assert validate_conditions([GOOD], "status.conditions") == []


def test_each_field_is_asked_for():
    assert [str(error) for error in validate_conditions([{"type": "Ready"}], "c")] == [
        'c[0].status: Unsupported value: "": supported values: "False", "True", "Unknown"',
        "c[0].lastTransitionTime: Required value",
        "c[0].reason: Required value",
    ]


def test_a_type_stands_once():
    assert [str(error) for error in validate_conditions([GOOD, GOOD], "c")] == ['c[1].type: Duplicate value: "Ready"']


def test_a_reason_is_one_word():
    assert len(validate_conditions([{**GOOD, "reason": "Not fine"}], "c")) == 1


def test_a_condition_that_is_not_there_is_neither_true_nor_false():
    assert is_condition_true([GOOD], "Ready")
    assert not is_condition_false([GOOD], "Ready")
    assert not is_condition_true(None, "Ready")
