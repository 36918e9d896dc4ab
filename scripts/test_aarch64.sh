#!/usr/bin/env bash
# This builds everything for aarch64 on another machine, packages included, and runs the unit tests
# under qemu's user mode; what needs a kernel of that processor runs in virtual machines (tests/vm).
# scripts/test.sh calls it while the tests of this processor run.
#
#   scripts/test_aarch64.sh [<ctest argument>...]
#   scripts/test_aarch64.sh --for-guests    builds what virtual machines need, and runs nothing
#
# It exits 77, with the reason as its last line, if the cross compiler, qemu or the libraries are
# not available.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

readonly build=$root_dir/build/aarch64
for_guests=OFF
if [[ ${1:-} == --for-guests ]]; then for_guests=ON; fi
command -v aarch64-linux-gnu-g++ >/dev/null || skip "no cross compiler (Debian package g++-aarch64-linux-gnu)"
command -v qemu-aarch64-static >/dev/null || command -v qemu-aarch64 >/dev/null ||
  skip "no emulator (Debian package qemu-user-static)"
bash "$root_dir/scripts/cross_sysroot.sh" aarch64 >/dev/null || exit

configure "$build" --preset aarch64 -DLABELSCOPE_GUEST_TESTS_ONLY="$for_guests"
say "Building for aarch64 with $(build_jobs) jobs"
cmake --build "$build" --parallel "$(build_jobs)" >&2
if [[ $for_guests == ON ]]; then exit; fi
# Packages of a release are in another folder, because this build is made to be quick.
rm -rf "$build/packages"
bash "$root_dir/scripts/package.sh" --arch aarch64 --build "$build" --output "$build/packages" >&2
say "Running the unit tests under qemu"
ctest --test-dir "$build" --label-regex '^(unit|native)$' --output-on-failure --no-tests=error --timeout 300 \
  --parallel "$(nproc)" "$@" >&2
