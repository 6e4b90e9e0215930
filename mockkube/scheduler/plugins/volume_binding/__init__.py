"""VolumeBinding plugin: bind claims whose volumes are chosen together with the pod's node. Start with `plugin.py`."""
