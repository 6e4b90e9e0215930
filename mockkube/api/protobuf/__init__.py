"""Objects as Kubernetes' protobuf: `application/vnd.kubernetes.protobuf` in, JSON dicts out, and back.

The messages of upstream's `generated.proto` are not compiled but derived: `layout.py` joins the schema with the field
numbers of `data/gotypes.json`; `decoding.py` and `encoding.py` compile a type into closures when it is first used.
Pruning and typing stay with `codec.py`, which takes what is read here as it takes JSON. Start with `envelope.py`.
"""
