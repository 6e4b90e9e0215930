from mockkube.api.kinds.core.pod_template import PodTemplateStrategy

STRATEGY = PodTemplateStrategy()


def template(image="i"):
    return {
        "metadata": {"name": "t", "generation": 3},
        "template": {"spec": {"containers": [{"name": "c", "image": image}]}},
    }


def test_changes_are_counted(judge):
    new = template()
    STRATEGY.prepare_for_update(new, template(), judge())
    assert new["metadata"]["generation"] == 3
    new = template("j")
    STRATEGY.prepare_for_update(new, template(), judge())
    assert new["metadata"]["generation"] == 4


def test_paths_start_at_the_template(judge):
    errors = STRATEGY.validate(template(image=""), judge())
    assert all(error.field.startswith("template.spec.") for error in errors)
    assert errors != []
