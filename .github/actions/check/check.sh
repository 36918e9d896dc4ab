#!/usr/bin/env bash
# This runs the action's checks, from its inputs (action.yml) in CHECK_*: the files, then the
# command, then the command again one instruction at a time. All of them run; the status is that of
# the first that failed.
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
# Puts the words of a text into `command`, with quotes and backslashes as in a shell. No shell reads
# the text, so that nothing in it is run or replaced; text that a shell would run or replace is
# refused, and the status is 1.
split_words() {
  local text=$1 word='' begun=false quote='' char next i
  local double='"' single="'" acts_anywhere='$`' acts_bare=';&|<>()*?['
  command=()
  for ((i = 0; i < ${#text}; i++)); do
    char=${text:i:1}
    if [[ $quote == "$single" ]]; then
      if [[ $char == "$single" ]]; then quote=''; else word+=$char; fi
    elif [[ $acts_anywhere == *"$char"* ]]; then
      return 1
    elif [[ $char == \\ ]]; then
      ((++i))
      next=${text:i:1}
      [[ -n $next ]] || return 1
      # In double quotes a backslash stays in front of a character that does not need it.
      [[ -z $quote || $next == [\"\\\$\`] ]] || word+=$char
      word+=$next
      begun=true
    elif [[ $quote == "$double" ]]; then
      if [[ $char == "$double" ]]; then quote=''; else word+=$char; fi
    elif [[ $char == "$double" || $char == "$single" ]]; then
      quote=$char
      begun=true
    elif [[ $char == [[:space:]] ]]; then
      [[ $begun == true ]] && command+=("$word")
      word='' begun=false
    elif [[ $acts_bare == *"$char"* ]]; then
      return 1
    else
      word+=$char
      begun=true
    fi
  done
  [[ -z $quote ]] || return 1
  [[ $begun == true ]] && command+=("$word")
  return 0
}
if ! split_words "${CHECK_COMMAND:-}"; then
  echo "::error::labelscope check: the input command is not one command in plain words: close its quotes, and put what a" \
    "shell would act on (; & | < > ( ) * ? [ \$ \`) between single quotes, as in: sh -c 'a; b'"
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
