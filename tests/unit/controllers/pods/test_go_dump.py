from mockkube.controllers.endpoints.subsets import repack_subsets
from mockkube.controllers.pods.go_dump import GoField, GoPointer, GoScalar, GoSlice, GoStruct, dump, fnv_128a

PORT = GoStruct(
    "v1.EndpointPort",
    (
        GoField("Name", "name", GoScalar("string")),
        GoField("Port", "port", GoScalar("int32", "0")),
        GoField("AppProtocol", "appProtocol", GoPointer(GoScalar("string"))),
    ),
)


def test_a_struct_is_dumped_as_go_dumps_it():
    text = "(v1.EndpointPort){Name:(string)http Port:(int32)80 AppProtocol:(*string)<nil>}"
    assert dump({"name": "http", "port": 80}, PORT) == text


def test_what_a_pointer_leads_to_stands_without_its_type():
    assert dump("h2c", GoPointer(GoScalar("string"))) == "(*string)h2c"


def test_a_slice_names_its_type_once():
    assert dump(["a", "b"], GoSlice(GoScalar("string"))) == "([]string)[a b]"
    assert dump(None, GoSlice(GoScalar("string"))) == "([]string)<nil>"


def test_the_hash_is_fnv_1a_of_128_bits():
    assert f"{fnv_128a(''):032x}" == "6c62272e07bb014262b821756295c58d"
    assert f"{fnv_128a('a'):032x}" == "d228cb696f1a8caf78912b704e4a8964"


def test_addresses_with_the_same_ports_come_together():
    subsets = [
        {"addresses": [{"ip": "10.0.0.2"}], "ports": [{"port": 80}]},
        {"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]},
    ]
    assert repack_subsets(subsets) == [{"addresses": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}], "ports": [{"port": 80}]}]


def test_an_address_that_is_ready_and_not_is_not():
    subsets = [
        {"addresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]},
        {"notReadyAddresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]},
    ]
    assert repack_subsets(subsets) == [{"notReadyAddresses": [{"ip": "10.0.0.1"}], "ports": [{"port": 80}]}]


def test_endpoints_without_ports_are_kept():
    assert repack_subsets([{"addresses": [{"ip": "10.0.0.1"}]}]) == [{"addresses": [{"ip": "10.0.0.1"}]}]
