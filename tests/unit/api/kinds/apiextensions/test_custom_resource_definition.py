import pytest

from mockkube.api.kinds.apiextensions.custom_resource_definition import CustomResourceDefinitionStrategy

STRATEGY = CustomResourceDefinitionStrategy()
SCHEMA = {"type": "object", "properties": {"spec": {"type": "object", "properties": {"a": {"type": "string"}}}}}


def version(name="v1", storage=True, schema=SCHEMA, **fields):
    own = {"name": name, "served": True, "storage": storage}
    return {**own, **({"schema": {"openAPIV3Schema": schema}} if schema else {}), **fields}


def definition(*versions, name="xs.a.b", **spec):
    names = {"plural": "xs", "singular": "x", "kind": "X", "listKind": "XList"}
    versions = list(versions) or [version()]
    own = {"group": "a.b", "scope": "Namespaced", "names": names, "versions": versions}
    return {"metadata": {"name": name}, "spec": {**own, **spec}, "status": {"storedVersions": ["v1"]}}


@pytest.mark.parametrize(
    ("obj", "complaints"),
    [
        pytest.param(definition(), [], id="fine"),
        pytest.param(
            definition(name="ys.a.b"),
            ['metadata.name: Invalid value: "ys.a.b": must be spec.names.plural+"."+spec.group'],
            id="name",
        ),
        pytest.param(
            definition(scope="Odd"),
            ['spec.scope: Unsupported value: "Odd": supported values: "Cluster", "Namespaced"'],
            id="scope",
        ),
        pytest.param(
            definition(version(schema=None)),
            ["spec.versions[0].schema.openAPIV3Schema: Required value"],
            id="no schema",
        ),
        pytest.param(
            definition(version(additionalPrinterColumns=[{"name": "a", "type": "odd", "jsonPath": ".a"}])),
            [
                'spec.additionalPrinterColumns[0].type: Invalid value: "odd": must be one of '
                "boolean,date,integer,number,string"
            ],
            id="column",
        ),
        pytest.param(
            definition(
                version(subresources={"scale": {"specReplicasPath": ".x.a", "statusReplicasPath": ".status.b"}})
            ),
            ['spec.subresources.scale.specReplicasPath: Invalid value: ".x.a": should be a json path under .spec'],
            id="scale",
        ),
        pytest.param(
            definition(version(selectableFields=[{"jsonPath": ".spec"}])),
            [
                'spec.selectableFields[0].jsonPath: Invalid value: ".spec": must point to a field of type string, '
                "boolean or integer. Enum string fields and strings with formats are allowed."
            ],
            id="selectable",
        ),
        pytest.param(
            definition(conversion={"strategy": "None", "webhook": {"conversionReviewVersions": ["v1"]}}),
            [
                "spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to "
                "Webhook"
            ],
            id="conversion",
        ),
        pytest.param(
            definition(version(deprecationWarning="x")),
            ['spec.versions[0].deprecationWarning: Invalid value: "x": can only be set for deprecated versions'],
            id="deprecation",
        ),
    ],
)
def test_a_definition_is_judged(judge, obj, complaints):
    assert [str(error) for error in STRATEGY.validate(obj, judge())] == complaints


def test_what_versions_do_not_share_is_named_by_version(judge):
    other = version("v2", storage=False, additionalPrinterColumns=[{"name": "a", "type": "odd", "jsonPath": ".a"}])
    errors = STRATEGY.validate(definition(version(), other), judge())
    assert [error.field for error in errors] == ["spec.versions[1].additionalPrinterColumns[0].type"]


def test_one_version_is_stored(judge):
    obj = definition(version(storage=False))
    STRATEGY.prepare_for_create(obj, judge())
    assert [error.field for error in STRATEGY.validate(obj, judge())] == [
        "spec.versions",
        "status.storedVersions",
    ]


def test_versions_once_stored_are_remembered(judge):
    old = definition()
    STRATEGY.prepare_for_create(old, judge())
    new = definition(version(storage=False), version("v2"))
    STRATEGY.prepare_for_update(new, old, judge())
    assert new["status"]["storedVersions"] == ["v1", "v2"]
    assert old["status"]["storedVersions"] == ["v1"]


def test_a_version_with_stored_objects_stays(judge):
    errors = STRATEGY.validate_update(definition(version("v2")), definition(), judge())
    assert [error.field for error in errors] == ["status.storedVersions", "status.storedVersions[0]"]


def test_names_of_an_established_definition_stay(judge):
    old = definition()
    old["status"]["conditions"] = [{"type": "Established", "status": "True"}]
    errors = STRATEGY.validate_update(definition(scope="Cluster"), old, judge())
    assert [error.field for error in errors] == ["spec.scope"]


@pytest.mark.parametrize(
    ("annotation", "complaints"),
    [("", 1), ("unapproved, an experiment", 0), ("https://github.com/x/y/pull/1", 0), ("yes", 1)],
)
def test_groups_of_the_community_need_an_approval(judge, annotation, complaints):
    obj = definition(name="xs.a.k8s.io", group="a.k8s.io")
    obj["metadata"]["annotations"] = {"api-approved.kubernetes.io": annotation} if annotation else {}
    assert len(STRATEGY.validate(obj, judge())) == complaints


@pytest.mark.parametrize(
    ("path", "why"),
    [
        pytest.param("a", "expected [ or . but got: a", id="no point"),
        pytest.param(".spec['a']", "array notation is not allowed", id="brackets"),
        pytest.param(".spec.", "unexpected end of JSON path", id="the end"),
        pytest.param(".spec.b", "does not refer to a valid field", id="nowhere"),
    ],
)
def test_a_path_to_select_by_is_told_where_it_breaks(judge, path, why):
    errors = STRATEGY.validate(definition(version(selectableFields=[{"jsonPath": path}])), judge())
    assert [str(error) for error in errors] == [
        f'spec.selectableFields[0].jsonPath: Invalid value: "{path}": is an invalid path: {why}'
    ]


def test_a_path_to_select_by_leads_through_maps_too(judge):
    labels = {"type": "object", "additionalProperties": {"type": "string"}}
    schema = {"type": "object", "properties": {"spec": labels}}
    obj = definition(version(schema=schema, selectableFields=[{"jsonPath": ".spec.any"}]))
    assert STRATEGY.validate(obj, judge()) == []


def test_what_is_selected_by_needs_a_schema(judge):
    errors = STRATEGY.validate(definition(version(schema=None, selectableFields=[{"jsonPath": ".spec.a"}])), judge())
    assert 'spec.selectableFields: Invalid value: "": may only be set when validations.schema is included' in [
        str(error) for error in errors
    ]


def test_unknown_fields_are_not_kept_as_a_whole_unless_they_were(judge):
    keeping = definition(preserveUnknownFields=True)
    (error,) = STRATEGY.validate(keeping, judge())
    assert error.detail.startswith("cannot set to true")
    assert STRATEGY.validate_update(keeping, keeping, judge()) == []
    schema = {"type": "object", "properties": {"default": {"type": "string"}, "a": {"type": "string", "default": "x"}}}
    defaulting = definition(version(schema=schema), preserveUnknownFields=True)
    details = [error.detail for error in STRATEGY.validate_update(defaulting, defaulting, judge())]
    assert details == ["must be false in order to use defaults in the schema"]


def test_the_name_of_the_first_version_is_judged_as_that_of_the_definition_too(judge):
    obj = definition(version("V1"))
    obj["status"] = {"storedVersions": ["V1"]}
    assert [error.field for error in STRATEGY.validate(obj, judge())] == [
        "spec.versions[0].name",
        "spec.version",
    ]


def test_a_missing_name_is_told_for_all_kinds_alike(judge):
    assert STRATEGY.validate(definition(name=""), judge()) == []


def test_a_storage_version_that_stands_twice_is_stored_once(judge):
    errors = [str(error) for error in STRATEGY.validate(definition(version(), version()), judge())]
    assert errors[-1] == 'status.storedVersions: Invalid value: ["v1"]: must have the storage version v1'


def test_the_root_of_a_schema_is_plain_where_a_status_is_judged_by_its_part(judge):
    alternatives = {**SCHEMA, "anyOf": [{"required": ["spec"]}]}
    plain = definition(version(schema=alternatives))
    assert STRATEGY.validate(plain, judge()) == []
    (error,) = STRATEGY.validate(definition(version(schema=alternatives, subresources={"status": {}})), judge())
    assert error.field == "spec.validation.openAPIV3Schema"
    assert error.detail.startswith("only [Description Type Format ")
    other = version("v2", storage=False, schema=alternatives, subresources={"status": {}})
    errors = STRATEGY.validate(definition(version(), other), judge())
    assert [error.field for error in errors] == ["spec.versions[1].schema.openAPIV3Schema"]
