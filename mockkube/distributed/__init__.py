"""Run calls on the workers of a Dask cluster, with the same results as in this process.

`dask_pool` is the side of the command line: it connects, checks the workers and collects results (read it first). A
task is one `WorkerCall`, except for paths of explorations (`explore/worker_paths.py`). The worker passes it to a child
process (`call_processes`, `call_server`), so that a worker with several threads uses several cores, and the proposals,
working directory and logs of one run do not affect others.
`run_environment` is what those processes need besides the code: proposals and files, which are sent with the call.
`code_version` compares the code.

Only `dask_pool` and `call_processes` import Dask, which is an optional dependency.
"""
