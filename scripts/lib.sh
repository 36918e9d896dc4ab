# The scripts of this folder source this file: it has the place of the tree, messages, and how to
# become root. All messages go to stderr, because stdout is for results. shellcheck shell=bash

root_dir=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd -P)
readonly root_dir

# Prints the comment at the head of the script that sources this file: its help.
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }

say() { printf '==> %s\n' "$*" >&2; }
warn() { printf 'warning: %s\n' "$*" >&2; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# Something cannot be done here, which is no failure: ctest and the other scripts treat 77 as
# skipped.
skip() {
  printf 'skipped: %s\n' "$*" >&2
  exit 77
}

# The status is true if as_root can work: this is root, or sudo makes this user root. sudo is asked once,
# also for scripts that this one starts; it may ask for a password, and explains itself if it refuses.
can_be_root() {
  ((EUID != 0)) || return 0
  if [[ -z ${LABELSCOPE_SUDO:-} ]]; then
    LABELSCOPE_SUDO=no
    if command -v sudo >/dev/null && sudo -- true; then LABELSCOPE_SUDO=yes; fi
    export LABELSCOPE_SUDO
  fi
  [[ $LABELSCOPE_SUDO == yes ]]
}

# Runs a command as root: directly, or through sudo (which may ask for a password).
as_root() {
  if ((EUID == 0)); then
    "$@"
  else
    sudo -- "$@"
  fi
}

# Gives files that root has made in the build tree back to the user, who could not remove or rebuild
# them otherwise.
give_back() {
  ((EUID == 0)) || as_root chown -R "$(id -u):$(id -g)" "$@"
}

# Prints the codename of this machine's own release; the status is false if it is not Debian.
debian_codename() {
  # shellcheck source=/dev/null
  (source /etc/os-release 2>/dev/null && [[ ${ID:-} == debian && -n ${VERSION_CODENAME:-} ]] && echo "$VERSION_CODENAME")
}

# Prints the build folder whose labelscope is the newer one: that of scripts/install.sh or that of
# scripts/test.sh. It is the latter if there is none, because its programs are built sooner.
latest_build() {
  local installed=$root_dir/build/release tested=$root_dir/build/dev
  if [[ $installed/cli/labelscope -nt $tested/cli/labelscope ]]; then echo "$installed"; else echo "$tested"; fi
}

# Package lists, and choices that depend on them, are renewed after this time. shellcheck
# disable=SC2034 # for the scripts that source this
readonly package_lists_minutes=720

# as_many_as_fit <MB each> prints the number of processors, or fewer if there is no memory for so
# many; at least 1.
as_many_as_fit() {
  local cores memory_mb by_memory
  cores=$(nproc)
  memory_mb=$(awk '$1 == "MemAvailable:" { print int($2 / 1024) }' /proc/meminfo)
  by_memory=$((${memory_mb:-2048} / $1))
  ((by_memory >= 1)) || by_memory=1
  echo $((cores < by_memory ? cores : by_memory))
}

# Compilers of this code take up to 1 GB each (Catch2 and CLI11 are the large ones).
build_jobs() { as_many_as_fit 1024; }

# configure <folder> <cmake argument...> prints the output only if it fails.
configure() {
  local folder=$1 log=$1/configure.log
  shift
  mkdir -p "$folder"
  say "Configuring ${folder#"$root_dir"/}"
  (cd "$root_dir" && cmake -B "$folder" "$@") >"$log" 2>&1 || {
    cat "$log" >&2
    return 1
  }
}
