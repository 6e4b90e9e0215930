"""The plugins, one per module, named as upstream names them; `scheduler/catalogue.py` lists them."""
