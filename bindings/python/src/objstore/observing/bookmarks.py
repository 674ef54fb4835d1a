"""Bookmarks: a version of a store, in bytes that a program writes down."""

import ctypes

from ..errors import InvalidArgument
from ..messages import shown
from ..native import ffi
from ..native.failures import check

BYTES = ctypes.sizeof(ffi.Bookmark)
_view_bookmark = ffi.bind("objstore_view_bookmark")
_token_bookmark = ffi.bind("objstore_token_bookmark")


def of_view(view: int) -> bytes:
    found = ffi.Bookmark()
    check(_view_bookmark(view, ctypes.byref(found)))
    return bytes(found)


def of_token(token: object) -> bytes:
    found = ffi.Bookmark()
    check(_token_bookmark(token, ctypes.byref(found)))
    return bytes(found)


def given(value: object) -> ffi.Bookmark:
    """What a program has written down. InvalidArgument: it is none."""
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise InvalidArgument(f"a bookmark is bytes, {BYTES} of them, not {shown(value)}")
    content = bytes(value)
    if len(content) != BYTES:
        raise InvalidArgument(f"a bookmark has {BYTES} bytes, not {len(content)}")
    return ffi.Bookmark.from_buffer_copy(content)
