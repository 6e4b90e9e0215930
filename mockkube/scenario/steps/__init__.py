"""What a scenario does: a module for each verb."""
