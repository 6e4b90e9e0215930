"""Scheduler plugins, one per module, with upstream's names; `scheduler/catalogue.py` lists them."""
