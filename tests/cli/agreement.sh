# For tests that hold doctor's verdict against what record does then, with the same rights (sourced
# after lib.sh and need_other_user).
# shellcheck shell=bash

# agree <pid> <expected status of doctor> <command before labelscope...>: record then exits as doctor has
# said, and by BPF only if doctor has. What doctor said is in $work/doctor.json, and what record said in
# $work/stderr.
agree() {
  local pid=$1 expected=$2 doctor record
  shift 2
  "$@" "$work/labelscope" doctor --json -p "$pid" >"$work/stdout" 2>"$work/stderr" </dev/null
  doctor=$?
  jq -e '.format == "labelscope-doctor" and (.checks | length) > 8' "$work/stdout" >/dev/null ||
    fail "no JSON as $*"
  [[ $doctor == "$expected" ]] || fail "doctor exits with $doctor, not $expected, as: $*"
  cp "$work/stdout" "$work/doctor.json"
  timeout --signal=KILL 60 "$@" "$work/labelscope" record -F 499 -d 0.4 -p "$pid" -o x.jsonl \
    >"$work/stdout" 2>"$work/stderr" </dev/null
  record=$?
  rm -f x.jsonl
  local worst
  worst=$(jq -r '[.checks[].verdict] | if index("missing") then "missing" elif index("limited")
    then "limited" else "fine" end' "$work/doctor.json")
  case $worst in
    missing) [[ $record == "$doctor" ]] || fail "doctor: $doctor; record: $record, as: $*" ;;
    *) [[ $record == 0 ]] || fail "doctor says $worst, and record exits with $record, as: $*" ;;
  esac
  # A recording that stops threads is a limit that both report.
  local by_bpf=yes said_bpf=yes
  jq -e '.checks[] | select(.name == "sampling" and .verdict == "limited")' "$work/doctor.json" \
    >/dev/null && by_bpf=no
  grep -q 'BPF cannot be had' "$work/stderr" && said_bpf=no
  [[ $worst == missing || $by_bpf == "$said_bpf" ]] ||
    fail "doctor says by BPF: $by_bpf; record: $said_bpf, as: $*"
}

# verdict <name>: prints the verdict of this line.
verdict() { jq -r --arg name "$1" 'first(.checks[] | select(.name == $name) | .verdict)' "$work/doctor.json"; }
