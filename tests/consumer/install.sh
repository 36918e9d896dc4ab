# Installs the tree for the tests that follow.
set -euo pipefail
if [[ -n ${NO_INSTALL:-} ]]; then
  printf 'SKIPPED: %s\n' "$NO_INSTALL"
  exit 77
fi
rm -rf "$PREFIX"
cmake --install "$BUILD" --prefix "$PREFIX" >/dev/null
[[ -e $(find "$PREFIX" -name labelscopeConfig.cmake) ]] ||
  { echo "FAILED: no package config in $PREFIX"; exit 1; }
