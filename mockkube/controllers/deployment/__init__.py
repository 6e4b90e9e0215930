"""deployment-controller. Read `deployment.py` first."""
