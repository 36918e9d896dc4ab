# The command lines that README.md, docs/ and the manual pages print: a shell accepts each, remarks in
# them begin with #, labelscope knows their options, and the files that they name are where README's
# installation puts them. What needs neither a process nor a server is run (tests/cli/printed_commands.py).
source "${BASH_SOURCE%/*}/../lib.sh"
need_command python3
need_command cmake
build=${PROGRAMS%/tests/cli/programs.sh}
DESTDIR=$work/root cmake --install "$build" --prefix /usr/local >"$work/stdout" 2>"$work/stderr" || {
  grep -q 'has no TLSDESC relocation' "$work/stderr" && skip_test "this compiler makes no libcustomlabels.so to install"
  fail "the build cannot be installed"
}
[[ -e $work/root/usr/local/lib/libcustomlabels.so ]] ||
  skip_test "CMake puts libraries elsewhere here: $(cd "$work/root" && find . -name libcustomlabels.so)"

# What the build has only with a JDK, and with the headers of node.
missing=()
[[ -n $JAVA_LABELS_JAR ]] || missing+=(/usr/local/share/java /usr/local/bin/customlabels-java /usr/local/lib/liblabelsjni.so)
[[ -n $NODE_MODULES ]] || missing+=(/usr/local/lib/nodejs)

# hold_pages <tree>: the status is true if all command lines hold. What does not is in $work/stdout.
hold_pages() {
  rm -rf "$work/pages" && mkdir "$work/pages" && cd "$work/pages" || exit 1
  python3 "$SOURCE_DIR/printed_commands.py" "$1" "$work/root" ${missing[@]+"${missing[@]}"} >"$work/stdout" 2>"$work/stderr"
}
tree=$SOURCE_DIR/../..
hold_pages "$tree" || fail "a printed command line does not hold"
cat "$work/stdout"

# What each check is for is found: a page with mistakes in the place of all.
mkdir -p "$work/wrong/docs/schema" "$work/wrong/docs/man" "$work/wrong/tests/bench"
touch "$work/wrong/CONTRIBUTING.md" "$work/wrong/tests/README.md" "$work/wrong/tests/bench/README.md"
cp -r "$tree/scripts" "$work/wrong/scripts"
cp "$tree/CMakePresets.json" "$work/wrong"
cat >"$work/wrong/README.md" <<'E_PAGE'
    labelscope dump -p PID    shows labels

    sudo labelscope record -p PID --colour always

    javac -cp /usr/share/java/customlabels.jar Server.java

    PYTHONPATH=/usr/local/lib/python4/dist-packages python3 -m shop

```toml
customlabels = { path = "/usr/share/customlabels/rust" }
```

    labelscope report run.jsonl --where tenant=nobody --summary tenant

    labelscope report run.jsonl "--summary tenant

Use `labelscope check --shallow`, and the module in `/usr/local/lib/nodes`:

    scripts/install.sh --folder /usr/local

    scripts/nothing.sh

    labelscope2 doctor

    cc main.c $(pkg-config --cflags labelscopes)

    cmake --workflow --preset fast

    LD_PRELOAD=libcustomlabel.so ./shop
E_PAGE
cat >"$work/wrong/docs/man/labelscope.1" <<'E_PAGE'
.Dl labelscope inspect --hard build/
E_PAGE
hold_pages "$work/wrong" && fail "mistakes are not found"
expected='README.md:1: a remark without #: shows labels
README.md:3: labelscope does not accept it: .*--colour
README.md:5: /usr/share/java/customlabels.jar is not where
README.md:7: README.s installation has no /usr/local/lib/python4/dist-packages
README.md:10: /usr/share/customlabels/rust is not where
README.md:13: labelscope report run.jsonl .* exits with status 5
README.md:15: bash does not accept it
README.md:17: labelscope does not accept it: .*--shallow
README.md:17: README.s installation has no /usr/local/lib/nodes
README.md:19: scripts/install.sh has no option --folder
README.md:21: there is no program scripts/nothing.sh
README.md:23: labelscope2: this test does not know it
README.md:25: README.s installation has no .*labelscopes.pc
README.md:27: CMakePresets.json has no fast in workflowPresets
README.md:29: README.s installation has no .*/libcustomlabel.so
docs/man/labelscope.1:1: labelscope does not accept it: .*--hard'
while read -r line; do
  grep -Eq "^$line" "$work/stdout" || fail "this mistake is not found: $line"
done <<<"$expected"
