# consumer/c with CMake: find_package in a project of C only, and every thread's labels as the
# target itself prints them.
source "$SOURCE_DIR/lib.sh"
build_project "$SOURCE_DIR/c"
start_rivals
build/print_labels "$target" >out 2>err || {
  skip_if_refused err
  fail "print_labels: $(cat err)"
}
[[ $(printed_labels out) == "$(true_lines)" ]] ||
  fail "printed: $(cat out); the target: $(true_lines)"
# The output has an explanation: what was planned, and the way to the first thread's labels.
(($(grep -c '^# ' out) >= 5)) || fail "no explanation: $(cat out)"
grep '^# ' out | grep -Fq "$(basename "$RIVALS_LIBRARY")" ||
  fail "the explanation does not name the library"
grep '^# ' out | grep -q 'of-publisher-' || fail "the explanation does not show the labels"
# An error is a value whose text names what was tried.
build/print_labels 2147483647 >out 2>err && fail "a process that does not exist was read"
grep -q 2147483647 err || fail "the error does not name the process: $(cat err)"
build/print_labels /etc/hostname >out 2>err && fail "a file that is no core was read"
[[ -s err ]] || fail "no error for a file that is no core"

# A server that publishes nothing: a preset of the user's own and a variable give its first thread
# labels, and one that is installed is found by its name, and fits no file of this process.
coproc GLOBALS { exec "$GLOBALS_PROGRAM" "room for a title"; }
target=$GLOBALS_PID
children+=("$target")
while read -r line <&"${GLOBALS[0]}" && [[ $line != ready ]]; do
  [[ $line == *'"first"'* ]] && first=$(jq .tid <<<"$line")
done
cat >shop.preset <<'END'
preset shop 1
match current_request requests
only main-thread
label route = current_request->+8:str24 class=mid
END
build/print_labels -p ./shop.preset -p redis -v shard:u32 -v nowhere:u8 "$target" >out 2>err ||
  fail "print_labels with presets: $(cat err)"
labels=$(grep "^$first"$'\t' out | tr '\t' '\n' | sed -n 's,@.*,,p' | sort | paste -sd' ')
[[ $labels == 'route=/checkout shard=40' ]] || fail "the first thread has: $labels; $(cat out)"
(($(grep -c $'^[0-9]*\tunlabelled' out) == 2)) || fail "the other two threads have labels: $(cat out)"
grep -q '^# not there: .*redis' out && grep -q '^# not there: .*nowhere' out ||
  fail "what is not there is not named: $(cat out)"

# The same files without a process: what they publish, and which presets they fit.
build/inspect_file "$GLOBALS_PROGRAM" ./shop.preset redis >out 2>err ||
  fail "inspect_file: $(cat err)"
grep -qx $'publishes nothing\tABI v1' out && grep -qx $'shop\tfits\t' out &&
  grep -q $'^redis\tanother file\t.*server' out || fail "of the server: $(cat out)"
build/inspect_file "$RIVALS_LIBRARY" >out 2>err || fail "inspect_file: $(cat err)"
[[ $(head -n 1 out) == $'compliant\tABI v1' ]] || fail "of the library: $(cat out)"
build/inspect_file /etc/hostname >out 2>err && fail "a file that is not ELF was inspected"
grep -q /etc/hostname err || fail "the error does not name the file: $(cat err)"

sed -i s/str24/str0/ shop.preset
build/print_labels -p ./shop.preset "$target" >out 2>err && fail "a wrong preset was read"
grep -q 'shop.preset, line 4: ' err || fail "the error does not name the line: $(cat err)"
