"""Pure semantics shared by every component: taints, node selectors, integers, semver, CEL."""
