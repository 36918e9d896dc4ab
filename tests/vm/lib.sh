# Shared by the scripts of this folder (sourced, not run).
# shellcheck shell=bash
# shellcheck source=scripts/lib.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/../../scripts/lib.sh"

# shellcheck disable=SC2034,SC2154  # for the scripts that source this; root_dir is of scripts/lib.sh
readonly vm_dir=$root_dir/tests/vm
# This folder has kernels, images, logs and reports.
# shellcheck disable=SC2034
readonly vm_build=$root_dir/build/vm

# reason_in <log>: prints the reason of a script that ended with skip (scripts/lib.sh).
reason_in() { sed -n 's/^skipped: //p' "$1" | tail -n 1; }

# debian_arch <x86_64|aarch64>: prints Debian's name of it.
debian_arch() {
  case $1 in
    x86_64) echo amd64 ;;
    aarch64) echo arm64 ;;
    *) die "unknown architecture: $1 (x86_64 or aarch64)" ;;
  esac
}
