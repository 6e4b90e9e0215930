"""Controllers of pods, and what controllers that own pods share."""
