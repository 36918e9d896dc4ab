# The calls of the Java library: what they return, which the program checks itself, and which labels
# are there then, which labelscope reads. The program prints what they must be.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/java.sh"

# expect_labels <how>: compares a dump of every thread with the truth, keys and values in their
# order.
expect_labels() {
  ! grep '^problem: ' "$work/truth" || fail "$1: calls returned something else"
  run dump -p "$target" --json --backend ptrace
  expect_status "$exit_ok" "dump, $1"
  python3 - "$work/stdout" "$work/truth" <<'PYTHON' || fail "$1"
import base64, json, sys
dump = json.load(open(sys.argv[1]))
truth = [json.loads(line) for line in open(sys.argv[2]) if line.startswith("{")]
def shown(text): return text if isinstance(text, str) else base64.b64decode(text["base64"]).decode()
seen = {thread["tid"]: [(shown(label["key"]), shown(label["value"])) for label in thread["labels"]] for thread in dump["threads"]}
def text(hexed): return bytes.fromhex(hexed).decode()
problems = []
for case in truth:
    wanted = [(text(label["key"]), text(label["value"])) for label in case["labels"]]
    if seen.get(case["tid"]) != wanted: problems.append(f"{case['name']}: {seen.get(case['tid'])}, not {wanted}")
if len(truth) < 35: problems.append(f"only {len(truth)} cases")
print(f"{len(truth)} cases")
sys.exit("\n".join(problems) or 0)
PYTHON
  stop_target
}
start_target "${java[@]}" LabelCases
expect_labels "a library that Java has loaded"
start_target env LD_PRELOAD="$preload" "${java[@]}" LabelCases
expect_labels "a library that is preloaded"

# Without the library a program runs on, and can report why it has no labels.
"${java[@]}" -Dcustomlabels.library=/nowhere/liblabelsjni.so LabelCases missing >"$work/stdout" ||
  fail "without the library"
expect_shown '^threads have no labels: /nowhere/liblabelsjni.so was not loaded \(.+\); name its path'
# Another library is loaded and does not have the methods.
"${java[@]}" -Dcustomlabels.library="$WRITER_LIBRARY" LabelCases missing >"$work/stdout" || fail "by another library"
expect_shown '^threads have no labels: .*libcustomlabels.so was not loaded \(.+\); name its path'
# A jar and a library of different versions say so. All that they have in common are names of methods.
if command -v javac >/dev/null && command -v cc >/dev/null; then
  mkdir -p older/customlabels
  cat >older/customlabels/NativeLabels.java <<'JAVA'
package customlabels;

/** As it was when scopes did not name their thread of Java. */
public final class NativeLabels {
  public static void main(String[] arguments) {
    try {
      System.load(arguments[0]);
      leave(0);
      enter("tenant", 6, "acme", 4);
      System.out.println("loaded");
    } catch (LinkageError error) {
      System.out.println("not loaded: " + error.getMessage());
    }
  }

  static native long enter(String key, int keyUnits, String value, int valueUnits);

  static native int leave(long ticket);
}
JAVA
  javac -d older older/customlabels/NativeLabels.java || fail "the older class cannot be compiled"
  java -Xmx64m -XX:+UseSerialGC -cp older customlabels.NativeLabels "$JAVA_LABELS_LIBRARY" >"$work/stdout" 2>&1 ||
    fail "an older jar ends the program"
  expect_shown '^not loaded: .*it is of another version than customlabels.jar'
  echo 'int Java_customlabels_NativeLabels_leave(void* java, void* type, long ticket) { return 3; }' |
    cc -shared -fPIC -Wno-unused-parameter -x c -o older/liblabelsjni.so - || fail "the older library cannot be compiled"
  "${java[@]}" -Dcustomlabels.library="$PWD/older/liblabelsjni.so" LabelCases missing >"$work/stdout" || fail "an older library"
  expect_shown '^threads have no labels: .*liblabelsjni.so was not loaded \(it is older than customlabels.jar'
  rm -r older
fi
# Since JDK 24 a program may forbid native libraries.
forbid=--illegal-native-access=deny
for newer in /usr/lib/jvm/*/bin/java; do
  "$newer" $forbid -version >/dev/null 2>&1 || continue
  "$newer" $forbid "${java[@]:1}" LabelCases missing >"$work/stdout" || fail "$newer $forbid"
  expect_shown '^threads have no labels: .*liblabelsjni.so was not loaded \(.+\); name its path'
done
expect_no_files
