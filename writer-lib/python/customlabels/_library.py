"""Finds libcustomlabels.so, loads it, and reports what was tried if there is none.

The functions are called by ctypes.PyDLL, which keeps the GIL: a call takes some nanoseconds, and
giving the GIL up and taking it again would take longer than that.
"""

import ctypes
import os
import sysconfig

NAME = "libcustomlabels.so"
# CUSTOMLABELS_LIBRARY names the file, or is "none": then the program runs without labels.
VARIABLE = "CUSTOMLABELS_LIBRARY"

_CALLS = {
    "custom_labels_new": (ctypes.c_void_p, [ctypes.c_size_t]),
    "custom_labels_free": (None, [ctypes.c_void_p]),
    "custom_labels_replace": (ctypes.c_void_p, [ctypes.c_void_p]),
    "custom_labels_update": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]),
}


class LibraryNotFound(ImportError):
    """libcustomlabels.so is not there, or not as it should be. The text has the smallest fix."""


class NoLibrary:
    """Stands for the library in a program that shall run without labels."""

    def __getattr__(self, name):
        if name not in _CALLS:
            raise AttributeError(name)
        return lambda *_: 0 if name == "custom_labels_update" else None


def _beside_this_package():
    """Returns where an installation has the library: the package is PREFIX/lib/python3/dist-packages/customlabels."""
    lib = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", "..", ".."))
    architecture = sysconfig.get_config_var("MULTIARCH") or f"{os.uname().machine}-linux-gnu"
    return [os.path.join(lib, *folder, NAME) for folder in ([], [architecture], ["..", "lib64"])]


def _open(file):
    """Returns the library and None, or None and why not. An empty name is the process itself."""
    try:
        library = ctypes.PyDLL(file or None)
    except OSError as error:
        return None, str(error).removeprefix(f"{file}: ")
    missing = [name for name in _CALLS if not hasattr(library, name)]
    if missing:
        return None, "it has not loaded the library" if not file else f"it has no {missing[0]}, so it is another library"
    for name, (result, arguments) in _CALLS.items():
        getattr(library, name).restype = result
        getattr(library, name).argtypes = arguments
    return library, None


def load(environ=os.environ):
    """Returns the library with its functions and where it was found, or raises LibraryNotFound."""
    named = environ.get(VARIABLE)
    if named == "none":
        return NoLibrary(), None
    if named and not (os.path.basename(named).startswith("libcustomlabels") and named.endswith(".so")):
        raise LibraryNotFound(f"{VARIABLE} is {named!r}; readers of labels look only into files named libcustomlabels*.so")
    # A library that is in the process already, preloaded or linked, must not come a second time.
    files = [named] if named else ["", NAME, *_beside_this_package()]
    tried = []
    for file in files:
        library, why = _open(file)
        if library:
            return library, file or "the process"
        tried.append(f"  {file or 'the process itself'}: {why}")
    raise LibraryNotFound(
        f"{NAME} cannot be loaded, so nothing can publish labels. This was tried:\n" + "\n".join(tried) + "\n"
        f"Install the package libcustomlabels (after an installation by CMake: sudo ldconfig), or name the file: "
        f"{VARIABLE}=/path/to/{NAME}. With {VARIABLE}=none the program runs without labels.")


library, path = load()
