# Shared by the tests of the installed package (sourced, not run). Of the tree they use only the
# programs under test; the files that they compile come from the installation.
#
# CMake sets PREFIX (of the installation), WORK (a folder of the test's own), CC, CXX, CFLAGS (a
# sanitizer's, or empty), RIVALS_PROGRAM, RIVALS_LIBRARY, GLOBALS_PROGRAM.
# shellcheck shell=bash
set -uo pipefail

if [[ -n ${NO_INSTALL:-} ]]; then
  printf 'SKIPPED: %s\n' "$NO_INSTALL"
  exit 77
fi
: "${PREFIX:?run the tests through ctest}" "${WORK:?}" "${CC:=cc}" "${CXX:=c++}" "${CFLAGS:=}"
children=()

end_test() {
  local child
  for child in ${children[@]+"${children[@]}"}; do
    kill -KILL "$child" 2>/dev/null && wait "$child" 2>/dev/null
  done
}
trap end_test EXIT

skip_test() {
  printf 'SKIPPED: %s\n' "$*"
  exit 77
}

fail() {
  printf 'FAILED: %s\n' "$*"
  exit 1
}

rm -rf "$WORK" && mkdir -p "$WORK" && cd "$WORK" || exit 1

# Debian installs to lib/<triplet>, others to lib or lib64.
package_config_dir() { dirname "$(find "$PREFIX" -name labelscope.pc | head -1)"; }
PKG_CONFIG_PATH=$(package_config_dir)
export PKG_CONFIG_PATH
library_dir() { pkg-config --variable=libdir labelscope; }
include_dir() { pkg-config --variable=includedir labelscope; }

# build_project <folder>: configures and builds a project that knows only the installation, in
# $WORK/build.
build_project() {
  cmake -S "$1" -B build -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_PREFIX_PATH="$PREFIX" \
    -DCMAKE_C_COMPILER="$CC" -DCMAKE_C_FLAGS="$CFLAGS" -DCMAKE_CXX_FLAGS="$CFLAGS" \
    -DCMAKE_CXX_COMPILER="$CXX" -DCMAKE_FIND_PACKAGE_NO_PACKAGE_REGISTRY=ON \
    -DCMAKE_FIND_USE_PACKAGE_REGISTRY=OFF >configure.log 2>&1 ||
    { cat configure.log; fail "$1 does not configure"; }
  cmake --build build >build.log 2>&1 || { cat build.log; fail "$1 does not build"; }
}

# Starts a process with three publishers that disagree. Its pid is in $target, and its own words are
# in ${truth[@]}, one line for each thread.
start_rivals() {
  local line
  coproc RIVALS { exec "$RIVALS_PROGRAM" --dlopen "$RIVALS_LIBRARY" --dlmopen "$RIVALS_LIBRARY"; }
  target=$RIVALS_PID
  children+=("$target")
  truth=()
  while read -r line <&"${RIVALS[0]}" && [[ $line != ready ]]; do truth+=("$line"); done
  [[ ${truth[0]:-} == '{"cannot":'* ]] && skip_test "the target cannot run here: ${truth[0]}"
  ((${#truth[@]} == 2)) || fail "the target printed: ${truth[*]:-nothing}"
}

# skip_if_refused <stderr of a consumer>: skips the test if the system allows no access to the
# target. Any other error is a failure.
skip_if_refused() {
  grep -Eq 'cannot be looked into|Operation not permitted|Permission denied' "$1" &&
    skip_test "$(cat "$1")"
}

# Prints the lines that a consumer must print, by the target's own words: tid, "labelled", and the
# labels with the base name of their publisher, sorted. Each pair is there once, since publishers
# that agree give one label.
true_lines() {
  printf '%s\n' "${truth[@]}" | jq -r '. as $thread | .variables[] | .module as $m | .labels[]
    | "\($thread.tid) \($m) \(.key) \(.value)"' | while read -r tid module key value; do
    printf '%s\t%b=%b@%s\n' "$tid" "$(sed 's/../\\x&/g' <<<"$key")" \
      "$(sed 's/../\\x&/g' <<<"$value")" "$module"
  done | awk -F '\t' '{ pair = $2; sub(/@[^@]*$/, "", pair) } !seen[$1, pair]++' | sort
}

# Prints a consumer's lines in the same form, one label a line, publishers by base name.
printed_labels() {
  awk -F '\t' '$2 == "labelled" { for (i = 3; i <= NF; i++) print $1 "\t" $i }' "$1" |
    sed 's,@.*/,@,' | sort
}

# code_of <page> <marker>: prints the first block of code in a page of the documentation after the
# line with the marker.
code_of() {
  awk -v marker="$2" '
    !found { found = index($0, marker) > 0; next }
    /^```/ { if (inside) exit; inside = 1; next }
    inside' "$1"
}
