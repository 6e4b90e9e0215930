"""Versions, feature gates, release trains and version skew: tables and lookups.

Read `gates` first: which gates are enabled at a version. `flags` validates the flags of a component,
`effective_version` holds the versions it emulates, `skew` compares versions of components; `gate_table` holds
upstream's history, `trains` that of proposals.
"""
