#!/bin/sh
# families.sh — every family except RoFormer with every command, starting from the config.json of its golden folder.
. "$(dirname "$0")/../lib"
golden=$repository/tests/golden
sentences 400 > text.txt
printf 'text\tlabel\n' > train.tsv
for n in 1 2 3 4 5 6; do printf 'the red house %s\tgood\nan old river %s\tbad\nthe sea\tplain\n' $n $n; done >> train.tsv
sed 's/good$/1.5/; s/bad$/-1/; s/plain$/0/' train.tsv > numbers.tsv
sed 's/good$/"a,b"/; s/bad$/b/; s/plain$/""/' train.tsv > many.tsv
printf '{"tokens": ["the", "red", "house"], "ner_tags": ["O", "B", "O"]}\n{"tokens": ["an", "old", "river"], "ner_tags": ["O", "O", "B"]}\n' > words.jsonl
printf '{"id": "1", "question": "which house?", "context": "the red house is old", "answers": {"text": ["red"], "answer_start": [4]}}\n' > questions.jsonl
printf '{"text": "the red", "choices": ["house", "river sea"], "label": 0}\n{"text": "an old", "choices": ["sea", "river"], "label": 1}\n' > choices.jsonl
"$program" vocab -q --text text.txt --size 120 -o base || exit 1
# MPNet's padding token is 1, and its second texts have type 0.
cp -r base base_pad_1
sed '1{h;d};2G' base/vocab.txt > base_pad_1/vocab.txt
echo '{"tokenizer_class": "MPNetTokenizer", "cls_token": "[CLS]", "sep_token": "[SEP]", "pad_token": "[PAD]", "mask_token": "[MASK]"}' > base_pad_1/tokenizer_config.json
small='--max_length 24 --tokens_per_batch 256 --logging-steps 10'

# of FOLDER: what info says of the family
of() { "$program" info -m "$1" --json | sed -n 's/^ *"family": "\(.*\)".*/\1/p'; }

families=$(sed -n 's/^RFF(\(.*\))$/\1/p' "$repository/src/model/families.def" | grep -vx roformer)
[ -n "$families" ] || fail "no family"
for family in $families; do
    [ -d "$golden/$family/masked" ] || continue         # causal ones, and those without words to predict, have scripts of their own
    # The vocabulary below is WordPiece's, which gives second texts type 1.
    sed 's/"type_vocab_size": 1/"type_vocab_size": 2/' "$golden/$family/masked/config.json" > $family.json
    from=base
    [ $family != mpnet ] || from=base_pad_1
    cp -r $from $family
    # shellcheck disable=SC2086
    expect 0 'held-out loss' "$program" pretrain --text text.txt --model $family --config $family.json $small --max_steps 12 --save_steps 6 --eval_steps 6 --eval_documents 10 --learning-rate 2e-3
    [ "$(of $family)" = $family ] || fail "the family of $family is $(of $family)"
    cp -r $from parts
    # shellcheck disable=SC2086
    expect 75 'continue with --resume' "$program" pretrain --text text.txt --model parts --config $family.json $small --max_steps 12 --save_steps 6 --eval_steps 6 --eval_documents 10 --learning-rate 2e-3 --stop_after 7
    expect 0 'step 12/12' "$program" pretrain --resume latest --model parts
    same $family/model.safetensors parts/model.safetensors "$family resumed"
    # shellcheck disable=SC2086
    expect 0 'starting from the weights' "$program" pretrain --text text.txt --model $family $small --max_steps 3 -o more
    [ "$(of more)" = $family ] || fail "the family of more is $(of more)"
    rm -rf parts more
    expect 0 '' "$program" fill-mask -m $family -k 3 'the [MASK] house'
    [ -s out ] || fail "$family: no answer"
    for pooling in cls mean max; do expect 0 '400 of 800 lines were longer than 8 tokens and were truncated \(--max-length\)' "$program" embed -m $family --max-length 8 --pooling $pooling -o $pooling.npy text.txt; done
    expect 0 '' "$program" evaluate -m $family --text text.txt --max_length 24 --eval_documents 10
    expect 0 '' "$program" info -m $family --tensors
    grep -q 'ignored *nothing' out || fail "$family: $(grep ignored out)"
    expect 0 '' "$program" verify $family
    expect 0 '' "$program" position-report -m $family --text text.txt --max_length 16

    for task in cls:train.tsv reg:numbers.tsv multilabel:many.tsv tag:words.jsonl qa:questions.jsonl mc:choices.jsonl; do
        file=${task#*:} task=${task%:*}
        expect 0 'step 4/4' "$program" finetune --task $task --train $file --dev $file -m $family -o $family-$task --max_steps 4 --save_steps 2 --max_length 24 --dropout 0.2 --per_device_train_batch_size 2
        [ "$(of $family-$task)" = $family ] || fail "the family of $family-$task is $(of $family-$task)"
        expect 0 'step 4/4' "$program" finetune --resume $family-$task/checkpoint-2 -o $family-$task
        expect 0 '' "$program" predict -m $family-$task --input $file -o answers
        expect 0 '' "$program" evaluate -m $family-$task --dev $file
    done
    expect 0 '' "$program" classify -m $family-cls 'the red house'
    case $family in mpnet|esm|nucleotide_transformer|gte|modernbert|gau_alpha|nezha|jina_bert|jina_bert_qk|esmc|neobert|eurobert|distilbert|albert|deberta_v2|deberta|xlnet|nomic_bert_v2)
        # shellcheck disable=SC2086
        expect 3 'objective clm: expected .* got (MPNet|ESM-2|Nucleotide Transformer|GTE|ModernBERT|GAU-alpha|NEZHA|JinaBERT|NeoBERT|EuroBERT|ESMC|DistilBERT|ALBERT|DeBERTa|DeBERTa-v2|XLNet|NomicBERT v2)' "$program" pretrain --text text.txt --model $family --config $family.json $small --objective clm --max_steps 3 -o causal
        continue ;;
    esac
    # shellcheck disable=SC2086
    expect 0 'step 3/3' "$program" pretrain --text text.txt --model $family --config $family.json $small --objective clm --max_steps 3 -o causal
    expect 0 '' "$program" generate -m causal -n 4 'the'
    rm -rf causal
done
done_testing
