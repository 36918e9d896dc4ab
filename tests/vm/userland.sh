#!/usr/bin/env bash
# Prints the folders with programs and libraries of another architecture for its guests, one a line:
# the sysroot of the cross build, and the shell and the small tools that the tests call, unpacked
# from Debian's packages.
#
#  tests/vm/userland.sh aarch64
#
# With status 77 it prints the reason why there are no packages.
set -euo pipefail
# shellcheck source=tests/vm/lib.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

readonly arch=$1
readonly folder=$vm_build/$arch/userland
readonly sysroot=$root_dir/build/sysroot/$arch
readonly suite=bookworm
readonly packages=(bash binutils busybox-static coreutils dash diffutils dpkg file findutils grep gzip jq libcap2-bin mawk
  mount procps python3 redis-server sed sqlite3 tar util-linux xz-utils)

list_folders() {
  [[ ! -d $sysroot ]] || echo "$sysroot"
  echo "$folder"
}
# The folder is valid as long as package lists are (scripts/debian_packages.sh).
if [[ -n $(find "$folder/.packages" -mmin "-$package_lists_minutes" 2>/dev/null) ]]; then
  list_folders
  exit
fi

deb_arch=$(debian_arch "$arch")
# Its reason and its status, which may be 77, become those of this script.
wanted=$(bash "$root_dir/scripts/debian_packages.sh" closure "$deb_arch" "$suite" "${packages[@]}") || exit
mapfile -t debs <<<"$wanted"
# The packages are unpacked again only if one has another version.
if [[ ! -f $folder/.packages || $(<"$folder/.packages") != "$wanted" ]]; then
  say "Unpacking ${#debs[@]} packages for $arch guests"
  rm -rf "$folder"
  for deb in "${debs[@]}"; do bash "$root_dir/scripts/debian_packages.sh" extract "$deb" "$folder"; done
  # dpkg leaves this link to update-alternatives.
  ln -sf mawk "$folder/usr/bin/awk"
fi
echo "$wanted" >"$folder/.packages"
list_folders
