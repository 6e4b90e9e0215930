"""What shapes or refuses an object before it is stored: one module per plugin, listed in catalogue.py."""
