# scripts/package.sh: the packages have the right files and dependencies, and the programs in them
# run.
source "$SOURCE_DIR/lib.sh"
command -v dpkg-deb >/dev/null || skip_test "dpkg-deb is not installed"
[[ -z $CFLAGS ]] || skip_test "what is packed is built without sanitizers"
mkdir -p "$WORK" && cd "$WORK" || exit 1
rm -rf ./*
# This configures a build meanwhile, which is checked below.
bash "$TREE/scripts/package.sh" --build "$WORK/release" --configure >configured 2>configure.log &
configuring=$!
children+=("$configuring")
# These packages must not go where those of a release go.
mkdir fresh && echo precious >fresh/labelscope_0.0.1_other.deb
bash "$TREE/scripts/package.sh" --build "$BUILD" --output fresh >made 2>log ||
  fail "package.sh: $(cat log)"
[[ $(<fresh/labelscope_0.0.1_other.deb) == precious ]] ||
  fail "a file that was in the folder before is gone"
rm fresh/labelscope_0.0.1_other.deb
# The packages are made a second time, while the first ones are checked.
mkdir again
bash "$TREE/scripts/package.sh" --build "$BUILD" --output again >made.again 2>again.log &
making_again=$!
children+=("$making_again")
arch=$(dpkg --print-architecture)
triplet=$(uname -m)-linux-gnu

# package <name>: prints its file, of which there must be one.
package() {
  local found
  found=$(grep "/$1_[^_/]*_$arch\.deb$" made)
  [[ -n $found && $(wc -l <<<"$found") == 1 ]] || fail "no package $1, or several, in: $(cat made)"
  echo "$found"
}

# expect_file <package> <path>...: checks that files match these patterns.
expect_file() {
  local name=$1 path
  shift
  dpkg-deb --contents "$(package "$name")" | awk '{ print $6 }' >contents
  for path in "$@"; do
    grep -qxE "\./usr/$path" contents || fail "$name has no $path: $(cat contents)"
  done
}

# expect_field <package> <field> <pattern>: checks that the field matches.
expect_field() {
  dpkg-deb --field "$(package "$1")" "$2" | grep -qE "$3" ||
    fail "$1: $2 is '$(dpkg-deb --field "$(package "$1")" "$2")', which has no $3"
}

expect_file labelscope bin/labelscope \
  'share/man/man1/labelscope(|-check|-doctor|-dump|-inspect|-record)\.1\.gz' \
  share/bash-completion/completions/labelscope share/zsh/site-functions/_labelscope \
  share/fish/vendor_completions.d/labelscope.fish \
  share/man/man7/labelscope-rules.7.gz share/doc/labelscope/copyright share/doc/labelscope/README.md
# A purge removes what root's recordings have kept, and a removal does not.
dpkg-deb --control "$(package labelscope)" control
if unshare --mount true 2>/dev/null; then
  # shellcheck disable=SC2016
  unshare --mount sh -euc 'mount -t tmpfs none /var/cache
    mkdir -p /var/cache/labelscope/tables /var/cache/other
    "$1" remove
    [ -d /var/cache/labelscope/tables ]
    "$1" purge
    [ ! -e /var/cache/labelscope ]
    [ -d /var/cache/other ]' sh "$PWD/control/postrm" ||
    fail "the tables of root's recordings: a purge of the package, and nothing else, removes them"
fi
expect_file liblabelscope0 'lib/(.*/)?liblabelscope\.so\.0'
expect_file liblabelscope-dev 'lib/(.*/)?liblabelscope\.so' 'lib/(.*/)?liblabelscope-reader\.a' \
  include/labelscope/labelscope.h include/labelscope/read_labels.bpf.h \
  'lib/(.*/)?pkgconfig/labelscope\.pc'
expect_file libcustomlabels 'lib/(.*/)?libcustomlabels\.so' 'lib/(.*/)?libthreadcontext\.so' \
  'lib/(.*/)?libotelcontext\.so'
expect_file libcustomlabels-dev include/customlabels/customlabels.h \
  'lib/(.*/)?libcustomlabels_static\.a' \
  share/customlabels/rust/Cargo.toml share/customlabels/rust/src/lib.rs \
  share/man/man3/customlabels.3.gz 'lib/(.*/)?cmake/customlabels/customlabelsConfig.cmake'
expect_file python3-customlabels 'lib/python3/dist-packages/customlabels/__init__\.py'
names=(labelscope liblabelscope0 liblabelscope-dev libcustomlabels libcustomlabels-dev
  python3-customlabels)
# Without a JDK there is nothing for Java.
if [[ -e $PREFIX/share/java/customlabels.jar ]]; then
  names+=(libcustomlabels-java)
  expect_file libcustomlabels-java share/java/customlabels.jar 'lib/(.*/)?liblabelsjni\.so' \
    bin/customlabels-java share/man/man1/customlabels-java.1.gz
  expect_field libcustomlabels-java Depends 'libcustomlabels \(= '
fi
# Nor without the headers of Node-API for node.
if [[ -n $(find "$PREFIX" -name customlabels.node) ]]; then
  names+=(node-customlabels)
  expect_file node-customlabels 'lib/(.*/)?nodejs/customlabels/customlabels\.node' \
    'lib/(.*/)?nodejs/customlabels/index\.js'
  expect_field node-customlabels Depends 'nodejs \(>= 18\)'
fi
for name in liblabelscope-dev libcustomlabels-dev labelscope; do
  dpkg-deb --contents "$(package $name)" | awk '{ print $6 }' |
    grep -E '/lib[a-z]+\.so(\.[0-9.]+)?$' |
    grep -v 'liblabelscope.so$' && fail "$name has the file of another package"
done

for name in "${names[@]}"; do
  expect_file "$name" "share/doc/$name/copyright" "share/doc/$name/changelog\.gz"
done

# The loader finds the library through its cache.
for name in liblabelscope0 libcustomlabels; do
  dpkg-deb --info "$(package $name)" triggers 2>/dev/null | grep -q '^activate-noawait ldconfig$' ||
    fail "$name does not have the loader's cache renewed"
done

# Packages of two architectures can be installed side by side only if each path in both has the same
# content.
for name in liblabelscope0 liblabelscope-dev libcustomlabels libcustomlabels-dev; do
  beside=$(dpkg-deb --contents "$(package $name)" | awk '$1 !~ /^d/ { print $6 }' |
    grep '^\./usr/lib/' | grep -v "^\./usr/lib/$triplet/" | head -n 1)
  case $(dpkg-deb --field "$(package $name)" Multi-Arch) in
    same) [[ -z $beside ]] || fail "$name is Multi-Arch: same and has $beside" ;;
    no) [[ -n $beside ]] || fail "$name could be Multi-Arch: same" ;;
  esac
done

# By default package.sh configures the prefix /usr, and everything below lib is in the
# architecture's own folder, but for what Python finds in one folder only.
wait "$configuring" || fail "package.sh --configure: $(cat configure.log)"
release=$(<configured)
find "$release" -name cmake_install.cmake -exec \
  sed -n 's,.*INSTALL DESTINATION "${CMAKE_INSTALL_PREFIX}/\(lib[^"]*\)".*,\1,p' {} + >destinations
[[ -s destinations ]] || fail "nothing is installed below lib"
grep -vE "^lib/($triplet|python3/dist-packages)(/|\$)" destinations &&
  fail "by default that is installed outside of lib/$triplet"
grep -q '^CMAKE_INSTALL_PREFIX:PATH=/usr$' "$release/CMakeCache.txt" ||
  fail "the default is not for /usr"
grep -q '^CMAKE_BUILD_TYPE:STRING=Release$' "$release/CMakeCache.txt" ||
  fail "the default is not a release"

# Every file that is installed is in exactly one package.
while read -r file; do dpkg-deb --contents "$file"; done < <(grep '\.deb$' made) |
  awk '$1 !~ /^d/ && $6 !~ /\/share\/doc\// { sub(/\.gz$/, "", $6); sub(".*/", "", $6); print $6 }' | sort >packed
(cd "$PREFIX" && find . ! -type d) | sed 's|.*/||' | sort >installed
diff installed packed >difference ||
  fail "installed (<) is not what is packed (>): $(cat difference)"

# The package must depend on the package of each library that the program needs.
expect_field labelscope Depends 'libc6 \(>= 2\.'
expect_field labelscope Depends 'libbpf1'
expect_field labelscope Depends 'libdw1 \(>= '
expect_field libcustomlabels Depends '^libc6 \(>= [0-9.]+\)$'
expect_field liblabelscope-dev Depends 'liblabelscope0 \(= '
expect_field libcustomlabels-dev Depends '^libcustomlabels \(= '
expect_field python3-customlabels Depends '^python3 \(>= 3\.11\), libcustomlabels \(= '
for name in labelscope liblabelscope0 libcustomlabels; do
  dpkg-deb --extract "$(package $name)" root
done
dpkg-deb --field "$(package labelscope)" Depends | tr ',' '\n' | sed 's/^ *//; s/ .*//' |
  sort >depends
readelf --dynamic root/usr/bin/labelscope | sed -n 's/.*NEEDED.*\[\(.*\)\]/\1/p' |
  while read -r soname; do
    file=$(ldd root/usr/bin/labelscope | awk -v soname="$soname" '$1 == soname { print $3 }')
    # The loader has a line of its own.
    [[ -n $file ]] || continue
    owner=$(dpkg-query --search "$(realpath "$file")" 2>/dev/null ||
      dpkg-query --search "$file" 2>/dev/null) || continue
    owner=${owner%%:*}
    names=$owner$'\n'$(dpkg-query --show --showformat='${Provides}' "$owner" | tr ',' '\n' |
      sed 's/^ *//; s/ .*//')
    grep -qxFf depends <<<"$names" || echo "$soname of $owner"
  done >without
[[ ! -s without ]] || fail "no dependency on $(cat without)"

# A program that links the library with the number in its name must depend on its package.
dpkg-deb --control "$(package liblabelscope0)" control
read -r name number owner _ <control/shlibs
[[ "$name.so.$number $owner" == "liblabelscope.so.0 liblabelscope0" ]] ||
  fail "shlibs says: $(cat control/shlibs)"

# apt finds all dependencies among this machine's packages, and dpkg installs the packages, here
# into an otherwise empty folder.
if command -v apt-get >/dev/null; then
  mapfile -t files < <(grep '\.deb$' made)
  apt-get --simulate --no-install-recommends -o Debug::NoLocking=1 install "${files[@]}" >apt.log \
    2>&1 ||
    fail "apt-get would not install them: $(cat apt.log)"
fi
mkdir -p system/var/lib/dpkg/{info,updates,triggers} && : >system/var/lib/dpkg/status
# shellcheck disable=SC2046  # paths of this test
PATH=$PATH:/usr/sbin:/sbin dpkg --root="$WORK/system" \
  --log=/dev/null --force-not-root --force-depends --install \
  $(grep '\.deb$' made) >dpkg.log 2>&1 || fail "dpkg: $(cat dpkg.log)"
[[ $(grep -c '^Status: install ok installed$' system/var/lib/dpkg/status) == "${#names[@]}" ]] ||
  fail "dpkg left: $(cat dpkg.log)"
[[ $(system/usr/bin/labelscope --version) == labelscope\ * ]] ||
  fail "the installed program does not run"

# The module finds the library that is installed beside it.
if python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  found=$(PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=system/usr/lib/python3/dist-packages \
    python3 -c 'import customlabels; print(customlabels.path)' 2>&1)
  [[ $found == */libcustomlabels.so || $found == libcustomlabels.so ]] || fail "the Python module: $found"
fi

# The module for node is whole: its addon has the writer in it.
if [[ " ${names[*]} " == *" node-customlabels "* ]] && command -v node >/dev/null; then
  found=$(NODE_PATH=$(dirname "$(find system/usr/lib -path '*nodejs/customlabels')") \
    node -e 'console.log(require("customlabels").runWithLabels({ a: 1 }, () => "runs"))' 2>&1)
  [[ $found == runs ]] || fail "the module for node: $found"
fi

# Pages must have no links to files that are not installed.
for page in system/usr/share/doc/labelscope/{README.md,docs/*.md,docs/schema/*.md}; do
  grep -oE '\]\([^)# ][^) ]*\)' "$page" | sed 's/^](//; s/)$//; s/#.*//' | grep -v '^[a-z]*:' |
    while read -r target; do
      [[ -e ${page%/*}/$target ]] || echo "$page: $target"
    done
done >dead
[[ ! -s dead ]] || fail "dead links: $(cat dead)"

# The unpacked program must run.
[[ $(root/usr/bin/labelscope --version) == labelscope\ * ]] || fail "the program does not run"
library=$(find root -name libcustomlabels.so)
root/usr/bin/labelscope inspect "$library" >out || fail "inspect: $(cat out)"
grep -q TLSDESC out || fail "inspect says: $(cat out)"

# The archive's program must run with no library at all (one_file.sh has more of it), and is found at
# the first look.
tar --extract --gzip --file "$(grep '\.tar\.gz$' made)"
program=$(echo labelscope-*/bin/labelscope)
[[ $("$program" --version) == "$(root/usr/bin/labelscope --version)" ]] ||
  fail "the archive's program does not run"
[[ $("$(echo labelscope-*/)labelscope" --version) == labelscope\ * ]] || fail "the archive has no labelscope at its top"
! readelf --program-headers --dynamic "$program" | grep -E 'NEEDED|INTERP' || fail "the archive's program needs something"
"$program" check "$(echo labelscope-*/lib/libcustomlabels.so)" >out || fail "check: $(cat out)"
for file in README.md LICENSE share/doc/labelscope/linked/libdw-dev; do
  [[ -s $(echo labelscope-*/)$file ]] || fail "the archive has no $file"
done

# The .rpm has what the .deb has, and installs where no other package is.
if command -v rpmbuild >/dev/null; then
  rpm=$(grep '\.rpm$' made) || fail "no .rpm in: $(cat made)"
  rpm --query --list --package "$rpm" 2>rpm.log | grep -v '/share/doc/' | sort >in_rpm
  (cd root && find usr/bin/labelscope usr/share ! -type d ! -path '*/share/doc/*' -printf '/%p\n') | sort >in_deb
  comm -13 in_rpm in_deb >lacking
  [[ ! -s lacking ]] || fail "the .rpm lacks: $(cat lacking rpm.log)"
  [[ -z $(rpm --query --requires --package "$rpm" 2>/dev/null | grep -v '^rpmlib(') ]] || fail "the .rpm needs other packages"
  if ((EUID == 0)); then
    mkdir -p by_rpm
    rpm --root "$WORK/by_rpm" --dbpath /var/lib/rpm --nodeps --install "$rpm" >rpm.log 2>&1 || fail "rpm: $(cat rpm.log)"
    [[ $(by_rpm/usr/bin/labelscope --version) == labelscope\ * ]] || fail "the program of the .rpm does not run"
    rpm --root "$WORK/by_rpm" --dbpath /var/lib/rpm --erase --noscripts labelscope >rpm.log 2>&1 || fail "rpm --erase: $(cat rpm.log)"
    left=$(find by_rpm -iname '*labelscope*' ! -path '*/var/lib/rpm/*')
    [[ -z $left ]] || fail "the .rpm leaves: $left"
  fi
fi

# No installed file may name a folder of this machine.
dpkg-deb --extract "$(package liblabelscope-dev)" root
dpkg-deb --extract "$(package libcustomlabels-dev)" root
named=$(grep -rlaF -e "${TREE%/}/" -e "$BUILD" root labelscope-*/) &&
  fail "they name ${TREE%/}: $named"

# The second set of packages must be equal to the first, to the byte.
wait "$making_again" || fail "package.sh, again: $(cat again.log)"
diff --recursive --brief fresh again || fail "made again, they differ"
