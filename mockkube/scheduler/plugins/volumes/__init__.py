"""VolumeRestrictions, VolumeZone and NodeVolumeLimits plugins."""
