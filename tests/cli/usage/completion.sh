# What shells complete a command line with: all options of each command, the words that an option
# takes, processes, presets, keys of recordings.
source "${BASH_SOURCE%/*}/../lib.sh"
need_command jq
candidates() { "$LABELSCOPE" complete -- "$@" | cut -f 1; }

mapfile -t commands < <(candidates '' | grep -vxE 'help|version')
"$LABELSCOPE" --help >help
for command in "${commands[@]}"; do
  grep -qE "^  $command " help || fail "$command is no command"
  "$LABELSCOPE" "$command" --help | grep -E '^ {1,8}-' | grep -oE '^ {1,8}(-[A-Za-z],)?--[a-z-]+(,--[a-z-]+)?' |
    grep -oE -- '--[a-z-]+' | sort >shown
  candidates "$command" -- | grep -- '^--' | sort >offered
  diff shown offered >difference || fail "$command: options of --help (<) and offered (>): $(<difference)"
done
((${#commands[@]} >= 7)) || fail "only these commands: ${commands[*]}"

[[ $(candidates record --mode off) == offcpu ]] || fail "not the words that --mode takes"
[[ $(candidates record --backend '' | tr '\n' ' ') == 'auto bpf ptrace ' ]] || fail "not the backends"
[[ $(candidates help dum) == dump ]] || fail "help is not completed"
candidates record --preset '' | grep -qx postgres || fail "no presets"
[[ -z $(candidates record -- ./server --mo) ]] || fail "another program's options are completed"
[[ -z $(candidates record -o '') ]] || fail "a file's name is not left to the shell"
[[ -z $(candidates nonsense '') ]] || fail "an unknown command has candidates"

"$SPINNER" >"$work/said" &
children+=("$!")
is_offered() { candidates record -p spin | grep -qx spinner; }
wait_until "a process is offered by its name" is_offered
candidates dump -p "1,$!" | grep -qx "1,$!" || fail "a process is not offered by its number"
# A process chooses its own name.
mkfifo "$work/never"
bash -c 'printf "%s" "x\$(y);z" >/proc/$$/comm; read -r _' <"$work/never" &
hostile=$!
children+=("$hostile")
exec 8>"$work/never"
wait_until "a process has a hostile name" grep -q 'x\$(y' "/proc/$hostile/comm"
! candidates record -p x | grep -q '(' || fail "a hostile name is offered"
candidates record -p '' | grep -qx "$hostile" || fail "it is not offered by its number"

printf '%s\n' '{"type":"labels","id":0,"labels":[{"key":"tenant","value":"42","publisher":0}]}' \
  '{"type":"labels","id":1,"labels":[{"key":"a b","value":"1"},{"key":{"base64":"/w=="},"value":"1"},7]}' \
  '{"type":"labels","id":2,' >run.jsonl
[[ $(candidates report run.jsonl --summary ten) == tenant ]] || fail "no key of the recording"
[[ $(candidates report run.jsonl --summary thread_name,ten) == thread_name,tenant ]] ||
  fail "no key behind a comma"
! candidates report run.jsonl --where '' | grep -q ' ' || fail "a key that needs quotes is offered"
# Nobody writes to the FIFO.
mkfifo pipe.jsonl
timeout --signal=KILL 20 "$LABELSCOPE" complete -- report pipe.jsonl --summary thread_n >"$work/stdout" ||
  fail "a FIFO is waited for"
expect_shown '^thread_name'

# The shells themselves. A guest has the programs and the tests alone.
shells=$SOURCE_DIR/../../cli/options/completions
[[ -d $shells ]] || skip_test "the shells' own scripts are not here; what they ask was tested"
PATH=$(dirname "$LABELSCOPE"):$PATH
# shellcheck source=cli/options/completions/labelscope.bash
source "$shells/labelscope.bash"
# shellcheck disable=SC2034 # the function reads them
{
  COMP_WORDS=(labelscope record --mode off)
  COMP_CWORD=3
}
_labelscope
[[ ${COMPREPLY[*]} == offcpu ]] || fail "bash: ${COMPREPLY[*]}"
if command -v fish >/dev/null; then
  offered=$(HOME=$work fish --no-config -c "source '$shells/labelscope.fish'
    complete --do-complete 'labelscope record --mode off'")
  [[ $offered == offcpu* ]] || fail "fish: $offered"
fi
if command -v zsh >/dev/null; then
  # _describe gets the candidates where a terminal would show them.
  offered=$(zsh -f -c "_describe() { print -l -- \"\${(@P)4}\" }
    words=(labelscope record --mode off) CURRENT=4
    source '$shells/_labelscope'")
  [[ $offered == offcpu:* ]] || fail "zsh: $offered"
fi
