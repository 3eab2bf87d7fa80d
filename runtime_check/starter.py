"""Where the program's process starts: `python .../runtime_check/starter.py FOLDER RANK`. A file, so that no frame of it
is taken for the program's, and so small that it leaves nothing in `__main__`."""

import sys

if __name__ == "__main__":
    if not getattr(sys.flags, "safe_path", False):  # 3.11
        del sys.path[0]  # the folder of this file, in which the program has no business
    from runtime_check.launch import main

    main()
