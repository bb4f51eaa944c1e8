"""Many designs at once: what varies, on this machine or a cluster."""
