"""Amounts of resources, as plugins import them."""

from mockkube.api.resources import Resources, milli, units

__all__ = ["Resources", "milli", "units"]
