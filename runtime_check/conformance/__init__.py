"""`python -m runtime_check.conformance`: does every API of the knowledge tables move and wait as its row says?

Each is called once, in the smallest way that its row speaks of, under the recorder; where there is a CUDA driver, once
more under torch's profiler, which sees what the driver did. On the simulated device this checks the simulation.
"""
