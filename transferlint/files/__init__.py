"""Files and folders: work trees, what git ignores, patterns of paths, and writing a file whole or not at all."""
