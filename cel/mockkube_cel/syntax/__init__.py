"""From text to syntax tree: lexer, parser, macros."""
