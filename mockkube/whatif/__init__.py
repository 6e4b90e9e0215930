"""What-if: a cluster with and without a change, side by side in virtual time.

Read `what_if` first: it plays the variants. `changes` parses and describes what changes, `variant_player` plays one
variant, `observer` watches it, `results` holds its result.
"""
