#!/usr/bin/env bash
# Prints the path of a kernel's image: Debian's kernel of a series, from the first suite that has it.
#
#  tests/vm/kernel.sh <x86_64|aarch64> <5.10|6.1|6.12|7> [<kind>]
#
# The kind is cloud, if there is none, or rt, whose soft interrupts and locks sleep (PREEMPT_RT).
# 7 is the newest of 7.2 and later, since its suite keeps no other. The cloud kernels have
# everything built in that a guest without disk and network needs. The suite's package lists say
# which version it is today. Files that were fetched once are kept in build/debian and
# build/vm/kernels. With status 77 it prints the reason why there is no such kernel.
set -euo pipefail
# shellcheck source=tests/vm/lib.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

readonly arch=$1 series=$2 kind=${3:-cloud}
deb_arch=$(debian_arch "$arch")
case $series in
  5.10) suites=(bullseye) ;;
  6.1) suites=(bookworm) ;;
  6.12) suites=(trixie bookworm-backports) ;;
  7) suites=(trixie-backports) ;;
  *) die "unknown kernel series: $series (5.10, 6.1, 6.12 or 7)" ;;
esac

# image_of <deb>: unpacks the image of a package, once, and prints its path. Up to 6.x it is in
# /boot, in later packages in /usr/lib/modules/VERSION.
image_of() {
  local deb=$1 folder
  folder=$vm_build/kernels/$(basename "$deb" .deb)
  if ! compgen -G "$folder/vmlinuz*" >/dev/null; then
    rm -rf "$folder.new"
    bash "$root_dir/scripts/debian_packages.sh" extract "$deb" "$folder.new" '*/vmlinuz*'
    mkdir -p "$folder"
    find "$folder.new" -type f -name 'vmlinuz*' -exec mv -t "$folder" {} +
    rm -rf "$folder.new"
  fi
  compgen -G "$folder/vmlinuz*" | head -n 1
}

# The path is valid as long as the package lists are (scripts/debian_packages.sh).
readonly known=$vm_build/kernels/$arch-$series-$kind.path
# Guests of one kernel ask for it at the same moment, and the first one fetches it.
mkdir -p "$vm_build/kernels"
exec {turn}>"$known.lock"
flock "$turn"
if [[ -n $(find "$known" -mmin "-$package_lists_minutes" 2>/dev/null) && -f $(<"$known") ]]; then
  cat "$known"
  exit
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
reasons=()
for suite in "${suites[@]}"; do
  deb=$(bash "$root_dir/scripts/debian_packages.sh" kernel "$deb_arch" "$suite" "$kind" 2>"$log") || {
    (($? == 77)) || die "cannot fetch a kernel ($kind) of $suite for $deb_arch: $(tail -n 3 "$log")"
    reasons+=("$(reason_in "$log")")
    continue
  }
  if [[ $(basename "$deb") != linux-*-"$series".* ]]; then
    reasons+=("the kernel of $suite for $deb_arch is $(basename "$deb" .deb), not of $series")
    continue
  fi
  image=$(image_of "$deb")
  [[ -n $image ]] || die "there is no vmlinuz in $deb"
  echo "$image" | tee "$known"
  exit
done
skip "$(IFS=';'; echo "${reasons[*]}")"
