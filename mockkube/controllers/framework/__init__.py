"""Framework of controllers: base class, worker, expectations, owner references, informers with own writes."""
