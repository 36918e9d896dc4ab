#!/usr/bin/env bash
# Installs the writer library, then builds and runs programs against it that know nothing of this
# tree: through CMake and through pkg-config, with the shared and with the static library.
# WRITER_BUILD_DIR, SOURCE_DIR and CFLAGS_USED come from ctest.
set -u
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
failed=0

skip() {
  echo "SKIPPED: $1"
  exit 77
}
fail() {
  echo "FAILED: $1"
  failed=1
}
quietly() {
  "$@" >"$work/log" 2>&1 && return
  cat "$work/log"
  fail "$*"
  exit 1
}

# expect_symbol <file> <name> <type> <size>: it must be in the dynamic table, defined and visible.
expect_symbol() {
  readelf --dyn-syms --wide "$1" |
    awk -v name="$2" -v type="$3" -v size="$4" \
      '$8 == name && $4 == type && $3 == size && $5 == "GLOBAL" && $6 == "DEFAULT" && $7 != "UND" { found = 1 }
       END { exit !found }' || fail "${1##*/} has no dynamic symbol $2 of type $3 and size $4"
}
expect_publisher() {
  expect_symbol "$1" custom_labels_abi_version OBJECT 4
  expect_symbol "$1" custom_labels_current_set TLS 8
}
expect_no_api() {
  local extra
  extra=$(readelf --dyn-syms --wide "$1" |
    awk '$7 != "UND" && $8 ~ /^(custom_labels|cl_)/ { print $8 }' |
    grep -vxE 'custom_labels_(abi_version|current_set)')
  [[ -z $extra ]] || fail "${1##*/} exports more than the two symbols: $extra"
}
expect_runs() { "$1" || fail "${1##*/} ended with $?"; }

quietly cmake --install "$WRITER_BUILD_DIR" --prefix "$work/prefix"
for found in include/customlabels/customlabels.h share/man/man3/customlabels.3; do
  [[ -f $work/prefix/$found ]] || fail "$found is not installed"
done
libdir=$(dirname "$(find "$work/prefix" -name libcustomlabels.so)")
[[ -n $libdir ]] || { fail "libcustomlabels.so is not installed"; exit 1; }
expect_publisher "$libdir/libcustomlabels.so"

quietly cmake -S "$SOURCE_DIR/consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" \
  -DCMAKE_C_FLAGS="${CFLAGS_USED:-}"
quietly cmake --build "$work/build" --parallel 2
for program in "$work"/build/s*; do
  [[ -f $program && -x $program ]] || continue
  expect_runs "$program"
  [[ ${program##*/} == shared ]] && continue
  expect_publisher "$program"
  expect_no_api "$program"
done
[[ -x $work/build/static_bystander ]] || fail "the CMake project built no static_bystander"

command -v pkg-config >/dev/null || skip "no pkg-config here (the CMake half has passed)"
export PKG_CONFIG_PATH=$libdir/pkgconfig
compile() { # compile <program> <package> [options]
  local program=$1 package=$2
  shift 2
  # shellcheck disable=SC2046,SC2086: options are words.
  quietly cc ${CFLAGS_USED:-} "$@" -o "$work/$program" "$SOURCE_DIR/consumer/program.c" \
    $(pkg-config --cflags --libs "$package")
}
compile by_pkg_config customlabels "-Wl,-rpath,$libdir"
expect_runs "$work/by_pkg_config"
compile by_pkg_config_static customlabels-static -Wl,--gc-sections
expect_runs "$work/by_pkg_config_static"
expect_publisher "$work/by_pkg_config_static"
expect_no_api "$work/by_pkg_config_static"

# A handle that a program stores to the variable itself would show no labels: that does not compile,
# in C or C++.
for language in c c++; do
  for store in '' 'custom_labels_current_set = set;' \
    'custom_labels_labelset_t** slot = &custom_labels_current_set; *slot = set;'; do
    printf '#include "customlabels.h"\nint main(void) { custom_labels_labelset_t* set = custom_labels_new(0); %s return set != custom_labels_current_set; }\n' \
      "$store" >"$work/store"
    # shellcheck disable=SC2046
    if cc -x "$language" -c -o "$work/store.o" $(pkg-config --cflags customlabels) "$work/store" \
      >"$work/log" 2>&1; then
      [[ -z $store ]] || fail "compiles in $language: $store"
    else
      [[ -n $store ]] || { cat "$work/log"; fail "does not compile in $language"; }
      grep -q lvalue "$work/log" || { cat "$work/log"; fail "refused for another reason: $store"; }
    fi
  done
done
exit $failed
