"""Writes the reports of a capture as JSON: example.py LIBRARY CAPTURE [SYSROOT]"""

import ctypes
import json
import sys

library = ctypes.CDLL(sys.argv[1])
library.backsight_open.restype = ctypes.c_size_t
library.backsight_open.argtypes = [ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)]
library.backsight_json.restype = ctypes.c_void_p
library.backsight_json.argtypes = [ctypes.c_size_t, ctypes.c_char_p, ctypes.POINTER(ctypes.c_void_p)]
library.backsight_close.argtypes = [ctypes.c_size_t]
library.backsight_free.argtypes = [ctypes.c_void_p]


def taken(text):
    """A text of the library, which is freed; None for NULL."""
    if not text:
        return None
    value = ctypes.string_at(text)
    library.backsight_free(text)
    return value


message = ctypes.c_void_p()
options = {"sysroot": sys.argv[3:]} if sys.argv[3:] else {}
session = library.backsight_open(json.dumps(options).encode(), ctypes.byref(message))
if not session:
    sys.exit(taken(message.value).decode())
sys.stdout.buffer.write(taken(library.backsight_json(session, sys.argv[2].encode(), ctypes.byref(message))))
sys.stdout.flush()
failure = taken(message.value)
library.backsight_close(session)
sys.exit(failure.decode() if failure else 0)
