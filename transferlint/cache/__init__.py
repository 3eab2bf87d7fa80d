"""What is kept between runs, in the user's cache folder: programs of files, what was found
in groups of them, and what whole runs said.

Entries are written whole or not at all, carry a checksum, and what cannot be read or written is made again: a damaged,
full or read-only cache costs time and nothing else. The checksum is no proof of who wrote an entry, and `marshal` must
not be given bytes of others (docs.python.org, library/marshal): a cache that others can write is not used
(`places.unfit`). The modules that a run without news goes through (`places`, `entries`, `signatures`, `runs`) import
nothing but what an interpreter has loaded anyway, and `hashlib`.
"""
