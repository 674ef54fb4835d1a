"""Turns a status of the C interface into an exception."""

import ctypes
import gc
import os
import re

from ..errors import Error, Status, class_for
from . import ffi

# Parameters of functions in C, which a program in Python does not know.
_PARAMETER = re.compile(r"^(?:(?:class_id|nodes|text): |[a-z_]+: (?=line \d+, column \d))")
_last_error = ffi.bind("objstore_last_error")


def failure(status: int) -> Error:
    """The exception for a call of this thread that just returned `status`."""
    # What the library says lies in memory of the thread till its next failing call, which a finaliser may make: what
    # closes something that was closed already. So none runs until it was copied.
    collects = gc.isenabled()
    try:
        gc.disable()
        return _failure(status)
    finally:
        if collects:
            gc.enable()


def _failure(status: int) -> Error:
    error = ffi.Error(struct_size=ctypes.sizeof(ffi.Error))
    message = f"the library answered with status {status}"
    details: dict[str, object] = {}
    # One may have run before that: then the details are not ours.
    if _last_error(ctypes.byref(error)) == 0 and error.status == status:
        message = ffi.string(error.message) or message
        details = {
            "class_name": ffi.string(error.class_name) or None,
            "property_name": ffi.string(error.property_name) or None,
            "position": None if error.position < 0 else error.position,
            "system_error": error.system_error,
            "callback_code": error.callback_code,
        }
        message = _PARAMETER.sub("", message)
        where = f"{details['class_name']}.{details['property_name']}"
        parameter, _, rest = message.partition(": ")
        if parameter.replace("_", "").isalpha() and rest.startswith(where):
            message = rest
        reason = os.strerror(error.system_error) if error.system_error else ""
        if reason not in message:  # as a rule the library has said it
            message += f" ({reason})"
    known = Status(status) if status in Status.__members__.values() else status
    return class_for(status, error.system_error if details else 0)(message, status=known, **details)  # type: ignore[arg-type]


def check(status: int) -> None:
    if status:
        raise failure(status)
