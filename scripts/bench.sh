#!/usr/bin/env bash
# This builds labelscope as it is released and measures it: BPF time of a sample's parts, rejecting
# and accepting large ELF files, samples a second from ring buffer to pprof file, what labels cost
# the program that sets them. At the end it prints a table of all ratios with their aims. The status
# is 0 if everything could be measured, whatever the results are. tests/bench/README.md explains
# what is measured, and how to read it.
#
#   scripts/bench.sh [labels|elf|samples|writer...]      all four, or some
#   --reference FILE             lets "writer" compare the C API with this library too: the public writer for ABI v1
#   scripts/bench.sh costs       what stacks cost, next to perf record: in kernel, target and start (15 minutes)
#   scripts/bench.sh stacks      how many stacks of ordinary programs are whole, and callers wrong, next to perf record (15 minutes; with
#                                the programs that are installed)
#   scripts/bench.sh sources     what each label source costs in the kernel, next to ABI v1, and the preset of a real
#                                PostgreSQL, if one is installed (4 minutes)
#   scripts/bench.sh chain       a million stacks compared with the program's own account (5 minutes)
#   scripts/bench.sh overhead    how much slower a program gets while it is recorded, next to perf record -g and
#                                bpftrace, above an empty event and an empty BPF program (8 minutes)
#   scripts/bench.sh growth      how the cost of a sample grows with calls, labels, threads, processes, modules (8 minutes)
#   scripts/bench.sh start       how soon a recording begins and ends, and what memory it takes, next to perf record -g (3 minutes)
#   scripts/bench.sh naming      how fast addresses get names, next to perf script, addr2line and llvm-symbolizer, and whether the names
#                                agree (10 minutes; it makes a program with 1 GB of debug information, and needs
#                                8 GB of memory for the other tools)
#   scripts/bench.sh waits       what it costs to measure waits, next to bpftrace (8 minutes)
#   scripts/bench.sh beside      how long nginx, redis, Go and Java wait: labelscope, perf and bpftrace next to the
#                                programs' own accounts and schedstat (a minute; with the programs that are installed)
#   scripts/bench.sh python      what labels cost a program in Python, next to the same calls in C
#   scripts/bench.sh node        the same for a program in Node.js, next to AsyncLocalStorage
#   scripts/bench.sh java        what labels cost a program in Java, next to the same calls in C
#   --json FILE                  keeps the last table as JSON
#   --compare FILE               compares it with one that was kept
#
# Root (or sudo) is needed for BPF. Other work on the machine costs precision, so the load is
# printed with the results.
set -euo pipefail
# shellcheck source=scripts/lib.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"

benches=()
trend=()
export LABELSCOPE_REFERENCE_WRITER=${LABELSCOPE_REFERENCE_WRITER:-}
while (($# > 0)); do
  case $1 in
    --reference)
      (($# > 1)) || { printf 'bench.sh: %s needs a file\n' "$1" >&2; exit 2; }
      LABELSCOPE_REFERENCE_WRITER=$(realpath -- "$2")
      shift
      ;;
    --json | --compare)
      (($# > 1)) || { printf 'bench.sh: %s needs a file\n' "$1" >&2; exit 2; }
      trend+=("$1" "$(realpath -- "$2")")
      shift
      ;;
    *) benches+=("$1") ;;
  esac
  shift
done
((${#benches[@]} > 0)) || benches=(labels elf samples writer)
for bench in "${benches[@]}"; do
  case $bench in
    labels | elf | samples | writer | costs | stacks | sources | chain | overhead | growth | start | naming | waits | beside | python | java | node) ;;
    -h | --help) usage; exit 0 ;;
    *) printf 'bench.sh: unknown benchmark: %s (labels, elf, samples, writer, costs, stacks, sources, chain, overhead, growth, start, naming, waits, beside, python, java or node)\n' "$bench" >&2; exit 2 ;;
  esac
done

bash "$root_dir/scripts/setup.sh" --tests

readonly build=$root_dir/build/bench
# The other builds show warnings. At -O3 some compilers give wrong ones, so this build shows none.
configure "$build" --preset dev -DCMAKE_BUILD_TYPE=Release -DLABELSCOPE_WERROR=OFF
say "Building with $(build_jobs) jobs"
targets=()
for bench in "${benches[@]}"; do
  case $bench in
    costs | stacks | overhead | growth | start | waits | beside) targets+=(labelscope) ;;
    sources) targets+=(labelscope labelscope_go_labels) ;;
    chain) targets+=(test_sampler_unwind) ;;
    writer) targets+=(bench_writer bench_drop_in) ;;
    python) targets+=(customlabels) ;;
    node) targets+=(customlabels_node) ;;
    naming) targets+=(bench_naming) ;;
    java)
      command -v javac >/dev/null || die "javac is not installed"
      targets+=(bench_java)
      ;;
    *) targets+=("bench_$bench") ;;
  esac
done
cmake --build "$build" --parallel "$(build_jobs)" --target "${targets[@]}" >&2

# These are large files of this machine, if there are any, in addition to those made here.
large_libraries() {
  local file seen=0
  for file in /usr/lib/*/libLLVM*.so.*; do
    [[ -f $file && ! -L $file && $(stat -c %s "$file") -ge 90000000 && $seen -eq 0 ]] || continue
    echo "$file"
    seen=1
  done
}

# These are kept from run to run, because making them takes some seconds.
readonly bin=$build/tests/bench elf=$build/tests/bench/large_elf
aims=$(mktemp)
trap 'rm -f "$aims"' EXIT
run() {
  echo
  echo "== $1 (load $(cut -d ' ' -f 1 /proc/loadavg)) =="
  as_root env PATH="$PATH" LABELSCOPE_BENCH_AIMS="$aims" "${@:2}"
}
for bench in "${benches[@]}"; do
  case $bench in
    labels) run "What a sample costs in the kernel" "$bin/bench_labels" ;;
    elf)
      [[ -f $elf/plain.so ]] || { say "Making ELF files of 100 MB" && bash "$root_dir/tests/bench/make_large_elf.sh" "$elf" 45000; }
      mapfile -t others < <(large_libraries)
      run "ELF files of 100 MB" "$bin/bench_elf" "$elf" "${others[@]}"
      ;;
    samples) run "Samples from ring buffer to pprof file" "$bin/bench_samples" ;;
    writer)
      run "What labels cost the program that sets them" "$bin/bench_writer"
      run "The C API, and the reference library's" env LABELSCOPE_REFERENCE_WRITER="$LABELSCOPE_REFERENCE_WRITER" \
        python3 "$root_dir/tests/bench/drop_in.py" --program "$bin/bench_drop_in" \
        --ours "$build/writer-lib/libcustomlabels.so" || (($? == 77))
      ;;
    costs)
      run "What stacks cost" python3 "$root_dir/tests/bench/stack_costs.py" --labelscope "$build/cli/labelscope"
      ;;
    stacks)
      run "How many stacks are whole" python3 "$root_dir/tests/bench/stacks.py" --labelscope "$build/cli/labelscope"
      ;;
    sources)
      go=()
      [[ ! -x $build/tests/targets/go_labels/static ]] || go=(--go "$build/tests/targets/go_labels/static")
      run "What each label source costs" python3 "$root_dir/tests/bench/source_costs.py" \
        --labelscope "$build/cli/labelscope" "${go[@]}"
      ;;
    waits)
      run "What it costs to measure waits" python3 "$root_dir/tests/bench/waits.py" --labelscope "$build/cli/labelscope"
      ;;
    beside)
      run "How long programs wait" python3 "$root_dir/tests/bench/waits_beside.py" --labelscope "$build/cli/labelscope"
      ;;
    overhead)
      run "What a recording costs the program" python3 "$root_dir/tests/bench/overhead.py" --labelscope "$build/cli/labelscope"
      ;;
    growth)
      run "How the cost of a sample grows" python3 "$root_dir/tests/bench/growth.py" --labelscope "$build/cli/labelscope"
      ;;
    start)
      run "How soon a recording begins and ends" python3 "$root_dir/tests/bench/start.py" --labelscope "$build/cli/labelscope"
      ;;
    naming)
      run "How fast addresses get names" python3 "$root_dir/tests/bench/naming.py" --bench "$bin/bench_naming" \
        --folder "$build/tests/bench/named"
      ;;
    python)
      run "What labels cost a program in Python" env CUSTOMLABELS_LIBRARY="$build/writer-lib/libcustomlabels.so" \
        python3 "$root_dir/tests/bench/python_labels.py"
      ;;
    node)
      run "What labels cost a program in Node.js" env NODE_PATH="$build/writer-lib/node" node "$root_dir/tests/bench/node_labels.js"
      ;;
    java)
      jar=$build/writer-lib/java
      run "What labels cost a program in Java" env LD_PRELOAD="$build/writer-lib/libcustomlabels.so" \
        java -cp "$jar/customlabels.jar:$bin/java" -Dcustomlabels.library="$jar/liblabelsjni.so" \
        JavaCosts "$bin/libbench_java_costs.so" 10000
      ;;
    chain)
      run "Stacks against their labels" "$build/tests/kernel/test_sampler_unwind" "[.chain]"
      ;;
  esac
done

echo
echo "== Against the aims =="
python3 "$root_dir/tests/bench/trend.py" "$aims" "${trend[@]}"
