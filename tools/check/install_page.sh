#!/bin/sh
# install_page.sh — runs the blocks of docs/install.md in order, in a clone of the last commit.
set -eu
cd "$(dirname "$0")/../.."
work=$(mktemp -d "${TMPDIR:-/tmp}/roformer-install-page-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
git clone -q --no-hardlinks . "$work"
awk '/^```$/ { if (open) print "rm -rf env"; open = !open; next } open' docs/install.md > "$work/page.sh"
[ -s "$work/page.sh" ] || { echo "install_page: docs/install.md has no block" >&2; exit 1; }
cd "$work"
sh -eux page.sh > page.log 2>&1 || { tail -40 page.log >&2; echo "install_page: a line failed" >&2; exit 1; }
grep -q '^(256,)$' page.log || { echo "install_page: no vector" >&2; exit 1; }
grep -q 'medal' page.log || { echo "install_page: the static program does not answer" >&2; exit 1; }
echo "install_page: $(grep -c '^+ ' page.log) commands"
