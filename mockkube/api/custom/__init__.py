"""What a CustomResourceDefinition says of its objects: pruning, defaults, validation, columns. Pure: no store, no HTTP.

Read `structural` first (a schema as a tree), then `definition` (what one definition declares). Rules in CEL are not
judged here: they need `matching`, and live with the serving of custom resources in `apiserver/custom`.
"""
