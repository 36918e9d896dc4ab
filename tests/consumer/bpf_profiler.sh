# consumer/bpf_profiler: a profiler from outside in less than 200 lines. Its samples show the labels
# that the target itself prints, for both of its threads.
source "$SOURCE_DIR/lib.sh"
(($(cat "$SOURCE_DIR"/bpf_profiler/* | wc -l) < 200)) || fail "it has grown to 200 lines"
build_project "$SOURCE_DIR/bpf_profiler"
start_rivals
timeout 90 build/profiler "$target" 60 >out 2>err
case $? in
  0) ;;
  77) skip_test "BPF is not to be had: $(tail -1 err)" ;;
  *) fail "profiler: $(cat err)" ;;
esac
(($(wc -l <out) == 60)) || fail "not 60 samples: $(wc -l <out)"
# BPF returns every publisher's labels, equal ones too.
true_samples() {
  printf '%s\n' "${truth[@]}" | jq -r '. as $thread | .variables[] | .module as $m | .labels[]
    | "\($thread.tid) \($m) \(.key) \(.value)"' | while read -r tid module key value; do
    printf '%s\t%b=%b@%s\n' "$tid" "$(sed 's/../\\x&/g' <<<"$key")" \
      "$(sed 's/../\\x&/g' <<<"$value")" "$module"
  done | sort -u
}
[[ $(printed_labels out | sort -u) == "$(true_samples)" ]] ||
  fail "printed: $(sort -u out); the target: $(true_samples)"
# Every labelled sample has all of them. Samples that are not resident now and then are no fault.
awk -F '\t' '$2 == "labelled"' out >labelled
(($(sort -u labelled | wc -l) == ${#truth[@]})) || fail "samples differ: $(sort -u labelled)"
(($(wc -l <labelled) >= 30)) || fail "hardly a sample is labelled: $(cut -f 2 out | sort | uniq -c)"
