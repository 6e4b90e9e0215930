"""What pictures show, with positions in pixels: timelines and maps of harm. Templates draw them."""
