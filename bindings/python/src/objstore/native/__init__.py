"""The C library by ctypes: its functions and structures, its handles, its errors, and its calls of Python functions."""
