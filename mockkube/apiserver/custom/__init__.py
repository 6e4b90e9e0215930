"""Serving of custom resources: what stored CustomResourceDefinitions bring along is served like built-in kinds.

Read `definitions` first: it follows the stored definitions and tells the registry what to serve. A `CustomResource`
is a `Resource` whose objects are read by the schema of their definition; `strategy` is what writes to it go through.
What a definition means, without any store, is `mockkube.api.custom`.
"""
