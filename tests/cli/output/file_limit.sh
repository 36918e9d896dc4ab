# A file that would grow beyond `ulimit -f` is an error with a message, and not the end by SIGXFSZ.
# A command that labelscope starts has that signal as it was.
source "${BASH_SOURCE%/*}/../lib.sh"
need_sampling
start_busy_target
run record --backend bpf -F 999 -d 2 -o whole.jsonl -p "$target"
expect_status "$exit_ok" "a recording"
(($(stat -c %s whole.jsonl) > 4096)) || fail "the recording is too small for this test"
limited() { # argument...
  # bash counts blocks of 1,024 bytes.
  (
    ulimit -f 4
    exec timeout --signal=KILL 60 "$LABELSCOPE" "$@"
  ) >"$work/stdout" 2>"$work/stderr" </dev/null
  status=$?
}
limited report whole.jsonl -o small.jsonl
expect_status "$exit_error" "report, with a limit"
expect_said 'cannot write .*small\.jsonl: File too large \(ulimit -f bounds it\)'
[[ ! -e small.jsonl ]] || fail "an incomplete file is there"
limited record --backend bpf -F 999 -d 2 -o small.jsonl -p "$target"
expect_status "$exit_error" "record, with a limit"
expect_said 'cannot write .*small\.jsonl: File too large \(ulimit -f bounds it\)'

# shellcheck disable=SC2016
run record --backend bpf -o command.jsonl -- bash -c 'for i in {1..200000}; do :; done; kill -XFSZ $$'
expect_status $((128 + 25)) "a command that ends itself by SIGXFSZ"
exit 0
