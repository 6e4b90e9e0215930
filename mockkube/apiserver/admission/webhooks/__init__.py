"""Admission webhooks: servers elsewhere that are asked before something is stored.

`hooks` reads configurations, `reviews` is what is said and answered, `calls` what a call may come to; the plugins are
in `plugins`. The call itself is made in `http/webhook_client.py`.
"""
