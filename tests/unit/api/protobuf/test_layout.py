import subprocess
import sys

import pytest

from mockkube.api.protobuf.layout import is_items_message, wire_fields

META = "io.k8s.apimachinery.pkg.apis.meta.v1."


def numbers(schema, definition):
    return {slot.field.name: slot.number for slot in wire_fields(schema.get_type(definition)) if slot.field}


def test_fields_have_the_numbers_of_upstream(schema):
    assert numbers(schema, META + "OwnerReference") == {
        "apiVersion": 5,
        "kind": 1,
        "name": 3,
        "uid": 4,
        "controller": 6,
        "blockOwnerDeletion": 7,
    }


def test_the_kind_of_an_object_has_no_number(schema):
    assert numbers(schema, "io.k8s.api.core.v1.Pod") == {"metadata": 1, "spec": 2, "status": 3}


def test_an_inlined_struct_is_a_message_of_its_own(schema):
    name, source = wire_fields(schema.get_type("io.k8s.api.core.v1.Volume"))
    assert (name.number, source.number, source.field) == (1, 2, None)
    assert {"hostPath", "emptyDir"} <= {slot.field.name for slot in source.inlined}


def test_inlined_structs_nest(schema):
    _, rule = wire_fields(schema.get_type("io.k8s.api.admissionregistration.v1beta1.NamedRuleWithOperations"))
    operations, inner = rule.inlined
    assert operations.field.name == "operations"
    assert [slot.field.name for slot in inner.inlined] == ["apiGroups", "apiVersions", "resources", "scope"]


def test_an_alias_has_the_numbers_of_its_type(schema):
    alias = numbers(schema, "io.k8s.api.admissionregistration.v1beta1.MatchCondition")
    assert alias == {"name": 1, "expression": 2}


@pytest.mark.parametrize(
    ("definition", "field", "nested"),
    [
        pytest.param("io.k8s.api.authentication.v1.UserInfo", "extra", True, id="ExtraValue"),
        pytest.param("io.k8s.api.authentication.v1.UserInfo", "groups", False, id="a plain list"),
    ],
)
def test_some_named_lists_are_messages_with_items(schema, definition, field, nested):
    node = schema.get_type(definition).fields[field].node
    assert is_items_message(node.item if nested else node) is nested


def test_a_process_reads_the_go_types_once() -> None:
    program = (
        "import sys; reads = []; "
        "sys.addaudithook(lambda event, given: event == 'open' and "
        "'gotypes.json' in str(given[0]) and reads.append(1)); "
        "from mockkube.api.schema import Schema; from mockkube.api.protobuf.layout import wire_fields; "
        "from mockkube.features.versions import DEFAULT; "
        "assert wire_fields(Schema(DEFAULT).find_kind_type('', 'v1', 'Pod')); print(len(reads))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert run.stdout == "1\n"
