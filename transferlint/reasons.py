"""Why a place of a program runs often or rarely, or a value has to be on the host: what the analysis decides on, typed.
`wording.py` makes text of it."""

from __future__ import annotations

import enum

from transferlint import late


class Cause(enum.Enum):
    """One kind of reason. What the `name` of a `Reason` holds stands behind each that has one."""

    # Arms and loops that are entered rarely, however often the code around them runs.
    ERROR = enum.auto()
    CACHE_FILL = enum.auto()
    TABLE_GROWTH = enum.auto()
    FLAG_CLEARED = enum.auto()
    OPTION_UNUSED = enum.auto()
    FIRST_TIME = enum.auto()
    LAST_TIME = enum.auto()
    ONE_ITERATION = enum.auto()
    INTERVAL = enum.auto()
    SAMPLED = enum.auto()
    AS_PROGRAM = enum.auto()
    NO_DATA = enum.auto()
    CPU_ONLY = enum.auto()
    OLD_VERSION = enum.auto()
    EXPORT = enum.auto()
    SWITCH = enum.auto()  # the variable, attribute or key
    LOOP_EXIT = enum.auto()
    BESIDE_PLOT = enum.auto()
    BESIDE_FILE = enum.auto()
    # Functions that run rarely.
    DEVICE_CODE = enum.auto()
    TEST = enum.auto()
    OFFLINE = enum.auto()
    CACHED_RESULT = enum.auto()
    DATA_PIPELINE = enum.auto()
    RARE_EVENT = enum.auto()  # the function
    FILTERED_EVENT = enum.auto()  # the function
    REPORTING_CLASS = enum.auto()  # the class
    EXPORTED_MODEL = enum.auto()  # the class
    EPOCH_HOOK = enum.auto()  # the function
    HOST_DATA = enum.auto()  # the function
    SETUP = enum.auto()  # the function
    REMOVES_ITSELF = enum.auto()  # the function
    RARE_CALLERS = enum.auto()  # `of`: why one of its callers is rare
    # Functions that run once, and whose own loops count.
    HAS_LOOP = enum.auto()  # the function
    IMPORT = enum.auto()
    REQUEST = enum.auto()
    CALLERS_RUN_ONCE = enum.auto()
    EPOCH_RESULT = enum.auto()  # the method, with its class
    # Functions that run for every step.
    EVERY_BATCH = enum.auto()  # the function
    EVERY_ELEMENT = enum.auto()  # what goes over the elements
    EVERY_INPUT = enum.auto()  # the function
    STEP_EVENT = enum.auto()  # the function
    METER = enum.auto()  # the method, with its class
    TRAINING_STEP = enum.auto()  # the function
    COMPUTES = enum.auto()  # the function
    # What only the host can do with a value.
    SAVED = enum.auto()  # the function
    HANDED_OVER = enum.auto()  # the method, with its queue: to another process, as far as the name tells
    ENVIRONMENT = enum.auto()  # the method, with its environment
    HOST_LIBRARY = enum.auto()  # the function
    # What a table of frameworks, or the user's settings, say of a function, in their own words.
    KNOWN = enum.auto()
    # Why a hot place is doubtful in a project of which all programs are in sight.
    NOT_PLACED = enum.auto()
    NOT_REPEATED = enum.auto()
    NOT_ASKED_FOR = enum.auto()


# What a program does now and then, or if an option asks for it, such as an evaluation: a loop over steps there is as
# hot as any.
AT_TIMES = frozenset({Cause.INTERVAL, Cause.SAMPLED, Cause.ONE_ITERATION, Cause.LAST_TIME, Cause.SWITCH})

# What hardly ever happens: the loops of a function that is called only then do not count.
HARDLY_EVER = frozenset(
    {
        Cause.ERROR,
        Cause.CACHE_FILL,
        Cause.TABLE_GROWTH,
        Cause.FLAG_CLEARED,
        Cause.OPTION_UNUSED,
        Cause.FIRST_TIME,
        Cause.CPU_ONLY,
        Cause.OLD_VERSION,
        Cause.EXPORT,
    }
)


@late.dataclass(frozen=True, slots=True)
class Reason:
    """A cause, what it names in the source ("" for nothing), and the reason that it rests on."""

    cause: Cause
    name: str = ""
    of: Reason | None = None

    @property
    def root(self) -> Reason:
        """The reason at the end of the chain."""
        return self if self.of is None else self.of.root


def is_a(reason: Reason | None, *causes: Cause) -> bool:
    """Whether there is a reason, and its own cause is one of these."""
    return reason is not None and reason.cause in causes
