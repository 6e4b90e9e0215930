"""CustomResourceDefinitions: pruning, defaults, validation and columns of custom resources, without store and HTTP.

Read `structural` first (a schema as a tree), then `crd` (what a CRD declares). CEL rules are evaluated in
`apiserver/custom`, because they need `matching`.
"""
