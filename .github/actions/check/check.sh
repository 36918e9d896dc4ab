#!/usr/bin/env bash
# What the action checks, from its inputs (action.yml) in CHECK_*: the files, then the command, then the command again
# one instruction at a time. All of them are looked at; the status is that of the first that failed.
set -uo pipefail

labelscope=${LABELSCOPE:-${RUNNER_TEMP:-}/labelscope/bin/labelscope}
options=(--format github)
[[ ${CHECK_STRICT:-true} == true ]] && options+=(--strict)
[[ -n ${CHECK_BASELINE:-} ]] && options+=(--baseline "$CHECK_BASELINE")
status=0

check() {
  "$labelscope" check "${options[@]}" "$@"
  local one=$?
  ((status != 0)) || status=$one
}

files=()
while IFS= read -r file; do
  [[ -n $file ]] && files+=("$file")
done <<<"${CHECK_FILES:-}"
# The workflow's own words: quotes in them mean what they mean in a shell.
command=()
if ! eval "command=(${CHECK_COMMAND:-})"; then
  echo "::error::labelscope check: the input command is not one command in words of a shell: close its quotes, and quote" \
    "what a shell would take for more than words (; & | < >), as in: sh -c 'a; b'"
  exit 2
fi

if ((${#files[@]} + ${#command[@]} == 0)); then
  echo "::error::labelscope check: neither files nor a command were given"
  exit 2
fi
((${#files[@]} == 0)) || check "${files[@]}"
if ((${#command[@]} > 0)); then
  [[ -n ${CHECK_TIMEOUT:-} ]] && options+=(--timeout "$CHECK_TIMEOUT")
  check -- "${command[@]}"
  [[ ${CHECK_STEP:-false} != true ]] || check --step -- "${command[@]}"
fi
exit "$status"
