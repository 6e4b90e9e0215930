"""InterPodAffinity plugin. Start with `plugin.py`."""
