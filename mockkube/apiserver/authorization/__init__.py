"""RBAC and node authorization, access reviews and impersonation. Read authorizer.py first."""
