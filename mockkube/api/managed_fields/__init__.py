"""Field management: managedFields of every write, and server-side apply. No clock, store or codec.

Start with `tracking`, which updates the managedFields of an object; `scale` maps them between a workload and its
Scale. Below it: `merging` (update and apply on the field sets of all managers), `reach` (fields that a resource or
subresource writes), `managers` (entries of managedFields), the walks over typed values (`validate`, `compare`,
`merge`, `prune`, `extent`, `reconcile`), and at the bottom `field_set` and `types`.
"""
