#!/bin/sh
# cross.sh — rank --cross gives the scores and the order of sentence-transformers' CrossEncoder, with the activation in
# the folder's settings; models of other kinds are rejected.
. "$(dirname "$0")/../lib"
golden=$repository/tests/golden
printf '%s\n' 'to the sea' 'a small house?' '' 'hello world' 'the river runs to the sea and to the sea, to the sea' 'the river runs' > lines.txt

# model FAMILY ACTIVATION: a reranker with its tokenizer
model() {
    rm -rf model
    cp -r "$golden/$1/whole/pairs" model
    chmod -R u+w model
    case $1 in
    mpnet) cp "$golden/mpnet/whole/tokenizer.json" "$golden/mpnet/whole/tokenizer_config.json" model ;;
    deberta_v2) cp "$golden/deberta_v2/whole/spm.model" "$golden/deberta_v2/whole/tokenizer_config.json" model ;;
    *) cp "$golden/fast/xlmr.tokenizer.json" model/tokenizer.json ;;
    esac
    case $2 in
    none | prompt) key= ;;
    older) key='"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity",' ;;
    identity) key='"sentence_transformers": {"activation_fn": "torch.nn.modules.linear.Identity"},' ;;
    *) key='"sentence_transformers": {"activation_fn": "torch.nn.modules.activation.'$2'"},' ;;
    esac
    sed "s/^{/{ $key/" "$golden/$1/whole/pairs/config.json" > model/config.json
    [ "$2" = prompt ] || return 0
    echo '[{"path": "", "type": "sentence_transformers.base.modules.transformer.Transformer"}]' > model/modules.json
    echo '{"transformer_task": "sequence-classification", "module_output_name": "scores"}' > model/sentence_bert_config.json
    printf '{"model_type": "CrossEncoder", "prompts": {"near": "hello world, "}, "default_prompt_name": "near", %s}\n' \
        '"activation_fn": "torch.nn.modules.linear.Identity"' > model/config_sentence_transformers.json
}

# Line 3 is empty here, and was not there in the script.
for family in xlm_roberta mpnet deberta_v2; do
    for activation in none identity sigmoid older prompt; do
        case $activation in sigmoid) model $family Sigmoid ;; *) model $family $activation ;; esac
        expect 0 '' "$program" rank -q -m model --cross --json 'the river runs' lines.txt
        sed -n "s/.*\"model\": \"$family\", \"activation\": \"$activation\", \"line\": \([0-9]*\), \(\"score\": .*\), \"text\": \"\(.*\)\"}/\1 \2 \3/p" "$golden/cross/ranks.jsonl" |
            awk '{ $1 += $1 > 2; print }' > theirs.txt
        sed 's/.*"score": *\([-0-9.e]*\), *"line": *\([0-9]*\), *"text": *"\(.*\)"}/\2 "score": \1 \3/' out > ours.txt
        [ "$(wc -l < theirs.txt)" -eq 5 ] || fail "$family $activation: $(cat theirs.txt)"
        close_json theirs.txt ours.txt
        case $activation in none | prompt) continue ;; esac
        expect 2 'expected pairs of texts' "$program" classify -q -m model 'the river runs'
    done
done
expect 0 '' "$program" rank -q -m model --cross -k 1 'the river runs' lines.txt
[ "$(wc -l < out)" -eq 1 ] || fail "more than one line: $(cat out)"

# A default prompt is put before the first text of a pair, wherever pairs are read; of another class it is not read.
model mpnet prompt
printf 'text\tpair\nthe river runs\tto the sea\n' > pair.tsv
printf 'text\tpair\nhello world, the river runs\tto the sea\n' > prompted.tsv
expect 0 '' "$program" predict -q -m model --input pair.tsv && cp out with
expect 0 '' "$program" classify -q -m model --pair 'to the sea' 'the river runs' && cp out with-classify
sed 's/"CrossEncoder"/"SentenceTransformer"/' model/config_sentence_transformers.json > other && cp other model/config_sentence_transformers.json
expect 0 '' "$program" predict -q -m model --input prompted.tsv && same with out "predict with a prompt"
expect 0 '' "$program" classify -q -m model --pair 'to the sea' 'hello world, the river runs'
same with-classify out "classify with a prompt"
expect 0 '' "$program" predict -q -m model --input pair.tsv
cmp -s with out && fail "the prompt of another class was read"

# A score does not depend on the other lines.
for n in 1 2 4 5 6; do sed -n ${n}p lines.txt | "$program" rank -q -m model --cross --json 'the river runs'; done | sed 's/"line":[^,]*,//' | sort > alone.txt
"$program" rank -q -m model --cross --json 'the river runs' lines.txt | sed 's/"line":[^,]*,//' | sort > together.txt
same alone.txt together.txt "scores alone and together"

expect 2 'QUERY: expected a text, got an empty one' "$program" rank -m model --cross ' ' lines.txt
expect 2 '--cross, --pooling: expected one of them, got both' "$program" rank -m model --cross --pooling mean 'a' lines.txt
model mpnet ELU
expect 3 'activation_fn: .*Sigmoid, Identity.*ELU' "$program" rank -m model --cross 'a' lines.txt
cp -r "$golden/mpnet/whole" masked
expect 3 '--cross: expected a model that reads both texts at once' "$program" rank -m masked --cross 'a' lines.txt
rm -rf many && cp -r "$golden/mpnet/sequence" many && cp model/tokenizer* many
expect 3 'one output.*reranker.* 3' "$program" rank -m many --cross 'a' lines.txt
# The limit of pairs that sentence_bert_config.json states, and what would change tokens.
model xlm_roberta Sigmoid
expect 0 '' "$program" rank -q -m model --cross 'the river runs' lines.txt; cp out unlimited
printf '{"max_seq_length": 8}' > model/sentence_bert_config.json
expect 0 '' "$program" rank -q -m model --cross 'the river runs' lines.txt; cp out limited
cmp -s limited unlimited && fail "max_seq_length has no effect"
printf '{"processor_kwargs": {"model_max_length": 8}}' > model/sentence_bert_config.json
expect 0 '' "$program" rank -q -m model --cross 'the river runs' lines.txt; same limited out "scores of the same limit"
printf '{"processing_kwargs": {"text": {"max_length": 8}}}' > model/sentence_bert_config.json
expect 3 'sentence_bert_config.json: processing_kwargs' "$program" rank -m model --cross 'the river runs' lines.txt

done_testing
