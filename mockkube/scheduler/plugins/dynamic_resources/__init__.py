"""DynamicResources plugin: allocate devices to the resource claims of pods. Start with `plugin.py`.

`devices/` is what nodes offer, `claims/` what pods request; `allocation/allocator.py` searches one node.
"""
