"""Label sets, and scopes that set them: where labels are kept, and when they are published.

Labels are kept in a context variable, so each task has its own, and a task has those of the task
that started it. What a reader sees belongs to the thread: one pointer in libcustomlabels.so.

    context variable ---> Scope ---> Scope ---> None      the innermost scope is first
                            |          |
                          LabelSet   LabelSet             each holds all labels, the outer ones too
                            ^
    thread (C) -------------+                             what is published now

Entering and leaving a scope changes both. Whatever else changes the context of a thread (a task
that resumes, a function that an executor calls) must publish, too: Steps and inherit do that.

A set that a thread publishes must not be freed. So each thread holds a reference to it. This is a
matter of the operating system's threads: gevent and eventlet put a local of each greenlet in the
place of threading.local, and one greenlet would free what another one has published.

A handler of a signal may raise an exception after any call that is made here: KeyboardInterrupt, or
a time-out. So what a call changes is put back by a `finally`, or by an `except` that ends with
`raise`; and a set is held before it is published, and until another one is. Only at the first
instruction of __exit__, before its `try`, an exception leaves the labels of the scope behind.
"""

import collections.abc
import contextvars
import ctypes
import functools
import importlib.machinery
import importlib.util
import inspect
import sys
import threading
import warnings
import weakref

from ._library import library

# The limits are those of the C library for labels of a thread (customlabels/writer.h), in bytes.
MAX_KEY = 128
MAX_VALUE = 256

_new = library.custom_labels_new
_free = library.custom_labels_free
_replace = library.custom_labels_replace
_update = library.custom_labels_update
_getframe = sys._getframe
_reference = weakref.ref


class _Label(ctypes.Structure):
    """Is custom_labels_label_t."""

    _fields_ = [("key_len", ctypes.c_size_t), ("key", ctypes.c_char_p), ("value_len", ctypes.c_size_t), ("value", ctypes.c_char_p)]


class LabelSet:
    """Is a set of the library with these labels. It does not change."""

    __slots__ = ("handle", "pairs")

    def __init__(self, pairs):
        self.pairs = pairs
        self.handle = None
        self.handle = _new(len(pairs))
        array = (_Label * len(pairs))(*[(len(key), key, len(value), value) for key, value in pairs.items()])
        if _update(self.handle, array, len(pairs)) != 0:
            raise MemoryError("no memory for a set of labels")

    # When the interpreter ends, threads that it has stopped may still have their sets. If the
    # collector calls this, a coroutine of the same cycle may run once more, under no labels.
    def __del__(self, free=_free, ends=sys.is_finalizing):
        handle = getattr(self, "handle", None)
        if handle is not None and not ends():
            self.handle = None
            free(handle)


class _Published:
    """Is what one thread publishes."""

    __slots__ = ("label_set", "scope", "first", "followed", "run")

    def __init__(self):
        self.run = None  # what the innermost call of _run_under found, a list
        self.scope = None  # a weak reference to the one that was entered last, of whatever context
        self.first = None  # that of the one that was entered first since _run_under was called
        self.label_set = None  # or it is a set that C code has made current
        self.followed = False  # the thread runs a step of a coroutine that Steps follows


class _Withdrawal:
    """Takes away what a thread publishes when Python forgets the thread. One that C code has started goes on then."""

    __slots__ = ("published", "thread")

    def __init__(self, published):
        self.published = published
        self.thread = threading.get_native_id()

    # In a child of fork, the thread that goes on forgets the others.
    def __del__(self, replace=_replace, thread=threading.get_native_id, ends=sys.is_finalizing):
        if self.published.label_set is not None and self.thread == thread() and not ends():
            replace(None)


def _local_of_threads():
    """Returns threading.local, also if something else stands in its place."""
    if threading.local.__module__ == "_thread":
        return threading.local
    spec = importlib.machinery.BuiltinImporter.find_spec("_thread")
    unpatched = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(unpatched)
    return unpatched._local


class _Thread(_local_of_threads()):
    def __init__(self):
        self.published = _Published()
        self.withdrawal = _Withdrawal(self.published)


_thread = _Thread()
_innermost = contextvars.ContextVar("customlabels", default=None)


class Scope:
    """Is one entry of a `with`, of a decorated function, or of a function that has inherited labels.

    The scopes that a thread has entered refer to each other weakly: a context that can leave a scope
    keeps it. One that no context has any more is never left.
    """

    # `below` is the scope that its thread had entered last before, and `above` the one that it entered next.
    # What was published before is a LabelSet or None, and a handle of the library.
    __slots__ = ("owner", "label_set", "outer", "published", "first", "itself", "below", "above", "set_before",
                 "handle_before", "__weakref__")

    def __init__(self, owner, label_set, outer):
        self.owner = owner
        self.label_set = label_set
        self.outer = outer

    def leave(self, published, failed=False):
        """Brings back what was there before. It may be called again if it was interrupted.

        The handle is of no use in another thread, where a coroutine may go on: it may be that of the
        first thread's own set. And it is of no use if the collector has taken its set.
        """
        is_last = published.scope is self.itself or self._is_last(published, failed)
        if not is_last and self._give_way(published):
            _innermost.set(self.outer)
            return
        below = self.below and self.below()
        before = self.set_before
        handle = self.handle_before
        if published is not self.published or (before is not None and before.handle is None):
            handle = before and before.handle
        _replace(handle)
        published.label_set = before
        if is_last:
            published.scope = self.below
        if below is not None and below.above is self.itself:
            below.above = None
        _innermost.set(self.outer)

    def _is_last(self, published, failed):
        """Returns whether all scopes that the thread entered after this one are abandoned.

        What has failed abandons those within it. Without a failure, one within it is that of a task
        that it has started, and is open. The last one is None if it was abandoned and is freed.
        """
        inner = published.scope and published.scope()
        if inner is None:
            return published.first is self.first and (self.above is None or self.above() is None)
        while failed and inner is not None and inner is not self:
            inner = inner.outer
        return inner is self

    def _give_way(self, published):
        """Lets the scope that this thread entered next, in another context, bring back what this one found.

        Greenlets, and tasks that nothing follows, may leave their scopes in another order than they
        entered them. What the last one has set stays published until its end.
        """
        above = self.above and self.above()
        if above is None or published.first is not self.first:
            return False
        below = self.below and self.below()
        above.below, above.set_before, above.handle_before = self.below, self.set_before, self.handle_before
        if below is not None:
            below.above = self.above
        return True


def _innermost_set():
    scope = _innermost.get()
    return scope and scope.label_set


def _run_under(label_set, followed, function, arguments, names):
    """Calls a function while the thread publishes this set, and then publishes what it did before."""
    published = _thread.published
    set_before = published.label_set
    # The handle holds if a handler raises before the library has said what was published.
    before = [published.run, published.scope, published.first, set_before, published.followed, set_before and set_before.handle]
    try:
        # A scope that goes on in a later step has nothing to do with those of this one.
        published.run, published.scope, published.first = before, None, None
        published.label_set, published.followed = label_set, followed
        before[5] = _replace(label_set and label_set.handle)
        return function(*arguments, **names)
    finally:
        if published.run is before or not _give_way_to_run(published, before):
            published.run, published.scope, published.first, published.label_set, published.followed, handle_before = before
            _replace(handle_before)


def _give_way_to_run(published, before):
    """Lets the call of _run_under that began next bring back what this one found.

    Greenlets take turns within their calls, which then end in another order than they began.
    """
    above = published.run
    while above is not None and above[0] is not before:
        above = above[0]
    if above is None:
        return False
    above[:] = before
    return True


def _text(label, what, text, limit):
    if isinstance(text, bytes):
        return text[:limit]
    if isinstance(text, int):
        text = str(text)
    if not isinstance(text, str):
        raise TypeError(f"label {label!r}: a {what} is a str, bytes or an int, not {type(text).__name__}")
    try:
        encoded = text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"label {label!r}: the {what} {text!r} cannot be UTF-8: {error.reason}") from None
    # A character that would be cut is left out.
    return encoded if len(encoded) <= limit else encoded[:limit].decode(errors="ignore").encode()


def _key(key):
    if not isinstance(key, (str, bytes)):
        raise TypeError(f"the key of a label is a str or bytes, not {type(key).__name__}")
    if not key:
        raise ValueError("the key of a label is empty")
    return _text(key, "key", key, MAX_KEY)


class labels:  # noqa: N801, it reads like a function
    """Sets labels for a `with`, or for each call of a function or async function that it decorates.

    labels(tenant="acme"), or labels({"http.route": "/pay"}) for keys that are no names of Python.
    They come on top of those that are there, and what was there before is back afterwards. One
    object may be used any number of times, by any threads and tasks.
    """

    __slots__ = ("_pairs", "_built")

    def __init__(self, mapping=(), /, **names):
        self._pairs = {_key(key): _text(key, "value", value, MAX_VALUE) for key, value in {**dict(mapping), **names}.items()}
        self._built = None

    def _push(self):
        """Enters a scope of the context, and publishes nothing."""
        outer = _innermost.get()
        below = outer and outer.label_set
        built = self._built
        # The set that was built last is used again if it is on top of the same labels, and the collector has not taken it.
        if built is None or built[0] is not below or built[1].handle is None:
            built = self._built = below, LabelSet({**below.pairs, **self._pairs} if below else self._pairs)
        scope = Scope(self, built[1], outer)
        _innermost.set(scope)
        return scope

    def _own_scope(self, failed):
        """Returns the scope of this object that ends, or None. It is the innermost one of the context.

        What has failed may leave others within it: those of coroutines that are suspended.
        """
        scope = _innermost.get()
        while failed and scope is not None and scope.owner is not self:
            scope = scope.outer
        if scope is None or scope.owner is not self:
            warnings.warn("a scope of labels ends in another context than it began, or before one within it: labels may be "
                          "wrong from here on; do not hold one across a yield", RuntimeWarning, stacklevel=3)
            return None
        return scope

    def __enter__(self):
        published = _thread.published
        if not published.followed and _getframe(1).f_code.co_flags & inspect.CO_COROUTINE:
            warnings.warn("labels are set in a coroutine that nothing follows: at its next await, other tasks run under them. "
                          "Call customlabels.install() before the task is created, or decorate the async function",
                          RuntimeWarning, stacklevel=2)
        outer, scope = _innermost.get(), None
        try:
            entered = self._push()
            itself, below, set_before = _reference(entered), published.scope and published.scope(), published.label_set
            # From here on, no handler runs until the library is called.
            scope = entered
            if published.first is None:
                published.first = itself
            scope.published, scope.first, scope.itself = published, published.first, itself
            scope.below, scope.above = published.scope, None
            scope.set_before, scope.handle_before = set_before, set_before and set_before.handle
            published.scope, published.label_set = itself, scope.label_set
            if below is not None:
                below.above = itself
            scope.handle_before = _replace(scope.label_set.handle)
            return self
        except BaseException:
            if scope is not None:
                scope.leave(published)
            _innermost.set(outer)
            raise

    def __exit__(self, kind, *_):
        scope, failed = None, kind is not None
        try:
            scope = self._own_scope(failed)
            if scope is not None:
                scope.leave(_thread.published, failed)
        except BaseException as error:
            if not isinstance(error, RuntimeWarning):
                scope = scope or self._own_scope(True)
            if scope is not None:
                scope.leave(_thread.published, failed)
            raise

    def _pop(self, outer, failed):
        """Leaves a scope of the context, which publishes nothing, and those that are left within it."""
        if _innermost.get() is outer:
            return
        scope = self._own_scope(failed)
        if scope is not None and scope.outer is outer:
            _innermost.set(outer)

    def __call__(self, function):
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            raise TypeError(f"labels cannot decorate {function.__qualname__}: it is a generator, and its caller runs between its "
                            "steps; label the caller")
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def labelled(*arguments, **names):
                outer, failed = _innermost.get(), True
                try:
                    self._push()
                    result = await Steps(function(*arguments, **names))
                    failed = False
                    return result
                finally:
                    try:
                        self._pop(outer, failed)
                    except BaseException:
                        self._pop(outer, True)
                        raise

        else:

            @functools.wraps(function)
            def labelled(*arguments, **names):
                with self:
                    return function(*arguments, **names)

        return labelled


_NO_STEP = object()  # stands for the innermost scope after the last step where there was none


class Steps(collections.abc.Coroutine):
    """Is a coroutine whose every step runs under the labels of its context.

    Whoever drives it, an event loop or an await, calls send or throw for each step. The thread's
    labels from before are back after the step.
    """

    __slots__ = ("_coroutine", "_send", "_is_task", "_left")

    def __init__(self, coroutine, is_task=False):
        self._left = _NO_STEP
        self._coroutine = coroutine
        self._send = coroutine.send
        self._is_task = is_task

    def _first_step(self):
        """Takes the labels of the task that started this one, but not its scopes.

        Otherwise a task that starts the next one, and so on, would keep the scopes of all.
        """
        self._is_task = False
        scope = _innermost.get()
        if scope is not None:
            _innermost.set(Scope(None, scope.label_set, None))

    def _step(self, step, *arguments):
        try:
            return _run_under(_innermost_set(), True, step, arguments, {})
        finally:
            self._left = _innermost.get()

    def send(self, value):
        if self._is_task:
            self._first_step()
        return self._step(self._send, value)

    def throw(self, *exception):
        return self._step(self._coroutine.throw, *exception)

    def close(self):
        """Lets the coroutine end under the labels that its last step has left, whoever closes it."""
        outer = _innermost.get()
        if self._left is _NO_STEP or self._left is outer:
            self._step(self._coroutine.close)
            return
        try:
            _innermost.set(self._left)
            self._step(self._coroutine.close)
        finally:
            _innermost.set(outer)

    # The collector would end a coroutine that nobody has any more, under the labels of whoever runs
    # at that time. Its references here are two slots and the argument.
    def __del__(self, ends=sys.is_finalizing, count=sys.getrefcount):
        if getattr(self, "_left", _NO_STEP) is not _NO_STEP and not ends() and count(self._coroutine) <= 3:
            self.close()

    def __next__(self):
        return self.send(None)

    def __iter__(self):
        return self

    def __await__(self):
        return self

    # asyncio shows tasks by their cr_code, cr_frame, __qualname__ and so on.
    def __getattr__(self, name):
        if name in Steps.__slots__:
            raise AttributeError(name)  # __init__ was interrupted
        return getattr(self._coroutine, name)


def is_labelled(context):
    """Returns whether this context (None: the current one) has labels."""
    return (_innermost.get() if context is None else context.get(_innermost)) is not None


class Labelled:
    """Is a callback that runs under the labels of the context in which an event loop calls it."""

    __slots__ = ("__wrapped__",)  # asyncio shows where this was defined

    def __init__(self, callback):
        self.__wrapped__ = callback

    def __call__(self, *arguments):
        return _run_under(_innermost_set(), _thread.published.followed, self.__wrapped__, arguments, {})

    # asyncio shows callbacks by their __qualname__, too.
    def __getattr__(self, name):
        return getattr(self.__wrapped__, name)


def inherit(function):
    """Returns a function that runs under the labels of the caller of inherit, in whatever thread."""
    label_set = _innermost_set()

    @functools.wraps(function)
    def inherited(*arguments, **names):
        outer = _innermost.get()
        try:
            _innermost.set(label_set and Scope(None, label_set, None))
            return _run_under(label_set, _thread.published.followed, function, arguments, names)
        finally:
            _innermost.set(outer)

    return inherited


def current():
    """Returns the labels of this context, as a dict of str."""
    label_set = _innermost_set()
    pairs = label_set.pairs.items() if label_set else ()
    return {key.decode(errors="replace"): value.decode(errors="replace") for key, value in pairs}
