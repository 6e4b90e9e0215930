"""Users and tokens of service accounts, without registry and HTTP. Start with `user`."""
