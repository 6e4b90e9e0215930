"""Results of a session: on the terminal, as JUnit, Markdown and HTML."""
