"""Custom and external metrics APIs: values from annotations, as adapters like prometheus-adapter would serve them.

Values are computed for each request; nothing is scraped or stored. Read `custom_metrics.py` first.
"""
