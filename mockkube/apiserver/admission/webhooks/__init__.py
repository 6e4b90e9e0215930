"""Admission webhooks: matching, AdmissionReviews and the plugins that call them.

`webhook` reads configurations, `reviews` builds requests and checks responses, the plugins are in `plugins`. The HTTP
call is made by `http/webhook_client.py`.
"""
