"""Choice of perturbations from what the controller did in the reference runs."""
