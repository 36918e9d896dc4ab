"""Reads what the calling thread publishes, by the ABI alone (writer-lib/ABI.md), as any reader does."""

import ctypes

import customlabels

_library = ctypes.PyDLL(None if customlabels.path == "the process" else customlabels.path)


class _String(ctypes.Structure):
    _fields_ = [("len", ctypes.c_size_t), ("buf", ctypes.c_void_p)]

    def bytes(self):
        return ctypes.string_at(self.buf, self.len)


class _Label(ctypes.Structure):
    _fields_ = [("key", _String), ("value", _String)]


class _Set(ctypes.Structure):
    _fields_ = [("storage", ctypes.POINTER(_Label)), ("count", ctypes.c_size_t), ("capacity", ctypes.c_size_t)]


def published():
    # dlsym gives the address of the calling thread's variable.
    current = ctypes.POINTER(_Set).in_dll(_library, "custom_labels_current_set")
    if not current:
        return None
    labels = [current.contents.storage[i] for i in range(current.contents.count)]
    return {label.key.bytes().decode(): label.value.bytes().decode() for label in labels if label.key.buf}
