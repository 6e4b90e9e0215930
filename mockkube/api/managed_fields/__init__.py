"""Who manages which field: server-side apply, and the managedFields that every write keeps up to date.

Start with `tracking`, which says what a write does to an object; `scale` is about the one object that is two. Beneath:
`merging` (what an apply makes of all managers' sets), `reach` (what an endpoint writes), `managers` (entries of
managedFields), the walks over typed values (`validate`, `compare`, `merge`, `prune`, `extent`, `reconcile`), and at
the bottom `field_set` and `types`. Pure: no clock, no store, no codec.
"""
