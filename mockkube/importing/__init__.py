"""Import of clusters: dumps and live clusters become snapshots, from which clusters start.

Start with `cluster_import`: it takes objects (from `dump_files`, `etcd_dump` or `live_objects`), adapts them
(`redaction`, `webhooks`, `owner_references`) and encodes them for the store (`object_encoder`). `movements` lists what
changes by itself in a cluster that starts from the result. Nothing here starts a cluster with an address.
"""
