"""From a checked tree to closures that evaluate it and count its cost."""
