#!/usr/bin/env python3
"""printed_commands.py TREE ROOT [MISSING...]: holds the command lines that the pages of TREE print
against what is installed below ROOT, which stands for /, as README.md does it (in /usr/local).

  - A shell accepts each block, and a remark behind a command begins with #.
  - Files of the installation are where the page says, and scripts of the tree have the options that
    are given to them. MISSING are paths that this build cannot have.
  - labelscope accepts each of its command lines, and those run that can (printed_runs.py).
  - The same holds for the examples of labelscope --help.

It works in the current folder, and prints what does not hold. Exit status 1: something does not."""

import json
import os
import re
import shlex
import subprocess
import sys

from pages import read_page
from printed_runs import NO_PROGRAM, Folder, Wrong

# Files of other packages that pages name.
FOREIGN = ("/usr/sbin/mariadbd", "/usr/bin/service", "/usr/include/x86_64-linux-gnu")
# Other programs: of these the files are looked at that they are given.
KNOWN = {"cargo", "cc", "clang", "cmake", "cp", "ctest", "customlabels-java", "docker", "exit", "go", "grep", "java",
         "javac", "jcmd", "jq", "mkdir", "node", "psql", "python3", "setcap"}
COMMANDS = ("record", "dump", "report", "diff", "inspect", "check", "doctor")
# Fewer command lines would mean that they are no longer found.
LEAST = 150


class Pages:
    def __init__(self, tree, root, missing):
        self.tree, self.root, self.missing = tree, root, tuple(missing)
        self.problems, self.commands, self.folders = [], 0, []

    def hold(self, where, what, *arguments):
        try:
            what(*arguments)
            return True
        except Wrong as wrong:
            self.problems.append(f"{where}: {wrong}")
            return False

    def folder(self):
        self.folders.append(Folder(str(len(self.folders)), f"{self.root}/usr/local"))
        return self.folders[-1]

    def expect_installed(self, path):
        if not path.startswith(self.missing) and not os.path.exists(self.root + path):
            raise Wrong(f"README's installation has no {path}")

    def check_shell(self, block):
        text = "\n".join(command for _, command in block.commands)
        checked = subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True, check=False)
        if checked.returncode != 0:
            raise Wrong(f"bash does not accept it: {checked.stderr.strip()}")

    def check_paths(self, text):
        for path in re.findall(r"(?<![\w.$}])/usr/[\w./+-]*\w", text):
            if path.startswith("/usr/local"):
                self.expect_installed(path)
            elif not path.startswith(FOREIGN):
                raise Wrong(f"{path} is not where README's installation puts files")
        for library in re.findall(r"LD_PRELOAD=(lib\w+\.so)", text):
            self.expect_installed(f"/usr/local/lib/{library}")
        for modules in re.findall(r"pkg-config (?:--?[\w=-]+ )+([\w -]+)", text):
            for module in modules.split():
                self.expect_installed(f"/usr/local/lib/pkgconfig/{module}.pc")

    def check_command(self, command, folder):
        self.commands += 1
        if remark := re.search(r"\S {2,}(?!#)(\S.*)", re.sub(r"'[^']*'|\"[^\"]*\"", "''", command)):
            raise Wrong(f"a remark without #: {remark[1]}")
        self.check_paths(command)
        for words in simple_commands(command):
            self.check_words(words, folder)

    def check_words(self, words, folder):
        while words and re.match(r"\w+=", words[0]):
            value = words.pop(0).split("=", 1)[1]
            if value.startswith("labelscope "):
                folder.run_labelscope([*shlex.split(value)[1:], NO_PROGRAM])
        if words and words[0] in ("sudo", "systemd-run"):
            words = words[words.index("labelscope") if "labelscope" in words else 1:]
        if not words:
            return
        program = words[0]
        if program == "labelscope":
            folder.run_labelscope(words[1:])
        elif words[:3] == ["go", "tool", "pprof"]:
            folder.run_pprof(words[3:])
        elif program.startswith(("scripts/", "tests/")):
            self.check_script(words)
        elif program == "customlabels-java":
            self.expect_installed(f"/usr/local/bin/{program}")
        elif program == "cmake" and "--preset" in words:
            self.check_preset(words)
        elif program not in KNOWN and not program.startswith(("build/", "./")):
            raise Wrong(f"{program}: this test does not know it (KNOWN), or it begins no command (SHOWN in pages.py)")

    def check_script(self, words):
        path = f"{self.tree}/{words[0]}"
        if not os.access(path, os.X_OK):
            raise Wrong(f"there is no program {words[0]}")
        text = read(path)
        if words[0] == "scripts/bench.sh":  # it passes options on to what it runs
            text += "".join(read(f"{self.tree}/tests/bench/{name}") for name in ("runner.cc", "drop_in.py"))
        for option in (word.split("=")[0] for word in words[1:] if re.match(r"--\w", word)):
            if not re.search(re.escape(option) + r"\b", text):
                raise Wrong(f"{words[0]} has no option {option}")

    def check_preset(self, words):
        kind = "workflowPresets" if "--workflow" in words else "configurePresets"
        name = words[words.index("--preset") + 1]
        if name not in [preset["name"] for preset in json.loads(read(f"{self.tree}/CMakePresets.json"))[kind]]:
            raise Wrong(f"CMakePresets.json has no {name} in {kind}")

    def check_page(self, page):
        blocks, spans = read_page(self.tree, page)
        for block in blocks:
            if not block.commands:
                self.hold(block.where(), self.check_paths, block.text)
            elif self.hold(block.where(), self.check_shell, block):
                folder = self.folder()
                for line, command in block.commands:
                    self.hold(block.where(line), self.check_command, command, folder)
        for line, code in spans:
            self.hold(f"{page}:{line}", self.check_span, code)

    def check_help(self, command):
        shown = self.folder().run_labelscope([command, "--help"])
        examples = shown.partition("Examples:\n")[2].partition("\n\n")[0].split("\n")
        if not examples[0]:
            self.problems.append(f"labelscope {command} --help has no example")
        for example in examples:
            self.hold(f"labelscope {command} --help", self.check_command, example.strip(), self.folder())

    def check_span(self, code):
        if code.startswith("/usr/local/"):
            self.check_paths(code)
        found = re.match(rf"(?:sudo )?labelscope ({'|'.join(COMMANDS)}) (.+)", code)
        if not found:
            return
        # A sentence may name options alone.
        command, rest = found[1], found[2].removesuffix(" ...")
        words = re.sub(r"(-o|--format) \S+", "", rest).split()
        if command in ("inspect", "check") and all(word.startswith("-") for word in words) and not {"--", "--rules"} & {*words}:
            rest += " FILE"
        if command in ("record", "dump") and not {"-p", "--", "--core"} & {*words}:
            rest += " -p PID"
        self.check_command(f"labelscope {command} {rest}", self.folder())


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def simple_commands(line):
    """Divides a command line at pipes and the like. What another command prints is a file, or a word."""
    line = re.sub(r"<\([^()]*\)", "names", re.sub(r"\"?\$\([^()]*\)\"?", "X", line))
    words, skip = [], False
    parts = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    parts.whitespace_split = True
    for word in parts:
        if skip:
            skip = False
        elif re.fullmatch(r"[<>]+", word):
            skip = True
        elif re.fullmatch(r"[|&;]+", word):
            yield words
            words = []
        else:
            words.append(word)
    yield words


def main():
    tree, root, *missing = sys.argv[1:]
    pages = Pages(os.path.abspath(tree), os.path.abspath(root), missing)
    names = ["README.md", "CONTRIBUTING.md", "tests/README.md", "tests/bench/README.md"]
    for folder in ("docs", "docs/schema", "docs/man"):
        names += [f"{folder}/{name}" for name in sorted(os.listdir(f"{tree}/{folder}")) if re.search(r"\.(md|\d)$", name)]
    for name in names:
        pages.check_page(name)
    for command in COMMANDS:
        pages.check_help(command)
    print(f"{pages.commands} command lines, {sum(folder.runs for folder in pages.folders)} programs were run")
    for problem in pages.problems:
        print(problem)
    return 1 if pages.problems or pages.commands < LEAST else 0


if __name__ == "__main__":
    sys.exit(main())
