# No line of --help is wider than the terminal, of no command, and nothing of it is lost.
source "${BASH_SOURCE%/*}/../lib.sh"
labelscope="$LABELSCOPE" python3 - > "$work/widths" <<'PY' || fail "help is wrong at some width: $(cat "$work/widths")"
import fcntl, os, pty, struct, subprocess, sys, termios

COMMANDS = [[]] + [[name] for name in "record report diff dump inspect check doctor".split()]


def help_text(words, columns):
    """Returns what --help prints on a terminal of so many columns."""
    ours, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("4H", 24, columns, 0, 0))
    child = subprocess.Popen([os.environ["labelscope"], *words], stdout=terminal)
    os.close(terminal)
    text = b""
    while True:
        try:
            part = os.read(ours, 65536)
        except OSError:  # the terminal has no other end any more
            break
        if not part:
            break
        text += part
    os.close(ours)
    if child.wait() != 0:
        sys.exit(f"{words}: status {child.returncode}")
    return text.decode().replace("\r\n", "\n")


def letters_of(text):
    """A word that is longer than a line is cut."""
    return "".join(word for word in text.split() if word != "\\")


wrong = []
for command in COMMANDS:
    name = command[0] if command else "labelscope"
    whole = help_text(command + ["--help"], 1000)
    for columns in [36, 40, 60, 69, 70, 80, 100]:
        text = help_text(command + ["--help"], columns)
        wrong += [f"{name}, {columns}: too wide: {line!r}" for line in text.splitlines()
                  if len(line) > columns]
        if letters_of(text) != letters_of(whole):
            wrong.append(f"{name}, {columns}: other words than on a wide terminal")
    if command and help_text(["--help", *command], 80) != help_text([*command, "--help"], 80):
        wrong.append(f"--help {name} is not {name} --help")
# A command in the examples that was broken is still one command for a shell.
broken = [line for line in help_text(["report", "--help"], 40).splitlines() if line.endswith(" \\")]
if not broken:
    wrong.append("no example of report was broken at 40 columns, so the test sees nothing")
print("\n".join(wrong))
sys.exit(1 if wrong else 0)
PY
