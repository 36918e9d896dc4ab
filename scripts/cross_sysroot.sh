#!/usr/bin/env bash
# This unpacks the libraries and headers against which labelscope and its tests are built for
# another processor: Debian packages, into build/sysroot/<processor>. Installing them instead (dpkg
# --add-architecture) would require dozens of this machine's own packages in the very same versions.
#
#   scripts/cross_sysroot.sh aarch64
#
# It prints the folder. If that exists already, nothing is done, and no network is needed; remove it
# to get newer packages. The script exits 77 if packages are not available
# (scripts/debian_packages.sh).
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

# Their dependencies come with them, so that no version of a shared library is named here.
readonly libraries=(
  libc6-dev libstdc++6 libbpf-dev libelf-dev libdw-dev zlib1g-dev libcli11-dev libspdlog-dev libfmt-dev libprotozero-dev
  libiberty-dev libcap-ng-dev libseccomp-dev libcapstone-dev libxxhash-dev libutf8proc-dev
  nlohmann-json3-dev catch2 libbenchmark-dev libzstd-dev liblzma-dev libbz2-dev)
# This comes without dependencies: musl-dev depends on a compiler, which must be one of this
# machine.
readonly alone=(musl musl-dev)

case ${1:-} in
  aarch64) arch=arm64 ;;
  -h | --help) usage; exit 0 ;;
  *) printf 'cross_sysroot.sh: unknown processor: %s (aarch64)\n' "${1:-}" >&2; exit 2 ;;
esac
readonly processor=$1
readonly sysroot=$root_dir/build/sysroot/$processor

# The cross compiler comes with this machine's own release, and the libraries must be of the same
# release.
suite=$(debian_codename) || suite=bookworm
readonly suite

readonly contents="$suite: ${libraries[*]} ${alone[*]} (with records)"
is_whole() { [[ -f $sysroot/.contents && $(<"$sysroot/.contents") == "$contents" ]]; }

if ! is_whole; then
  # One process makes it at a time; others that have waited find it made.
  mkdir -p "${sysroot%/*}"
  exec 8>"$sysroot.lock"
  flock 8
fi
if is_whole; then
  echo "$sysroot"
  exit
fi

packages() {
  bash "$root_dir/scripts/debian_packages.sh" "$@"
}

files=$(packages closure "$arch" "$suite" "${libraries[@]}") || exit
files+=$'\n'$(packages fetch "$arch" "$suite" "${alone[@]}") || exit

say "Unpacking $(wc -l <<<"$files") packages into ${sysroot#"$root_dir"/}"
readonly new=$sysroot.new
rm -rf "$new"
# /lib and /usr/lib are one folder, as on an installed Debian.
mkdir -p "$new"/usr/{bin,sbin,lib}
for folder in bin sbin lib; do ln -s "usr/$folder" "$new/$folder"; done
# scripts/package.sh reads here which package a library is in, and since which version, in dpkg's
# format.
readonly records=$new/var/lib/dpkg/info
mkdir -p "$records"
while read -r file; do
  packages extract "$file" "$new" --exclude='./usr/share/man/*' --exclude='./usr/share/locale/*'
  package=$(basename "$file")
  for record in shlibs symbols; do
    dpkg-deb --ctrl-tarfile "$file" | tar --extract --to-stdout "./$record" 2>/dev/null \
      >"$records/${package%%_*}:$arch.$record" || rm -f "$records/${package%%_*}:$arch.$record"
  done
done <<<"$files"

# Links that begin at the root would lead out of the folder, to the files of this machine.
find "$new" -type l -lname '/*' -printf '%P\n' | while read -r link; do
  target=$(readlink "$new/$link")
  ln -sfn "$(realpath --no-symlinks --relative-to="$(dirname "/$link")" "$target")" "$new/$link"
done

printf '%s\n' "$contents" >"$new/.contents"
rm -rf "$sysroot"
mv "$new" "$sysroot"
echo "$sysroot"
