"""Every way in which a device value becomes text. Counts follow torch/_tensor_str.py line by line."""

import io
import logging

import torch

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
logging.basicConfig(level=logging.WARNING, handlers=[logging.NullHandler()])

half = torch.full((), 2.25, device=DEVICE)
ids = torch.arange(3, device=DEVICE)
values = torch.arange(1.5, 3.5, device=DEVICE)  # 1.5 and 2.5
whole = torch.arange(1.0, 3.0, device=DEVICE)  # 1 and 2
print(f"{half}", f"{half:.3f}", "{:5.1f}".format(half), format(half))  # noqa: UP032  # transfers: d2h 4 B x 4
print("%.2f" % half, "%d" % ids[2])  # noqa: UP031  # transfers: d2h 4 B x 1, d2h 8 B x 1
# Integers: each is formatted for its width, then all are copied.
print(ids)  # transfers: d2h 8 B x 3, d2h 24 B x 1
# Floats: the finite ones are selected, which waits. Reads of a flag: is the first whole (no: enough seen); are they far
# apart, is the largest large (the third answer of that `or` stays on the device, unasked, as `sci_mode`); `sci_mode`
# for the widths, then once for each element that is written. Each is formatted for its width, then all are copied.
print(values)  # transfers: wait 4 B x 1, d2h 1 B x 6, d2h 4 B x 2, d2h 8 B x 1
# Whole floats: both are asked whether they are.
print(whole)  # transfers: wait 4 B x 1, d2h 1 B x 7, d2h 4 B x 2, d2h 8 B x 1
# No dimensions: as one element, but the value is read by `item`.
print(half)  # transfers: wait 4 B x 1, d2h 1 B x 5, d2h 4 B x 2
text = str(ids) + repr(ids) + f"{ids}"  # transfers: d2h 8 B x 9, d2h 24 B x 3
print(len(text.replace(", device='cuda:0'", "")), {"loss": half} == {}, [half].index(half))
logging.warning("loss %.3f", half)  # a handler that formats nothing reads nothing
logging.debug("ids %s", ids)  # and so does a level that is off
logging.debug(f"loss {half:.3f}")  # the text is made before the level is asked  # transfers: d2h 4 B x 1
log = logging.getLogger("to a stream")
log.addHandler(logging.StreamHandler(io.StringIO()))
log.warning("loss %.3f", half)  # transfers: d2h 4 B x 1
print(values.shape, values.dtype, values.stride(), len(values))  # what the host knows
