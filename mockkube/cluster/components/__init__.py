"""Components beside the API servers: built, run and restarted as the control API asks."""
