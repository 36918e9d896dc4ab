# Labels of runtime/pprof of named versions of Go, whose toolchains the go command fetches.
source "${BASH_SOURCE%/*}/../lib.sh"
source "$SOURCE_DIR/tracers.sh"
need_command go
export GOFLAGS='' GOWORK=off GONOSUMDB='' CGO_ENABLED=0
[[ $(GOTOOLCHAIN=local go version) =~ go1\.([0-9]+) ]] && ((BASH_REMATCH[1] >= 21)) ||
  skip_test "$(GOTOOLCHAIN=local go version) fetches no other version"
# Go's scheduler runs in the threads of goroutines, too.
unlabelled=0.05
versions=(1.26.8 1.27.2)
[[ ${LABELSCOPE_THOROUGH:-} != 1 ]] || versions+=(1.21.13 1.22.12 1.23.12 1.24.10 1.25.4)
for version in "${versions[@]}"; do
  export GOTOOLCHAIN=go$version
  fetch "Go $version" "Go's module proxy" go version
  (cd "$tracers/go" && go build -o "$work/go$version" .) >"$work/stderr" 2>&1 || fail "go build of $version"
  rm -f "$work/stdin"
  echo "Go $version"
  run inspect "$work/go$version"
  expect_shown "^  runtime  Go go${version//./\\.}"
  expect_published runtime/pprof "$work/go$version"
  stop_target
done
