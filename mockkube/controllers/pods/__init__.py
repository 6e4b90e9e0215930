"""Controllers of pods, and functions shared by controllers that own pods."""
