"""The plugins VolumeRestrictions, VolumeZone and NodeVolumeLimits."""
