# bash completion for labelscope(1): the program itself knows its options, and what they take.
_labelscope() {
  local line current
  # bash takes = and : for ends of words, and a label's key or a cgroup's path may have them.
  current=${COMP_WORDS[COMP_CWORD]}
  COMPREPLY=()
  while IFS= read -r line; do
    line=${line%%$'\t'*}
    [[ $line == "$current"* ]] && COMPREPLY+=("$(printf '%q' "$line")")
  done < <(labelscope complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _labelscope labelscope
