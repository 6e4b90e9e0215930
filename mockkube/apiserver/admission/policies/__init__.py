"""Admission policies in CEL: matching, compilation and evaluation.

`matching` and `expressions` serve webhooks, too. Start with the plugin in `validating`.
"""
