"""OpenAPI: the documents that tell clients what is served, made of the schemas of the served version.

Not discovery, which says the same in fewer words. Read `edition.py` first, then `operations.py` and `schemas.py`.
"""
