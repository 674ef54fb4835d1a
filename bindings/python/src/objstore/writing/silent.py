"""Silent writes: observers that are not told of one."""

import ctypes
from typing import Any

from ..errors import Closed, InvalidArgument
from ..native import ffi
from ..native.failures import check

_without_notifying = ffi.bind("objstore_without_notifying")


class AnyToken:
    """What an observer's token, or a stream, is for writes, which know nothing of observers else."""

    __slots__ = ()

    @property
    def is_closed(self) -> bool:
        raise NotImplementedError

    @property
    def _observer(self) -> ctypes.c_void_p:
        """What has the library's handle."""
        raise NotImplementedError


def silence(transaction: int, tokens: tuple[Any, ...]) -> None:
    handles = (ctypes.c_void_p * len(tokens))(*map(_handle_of, tokens))
    check(_without_notifying(transaction, handles, len(tokens)))


def _handle_of(token: Any) -> int | None:
    if not isinstance(token, AnyToken):
        raise InvalidArgument(
            f"the token of an observer is wanted, which observe() returns, or a stream of changes(), not {token!r}"
        )
    if token.is_closed:
        raise Closed("a token was closed: its observer is told of nothing any more")
    return token._observer.value
