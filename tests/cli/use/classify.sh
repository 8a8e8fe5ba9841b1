#!/bin/sh
# classify.sh — scores of classify are those of transformers' text-classification pipeline
# (tools/golden/golden_classify.py); if sentence-transformers' CrossEncoder would show other scores for a folder, a note
# says so.
. "$(dirname "$0")/../lib"
golden=$repository/tests/golden/classify
tab=$(printf '\t') note='the folder is a CrossEncoder of sentence-transformers'
printf 'text\tpair\nthe old city\ta small river\n' > pair.tsv

# close A B   rows of numbers, at most 2e-5 apart
close() {
    echo "$1" "$2" | awk '{ for (i = 1; i <= NF / 2; i++) { d = $i - $(i + NF / 2); if (NF % 2 || d > 2e-5 || d < -2e-5) exit 1 } }'
}
# scores of the labels in their order, of the line that classify printed
scores() { tr '{' '\n' < out | sed -n 's/^"label": "LABEL_\([0-9]*\)", "score": \([-+.e0-9]*\)}.*/\1 \2/p' | sort -n | cut -d ' ' -f 2 | paste -s -d ' ' -; }

build_folder() {        # build_folder MODEL MEMBERS SAVED
    rm -rf m && cp -r "$golden/models/$1" m && chmod -R u+w m
    [ "$2" = - ] || sed "s/^{/{$2,/" "$golden/models/$1/config.json" > m/config.json
    [ "$3" = - ] && return
    printf '%s\n' "$3" > m/config_sentence_transformers.json
    echo '[{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"}]' > m/modules.json
    echo '{"transformer_task": "sequence-classification", "module_output_name": "scores"}' > m/sentence_bert_config.json
}
cases=0
grep -v '^#' "$golden/cases.txt" > cases.txt
while IFS=$tab read -r name model members saved pipeline cross_encoder; do
    cases=$((cases + 1))
    build_folder "$model" "$members" "$saved"
    "$program" classify -m m --pair 'a small river' 'the old city' > out 2> err < /dev/null || fail "$name: $(cat err)"
    close "$(scores)" "$pipeline" || fail "$name: $(scores), expected $pipeline"
    case "$members$saved" in
    *sentence_transformers* | *sbert* | *CrossEncoder*)
        if close "$pipeline" "$cross_encoder"; then [ ! -s err ] || fail "$name: $(cat err)"; else
            grep -q "$note" err || fail "$name: no note"; fi ;;
    *) [ ! -s err ] || fail "$name: $(cat err)" ;;
    esac
done < cases.txt
[ "$cases" -ge 22 ] || fail "$cases cases"

# predict gives numbers, as the Trainer does, and says where CrossEncoder shows something else.
build_folder one - -
expect 0 '' "$program" predict -m m --input pair.tsv
close "$(sed -n 2p out)" "$(sed -n "s/^three.*//; s/^one-key-identity$tab.*$tab//p" cases.txt)" || fail "predict: $(cat out)"
build_folder one - '{"model_type": "CrossEncoder"}'
expect 0 "$note.* after Sigmoid; these are after Identity" "$program" predict -m m --input pair.tsv
build_folder one '"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"' -
expect 0 '' "$program" predict -m m --input pair.tsv

# A prompt that CrossEncoder puts before texts, and problem types that transformers refuses.
build_folder one - '{"model_type": "CrossEncoder", "prompts": {"query": "small "}, "default_prompt_name": "query"}'
expect 0 '' "$program" classify -q -m m 'the old city' && cp out prompted
build_folder one - '{"model_type": "CrossEncoder"}'
expect 0 '' "$program" classify -q -m m 'small the old city' && same prompted out "classify with a prompt"
build_folder one '"problem_type": "single_label_classification"' -
expect 3 'm/config.json: problem_type: expected regression or multi_label_classification for 1 output' "$program" classify -m m 'the old city'
build_folder three '"problem_type": "multilabel"' -
expect 3 'm/config.json: problem_type: expected regression, single_label_classification or' "$program" classify -m m 'the old city'

# Texts are cut where CrossEncoder cuts them.
build_folder one - '{"model_type": "CrossEncoder"}'
sed 's/"model_max_length": [0-9]*/"model_max_length": 8/' "$golden/models/one/tokenizer_config.json" > m/tokenizer_config.json
IFS=$tab read -r text pair score < "$golden/long.txt"
expect 0 '1 of 1 [a-z]* were longer than 8 tokens' "$program" classify -m m --pair "$pair" "$text"
close "$(scores)" "$score" || fail "long: $(scores), expected $score"

# Other commands keep what CrossEncoder reads.
build_folder one '"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}' '{"model_type": "CrossEncoder", "activation_fn": "torch.nn.modules.activation.Sigmoid"}'
expect 0 '' "$program" convert -q m converted
for file in modules.json sentence_bert_config.json config_sentence_transformers.json; do same m/$file converted/$file; done
holds converted/config.json '"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"}'
done_testing
