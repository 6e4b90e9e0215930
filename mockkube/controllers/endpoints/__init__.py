"""Controllers of Endpoints and EndpointSlices."""
