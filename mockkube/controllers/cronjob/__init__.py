"""cronjob-controller. Read `cronjob.py` first."""
