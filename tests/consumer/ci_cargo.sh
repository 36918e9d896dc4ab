# docs/checking-in-ci.md, "Cargo": the page's test runs under labelscope check, and fails where the
# library does.
source "$SOURCE_DIR/lib.sh"
page=${TREE}docs/checking-in-ci.md
command -v cargo >/dev/null || skip_test "cargo is not installed"
[[ -z $CFLAGS ]] || skip_test "the library is built with a sanitizer, and cargo's program is not"
cargo --version >/dev/null 2>&1 || skip_test "cargo does not run: $(cargo --version 2>&1 | head -1)"
mkdir -p crate/src crate/tests
printf '[package]\nname = "labelled"\nversion = "0.1.0"\nedition = "2021"\n' >crate/Cargo.toml
code_of "$page" 'this line of its `Cargo.toml`' | sed "s,/usr/local,$PREFIX," >>crate/Cargo.toml
grep -q "$PREFIX" crate/Cargo.toml || fail "the page does not name the crate where README installs it"
touch crate/src/lib.rs
code_of "$page" '`tests/labels.rs`' >crate/tests/labels.rs
code_of "$page" 'the step of CI that runs it' >command
[[ -s crate/tests/labels.rs && -s command ]] || fail "the page has no test, or no command"
[[ $(uname -m) == x86_64 ]] || sed -i "s/X86_64/$(uname -m | tr '[:lower:]' '[:upper:]')/" command

export PATH=$PREFIX/bin:$PATH CARGO_NET_OFFLINE=true CARGO_TARGET_DIR=$WORK/target
# What ldconfig does for an installation in the system's folders.
LD_LIBRARY_PATH=$(library_dir)
export LD_LIBRARY_PATH
cd crate || exit 1
timeout 200 bash ../command >../log 2>&1 ||
  { cat ../log; fail "the test of the page does not pass"; }
grep -q '1 passed' ../log || { cat ../log; fail "the test did not run"; }
grep -q 'libcustomlabels.so' ../log || { cat ../log; fail "labelscope did not look at it"; }

# A test that sets no labels must not be called clean.
sed -i 's/let scope = Scope::enter.*/let _ = customlabels::clear();/; /scope/d; /^use/d' tests/labels.rs
timeout 200 bash ../command >../log 2>&1 && { cat ../log; fail "a test without labels passed"; }
grep -q '1 passed' ../log || { cat ../log; fail "the test without labels did not run"; }
exit 0
