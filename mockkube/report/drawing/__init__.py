"""Content of pictures with positions in pixels: timelines, orders, tiles and maps of harm. Templates draw them."""
