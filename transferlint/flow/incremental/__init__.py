"""The analysis of a project after a change: from what is known of it before, with the same outcome as from nothing."""
