"""Sync of one pod: what the kubelet does next, and the status it reports. Start with `pod_syncer`."""
