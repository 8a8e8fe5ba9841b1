#!/bin/sh
# trace.sh PROGRAM — --profile writes every operation, forward and backward, as JSON; bench parts lists them.
set -eu
. "$(dirname "$0")/../lib/lib.sh"
