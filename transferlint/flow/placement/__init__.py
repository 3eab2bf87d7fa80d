"""Where every value lives: the transfer functions of instructions and calls, and what functions know of each other."""
