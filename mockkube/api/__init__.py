"""What a resource is: schemas per version, catalogue, codec, selectors, errors; a strategy per kind that needs one."""
