"""KubeSchedulerConfiguration: parsing, defaults, validation, profiles."""
