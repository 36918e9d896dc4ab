"""Reads command lines out of the pages: README.md, docs/*.md, the manual pages."""

import re
from dataclasses import dataclass, field

# What an indented block or one without a language shows, if it is no command line: how it begins.
SHOWN = re.compile("|".join((
    r"(tenant|http\.route) {2}", r"\d+\.\d+ s of ", r"\{\"", r"auto target =", r"target process {2}",
    r"thread's TLS block", r"text/ {2}", r"time {4}=", r"find_package\(", r"SELECT", r"preset redis", r"events -->",
    r"kernel {2}", r"label set \(", r"0x5d98", r"Process \d+:")))


@dataclass
class Block:
    """Lines that belong together; of a page without a language all lines are commands."""
    page: str
    line: int
    language: str
    text: str
    commands: list = field(default_factory=list)  # (line, command), joined where a backslash ends a line

    def where(self, line=None):
        return f"{self.page}:{line or self.line}"


def joined(lines, first):
    """Yields each command with the number of its first line."""
    command, begin = "", first
    for number, line in enumerate(lines, first):
        begin = begin if command else number
        command += line.strip()
        if command.endswith("\\"):
            command = command[:-1]
            continue
        if command:
            yield begin, command
        command = ""


def commands_of(language, lines, first):
    if language == "yaml":
        lines = [re.sub(r"^\s*- run: ", "", line) if "run: " in line else "" for line in lines]
    elif any(line.startswith("$ ") for line in lines):  # a command and what it has printed
        lines = [line[2:] if line.startswith("$ ") else "" for line in lines]
    elif language not in ("", "sh", "bash") or SHOWN.match(lines[0].strip()):
        return []
    return list(joined(lines, first))


def markdown_blocks(page, lines):
    """Yields fenced blocks, and indented ones up to the next blank line."""
    at = 0
    while at < len(lines):
        fence = re.match(r"( *)```(\w*)$", lines[at])
        begin = at + 1 if fence else at
        if fence:
            end = next(i for i in range(begin, len(lines)) if lines[i].strip() == "```")
        elif lines[at].startswith("    ") and not (at and lines[at - 1].strip()):
            end = next((i for i in range(at, len(lines)) if not lines[i].startswith("    ")), len(lines))
        else:
            at += 1
            continue
        inside = lines[begin:end]
        language = fence.group(2) if fence else ""
        indent = min((len(line) - len(line.lstrip()) for line in inside if line), default=0)
        inside = [line[indent:] for line in inside]
        yield Block(page, begin + 1, language, "\n".join(inside), commands_of(language, inside, begin + 1))
        at = end + 1


def manual_blocks(page, lines):
    """Yields what .Dl has, and what is between .Bd and .Ed."""
    plain = [re.sub(r"\\\(dq", '"', line).replace(r"\e", "\\") for line in lines]
    at = 0
    while at < len(plain):
        end = at + 1
        if plain[at].startswith(".Bd"):
            end = plain.index(".Ed", at)
            inside = plain[at + 1:end]
        elif plain[at].startswith(".Dl "):
            while end < len(plain) and plain[end].startswith(".Dl "):
                end += 1
            inside = [line[4:] for line in plain[at:end]]
        else:
            at += 1
            continue
        first = at + 2 if plain[at].startswith(".Bd") else at + 1
        # A pipe at the end of a line goes on in the next one.
        text = re.sub(r"\|\n *", "| ", "\n".join(inside))
        yield Block(page, first, "", text, commands_of("", text.split("\n"), first))
        at = end


def spans(text):
    """Yields code within sentences, with the number of its line."""
    prose = re.sub(r"(?ms)^ *```.*?^ *```", lambda block: re.sub(r"[^\n]", "", block.group()), text)
    for span in re.finditer(r"`([^`]+)`", prose):
        yield prose.count("\n", 0, span.start()) + 1, " ".join(span.group(1).split())


def read_page(tree, page):
    """Returns the blocks of a page, and the code in its sentences."""
    with open(f"{tree}/{page}", encoding="utf-8") as file:
        text = file.read()
    lines = text.split("\n")
    if page.endswith(".md"):
        return list(markdown_blocks(page, lines)), list(spans(text))
    return list(manual_blocks(page, lines)), []
