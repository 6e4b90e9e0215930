"""The plugin DynamicResources: devices for the claims of pods. Start with `plugin`; `search` is the allocator."""
