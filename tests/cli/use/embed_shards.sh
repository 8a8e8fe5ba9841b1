#!/bin/sh
# embed_shards.sh — shards, parts and their merging: the bytes of one run, whatever is killed; what does not belong
# together is refused by name.
. "$(dirname "$0")/../lib"
"$make_model" model || exit 1
width=32

awk 'BEGIN { srand(3); split("the of and city river house red blue king dog", w)
    for (i = 0; i < 1000; i++) { s = "the"; n = int(rand() * 30); for (k = 0; k < n; k++) s = s " " w[1 + int(rand() * 10)]
        print s > "lines"; printf "{\"id\": \"k%d\", \"text\": \"%s\"}\n", i, s > "docs.jsonl"
        print s "\tk" i > "rows"; print ">k" i "\nMKV" substr("ACDEFGHIKLMNPQRSTVWY", 1 + i % 19) > "p.fasta" } }'
{ printf 'text\tid\n'; cat rows; } > docs.tsv
{ echo 'id,text'; sed 's/\(.*\)\t\(.*\)/\2,"\1"/' rows; } > docs.csv
"$program" embed -q -m model --id-field id -o whole.npy docs.jsonl || fail "one run"
"$program" embed -q -m model --id-field id -o whole.f32 docs.jsonl

shard() { where=$1; shift; "$program" embed -q -m model -o "$where" --resume "$@"; }
all_shards() { n=$1; shift; for r in $(seq 1 "$n"); do shard "$@" --shard "$r/$n" || fail "shard $r/$n: $*"; done; }

# Formats, numbers of shards, sizes of parts; files that are cut and files that are not.
compared() {
    expected=$1 n=$2
    shift 2
    rm -rf parts
    all_shards "$n" parts "$@"
    "$program" merge -q parts -o got.npy || fail "merge: $n $*"
    same "$expected" got.npy "$n shards of $*"
    for manifest in parts/part-*-of-*-*.json; do case $manifest in *-000000.json) ;; *) rm "$manifest" ;; esac; done
    all_shards "$n" parts "$@"                                      # from the end of the first part of each shard
    "$program" merge -q parts -o got.npy || fail "merge, resumed: $n $*"
    same "$expected" got.npy "$n shards of $*, resumed"
    [ ! -e "$expected.ids" ] || same "$expected.ids" got.npy.ids "ids of $n shards of $*"
}
for n in 1 2 7; do compared whole.npy $n --part-rows 64 --id-field id docs.jsonl; done
compared whole.npy 3 --part-rows 100000 --id-field id docs.tsv
compared whole.npy 3 --part-rows 64 --id-field id docs.csv
gzip -k lines && split -l 300 lines piece. && gzip piece.ab
"$program" embed -q -m model -o lines.npy lines
compared lines.npy 4 --part-rows 100 lines.gz
compared lines.npy 5 --part-rows 100 piece.aa piece.ab.gz piece.ac piece.ad
"$program" embed -q -m model --ids -o p.npy p.fasta
compared p.npy 2 --part-rows 300 --ids p.fasta
printf 'the city' > short && : > nothing
"$program" embed -q -m model -o short.npy nothing short nothing
compared short.npy 6 nothing short nothing
expect 0 'no .*records: csv, FASTA and compressed files are not cut' "$program" embed -m model -o gz --shard 2/2 lines.gz

# Every format of embed, and precisions that need the range of all rows.
all_shards 2 parts2 --part-rows 300 --id-field id docs.jsonl
for file in v.fbin v.i8bin v.u8bin v.faiss v.fvecs v.jsonl v.pgvector v.safetensors; do
    "$program" embed -q -m model --id-field id -o "one-$file" docs.jsonl || fail "$file"
    "$program" merge -q parts2 -o "$file" || fail "merge $file"
    same "one-$file" "$file"
    [ ! -e "one-$file.ranges.npy" ] || same "one-$file.ranges.npy" "$file.ranges.npy"
done
"$program" merge -q parts2 --format jsonl | cmp -s - v.jsonl || fail "merge to a pipe"

# What a kill leaves: files without a manifest, temporary files.  30 kills at random moments end with the same bytes.
rm -rf left && mkdir left && echo junk > left/part-00001-of-00008-000000.f32 && echo junk > left/part-00001-of-00008-000000.f32.tmp-abcdef
all_shards 8 left --part-rows 16 --id-field id docs.jsonl
[ -z "$(ls left | grep tmp)" ] || fail "temporary files are left: $(ls left | grep tmp)"
"$program" merge -q left -o got.npy && same whole.npy got.npy "after junk"
if [ "$posix" ]; then
    kills=0 round=0
    goal=${ROFORMER_KILLS:-30}
    while [ $kills -lt "$goal" ] && [ $round -lt 40 ]; do
        round=$((round + 1)) done=0
        rm -rf killed
        while [ $done -lt 8 ] && [ $kills -lt "$goal" ]; do
            done=0
            for r in 1 2 3 4 5 6 7 8; do
                "$program" embed -q -m model -o killed --resume --shard $r/8 --part-rows 8 --id-field id docs.jsonl 2> err &
                pid=$!
                sleep "$(awk -v seed=$((100 * round + 10 * kills + r)) 'BEGIN { srand(seed); printf "%.3f", 0.15 * rand() }')"
                kill -s KILL $pid 2> /dev/null
                wait $pid 2> /dev/null
                code=$?
                case $code in 137) kills=$((kills + 1)) ;; 0) done=$((done + 1)) ;; *) fail "after a kill: $(cat err)" ;; esac
            done
        done
        echo "$(ls killed | grep -c '[0-9].json') parts after $kills kills"
        all_shards 8 killed --part-rows 8 --id-field id docs.jsonl
        "$program" merge -q killed -o got.npy || fail "merge after kills"
        same whole.npy got.npy "after $kills kills"
        same whole.npy.ids got.npy.ids "ids after $kills kills"
        [ -z "$(ls killed | grep tmp)" ] || fail "temporary files are left: $(ls killed | grep tmp)"
    done
    echo "$kills kills in $round rounds"
    [ $kills -ge "$goal" ] || fail "only $kills kills"

    # SIGTERM keeps what has been computed, as a shorter part.
    for i in $(seq 1 40); do sed "s/\"k/\"$i-k/" docs.jsonl; done > long.jsonl
    "$program" embed -q -m model -o stopped --resume --id-field id long.jsonl 2> err &
    pid=$!
    await sh -c 'ls stopped 2> /dev/null | grep -q "f32[.]tmp"'
    kill -s TERM $pid
    wait $pid
    code=$?
    [ $code -eq 143 ] || fail "TERM: $code: $(cat err)"
    [ -e stopped/part-00001-of-00001-000000.json ] || fail "TERM lost what had been computed: $(ls stopped)"
    [ -z "$(ls stopped | grep tmp)" ] || fail "temporary files after TERM"
    shard stopped --id-field id long.jsonl || fail "after TERM"
    "$program" embed -q -m model --id-field id -o long.f32 long.jsonl && "$program" merge -q stopped -o got.f32 && same long.f32 got.f32 "after TERM"

    # A disk that is full: no part.
    expect 4 'File too large' sh -c "trap '' XFSZ; ulimit -f 64; exec '$program' embed -q -m model -o full --resume --id-field id docs.jsonl"
    [ -z "$(ls full | grep json | grep -v run.json)" ] && [ -z "$(ls full | grep tmp)" ] || fail "a part on a full disk: $(ls full)"
    shard full --id-field id docs.jsonl && "$program" merge -q full -o got.npy && same whole.npy got.npy "after a full disk"
fi

# Refusals, by name.
expect 2 '1 <= R <= N' "$program" embed -m model -o x --shard 9/8 docs.jsonl
expect 2 '1 <= R <= N' "$program" embed -m model -o x --shard 0/8 docs.jsonl
expect 2 '1 <= R <= N' "$program" embed -m model -o x --shard 1/8x docs.jsonl
expect 2 '--shard: expected files' "$program" embed -m model -o x --shard 1/8
expect 2 '--shard: expected files' "$program" embed -m model -o x --shard 1/8 -
expect 2 '--shard: expected -o DIR' "$program" embed -m model --shard 1/8 docs.jsonl
expect 2 'expected a folder' "$program" embed -m model -o lines --shard 1/8 docs.jsonl
expect 2 '--format: expected none with --shard' "$program" embed -m model -o x --shard 1/8 --format npy docs.jsonl
expect 2 '--part-rows: has no effect without' "$program" embed -m model -o x.npy --part-rows 8 docs.jsonl
[ ! -e x ] || [ -z "$(ls x)" ] || fail "refused, but not empty: $(ls x)"
expect 2 'expected no part of shard 1, got 2; --resume' "$program" embed -m model --id-field id -o parts2 --shard 1/2 docs.jsonl
expect 0 'parts2: shard 1 of 2 is complete' "$program" embed -m model --id-field id -o parts2 --shard 1/2 --resume docs.jsonl
other() { message=$1; shift; expect 3 "$message" "$program" embed -m "${model:-model}" --id-field id -o parts2 --resume "$@"; }
other 'shards: expected 2 as in parts2/run.json, got 3' --shard 1/3 docs.jsonl
other 'options.pooling: expected "mean" as in .*, got "cls"' --shard 1/2 --pooling cls docs.jsonl
other 'options.dtype: expected "f32" as in .*, got "bf16"' --shard 1/2 --dtype bf16 docs.jsonl
other 'input.text_field: expected "text"' --shard 1/2 --text-field id docs.jsonl
cp docs.jsonl second.jsonl
other 'files: expected 1, got 2' --shard 1/2 docs.jsonl second.jsonl
cp -r model changed && printf 'another\n' >> changed/vocab.txt
model=changed other 'model: expected "[0-9a-f]+" as in' --shard 1/2 docs.jsonl
cp docs.jsonl kept && sed -i 's/city/king/' docs.jsonl
other 'docs.jsonl: expected the [0-9]+ bytes with XXH3 .*: the file has changed' --shard 1/2 docs.jsonl
mv kept docs.jsonl
expect 4 'missing.jsonl: cannot open' "$program" embed -m model --id-field id -o parts2 --resume --shard 1/2 missing.jsonl

if [ "$posix" ] && command -v flock > /dev/null; then
    expect 75 'another process computes this shard' flock parts2/part-00001-of-00002.lock "$program" embed -m model --id-field id -o parts2 --resume --shard 1/2 docs.jsonl
fi

merging() { message=$1; expect 3 "$message" "$program" merge broken -o none.npy; [ -z "$(ls | grep '^none')" ] || fail "$message: $(ls | grep '^none')"; }
broken() { rm -rf broken; cp -r parts2 broken; }
broken; rm broken/part-00002-of-00002-*.json; merging 'shards, got none or not all of --shard 2/2 \(no part\)'
broken; rm broken/part-00001-of-00002-000001.json; merging '1/2 \(not finished\)'
broken; rm broken/part-00001-of-00002-000000.json; merging '1/2 \(a part is missing\)'
broken; rm broken/part-00001-of-00002-000000.f32
expect 4 'part-00001-of-00002-000000.f32: cannot open' "$program" merge broken -o none.npy
broken; printf 'x' >> broken/part-00001-of-00002-000000.f32; merging '000000.f32: expected 300 rows of 32 float32, got 38401 bytes'
broken; printf 'x' | dd of=broken/part-00002-of-00002-000000.f32 bs=1 seek=100 conv=notrunc 2> /dev/null; merging '00002-000000.f32: .*XXH3'
broken; sed -i '1s/k/K/' broken/part-00002-of-00002-000000.f32.ids; merging '000000.f32.ids: .*XXH3'
broken; sed -i 's/"at"/"x"/; s/"rows": 300/"rows": -1/' broken/part-00001-of-00002-000000.json; merging '000000.json: rows: '
broken; echo '{' > broken/part-00001-of-00002-000000.json; merging '000000.json: JSON: expected a manifest'
broken; sed -i 's/"model": "/"model": "x/' broken/part-00002-of-00002-000001.json; merging '00002-000001.json: model: expected .* as in .*, got "x'
broken; cp broken/part-00001-of-00002-000000.json broken/part-00001-of-00002-000001.json; merging 'was it renamed'
rm -rf mixed; all_shards 2 mixed --pooling max --part-rows 300 --id-field id docs.jsonl
broken; cp mixed/part-00002-* broken; merging 'options.pooling: expected .* as in .*; parts of two runs are not mixed'
rm -rf mixed; all_shards 3 mixed --part-rows 300 --id-field id docs.jsonl
broken; cp mixed/part-00003-* broken; merging 'shards: expected 2 as in '
mkdir none-there; expect 3 'expected parts' "$program" merge none-there -o none.npy; rmdir none-there
expect 4 'cannot open' "$program" merge nowhere -o none.npy

rm -rf mixed; shard mixed --shard 1/2 --isa ref --id-field id docs.jsonl; shard mixed --shard 2/2 --id-field id docs.jsonl
if grep -q '"isa": "ref"' mixed/part-00002-of-00002-000000.json; then echo "one rung alone"; else
    expect 0 'part-00001-of-00002-000000 was computed with the instruction set ref, part-00002' "$program" merge mixed -o mixed.npy
fi

# An id twice: within a part, and in two parts.
cat docs.jsonl docs.jsonl > twice.jsonl
expect 3 'twice.jsonl:1001: id: .*that of twice.jsonl:1' "$program" embed -m model --id-field id -o within --shard 1/1 twice.jsonl
all_shards 2 between --id-field id twice.jsonl
expect 3 'id: expected each once, got that of line 1 of part-00001-of-00002-000000.f32.ids again in line' "$program" merge between -o none.npy
# The line of a document in the second half of a file.
{ cat docs.jsonl; echo '{"id": "last"}'; } > bad.jsonl
for again in 1 2; do
    expect 3 'bad.jsonl:1001: "text": expected a string, got none' "$program" embed -m model --id-field id -o bad --resume --shard 2/2 --part-rows 10 bad.jsonl
done
[ -z "$(ls none* 2> /dev/null)" ] || fail "left: $(ls none*)"
done_testing
