"""Names, classes and calls across files: who is called, from the text of the files alone."""
