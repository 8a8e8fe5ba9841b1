#!/bin/sh
# run.sh PROGRAM [table|proxies|watchdog|soak] [WORD...]   attacks `roformer serve` on this machine, and only there: table (attack.py,
# rows whose name holds a WORD), proxies (proxies.py: through HAProxy and nginx), watchdog SECONDS, soak SECONDS.
set -u
top=$(cd "$(dirname "$0")/../.." && pwd)
. "$top/tests/cli/lib"
repository=$top
here=$repository/tests/cli/serve
. "$here/serve_models"
shift
kind=${1:-table}
[ $# -eq 0 ] || shift
case $kind in table) script=attack ;; *) script=$kind ;; esac
serve_begin
serve_models "$make_model" "$repository/tests/golden" && slow_models || exit 1
"$program" index -q -m other -o other-index text.txt 2> err || { cat err; exit 1; }
export MODELS="$repository/models" REPOSITORY="$repository" PYTHONDONTWRITEBYTECODE=1
PYTHONPATH=$here:$repository/tools/attack "$python" "$repository/tools/attack/$script.py" "$program" "$@"
code=$?
[ "$code" -eq 0 ] || cat "$work"/server*.err 2> /dev/null | tail -5 >&2
exit $code
