module example.com/stale-deletion

go 1.21
