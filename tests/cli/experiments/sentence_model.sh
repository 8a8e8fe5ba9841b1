#!/bin/sh
# sentence_model.sh — the training of the sentence model on some rows of each file: its pairs, the check that none is in
# the evaluation, vectors that reflect words, Spearman's correlation, BM25, and search by title; also models with
# doubled layers, and averages of two models.
. "$(dirname "$0")/../lib"
python=${PYTHON:-python3}
command -v "$python" > /dev/null && command -v zstd > /dev/null || { echo "SKIPPED: no $python or no zstd"; exit 0; }
export PYTHONDONTWRITEBYTECODE=1
sentences=$repository/experiments/sentence-model retrieval=$repository/experiments/retrieval
"$make_model" model || exit 1
glue=data/glue tatoeba=data/ende/tatoeba
mkdir -p $glue/STS-B $glue/MRPC $glue/QQP $glue/QNLI $glue/RTE data/sick $tatoeba data/multi30k text
for part in train dev; do
    {
        printf 'index\tgenre\tfile\tyear\told\ts1\ts2\tsentence1\tsentence2\tscore\n'
        printf '1\tg\tf\ty\to\ta\tb\tThe OLD city!\tthe red river\t3.0\n'
        printf '2\tg\tf\ty\to\ta\tb\tthe house\tthe king\t1.0\n3\tg\tf\ty\to\ta\tb\tthe dog\tthe dog\t5.0\n'
    } > $glue/STS-B/$part.tsv
    printf '\357\273\277Quality\t#1\t#2\tString\tString\n' > $glue/MRPC/$part.tsv
    printf '1\t5\t6\tA king reigns.\tThe king rules.\n' >> $glue/MRPC/$part.tsv
done
cp $glue/MRPC/dev.tsv $glue/MRPC/msr_paraphrase_test.txt
awk 'BEGIN { split("the old city,of the river,the red house,the blue river,a king", s, ",")
    for (i = 0; i < 20; i++) print "g\tf\ty\t1\t" (i % 6) "\t" s[1 + i % 5] "\t" s[1 + i * 3 % 5] }' \
    > $glue/STS-B/sts-test.tsv
for part in SICK_train SICK_trial SICK_test_annotated; do
    printf 'pair_ID\ta\tb\tscore\tjudgment\r\n1\ta dog\ta cat\t2.5\tNEUTRAL\r\n' > data/sick/$part.txt
    printf '2\tthe dog\tthe dog\t5\tN\r\n3\ta dog\tthe king\t1\tN\r\n' >> data/sick/$part.txt
done
awk 'BEGIN { print "Der Fluss.\nDer Fluss.\nDas Haus.\nDas Haus."; for (i = 0; i < 9000; i++) print "Satz Nummer " i }' |
    zstd -q > $tatoeba/train.de.zst
awk 'BEGIN { print "This is the river.\nThat is the river.\nThe old city?\nThe house."
    for (i = 0; i < 9000; i++) print "Tom goes to the old red city for the time number " i }' |
    zstd -q > $tatoeba/train.en.zst
awk 'BEGIN { for (i = 0; i < 16000; i++) print "a man on the river number " i }' | gzip > data/multi30k/train.en.gz
{
    printf '1\t2\t3\tIs it a river?\tIs that a river?\t1\n'
    printf '2\t2\t5\tIs it a river?\tIs it a house?\t0\n'
} | gzip > $glue/QQP/new_dev.tsv.gz
printf 'index\tquestion\tsentence\tlabel\n0\tWho is it?\tIt is the king.\tentailment\n' > $glue/QNLI/dev.tsv
printf 'index\ts\ts\tl\n0\tThe king lives.\tHe lives.\tentailment\n' > $glue/RTE/train.tsv
printf '1\tThe city is old.\tIt is old.\tentailment\n' > $glue/RTE/val.tsv
awk 'BEGIN { split("river city house king dog cat tree road song book", w); for (i = 1; i <= 10; i++) {
    print "<doc id=\"" i "\" title=\"The " w[i] "\">\nThe " w[i] "\n"
    print "The " w[i] " is old and red and blue and green and long and short, and it is seen here. The other one is not."
    print "A second part says what the first one of these did not say of what the old city had in it, by the river."
    print "</doc>" } }' > text/recent.txt
for part in AA AB AC; do cp text/recent.txt text/2015-$part.txt; done
expect 0 'pivot +1 pairs, 2 times; 1 left out' "$python" "$sentences/pairs.py" data text
cp out train.jsonl
"$python" "$sentences/pairs.py" data text 2> note > again; same train.jsonl again "the same bytes each time"
holds train.jsonl '"text": "Is it a river?", "pair": "Is that a river?", "negative": "Is it a house?"'
expect 0 '' "$python" "$sentences/check_pairs.py" data train.jsonl
pairs=$(awk '{ n += 1 + /"negative"/ } END { print n }' train.jsonl)
holds out "0 of $pairs pairs of training are evaluated on"
echo '{"text": "the red, RED river", "pair": "x", "negatives": ["y"]}' >> train.jsonl
echo '{"text": "The red river", "pair": "x", "negatives": ["y", "the Old city"]}' >> train.jsonl
expect 1 '' "$python" "$sentences/check_pairs.py" data train.jsonl
holds out 'evaluated on'; grep -q '^1 of' out || fail "one pair: $(tail -1 out)"

# y(t) has the texts' own vectors and their words: texts that share words are nearer than they were, and all have length 1.
for numeric in "$python" /usr/bin/python3 ''; do "$numeric" -c 'import numpy' 2> note && break; done
if [ "$numeric" ]; then
    head -400 again > some.jsonl
    expect 0 '' "$numeric" "$sentences/lexical.py" "$program" model some.jsonl texts
    expect 0 '' "$numeric" -c '
import json, numpy
y = numpy.load("texts.npy")
texts = [json.loads(line)["text"] for line in open("texts.jsonl")]
assert y.dtype == "float32" and y.shape[0] == len(texts) == len(set(texts)), y.shape
assert abs(numpy.linalg.norm(y, axis=1) - 1).max() < 1e-6
every = {" ".join(json.loads(line)[k].split()) for line in open("some.jsonl") for k in ("text", "pair")}
assert set(texts) == every'
    expect 0 '' env PYTHONPATH="$sentences" "$numeric" -c '
from lexical import stem
for a, b in (("river", "rivers"), ("stop", "stopped"), ("make", "making"), ("quick", "quickly"), ("singers", "singing")):
    assert stem(a) == stem(b), (a, stem(a), b, stem(b))'
    expect 0 '' env PYTHONPATH="$sentences" "$numeric" -c '
import random
from graded import Finite, negated
finite = Finite(["A man rides a bike.", "The old woman rides."] * 2)
for before, verb, behind in (("A man", "is", "standing on a ladder."), ("Two young girls", "are", "playing with a ball."),
                             ("A group of people", "is", "waiting"), ("A man in a red shirt", "is", "working."),
                             ("A man and woman", "are", "talking."), ("Children", "are", "swimming.")):
    assert finite(f"{before} {behind}") == f"{before} {verb} {behind}", finite(f"{before} {behind}")
for text in ("A man is standing on a ladder.", "A red building.", "The king reigns.", "A man rides a bike overlooking a city.",
             "A man wearing a hat rides a bike.", "Two men wearing hats ride bikes.", "A smiling woman", "A dog during lunch",
             "A boy in red and his dog playing", "A child swing in a garden", "Man standing"):
    assert finite(text) == text, finite(text)
denied = {negated("A man is standing on a ladder.", random.Random(seed)) for seed in range(20)}
assert denied == {"A man is not standing on a ladder.", "No man is standing on a ladder.",
                  "There is no man standing on a ladder."}, denied'
    "$numeric" "$sentences/lexical.py" "$program" model some.jsonl twice; same texts.npy twice.npy "the same vectors each time"
    expect 0 '' "$program" finetune -q --task embed --model model --train texts.jsonl --teacher texts.npy --loss cosine \
        --num_train_epochs 1 --per_device_train_batch_size 64 -o learned

    # Captions and two translations of each: every kind of pair, none of them evaluated on, the denied ones apart.
    mkdir -p fewer/multi30k
    ln -s ../data/glue ../data/sick ../data/ende fewer/
    awk 'BEGIN { split("man woman girl dog", who); split("house river tree road", what); split("red old blue", how)
        for (i = 0; i < 240; i++) {
            a = who[1 + i % 4]; b = how[1 + i % 3] " " what[1 + int(i / 4) % 4]
            print "A " a " sitting by the " b " in the city." > "captions.en"
            print "A " a " is sitting near the " b " of the city." > "captions"
            print (i % 5 ? "One " a " sits by a " b : "One xylophone by a " b) > "captions.drawn"
        } }'
    gzip -c captions.en > fewer/multi30k/train.en.gz
    "$numeric" "$sentences/graded.py" "$program" model fewer again captions captions.drawn > graded.jsonl 2> kinds ||
        fail "graded.py: $(cat kinds)"
    for kind in same near less negated exchanged0 exchanged1; do
        grep -q "^$kind  *[1-9][0-9]* pairs" kinds || fail "no pair that is $kind: $(cat kinds)"
    done
    grep -q xylophone graded.jsonl && fail "a translation with a word that no caption has"
    expect 0 '' "$python" "$sentences/check_pairs.py" fewer graded.jsonl
    holds out "0 of $(($(wc -l < graded.jsonl))) pairs of training are evaluated on"
    expect 0 '' "$python" -c '
import json, re
some = [json.loads(line) for line in open("graded.jsonl")]
assert all(-1 <= p["score"] <= 1 and p["text"] != p["pair"] for p in some)
denied = [p["score"] for p in some if re.search(r"\b(No|not|no)\b", p["pair"])]
assert denied and max(denied) <= 0.74, denied'
    "$numeric" "$sentences/graded.py" "$program" model fewer again captions captions.drawn 2> note |
        cmp - graded.jsonl || fail "other pairs the second time"
    expect 0 '' "$program" finetune -q --task embed --model model --train graded.jsonl --loss cosine \
        --num_train_epochs 1 --per_device_train_batch_size 64 -o graded
else
    echo "SKIPPED: no Python with NumPy: lexical.py was not run"
fi

# Spearman's correlation: ranks 1, 2.5, 2.5, 4 and 1, 3, 2, 4 have 4.5 / sqrt(4.5 5).
expect 0 '' env PYTHONPATH="$sentences" "$python" -c '
from evaluate import spearman
assert abs(spearman([1, 2, 2, 4], [1, 3, 2, 4]) - 4.5 / 22.5 ** 0.5) < 1e-15'
expect 0 '' "$python" "$sentences/evaluate.py" --dev data "$program" model
grep -q 'SICK train .* 3 pairs' out && ! grep -q test out || fail "rows that may choose: $(cat out)"
expect 0 '' "$python" "$sentences/evaluate.py" data "$program" model
grep -q 'STS-B test *20 pairs, Spearman -\{0,1\}0\.[0-9]\{4\}' out || fail "Spearman: $(cat out)"

expect 0 '' "$python" "$retrieval/bm25.py" --check "$retrieval/golden.json"
expect 0 '' "$python" "$retrieval/titles.py" text/recent.txt -m model --program "$program"
grep -qE "^whole articles +BM25 +1\.0000 +1\.0000 +1\.0000 +1\.0000$" out || fail "BM25 finds each title: $(cat out)"
grep -qE "^without the title's words +model +[01]\.[0-9]{4} +1\.0000" out || fail "ten articles, ten hits: $(cat out)"

# Twice the layers, the upper half as the lower one.
expect 0 '' "$python" "$repository/experiments/shipped-model/deeper.py" model deep
expect 0 '' "$python" -c '
import json, struct
def tensors(folder):
    with open(folder + "/model.safetensors", "rb") as f:
        header = json.loads(f.read(struct.unpack("<Q", f.read(8))[0]))
        data = f.read()
    return {k: (v["shape"], data[slice(*v["data_offsets"])]) for k, v in header.items() if k != "__metadata__"}
a, b = tensors("model"), tensors("deep")
n = json.load(open("model/config.json"))["num_hidden_layers"]
assert json.load(open("deep/config.json"))["num_hidden_layers"] == 2 * n
for name, tensor in b.items():
    part = name.split(".layer.")
    if len(part) == 2:
        i, rest = part[1].split(".", 1)
        name = f"{part[0]}.layer.{int(i) % n}.{rest}"
    assert a[name] == tensor, name
assert len(b) - len(a) == len([k for k in a if ".layer." in k])'
printf 'the old city\n' | "$program" embed -q -m deep > out 2>&1 || fail "a deeper model: $(cat out)"

# Between two models of opposite signs.  Each number is within half a bf16 of the printed sum.
mean=$repository/experiments/shipped-model/mean.py
"$program" convert -q --dtype bf16 model near > out 2>&1 || fail "bf16: $(cat out)"
cp -r near far
cat > tensors.py << 'END'
import json, struct
def tensors(folder):
    with open(folder + "/model.safetensors", "rb") as f:
        size = struct.unpack("<Q", f.read(8))[0]
        return json.loads(f.read(size)), 8 + size, f.read()
def numbers(data):
    return [struct.unpack("<f", b"\0\0" + data[i:i + 2])[0] for i in range(0, len(data), 2)]
END
"$python" -c '
from tensors import *
_, begin, data = tensors("far")
with open("far/model.safetensors", "r+b") as f:
    f.seek(begin)
    f.write(bytes(b ^ (0x80 if i % 2 else 0x15) for i, b in enumerate(data)))'
expect 0 '' "$python" "$mean" between near=0.25 far=0.75
expect 0 '' "$python" -c '
from tensors import *
header, _, near = tensors("near")
_, _, far = tensors("far")
same, _, between = tensors("between")
assert header == same and len(between) == len(near)
for a, b, m in zip(numbers(near), numbers(far), numbers(between)):
    assert abs(0.25 * a + 0.75 * b - m) <= 2 ** -7.99 * abs(m) + 1e-38, (a, b, m)
assert between != near and between != far'
printf 'the old city\n' | "$program" embed -q -m between > out 2>&1 || fail "a model between two: $(cat out)"
expect 1 'the sum 1' "$python" "$mean" no near=0.25 far=0.5
expect 1 'model: its tensors are not|model: not all' "$python" "$mean" no near=0.5 model=0.5
done_testing
