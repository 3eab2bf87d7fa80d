"""What a user may set, in a file or on the command line: its keys, how they are read, and which rules they select."""
