#!/usr/bin/env bash
# This loads Debian packages of any suite and architecture, without installing them: kernels for
# virtual machines, libraries for another processor. It neither reads nor changes this machine's own
# package state, and needs no root.
#
#   scripts/debian_packages.sh fetch <arch> <suite> <package>...     downloads these packages
#   scripts/debian_packages.sh closure <arch> <suite> <package>...   and all that they depend on
#   scripts/debian_packages.sh kernel <arch> <suite> [<kind>]        the package with the suite's newest kernel of this
#                                                                    kind: cloud, if there is none, or rt
#   scripts/debian_packages.sh extract <file.deb> <folder> [<tar pattern>...]
#
# <arch> is amd64 or arm64; <suite> is a codename (bookworm, with its security updates) or one with
# an ending (trixie-backports, alone). The first three print the paths of the .deb files, one a
# line. They are kept in build/debian, or in $LABELSCOPE_DOWNLOADS, by exact version, next to the
# package lists, which are renewed after twelve hours or when a file in them is gone.
#
# They come from the mirror that this machine's own apt uses, or from $LABELSCOPE_DEBIAN_MIRROR and
# $LABELSCOPE_DEBIAN_SECURITY_MIRROR.
#
# If packages are not available (no network, no such package, not a Debian machine), this prints a
# sentence and exits 77.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

readonly downloads=${LABELSCOPE_DOWNLOADS:-$root_dir/build/debian}
readonly archives=$downloads/archives
readonly keyring=/usr/share/keyrings/debian-archive-keyring.gpg

wrong_usage() {
  printf 'debian_packages.sh: %s\n' "$1" >&2
  exit 2
}

# Prints the address that this machine has for a suite: $1 is the suite. Other archives may have
# suites of the same name; the origin in their signed Release file distinguishes them from Debian's.
own_mirror() {
  # shellcheck disable=SC2016  # these are apt's variables
  apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI) $(ORIGIN)' 2>/dev/null |
    awk -v suite="$1" '$1 == suite && $2 == "main" && ($4 == "Debian" || $4 ~ /^\$|^$/) { print $3; exit }'
}

# Sets mirror and security_mirror (empty if there is none).
find_mirrors() {
  local codename
  codename=$(debian_codename) || true
  mirror=${LABELSCOPE_DEBIAN_MIRROR:-}
  security_mirror=${LABELSCOPE_DEBIAN_SECURITY_MIRROR:-}
  [[ -z $mirror ]] || return 0
  [[ -n $codename ]] ||
    skip "this is not a Debian, so there is no mirror of Debian to ask: set LABELSCOPE_DEBIAN_MIRROR to the address of one"
  mirror=$(own_mirror "$codename")
  [[ -n $mirror ]] ||
    skip "apt on this machine knows no mirror of Debian's $codename: set LABELSCOPE_DEBIAN_MIRROR to the address of one"
  [[ -n $security_mirror ]] || security_mirror=$(own_mirror "$codename-security")
}

# Makes a root for apt with one suite of one architecture. The settings for the network (proxies,
# certificates, passwords) come from this machine's own configuration; the rest of it is left out,
# above all its hooks.
make_apt_root() {
  find_mirrors
  [[ -r $keyring ]] || skip "$keyring is missing (Debian package debian-archive-keyring)"
  mkdir -p "$apt_root"/etc "$apt_root"/state/lists/partial "$apt_root"/cache/archives/partial "$archives"
  : >"$apt_root/state/status"
  {
    apt-config dump | grep -E '^Acquire::' | grep -vE '^Acquire::(IndexTargets|Languages|Changelogs)' || true
    cat <<EOF_CONF
Dir::State "$apt_root/state";
Dir::State::status "$apt_root/state/status";
Dir::Cache "$apt_root/cache";
Dir::Etc::Parts "/dev/null";
Dir::Etc::Main "/dev/null";
Dir::Etc::SourceList "$apt_root/etc/sources.list";
Dir::Etc::SourceParts "/dev/null";
Dir::Etc::Preferences "/dev/null";
Dir::Etc::PreferencesParts "/dev/null";
Dir::Etc::Trusted "/dev/null";
Dir::Etc::TrustedParts "/dev/null";
APT::Architecture "$arch";
APT::Architectures { "$arch"; };
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
Acquire::Retries "2";
Acquire::ForceHash "SHA256";
EOF_CONF
  } >"$apt_root/etc/apt.conf"
  {
    echo "deb [arch=$arch signed-by=$keyring] $mirror $suite main"
    if [[ $suite != *-* && -n $security_mirror ]]; then
      echo "deb [arch=$arch signed-by=$keyring] $security_mirror $suite-security main"
    fi
  } >"$apt_root/etc/sources.list"
}

apt_here() {
  local program=$1
  shift
  APT_CONFIG=$apt_root/etc/apt.conf "$program" "$@"
}

# A suite can disappear from a mirror, its security updates even earlier. The rest is used.
renew_lists() {
  local log=$apt_root/update.log
  say "Updating the package lists of $suite for $arch"
  if ! apt_here apt-get update --quiet >"$log" 2>&1; then
    warn "$suite for $arch: $(grep -m 1 -E '^(E|Err|W):?' "$log" || echo 'apt-get update failed')"
  fi
  touch "$apt_root/renewed"
}

# Renews the lists if they are missing or old.
need_lists() {
  make_apt_root
  if [[ -z $(find "$apt_root/renewed" -mmin "-$package_lists_minutes" 2>/dev/null) ]]; then renew_lists; fi
  compgen -G "$apt_root/state/lists/*_Packages*" >/dev/null || {
    rm -f "$apt_root/renewed"
    skip "there are no package lists of $suite for $arch: $(tail -n 1 "$apt_root/update.log" 2>/dev/null)"
  }
}

# Prints "URI file size hash" for each file that a command of apt-get would load.
list_files() {
  apt_here apt-get --quiet --print-uris "$@" 2>"$apt_root/locate.log" |
    awk -v quote="'" '$1 ~ "^" quote { gsub(quote, "", $1); print $1, $2, $3, $4 }'
}

# Does the same for packages: $1 is download, or closure for all that they depend on. apt prints the
# weakest of its hashes for an installation, and the strongest for a download.
locate_packages() {
  local how=$1 packages=("${@:2}")
  if [[ $how == closure ]]; then
    mapfile -t packages < <(list_files install --yes "${packages[@]}" | awk '{ print $2 }' |
      sed -E 's/^([^_]*)_([^_]*)_.*/\1=\2/; s/%3a/:/g')
    ((${#packages[@]} > 0)) || return 0
  fi
  list_files download "${packages[@]}"
}

# The hash is apt's own, from the signed lists: SHA256:..., or in principle SHA512:... or
# MD5Sum:....
is_whole() {
  local file=$1 hash=$2
  [[ -s $file && $hash == SHA256:* ]] && echo "${hash#SHA256:}  $file" | sha256sum --check --status 2>/dev/null
}

# try_fetch <download|closure> <package>... prints the paths; its status is false if one is not
# available. The name in a list of URIs has %3a for the colon of a version's epoch, as dpkg's own
# file names do.
try_fetch() {
  local line uri name hash missing=() paths=() log=$apt_root/fetch.log
  local -a located
  mapfile -t located < <(locate_packages "$@")
  ((${#located[@]} > 0)) || return 1
  for line in "${located[@]}"; do
    read -r uri name _ hash <<<"$line"
    paths+=("$archives/$name")
    is_whole "$archives/$name" "$hash" || missing+=("$line")
  done
  if ((${#missing[@]} > 0)); then
    say "Downloading $(printf '%s\n' "${missing[@]}" | awk '{ n += $3 } END { printf "%d packages, %.1f MB", NR, n / 1e6 }')"
    for line in "${missing[@]}"; do
      read -r uri name _ hash <<<"$line"
      fetch_file "$uri" "$archives/$name" "$hash" 2>"$log" || return 1
    done
  fi
  printf '%s\n' "${paths[@]}"
}

# Loads one file by apt's own transports, and checks its hash. While it is loaded it is in this
# suite's folder, which is locked, because packages for all architectures are in several suites'
# lists.
fetch_file() {
  local uri=$1 file=$2 hash=$3 new=$apt_root/cache/new.deb
  rm -f "$new"
  apt_here /usr/lib/apt/apt-helper download-file "$uri" "$new" "$hash" >/dev/null || return 1
  mv "$new" "$file"
}

why_not() {
  { grep -h -m 1 -E '^E:' "$apt_root/locate.log" "$apt_root/fetch.log" 2>/dev/null || echo "E: no reason given"; } |
    sed -n '1s/^E: //p'
}

# Lists that were renewed long ago name files that newer ones have replaced.
fetch() {
  rm -f "$apt_root"/{locate,fetch}.log
  try_fetch "$@" && return
  renew_lists
  try_fetch "$@" && return
  return 1
}

# The meta-package's Depends names the kernel; since 7.x that package depends on the one with the
# kernel's image. A mirror may list versions whose files are gone (those of suites past their
# support), so older ones are tried, too.
kernel() {
  local meta=linux-image-${1:-cloud}-$arch version image binary paths
  local -a versions
  mapfile -t versions < <(apt_here apt-cache madison "$meta" | awk '{ print $3 }')
  ((${#versions[@]} > 0)) || skip "$suite has no package $meta"
  rm -f "$apt_root"/{locate,fetch}.log
  for version in "${versions[@]}"; do
    image=$(depends_on "$meta=$version" '^linux-image-')
    [[ -n $image ]] || continue
    binary=$(depends_on "$image" '^linux-binary-')
    if paths=$(try_fetch download "${binary:-$image}"); then
      echo "$paths"
      return
    fi
    warn "$suite: ${binary:-$image} cannot be had ($(why_not))"
  done
  skip "none of the kernels that $suite lists for $arch can be downloaded"
}

# Prints the first package that $1 depends on and whose name matches $2.
depends_on() {
  apt_here apt-cache show "$1" 2>/dev/null | sed -n 's/^Depends: //p' | tr ',' '\n' |
    sed 's/^ *//; s/ .*//; s/:.*//' | grep -m 1 -E "$2" || true
}

# Symbolic links that a package makes to its own root would lead out of the folder.
# cross_sysroot.sh, which needs them, makes them relative. A folder that is a link already (merged
# /usr) stays one.
extract() {
  local file=$1 folder=$2
  shift 2
  [[ -s $file ]] || wrong_usage "no such file: $file"
  mkdir -p "$folder"
  dpkg-deb --fsys-tarfile "$file" |
    tar --extract --directory "$folder" --keep-directory-symlink --no-same-owner ${1:+--wildcards} "$@"
}

(($# > 0)) || { usage >&2; exit 2; }
command=$1
shift
case $command in
  fetch | closure) (($# >= 3)) || wrong_usage "$command needs an architecture, a suite and packages" ;;
  kernel) (($# == 2 || $# == 3)) || wrong_usage "kernel needs an architecture and a suite" ;;
  extract) (($# >= 2)) || wrong_usage "extract needs a file and a folder"; extract "$@"; exit ;;
  -h | --help) usage; exit 0 ;;
  *) wrong_usage "unknown command: $command" ;;
esac
arch=$1 suite=$2
shift 2
[[ $arch == amd64 || $arch == arm64 ]] || wrong_usage "unknown architecture: $arch (amd64 or arm64)"
[[ $suite =~ ^[a-z]+(-[a-z]+)*$ ]] || wrong_usage "not the name of a suite: $suite"
for package in "$@"; do
  [[ $package =~ ^[a-z0-9][a-z0-9+.-]+(=[A-Za-z0-9.+:~-]+)?$ ]] || wrong_usage "not the name of a package: $package"
done
for program in apt-get apt-config dpkg-deb; do
  command -v "$program" >/dev/null || skip "$program is not installed: Debian packages can be had on Debian alone"
done

readonly apt_root=$downloads/$suite-$arch
mkdir -p "$apt_root"
# Only one process runs at a time for each suite, because apt's own lock does not wait but fails.
exec 9>"$apt_root/lock"
flock 9
need_lists
case $command in
  fetch) fetch download "$@" || skip "$suite, $arch: cannot have $*: $(why_not)" ;;
  closure) fetch closure "$@" || skip "$suite, $arch: cannot have $*: $(why_not)" ;;
  kernel) kernel "$@" ;;
esac
