# A way of sampling that does not exist gives status 2, and the list of those that exist.
source "${BASH_SOURCE%/*}/../lib.sh"
expect_usage() {
  local said=$1
  shift
  run record -p 1 "$@"
  expect_status "$exit_usage" "$*"
  expect_said "$said"
  expect_no_stdout
  expect_no_files
}
expect_usage 'auto, bpf and ptrace are known' --backend magic
expect_usage 'cpu, offcpu and wall are known' --mode idle
expect_usage 'dwarf, fp and none are known' --call-graph lbr
expect_usage '--mode offcpu needs --backend bpf' --backend ptrace --mode offcpu
expect_usage '--max-unwind-mb' --max-unwind-mb 2
expect_usage '--max-stop has no meaning with --backend bpf' --backend bpf --max-stop 1ms
expect_usage '--call-graph fp needs --backend bpf' --backend ptrace --call-graph fp
expect_usage '--call-graph fp needs --backend bpf' --backend ptrace --mode wall --call-graph fp
expect_usage '--ring-size has no meaning with --backend ptrace' --backend ptrace --ring-size 4
expect_usage 'any, clock and cycles are known' --event instructions
expect_usage '--event' --event clock --mode offcpu
expect_usage 'it needs --backend bpf' --event clock --backend ptrace
expect_usage '--max-stop' --backend ptrace --max-stop soon
