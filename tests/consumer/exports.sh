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

# What a version has, it keeps: programs that are there need it. A new function goes into a new
# version, of which the number is LS_API_VERSION.
while read -r version count sum; do
  nm --dynamic --defined-only "$library" | sed -n "s/.* \(ls_[a-z_]*\)@@*$version\$/\1/p" | sort >has
  [[ "$(wc -l <has) $(cksum <has | cut -d' ' -f1)" == "$count $sum" ]] ||
    fail "$version has $(wc -l <has) functions, cksum $(cksum <has): $(cat has)"
done <<'END'
LABELSCOPE_0 45 3986302144
LABELSCOPE_0_2 45 3470535627
END
api=$(sed -n 's/^#define LS_API_VERSION //p' "$(include_dir)/labelscope/labelscope.h")
newest=$(nm --dynamic "$library" | sed -n 's/.*@@*LABELSCOPE_0_//p' | sort -n | tail -n 1)
((newest <= api)) || fail "LS_API_VERSION is $api, and there are functions of version $newest"

# An older library: the functions of the first version alone. A program that uses nothing else
# starts with it; another one does not start, rather than fail when it calls.
mkdir -p older
nm --dynamic --defined-only "$library" | sed -n 's/.* \(ls_[a-z_]*\)@@*LABELSCOPE_0$/\1/p' >first
sed 's/.*/void &(void) {}/' first >older.c
{ echo 'LABELSCOPE_0 { global:'; sed 's/$/;/' first; echo 'local: *; };'; } >older.map
"$CC" -w -fno-builtin -shared -fPIC older.c -Wl,--version-script=older.map \
  -Wl,-soname,liblabelscope.so.0 -o older/liblabelscope.so.0 || fail "no older library"
for function in ls_free_plan ls_free_snapshot; do
  echo "#include <labelscope/labelscope.h>
    int main(int argc, char** argv) { if (argc > 1) $function((void*)argv); return 0; }" >user.c
  # shellcheck disable=SC2046  # several words
  "$CC" $CFLAGS user.c $(pkg-config --cflags --libs labelscope) -o "$function" ||
    fail "no program with $function"
  LD_LIBRARY_PATH=$(library_dir) "./$function" || fail "$function does not start with $library"
done
LD_LIBRARY_PATH=older ./ls_free_plan || fail "an old program does not start with its own library"
LD_LIBRARY_PATH=older ./ls_free_snapshot 2>log && fail "a newer program starts with an older library"
grep -q "version .LABELSCOPE_0_2. not found" log || fail "the loader says: $(cat log)"

readelf -d "$library" | grep -q 'SONAME.*liblabelscope\.so\.0' ||
  fail "its soname is not liblabelscope.so.0"
if grep -rlF "$TREE" "$PREFIX" --include='*.cmake' --include='*.pc' --include='*.h'; then
  fail "these name the folder that they were built in"
fi
# CMake and pkg-config know what the archive needs.
pkg-config --static --libs labelscope-reader | grep -q -- '-ldw.*-lelf\|-lelf.*-ldw' ||
  fail "labelscope-reader.pc lacks elfutils"
