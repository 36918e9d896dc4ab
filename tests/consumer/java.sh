# A Java program with the installed jar, started by customlabels-java: what docs/java.md shows
# compiles, its labels are seen, and the library is loaded as the ABI wants it. The script works
# wherever the installation is, and reports what is wrong with it.
source "$SOURCE_DIR/lib.sh"
jar=$PREFIX/share/java/customlabels.jar
[[ -e $jar ]] || skip_test "labels from Java were not built: there was no JDK (default-jdk-headless)"
[[ -z $CFLAGS ]] || skip_test "java cannot load a library with a sanitizer"
for program in java javac; do
  command -v $program >/dev/null || skip_test "$program is not installed"
done

awk '/^```java$/ { inside = 1; next } /^```/ { inside = 0 } inside' "$TREE/docs/java.md" >Server.java
cat >Main.java <<'JAVA'
class Main {
  public static void main(String[] arguments) {
    Server.serve("zür\uD83D\uDE00", "request", request -> {
      System.out.println("pid " + ProcessHandle.current().pid());
      try {
        return Integer.toString(System.in.read());
      } catch (java.io.IOException error) {
        return error.toString();
      }
    });
  }
}
JAVA
javac -encoding UTF-8 -Xlint:all,-try -Werror -cp "$jar" -d . Server.java Main.java >javac.log 2>&1 ||
  fail "javac: $(cat javac.log)"

# expect_labels <launcher>: checks the labels and the rules of a program that it starts.
expect_labels() {
  mkfifo input
  "$1" -Xmx64m -cp "${1%/bin/*}/share/java/customlabels.jar:." Main <input >output 2>errors &
  local java=$! deadline=$((SECONDS + 60))
  children+=("$java")
  exec 8>input
  until (($(wc -l <output) > 0)); do # the whole line
    ((SECONDS < deadline)) || fail "the program did not start: $(cat output errors)"
    sleep 0.05
  done
  [[ $(<output) == "pid $java" ]] || fail "customlabels-java is a process of its own beside java"
  [[ ! -s errors ]] || fail "customlabels-java: $(cat errors)"
  "$PREFIX/bin/labelscope" dump -p "$java" --backend ptrace >dump 2>&1 || fail "dump: $(cat dump)"
  grep -q 'tenant=zür😀' dump || fail "no label in: $(cat dump)"
  "$PREFIX/bin/labelscope" check --strict -p "$java" --timeout 5s >check 2>&1 || fail "check: $(cat check)"
  exec 8>&-
  wait "$java" || fail "the program's status is $?"
  rm input
}
expect_labels "$PREFIX/bin/customlabels-java"
mkdir moved && cp -a "$PREFIX"/{bin,share} moved/
cp -a "$PREFIX"/lib* moved/
expect_labels "$WORK/moved/bin/customlabels-java"

# expect_refused <status> <what it says> <command...>
expect_refused() {
  local wanted=$1 said=$2 status=0
  shift 2
  "$@" >refused 2>&1 || status=$?
  [[ $status == "$wanted" ]] || fail "$*: status $status, not $wanted: $(cat refused)"
  grep -q -- "$said" refused || fail "$* does not say '$said': $(cat refused)"
}
expect_refused 2 '^usage: ' moved/bin/customlabels-java
expect_refused 0 '^usage: ' moved/bin/customlabels-java --help
expect_refused 1 'JAVA_HOME is /nowhere, which has no bin/java' \
  env JAVA_HOME=/nowhere moved/bin/customlabels-java Main
cp -a moved 'a blank'
expect_refused 1 'cannot have a path with a blank' 'a blank/bin/customlabels-java' Main
find moved -name liblabelsjni.so -delete
expect_refused 1 'liblabelsjni.so cannot be read: the installation is not whole' \
  moved/bin/customlabels-java Main
