#!/bin/sh
# experiments.sh — the programs of experiments/, from a tiny text to a table of GLUE, with runs that are killed and
# resumed.
. "$(dirname "$0")/../lib"
experiment=$(dirname "$program")/experiments/experiment
glue=$(dirname "$program")/experiments/glue
if [ ! -x "$experiment" ] || [ ! -x "$glue" ]; then echo "SKIPPED: no $experiment or $glue"; exit 0; fi

# Two rows, two seeds, four updates each.
mkdir data
awk 'BEGIN { srand(5); split("good great fine happy lovely", p); split("bad awful sad poor ugly", n); split("film book day cat town", w);
    for (i = 0; i < 600; i++) { y = int(rand() * 2); print "the " w[1 + int(rand() * 5)] " is " (y ? p[1 + int(rand() * 5)] : n[1 + int(rand() * 5)]) " .\t" y } }' > all.tsv
cut -f1 all.tsv | awk '{ print NR, $0; print "" }' > data/text.txt              # a hash of the text holds some of them out
cat > pre.json << 'EOC'
{"name": "pre", "title": "Tiny", "text": ["text.txt"], "vocab_size": 80, "seeds": [1, 2],
 "config": {"model_type": "roformer", "hidden_size": 16, "embedding_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2,
            "intermediate_size": 32, "max_position_embeddings": 64},
 "options": {"max_steps": 4, "tokens_per_batch": 128, "max_length": 32, "logging_steps": 1, "eval_steps": 2, "eval_documents": 20, "save_steps": 2},
 "evaluate": {"text": ["text.txt"], "max_length": [16, 32], "options": {"eval_documents": 20}},
 "rows": [{"name": "rotary"}, {"name": "learned", "config": {"position_embedding_type": "absolute"}}]}
EOC
mkdir results
expect 0 '== work/learned-2' "$experiment" pre.json work --data data --results results/pre --program "$program"
[ "$(wc -l < results/pre/runs.jsonl)" -eq 8 ] || fail "runs of pre: $(cat results/pre/runs.jsonl)"
grep -qE '^learned +2 +[34]\.[0-9]{3} ± 0\.[0-9]{3}' results/pre/table.txt || fail "table of pre: $(cat results/pre/table.txt)"
expect 0 '' "$experiment" pre.json work --data data --results results/pre --program "$program"

# The folder of another experiment's results is refused before anything runs.
cp results/pre/runs.jsonl before
sed 's/"Tiny"/"Another"/' pre.json > other.json
expect 2 'results/pre/table.txt: holds the results of another experiment: .* --results DIR/pre' "$experiment" other.json elsewhere --data data --results results/pre --program "$program"
[ ! -e elsewhere ] || fail 'a refused experiment makes its folder'
same before results/pre/runs.jsonl 'results of another experiment'

# Bytes, a text that is held out, losses in bits.
sed -n '1,40p' data/text.txt > data/held.txt
sed -e 's/"pre"/"bytes"/' -e 's/"vocab_size": 80/"tokenizer": "bytes", "unit": "bits", "validation": ["held.txt"]/' pre.json > bytes.json
expect 0 '== bytes/learned-2' "$experiment" bytes.json bytes --data data --results results/bytes --program "$program"
holds bytes/vocab/tokenizer_config.json RoFormerByteTokenizer
holds results/bytes/table.txt 'in bits for each token'
sed -n 's/.*"rotary","seed":1,"max_length":32,"loss":\([0-9.]*\).*/\1/p' results/bytes/runs.jsonl > bits
sed -n 's/.*"eval_loss": \([0-9.]*\).*/\1/p' bytes/rotary-1/evaluate-32.json >> bits
awk 'NR == 1 { bits = $1 } NR == 2 { d = bits * log(2) - $1; exit !(bits > 0 && d < 1e-5 && d > -1e-5) }' bits || fail "bits and nats: $(cat bits)"
command -v gnuplot > /dev/null && holds results/bytes/curves.gp 'bits per character'

# Its rotary model read at other lengths, as trained and stretched, with and without more training; done again: nothing.
lengths=$(dirname "$program")/experiments/lengths
{ sed -e 's/"pre"/"far"/' -e '/"evaluate"/d' -e '$s/}]}$/}],/' pre.json; cat << 'EOC'; } > far.json
 "held_out": {"text": ["long.txt"], "documents": 2, "tokens": 100}, "stretched": "rotary", "trained_length": 32, "max_length": [32, 64],
 "methods": [{"name": "as trained"}, {"name": "pi, x", "config": {"rope_scaling": {"rope_type": "linear", "factor": "FACTOR"}}}],
 "adapt": {"max_length": 64, "control": "more", "options": {"max_steps": 1, "tokens_per_batch": 128}}}
EOC
for i in 1 2 3; do cut -f1 all.tsv | sed -n "$((i * 100)),$((i * 100 + 50))p" | tr '\n' ' '; echo; echo; done > data/long.txt
expect 0 'more-adapted-32-2' "$lengths" far.json work --data data --results results/far --program "$program"
[ "$(wc -l < results/far/runs.jsonl)" -eq 28 ] || fail "runs of far: $(cat results/far/runs.jsonl)"
for is in x1-1:1.0 x2-1:2.0 adapted-64-1:2.0; do
    grep -q "\"factor\": *${is#*:}" "work/far/pi-x-${is%:*}/config.json" || fail "config of far, $is: $(cat "work/far/pi-x-${is%:*}/config.json")"
done
[ "$(grep -c '"rotary","adapted":0.*:32,' results/far/runs.jsonl)" -eq 6 ] || fail "rows of far: $(cat results/far/runs.jsonl)"
[ "$(grep '"rotary","adapted":0.*:32,' results/far/runs.jsonl | sed 's/.*loss//' | sort -u | wc -l)" -eq 2 ] || fail "a factor of 1 changes a loss"
expect 0 '' "$lengths" far.json work --data data --results results/far --program "$program"

# Translators: two rows, two seeds, a test set as it is and its lines four at a time.
translation=$(dirname "$program")/experiments/translation
awk 'BEGIN { for (i = 0; i < 120; i++) print "the red cat " i " is walking the dog " i % 7 " ." }' > data/a.en
awk '{ for (i = NF; i > 0; i--) printf "%s%s", $i, (i > 1 ? " " : "\n") }' data/a.en > data/a.de
for side in en de; do head -9 data/a.$side | gzip > data/t.$side.gz; done
cat > tr.json << 'EOC'
{"name": "tr", "title": "Tiny", "source": ["a.en"], "target": ["a.de"], "validation_source": ["t.en.gz"], "validation_target": ["t.de.gz"],
 "vocab_size": 60, "seeds": [1, 2],
 "config": {"model_type": "transformer", "d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2,
            "decoder_attention_heads": 2, "encoder_ffn_dim": 16, "decoder_ffn_dim": 16},
 "options": {"max_steps": 4, "tokens_per_batch": 512, "max_length": 64, "eval_steps": 2, "save_steps": 2, "logging_steps": 1},
 "tests": [{"name": "one", "source": "t.en.gz", "target": "t.de.gz"}, {"name": "few", "source": "t.en.gz", "target": "t.de.gz", "lines": 6}], "joined": [1, 4], "translate": {"beam": 2, "max_new_tokens": 20},
 "rows": [{"name": "rotary"}, {"name": "learned", "config": {"position_embedding_type": "absolute"}}], "notes": ["a note"]}
EOC
"$program" vocab -q --type bpe --text data/a.en --size 60 -o probe 2> err || grep -q 'made without it: install it' err || fail "vocab: $(cat err)"
if [ -e probe ]; then
    expect 0 '== tr/learned-2' "$translation" tr.json tr --data data --results results/tr --program "$program"
    [ "$(wc -l < results/tr/runs.jsonl)" -eq 16 ] || fail "runs of tr: $(cat results/tr/runs.jsonl)"
    [ "$(wc -l < tr/tests/one.x4.source)" -eq 3 ] || fail "joined: $(cat tr/tests/one.x4.source)"
    [ "$(wc -l < tr/tests/few.x1.target)" -eq 6 ] && [ "$(wc -l < tr/rotary-1/few.x4)" -eq 2 ] || fail "lines: $(cat tr/tests/few.x1.target)"
    grep -qE '^learned +2 +[0-9.]+ ± [0-9.]+' results/tr/table.txt || fail "table of tr: $(cat results/tr/table.txt)"
    holds results/tr/table.txt 'a note'
    expect 0 '' "$translation" tr.json tr --data data --results results/tr --program "$program"
fi

# Two tasks: a file with a dev part and a header in one of its two training files, a file of pairs without a dev part.
head -200 all.tsv | awk -F '\t' '{ print "x\t" $2 "\t" $1 }' > data/one.tsv
{ printf '\357\273\277id\tlabel\ttext\n'; sed -n '201,400p' all.tsv | awk -F '\t' '{ print "x\t" $2 "\t" $1 }'; echo "too short"; } | gzip > data/two.tsv.gz
sed -n '401,$p' all.tsv | awk -F '\t' '{ printf "x\t%s\t%s\r\n", $2, $1 }' > data/dev.tsv
awk -F '\t' 'NR > 1 { print before "\t" $1 "\t" ($2 == mark) } { before = $1; mark = $2 }' all.tsv > data/pair.tsv
cat > glue.json << 'EOC'
{"name": "tiny", "title": "Tiny tasks", "rows": ["rotary", "learned", "absent"], "pretrained_seeds": [1, 2], "seeds": [1, 2, 3],
 "learning_rate": [1e-4, 1e-2], "train_examples": 300, "baselines": "base.txt",
 "options": {"num_train_epochs": 12, "per_device_train_batch_size": 8, "max_length": 32, "save_strategy": "steps", "save_steps": 150, "save_total_limit": 1},
 "tasks": [
  {"name": "Mood", "task": "cls", "train": [["one.tsv"], ["two.tsv.gz", "header"]], "dev": [["dev.tsv"]], "columns": [3, 0, 2],
   "metrics": ["accuracy", "f1"], "paper": {"BERT": {"accuracy": 93.5}}},
  {"name": "Same", "task": "cls", "train": [["pair.tsv"]], "columns": [1, 2, 3], "metrics": ["accuracy"], "average": false,
   "train_examples": 0, "options": {"num_train_epochs": 1}}],
 "notes": ["A note."]}
EOC
printf 'Mood   majority  accuracy  50.5  Matthews   0.0  F1  66.1\nMood   words     accuracy 100.0  Matthews 100.0  F1 100.0\n' > base.txt
expect 0 'absent-1 is not there' "$glue" glue.json work --data data --results results/whole --program "$program" --threads 1
[ "$(wc -l < work/tiny/data/Mood-train.tsv)" -eq 301 ] && [ "$(wc -l < work/tiny/data/Mood-dev.tsv)" -eq 201 ] || fail "files of Mood: $(wc -l work/tiny/data/*)"
cat work/tiny/data/Same-*.tsv | sed '/^sentence1/d' | sort > both
sort data/pair.tsv > expected
same both expected "rows of Same, of which there may be more"
[ "$(wc -l < results/whole/runs.jsonl)" -eq 18 ] || fail "runs: $(cat results/whole/runs.jsonl)"
grep -qE '^Mood +accuracy +50\.5 +100\.0 +(100\.0|9[0-9]\.[0-9]) ± [0-9.]+ +.* - +\|  +93\.5 +-$' results/whole/table.txt || fail "table: $(cat results/whole/table.txt)"
grep -qE '^Mood +300 +200 +0\.01, 3 +0\.01, 3 +-$' results/whole/table.txt || fail "rates: $(cat results/whole/table.txt)"
holds results/whole/table.txt 'A note.'
command -v gnuplot > /dev/null && { [ -s results/whole/table.svg ] || fail "no plot"; }
awk -F '[:,}]' '/Mood.*rotary.*accuracy/ { s += $(NF - 1); n++ } END { printf "%.1f\n", 100 * s / n }' results/whole/runs.jsonl > mean
grep -q "^Mood  *accuracy .* $(cat mean) ±" results/whole/table.txt || fail "the mean of runs.jsonl is $(cat mean): $(cat results/whole/table.txt)"

# Rows with published models: the first that is below --hub, or none; figures that others report for them.
mkdir -p hub/owner && cp -r work/rotary-1 hub/owner/model
cat > hub.json << 'EOC'
{"name": "hub", "title": "Published", "rows": [{"name": "there", "published": ["owner/absent", "owner/model"]}, {"name": "gone", "published": ["owner/absent"]}],
 "pretrained_seeds": [1], "seeds": [1, 2], "learning_rate": [1e-2], "options": {"num_train_epochs": 1, "per_device_train_batch_size": 8, "max_length": 32},
 "tasks": [{"name": "Same", "task": "cls", "train": [["pair.tsv"]], "columns": [1, 2, 3], "metrics": ["accuracy"], "train_examples": 40,
            "reported": {"gone": {"accuracy": 12.3}}}]}
EOC
expect 0 'hub/owner/absent is not there' "$glue" hub.json work --data data --results results/hub --program "$program" --hub hub --threads 1
[ "$(wc -l < results/hub/runs.jsonl)" -eq 2 ] || fail "runs of hub: $(cat results/hub/runs.jsonl)"
grep -qE '^ +reported +- +12\.3$' results/hub/table.txt || fail "table of hub: $(cat results/hub/table.txt)"
rm -r work/hub
expect 0 'owner/absent is not there' "$glue" hub.json work --data data --results results/none --program "$program"
[ ! -s results/none/runs.jsonl ] || fail "runs without --hub: $(cat results/none/runs.jsonl)"

# Killed again and again, and then left alone: the same numbers.  Its commands kill it, so that no clock decides where: in the
# middle of the first run, before its scores are written, after the second run, before the third one.
mv work/tiny whole
cat > killer << EOC
#!/bin/sh
echo "\$1" >> "$work/calls"
case \$(wc -l < "$work/calls") in
1) "$program" "\$@" --stop_after 200; kill -s KILL \$PPID ;;
3) kill -s KILL \$PPID ;;
5) "$program" "\$@"; kill -s KILL \$PPID ;;
7) kill -s KILL \$PPID ;;
*) exec "$program" "\$@" ;;
esac
EOC
chmod +x killer
for left in 0 0 1 2; do
    "$glue" glue.json work --data data --results results/parts --program "$work/killer" --threads 1 > out 2> err
    code=$?
    [ $code -eq 137 ] || fail "exit code $code, expected 137: $(cat err)"
    [ "$(find work/tiny -name scores.json | wc -l)" -eq $left ] || fail "$left runs were complete: $(find work/tiny -name scores.json)"
done
[ "$(tr '\n' ' ' < calls)" = 'finetune finetune evaluate evaluate finetune evaluate finetune ' ] || fail "calls: $(cat calls)"
expect 0 'absent' "$glue" glue.json work --data data --results results/parts --program "$program"
same results/whole/runs.jsonl results/parts/runs.jsonl "resumed"
same results/whole/table.txt results/parts/table.txt "resumed"
for s in whole/*/*/scores.json; do same "$s" "work/tiny/${s#whole/}" "resumed"; done

# Complete runs are left alone; a subset of the tasks; the table alone; time that is over.
touch mark
expect 0 'absent' "$glue" glue.json work --data data --results results/again --program "$program" --tasks same
[ -z "$(find work/tiny -name scores.json -newer mark)" ] || fail "a complete run ran again"
grep -q '^Mood' results/again/table.txt && fail "Mood was not asked for"
# Files of the other tasks need not be there.
mkdir few && cp data/pair.tsv few
expect 0 'absent-1 is not there' "$glue" glue.json elsewhere --data few --results results/few --program "$program" --tasks same --hours 0
[ "$(ls elsewhere/tiny)" = "$(printf 'Same\ndata')" ] && [ -z "$(ls elsewhere/tiny/data | grep -v Same)" ] || fail "tasks that were not asked for: $(ls -R elsewhere)"
expect 1 'one.tsv' "$glue" glue.json elsewhere --data few --results results/few --program "$program" --hours 0
expect 0 '' "$glue" glue.json work --data data --results results/again --program "$program" --table
same results/whole/table.txt results/again/table.txt "--table"
rm -r work/tiny/Same
expect 0 'absent' "$glue" glue.json work --data data --results results/again --program "$program" --hours 0
[ ! -e work/tiny/Same/rotary-0.01-1 ] || fail "a run began after the time was over"
expect 2 'usage' "$experiment"
expect 2 "hours: 'soon'" "$experiment" pre.json work --hours soon
expect 2 'unknown option --fast' "$experiment" pre.json work --fast 1
expect 4 'nowhere.json: cannot open' "$experiment" nowhere.json work
expect 3 'all.tsv:1: ' "$experiment" all.tsv work
expect 1 'no task of that name' "$glue" glue.json work --data data --program "$program" --results results/again --tasks none
expect 4 'nowhere.json' "$glue" nowhere.json work
done_testing
