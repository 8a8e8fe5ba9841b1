#!/bin/sh
# t5.sh — T5's folders with their tokenizer: texts as transformers generates them, vectors as sentence-transformers
# computes them; what is written, trained and refused.
. "$(dirname "$0")/../lib"
. "$here/family_lib"
golden=$repository/tests/golden/t5
copy whole model
copy sentences vectors

# answers FOLDER   the texts of answers.jsonl, greedily and with beams; sources are not cut at model_max_length
answers() {
    sed 's/.*"translation": //; s/}$//' "$golden/whole/answers.jsonl" > theirs.txt
    for beams in 1 4; do
        grep "\"beams\": $beams" "$golden/whole/answers.jsonl" | sed 's/{"text": "\([^"]*\)".*/\1/' |
            "$program" translate -q -m "$1" --num_beams $beams --no_repeat_ngram_size 1 -n 10 --json > beams.$beams || fail "$1: translate"
    done
    paste -d '\n' beams.1 beams.4 | python3 -c 'import json, sys; [print(json.dumps(json.loads(line)["translation"])) for line in sys.stdin]' > ours.txt
    same theirs.txt ours.txt "texts of $1"
}
answers model

# Tasks of config.json, as generate with their settings; options take precedence.
for task in summarization translation_en_to_de; do
    grep "$task" "$golden/whole/tasks.jsonl" | sed 's/.*"ids": //; s/}$//; s/ //g' > theirs.txt
    grep "$task" "$golden/whole/tasks.jsonl" | sed 's/.*"text": "//; s/", "ids.*//' |
        "$program" translate -q -m model --task $task --json | sed 's/.*"ids": \(\[[0-9, ]*\]\).*/\1/; s/ //g' > ours.txt
    same theirs.txt ours.txt "texts of $task"
done
expect 0 '' "$program" translate -q -m model --task translation_en_to_de --num_beams 1 -n 3 --json x
cp out with.txt
expect 0 '' "$program" translate -q -m model -n 3 --json 'translate English to German: x'
same with.txt out "a prefix that is typed"
expect 0 '' "$program" translate -q -m model -n 3 --json --source_prefix 'translate English to German: ' x
same with.txt out "a prefix that is an option"
echo 'a river' > target.txt
expect 0 '' "$program" translate -q -m model --task summarization --score target.txt x
cp out with.txt
expect 0 '' "$program" translate -q -m model --score target.txt 'summarize: x'
same with.txt out "a score with a prefix"
expect 3 'task_specific_params: expected .* translation_en_to_de, got "other"' "$program" translate -m model --task other x
expect 2 'source_prefix: expected RF_LONG_REFUSE with it' "$program" translate -m model --source_prefix 'a ' --long_source split x
expect 0 'read back and compared' "$program" convert model written
answers written
cmp model/model.safetensors written/model.safetensors || fail "other weights"
holds written/config.json '"feed_forward_proj": "relu"'
holds written/config.json '"num_decoder_layers": 2'
grep -E 'decoder_attention_heads|query_pre_attn_scalar|normalize_before|hidden_size' written/config.json && fail "keys that T5Config does not have"
for type in bf16 int8; do expect 0 '' "$program" translate -q -m model --dtype $type -n 4 'the sea'; done
expect 0 '' "$program" convert -q --dtype bf16 model half
expect 0 '' "$program" translate -q -m half -n 4 'the sea'
expect 0 "" "$program" convert -q --dtype int8 model small
expect 0 '' "$program" translate -q -m small --dtype int8 -n 4 'the sea'
expect 0 '' "$program" info small
grep -qE 'matrices_in_int8 +32$' out || fail "both sides: $(grep int8 out)"
expect 0 '' "$program" info model
grep -qE 'ignored +nothing' out || fail "$(grep ignored out)"
grep -qE 'decoder_heads +2$' out || fail "$(grep decoder out)"

# A matrix of logits is the file's, whatever config.json says.
for name in own_head saved_by_5; do
    expect 0 'read back and compared' "$program" convert "$golden/$name" $name
    holds $name/config.json '"tie_word_embeddings": false'
    holds $name/config.json '"scale_decoder_outputs": false'
    "$program" info $name --tensors | grep -q lm_head.weight || fail "$name: no matrix of logits"
done

# Vectors, with and without the prompt; of a translator those of its encoder.
for name in vectors query; do
    more=
    [ $name = vectors ] || more='--prompt-name query'
    # shellcheck disable=SC2086
    "$program" embed -q -m vectors $more --format jsonl "$golden/sentences/texts.txt" > $name.jsonl || fail "embed"
    close_numbers "$golden/sentences/$name.jsonl" $name.jsonl
done
expect 0 'read back and compared' "$program" convert vectors other
"$program" embed -q -m other --format jsonl "$golden/sentences/texts.txt" > other.jsonl || fail "embed"
same vectors.jsonl other.jsonl "vectors of a converted folder"
holds other/config.json '"T5EncoderModel"'
holds other/config.json '"is_encoder_decoder": false'
expect 0 '' "$program" index -q -m vectors -o made.index "$golden/sentences/texts.txt"
expect 0 '' "$program" search -q -m vectors made.index river
expect 0 '' "$program" embed -q -m model --pooling mean -o states.npy "$golden/sentences/texts.txt"
expect 3 'expected an encoder-decoder model' "$program" translate -m vectors river

# Training goes on: pairs of texts, and vectors.
sed 's/^/translate: /' "$golden/sentences/texts.txt" > from.txt
expect 0 'starting from the weights' "$program" train-translation --model model --source from.txt --target "$golden/sentences/texts.txt" -o tuned --max_steps 4 --max_tokens 200 --max_length 64
expect 0 '' "$program" info tuned
grep -qE 'family +t5$' out || fail "$(grep family out)"
holds tuned/config.json '"T5ForConditionalGeneration"'
expect 0 '' "$program" translate -q -m tuned -n 4 'the sea'
printf 'text\tpair\tscore\nthe red house\tthe house\t1\nan old river\ta sea\t0\n' > pairs.tsv
rm -r vectors/2_Dense
python3 - << 'end' || fail "modules.json"
import json
rows = [m for m in json.load(open("other/modules.json")) if "Dense" not in m["type"]]
json.dump([dict(m, idx=i, name=str(i)) for i, m in enumerate(rows)], open("vectors/modules.json", "w"))
end
expect 0 'step 2/2' "$program" finetune --task embed --train pairs.tsv -m vectors -o nearer --max_steps 2
expect 0 '' "$program" embed -q -m nearer -o nearer.npy "$golden/sentences/texts.txt"
expect 0 '' "$program" info nearer
holds out 'T5EncoderModel'

# An encoder for vectors begins with that of a translator.
expect 0 'step 2/2' "$program" finetune --task embed --train pairs.tsv -m model -o encoder --max_steps 2
holds encoder/config.json '"T5EncoderModel"'
"$program" info encoder --tensors | grep decoder && fail "tensors of a decoder"
expect 0 '' "$program" embed -q -m encoder -o encoder.npy "$golden/sentences/texts.txt"

# Heads for labels and answers: what finetune makes of a translator and of an encoder, named as transformers names it.
printf 'text\tlabel\nthe red house\tgood\nan old river\tbad\n' > train.tsv
expect 0 'step 20/20' "$program" finetune --task cls --train train.tsv -m model -o labels --max_steps 20 --learning_rate 0.01
holds labels/config.json '"T5ForSequenceClassification"'
"$program" info labels --tensors | grep -q 'transformer.decoder.block.1.layer.2.DenseReluDense.wi.weight' || fail "names of a classifier"
[ "$("$program" classify -q -m labels -k 1 'the red house' 'an old river' | tr -d '\n' | sed 's/[^gb]*"label": "\([a-z]*\)"[^[]*/\1 /g')" = 'good bad ' ] ||
    fail "labels: $("$program" classify -q -m labels 'the red house' 'an old river')"
expect 0 '' "$program" evaluate -m labels --dev train.tsv
expect 0 'read back and compared' "$program" convert labels labels-again
cmp labels/model.safetensors labels-again/model.safetensors || fail "other weights of a classifier"
printf '{"tokens": ["the", "old", "river"], "tags": ["O", "O", "B-X"]}\n{"tokens": ["a", "house"], "tags": ["O", "B-X"]}\n' > tags.jsonl
expect 0 'step 4/4' "$program" finetune --task tag --train tags.jsonl -m encoder -o tags --max_steps 4
holds tags/config.json '"T5ForTokenClassification"'
"$program" info tags --tensors | grep decoder && fail "a decoder of a tagger"
expect 0 '' "$program" predict -m tags --input tags.jsonl
printf '{"question": "what is old ?", "context": "the old river", "answers": {"text": ["the old"], "answer_start": [0]}}\n' > answers.jsonl
expect 0 'step 4/4' "$program" finetune --task qa --train answers.jsonl -m model -o answers --max_steps 4
holds answers/config.json '"T5ForQuestionAnswering"'
expect 0 '' "$program" predict -m answers --input answers.jsonl
# An encoder for vectors begins with a classifier's, too; its own vectors are those of the encoder.
expect 0 'step 2/2' "$program" finetune --task embed --train pairs.tsv -m labels -o from-labels --max_steps 2
expect 0 '' "$program" embed -q -m labels --pooling mean -o labels.npy "$golden/sentences/texts.txt"

right=model refusing='translate -m broken --task summarization x'
refused config.json 's/"max_length": 12/"max_length": "12"/' 'max_length: expected a whole number, got a string'
refused config.json 's/"prefix": "summarize: "/"prefix": 1/' 'task_specific_params: prefix: expected a string, got an integer'
refused config.json 's/"min_length": 9/"bad_words_ids": [[9]]/' 'bad_words_ids: expected none in a task, got .*; write it to generation_config.json'
refused config.json 's/"min_length": 9/"num_beam_groups": 2/' 'num_beam_groups: expected 1, got 2'
right=model refusing='translate -m broken x'
refused config.json 's/"feed_forward_proj": "relu"/"feed_forward_proj": "gated-elu"/; /"dense_act_fn"/d' 'feed_forward_proj: expected relu, gated-gelu, gated-silu or another known activation, got "gated-elu"'
refused config.json 's/"dense_act_fn": "relu"/"dense_act_fn": "elu"/' 'dense_act_fn: expected one of .*, got "elu"'
refused config.json 's/"relative_attention_max_distance": 9/"relative_attention_max_distance": 4/' 'expected at least 2 buckets, and a distance beyond 4'
refused config.json 's/"d_model": 24/"d_model": 24, "hidden_size": 23/' 'hidden_size: expected 24, as d_model says, got 23'
refused config.json 's/"is_decoder": false/"is_decoder": true/' 'is_decoder: expected false, got true'
refused config.json 's/"d_kv": 8/"d_kv": 6/' 'SelfAttention.q.weight: shape: expected .12,24. by config.json, got .16,24.'
done_testing
