"""Runs printed command lines of labelscope, as far as they need neither a process nor a server.

Targets are processes that are not there: labelscope says so after it has accepted all options. What reads
files gets some that are made here, and must succeed."""

import os
import re
import shutil
import subprocess

from made_waits import made_waits

NO_PROCESS = "4194304"  # the kernel gives numbers below this one
NO_PROGRAM = "/nonexistent/program"
TARGETS = ("-p", "--pid", "--unit", "--port", "--container", "--cgroup", "--wait-for")
USAGE = 2


class Wrong(Exception):
    pass


class Folder:
    """A folder for the command lines that belong together: one may read what another has written."""

    def __init__(self, path, prefix):
        self.path = os.path.abspath(path)
        self.labelscope, self.library = f"{prefix}/bin/labelscope", f"{prefix}/lib/libcustomlabels.so"
        self.runs = 0
        os.mkdir(path)

    def run(self, program, **more):
        self.runs += 1
        try:
            return subprocess.run(program, cwd=self.path, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                                  errors="replace", check=False, **{"timeout": 30, **more})
        except subprocess.TimeoutExpired as late:
            raise Wrong(f"it does not end: {' '.join(program)}") from late

    def run_labelscope(self, words):
        words = [word.removesuffix("...") for word in words if word != "..."]
        command = []
        if "--" in words:
            words, command = words[:words.index("--")], ["--", NO_PROGRAM]
        arguments, whole = self.replaced(words)
        ended = self.run([self.labelscope, *arguments, *command])
        said = (ended.stderr or ended.stdout).strip().split("\n")[0]
        if ended.returncode == USAGE:
            raise Wrong(f"labelscope does not accept it: {said}")
        if ended.returncode < 0 or whole and not command and ended.returncode != 0:
            raise Wrong(f"labelscope {' '.join(arguments)} exits with status {ended.returncode}: {said}")
        return ended.stdout

    def replaced(self, words):
        """Returns the words with targets that are not there, and whether all is there that they need."""
        arguments, whole = words[:1], words[0] in ("report", "diff", "inspect", "check")
        rest = iter(words[1:])
        for word in rest:
            arguments.append(word)
            if word in TARGETS:
                next(rest)
                arguments[-1:] = ["-p", NO_PROCESS]
                whole = False
            elif word == "--drop-to":
                next(rest)
                arguments.append("nobody")
            elif word in ("--core", "--files", "--sysroot"):
                arguments.append(os.path.basename(next(rest)))
                self.make_for_core(word, arguments[-1])
            elif word == "--names":
                arguments.append(next(rest))
                with open(f"{self.path}/{arguments[-1].split('=')[1]}", "w", encoding="utf-8") as file:
                    file.write("7\tselect 1\n")
            elif word in ("-o", "--output", "--baseline"):
                arguments.append(next(rest))
            elif word == "-" or not word.startswith("-"):
                whole = self.make(words[0], word) and whole
        return arguments, whole

    def make_for_core(self, option, name):
        if option == "--core":
            with open(f"{self.path}/{name}", "w", encoding="utf-8"):
                pass
        else:
            os.mkdir(f"{self.path}/{name}")

    def make(self, command, name):
        """Makes what a word names, if it is a file. The status is true if the command can succeed with it."""
        if command in ("report", "diff"):
            if re.search(r"\.(jsonl|pprof|pb\.gz)$", name) or name in ("A", "B"):
                self.make_recording(name)
        elif command in ("inspect", "check"):
            if name.startswith("/"):
                return False
            path = f"{self.path}/{name}"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            shutil.copy(self.library, path + "libcustomlabels.so" * name.endswith("/"))
            # A publisher is a library of this name.
            return name.endswith("/") or "libcustomlabels" in name
        return True

    def make_recording(self, name):
        path = f"{self.path}/{name}"
        if os.path.exists(path):
            return
        made_waits(path)
        if not name.endswith((".pprof", ".pb.gz")):
            return
        os.rename(path, f"{path}.jsonl")
        ended = self.run([self.labelscope, "report", "-q", f"{path}.jsonl", "-f", "pprof", "-o", path])
        if ended.returncode != 0:
            raise Wrong(f"no profile was made: {ended.stderr}")

    def run_pprof(self, words):
        self.make_recording(words[-1])
        if any(word.startswith("-http") for word in words) or not shutil.which("go"):
            return
        home = {**os.environ, "HOME": self.path, "PPROF_TMPDIR": self.path, "GOTOOLCHAIN": "local", "GOFLAGS": ""}
        # Newer versions of Go compile pprof when it is called first.
        ended = self.run(["go", "tool", "pprof", *words], env=home, timeout=150)
        if ended.returncode != 0 or not re.search("serve|acme", ended.stdout):
            raise Wrong(f"go tool pprof {' '.join(words)}: {ended.stdout} {ended.stderr}")
