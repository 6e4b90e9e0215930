"""OpenAPI documents, built from the kinds that the server serves and the schemas of its version.

Discovery, which lists the same resources without schemas, is another module. Read `openapi_documents.py` first, then
`operations.py` and `schemas.py`.
"""
