from mockkube.api.validation.internal_form import InternalShape, make_optional, to_internal

PORT: InternalShape = (("Number", "number", 0),)
SHAPE: InternalShape = (
    ("Name", "name", ""),
    ("Port", "port", make_optional(PORT)),
    ("Ports", "ports", make_optional(PORT)),
    ("In", "in", PORT),
)


def test_all_fields_are_shown_in_order_and_pointers_may_be_null():
    assert to_internal({"ports": [{}]}, SHAPE) == {
        "Name": "",
        "Port": None,
        "Ports": [{"Number": 0}],
        "In": {"Number": 0},
    }
    assert list(to_internal({"port": {"number": 3}}, SHAPE) or {}) == ["Name", "Port", "Ports", "In"]


def test_null_stays_null():
    assert to_internal(None, SHAPE) is None
