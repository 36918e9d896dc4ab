# The writers of the archive work where programs run that were built long ago: with glibc from 2.17
# on, and libcustomlabels with musl, too.
source "$SOURCE_DIR/lib.sh"
[[ -z $CFLAGS ]] || skip_test "a sanitizer needs its own libc"
libraries=$(library_dir)
[[ -r $libraries/libcustomlabels.so ]] || libraries=$(dirname "$(find "$PREFIX" -name libcustomlabels.so | head -1)")

# Each function of glibc that they use is as old.
for name in libcustomlabels.so libotelcontext.so liblabelsjni.so customlabels.node; do
  library=$(find "$PREFIX" -name "$name" | head -n 1)
  [[ -n $library || $name != lib*s.so ]] || fail "there is no $name"
  [[ -n $library ]] || continue  # without a JDK, or headers of node
  nodes=$(readelf --version-info --wide "$library" | grep -oE 'GLIBC_[A-Z0-9_.]+' | sort --unique)
  [[ -n $nodes ]] || fail "nothing is known of what $name needs"
  while read -r node; do
    [[ $(printf '%s\nGLIBC_2.17\n' "$node" | sort --version-sort | tail -n 1) == GLIBC_2.17 ]] || fail "$name needs $node"
  done <<<"$nodes"
done

cat >program.c <<'EOF_C'
#include <customlabels/customlabels.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static custom_labels_string_t text(const char* of) {
  return (custom_labels_string_t){strlen(of), (const unsigned char*)of};
}
static void* label(void* name) {
  custom_labels_labelset_t* set = custom_labels_new(1);
  custom_labels_set(set, text("who"), text(name), 0);
  custom_labels_replace(set);
  return name;
}
static void* run(void* name) {
  label(name);
  puts("ready");
  fflush(stdout);
  pause();
  return 0;
}
int main(void) {
  pthread_t thread;
  for (int i = 0; i < 1000; ++i) { /* a thread's end frees what it had */
    if (pthread_create(&thread, 0, label, "ended") != 0) return 1;
    pthread_join(thread, 0);
  }
  pthread_create(&thread, 0, run, "thread");
  return run("main") != 0;
}
EOF_C

# expect_labels <program>...: both threads have their own labels.
expect_labels() {
  coproc RUN { exec "$@"; }
  target=$RUN_PID
  children+=("$target")
  read -r _ <&"${RUN[0]}" && read -r _ <&"${RUN[0]}" || fail "$* does not run"
  "$BUILD/cli/labelscope" dump -p "$target" >out 2>err || { skip_if_refused err; fail "dump of $*: $(cat err)"; }
  [[ $(grep -oE 'who=[a-z]+' out | sort | paste -sd ' ') == 'who=main who=thread' ]] || fail "of $*: $(cat out err)"
  kill -KILL "$target"
  wait "$target" 2>/dev/null
}

# Of the library as a user has it: with the headers, and nothing of the tree.
include=$(include_dir)
# As customlabels-static.pc has it.
exported=(-Wl,-u,custom_labels_abi_version,-u,custom_labels_current_set
  -Wl,--export-dynamic-symbol=custom_labels_abi_version,--export-dynamic-symbol=custom_labels_current_set)
tried=''
if command -v musl-gcc >/dev/null; then
  musl-gcc -O1 -idirafter "$include" -o with_musl program.c "$libraries/libcustomlabels.so" -Wl,-rpath,"$libraries" ||
    fail "the library cannot be linked with musl"
  expect_labels ./with_musl
  musl-gcc -O1 -idirafter "$include" -o archive_musl program.c "$libraries/libcustomlabels_static.a" "${exported[@]}" ||
    fail "the archive cannot be linked with musl"
  expect_labels ./archive_musl
  tried+=' musl'
fi
"$CC" -O1 -pthread -I "$include" -o program program.c "$libraries/libcustomlabels.so" -Wl,-rpath,"$libraries" || fail "program.c"
expect_labels ./program

# The oldest glibc that mirrors of Debian still have, with the files to link against it.
arch=$(dpkg --print-architecture 2>/dev/null)
if packages=$(LABELSCOPE_DOWNLOADS=${LABELSCOPE_DOWNLOADS:-$TREE/build/debian} bash "$TREE/scripts/debian_packages.sh" \
  fetch "$arch" bullseye libc6 libc6-dev 2>fetch.log); then
  while read -r package; do dpkg-deb --extract "$package" old || fail "$package"; done <<<"$packages"
  # Links to absolute paths lead into this root as well.
  find "$PWD/old" -type l -lname '/*' -printf '%p %l\n' | while read -r link to; do ln -sfn "$PWD/old$to" "$link"; done
  loader=$(find old/lib -name 'ld-linux*.so.[12]' | head -n 1)
  folder=$PWD/$(dirname "$(find old/lib -name libpthread.so.0 | head -n 1)")
  "$CC" -O1 -c -I "$include" -o program.o program.c || fail "program.c"
  "$CC" --sysroot="$PWD/old" -B "old/usr/lib/$(uname -m)-linux-gnu/" -o with_old program.o "$libraries/libcustomlabels.so" -lpthread ||
    fail "the library cannot be linked with glibc of Debian 11"
  expect_labels "$loader" --library-path "$folder:$libraries" ./with_old
  "$CC" --sysroot="$PWD/old" -B "old/usr/lib/$(uname -m)-linux-gnu/" -o with_old_archive program.o \
    "$libraries/libcustomlabels_static.a" "${exported[@]}" -lpthread ||
    fail "the archive cannot be linked with glibc of Debian 11"
  expect_labels "$loader" --library-path "$folder" ./with_old_archive
  tried+=' glibc 2.31'
else
  echo "no glibc of Debian 11: $(cat fetch.log)"
fi
[[ -n $tried ]] || skip_test "neither musl-gcc nor an older glibc is there"
