#!/bin/sh
# reranker.sh — a causal reranker as Qwen3-Reranker: its chat template places the query and the line, and the logits of
# two tokens are the score, as in CrossEncoder of sentence-transformers (tools/golden/golden_reranker.py).
. "$(dirname "$0")/../lib"
. "$here/family_lib"
golden=$repository/tests/golden/qwen3
copy reranker model
cp "$golden/whole/model.safetensors" "$golden/whole/tokenizer.json" model
cp "$golden/reranker/texts.txt" texts.txt

# scores_of FOLDER VARIANT [OPTION...]: in the order of the lines
scores_of() {
    folder=$1 variant=$2
    shift 2
    "$program" rank -q -m "$folder" --cross --json "$@" 'the river runs' texts.txt > ranks.jsonl || fail "rank: $variant"
    sed 's/.*"score": *\([^,}]*\).*"line": *\([0-9]*\).*/\2 \1/' ranks.jsonl | sort -n | sed 's/^[0-9]* /"score": /' > ours.txt
    grep "\"$variant\"" "$golden/reranker/scores.jsonl" | sed 's/.*\[//; s/\].*//; s/ //g' | tr ',' '\n' | sed 's/^/"score": /' > theirs.txt
    [ "$(wc -l < ours.txt)" = 4 ] || fail "$variant: $(wc -l < ours.txt) scores"
    close_json theirs.txt ours.txt
}
scores_of model usual
scores_of model cut --max-length 400
cp -r model prompt
sed 's/"prompts": {}/"prompts": {"near": "Find what is near"}/; s/"default_prompt_name": null/"default_prompt_name": "near"/' model/config_sentence_transformers.json > prompt/config_sentence_transformers.json
scores_of prompt prompt
cp -r model lone
sed 's/"false_token_id": 97/"false_token_id": null/' model/1_LogitScore/config.json > lone/1_LogitScore/config.json
scores_of lone lone
expect 0 '' "$program" rank -q -m model --cross --dtype int8 'the river runs' texts.txt

# What is converted is the causal model, with its modules and its template.
expect 0 'read back and compared' "$program" convert model written
scores_of written usual
expect 0 'read back and compared' "$program" convert --dtype bf16 model half
expect 0 '' "$program" rank -q -m half --cross 'the river runs' texts.txt

# As Qwen3-Reranker was published first: without modules and template.  It becomes a reranker on request only.
cp -r model plain
rm -r plain/modules.json plain/sentence_bert_config.json plain/config_sentence_transformers.json plain/1_LogitScore plain/chat_template.jinja
expect 3 'reranker qwen3: expected "yes" as a token' "$program" convert --reranker qwen3 plain made
[ ! -e made ] || fail "made was written"
added() { echo ", {\"id\": $2, \"content\": \"$1\", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, \"normalized\": false, \"special\": false}"; }
sed "/\"id\": 302/,/^ *\]/ s/^ *\]/$(added yes 303)$(added no 304)]/" model/tokenizer.json > plain/tokenizer.json
expect 3 'got one without such a head.*convert --reranker qwen3' "$program" rank -q -m plain --cross 'the river runs' texts.txt
expect 0 'read back and compared' "$program" convert --reranker qwen3 plain made
scores_of made plain
expect 0 '' "$program" generate -q -m plain --max-new-tokens 2 'the river runs'
expect 2 'reranker: expected qwen3, got "other"' "$program" convert --reranker other plain again
expect 3 'reranker: expected a folder without modules.json' "$program" convert --reranker qwen3 model again
expect 3 'reranker: expected a causal language model' "$program" convert --reranker qwen3 "$repository/models/roformer-small-en" again
cp -r plain bare && rm bare/tokenizer.json bare/tokenizer_config.json
expect 3 'reranker: expected a tokenizer, got none' "$program" convert --reranker qwen3 bare again
[ ! -e again ] || fail "again was written"

# What is refused, by name.
right=model refusing='rank -m broken --cross query texts.txt'
refused 1_LogitScore/config.json 's/"true_token_id": 83/"true_token_id": 320/' 'true_token_id: expected .* vocab_size, 320, got 320'
refused 1_LogitScore/config.json 's/"true_token_id": 83,//' 'true_token_id: expected .* vocab_size'
refused 1_LogitScore/config.json 's/causal_logits/scores/' 'module_input_name: expected causal_logits, got "scores"'
refused modules.json 's/"path": ""/"path": "0_Transformer"/' 'LogitScore: expected the modules Transformer, in the folder itself'
refused config.json 's/Qwen3ForCausalLM/Qwen3ForTokenClassification/' 'LogitScore: expected a causal language model'
refused chat_template.jinja 's/ | first }}<|im_end|>/ | last }}<|im_end|>/' 'chat_template.jinja: chat template: expected one that places a query and a document'
refused chat_template.jinja 's/<Instruct>/{% if x %}&{% endif %}/' 'chat_template.jinja: chat template: expected one that places'
rm broken/1_LogitScore/config.json
cp model/chat_template.jinja broken
expect 4 'expected the file of a module in modules.json' "$program" rank -m broken --cross 'the river runs' texts.txt
expect 3 'transformer_task: expected "feature-extraction", got "text-generation"' "$program" embed -m model texts.txt

# The template in tokenizer_config.json; that of chat_template.jinja takes precedence.
cp -r model inside && rm inside/chat_template.jinja
line=$(sed 's/\\/\\\\/g; s/"/\\"/g; s/$/\\n/' model/chat_template.jinja | tr -d '\n')
{ printf '{"chat_template": "%s",\n' "$line" && tail -n +2 model/tokenizer_config.json; } > inside/tokenizer_config.json
scores_of inside usual
done_testing
