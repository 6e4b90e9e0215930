"""DynamicResources plugin: allocate devices to the resource claims of pods. Start with `plugin.py`.

`allocator.py` is the search for devices on one node.
"""
