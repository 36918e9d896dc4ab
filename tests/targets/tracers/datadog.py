# Two threads compute, each in a span of Datadog's tracer for Python. Each prints its own IDs.
import json
import sys
import threading
from ddtrace.trace import tracer

lock, begun, stop = threading.Lock(), threading.Semaphore(0), threading.Event()


def work(name):
    with tracer.trace("request", resource=name) as root, tracer.trace("step") as span:
        labels = {
            "trace_id": f"{span.trace_id:032x}",
            "span_id": f"{span.span_id:016x}",
            "datadog.local_root_span_id": f"{root.span_id:016x}",
        }
        with lock:
            print(json.dumps({"tid": threading.get_native_id(), "labels": labels}), flush=True)
        begun.release()
        while not stop.is_set():
            sum(range(1000))


threads = [threading.Thread(target=work, args=(name,)) for name in ("/search", "/checkout")]
for thread in threads:
    thread.start()
for _ in threads:
    begun.acquire()
print("ready", flush=True)
sys.stdin.read()
stop.set()
for thread in threads:
    thread.join()
