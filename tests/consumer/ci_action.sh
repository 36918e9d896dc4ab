# Our part of the GitHub action (.github/actions/check): its script gets the inputs as GitHub passes
# them, and inputs, script and page agree on their names.
source "$SOURCE_DIR/lib.sh"
action=${TREE}.github/actions/check
page=${TREE}docs/checking-in-ci.md
library=$(library_dir)/libcustomlabels.so
cp "$library" ./libother.so
export LABELSCOPE=$PREFIX/bin/labelscope

# act <expected status> <input=value>...: writes the script's output to ./out.
act() {
  local expected=$1 got
  shift
  env "$@" timeout 120 bash "$action/check.sh" >out 2>err
  got=$?
  ((got == expected)) || { cat out err; fail "status $got, expected $expected, with $*"; }
}

act 0 CHECK_FILES="$library"
! grep -q '^::error' out || fail "an annotation for a clean file: $(cat out)"
act 1 CHECK_FILES="$library"$'\n\n'"$WORK/libother.so"
grep -q '^::error .*LS003.*libother.so' out || fail "no annotation for LS003: $(cat out)"
act 2 CHECK_FILES='' CHECK_COMMAND=''
# A command that cannot be understood is refused, not left out, whatever the files are. The same is
# true of one that a shell would act on: it would run what is in the workflow's text.
# shellcheck disable=SC2016  # as it is
for command in 'sleep "0.1' "it's" 'true; true' 'true | true' 'true > file' 'true $(touch ran)' \
  'true "`touch ran`"' \
  'true ) ; touch ran; (' 'true $HOME' 'true *' 'true \'; do
  act 2 CHECK_FILES="$library" CHECK_COMMAND="$command"
  grep -q '^::error::labelscope check: the input command ' out ||
    fail "no annotation for the command $command: $(cat out)"
done
[[ ! -e ran ]] || fail "a part of the command was run"
act 3 CHECK_COMMAND='sleep "0.1"'
# The words must arrive as they were meant.
printf '#!/bin/bash\nprintf "<%%s>" "$@" >words\n' >show && chmod +x show
# shellcheck disable=SC2016
act 3 CHECK_COMMAND=$' ./show  a\n\'b;  $c\' "d \\"e\\" \\f" g\\ h \'\' i"j"\'k\' \\\\'
[[ $(cat words) == '<a><b;  $c><d "e" \f><g h><><ijk><\>' ]] || fail "the words: $(cat words)"
act 1 CHECK_FILES="$WORK/libother.so" CHECK_COMMAND='sleep 0.1'
act 1 CHECK_FILES="$WORK/libother.so" CHECK_STRICT=false

inputs=$(sed -n '/^inputs:/,/^runs:/s/^  \([a-z]*\):$/\1/p' "$action/action.yml")
[[ -n $inputs ]] || fail "the action has no inputs"
for input in $inputs; do
  grep -q "^| \`$input\` |" "$page" || fail "$page does not explain the input $input"
  grep -q "inputs\.$input" "$action/action.yml" || fail "the input $input is not used"
done
for variable in $(grep -o 'CHECK_[A-Z]*' "$action/check.sh" | sort -u); do
  [[ $variable == CHECK_ ]] ||
    grep -q "^ *$variable: \${{ inputs\.$(tr '[:upper:]' '[:lower:]' <<<"${variable#CHECK_}") }}$" \
    "$action/action.yml" || fail "$variable is set by no input"
done
python3 -c 'import yaml' 2>/dev/null ||
  skip_test "python3 has no yaml (Debian package python3-yaml): all but the last line was tested"
python3 -c 'import sys, yaml; yaml.safe_load(open(sys.argv[1]))' "$action/action.yml" ||
  fail "action.yml is no YAML"
