#!/usr/bin/env bash
# Tests scripts/install.sh in a made-up tree, with a sudo and a cmake that note how they were called: what
# it refuses it refuses before anything is built, and where it needs root it uses sudo. Also tests which
# build the demo takes.
set -euo pipefail
top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
work=$(mktemp -d)
trap 'chmod -R u+w "$work" && rm -rf "$work"' EXIT

fail() {
  printf 'FAILED: %s\n' "$*"
  cat "$work/said" "$work/called" 2>/dev/null
  exit 1
}

# The script runs as another user if this is root, who may write everywhere. That user can reach a
# folder in /tmp, and no private home.
user=()
if ((EUID == 0)); then
  user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
  chmod 755 "$work"
  "${user[@]}" test -x "$work" 2>/dev/null || { echo "SKIPPED: no other user can reach $work"; exit 77; }
fi
mkdir -p "$work"/{tree/scripts,bin,home,foreign/bin}
cp "$top"/scripts/{install,lib}.sh "$work/tree/scripts"
printf '#!/bin/sh\n' >"$work/tree/scripts/setup.sh"
chmod 555 "$work/foreign" "$work/foreign/bin"
# The PATH has none of the machine's own sudo and cmake.
for program in awk bash cat chmod chown dirname env id mkdir nproc realpath rm sed true; do
  ln -s "$(command -v "$program")" "$work/bin/$program"
done
printf '#!/bin/sh\necho "labelscope 1.2"\n' >"$work/labelscope"
# An installation leaves a list in the build folder. Without root it also makes the program.
cat >"$work/bin/cmake" <<E_CMAKE
#!/bin/bash
echo "\${AS_ROOT:-}cmake \$*" >>$work/called
[[ \$1 == --install ]] || exit 0
: >"\$2/install_manifest.txt"
[[ \${AS_ROOT:-} ]] || { mkdir -p "\$4/bin" && cat $work/labelscope >"\$4/bin/labelscope" && chmod 755 "\$4/bin/labelscope"; }
E_CMAKE
printf '#!/bin/sh\n' >"$work/bin/ldconfig"
printf '#!/bin/bash\necho "sudo $*" >>%s/called\n[[ ! -e %s/sudo_refuses ]] || exit 1\nshift\nAS_ROOT="root: " "$@"\n' \
  "$work" "$work" >"$work/sudo"
chmod 755 "$work"/bin/{cmake,ldconfig} "$work"/{sudo,labelscope}
((EUID != 0)) || chown -R 65534 "$work"/{tree,home}

# install <argument>...: runs the script with its status in $status.
install() {
  rm -f "$work/called"
  : >"$work/called"
  chmod 666 "$work/called"
  status=0
  ${user[@]+"${user[@]}"} env -i PATH="$work/bin" HOME="$work/home" bash "$work/tree/scripts/install.sh" "$@" \
    >"$work/said" 2>&1 || status=$?
}
expect_called() {
  [[ $(grep -c "^$1" "$work/called") == 1 ]] || fail "not called once: $1"
}

# expect_refused <what>: nothing was called that builds, and the message says what to do.
expect_refused() {
  ((status == 1)) || fail "$1: the status is $status"
  ! grep -q cmake "$work/called" || fail "$1: it builds"
  grep -q 'Nothing was built' "$work/said" || fail "$1: the message does not say that nothing was built"
  grep -q 'scripts/install.sh --prefix ~/.local' "$work/said" || fail "$1: the message does not say what to do"
}
install --prefix "$work/foreign"
expect_refused "without sudo"
install --prefix "$work/foreign/not/there/yet"
expect_refused "without sudo, for a folder that is not there"
cp "$work/sudo" "$work/bin/sudo"
: >"$work/sudo_refuses"
install --prefix "$work/foreign"
expect_refused "with a sudo that refuses"
[[ $(grep -c '^sudo' "$work/called") == 1 ]] || fail "sudo was asked more than once"

# A folder of one's own needs no sudo.
for arguments in "--prefix $work/home/.local" '--prefix=~/.local'; do
  rm -rf "$work/home/.local"
  # shellcheck disable=SC2086  # several words
  install $arguments
  ((status == 0)) || fail "$arguments: the status is $status"
  expect_called "cmake -B $work/tree/build/release --preset release"
  expect_called "cmake --build $work/tree/build/release"
  expect_called "cmake --install $work/tree/build/release --prefix $work/home/.local"
  ! grep -q '^sudo' "$work/called" || fail "$arguments: it calls sudo"
  grep -q "Installed labelscope 1.2: $work/home/.local/bin/labelscope" "$work/said" || fail "$arguments: not the place"
  grep -q "export PATH=$work/home/.local/bin" "$work/said" || fail "$arguments: it does not say that PATH lacks the folder"
done

# With sudo only the installation is root's.
rm "$work/sudo_refuses"
chmod 755 "$work/foreign" "$work/foreign/bin"
cp "$work/labelscope" "$work/foreign/bin/labelscope"
chmod 555 "$work/foreign" "$work/foreign/bin"
install --prefix "$work/foreign"
((status == 0)) || fail "with sudo: the status is $status"
expect_called "sudo -- true"
expect_called "cmake --build $work/tree/build/release"
expect_called "root: cmake --install $work/tree/build/release --prefix $work/foreign"

# The demo takes the build that is the newer one, and that of the tests if there is none.
latest() { (source "$work/tree/scripts/lib.sh" && latest_build); }
rm -rf "$work/tree/build"
[[ $(latest) == "$work/tree/build/dev" ]] || fail "without a build: $(latest)"
mkdir -p "$work/tree/build"/{dev,release}/cli
: >"$work/tree/build/release/cli/labelscope"
[[ $(latest) == "$work/tree/build/release" ]] || fail "after an installation: $(latest)"
touch -d '1 hour' "$work/tree/build/dev/cli/labelscope"
[[ $(latest) == "$work/tree/build/dev" ]] || fail "after the tests: $(latest)"
touch -d '2 hours' "$work/tree/build/release/cli/labelscope"
[[ $(latest) == "$work/tree/build/release" ]] || fail "after another installation: $(latest)"
