#!/bin/sh
# cases.sh — small inputs modeled on public bug reports about other programs; they are outside the repository, in
# ../shared/cases.
[ -z "${ROFORMER_CASES:-}" ] || cases=$(cd "$ROFORMER_CASES" && pwd)
. "$(dirname "$0")/../lib"
cases=${cases:-$repository/../shared/cases}
[ -d "$cases" ] || { echo "  skipped: no cases: set ROFORMER_CASES to their folder"; exit 0; }
# begin NAME   a copy of the case, as the folder to work in
begin() { rm -rf "$work/$1"; cp -r "$cases/$1" "$work/$1" && chmod -R u+w "$work/$1" && cd "$work/$1" || exit 1; }

# A head of its own where config.json says that it is tied: refused by every command that opens the weights.
begin tied-head-differs
head='cls.predictions.decoder.weight: expected the numbers of roformer.embeddings.word_embeddings.weight, as tie_word_embeddings is true'
expect 3 "$head" "$program" fill-mask -m model --json --top-k 1 "the dog [MASK]."
expect 3 "$head" "$program" score -m causal "the dog barks"
expect 3 "$head" "$program" generate -m causal "the dog barks"
expect 3 "$head" "$program" info -m model
expect 3 "$head" "$program" verify model
expect 3 "$head" "$program" convert model converted
printf 'the dog barks\n\ngood film\n' > text
expect 3 "$head" "$program" evaluate -m model --text text --max_length 8
expect 3 "$head" "$program" pretrain -m model --train_file text -o run --max_steps 1 --max_length 8
[ ! -e converted ] || fail "convert wrote a folder"
# The remedy that the message names gives transformers' answer.
sed 's/"tie_word_embeddings": true/"tie_word_embeddings": false/' model/config.json > config.json && mv config.json model/
expect 0 '' "$program" fill-mask -m model --json --top-k 1 "the dog [MASK]."
holds out '"score": 0.05236'
begin tie-false-no-head
expect 3 'cls.predictions.decoder.weight' "$program" fill-mask -m model "the dog [MASK]."

# Limits of length that only the tokenizer's files say; vectors that are cut; a number of a line may differ in its last places.
vectors_close() {
    awk 'function bad() { print FILENAME ": line " FNR ": " $0; exit 1 }
        { gsub(/[][,]/, " "); n = split($0, x, " ") }
        NR == FNR { for (i = 1; i <= n; i++) right[FNR, i] = x[i]; size[FNR] = n; next }
        { if (n != size[FNR]) bad(); for (i = 1; i <= n; i++) { d = x[i] - right[FNR, i]; if (d > 2e-5 || d < -2e-5) bad() } }' "$1" "$2" ||
        fail "vectors differ"
}
numbers_of() {      # numbers_of FILE.npy WIDTH   a row a line: version 1.0, little-endian f32
    od -An -v -tf4 -w$(($2 * 4)) -j128 "$1"
}
begin st6-max-length
long="$(for i in 1 2 3 4 5 6 7 8 9 10 11 12; do printf 'good film '; done)bad city"
printf '%s\n' "the dog barks" "$long" > texts
"$program" embed -q -m model -f jsonl texts > vectors || fail "embed"
numbers_of expected.npy 32 > right
vectors_close right vectors
expect 0 '' "$program" info -m model --json
holds out '"max_length": 8'
expect 0 '' "$program" convert -q model-roformer converted
holds converted/sentence_bert_config.json '"max_seq_length": 16'
"$program" embed -q -m model-roformer -f jsonl texts > before && "$program" embed -q -m converted -f jsonl texts > after
same before after
printf '{"max_seq_length": null, "tokenizer_args": {"model_max_length": 6}}' > model/sentence_bert_config.json
expect 0 '' "$program" info -m model --json
holds out '"max_length": 6'
printf '{"tokenizer_args": {"do_lower_case": true}}' > model/sentence_bert_config.json
expect 3 'sentence_bert_config.json: tokenizer_args.do_lower_case: expected' "$program" embed -m model texts -o v.npy
begin st-truncate-dim
printf 'the dog barks\ngood film\n' > texts
"$program" embed -q -m model -f jsonl texts > vectors || fail "embed"
numbers_of expected.npy 8 > right
vectors_close right vectors
expect 0 '' "$program" info -m model --json
holds out '"truncate_dim": 8'

# What is kept next to a model about its texts goes with it.
begin convert-loses-generation
printf 'the dog barks\n' > text
for model in model old; do
    "$program" translate -q -m $model text > before || fail "translate $model"
    expect 0 '' "$program" convert -q $model new-$model
    "$program" translate -q -m new-$model text > after || fail "translate new-$model"
    same before after "convert lost what $model says of its translations"
done
"$program" convert -q old old --overwrite > /dev/null && "$program" translate -q -m old text > after || fail "convert in place"
same before after "convert in place lost the keys of config.json"
rm old/generation_config.json
# An end token among the words that are never written is dropped, as in transformers: the text ends all the same.
sed 's/"eos_token_id": 1/"eos_token_id": 1, "bad_words_ids": [[62], [1]]/' "$cases/convert-loses-generation/model/generation_config.json" | sed 's/"bad_words_ids": \[\[62\]\], //' > model/generation_config.json
"$program" translate -q -m model text > after || fail "translate with an end token among bad_words_ids"
"$program" translate -q -m new-model text > before
same before after "an end token in bad_words_ids changes the text"
# case_of NAME   a copy of the case's folder, in which its command runs: what it writes is in got, errors among it
case_of() {
    name=$1
    [ -d "$cases/$name" ] || { fail "$cases/$name is not there"; return; }
    begin "$name"
    R=$program bash ./cmd > "$work/$name.got" 2>&1 < /dev/null
    code=$?
    mv "$work/$name.got" got
}
# golden FILE   the lines of ids and offsets are those of another program; a case may say less
golden() { python3 - "$1" got <<'P' || fail "$name: not the ids and offsets of $1"
import json, sys
def lines(name): return [json.loads(l) for l in open(name, encoding="utf-8") if l.strip()]
a, b = lines(sys.argv[1]), lines(sys.argv[2])
bad = len(b) % len(a) or not b
for i, y in enumerate(b):
    x = a[i % len(a)]
    x = x if isinstance(x, dict) else {"ids": x}
    for key in ("ids", "offsets"):
        if key in x and x[key] != y[key]:
            print("line %d: %s %s, expected %s" % (i + 1, key, y[key], x[key]), file=sys.stderr)
            bad = 1
sys.exit(bool(bad))
P
}
kept() { same "$cases/$name/got" got "$name"; }

for name in added-tokens-strip bracket-specials char-model control-chars-offsets; do case_of $name; golden hf.jsonl; done
case_of added-tokens-legacy
[ "$(grep -c '^{"ids":\[2,87,106,89,3\],' got)" -eq 6 ] || fail "$name: $(cat got)"
case_of added-token-normalized
[ "$(awk '{ printf "%s ", $2 }' got)" = "2 87 106 89 3 " ] || fail "$name: $(cat got)"

# What convert writes has the same tokens, in capitals too where they are found in normalized text.
cp "$cases/added-tokens-legacy/added/model.safetensors" "$work/added-token-normalized/model/"
for model in "$work"/added-tokens-legacy/*/ "$work/added-token-normalized/model"; do
    "$program" convert "$model" "$work/kept" > "$work/log" 2>&1 || fail "convert $model: $(cat "$work/log")"
    for m in "$model" "$work/kept"; do "$program" tokenize -m "$m" --json "the <new> <NEW>dog" "a<new2>"; done > "$work/two"
    [ "$(sed -n '1,2p' "$work/two")" = "$(sed -n '3,4p' "$work/two")" ] && [ "$(wc -l < "$work/two")" -eq 4 ] || fail "$model: not the same after convert"
    rm -rf "$work/kept"
done

case_of spm-user-symbols
golden spm.jsonl
case_of jieba-offsets
if grep -q 'there is none: make one' got; then echo "$name: skipped, no dictionary is installed"
else kept; fi

case_of prefixed-names
[ "$code" -eq 3 ] || fail "$name: exit $code"
[ "$(grep -c 'word_embeddings.weight: expected a tensor' got)" -eq 3 ] || fail "$name: $(cat got)"
case_of gamma-beta
[ "$(grep -c '"score": 0.0997.*"token_str": "\[UNK\]"' got)" -eq 2 ] || fail "$name: $(cat got)"
case_of pair-type-vocab-1
[ "$code" -ne 0 ] && holds got 'config.json: type_vocab_size: expected 2 for pairs of texts, got 1' && [ ! -e out ] || fail "$name: $(cat got)"
case_of json-bom
[ "$(grep -c 'byte order mark' got)" -eq 3 ] && [ "$(grep -c 'sed -i' got)" -eq 3 ] || fail "$name: $(cat got)"

# Files that made other versions read memory that is not theirs, grow without bound or crash: refused by name, or answered.
mkdir -p "$work/hostile" && cd "$work/hostile" || exit 1
hostile=$cases/hostile
spm() {     # spm NAME CODE PATTERN
    rm -rf model && mkdir model && cp "$hostile/spm_$1.model" model/spiece.model && cp "$hostile/tokenizer_config_for_spm.json" model/tokenizer_config.json
    expect "$2" "$3" "$program" tokenize -m model --json "the rivers of the sea"
}
if [ -d "$hostile" ]; then
    spm cm_zero 3 'spiece.model: SentencePiece model: normalizer_spec: precompiled_charsmap: expected the size of a trie'
    spm darts_far 3 'spiece.model: SentencePiece model: normalizer_spec: precompiled_charsmap: unit 0 of its trie'
    spm heap_read 3 'spiece.model: SentencePiece model: normalizer_spec: precompiled_charsmap: unit 353 of its trie'
    spm long_piece_150000 3 'spiece.model: SentencePiece model: pieces\[40\]: expected a text of less than 8,000 bytes'
    spm selftest_escape 0 ''
    rm -rf model && mkdir model && cp "$hostile/tokenizer_json_replace_bomb.json" model/tokenizer.json
    expect 3 'tokenizer.json: normalizer: its Replace' "$program" tokenize -m model "aaaaa"
    for type in bpe unigram; do
        for text in "$hostile"/*_train_*; do
            "$program" vocab --type $type --text "$text" -o learned --overwrite > log 2>&1
            code=$?
            [ $code -eq 0 ] || { [ $code -eq 3 ] && grep -q 'vocabulary: ' log; } || fail "$type of $text: exit $code, $(cat log)"
        done
    done
fi

# Scores of texts among which are empty ones are sacreBLEU's: number, signature but for the program.
case_of bleu-empty
scores() { sed -E 's/^ +//; s/\|program:[^ ]*//' "$1" | sort; }
[ "$(scores sacrebleu.txt)" = "$(scores got)" ] || fail "$name: $(scores got)"

# Lines of blanks end a sentence; comments are no words, or are refused by line where they have a word's columns.
case_of conll-blank-lines
[ "$(grep -c '^2 examples of .*, 2 to evaluate on' got)" -eq 3 ] || fail "$name: $(cat got)"
[ "$(grep 'labels' got | sort | uniq -c | awk '{ print $1, $2 }' | tr '\n' ' ')" = "2 3 1 4 " ] || fail "$name: $(cat got)"
case_of conll-comments
[ "$(grep -c '^3 labels: B-LOC, B-PER, O$' got)" -eq 1 ] && [ "$(grep -c '[.]conll:1: begins with "#"' got)" -eq 2 ] || fail "$name: $(cat got)"

# Tokens of the prompt count as written ones: transformers' ids.
case_of repetition-penalty
[ "$(sed -E 's/.*"ids": (\[[^]]*\]).*/\1/' got)" = "$(cat hf.txt)" ] || fail "$name: $(cat got)"

# A quote in a .tsv is a letter; the header of a .csv after a byte order mark is read; four answers below a header.
case_of tsv-quotes
[ "$(sed -n '6p' got)" = 5 ] && [ "$(grep -c '^loss  ' got)" -eq 2 ] && [ "$(wc -l < got)" -eq 7 ] || fail "$name: $(cat got)"

# All cases are above.
for folder in "$cases"/*/; do
    folder=$(basename "$folder")
    grep -qE "(begin|case_of|in|for name in) .*$folder|cases/$folder" "$here/cases.sh" || fail "$folder: is not tested"
done

done_testing
