"""What a run showed, for people and machines: one file a form, all from the same plain data (`view`)."""
