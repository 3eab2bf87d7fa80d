"""What is known of one value, and what crosses: the lattice that all of the analysis works on."""
