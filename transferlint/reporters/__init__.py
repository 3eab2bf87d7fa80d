"""What a run found, in the form that somebody reads: one file a format, each from a `Report` to a text."""
