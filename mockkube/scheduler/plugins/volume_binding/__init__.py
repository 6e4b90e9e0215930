"""The plugin VolumeBinding: claims whose volumes are only chosen once their pod has a node. Start with `plugin`."""
