"""NodeResourcesFit and NodeResourcesBalancedAllocation plugins."""
