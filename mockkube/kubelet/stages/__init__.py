"""KWOK stages: objects of `kwok.x-k8s.io/v1alpha1` that simulate the life of nodes and pods.

`stage.py` parses a stage, `stage_controller.py` plays it. Templates: `gotemplate.py` and `gotemplate_pipeline.py` with
the functions of `template_functions.py` and `sprig.py`. Selectors: `jq.py` with `jq_filters.py` and `jq_functions.py`.
"""
