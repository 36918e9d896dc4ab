"""Tests of the Python module: what a thread publishes, as the ABI shows it, and errors."""

import asyncio
import concurrent.futures
import contextvars
import functools
import gc
import os
import subprocess
import sys
import threading
import unittest

import customlabels
from customlabels import inherit, labels
from customlabels._labels import LabelSet
from published import published

try:
    import uvloop
except ImportError:
    uvloop = None


def alive():
    gc.collect()
    return sum(isinstance(each, LabelSet) for each in gc.get_objects())


def in_thread(function):
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result()


class Scopes(unittest.TestCase):
    def tearDown(self):
        self.assertIsNone(published())
        self.assertEqual(customlabels.current(), {})

    def test_labels_are_there_within_a_scope_and_gone_after_it(self):
        with labels({"http.route": "/pay"}, tenant="acme"):
            self.assertEqual(published(), {"http.route": "/pay", "tenant": "acme"})
            self.assertEqual(customlabels.current(), published())

    def test_scopes_add_and_cover_labels(self):
        with labels(tenant="acme", route="/"):
            with labels(tenant="globex", shard=7):
                self.assertEqual(published(), {"tenant": "globex", "route": "/", "shard": "7"})
            self.assertEqual(published(), {"tenant": "acme", "route": "/"})

    def test_an_exception_restores_the_labels(self):
        with labels(tenant="acme"):
            with self.assertRaises(KeyError), labels(tenant="globex"):
                raise KeyError
            self.assertEqual(published(), {"tenant": "acme"})

    def test_a_decorated_function_runs_under_the_labels_at_any_depth(self):
        @labels(tenant="acme")
        def descend(depth):
            self.assertEqual(published()["tenant"], "acme")
            return depth and descend(depth - 1)

        descend(5)
        self.assertEqual(descend.__name__, "descend")

    def test_one_object_serves_many_scopes(self):
        tenant = labels(tenant="acme")
        with tenant:
            with labels(route="/"), tenant:
                self.assertEqual(published(), {"tenant": "acme", "route": "/"})
            with tenant:
                self.assertEqual(published(), {"tenant": "acme"})

    def test_text_is_utf8_and_cut_at_a_character(self):
        with labels({"näme": "wert 日本", b"k" * 130: "é" * 129, "bytes": b"x" * 300}):
            self.assertEqual(published(), {"näme": "wert 日本", "k" * 128: "é" * 128, "bytes": "x" * 256})

    def test_forty_labels(self):
        many = {f"key{i}": str(i) for i in range(40)}
        with labels(many):
            self.assertEqual(published(), many)

    def test_what_is_no_label_is_refused(self):
        for mapping, error, text in (
            ({"": "x"}, ValueError, "empty"), ({7: "x"}, TypeError, "not int"), ({"a": None}, TypeError, "'a'.*NoneType"),
            ({"a": "\ud800"}, ValueError, "'a'.*UTF-8"), ({"\udcff": "x"}, ValueError, "UTF-8"),
        ):
            with self.assertRaisesRegex(error, text):
                labels(mapping)

    def test_generators_are_refused(self):
        with self.assertRaisesRegex(TypeError, "generator"):
            @labels(a="1")
            def steps():
                yield

    def test_a_scope_that_ends_out_of_order_is_reported(self):
        outer, inner = labels(a="1"), labels(b="2")
        outer.__enter__()
        inner.__enter__()
        with self.assertWarnsRegex(RuntimeWarning, "another context"):
            outer.__exit__(None, None, None)
        inner.__exit__(None, None, None)
        outer.__exit__(None, None, None)


class Threads(unittest.TestCase):
    def test_a_thread_has_its_own_labels(self):
        with labels(tenant="acme"):
            self.assertIsNone(in_thread(published))

    def test_inherit_takes_labels_along(self):
        with labels(tenant="acme"):
            function = inherit(published)
        self.assertEqual(in_thread(function), {"tenant": "acme"})
        self.assertIsNone(published())
        with labels(tenant="globex", route="/"):
            self.assertEqual(function(), {"tenant": "acme"})
            self.assertEqual(published(), {"tenant": "globex", "route": "/"})

    def test_the_pool_takes_labels_along_and_then_has_none(self):
        with customlabels.ThreadPoolExecutor(1) as pool:
            with labels(tenant="acme"):
                with_labels = pool.submit(lambda: (published(), customlabels.current()))
            self.assertEqual(with_labels.result(), ({"tenant": "acme"},) * 2)
            self.assertIsNone(pool.submit(published).result())

    def test_one_object_serves_many_threads(self):
        shared, wrong = labels(tenant="acme"), []

        def work(number):
            for _ in range(2000):
                with labels(thread=number), shared:
                    if published() != {"thread": str(number), "tenant": "acme"}:
                        wrong.append(published())

        workers = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(wrong, [])

    def test_sets_are_freed_with_their_threads(self):
        def leave_a_scope_open():
            labels(tenant=threading.get_ident()).__enter__()

        before = alive()
        for _ in range(50):
            thread = threading.Thread(target=leave_a_scope_open)
            thread.start()
            thread.join()
        self.assertLess(alive(), before + 10)


class Tasks(unittest.TestCase):
    def tearDown(self):
        self.assertIsNone(published())

    def test_interleaved_tasks_have_their_own_labels_in_every_step(self):
        async def work(number):
            with labels(task=number):
                for step in range(20):
                    self.assertEqual(published(), {"task": str(number)})
                    with labels(step=step):
                        await asyncio.sleep(0)
                        self.assertEqual(published(), {"task": str(number), "step": str(step)})
            self.assertIsNone(published())
            await asyncio.sleep(0)
            self.assertIsNone(published())

        async def main():
            await asyncio.gather(*map(work, range(200)))

        customlabels.run(main())
        if uvloop:
            customlabels.run(main(), loop_factory=uvloop.new_event_loop)

    @unittest.skipIf(sys.version_info < (3, 12), "Python 3.12 is the first with eager tasks")
    def test_eager_tasks_leave_their_creator_its_labels(self):
        async def child():
            with labels(task="child"):
                first = published()
                await asyncio.sleep(0)
                return first, published()

        async def main():
            asyncio.get_running_loop().set_task_factory(asyncio.eager_task_factory)
            customlabels.install()
            with labels(task="creator", tenant="acme"):
                task = asyncio.create_task(child())
                self.assertEqual(published(), {"task": "creator", "tenant": "acme"})
                await asyncio.sleep(0)
                self.assertEqual(published(), {"task": "creator", "tenant": "acme"})
            return await task

        self.assertEqual(customlabels.run(main()), ({"task": "child", "tenant": "acme"},) * 2)

    def test_a_task_has_the_labels_of_the_task_that_starts_it(self):
        async def child():
            await asyncio.sleep(0)
            return published()

        async def main():
            with labels(tenant="acme"):
                task = asyncio.create_task(child())
            async with asyncio.TaskGroup() as group:
                with labels(tenant="globex"):
                    other = group.create_task(child())
            return await task, other.result()

        self.assertEqual(customlabels.run(main()), ({"tenant": "acme"}, {"tenant": "globex"}))

    def test_cancellation_is_a_step_like_others(self):
        seen = []

        async def work():
            with labels(tenant="acme"):
                try:
                    await asyncio.sleep(100)
                finally:
                    seen.append(published())

        async def main():
            task, never = asyncio.create_task(work()), asyncio.create_task(work())
            never.cancel()
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, never, return_exceptions=True)
            with self.assertRaises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await work()
            return published()

        self.assertIsNone(customlabels.run(main()))
        self.assertEqual(seen, [{"tenant": "acme"}] * 2)

    def test_a_decorated_async_function_needs_no_hook(self):
        @labels(tenant="acme")
        async def work(number):
            with labels(task=number):
                for _ in range(10):
                    await asyncio.sleep(0)
                    self.assertEqual(published(), {"tenant": "acme", "task": str(number)})
            return published()

        async def main():
            tasks = [asyncio.create_task(work(i)) for i in range(50)]
            for _ in range(5):
                await asyncio.sleep(0)
                self.assertIsNone(published())
            return await asyncio.gather(*tasks)

        for run in asyncio.run, customlabels.run:
            self.assertEqual(run(main()), [{"tenant": "acme"}] * 50)
        self.assertTrue(asyncio.iscoroutinefunction(work))

    def test_a_scope_in_a_coroutine_that_nothing_follows_is_reported(self):
        async def main():
            with labels(tenant="acme"):
                pass

        with self.assertWarnsRegex(RuntimeWarning, r"customlabels\.install"):
            asyncio.run(main())

    def test_scopes_of_coroutines_that_nothing_follows_leave_nothing_when_they_have_overlapped(self):
        async def work(tenant, entered, left):
            await entered.wait()
            with labels(tenant=tenant):
                await left.wait()

        async def main():
            events = [asyncio.Event() for _ in range(6)]
            tasks = [asyncio.create_task(work(str(i), events[i], events[3 + i])) for i in range(3)]
            for event in [0, 1, 2, 4, 3, 5]:
                events[event].set()
                for _ in range(3):
                    await asyncio.sleep(0)
                seen.append((published() or {}).get("tenant"))
            await asyncio.gather(*tasks)

        seen = []
        with self.assertWarns(RuntimeWarning), labels(outer="1"):
            asyncio.run(main())
            self.assertEqual(published(), {"outer": "1"})
        self.assertIsNone(published())
        self.assertEqual(seen, ["0", "1", "2", "2", "2", None])

    def test_install_follows_later_tasks_and_keeps_the_factory(self):
        made = []

        def factory(loop, coroutine, **options):
            made.append(coroutine)
            return asyncio.Task(coroutine, loop=loop, **options)

        async def work():
            with labels(tenant="acme"):
                await asyncio.sleep(0)
                return published()

        async def main():
            asyncio.get_running_loop().set_task_factory(factory)
            customlabels.install()
            customlabels.install()
            return await asyncio.create_task(work(), name="pay"), len(made)

        self.assertEqual(asyncio.run(main()), ({"tenant": "acme"}, 1))

    def test_asyncio_shows_the_coroutine_as_without_the_hook(self):
        async def work():
            await asyncio.sleep(0)

        async def main():
            task = asyncio.create_task(work(), name="pay")
            await asyncio.sleep(0)
            self.assertIn("work() running at", repr(task))
            self.assertEqual(task.get_stack()[0].f_code, work.__code__)
            await task

        customlabels.run(main(), debug=True)

    def test_threads_have_labels_only_if_they_inherit(self):
        async def main():
            with labels(tenant="acme"):
                plain = await asyncio.to_thread(published)
                asyncio.get_running_loop().set_default_executor(customlabels.ThreadPoolExecutor())
                return [plain, await asyncio.to_thread(published)]

        self.assertEqual(customlabels.run(main()), [None, {"tenant": "acme"}])

    def callbacks_of(self, **options):
        """Returns what callbacks publish, by how they were scheduled, each with labels of that name."""

        async def main():
            loop, seen, pipe = asyncio.get_running_loop(), {}, os.pipe()
            context = contextvars.copy_context()
            with labels(way="context"):
                labelled_context = contextvars.copy_context()

            def note(way, *_):
                seen[way] = published()

            ways = {
                "call_soon": lambda name: loop.call_soon(note, name),
                "call_soon_threadsafe": lambda name: loop.call_soon_threadsafe(note, name),
                "call_later": lambda name: loop.call_later(0.001, note, name),
                "call_at": lambda name: loop.call_at(loop.time() + 0.001, note, name),
                "add_done_callback": lambda name: done.add_done_callback(lambda _: note(name)),
                "add_reader": lambda name: loop.add_reader(pipe[0], note, name),
                "add_writer": lambda name: loop.add_writer(pipe[1], note, name),
                "without": lambda name: loop.call_soon(note, name, context=context),
                "context": lambda name: loop.call_soon(note, name, context=labelled_context),
                "inherit": lambda name: loop.call_soon(inherit(lambda: note(name))),
                "partial": lambda name: loop.call_soon(functools.partial(note, name)),
            }
            done = loop.create_future()
            for name, schedule in ways.items():
                with labels(way=name):
                    schedule(name)
            done.set_result(None)
            os.write(pipe[1], b"x")
            self.assertIsNone(published())
            loop.call_soon(note, "unlabelled")
            while len(seen) < len(ways) + 1:
                await asyncio.sleep(0.001)
                self.assertIsNone(published())
            loop.remove_reader(pipe[0]), loop.remove_writer(pipe[1])
            os.close(pipe[0]), os.close(pipe[1])
            return seen

        return customlabels.run(main(), **options)

    def test_callbacks_have_the_labels_of_the_context_that_they_are_scheduled_with(self):
        loops = [{}] + ([{"loop_factory": uvloop.new_event_loop}] if uvloop else [])
        for options in loops:
            with self.subTest(**options):
                seen = self.callbacks_of(**options)
                self.assertEqual(len(seen), 12)
                for way, found in seen.items():
                    self.assertEqual(found, None if way in ("without", "unlabelled") else {"way": way}, way)

    def test_callbacks_are_left_alone_where_that_is_wanted(self):
        seen = self.callbacks_of(callbacks=False)
        self.assertEqual({way for way, found in seen.items() if found}, {"inherit"})

    def test_a_callback_that_raises_leaves_no_labels_and_is_shown_as_without_the_hook(self):
        async def main():
            loop, raised = asyncio.get_running_loop(), []
            loop.set_exception_handler(lambda _, problem: raised.append((published(), str(problem["handle"]))))

            def fails():
                raise KeyError

            with labels(tenant="acme"):
                loop.call_soon(fails)
            await asyncio.sleep(0)
            self.assertIsNone(published())
            self.assertIsNone(raised[0][0])
            self.assertRegex(raised[0][1], "fails")

        customlabels.run(main())

    def test_an_async_generator_runs_under_the_labels_of_its_consumer(self):
        async def numbers():
            for number in range(3):
                await asyncio.sleep(0)
                yield number, published()

        async def main():
            with labels(tenant="acme"):
                return [each async for each in numbers()]

        self.assertEqual(customlabels.run(main()), [(i, {"tenant": "acme"}) for i in range(3)])

    def test_tasks_that_start_each_other_keep_nothing(self):
        async def link(number, done):
            with labels(link=number):
                if number:
                    asyncio.create_task(link(number - 1, done))
                else:
                    done.set_result(alive())

        async def main():
            done = asyncio.get_running_loop().create_future()
            asyncio.create_task(link(300, done))
            return await done

        before = alive()
        self.assertLess(customlabels.run(main()), before + 10)


class Library(unittest.TestCase):
    def imported(self, **variables):
        clean = {key: value for key, value in os.environ.items() if key not in ("CUSTOMLABELS_LIBRARY", "LD_PRELOAD", "LD_LIBRARY_PATH")}
        program = "from customlabels import *\nwith labels(a='1'): print(current(), path)"
        return subprocess.run([sys.executable, "-c", program], env={**clean, **variables}, capture_output=True, text=True, check=False)

    def test_a_library_that_is_not_there_is_an_error_with_the_fix(self):
        said = self.imported(CUSTOMLABELS_LIBRARY="/nowhere/libcustomlabels.so").stderr
        self.assertIn("/nowhere/libcustomlabels.so: cannot open shared object file", said)
        self.assertIn("Install the package libcustomlabels", said)

    def test_a_file_that_readers_do_not_look_into_is_refused(self):
        self.assertIn("libcustomlabels*.so", self.imported(CUSTOMLABELS_LIBRARY="/nowhere/labels.so").stderr)

    def test_another_library_of_that_name_is_refused(self):
        name = os.path.join(os.environ["TMPDIR"], "libcustomlabels_other.so")
        os.symlink(_libc(), name)
        said = self.imported(CUSTOMLABELS_LIBRARY=name).stderr
        self.assertIn("it has no custom_labels_new, so it is another library", said)

    def test_none_runs_the_program_without_labels(self):
        self.assertEqual(self.imported(CUSTOMLABELS_LIBRARY="none").stdout, "{'a': '1'} None\n")

    def test_a_preloaded_library_is_taken(self):
        run = self.imported(LD_PRELOAD=os.environ["CUSTOMLABELS_LIBRARY"])
        self.assertEqual(run.stdout, "{'a': '1'} the process\n", run.stderr)


def _libc():
    with open("/proc/self/maps") as maps:
        return next(line.split()[-1] for line in maps if "libc.so" in line or "libc-" in line)


if __name__ == "__main__":
    unittest.main()
