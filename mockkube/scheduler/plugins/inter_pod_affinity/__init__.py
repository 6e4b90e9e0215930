"""The plugin InterPodAffinity. Start with `plugin.py`."""
