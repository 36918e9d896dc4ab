#!/usr/bin/env bash
# Builds the guests' only file system: one uncompressed initramfs with the tests, what they test,
# and a small userland.
#
#  tests/vm/image.sh <x86_64|aarch64> <build folder> <list of tests> <files they name> <output>
#
# Files of the build and the source lie at the same absolute paths as on the host, because tests
# have these compiled in. The userland is the host's own where the guest has the host's
# architecture, otherwise that of userland.sh. Libraries are found by following what the files need.
# This needs no root rights, and mounts nothing.
set -euo pipefail
# shellcheck source=tests/vm/lib.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

readonly arch=$1 build=$2 tests=$3 named_files=$4 output=$5
readonly stage=$vm_build/$arch/stage
mkdir -p "$stage"

# The userland is looked for in these folders, in order.
if [[ $arch == "$(uname -m)" ]]; then
  roots=("")
  strip="strip"
else
  folders=$(bash "$vm_dir/userland.sh" "$arch") || exit
  mapfile -t roots <<<"$folders"
  strip=$arch-linux-gnu-strip
fi

# Tests, scenarios and the guest's own scripts call these. Those that a userland does not have are
# left out: a test that needs one says so.
readonly tools='awk base64 basename bash capsh cat chmod chown chrt cmp comm cp cut date dd diff dirname dmesg
dpkg-deb dpkg-split dpkg du echo env expr false find getconf getpcaps grep gzip head id join kill ldd ln ls md5sum mkdir mkfifo mknod
mktemp mount mv nice nproc od paste pgrep printf prlimit ps readelf readlink realpath rm rmdir sed seq setpriv setsid sh
sha256sum sleep sort split stat stty sync tail tar taskset tee test timeout touch tr true truncate umount uname uniq
unshare wc xargs yes jq file which xz sqlite3 perl python3 redis-server redis-cli'
# These come from busybox, which needs no system around it.
readonly small_tools='ip hostname poweroff'

# The manifest has one line for each file, "path in the guest<TAB>file on the host".
manifest=$(mktemp)
trap 'rm -f "$manifest" "$manifest".*' EXIT
add() { printf '%s\t%s\n' "$1" "$2" >>"$manifest"; }
# add_loader <path> <file>: maps a loader under the path that its link leads to, which programs see.
add_loader() {
  local root path=$2
  for root in "${roots[@]}"; do
    [[ -z $root || $2 != "$root"/* ]] || path=${2#"$root"}
  done
  add "$path" "$2"
  [[ $path == "$1" ]] || printf '%s\t%s\n' "$1" "$path" >>"$manifest.links"
}

# find_in_roots <folder...> -- <name>: prints the first file that exists.
find_in_roots() {
  local root folder folders=()
  while [[ $1 != -- ]]; do folders+=("$1") && shift; done
  for root in "${roots[@]}"; do
    for folder in "${folders[@]}"; do
      [[ -e $root$folder/$2 || -L $root$folder/$2 ]] || continue
      resolve "$root" "$folder/$2" && return
    done
  done
  return 1
}

# resolve <root> <path>: prints the place of the file itself. Absolute links in an extracted root
# lead into that root.
resolve() {
  local root=$1 path=$2 target turns=0
  while [[ -L $root$path ]] && ((turns++ < 16)); do
    target=$(readlink "$root$path")
    [[ $target == /* ]] || target=${path%/*}/$target
    path=$target
  done
  [[ -f $root$path ]] && echo "$root$path"
}

add_tools() {
  local tool file
  for tool in $tools; do
    file=$(find_in_roots /usr/bin /bin /usr/sbin /sbin -- "$tool") || continue
    add "/usr/bin/$tool" "$file"
  done
  file=$(find_in_roots /usr/bin /bin -- busybox) ||
    die "there is no busybox in ${roots[*]:-this system}"
  add /usr/bin/busybox "$file"
}

# Adds what a script of the tests may import, which is the standard library.
add_python() {
  local root file
  for root in "${roots[@]}"; do
    [[ -d $root/usr/lib/python3.11 ]] || continue
    while read -r file; do add "${file#"$root"}" "$file"; done < <(
      find "$root/usr/lib/python3.11" \( -name test -o -name dist-packages -o -name idlelib \
        -o -name __pycache__ \) -prune \
        -o -type f \( -name '*.py' -o -name '*.so' \) -print)
    return
  done
}

# Adds programs of the tests, all targets with their tables, and what scenarios read from the
# source.
add_project() {
  local file
  {
    cat "$named_files"
    printf '%s\n' "$build/cli/labelscope"
    find "$build/tests/targets" "$build/tests/cli" "$build/writer-lib" \
      -name CMakeFiles -prune -o \( -type f -o -type l \) ! -name '*.o' ! -name '*.a' \
      ! -name '*.tried' ! -name '*.cmake' -print
    find "$root_dir/tests/cli" "$root_dir/tests/targets" "$root_dir/tests/unit/check" \
      "$root_dir/reader/presets" "$root_dir/docs" -type f
    # These are the programs that the commands of the list run.
    cut -f 4- "$tests" | sed "s/[ ']/\n/g" | { grep -F "$build/" || true; }
  } | sort -u | while read -r file; do
    if [[ -f $file ]]; then add "$file" "$file"; fi
  done
  # The build has a link to the source's presets, and find follows no link.
  for file in "$root_dir"/reader/presets/*; do
    add "$build/share/labelscope/presets/${file##*/}" "$file"
  done
}

add_system() {
  local file
  printf 'root:x:0:0:root:/root:/bin/bash\nnobody:x:65534:65534:nobody:/tmp:/bin/sh\n' \
    >"$stage/passwd"
  printf 'root:x:0:\nnogroup:x:65534:\n' >"$stage/group"
  printf 'passwd: files\ngroup: files\nhosts: files\n' >"$stage/nsswitch.conf"
  printf '127.0.0.1 localhost guest\n' >"$stage/hosts"
  for file in passwd group nsswitch.conf hosts; do add "/etc/$file" "$stage/$file"; done
  add /init "$vm_dir/guest/init"
  if [[ $arch == x86_64 ]]; then
    if [[ ! $stage/occupy_watchpoints -nt $vm_dir/guest/occupy_watchpoints.c ]]; then
      "${CC:-cc}" -O1 -o "$stage/occupy_watchpoints" "$vm_dir/guest/occupy_watchpoints.c"
    fi
    add /vm/occupy_watchpoints "$stage/occupy_watchpoints"
  fi
  for file in "$vm_dir"/guest/*; do add "/vm/$(basename "$file")" "$file"; done
  add /vm/tests "$tests"
}

# needs <files on stdin>: prints the names of libraries and loaders that ELF files need.
needs() {
  { xargs -r -d '\n' readelf -dlW 2>/dev/null || true; } |
    sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p; s/.*Requesting program interpreter: \(.*\)\]/\1/p' |
    sort -u
}

# Adds needed libraries until there are no new ones.
add_libraries() {
  local name file
  local library_folders=(/lib/"$arch"-linux-gnu /usr/lib/"$arch"-linux-gnu /lib64 /lib /usr/lib
    /usr/lib/"$arch"-linux-musl /lib/"$arch"-linux-musl)
  local -A seen=()
  cut -f 2 "$manifest" | sort -u >"$manifest.new"
  while [[ -s $manifest.new ]]; do
    needs <"$manifest.new" >"$manifest.names"
    : >"$manifest.new"
    while read -r name; do
      [[ -z ${seen[$name]:-} ]] || continue
      seen[$name]=1
      if [[ $name == /* ]]; then
        file=$(find_in_roots "${name%/*}" -- "${name##*/}") || continue
        add_loader "$name" "$file"
      else
        # A file that is not found comes from the build, or a test wants it to be missing.
        file=$(find_in_roots "${library_folders[@]}" -- "$name") || continue
        add "/usr/lib/$arch-linux-gnu/$name" "$file"
      fi
      echo "$file" >>"$manifest.new"
    done <"$manifest.names"
  done
}

# Test programs consist mostly of debug information that no test reads. Targets keep theirs, because
# tests look up their lines.
keeps_debug_information() { [[ $1 == "$build"/tests/targets/* || $1 == "$build"/tests/cli/* || $1 == "$build"/writer-lib/* ]]; }

# Copies files whose time differs from that of their copy. A new package's file can be older than
# the copy of the old one.
stage_files() {
  local path file copy
  while IFS=$'\t' read -r path file; do
    copy=$stage/root$path
    # Directories that other distributions merge are merged here, too.
    [[ ! -e $copy || $file -nt $copy || $file -ot $copy ]] || continue
    mkdir -p "${copy%/*}"
    rm -f "$copy"
    cp --preserve=mode,timestamps "$file" "$copy"
    if [[ $path == "$build"/* && -x $file ]] && ! keeps_debug_information "$path"; then
      "$strip" --preserve-dates --strip-debug "$copy" 2>/dev/null || true
    fi
  done <"$manifest"
}

# /bin, /lib and the like are links into /usr, as in Debian since 12.
merge_usr() {
  touch "$manifest.links"
  sed -i -E 's,(^|\t)/(bin|sbin|lib|lib64)/,\1/usr/\2/,g; s,(^|\t)/usr/sbin/,\1/usr/bin/,g' \
    "$manifest.links"
  sed -i -E 's,^/(bin|sbin|lib|lib64)/,/usr/\1/,; s,^/usr/sbin/,/usr/bin/,' "$manifest"
  sort -u -t $'\t' -k 1,1 -o "$manifest" "$manifest"
}
write_archive() {
  local link target
  mkdir -p "$stage/root"/{dev,proc,sys,run,root,tmp,mnt,usr/lib64,vm}
  for link in bin lib lib64 sbin; do
    [[ -L $stage/root/$link ]] || ln -sfn "usr/${link/sbin/bin}" "$stage/root/$link"
  done
  while IFS=$'\t' read -r link target; do
    [[ ${link#/usr/lib64/} != "${target#/usr/lib64/}" ]] || continue
    rm -rf "$stage/root$link"
    ln -sfn "$target" "$stage/root$link"
  done <"$manifest.links"
  for link in $small_tools; do ln -sfn busybox "$stage/root/usr/bin/$link"; done
  chmod 1777 "$stage/root/tmp"
  chmod 755 "$stage/root/init"
  {
    printf '%s\n' bin lib lib64 sbin dev proc sys run root tmp mnt
    for link in $small_tools; do echo "usr/bin/$link"; done
    cat "$manifest.links" "$manifest" | cut -f 1 | sed 's,^/,,' | awk '
      { print; path = $0; while (sub("/[^/]*$", "", path)) print path }'
  } | sort -u |
    (cd "$stage/root" &&
      cpio --quiet --create --format=newc --owner=0:0 --reproducible) >"$output.new"
  mv "$output.new" "$output"
}

add_tools
add_python
add_project
add_system
add_libraries
merge_usr
stage_files
write_archive
say "$(basename "$output"): $(wc -l <"$manifest") files, $(($(stat -c %s "$output") / 1048576)) MiB"
