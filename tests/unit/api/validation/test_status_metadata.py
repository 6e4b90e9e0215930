from mockkube.api.validation.status_metadata import reset_metadata_for_status, restore_fields


def test_what_was_not_there_goes_again():
    new = {"a": 1, "b": 2}
    restore_fields(new, {"b": 3}, "a", "b")
    assert new == {"b": 3}


def test_the_name_and_the_version_are_left_alone():
    new = {"metadata": {"name": "n", "resourceVersion": "2", "labels": {"a": "b"}}}
    reset_metadata_for_status(new, {"metadata": {"resourceVersion": "1", "finalizers": ["x/y"]}})
    assert new["metadata"] == {"name": "n", "resourceVersion": "2", "finalizers": ["x/y"]}
