# The Rust crate as it is installed: its own tests, a program that links the shared library, and one
# that has the library in itself, whose labels are found and whose shares are those of its threads'
# clocks.
source "$SOURCE_DIR/lib.sh"
command -v cargo >/dev/null || skip_test "cargo is not installed"
cargo --version >/dev/null 2>&1 || skip_test "cargo does not run: $(cargo --version 2>&1 | head -1)"
[[ -z $CFLAGS ]] || skip_test "the library is built with a sanitizer, and cargo's program is not"
labelscope=$PREFIX/bin/labelscope
# cargo would write into the installation.
cp -r "$PREFIX/share/customlabels/rust" crate && cp -r "$SOURCE_DIR/rust" shop || fail "no crate is installed"
export CARGO_NET_OFFLINE=true CARGO_TARGET_DIR=$WORK/target

# build.rs finds the library by the place of the crate, by pkg-config, or where the variable says.
mkdir -p placed/share/customlabels && cp -r crate placed/share/customlabels/rust && ln -s "$PREFIX"/lib* placed/
(cd placed/share/customlabels/rust && PKG_CONFIG_PATH='' PKG_CONFIG_LIBDIR='' cargo build) >log 2>&1 ||
  { cat log; fail "the crate in its place does not find the library"; }
(cd crate && cargo build) >log 2>&1 || { cat log; fail "pkg-config does not find the library"; }
(cd crate && CUSTOMLABELS_LIB_DIR=$WORK cargo build) >log 2>&1 && fail "a library was found where none is"
grep -q 'Install the package libcustomlabels-dev' log || { cat log; fail "no fix is named"; }
unset CUSTOMLABELS_LIB_DIR

# The crate's own tests, on the shared library and then on the static one.
LD_LIBRARY_PATH=$(library_dir)
export LD_LIBRARY_PATH
for features in "" static; do
  (cd crate && timeout 200 cargo test --features "$features") >log 2>&1 || { cat log; fail "cargo test, ${features:-shared}"; }
  grep -q 'test result: ok. 8 passed' log || { cat log; fail "the tests did not run"; }
done

# build <feature> <build.rs>: builds the program. Its file is $program.
program=$WORK/target/release/shop
build() {
  printf '%s\n' "$2" >shop/build.rs
  (cd shop && timeout 200 cargo build --release --features "$1") >log 2>&1 || { cat log; fail "shop, ${1:-shared}"; }
}
# check <argument>...: checks the program with all rules.
check() { "$labelscope" check --strict "$@" >checked 2>&1; }

build "" 'fn main() {}'
check -- "$program" 0.3 || { cat checked; fail "check of the program with the shared library"; }
grep -q 'libcustomlabels.so' checked || { cat checked; fail "not the library's labels"; }

# Static. Without the link options no reader finds the symbols; with those of the page it does.
build static 'fn main() {}'
check "$program" && fail "an executable that exports nothing was called clean"
build static "$(code_of "${TREE}docs/rust.md" '`build.rs` of the executable')"
check "$program" || { cat checked; fail "check of the program that has the library"; }
check -- "$program" 0.3 || { cat checked; fail "live check of the program that has the library"; }
grep -q 'libcustomlabels.so' checked && { cat checked; fail "the program has the shared library, too"; }
"$labelscope" inspect "$program" >inspected || fail "inspect"
grep -q 'publishes labels as ABI v1 wants it' inspected || fail "$(cat inspected)"

are_shares_true() {
  "$labelscope" record --backend ptrace -F 499 --call-graph none -o recording.jsonl --overwrite -- "$program" 2 >account 2>log ||
    { cat log; fail "record"; }
  python3 - recording.jsonl account <<'PYTHON'
import collections, json, sys
lines = [json.loads(line) for line in open(sys.argv[1])]
account = json.loads(open(sys.argv[2]).read())
sets = {line["id"]: {label["key"]: label["value"] for label in line["labels"]} for line in lines if line["type"] == "labels"}
found, samples = collections.Counter(), 0
for line in lines:
    if line["type"] != "sample" or "tenant" not in sets[line["labels"]]: continue
    labels = sets[line["labels"]]
    if labels["tenant"] not in {"one": ("acme", "globex"), "two": ("globex", "initech")}[labels["thread"]]: sys.exit(f"wrong: {labels}")
    found[labels["tenant"]] += line["weight_ns"]
    samples += line["count"]
wrong = samples < 300
for tenant, spent in account.items():
    truth, share = spent / sum(account.values()), found[tenant] / sum(found.values())
    error = (truth * (1 - truth) / samples) ** 0.5
    print(f"{tenant}: {share:.4f} of {truth:.4f}, {(share - truth) / error:+.1f} standard errors of {samples} samples")
    wrong |= abs(share - truth) > 3 * error
sys.exit(wrong)
PYTHON
}
# One of a hundred recordings has a share beyond three standard errors by chance; two in succession
# do not.
are_shares_true || are_shares_true || fail "shares"
