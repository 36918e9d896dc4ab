#!/usr/bin/env bash
# This installs the packages that labelscope is built from, and with --tests those that its tests
# need. Only packages that are missing are installed, so a second run changes nothing and needs no
# network.
#
#   scripts/setup.sh [--tests] [--check]
#
# --check installs nothing: it lists what is missing, and exits 1 if anything is. On Debian 12 or
# newer and on Ubuntu it uses apt, as root or with sudo. Without either, only what the build or the
# tests cannot do without has to be there. Elsewhere it lists the missing packages.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

# Debian keeps bpftool in a folder that only root's PATH has.
PATH=$PATH:/usr/sbin:/sbin

# The columns are: Debian package, Fedora package, and how to find out without dpkg that it is
# there: a command, a pkg-config module (pc:) or a header (h:).
readonly build_requirements='
cmake               cmake                   cmake
ninja-build         ninja-build             ninja
g++                 gcc-c++                 g++
pkg-config          pkgconf-pkg-config      pkg-config
clang               clang                   clang
bpftool             bpftool                 bpftool
libbpf-dev          libbpf-devel            pc:libbpf
libelf-dev          elfutils-libelf-devel   pc:libelf
libdw-dev           elfutils-devel          pc:libdw
zlib1g-dev          zlib-devel              pc:zlib
libisal-dev         isa-l-devel             pc:libisal
liblzma-dev         xz-devel                pc:liblzma
libcli11-dev        cli11-devel             h:CLI/CLI.hpp
libspdlog-dev       spdlog-devel            pc:spdlog
libfmt-dev          fmt-devel               pc:fmt
libprotozero-dev    protozero-devel         h:protozero/pbf_writer.hpp
libiberty-dev       binutils-devel          h:libiberty/demangle.h
libcap-ng-dev       libcap-ng-devel         pc:libcap-ng
libcapstone-dev     capstone-devel          pc:capstone
libxxhash-dev       xxhash-devel            pc:libxxhash
libutf8proc-dev     utf8proc-devel          pc:libutf8proc
libseccomp-dev      libseccomp-devel        pc:libseccomp
nlohmann-json3-dev  json-devel              h:nlohmann/json.hpp
ccache              ccache                  optional
'
readonly test_requirements='
catch2              catch-devel             h:catch2/catch.hpp,catch2/catch_all.hpp
libbenchmark-dev    google-benchmark-devel  h:benchmark/benchmark.h
lld                 lld                     ld.lld
mold                mold                    optional
binutils            binutils                readelf
musl-tools          musl-gcc                musl-gcc
golang-go           golang                  go
default-jdk-headless java-devel              optional
protobuf-compiler   protobuf-compiler       protoc
python3-protobuf    python3-protobuf        py:google.protobuf
python3-jsonschema  python3-jsonschema      py:jsonschema
python3-junitparser python3-junitparser     optional
python3-uvloop      python3-uvloop          optional
mandoc              mandoc                  optional
nodejs              nodejs                  optional
libnode-dev         nodejs-devel            optional
chromium            chromium                optional
clang-tidy          clang-tools-extra       clang-tidy
libc6-dbg           glibc-debuginfo         optional
rpm                 rpm-build               optional
llvm                llvm                    yaml2obj,yaml2obj-14
jq                  jq                      jq
gdb                 gdb                     gcore
valgrind            valgrind                valgrind
linux-perf          perf                    optional
bpftrace            bpftrace                optional
'
# These are servers that tests start by themselves, on sockets in their own folders. Where there is
# systemd, Debian also starts its own of each.
readonly server_requirements='
postgresql                         postgresql-server  optional
postgresql-VERSION-pg-stat-kcache  -                  optional
pgbouncer                          pgbouncer          optional
mariadb-server-core                mariadb-server     optional
mariadb-client-core                mariadb            optional
php-fpm                            php-fpm            optional
libapache2-mod-php                 php                optional
apache2-bin                        httpd              optional
haproxy                            haproxy            optional
uwsgi-core                         uwsgi              optional
uwsgi-plugin-python3               uwsgi-plugin-python3  optional
redis-server                       redis              optional
nginx-light                        nginx              optional
apache2-utils                      httpd-tools        optional
curl                               curl               optional
'
# These are for virtual machines with other kernels (tests/vm).
readonly guest_requirements='
qemu-system-arm         qemu-system-aarch64        optional
cpio                    cpio                       optional
busybox                 busybox                    optional
file                    file                       optional
libcap2-bin             libcap                     optional
'
# These are for the cross build for aarch64, its unit tests (qemu-user), and virtual machines of
# that processor.
readonly cross_requirements='
g++-aarch64-linux-gnu   gcc-c++-aarch64-linux-gnu  optional
qemu-user-static        qemu-user-static           optional
qemu-system-x86         qemu-system-x86            optional
'

# has_header <path> is true if the compiler finds the header.
has_header() {
  printf '#include <%s>\n' "$1" | "${CXX:-g++}" -std=c++20 -E -x c++ - >/dev/null 2>&1
}

# is_there <check> does the check of the third column above. A comma separates alternatives.
is_there() {
  local check=$1 kind=command name names
  case $check in
    optional) return 0 ;;
    *:*) kind=${check%%:*} check=${check#*:} ;;
  esac
  IFS=, read -ra names <<<"$check"
  for name in "${names[@]}"; do
    case $kind in
      command) command -v "$name" >/dev/null && return 0 ;;
      pc) pkg-config --exists "$name" 2>/dev/null && return 0 ;;
      h) has_header "$name" && return 0 ;;
      py) python3 -c "import $name" 2>/dev/null && return 0 ;;
    esac
  done
  return 1
}

is_installed() {
  [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

# Prints the version of the server that this release's package postgresql is, for names of
# extensions. Without package lists it is that of Debian 12.
postgresql_version() {
  local version
  version=$(apt-cache show --no-all-versions postgresql 2>/dev/null | sed -n 's/^Depends: postgresql-\([0-9]*\).*/\1/p')
  echo "${version:-15}"
}

# Prints the Debian packages that are not installed, one a line.
missing_on_debian() {
  local package check
  while read -r package _ check; do
    [[ -n $package ]] || continue
    [[ $package != *VERSION* ]] || package=${package/VERSION/$(postgresql_version)}
    is_installed "$package" && continue
    # Ubuntu has no package of this name before 25.04: the command comes with the kernel's tools.
    if [[ $package == bpftool && ${ID:-} == ubuntu ]]; then
      bpftool version >/dev/null 2>&1 || printf '%s\n' linux-tools-common linux-tools-generic
      continue
    fi
    # There are two packages with it, either of which would remove the other.
    if [[ $package == busybox ]] && command -v busybox >/dev/null; then continue; fi
    # Packages of node that are not Debian's have its headers in them, and exclude this package.
    if [[ $package == libnode-dev ]] && has_header node/node_api.h; then continue; fi
    # Any JDK will do.
    if [[ $package == default-jdk-headless ]] && command -v javac >/dev/null; then continue; fi
    # Under Debian these two come under other names as well (pkgconf, a compiler from elsewhere).
    if [[ $package == pkg-config || $package == g++ ]] && is_there "$check"; then continue; fi
    echo "$package"
  done <<<"$1"
}

# apt-get waits for dpkg's lock itself (DPkg::Lock::Timeout), not for that of the package lists: a
# fresh cloud machine updates them in the background in its first minutes.
apt() {
  local log attempt status
  log=$(mktemp)
  for attempt in 1 2 3 4 5 6 7 8 9 10; do
    status=0
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 "$@" 2>&1 |
      tee "$log" >&2 || status=$?
    if ((status == 0)) || ! grep -q 'Could not get lock' "$log"; then break; fi
    say "Another apt is running; trying again in 15 seconds ($attempt of 10)"
    sleep 15
  done
  rm -f "$log"
  return "$status"
}

setup_debian() {
  local missing
  mapfile -t missing < <(missing_on_debian "$1")
  if ((${#missing[@]} == 0)); then
    say "All packages are there"
    return
  fi
  say "Missing packages: ${missing[*]}"
  ((check_only == 0)) || exit 1
  if ! can_be_root; then
    [[ -z $(missing_anywhere "$1") ]] ||
      die "installing them needs root, and there is no sudo here that gives it. As root: apt-get install --no-install-recommends ${missing[*]}"
    warn "there is no root here to install them; it goes on without, because none is indispensable"
    return
  fi
  say "Updating the package lists"
  apt update --quiet || warn "the package lists could not be updated; installing from those that are here"
  mapfile -t missing < <(missing_on_debian "$1")  # their names may depend on the lists
  say "Installing ${#missing[@]} packages"
  apt install --yes --quiet --no-install-recommends "${missing[@]}" ||
    die "apt could not install: ${missing[*]} (its own message is above)"
}

# Prints the packages whose tool or library is indispensable and not there: the names in Debian and
# Fedora, on one line each.
missing_anywhere() {
  local debian fedora check
  while read -r debian fedora check; do
    [[ -z $debian ]] || is_there "$check" || printf '%s %s\n' "$debian" "$fedora"
  done <<<"$1"
}

setup_elsewhere() {
  local debian fedora missing_debian=() missing_fedora=()
  while read -r debian fedora; do
    missing_debian+=("$debian")
    missing_fedora+=("$fedora")
  done < <(missing_anywhere "$1")
  if ((${#missing_debian[@]} == 0)); then
    say "All tools and libraries are there"
    return
  fi
  say "This is ${PRETTY_NAME:-an unknown distribution}, whose packages this script does not install. Missing:"
  say "  by their names in Debian: ${missing_debian[*]}"
  say "  by their names in Fedora: ${missing_fedora[*]}"
  die "install them and run this again"
}

# The presets are of version 6, which needs CMake 3.25.
check_cmake() {
  local version
  version=$(cmake --version | sed -n '1s/^cmake version \([0-9.]*\).*/\1/p')
  [[ $(printf '%s\n' 3.25 "$version" | sort -V | head -n 1) == 3.25 ]] ||
    die "CMake $version is too old: 3.25 or newer is needed (Debian 12 and Ubuntu 24.04 have it)"
}

requirements=$build_requirements
check_only=0
for argument in "$@"; do
  case $argument in
    --tests)
      requirements+=$test_requirements$server_requirements$guest_requirements
      [[ $(uname -m) != x86_64 ]] || requirements+=$cross_requirements
      ;;
    --check) check_only=1 ;;
    -h | --help) usage; exit 0 ;;
    *) printf 'setup.sh: unknown option: %s\n' "$argument" >&2; exit 2 ;;
  esac
done

# shellcheck source=/dev/null
[[ -r ${OS_RELEASE:-/etc/os-release} ]] && source "${OS_RELEASE:-/etc/os-release}"
if [[ " ${ID:-} ${ID_LIKE:-} " =~ \ (debian|ubuntu)\  ]] && command -v apt-get dpkg-query >/dev/null; then
  setup_debian "$requirements"
else
  setup_elsewhere "$requirements"
fi
check_cmake
