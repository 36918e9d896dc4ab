# The debug file of a program in a container lies below the container's own root. It is found there,
# by build ID and by name, and not where it must not be trusted.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
need_command cc
need_command objcopy
need_command unshare
cat >program.c <<'EOC'
#include <stdio.h>
#include <unistd.h>
static volatile unsigned long turns;
__attribute__((noinline)) static void serve(void) {
  for (;;) turns++;
}
int main(void) {
  puts("ready");
  fflush(stdout);
  alarm(300);
  serve();
}
EOC
cc -g -O1 -static -Wl,--build-id=0x00aabbccddeeff11 -o whole program.c || skip_test "no static libc"
mkdir -p root/app
objcopy --only-keep-debug whole program.debug
objcopy --strip-all whole root/app/program
objcopy --add-gnu-debuglink=program.debug root/app/program
start_target unshare -m chroot root /app/program
# expect_named <how> <folder> <file>: with its debug file there, the function has its name.
expect_named() {
  mkdir -p "root$2"
  cp program.debug "root$2/$3"
  for path in dump record; do
    if [[ $path == record ]]; then
      record_for 30 -p "$target" -o out.folded --overwrite
      expect_status "$exit_ok" "a recording"
      grep -q ';serve ' out.folded || fail "$1: no name in the recording: $(cat "$work/stderr")"
    else
      run dump --stacks -p "$target"
      grep -Eq '^    serve( |$)' "$work/stdout" || fail "$1: no name in the dump: $(cat "$work/stdout")"
    fi
  done
  chmod 777 "root$2"
  record_for 30 -p "$target" -o out.folded --overwrite
  ! grep -q ';serve ' out.folded || fail "$1: names out of a folder that all may change"
  rm -r "root$2"
  if [[ $2 != /app/* ]]; then rm -rf root/usr; fi
}
expect_named "by build ID" /usr/lib/debug/.build-id/00 aabbccddeeff11.debug
expect_named "by name" /usr/lib/debug/app program.debug
expect_named "beside it" /app/.debug program.debug
