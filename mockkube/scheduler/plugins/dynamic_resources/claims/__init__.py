"""Resource claims of a pod: their requests, compiled, and the allocations that are known of them."""
