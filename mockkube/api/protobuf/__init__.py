"""Kubernetes' protobuf encoding: `application/vnd.kubernetes.protobuf` to JSON dicts and back.

Messages are not compiled from upstream's `generated.proto` but derived: `layout.py` joins the schema with the field
numbers of `data/gotypes.json`; `decoding.py` and `encoding.py` compile a type into closures on first use. Pruning and
typing stay with `codec.py`, which takes the decoded value as it takes JSON. Start with `envelope.py`.
"""
