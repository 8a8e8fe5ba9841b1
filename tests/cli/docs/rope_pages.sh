#!/bin/sh
# rope_pages.sh ROFORMER — docs/rope.md: the program draws its plots, its Python code runs, and docs/paper-to-code.md
# has a section for everything that is numbered in the paper.
. "$(dirname "$0")/../lib"
docs=$repository/docs

# alike EXPECTED GOT   word by word; numbers to 1e-5, for libraries round cosines differently
alike() {
    awk 'NR == FNR { line[FNR] = $0; lines = FNR; next }
        { n = split(line[FNR], a); m = split($0, b); if (n != m) bad = 1
          for (i = 1; i <= n; i++) { d = a[i] - b[i]; if (d < 0) d = -d
            if (a[i] != b[i] && (a[i] !~ /^[-+.0-9e]+$/ || d > 1e-5 * (1 + (a[i] < 0 ? -a[i] : a[i])))) bad = 1 } }
        END { exit bad || FNR != lines }' "$1" "$2"
}

# The commands of the page, each into this folder: the script, with all numbers in it, is the one next to the plot.
sed -n '/^```sh$/,/^```$/s/^roformer \(.*\) -o docs\/rope\/\([a-z]*\)\.svg$/\2 \1/p' "$docs/rope.md" > commands
[ "$(wc -l < commands)" -ge 3 ] || fail "the page draws nothing: $(cat commands)"
while read -r name arguments; do
    # shellcheck disable=SC2086
    "$program" -q $arguments -o "$name.svg" > out 2> err < /dev/null
    alike "$docs/rope/$name.gp" "$name.gp" || fail "docs/rope/$name is another plot than: roformer $arguments -o docs/rope/$name.svg"
    [ -s "$docs/rope/$name.svg" ] || fail "docs/rope/$name.svg is missing"
    for page in rope.md rope.zh.md; do holds "$docs/$page" "](rope/$name.svg)"; done
done < commands
for plot in "$docs"/rope/*.svg; do
    grep -q "^$(basename "$plot" .svg) " commands || fail "$plot: no command of docs/rope.md draws it"
done

# Equations 1 to 37, tables 1 to 5, figures 1 to 3.
sed -n 's/^### Equations\{0,1\} \([1-9][-0-9]*\):.*/equation \1/p; s/^### Table \([1-9]\)$/table \1/p; s/^### Figure \([1-9]\)$/figure \1/p' "$docs/paper-to-code.md" | awk '
    { split($2, r, "-"); for (i = r[1] + 0; i <= (r[2] ? r[2] : r[1]) + 0; i++) seen[$1 " " i] = 1 }
    END { most["equation"] = 37; most["table"] = 5; most["figure"] = 3
        for (kind in most) for (i = 1; i <= most[kind]; i++) if (!((kind " " i) in seen)) print kind, i }' > lacking
[ ! -s lacking ] || fail "docs/paper-to-code.md has no section for: $(tr '\n' ',' < lacking)"

python=${PYTHON:-python3}
if command -v "$python" > /dev/null; then
    "$python" "$repository/tests/docs/rope_fragments.py" "$docs/rope.md" > ran 2> err || fail "$(tail -3 err)"
    cat ran
else
    echo "SKIPPED: no $python: the Python of docs/rope.md was not run"
fi
done_testing
