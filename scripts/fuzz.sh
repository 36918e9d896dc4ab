#!/usr/bin/env bash
# This builds the fuzzers with clang's libFuzzer (Debian: clang-14, libclang-rt-14-dev) and the
# sanitizers, and runs them one after the other, from the corpus in testdata/fuzz_corpus. Inputs
# that break one are left in build/fuzz/found/NAME/.
#
#   scripts/fuzz.sh [--seconds N] [--only NAME]...       N seconds for each fuzzer, 60 by default
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=60
only=()
while (($#)); do
  case $1 in
    --seconds) seconds=$2 && shift 2 ;;
    --only) only+=("$2") && shift 2 ;;
    *) sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0" && exit 2 ;;
  esac
done
((${#only[@]})) || mapfile -t only < <(basename -s _fuzzer.cc -a tests/fuzz/*_fuzzer.cc)

cmake --preset asan -B build/fuzz -DCMAKE_C_COMPILER=clang -DCMAKE_CXX_COMPILER=clang++ >/dev/null ||
  exit 1
ninja -C build/fuzz "${only[@]/%/_fuzzer}"

export UBSAN_OPTIONS=print_stacktrace=1
failed=()
for name in "${only[@]}"; do
  found=build/fuzz/found/$name
  mkdir -p "$found/corpus"
  log=$found/log
  if ! nice -n 19 "build/fuzz/tests/fuzz/${name}_fuzzer" -max_total_time="$seconds" -timeout=30 -rss_limit_mb=2048 \
    -artifact_prefix="$found/" -print_final_stats=1 "$found/corpus" "testdata/fuzz_corpus/$name" >"$log" 2>&1; then
    failed+=("$name")
    tail -n 40 "$log"
  fi
  printf '%-16s %s executions, %s\n' "$name" \
    "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" "$(grep -o 'cov: [0-9]*' "$log" | tail -n 1)"
done
((${#failed[@]} == 0)) || { printf 'found something: %s\n' "${failed[*]}" && exit 1; }
