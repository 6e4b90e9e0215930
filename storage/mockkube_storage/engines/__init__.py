"""Engines that implement the Store protocol; catalogue.py lists them."""
