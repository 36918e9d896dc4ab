#!/usr/bin/env bash
# This makes the packages for one processor:
#
#   labelscope_<version>_<arch>.deb            the program and its manual pages
#   liblabelscope0_..., liblabelscope-dev_...  the reader as a C library, and what C, C++ and BPF programs build with
#   libcustomlabels_..., libcustomlabels-dev_...  the writer library, and what programs build with
#   python3-customlabels_...                      labels from Python
#   libcustomlabels-java_...                      labels from Java, if there is a JDK
#   node-customlabels_...                         labels from Node.js, if there are headers of Node-API
#   labelscope-<version>-<processor>.tar.gz    for every distribution: the program needs no library and no libc, and
#                                              runs from where it is unpacked
#   labelscope-<version>-1.<processor>.rpm     the same program, if there is rpmbuild
#
#   scripts/package.sh [--arch x86_64|aarch64] [--build <folder>] [--output <folder>] [--configure]
#
# The default is this machine's processor; aarch64 can be built on x86-64, too. It is built for
# release, in build/package-<processor> or in the folder of --build; a folder that is configured
# already is built as it is. --configure ends before the build. The output goes to build/packages,
# where packages of other versions are removed, or to a folder of your own, where everything else
# stays. The script prints the paths of what it made. The same commit and tools give the same bytes
# in every folder, if it is built for release: times are the commit's, or $SOURCE_DATE_EPOCH.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
umask 022
export LC_ALL=C

readonly own_output=$root_dir/build/packages
processor=$(uname -m) build='' output=$own_output configure_only=0
while (($# > 0)); do
  case $1 in
    --arch) processor=${2:-} ;;
    --build) build=${2:-} ;;
    --output) output=${2:-} ;;
    --configure) configure_only=1 && shift && continue ;;
    -h | --help) usage; exit 0 ;;
    *) printf 'package.sh: unknown option: %s\n' "$1" >&2; exit 2 ;;
  esac
  shift 2 2>/dev/null || { printf 'package.sh: an option without its value\n' >&2; exit 2; }
done
case $processor in
  x86_64) arch=amd64 ;;
  aarch64) arch=arm64 ;;
  *) printf 'package.sh: unknown processor: %s (x86_64 or aarch64)\n' "$processor" >&2; exit 2 ;;
esac
for program in dpkg-deb readelf gzip; do
  command -v "$program" >/dev/null || die "$program is not installed: packages are made on Debian or Ubuntu"
done

# The libraries that it is built with, of this machine or of the sysroot, determine the packages
# that it depends on.
cross=0 package_records=/var/lib/dpkg/info documents=/usr/share/doc
if [[ $processor != "$(uname -m)" ]]; then
  [[ $processor == aarch64 ]] || die "packages for $processor are made on such a machine"
  cross=1
  sysroot=$(bash "$root_dir/scripts/cross_sysroot.sh" "$processor") || exit
  package_records=$sysroot/var/lib/dpkg/info documents=$sysroot/usr/share/doc
fi

# Libraries go where Debian has them, in a folder for their architecture, which CMake would not
# choose in a cross build.
configure_release() {
  local arguments=(--preset release -DCMAKE_INSTALL_PREFIX=/usr "-DCMAKE_INSTALL_LIBDIR=lib/$processor-linux-gnu")
  ((cross == 0)) || arguments+=("-DCMAKE_TOOLCHAIN_FILE=$root_dir/scripts/aarch64-toolchain.cmake")
  configure "$build" "${arguments[@]}" || die "configuring failed"
}

# has_java is true if the build has found a JDK.
has_java() { [[ -e $build/writer-lib/java/customlabels-java ]]; }
# has_node is true if the build has found the headers of Node-API.
has_node() { [[ -e $build/writer-lib/node/customlabels/package.json ]]; }

# This builds what is packed, and no test.
build_products() {
  say "Building with $(build_jobs) jobs"
  # Only one build runs at a time in a folder: two of Ninja would lose each other's notes of what is
  # built.
  local lock languages=()
  ! has_java || languages+=(customlabels_java)
  ! has_node || languages+=(customlabels_node)
  exec {lock}>"$build/.package.lock"
  flock "$lock"
  cmake --build "$build" --parallel "$(build_jobs)" --target labelscope labelscope_portable labelscope_c labelscope_reader \
    customlabels customlabels_static threadcontext otelcontext "${languages[@]}" >&2 || die "the build failed"
  exec {lock}>&-
}

git_here() {
  git -c safe.directory='*' -C "$root_dir" "$@" 2>/dev/null
}

# The version is 0.1.0 for the commit that has the tag v0.1.0; those of other commits sort before
# it.
find_version() {
  version=$(sed -n 's/^CMAKE_PROJECT_VERSION:[A-Z]*=//p' "$build/CMakeCache.txt")
  [[ -n $version ]] || die "$build is not a configured build of this tree"
  local commit
  if ! git_here describe --exact-match --match "v$version" >/dev/null && commit=$(git_here log -1 --format=%cd.%h --date=format:%Y%m%d); then
    version+="~git$commit"
    [[ -z $(git_here status --porcelain --untracked-files=no) ]] || warn "the tree has changes that no commit has"
  fi
  SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git_here log -1 --format=%ct || stat --format=%Y "$root_dir/CMakeLists.txt")}
  export SOURCE_DATE_EPOCH
  maintainer=$(git_here log -1 --format='%an <%ae>') || maintainer='labelscope <root@localhost>'
}

# install_into <folder> <prefix> <component> installs without debug information, also in archives of
# objects.
install_into() {
  DESTDIR=$1 cmake --install "$build" --prefix "$2" --component "$3" --strip >/dev/null
  find "$1" -name '*.a' -exec "$strip" --strip-debug --enable-deterministic-archives {} +
}

# needed_by <ELF file> prints "soname" and "soname node" lines, one for each library and each of its
# version nodes.
needed_by() {
  readelf --dynamic --version-info --wide "$1" | awk '
    /\(NEEDED\)/ { gsub(/[][]/, "", $NF); print $NF }
    /Version needs section/ { needs = 1 }
    needs && / File: / { for (i = 1; i < NF; ++i) if ($i == "File:") file = $(i + 1) }
    needs && / Name: / { for (i = 1; i < NF; ++i) if ($i == "Name:") print file, $(i + 1) }'
}

# said_of <name> <number> <record...> prints what the first record of this library says.
said_of() {
  awk -v name="$1" -v number="$2" '$1 == name && $2 == number { $1 = $2 = ""; print; exit }' "${@:3}" | sed 's/^ *//'
}

# Prints the package of a library with the oldest version that will do. Its maintainers publish that
# twice: in shlibs for the library as a whole, and in symbols for each version node; the newer one
# counts.
package_of() {
  local soname=$1 nodes=$2 name number said oldest shlibs symbols
  # A name without a number is in no record, and deb is called with its package.
  [[ $soname != libcustomlabels.so ]] || return 0
  name=${soname%%.so*} number=${soname##*.so.}
  # Packages that can be installed for several processors at once have the processor in the names of
  # their records. Those for building programs of another processor have records of that.
  shlibs=("$package_records"/*:"$arch".shlibs) symbols=("$package_records"/*:"$arch".symbols)
  said=$(said_of "$name" "$number" "${shlibs[@]}")
  if [[ -z $said ]]; then
    mapfile -t shlibs < <(find "$package_records" -name '*.shlibs' ! -name '*:*' ! -name '*-cross.shlibs')
    mapfile -t symbols < <(find "$package_records" -name '*.symbols' ! -name '*:*' ! -name '*-cross.symbols')
    said=$(said_of "$name" "$number" "${shlibs[@]}")
  fi
  [[ -n $said ]] || die "no package is known to have $soname (there is no record of it in $package_records)"
  # Names of several packages, or a version that is newer already, stay as they are.
  oldest=$(awk -v soname="$soname" -v nodes=" $nodes " '
    /^[^ *|]/ { here = $1 == soname }
    here && split($1, at, "@") == 2 && at[1] == at[2] && index(nodes, " " at[1] " ") { print $2 }' \
    "${symbols[@]}" | sort --version-sort | tail -n 1)
  if [[ -n $oldest && $said != *[,\|]* ]]; then
    local known=${said#*>= }
    known=${known%)}
    if [[ $known == "$said" ]] || dpkg --compare-versions "$oldest" gt "$known"; then
      said="${said%% *} (>= $oldest)"
    fi
  fi
  echo "$said"
}

# dependencies_of <folder> prints those of all ELF files in it, with commas in between.
dependencies_of() {
  local needed soname nodes
  needed=$(find "$1" -type f \( -perm /111 -o -name '*.so*' \) -print0 | while IFS= read -r -d '' file; do
    if [[ $(head -c 4 "$file") == $'\x7fELF' ]]; then needed_by "$file"; fi
  done | sort -u)
  awk 'NF == 1' <<<"$needed" | while read -r soname; do
    nodes=$(awk -v soname="$soname" '$1 == soname && NF == 2 { print $2 }' <<<"$needed" | tr '\n' ' ')
    package_of "$soname" "$nodes"
  done | sort -u | paste -sd , | sed 's/,/, /g'
}

# Licence texts that every Debian has are referred to, not repeated.
write_copyright() {
  cat <<EOF_COPYRIGHT
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: labelscope

Files: *
Copyright: the authors of labelscope
License: Apache-2.0
 On Debian systems the full text is in /usr/share/common-licenses/Apache-2.0.

Files: bpf/*
Copyright: the authors of labelscope
License: GPL-2.0-only or BSD-2-Clause
 On Debian systems the full text of the first is in /usr/share/common-licenses/GPL-2. The second:
$(sed 's/^$/./; s/^/ /' "$root_dir/bpf/LICENSE.BSD-2-Clause")
EOF_COPYRIGHT
}

# Every file in the folder gets the time of the commit.
settle() {
  find "$1" -name '*.[1-8]' -path '*/man/*' -type f -exec gzip -9n {} +
  find "$1" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
}

# write_shlibs <folder> <package> writes which package a program needs that links its libraries, and
# since which version. Only sonames with a number can be listed; libcustomlabels.so has none,
# because the ABI defines its name.
write_shlibs() {
  local root=$1 package=$2 file soname
  find "$root" -name '*.so.*' -type f | sort | while read -r file; do
    soname=$(readelf --dynamic --wide "$file" | sed -n 's/.*(SONAME).*\[\(.*\)\]/\1/p')
    [[ $soname == *.so.* ]] || continue
    printf '%s %s %s (>= %s)\n' "${soname%%.so.*}" "${soname##*.so.}" "$package" "${version%%~*}~"
  done >"$root/DEBIAN/shlibs"
  [[ -s $root/DEBIAN/shlibs ]] || rm "$root/DEBIAN/shlibs"
}

# has_shared_paths <folder> is true if libraries are not in a folder for their architecture.
has_shared_paths() {
  [[ -n $(find "$1/usr/lib" -mindepth 1 -maxdepth 1 ! -name "$processor-linux-gnu" -print -quit) ]]
}

# write_changelog <package> writes the file that Debian's tools look for; the commits have the
# details.
write_changelog() {
  printf 'labelscope (%s) unstable; urgency=medium\n\n  * As of the commit that the version names.\n\n' "$version"
  printf ' -- %s  %s\n' "$maintainer" "$(date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH")"
}

# write_postrm prints the script that dpkg runs after the removal of the program.
write_postrm() {
  cat <<'EOF_POSTRM'
#!/bin/sh
# The tables that root's recordings have kept (record --unwind-cache) are of no use without labelscope.
set -e
if [ "$1" = purge ]; then rm -rf /var/cache/labelscope; fi
EOF_POSTRM
}

# copy_pages <folder> copies README.md and the pages of docs/. Links to files that are only in the
# source become plain words.
copy_pages() {
  local page target
  mkdir -p "$1/docs/schema"
  cp "$root_dir/README.md" "$1/"
  cp "$root_dir"/docs/*.md "$1/docs/"
  cp "$root_dir"/docs/schema/*.md "$1/docs/schema/"
  for page in "$1"/README.md "$1"/docs/*.md "$1"/docs/schema/*.md; do
    while read -r target; do
      [[ -e ${page%/*}/${target%%#*} ]] || sed -z -i -E "s,\[([^]]*)\]\(${target//./\\.}\),\1,g" "$page"
    done < <(grep -oE '\]\([^)# ][^) ]*\)' "$page" | sed 's/^](//; s/)$//' | grep -v '^[a-z]*:' | sort -u)
  done
}

# deb <package> <section> <more dependencies> <multi-arch> <summary> <description line>...
deb() {
  local package=$1 section=$2 more=$3 multi_arch=$4 summary=$5 root=$work/$1 depends
  shift 5
  install_into "$root" /usr "$package"
  # Packages of two architectures cannot both be installed if they have files of one name. (A folder
  # that is configured for another prefix than /usr has its libraries in there.)
  [[ $multi_arch != same ]] || ! has_shared_paths "$root" || multi_arch=no
  depends=$(dependencies_of "$root")
  mkdir -p "$root/DEBIAN" "$root/usr/share/doc/$package"
  write_copyright >"$root/usr/share/doc/$package/copyright"
  write_changelog "$package" | gzip -9n >"$root/usr/share/doc/$package/changelog.gz"
  if [[ $package == labelscope ]]; then
    copy_pages "$root/usr/share/doc/$package"
    write_postrm >"$root/DEBIAN/postrm"
    chmod 755 "$root/DEBIAN/postrm"
  fi
  {
    printf 'Package: %s\nSource: labelscope\nVersion: %s\nArchitecture: %s\n' "$package" "$version" "$arch"
    printf 'Maintainer: %s\nSection: %s\nPriority: optional\nMulti-Arch: %s\n' "$maintainer" "$section" "$multi_arch"
    printf 'Installed-Size: %s\n' "$(du -sk --apparent-size "$root" | cut -f 1)"
    depends=$(printf '%s\n%s' "$depends" "$more" | sed '/^$/d' | paste -sd , | sed 's/,\([^ ]\)/, \1/g')
    [[ -z $depends ]] || printf 'Depends: %s\n' "$depends"
    printf 'Description: %s\n' "$summary"
    printf ' %s\n' "$@"
  } >"$root/DEBIAN/control"
  # The loader's cache is renewed after libraries were installed or removed.
  if compgen -G "$root/usr/lib/*.so*" >/dev/null || compgen -G "$root/usr/lib/*/*.so*" >/dev/null; then
    [[ $section != libs ]] || echo 'activate-noawait ldconfig' >"$root/DEBIAN/triggers"
  fi
  write_shlibs "$root" "$package"
  settle "$root"
  dpkg-deb --root-owner-group -Zxz --build "$root" "$made/${package}_${version}_$arch.deb" >/dev/null
}

# copy_terms <folder>: the licences of what is linked into the program. Those of libstdc++ and libgcc are
# in the record of the compiler, which a sysroot does not have.
copy_terms() {
  local package source
  mkdir -p "$1/linked"
  cp "$root_dir/LICENSE" "$root_dir"/bpf/LICENSE.* "$1/"
  for package in libbpf-dev libelf-dev libdw-dev libcap-ng-dev libseccomp-dev libcapstone-dev libxxhash-dev libutf8proc-dev zlib1g-dev liblzma-dev libbz2-dev \
    libiberty-dev libspdlog-dev libfmt-dev libcli11-dev libprotozero-dev nlohmann-json3-dev libc6-dev; do
    source=$documents/$package/copyright
    [[ -r $source ]] || source=$documents/${package%-dev}/copyright
    [[ -r $source ]] || die "the terms of $package are not in $documents, and the archive must have them"
    cp "$source" "$1/linked/$package"
  done
  cp "$(find /usr/share/doc -maxdepth 1 -name 'gcc-*-base' | sort | head -n 1)/copyright" "$1/linked/gcc"
}

# rpm_package: what the .deb of the program has, with the program that needs no library.
rpm_package() {
  local root=$work/rpm
  install_into "$root" /usr labelscope
  "$strip" -o "$root/usr/bin/labelscope" "$build/cli/portable/labelscope"
  mkdir -p "$root/usr/share/doc/labelscope"
  copy_pages "$root/usr/share/doc/labelscope"
  copy_terms "$root/usr/share/doc/labelscope"
  settle "$root"
  bash "$root_dir/scripts/package_rpm.sh" "$root" "$version" "$processor" "$made" >/dev/null
}

archive() {
  local name=labelscope-$version-$processor root=$work/archive
  local top=$root/$name
  for component in labelscope libcustomlabels libcustomlabels-dev python3-customlabels \
    libcustomlabels-java node-customlabels; do
    install_into "$root" "/$name" "$component"
  done
  "$strip" -o "$top/bin/labelscope" "$build/cli/portable/labelscope"
  # It is to be found, too, by who unpacks the archive and looks no further.
  ln -s bin/labelscope "$top/labelscope"
  cp "$root_dir/LICENSE" "$top/"
  copy_pages "$top"
  copy_terms "$top/share/doc/labelscope"
  settle "$root"
  tar --create --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --directory "$root" "$name" |
    gzip -9n >"$made/$name.tar.gz"
}

if [[ -z $build || ! -e $build/CMakeCache.txt ]]; then
  build=$(realpath --canonicalize-missing -- "${build:-$root_dir/build/package-$processor}")
  configure_release
fi
((configure_only == 0)) || { echo "$build"; exit; }
build=$(cd -- "$build" && pwd -P)
build_products
find_version
strip=$(sed -n 's/^CMAKE_STRIP:[A-Z]*=//p' "$build/CMakeCache.txt")
mkdir -p "$output"
output=$(cd -- "$output" && pwd -P)
work=$(mktemp -d)
readonly made=$work/made
mkdir "$made"
trap 'rm -rf "$work"' EXIT

say "Packing labelscope $version for $processor"
deb labelscope devel '' foreign 'where the time of a running process goes, by label' \
  'labelscope samples the threads of a running program, with eBPF or ptrace, and' \
  'reads from outside which labels each has set (tenant, route, job: Custom Labels' \
  'ABI v1). It also shows the labels of live processes and core files, and checks' \
  'that a library publishes its labels as the ABI wants it.'
deb liblabelscope0 libs '' same 'labels of threads, read from outside (shared library)' \
  'Finds and reads thread-local labels (Custom Labels ABI v1) in live processes' \
  'and core files. This is the library with the C interface.'
deb liblabelscope-dev libdevel "liblabelscope0 (= $version), libelf-dev, libdw-dev" same \
  'labels of threads, read from outside (development files)' \
  'Headers of the C and C++ interfaces and of the parts for BPF programs, the' \
  'static library, and files for CMake and pkg-config.'
deb libcustomlabels libs '' same 'publishes labels of threads for profilers (shared library)' \
  'A program that links it says what each of its threads is working on; profilers' \
  'read it from outside (Custom Labels ABI v1).'
deb libcustomlabels-dev libdevel "libcustomlabels (= $version)" same \
  'publishes labels of threads for profilers (development files)' \
  'Headers for C and C++, a crate for Rust, the static library for executables, and' \
  'files for CMake and pkg-config.'
deb python3-customlabels python "python3 (>= 3.11), libcustomlabels (= $version)" no \
  'publishes labels of threads and tasks for profilers (Python module)' \
  'Labels what threads and asyncio tasks of a Python program are working on;' \
  'profilers read it from outside (Custom Labels ABI v1).'
if has_java; then
  deb libcustomlabels-java java "libcustomlabels (= $version)" no \
    'publishes labels of threads for profilers (Java library)' \
    'Classes with which a program for Java 17 or newer says what each of its threads' \
    'is working on, their native library, and a script that starts java with' \
    'libcustomlabels.so preloaded.'
else
  warn 'no package libcustomlabels-java: there is no JDK (default-jdk-headless)'
fi
if has_node; then
  deb node-customlabels javascript 'nodejs (>= 18)' no \
    'publishes labels of asynchronous work for profilers (module for Node.js)' \
    'A program for Node.js says what each request and all that it starts is working' \
    'on; profilers read it from outside (Custom Labels ABI v1).'
else
  warn 'no package node-customlabels: there is no node_api.h (libnode-dev)'
fi
archive
if command -v rpmbuild >/dev/null; then
  rpm_package
else
  warn 'no .rpm: rpmbuild is not installed (Debian package rpm)'
fi

# Removes packages of other versions: a user who installs *.deb from there wants one of each.
if [[ $output -ef $own_output ]]; then
  rm -f "$output"/{labelscope,liblabelscope0,liblabelscope-dev,libcustomlabels,libcustomlabels-dev,python3-customlabels,libcustomlabels-java,node-customlabels}_*_"$arch".deb \
    "$output"/labelscope-*-"$processor".tar.gz "$output"/labelscope-*."$processor".rpm
fi
for file in "$made"/*; do
  mv -f "$file" "$output/"
  echo "$output/${file##*/}"
done
