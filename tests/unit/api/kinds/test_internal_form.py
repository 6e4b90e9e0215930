from mockkube.api.validation.internal_form import Shape, internal, optional

PORT: Shape = (("Number", "number", 0),)
SHAPE: Shape = (
    ("Name", "name", ""),
    ("Port", "port", optional(PORT)),
    ("Ports", "ports", optional(PORT)),
    ("In", "in", PORT),
)


def test_all_fields_are_shown_in_order_and_pointers_may_be_null():
    assert internal({"ports": [{}]}, SHAPE) == {"Name": "", "Port": None, "Ports": [{"Number": 0}], "In": {"Number": 0}}
    assert list(internal({"port": {"number": 3}}, SHAPE) or {}) == ["Name", "Port", "Ports", "In"]


def test_null_stays_null():
    assert internal(None, SHAPE) is None
