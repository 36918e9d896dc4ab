"""Labels of threads and asyncio tasks, which a profiler outside of the process reads.

    from customlabels import labels

    with labels(tenant="acme"):
        handle()                        # profiled under tenant=acme

    @labels({"http.route": "/pay"})     # a function, or an async function
    async def pay(request): ...

docs/python.md of labelscope describes what follows tasks and threads, and how far.
"""

from ._follow import ThreadPoolExecutor, install, run
from ._labels import current, inherit, labels
from ._library import LibraryNotFound, path

__all__ = ["LibraryNotFound", "ThreadPoolExecutor", "current", "inherit", "install", "labels", "path", "run"]
