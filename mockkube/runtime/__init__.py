"""What running code takes from outside: clock, chance, identity, task groups."""
