"""cronjob-controller."""
