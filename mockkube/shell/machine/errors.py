"""Error of all parts of the shell."""


class Unsupported(Exception):
    """The interpreter does not support, or cannot know, what happens from here on."""
