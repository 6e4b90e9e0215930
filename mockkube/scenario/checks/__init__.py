"""What a scenario claims: a module for each verb."""
