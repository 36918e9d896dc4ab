"""Programs that wait, and that say themselves for how long (waits_beside.py).

    program = Redis(folder)
    program.start()
    program.work(seconds)        while it is recorded
    program.claims(window)       what it says of this time

A server works from its start to its end, so that all who look at it see the same; its claims are of the
window, two times of CLOCK_MONOTONIC in nanoseconds. Threads of the others live within the recording, and
claim what they know of their lives. A claim is (what, the thread or None for all, the system call or None
for all waits, nanoseconds by the program's own clock, nanoseconds by which that may be too little).
"""
import bisect
import http.client
import http.server
import json
import os
import shutil
import socket
import socketserver
import subprocess
import threading
import time

# Threads of one system thread each: one sleeps, one reads a pipe that the sleeper writes, one waits for
# a lock, and two compute, to be queued. Each line at the end has what a thread knows of itself.
GO = r"""package main

import ("bufio"; "fmt"; "os"; "runtime"; "sync"; "syscall"; "time")

func life(name string, until time.Time, done *sync.WaitGroup, step func() time.Duration) {
	runtime.LockOSThread()
	defer done.Done()
	tid, begin, waited := syscall.Gettid(), time.Now(), time.Duration(0)
	for time.Now().Before(until) { waited += step() }
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/schedstat", tid))
	var ran, queued int64
	fmt.Sscan(string(stat), &ran, &queued)
	fmt.Printf("{\"name\":%q,\"tid\":%d,\"waited_ns\":%d,\"ran_ns\":%d,\"queued_ns\":%d,\"lived_ns\":%d}\n",
		name, tid, waited.Nanoseconds(), ran, queued, time.Since(begin).Nanoseconds())
}

func timed(wait func()) func() time.Duration {
	return func() time.Duration { begin := time.Now(); wait(); return time.Since(begin) }
}

func main() {
	fmt.Println("ready")
	var seconds float64
	fmt.Fscan(bufio.NewReader(os.Stdin), &seconds)
	until := time.Now().Add(time.Duration(seconds * 1e9))
	var ends [2]int
	syscall.Pipe(ends[:])
	var done sync.WaitGroup
	done.Add(4)
	byte1, byte2 := make([]byte, 1), []byte{'x'}
	go life("sleeper", until, &done, timed(func() {
		syscall.Nanosleep(&syscall.Timespec{Nsec: 9e6}, nil)
		syscall.Write(ends[1], byte2)
	}))
	go life("reader", until, &done, timed(func() { syscall.Read(ends[0], byte1) }))
	for i := 0; i < 2; i++ {
		go life("computes", until, &done, func() time.Duration {
			for end := time.Now().Add(time.Millisecond); time.Now().Before(end); {}
			return 0
		})
	}
	time.Sleep(time.Duration(seconds*1e9) + 200*time.Millisecond)
	syscall.Write(ends[1], byte2)
	done.Wait()
}
"""

JAVA = r"""import java.nio.file.*;
import java.util.*;

class Waits {
  static final Object lock = new Object();
  interface Step { void run() throws Exception; }

  static Thread life(String name, long until, Step step) {
    Thread thread = new Thread(() -> {
      try {
        Path self = Path.of("/proc/thread-self").toRealPath();
        long begin = System.nanoTime(), waited = 0;
        while (System.nanoTime() < until) {
          long from = System.nanoTime();
          step.run();
          waited += System.nanoTime() - from;
        }
        String[] stat = Files.readString(self.resolve("schedstat")).split(" ");
        System.out.printf("{\"name\":\"%s\",\"tid\":%s,\"waited_ns\":%d,\"ran_ns\":%s,\"queued_ns\":%s,"
            + "\"lived_ns\":%d}%n", name, self.getFileName(), waited, stat[0], stat[1],
            System.nanoTime() - begin);
      } catch (Exception problem) { throw new RuntimeException(problem); }
    }, name);
    thread.start();
    return thread;
  }

  public static void main(String[] arguments) throws Exception {
    System.out.println("ready");
    double seconds = new Scanner(System.in).nextDouble();
    long until = System.nanoTime() + (long) (seconds * 1e9);
    List<Thread> all = new ArrayList<>();
    all.add(life("sleeper", until, () -> Thread.sleep(7)));
    for (int i = 0; i < 2; ++i) {
      all.add(life("locks", until, () -> { synchronized (lock) { Thread.sleep(4); } }));
    }
    all.add(life("computes", until, () -> {
      for (long end = System.nanoTime() + 1_000_000; System.nanoTime() < end; ) Thread.onSpinWait();
    }));
    for (Thread thread : all) thread.join();
  }
}
"""


class Program:
    needs = ()

    def __init__(self, folder):
        self.folder = folder
        self.processes = []
        self.over = False
        self.load = None

    @property
    def pids(self):
        return [process.pid for process in self.processes]

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, command, **options):
        process = subprocess.Popen(command, cwd=self.folder, text=True, **options)
        self.processes.append(process)
        return process

    def wait_for(self, name):
        for _ in range(500):
            if os.path.exists(self.path(name)):
                return
            time.sleep(0.02)
        raise RuntimeError(f"{self.processes[0].args[0]} does not start")

    def begin_load(self, step):
        def repeat():
            while not self.over:
                step()
        self.load = threading.Thread(target=repeat, daemon=True)
        self.load.start()

    def work(self, seconds):
        time.sleep(seconds)

    def end(self):
        self.over = True
        if self.load is not None:
            self.load.join(timeout=5)
        for process in self.processes:
            process.terminate()
            process.wait()


class Samples:
    """Values that grow, each with the time at which it was read."""

    def __init__(self):
        self.times, self.values = [], []

    def add(self, value):
        self.times.append(time.monotonic_ns())
        self.values.append(value)

    def at(self, moment):
        last = bisect.bisect(self.times, moment)
        if last == 0 or last == len(self.times):
            return self.values[min(last, len(self.times) - 1)]
        before, behind = self.times[last - 1], self.times[last]
        part = (moment - before) / (behind - before)
        return self.values[last - 1] + part * (self.values[last] - self.values[last - 1])

    def within(self, window):
        return self.at(window[1]) - self.at(window[0])


class Runtime(Program):
    """A program whose threads live within the recording, and know all about themselves."""

    def start(self):
        process = self.run(self.command(), stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        if process.stdout.readline() != "ready\n":
            raise RuntimeError("the program does not start")

    def work(self, seconds):
        process = self.processes[0]
        process.stdin.write(f"{seconds}\n")
        process.stdin.flush()
        said = []
        while len(said) < 4:
            said.append(json.loads(process.stdout.readline()))
        self.threads = {each["tid"]: each for each in said}

    def claims(self, window):
        return [(each["name"], each["tid"], None, each["waited_ns"], 0)
                for each in self.threads.values() if each["name"] != "computes"]


class Go(Runtime):
    needs = ("go",)

    def command(self):
        with open(self.path("waits.go"), "w") as file:
            file.write(GO)
        environment = dict(os.environ, GO111MODULE="off", GOFLAGS="", GOTOOLCHAIN="local", HOME=self.folder,
                           GOCACHE=self.path("cache"), CGO_ENABLED="0")
        subprocess.run(["go", "build", "-o", "waits", "waits.go"], cwd=self.folder, env=environment, check=True)
        return [self.path("waits")]


class Java(Runtime):
    needs = ("java", "javac")

    def command(self):
        with open(self.path("Waits.java"), "w") as file:
            file.write(JAVA)
        subprocess.run(["javac", "-d", self.folder, self.path("Waits.java")], check=True)
        return ["java", "-Xmx64m", "-XX:+UseSerialGC", "-cp", self.folder, "Waits"]


class Upstream(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


class SlowAnswer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        time.sleep(0.05)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def address_string(self):
        return "unix"

    def log_message(self, *arguments):
        pass


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


class Nginx(Program):
    """One worker, whose client asks again at once. The worker waits while the upstream does, and for the
    client's next request, which is not in its log: 2 ms for each may be too little on a busy machine."""
    needs = ("nginx",)

    def start(self):
        self.upstream = Upstream(self.path("upstream"), SlowAnswer)
        threading.Thread(target=self.upstream.serve_forever, daemon=True).start()
        with open(self.path("nginx.conf"), "w") as file:
            file.write(f"""daemon off; master_process off; pid {self.path("pid")}; error_log {self.path("error.log")};
events {{ worker_connections 64; }}
http {{ log_format times '$msec $upstream_response_time'; access_log {self.path("access.log")} times;
  client_body_temp_path {self.path("body")}; proxy_temp_path {self.path("proxy")};
  fastcgi_temp_path {self.path("fastcgi")}; uwsgi_temp_path {self.path("uwsgi")}; scgi_temp_path {self.path("scgi")};
  server {{ listen unix:{self.path("socket")};
    location / {{ proxy_pass http://unix:{self.path("upstream")}:/; }} }} }}
""")
        self.run(["nginx", "-c", self.path("nginx.conf"), "-e", self.path("error.log")])
        self.wait_for("socket")
        self.connection = UnixConnection(self.path("socket"))
        self.begin_load(self.ask)

    def ask(self):
        self.connection.request("GET", "/")
        self.connection.getresponse().read()

    def claims(self, window):
        """The log has when each request has ended, by the other clock."""
        to_monotonic = time.monotonic_ns() - time.time_ns()
        waited, requests = 0.0, 0
        with open(self.path("access.log")) as file:
            for ended, took in (map(float, line.split()) for line in file):
                end = ended * 1e9 + to_monotonic
                waited += max(0.0, min(end, window[1]) - max(end - took * 1e9, window[0]))
                requests += window[0] <= end <= window[1]
        return [("upstream_response_time", None, "epoll_wait", waited, requests * 2e6)]

    def end(self):
        super().end()
        self.upstream.shutdown()


class Redis(Program):
    """A client lets the server sleep, which its statistics of commands have."""
    needs = ("redis-server",)

    def start(self):
        self.run(["redis-server", "--port", "0", "--unixsocket", self.path("socket"), "--save", "", "--appendonly", "no",
                  "--dir", self.folder, "--enable-debug-command", "yes"], stdout=subprocess.DEVNULL)
        self.wait_for("socket")
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(self.path("socket"))
        self.answers = self.socket.makefile("rb")
        self.slept = Samples()
        self.begin_load(self.ask_all)

    def ask(self, text):
        self.socket.sendall(text.encode() + b"\r\n")
        line = self.answers.readline()
        return self.answers.read(int(line[1:]) + 2).decode() if line.startswith(b"$") else line.decode()

    def ask_all(self):
        for text in ["DEBUG SLEEP 0.013"] + 20 * ["SET key value"]:
            if not self.ask(text).startswith("+OK"):
                raise RuntimeError(f"redis does not do {text}")
        line = [each for each in self.ask("INFO commandstats").splitlines() if each.startswith("cmdstat_debug:")][0]
        fields = dict(each.split("=") for each in line.split(":")[1].split(","))
        self.slept.add(int(fields["usec"]) * 1000)

    def claims(self, window):
        return [("commandstats of DEBUG", None, "clock_nanosleep", self.slept.within(window), 0)]


PROGRAMS = {"nginx": Nginx, "redis": Redis, "go": Go, "java": Java}


def missing(name):
    """Returns what a program needs and this machine lacks."""
    return [need for need in PROGRAMS[name].needs if shutil.which(need) is None]
