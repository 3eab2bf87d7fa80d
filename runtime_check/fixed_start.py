"""Where the process of a run of `verify --fixed` starts: `python .../runtime_check/fixed_start.py FOLDER ROOT`; as
`starter.py`, which see."""

import sys

if __name__ == "__main__":
    if not getattr(sys.flags, "safe_path", False):  # 3.11
        del sys.path[0]  # the folder of this file, in which the program has no business
    from runtime_check.fixed_child import main

    main()
