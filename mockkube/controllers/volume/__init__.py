"""Controllers of PersistentVolumes and PersistentVolumeClaims."""
