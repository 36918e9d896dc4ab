# The packages and the tarball of scripts/package.sh, unpacked in a guest and used: they hold what they must, and it runs
# with the libraries that are there. Started as a test of the guest's list: packages.sh FOLDER DEBIAN_ARCH PROGRAM, where
# PROGRAM is one that labels its threads (self_check).
# shellcheck shell=bash
set -euo pipefail
readonly folder=$1 arch=$2 program=$3

fail() {
  printf 'FAILED: %s\n' "$*"
  exit 1
}

root=$(mktemp -d)
for package in labelscope liblabelscope0 liblabelscope-dev libcustomlabels libcustomlabels-dev; do
  deb=$(find "$folder" -name "${package}_*_$arch.deb")
  [[ -f $deb ]] || fail "there is no package $package for $arch"
  [[ $(dpkg-deb --field "$deb" Architecture) == "$arch" ]] || fail "$deb is for another architecture"
  dpkg-deb --extract "$deb" "$root"
done

# use <what, in words> <labelscope>: everything that it is for, once.
use() {
  "$2" --version | grep -Eq '^labelscope [0-9]' || fail "$1: --version"
  "$2" check "$library" >/dev/null || fail "$1: check of the packaged library"
  "$2" record -F 199 --overwrite -o "$root/out.jsonl" -- "$program" --threads 2 --ms 1500 >/dev/null 2>"$root/said" ||
    fail "$1: record: $(tail -n 3 "$root/said")"
  grep -q '"type":"labels".*"tenant"' "$root/out.jsonl" || fail "$1: the recording has no labels"
  "$2" record --backend ptrace -F 19 --overwrite -o "$root/out.jsonl" -- "$program" --threads 2 --ms 1500 >/dev/null 2>"$root/said" ||
    fail "$1: record by ptrace: $(tail -n 3 "$root/said")"
}

library=$(find "$root/usr/lib" -name 'libcustomlabels.so' -type f)
[[ -n $library ]] || fail "libcustomlabels.so is not in its package"
use "the package" "$root/usr/bin/labelscope"

tarball=$(find "$folder" -name "labelscope-*-$(uname -m).tar.gz")
[[ -f $tarball ]] || fail "there is no tarball for $(uname -m)"
mkdir "$root/tarball"
tar -xzf "$tarball" -C "$root/tarball"
unpacked=$(find "$root/tarball" -name labelscope -type f -perm -100)
[[ -n $unpacked ]] || fail "the tarball has no program labelscope"
use "the tarball" "$unpacked"
rm -rf "$root"
