"""Settings of a cluster: flags, variables and configuration files, parsed and merged."""
