"""PodTopologySpread plugin. Start with `plugin.py`."""
