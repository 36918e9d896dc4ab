# Installs the packages and the tarball of scripts/package.sh in a guest, and uses them: the
# packages fit together, they hold the right files, and the program runs with the guest's libraries.
# (dpkg does not know those, so it has a folder to itself.)
#
# It is started as a test of the guest's list: packages.sh FOLDER DEBIAN_ARCH PROGRAM, where PROGRAM
# is one that labels its threads (self_check).
# shellcheck shell=bash
set -euo pipefail
readonly folder=$1 arch=$2 program=$3

fail() {
  printf 'FAILED: %s\n' "$*"
  exit 1
}

root=$(mktemp -d)
debs=()
for package in labelscope liblabelscope0 liblabelscope-dev libcustomlabels libcustomlabels-dev; do
  deb=$(find "$folder" -name "${package}_*_$arch.deb")
  [[ -f $deb ]] || fail "there is no package $package for $arch"
  [[ $(dpkg-deb --field "$deb" Architecture) == "$arch" ]] ||
    fail "$deb is for another architecture"
  debs+=("$deb")
done
mkdir -p "$root"/var/lib/dpkg/{info,updates,triggers}
touch "$root/var/lib/dpkg/status"
dpkg --root="$root" --force-depends --force-bad-path --no-triggers --install "${debs[@]}" \
  >"$root/said" 2>&1 ||
  fail "dpkg: $(tail -n 5 "$root/said")"

# record <what, in words> <labelscope> <its option>...: checks that a recording has the program's
# labels.
record() {
  local what=$1 labelscope=$2
  shift 2
  "$labelscope" record "$@" --overwrite -o "$root/out.jsonl" -- "$program" --threads 2 --ms 1500 \
    >/dev/null 2>"$root/said" ||
    fail "$what: record $*: $(tail -n 3 "$root/said")"
  grep -q '"type":"labels".*"tenant"' "$root/out.jsonl" ||
    fail "$what: record $*: the recording has no labels"
}

library=$(find "$root/usr/lib" -name 'libcustomlabels.so' -type f)
[[ -n $library ]] || fail "libcustomlabels.so is not in its package"
labelscope=$root/usr/bin/labelscope
"$labelscope" --version | grep -Eq '^labelscope [0-9]' || fail "the package: --version"
"$labelscope" check "$library" >/dev/null || fail "the package: check of the packaged library"
record "the package" "$labelscope" -F 199
record "the package" "$labelscope" -F 19 --backend ptrace

tarball=$(find "$folder" -name "labelscope-*-$(uname -m).tar.gz")
[[ -f $tarball ]] || fail "there is no tarball for $(uname -m)"
mkdir "$root/tarball"
tar -xzf "$tarball" -C "$root/tarball"
unpacked=$(find "$root/tarball" -name labelscope -type f -perm -100)
[[ -n $unpacked ]] || fail "the tarball has no program labelscope"
record "the tarball" "$unpacked" -F 199
rm -rf "$root"
