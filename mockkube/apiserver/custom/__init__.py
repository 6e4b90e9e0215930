"""Custom resources: serve what stored CustomResourceDefinitions define, like built-in kinds.

Read `crd_controller` first: it follows the stored CRDs and registers their resources. A `CustomResource` is a
`Resource` whose objects are decoded by the schema of their CRD; `strategy` validates writes. What a CRD means, without
any store, is in `mockkube.api.custom`.
"""
