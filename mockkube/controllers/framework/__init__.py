"""Parts that controllers share: base class, worker, expectations, caches of own writes."""
