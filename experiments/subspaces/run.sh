#!/bin/sh
# run.sh WORK [OPTIONS of experiment] — are the subspaces of words and of positions nearly orthogonal?  Trains the rows
# of subspaces.json, runs position-report on each model, and writes results/subspaces/: table.txt, angles.gp and
# angles.svg.  --table only measures existing models.  --data DIR and --results DIR as in experiments/README.md.
set -eu
export LC_ALL=C
cd "$(dirname "$0")/../.."
[ $# -ge 1 ] || { sed -n '2,4s/^# *//p' experiments/subspaces/run.sh >&2; exit 2; }
work=$1
shift
data=../shared/data
out=results/subspaces
before=
for word; do
    case $before in --data) data=$word ;; --results) out=$word ;; esac
    before=$word
done
build=${BUILD:-build/release}
"$build/experiments/experiment" experiments/subspaces/subspaces.json "$work" --data "$data" --results "$out" --program "$build/roformer" "$@"
[ -r "$data/wikitext-2/wiki.test.raw" ] || { echo "run.sh: $data/wikitext-2/wiki.test.raw is not there (--data DIR)" >&2; exit 4; }

number() { grep -o "\"$1\": *[-0-9.e]*" "$work/report" | sed 's/.*: *//'; }
list() { grep -o "\"$1\": *\[[^]]*\]" "$work/report" | tr -d ' ]' | sed 's/.*\[//' | tr ',' '\n' | awk '{ print NR, $1 }'; }
{
    echo "Angles between the subspaces of position vectors and of word vectors, those of the fewest principal directions that hold 90 % of the squares"
    echo
    printf '%-22s %9s %9s %6s %9s %9s %11s %9s %9s\n' model positions words of overlap random deviation smallest random
} > "$out/angles.txt"
cat > "$out/angles.gp" << 'EOG'
set terminal svg background rgb 'white' size 900,480 noenhanced font ',11'
set output 'angles.svg'
set grid
set key outside right
set xlabel 'principal angle, the smallest first'
set ylabel 'its cosine: 1 the same direction, 0 orthogonal'
set yrange [0:1]
set title 'subspaces of positions and of words; dashed: random ones of the same dimensions'
EOG
plots=
for model in "$work"/*-*/model.safetensors; do
    model=${model%/model.safetensors}
    "$build/roformer" -q position-report -m "$model" --text "$data/wikitext-2/wiki.test.raw" --text_split heading --max_length 128 --pieces 1 \
        --stretches 1 --json > "$work/report"
    name=$(basename "$model" | tr -c 'A-Za-z0-9_\n' _)
    printf '%-22s %9s %9s %6s %9.4f %9.4f %11.4f %8.1f° %8.1f°\n' "$(basename "$model")" "$(number position_dimensions)" "$(number word_dimensions)" \
        "$(number width)" "$(number overlap)" "$(number random_overlap)" "$(number random_deviation)" \
        "$(list cosines | awk 'NR == 1 { print atan2(sqrt(1 - $2 * $2), $2) * 45 / atan2(1, 1) }')" \
        "$(list random_cosines | awk 'NR == 1 { print atan2(sqrt(1 - $2 * $2), $2) * 45 / atan2(1, 1) }')" >> "$out/angles.txt"
    { echo "\$$name << EOD"; list cosines; echo EOD; echo "\$random_$name << EOD"; list random_cosines; echo EOD; } >> "$out/angles.gp"
    n=$((${n:-0} + 1))
    plots="$plots${plots:+, }\$$name with linespoints linetype $n pointsize 0.4 title '$(basename "$model")', \$random_$name with lines linetype $n dashtype 2 notitle"
done
echo "plot $plots" >> "$out/angles.gp"
rm -f "$work/report"
(cd "$out" && gnuplot angles.gp)
cat "$out/angles.txt"
