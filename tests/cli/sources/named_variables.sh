# Variables that the user names, in a program that knows no label ABI: each type, in the program and
# in a library that it has loaded with dlopen(), including hidden and static ones, and stripped,
# with every way to read. Thread 0 has null pointers.
source "${BASH_SOURCE%/*}/../lib.sh"
need_command jq
start_target "$VARIABLES" "$VARIABLES_LIBRARY"
read -r zero one < <(true_tids | tr '\n' ' ')

# expect_threads <what> <labels of thread 0> <labels of thread 1>: checks them as "key=value
# key=value", in any order.
expect_threads() {
  expect_status "$exit_ok" "$1"
  local tid labels
  for ((i = 2; i <= 3; i++)); do
    tid=$zero; ((i == 3)) && tid=$one
    labels=$(jq -r --argjson tid "$tid" '.threads[] | select(.tid == $tid) | .labels[] | "\(.key)=\(.value)"' "$work/stdout" | sort | paste -sd' ')
    [[ $labels == "$(tr ' ' '\n' <<<"${!i}" | sort | paste -sd' ')" ]] || fail "$1: thread $tid has $labels, not ${!i}"
  done
}

numbers=(--tls "exe_u8:u8=a" --tls "lib_i16:i16=b" --tls "exe_u64:u64=c" --tls "lib_f64:f64=d" --tls "exe_flag:bool=e" --tls "lib_id:hex3=f")
numbers_0='a=200 b=-300 c=18446744073709551615 d=0.5 e=false f=000000'
numbers_1='a=201 b=-301 c=18446744073709551614 d=1.5 e=true f=010101'
texts=(--tls "lib_name:str12=a" --tls "exe_text:*str=b" --tls "lib_slice:ptrlen=c" --tls "exe_current->+16->+4:u32=d"
  --tls "lib_current->16->8:cstr=e")
texts_0='a=name0'
texts_1='a=name1 b=text_1 c=text d=71 e=text_1'
hidden=(--tls "exe_hidden:i32" --tls "lib_hidden:i32" --tls "exe_local:i64" --tls "$(basename "$VARIABLES_LIBRARY"):lib_local:i64=l")
hidden_0='exe_hidden=0 lib_hidden=0 exe_local=1000 l=1000'
hidden_1='exe_hidden=-1 lib_hidden=-1 exe_local=1001 l=1001'
spaces() { sed -i 's/text 1/text_1/g' "$work/stdout"; }

# all_of <what> <dump argument>...: checks all variables in the output.
all_of() {
  local what=$1
  shift
  run dump --json "$@" "${numbers[@]}"
  expect_threads "$what: numbers" "$numbers_0" "$numbers_1"
  run dump --json "$@" "${texts[@]}"
  spaces
  expect_threads "$what: texts" "$texts_0" "$texts_1"
  run dump --json "$@" "${hidden[@]}"
  expect_threads "$what: hidden ones" "$hidden_0" "$hidden_1"
}
all_of "dump by ptrace" -p "$target" --backend ptrace
if (need_sampling >/dev/null); then
  run dump -p "$target" --backend bpf
  if ((status == exit_ok)); then all_of "dump by BPF" -p "$target" --backend bpf; fi
fi
if command -v gcore >/dev/null && gcore -o "$work/core" "$target" >"$work/gcore" 2>&1; then
  all_of "a core" --core "$work/core.$target"
fi

# --- the text for people
run dump -p "$target" --tls exe_u8:u8 --tls lib_f64:f64
expect_shown "^  labels from .*/$(basename "$VARIABLES") \\(exe_u8:u8, local exec\\) @$(basename "$VARIABLES"):exe_u8:u8\$"
expect_shown "^Thread +$one .*exe_u8=201@$(basename "$VARIABLES"):exe_u8:u8"
run dump -p "$target" --explain --tls "exe_current->16->8:cstr"
expect_shown 'exe_current->16->8:cstr in \.(dynsym|symtab): TLS'
expect_shown 'the pointer at 0x'
expect_shown 'its text at 0x'
expect_shown 'exe_current=text 1'
expect_shown 'which is null: no label'

# --- missing variables
run dump -p "$target" --explain --tls exe_u9:u8
expect_status "$exit_error" "a variable that is not there"
expect_shown 'no-variable: no file that it has loaded has a thread-local variable exe_u9; of [0-9]+ that there are, these are closest: exe_u8 in '
expect_said 'warning: --variable exe_u9:u8: no file that it has loaded has a thread-local variable exe_u9; of .*closest: exe_u8 in '
grep -q 'closest:.* in .* in .* in .* in ' "$work/stderr" && fail "more than the three closest"
run dump -p "$target" --tls libnone.so:exe_u8:u8
expect_said 'it has loaded no file libnone\.so for the variable exe_u8; .*closest: exe_u8 in '
grep -q libnone "$work/stdout" && fail "stdout is for what there is"
run dump -p "$target" --tls not_thread_local:u32
expect_shown 'not_thread_local:u32, global, of the first thread'
run dump -p "$target" --tls exe_twin:i32
expect_said 'there are 2 variables named exe_twin in .*/variables, static ones of several source files'
run dump --json -p "$target" --tls exe_shadowed:i32
expect_threads "a name that something else has, too" 'exe_shadowed=3000' 'exe_shadowed=3001'
run dump -p "$target" --tls exe_u8+100000:u8
expect_said 'lies outside of the module.s TLS block'
run dump -p "$target" --tls exe_current-
expect_status "$exit_usage" "a shell has taken the rest"
expect_said 'put it all into quotes'
run dump -p "$target" --tls exe_u8+4294967296:u8
expect_status "$exit_usage" "a number that is too large"
expect_said 'the offset 4294967296 is too large: at most 2147483647'
run dump -p "$target" --tls exe_u8:hex300
expect_status "$exit_usage" "a value that is too large"
expect_said 'the type hex300 is too large: at most 256 bytes'
for own in '--tls exe_u8:u8=pid' '--env-label HOME=comm' '--process-label uid=thread_id'; do
  # shellcheck disable=SC2086  # two words
  run dump -p "$target" $own
  expect_status "$exit_usage" "$own"
  expect_said 'labelscope.s own: put another =KEY'
done
run dump -p "$target" --tls exe_u8:int
expect_status "$exit_usage" "an unknown type"
expect_said 'there is no such type; the types are u8, '
# This is no pointer.
run dump -p "$target" --explain --tls "exe_u64->:u8"
expect_shown '^  bad-pointer: '

# --- as C++ writes it
for name in 'shop::current' 'shop::depth' 'shop::(anonymous namespace)::hidden' 'file_static'; do
  run dump --json -p "$target" --tls "$name:i32=a"
  expect_threads "$name" 'a=40' 'a=41'
done
run dump --json -p "$target" --tls "variables:shop::current:i32"
expect_threads "in a file that is named" 'shop::current=40' 'shop::current=41'
run dump -p "$target" --tls shop::curent:i32
expect_status "$exit_error" "a misspelled name in C++"
expect_said 'closest: .*_ZN4shop7currentE in '

# --- record
run record -p "$target" --tls nowhere:u8 -d 1 -o "$work/none.folded"
expect_status "$exit_error" "a variable that no process has"
expect_said '^labelscope: --variable nowhere:u8: no file that it has loaded has a thread-local variable nowhere; .*closest'
[[ ! -e $work/none.folded ]] || fail "it records without the label"
expect_recorded() {
  local backend=$1
  record_threads 250 --backend "$backend" -F 199 -p "$target" "${texts[@]}" --tls libnone.so:nowhere:u8 -o "$work/$backend.jsonl" --summary a,d
  expect_status "$exit_ok" "record by $backend"
  expect_said 'warning: --variable nowhere:u8: it has loaded no file libnone.so for the variable nowhere; .*closest'
  expect_shown '^name1 '
  expect_shown '^71 '
  expect_ledger "$work/$backend.jsonl"
  python3 - "$work/$backend.jsonl" "$zero" "$one" <<'PYTHON' || fail "record by $backend"
import json, sys
zero, one = map(int, sys.argv[2:])
lines = [json.loads(line) for line in open(sys.argv[1])]
of = {kind: [line for line in lines if line["type"] == kind] for kind in ("process", "thread", "labels", "sample")}
sets = {line["id"]: {l["key"]: l["value"] for l in line["labels"]} for line in of["labels"]}
threads = {line["id"]: line["tid"] for line in of["thread"]}
seen = {}
for sample in of["sample"]:
    # On a busy machine a thread may not stop in time.
    if lines[0]["outcomes"][sample["outcome"]] == "no-thread-pointer": continue
    seen.setdefault(threads[sample["thread"]], set()).add(json.dumps(sets[sample["labels"]], sort_keys=True))
expected = {zero: {json.dumps({"a": "name0"})}, one: {json.dumps({"a": "name1", "b": "text 1", "c": "text", "d": "71", "e": "text 1"})}}
sys.exit(f"seen {seen}, not {expected}" if {t: seen.get(t) for t in expected} != expected else 0)
PYTHON
}
expect_recorded ptrace
# The variable is there, and leads nowhere in every thread.
record_for 50 --backend ptrace -F 199 -p "$target" --tls "exe_u64->:u8" --tls "exe_u8:u8" -o "$work/nowhere.folded"
expect_said '^--variable exe_u64->:u8: no sample has a value of it: .*labelscope dump --explain'
! grep -q 'exe_u8:u8: no sample' "$work/stderr" || fail "a variable with values is said to have none"
if (need_sampling >/dev/null); then expect_recorded bpf; fi

# --- stripped: the variables of dynamic symbols are still there, the others have no names
if command -v strip >/dev/null; then
  exec 8>&-
  wait_until "the target ends" is_gone "$target"
  cp "$VARIABLES" "$work/stripped"
  cp "$VARIABLES_LIBRARY" "$work/stripped.so"
  strip "$work/stripped" "$work/stripped.so" || fail "strip"
  start_target "$work/stripped" "$work/stripped.so"
  read -r zero one < <(true_tids | tr '\n' ' ')
  run dump --json -p "$target" "${numbers[@]}"
  expect_threads "stripped" "$numbers_0" "$numbers_1"
  run dump -p "$target" --tls lib_hidden:i32
  expect_said 'no file that it has loaded has a thread-local variable lib_hidden; .*closest: '
  # Other files are in their places, as after an upgrade. The names still mean the old files.
  rm "$work/stripped" "$work/stripped.so"
  run dump --json -p "$target" --tls stripped:exe_u8:u8=a --tls stripped.so:lib_i16:i16=b
  expect_threads "deleted files" 'a=200 b=-300' 'a=201 b=-301'
fi
expect_no_files
