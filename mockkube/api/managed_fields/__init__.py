"""Field management: managedFields of every write, and server-side apply. No clock, store or codec.

Start with `updater`, which updates the managedFields of an object; `scale` maps them between a workload and its
Scale. Below it: `merge_updater` (update and apply on the field sets of all managers), `reset_fields` (fields that a
resource or subresource writes), `managers` (entries of managedFields), the walks over typed values (`validate`,
`compare`, `merge_values`, `remove_fields`, `value_field_set`, `reconcile`), and at the bottom `field_set` and
`types`.
"""
