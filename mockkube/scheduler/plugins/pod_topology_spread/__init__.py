"""The plugin PodTopologySpread. Start with `plugin.py`."""
