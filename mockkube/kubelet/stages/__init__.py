"""KWOK's stages: objects of `kwok.x-k8s.io/v1alpha1` that say how the nodes and pods they select live.

`stage.py` says what a stage is, `player.py` plays it. The languages stages are written in: `gotemplate.py` and
`gopipeline.py` with the functions of `functions.py` and `sprig.py`; `jq.py` with `jq_filters.py` and `jq_functions.py`.
"""
