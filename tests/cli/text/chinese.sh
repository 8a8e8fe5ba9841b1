#!/bin/sh
# chinese.sh — Chinese words from a dictionary with every command: compiled, named in the settings, rejected if it is
# another one, trained with and used.
. "$(dirname "$0")/../lib"
golden=$repository/tests/golden/text/jieba

# The folder: a vocabulary, the class, a dictionary of its own.
mkdir base
cp "$golden/vocab.txt" "$golden/tokenizer_config.json" base
expect 2 'dictionary: expected -o FILE' "$program" dictionary "$golden/dict.txt"
expect 2 'FILE' "$program" dictionary -o x.words
expect 4 'nowhere.txt' "$program" dictionary nowhere.txt -o x.words
printf 'word\n' > bad.txt
expect 3 'bad.txt:1: .*frequency' "$program" dictionary bad.txt -o x.words
[ ! -e x.words ] || fail "a dictionary was made although it was refused"
gzip -c "$golden/dict.txt" > packed.gz
expect 3 'packed.gz: expected plain text, got compressed data' "$program" dictionary packed.gz -o x.words
input=$golden/dict.txt expect 2 '-: expected a file, got standard input' "$program" dictionary - -o x.words
cp "$golden/dict.txt" mine.txt
expect 2 '--output: mine.txt .*input' "$program" dictionary "$golden/dict.txt" mine.txt -o mine.txt
same "$golden/dict.txt" mine.txt 'words that were named as output'
printf 'kept\n' > kept
expect 2 'kept: .*compiled dictionary' "$program" dictionary "$golden/dict.txt" -o kept
[ "$(cat kept)" = kept ] || fail "a file that is something else is gone"
if [ "$posix" ]; then
    mkfifo pipe
    expect 4 'pipe: not a file' "$program" dictionary "$golden/dict.txt" -o pipe
    [ -p pipe ] || fail "a pipe became a file"
fi
expect 0 'base/dictionary.words: compiled' "$program" dictionary "$golden/dict.txt" --name small -o base/dictionary.words
expect 0 '' "$program" tokenize -m base --json '今天天气非常好，我在北京大学'
holds out '"tokens":["[CLS]","今","天","天","气","非常","好","，","我","在","北京大学","[SEP]"]'
holds out '"offsets":[[0,0],[0,1],[1,2],[2,3],[3,4],[4,6],[6,7],[7,8],[8,9],[9,10],[10,14],[0,0]]'

# A trained model says which dictionary its ids depend on, and takes it along; another one is refused.
cat "$golden/dict.txt" bad.txt | head -46 > other.txt
echo '新词 100' >> other.txt
for i in 1 2 3 4 5 6 7 8; do
    for a in 今天 北京大学 学生 研究 我们; do
        for b in 天气非常好 在北京 活动中心 研究生命 的 [MASK]; do echo "$a$b，我$i的。"; echo; done
    done
done | sed 's/\[MASK\]//' > text.txt
tokens=$(wc -l < base/vocab.txt)
cat > small.json << EOC
{"model_type": "roformer", "vocab_size": $tokens, "embedding_size": 32, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
 "intermediate_size": 64, "max_position_embeddings": 64}
EOC
expect 0 'step 8/8' "$program" pretrain --model base --config small.json --text text.txt --tokens_per_batch 512 --max_steps 8 --save_steps 4 -o mlm
holds mlm/tokenizer_config.json '"name": "small"'
holds mlm/tokenizer_config.json '"tokenizer_class": "RoFormerTokenizer"'
same base/dictionary.words mlm/dictionary.words "the dictionary of the trained model"
same base/vocab.txt mlm/vocab.txt "the vocabulary of the trained model"
holds mlm/checksums.json dictionary.words
expect 0 '' "$program" verify mlm
expect 0 '' "$program" info -m mlm
holds out 'Chinese words by jieba'
expect 0 '' "$program" fill-mask -m mlm --top-k 3 '今天[MASK]非常好'
[ "$(grep -c '%' out)" -eq 3 ] || fail "fill-mask: $(cat out)"
expect 0 '' "$program" embed -m mlm -o v.npy text.txt
expect 0 '' "$program" dictionary -q other.txt --name other -o mlm/dictionary.words
expect 3 'expected the dictionary "small".*got "other"' "$program" fill-mask -m mlm '今天[MASK]'
head -c 100000 base/dictionary.words > mlm/dictionary.words
expect 3 'mlm/dictionary.words: .*compiled dictionary' "$program" tokenize -m mlm '今天'

# Full-width forms, emoji and joiners, other scripts: offsets are of characters; a line of 10^6 characters is one text.
expect 0 '' "$program" tokenize -m base --json 'Ｔ恤今天😀非常👨‍👩好 кот'
holds out '"offsets":[[0,0],[0,1],[1,2],[2,3],[3,4],[4,5],[5,7],[7,8],[9,10],[10,11],[12,13],[13,14],[14,15],[0,0]]'
awk 'BEGIN { for (i = 0; i < 250000; i++) printf "今天天气"; print "" }' > long.txt
input=long.txt expect 0 '' "$program" tokenize -m base --json
[ "$(wc -l < out)" -eq 1 ] || fail "a line of 10^6 characters: $(wc -l < out) lines"
printf '\275\361\314\354\314\354\306\370\n' > gb.txt
input=gb.txt expect 3 ':1: byte 1 .0xbd. .*UTF-8.*iconv -f GB18030 -t UTF-8' "$program" tokenize -m base

# A vocabulary of words is learned from text, and a model of characters takes it over.
expect 0 'tokens learned' "$program" vocab --lang zh --dictionary base/dictionary.words --text text.txt --size 45 -o words
[ "$(wc -l < words/vocab.txt)" -eq 45 ] || fail "vocab: $(wc -l < words/vocab.txt) tokens, 45 were asked for"
same base/dictionary.words words/dictionary.words "the dictionary of the vocabulary"
expect 0 'no more words that occur 2 times' "$program" vocab --lang zh --dictionary base/dictionary.words --text text.txt --size 80 --base base/vocab.txt -o based
holds based/vocab.txt 北京大学
expect 2 '--lang zh, --type: .*--type jieba' "$program" vocab --lang zh --type chars --text text.txt -o x
expect 2 '--base: has no effect with --type wordpiece; leave it out' "$program" vocab --base base/vocab.txt --text text.txt -o x
expect 4 'nowhere.words' "$program" vocab --lang zh --dictionary nowhere.words --text text.txt -o x
[ ! -e x ] || fail "a folder was left behind"
rm mlm/dictionary.words && cp base/dictionary.words mlm/dictionary.words

# Triples that lack something are named by their line.
triple() { # MESSAGE SECOND LINE
    printf '{"text": "今天", "choices": ["天气", "我"], "label": 0}\n%s\n' "$2" > bad.json
    expect 3 "bad.json:2: $1" "$program" finetune -q --model mlm --task mc --train bad.json --dev bad.json -o tuned
    [ ! -e tuned ] || fail "a folder was left behind: $2"
}
triple '' '{"choices": ["天气", "我"], "label": 0}'
triple 'no list of choices' '{"text": "今天", "label": 0}'
triple 'choice 2: expected a string' '{"text": "今天", "choices": ["天气", null], "label": 0}'
triple 'label: expected the index of a choice' '{"text": "今天", "choices": ["天气", "我"], "label": 2}'
triple 'label: expected the index of a choice' '{"text": "今天", "choices": ["天气", "我"]}'

expect 0 'read back' "$program" convert mlm more --extend-vocab words
holds out 'tokens keep their vectors'
expect 0 '' "$program" fill-mask -m more --top-k 3 '今天[MASK]非常好'
expect 4 'nowhere' "$program" convert mlm other --extend-vocab nowhere
[ ! -e other ] || fail "a folder was left behind"
# Pairs that mean the like, whole words of which are masked.
printf 'text\tpair\n今天天气非常好\t天气今天非常好\n我在北京大学\t北京大学的学生\n研究生命的学生\t学生研究生命\n' > alike.tsv
expect 0 'its head, and a new pooler' "$program" finetune --task sim --model mlm --train alike.tsv --batch_size 3 --max_steps 2 --source_mask_probability 1 -o alike
expect 0 '' "$program" generate -q -m alike -n 4 今天天气
done_testing
