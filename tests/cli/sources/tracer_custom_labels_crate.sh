# The crate custom-labels of polarsignals, 0.4.6 from crates.io, in an executable whose build.rs calls what
# the crate has for it, and in one whose build.rs does not: then only the symbol table has the symbols.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/tracers.sh"
need_command cargo
cargo --version >/dev/null 2>&1 || skip_test "cargo does not run: $(cargo --version 2>&1 | head -1)"
# Its build makes bindings by libclang, and compiles C++.
need_command c++
[[ -n $(ldconfig -p | grep -F libclang) || -n $(ls /usr/lib/llvm-*/lib/libclang*.so* 2>/dev/null) ]] ||
  skip_test "libclang is not installed"
cp -r "$tracers/custom_labels" "$work/crate" || fail "no program"
export CARGO_TARGET_DIR=$work/target
fetch "custom-labels 0.4.6" crates.io cargo fetch --locked --manifest-path "$work/crate/Cargo.toml"
build() {
  timeout --signal=KILL 300 cargo build --offline --quiet --manifest-path "$work/crate/Cargo.toml" >"$work/install" 2>&1 ||
    { cat "$work/install"; fail "the program cannot be built"; }
}
program=$work/target/debug/custom_labels_shop
build
run inspect "$program"
expect_status "$exit_ok" "inspect"
expect_shown 'custom_labels_current_set'
expect_published "ABI v1" "$program"
stop_target

printf 'fn main() {}\n' >"$work/crate/build.rs"
build
rm -f "$work/stdin"
start_target "$program"
run dump -p "$target" --json
expect_status "$exit_ok" "dump of an executable that exports nothing"
jq -e '.publishers | any(.findings | any(.rule == "LS010"))' "$work/stdout" >/dev/null ||
  fail "nothing says that the symbols are not exported: $(jq -c .publishers "$work/stdout")"
expect_labels "an executable with a symbol table" dump "$work/stdout"
stop_target
need_command strip
strip "$program" || fail "strip"
rm -f "$work/stdin"
start_target "$program"
run dump -p "$target" --json
jq -e '.publishers == [] and .absence != ""' "$work/stdout" >/dev/null || fail "labels of an executable without symbols"
