"""Policies in CEL: which requests they are for, what their expressions may say, and what comes of them.

`matching` and `expressions` serve webhooks too; `validating` is the plugin that refuses. Start with that.
"""
