# scripts/package.sh: the packages hold what they should, depend on what they need, and what is in them runs.
source "$SOURCE_DIR/lib.sh"
command -v dpkg-deb >/dev/null || skip_test "dpkg-deb is not installed"
[[ -z $CFLAGS ]] || skip_test "what is packed is built without sanitizers"
mkdir -p "$WORK" && cd "$WORK" || exit 1
rm -rf ./*
bash "$TREE/scripts/package.sh" --build "$BUILD" --output "$WORK/fresh" >made 2>log || fail "package.sh: $(cat log)"
arch=$(dpkg --print-architecture)

# package <name>: its file; there is one of each.
package() {
  local found
  found=$(grep "/$1_[^_/]*_$arch\.deb$" made)
  [[ -n $found && $(wc -l <<<"$found") == 1 ]] || fail "no package $1, or several, in: $(cat made)"
  echo "$found"
}

# expect_file <package> <path>...: patterns.
expect_file() {
  local name=$1 path
  shift
  dpkg-deb --contents "$(package "$name")" | awk '{ print $6 }' >contents
  for path in "$@"; do
    grep -qxE "\./usr/$path" contents || fail "$name has no $path: $(cat contents)"
  done
}

# expect_field <package> <field> <pattern>
expect_field() {
  dpkg-deb --field "$(package "$1")" "$2" | grep -qE "$3" ||
    fail "$1: $2 is '$(dpkg-deb --field "$(package "$1")" "$2")', which has no $3"
}

expect_file labelscope bin/labelscope 'share/man/man1/labelscope(|-check|-dump|-inspect|-record)\.1\.gz' \
  share/man/man7/labelscope-rules.7.gz share/doc/labelscope/copyright share/doc/labelscope/README.md
expect_file liblabelscope0 'lib/(.*/)?liblabelscope\.so\.0'
expect_file liblabelscope-dev 'lib/(.*/)?liblabelscope\.so' 'lib/(.*/)?liblabelscope-reader\.a' \
  include/labelscope/labelscope.h include/labelscope/read_labels.bpf.h 'lib/(.*/)?pkgconfig/labelscope\.pc'
expect_file libcustomlabels 'lib/(.*/)?libcustomlabels\.so' 'lib/(.*/)?libthreadcontext\.so'
expect_file libcustomlabels-dev include/customlabels/customlabels.h 'lib/(.*/)?libcustomlabels_static\.a' \
  share/man/man3/customlabels.3.gz 'lib/(.*/)?cmake/customlabels/customlabelsConfig.cmake'
for name in liblabelscope-dev libcustomlabels-dev labelscope; do
  dpkg-deb --contents "$(package $name)" | awk '{ print $6 }' | grep -E '/lib[a-z]+\.so(\.[0-9.]+)?$' |
    grep -v 'liblabelscope.so$' && fail "$name has the file of another package"
done

# All files that are installed are in a package, and in one alone.
while read -r file; do dpkg-deb --contents "$file"; done < <(grep '\.deb$' made) |
  awk '$1 !~ /^d/ && $6 !~ /\/share\/doc\// { sub(/\.gz$/, "", $6); sub(".*/", "", $6); print $6 }' | sort >packed
(cd "$PREFIX" && find . ! -type d) | sed 's|.*/||' | sort >installed
diff installed packed >difference || fail "installed (<) is not what is packed (>): $(cat difference)"

# Dependencies: of the libraries that the program asks for, each is in a package that it depends on.
expect_field labelscope Depends 'libc6 \(>= 2\.'
expect_field labelscope Depends 'libbpf1'
expect_field labelscope Depends 'libdw1 \(>= '
expect_field libcustomlabels Depends '^libc6 \(>= [0-9.]+\)(, libgcc-s1 .*)?$'
expect_field liblabelscope-dev Depends 'liblabelscope0 \(= '
expect_field libcustomlabels-dev Depends '^libcustomlabels \(= '
for name in labelscope liblabelscope0 libcustomlabels; do
  dpkg-deb --extract "$(package $name)" root
done
dpkg-deb --field "$(package labelscope)" Depends | tr ',' '\n' | sed 's/^ *//; s/ .*//' | sort >depends
readelf --dynamic root/usr/bin/labelscope | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | while read -r soname; do
  file=$(ldd root/usr/bin/labelscope | awk -v soname="$soname" '$1 == soname { print $3 }')
  # The loader has its own line.
  [[ -n $file ]] || continue
  owner=$(dpkg-query --search "$(realpath "$file")" 2>/dev/null || dpkg-query --search "$file" 2>/dev/null) || continue
  owner=${owner%%:*}
  names=$owner$'\n'$(dpkg-query --show --showformat='${Provides}' "$owner" | tr ',' '\n' | sed 's/^ *//; s/ .*//')
  grep -qxFf depends <<<"$names" || echo "$soname of $owner"
done >without
[[ ! -s without ]] || fail "no dependency on $(cat without)"

# What was unpacked runs.
[[ $(root/usr/bin/labelscope --version) == labelscope\ * ]] || fail "the program does not run"
library=$(find root -name libcustomlabels.so)
root/usr/bin/labelscope inspect "$library" >out || fail "inspect: $(cat out)"
grep -q TLSDESC out || fail "inspect says: $(cat out)"

# So does the archive's program, with nothing but libc.
tar --extract --gzip --file "$(grep '\.tar\.gz$' made)"
program=$(echo labelscope-*/bin/labelscope)
[[ $("$program" --version) == "$(root/usr/bin/labelscope --version)" ]] || fail "the archive's program does not run"
needed=$(readelf --dynamic "$program" | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' | grep -vE '^(libc|libm|ld-linux.*)\.so\.[0-9]+$')
[[ -z $needed ]] || fail "the archive's program needs $needed"
"$program" check "$(echo labelscope-*/lib/libcustomlabels.so)" >out || fail "check: $(cat out)"
for file in README.md LICENSE share/doc/labelscope/linked/libdw-dev; do
  [[ -s $(echo labelscope-*/)$file ]] || fail "the archive has no $file"
done

# The same again is the same, to the byte.
(cd "$(dirname "$(head -n 1 made)")" && sha256sum -- *"_$arch.deb" *-"$(uname -m)".tar.gz) >first
bash "$TREE/scripts/package.sh" --build "$BUILD" --output "$WORK/fresh" >made 2>log || fail "package.sh, again: $(cat log)"
(cd "$(dirname "$(head -n 1 made)")" && sha256sum --check --quiet "$WORK/first") || fail "made again, they differ"
