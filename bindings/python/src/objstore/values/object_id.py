"""Object ids: twelve bytes that name something, wherever it is made."""

import builtins
import ctypes
from datetime import datetime, timedelta, timezone
from functools import total_ordering
from typing import Any

from ..native import ffi
from ..native.failures import check

_new = ffi.bind("objstore_object_id_new")
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


@total_ordering
class ObjectId:
    """Twelve bytes: the time in seconds, random bytes of the process that made it, a counter. Ordered by its bytes, so
    that those of one process ascend.

        class Photo(objstore.Model):
            id: ObjectId = field(primary_key=True)

        Photo(id=ObjectId())                               # one that is made only once
        ObjectId("65f1c0a8e4b0a1b2c3d4e5f6")               # from its 24 hexadecimal digits
        ObjectId(bytes_)                                   # from its 12 bytes
    """

    __slots__ = ("bytes",)

    bytes: builtins.bytes

    def __init__(self, value: "str | builtins.bytes | ObjectId | None" = None) -> None:
        if value is None:
            made = ctypes.create_string_buffer(12)
            check(_new(ctypes.addressof(made)))
            content = made.raw
        elif isinstance(value, ObjectId):
            content = value.bytes
        elif isinstance(value, str):
            try:
                content = builtins.bytes.fromhex(value) if len(value) == 24 and value.isalnum() else b""
            except ValueError:
                content = b""
            if not content:
                raise ValueError(f"an object id has 24 hexadecimal digits: {value!r} is none")
        elif isinstance(value, builtins.bytes):
            content = value
            if len(content) != 12:
                raise ValueError(f"an object id has 12 bytes, not {len(content)}")
        else:
            raise TypeError(f"an object id is made of a str, of bytes or of nothing, not of {value!r}")
        object.__setattr__(self, "bytes", content)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("an ObjectId cannot be changed")

    def __delattr__(self, name: str) -> None:
        raise AttributeError("an ObjectId cannot be changed")

    @property
    def hex(self) -> str:
        """24 hexadecimal digits."""
        return self.bytes.hex()

    @property
    def timestamp(self) -> datetime:
        """When it was made, to the second."""
        return _EPOCH + timedelta(seconds=int.from_bytes(self.bytes[:4], "big"))

    def __bytes__(self) -> builtins.bytes:
        return self.bytes

    def __eq__(self, other: object) -> bool:
        return self.bytes == other.bytes if isinstance(other, ObjectId) else NotImplemented

    def __lt__(self, other: "ObjectId") -> bool:
        return self.bytes < other.bytes if isinstance(other, ObjectId) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.bytes)

    def __str__(self) -> str:
        return self.hex

    def __repr__(self) -> str:
        return f"ObjectId({self.hex!r})"

    def __reduce__(self) -> Any:
        return ObjectId, (self.bytes,)
