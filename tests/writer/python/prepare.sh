# What run.sh and gevent.sh begin with; $1 to $3 are their arguments.
here=$(cd "${BASH_SOURCE[0]%/*}" && pwd)
skip_test() { printf 'SKIPPED: %s\n' "$*"; exit 77; }
command -v python3 >/dev/null || skip_test "python3 is not installed"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' || skip_test "$(python3 --version) is older than 3.11"
[[ $3 != *-fsanitize* ]] || skip_test "python3 cannot load a library with a sanitizer"
export CUSTOMLABELS_LIBRARY=$1 PYTHONPATH=$2 PYTHONDONTWRITEBYTECODE=1
