# The shared library exports all that labelscope.h declares and nothing else, and no file names the
# tree.
source "$SOURCE_DIR/lib.sh"
library=$(library_dir)/liblabelscope.so
nm --dynamic --defined-only "$library" | awk '$2 != "A" { print $3 }' | sed 's/@.*//' |
  sort >offered
grep -oE '^LS_API [^;]*|^ +ls_[a-z_]+\(' "$(include_dir)/labelscope/labelscope.h" |
  grep -oE '\bls_[a-z_]+\(' |
  tr -d '(' | sort -u >declared
diff declared offered || fail "< declared in labelscope.h, > offered by $library"
readelf -d "$library" | grep -q 'SONAME.*liblabelscope\.so\.0' ||
  fail "its soname is not liblabelscope.so.0"
if grep -rlF "$TREE" "$PREFIX" --include='*.cmake' --include='*.pc' --include='*.h'; then
  fail "these name the folder that they were built in"
fi
# CMake and pkg-config know what the archive needs.
pkg-config --static --libs labelscope-reader | grep -q -- '-ldw.*-lelf\|-lelf.*-ldw' ||
  fail "labelscope-reader.pc lacks elfutils"
