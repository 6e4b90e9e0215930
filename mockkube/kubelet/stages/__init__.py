"""KWOK's stages: objects of `kwok.x-k8s.io/v1alpha1` that say how the nodes and pods they select live.

`stage.py` says what a stage is, `gotemplate.py` and `jq.py` speak the two languages stages are written in.
"""
