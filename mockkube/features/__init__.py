"""Versions, feature gates, release trains, skew: tables and look-ups, no behaviour."""
