"""job-controller. Read `job.py` first."""
