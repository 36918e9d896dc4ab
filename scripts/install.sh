#!/usr/bin/env bash
# This installs labelscope: it installs the packages that labelscope is built from, builds it, and copies
# what was built to its place. It does so as root, or with sudo where a step needs root.
#
#   scripts/install.sh [--prefix FOLDER]
#
# The folder is /usr/local by default, where most users may not write. Whether this user may is asked at
# the beginning, because the build takes minutes. A folder of one's own needs no root, if the packages
# are there:
#
#   scripts/install.sh --prefix ~/.local
#
# A second run builds only what has changed. docs/questions.md has the same in three commands.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

prefix=/usr/local
while (($# > 0)); do
  case $1 in
    --prefix) prefix=${2:-} && shift ;;
    --prefix=*) prefix=${1#*=} ;;
    -h | --help) usage; exit 0 ;;
    *) printf 'install.sh: unknown option: %s\n' "$1" >&2; exit 2 ;;
  esac
  shift || break  # --prefix without a value
done
[[ -n $prefix ]] || { printf 'install.sh: --prefix is a folder\n' >&2; exit 2; }
# A shell leaves the tilde of --prefix=~/.local as it is.
[[ $prefix != \~/* ]] || prefix=$HOME/${prefix#*/}
prefix=$(realpath --canonicalize-missing -- "$prefix")

# may_write <folder>: the status is true if this user may make files in the folder, or make the folder.
may_write() {
  local folder=$1
  until [[ -e $folder ]]; do folder=$(dirname -- "$folder"); done
  [[ -d $folder && -w $folder ]]
}
as=()
for folder in "$prefix" "$prefix"/{bin,include,lib,share}; do
  if may_write "$folder"; then continue; fi
  ((EUID != 0)) || die "root cannot write to $folder (a read-only file system?); --prefix names another folder. Nothing was built"
  can_be_root || die "user $(id -un) cannot write to $folder, and there is no sudo that makes it root. Nothing was built.
  as root:       the same command installs everything
  without root:  scripts/install.sh --prefix ~/.local    (the packages that scripts/setup.sh --check lists must be there)
An installation of your own samples your own processes, by ptrace. Sampling by BPF needs rights that only root can give."
  as=(as_root)
  break
done

bash "$root_dir/scripts/setup.sh"
readonly build=$root_dir/build/release
configure "$build" --preset release || die "configuring failed; its output is above"
say "Building with $(build_jobs) jobs"
cmake --build "$build" --parallel "$(build_jobs)" >&2 || die "the build failed; its output is above"

say "Installing to $prefix"
# Folders are for everybody, whatever this user's own files are. The full path is for a sudo that has
# another PATH.
umask 022
${as[@]+"${as[@]}"} "$(command -v cmake)" --install "$build" --prefix "$prefix" >"$build/install.log" 2>&1 || {
  cat "$build/install.log" >&2
  die "labelscope is built, but not installed to $prefix: the reason is above. Another run of this script builds nothing again"
}
if ((${#as[@]})); then give_back "$build/install_manifest.txt"; fi
# Programs that are linked with the libraries find them in the loader's cache.
if ((EUID == 0 || ${#as[@]})); then
  as_root ldconfig || warn "ldconfig failed: programs may not find libcustomlabels.so and liblabelscope.so"
fi

version=$("$prefix/bin/labelscope" --version) || die "$prefix/bin/labelscope does not run"
say "Installed $version: $prefix/bin/labelscope"
[[ :$PATH: == *:"$prefix/bin":* ]] || say "Your shell does not find it yet: export PATH=$prefix/bin:\$PATH"
say "Next: ${as[0]:+sudo }labelscope doctor reports what works here"
