"""Versions, feature gates, release trains, skew: tables and look-ups, no behaviour.

Read `gates` first: which gates are on at a version. `flags` judges what somebody asks for, `standing` the versions a
component emulates, `skew` the versions side by side; `table` holds upstream's history, `trains` that of the proposals.
"""
