"""HTTP side of an API server: parse requests, call the registry, render responses. Read router.py first."""
