"""Steps of scenarios: a module for each verb."""
