"""Who may do what: the rules of roles, the grants of bindings, and the verdict. Read authorizer.py first."""
