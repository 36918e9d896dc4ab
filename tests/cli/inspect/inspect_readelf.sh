# Symbols and relocations in the output of inspect are those of readelf, for every file of the
# targets.
source "${BASH_SOURCE%/*}/../lib.sh"
need_command jq
need_command readelf
files=("$BROKEN_TARGETS"/*)
run inspect --json "${files[@]}"
expect_status "$exit_ok" "the targets"
mv "$work/stdout" all.json

# Prints "table name type binding visibility size value" from readelf's columns: num value size type
# bind vis index name.
symbols_of() {
  readelf -sW "$1" 2>/dev/null | awk '
    /^Symbol table/ { gsub("\x27", "", $3); table = $3 }
    $8 ~ /^custom_labels_(abi_version|current_set)(@.*)?$/ && $7 != "UND" {
      value = $2; sub(/^0+/, "", value); if (value == "") value = "0"
      name = $8; sub(/@.*/, "", name)
      print table, name, $4, $5, $6, $3, "0x" value }' | sort
}
told_symbols() {
  jq -r --arg path "$1" '.files[] | select(.path == $path) | .symbols | to_entries[] | .key as $name
    | .value | to_entries[] | select(.value != null and .value.defined)
    | "." + .key + " " + $name + " " + .value.type + " " + .value.binding + " " + .value.visibility + " "
      + (.value.size | tostring) + " " + .value.value' all.json | sort
}
# Prints "type slot addend" of relocations that name the variable, from readelf's columns: offset
# info type symbol-value name + addend. The slot of a module ID is followed by that of its offset,
# which inspect does not list separately.
relocations_of() {
  readelf -rW "$1" 2>/dev/null | awk '
    $3 ~ /TLSDESC|DTPMOD|_TPOFF|_TPREL/ && $5 ~ /^custom_labels_current_set(@.*)?$/ {
      slot = $1; sub(/^0+/, "", slot); sub(/64$/, "", $3); print $3, "0x" slot, $7 }' | sort
}
told_relocations() {
  jq -r --arg path "$1" '.files[] | select(.path == $path) | .relocations[] | select(.by_name)
    | (.type | sub("64$"; "")) + " " + .slot + " " + (.addend | tostring)' all.json | sort
}
build_id_of() { readelf -nW "$1" 2>/dev/null | awk '/Build ID:/ { print $NF }'; }

compared=0
relocated=0
for file in "${files[@]}"; do
  truth=$(symbols_of "$file")
  told=$(told_symbols "$file")
  [[ $truth == "$told" ]] || fail "$file: readelf: $truth; inspect: $told"
  truth=$(relocations_of "$file")
  told=$(told_relocations "$file")
  [[ $truth == "$told" ]] || fail "$file: readelf: $truth; inspect: $told"
  [[ -n $truth ]] && relocated=$((relocated + 1))
  told=$(jq -r --arg path "$file" '.files[] | select(.path == $path) | .build_id // ""' all.json)
  [[ $(build_id_of "$file") == "$told" ]] || fail "$file: build ID $told"
  compared=$((compared + 1))
done
((compared >= 15 && relocated >= 8)) ||
  fail "compared only $compared files, $relocated with relocations"
