"""Users and tokens of service accounts. Nothing here knows of the registry or of HTTP; start with `user`."""
