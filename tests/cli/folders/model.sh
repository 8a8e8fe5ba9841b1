#!/bin/sh
# model.sh — broken model folders: exit 3 and the name of the broken part; a file that shrinks while it is mapped: exit
# 4 (P6).
. "$(dirname "$0")/../lib"
"$make_model" good || exit 1
fresh() { rm -rf model; cp -r good model; }

fresh; printf '{' > model/config.json
expect 3 'config.json' "$program" fill-mask -m model '[MASK]'
fresh; sed 's/"num_attention_heads": 4/"num_attention_heads": 5/' good/config.json > model/config.json
expect 3 'num_attention_heads' "$program" fill-mask -m model '[MASK]'
fresh; sed 's/"hidden_size": 32/"hidden_size": "wide"/' good/config.json > model/config.json
expect 3 'hidden_size' "$program" fill-mask -m model '[MASK]'
fresh; sed 's/"model_type": "roformer"/"model_type": "bloom"/' good/config.json > model/config.json
expect 3 'model_type: expected one of roformer, bert, .* more, got "bloom"' "$program" fill-mask -m model '[MASK]'
rm -rf model; cp -r "$repository/tests/golden/sentences/models/bert" model; chmod -R u+w model      # a BERT that does not say so
echo x | "$program" embed -q -m model -f f32 > expected || fail "a BERT"
sed -i '/"model_type"/d' model/config.json
echo x | "$program" embed -q -m model -f f32 > got && same expected got "a BertModel without model_type"
sed -i '/"architectures"/,/]/d' model/config.json
expect 3 'position_embeddings.weight: expected no learned positions for a RoFormer' "$program" embed -q -m model
fresh; sed 's/"intermediate_size": 64/"intermediate_size": 96/' good/config.json > model/config.json
expect 3 'intermediate' "$program" fill-mask -m model '[MASK]'
fresh; head -c 4000 good/model.safetensors > model/model.safetensors
expect 3 'model.safetensors' "$program" fill-mask -m model '[MASK]'
fresh; : > model/model.safetensors
expect 3 'model.safetensors' "$program" fill-mask -m model '[MASK]'
fresh; printf '\377\377\377\377\377\377\377\377{}' > model/model.safetensors
expect 3 'model.safetensors' "$program" fill-mask -m model '[MASK]'
fresh; rm model/model.safetensors
expect 4 'model.safetensors' "$program" fill-mask -m model '[MASK]'
expect 0 'no weights: model: expected weights' "$program" info -m model
fresh; : > model/vocab.txt
expect 3 'vocab.txt' "$program" tokenize -m model x
fresh; grep -v 'MASK' good/vocab.txt > model/vocab.txt
expect 3 '\[MASK\]' "$program" fill-mask -m model '[MASK]'
fresh; printf 'x\377\n' >> model/vocab.txt
expect 3 'vocab.txt' "$program" tokenize -m model x
[ "$(ls model | wc -l)" -eq "$(ls good | wc -l)" ] || fail "files were made or lost"

# A folder with nothing but tokenizer.json has a tokenizer; one of another kind is said to be so.
fresh
{
    printf '{"normalizer": {"type": "BertNormalizer", "lowercase": true}, "pre_tokenizer": {"type": "BertPreTokenizer"}, "model": '
    printf '{"type": "WordPiece", "vocab": {'
    sed 's/["\\]/\\&/g' good/vocab.txt | awk '{ printf "%s\"%s\": %d", (NR > 1 ? ", " : ""), $0, NR - 1 }'
    printf '}}}'
} > model/tokenizer.json
rm model/vocab.txt model/tokenizer_config.json
expect 0 '' "$program" info -m model --json
holds out '"kind": "WordPiece (BERT)"'
holds out "\"tokens\": $(wc -l < good/vocab.txt)"
expect 0 '' "$program" info model
grep -q '^tokenizer.*null' out && fail "tokenizer.json is not seen: $(cat out)"
echo '{"model": {"type": "Words", "vocab": {}}}' > model/tokenizer.json
expect 0 '' "$program" info -m model --json
holds out '"not readable": "'
rm model/tokenizer.json
expect 0 '' "$program" info -m model --json
holds out '"tokenizer": null'

# Without a head, its parameters are not counted; a buffer of integers, which is first in the file, says nothing of the weights.
mkdir bare && cp "$repository"/tests/golden/sentences/models/bert/config.json bare
python3 - "$repository/tests/golden/sentences/models/bert/model.safetensors" bare/model.safetensors <<'END' || fail "no Python"
import json, struct, sys
data = open(sys.argv[1], "rb").read()
n = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + n])
header = {k: v if k == "__metadata__" else dict(v, data_offsets=[x + 64 for x in v["data_offsets"]]) for k, v in header.items()}
header["embeddings.position_ids"] = {"dtype": "I64", "shape": [1, 8], "data_offsets": [0, 64]}
header = json.dumps(header).encode()
header += b" " * (-len(header) % 8)
open(sys.argv[2], "wb").write(struct.pack("<Q", len(header)) + header + bytes(64) + data[8 + n:])
END
expect 0 '' "$program" info -m bare --json
python3 - <<'END' || fail "info of a model without a head: $(grep -E '"(parameters|type)"' out)"
import json, math
about = json.load(open("out"))
there = sum(math.prod(t["shape"]) for t in about["tensors"] if "pooler" not in t["name"] and t["type"] != "I64")
assert about["config"]["parameters"] == there and about["weights"]["type"] == "F32" and about["tensors"][0]["type"] == "I64", about
END

# The table of tensors, for people and for programs.
expect 0 '' "$program" info -m good --tensors
cp out by_option
expect 0 '' "$program" info good --tensors
same by_option out "info DIR"
expect 2 'DIR, --model: expected one of them, got both' "$program" info good -m good
holds by_option 'roformer.embeddings.word_embeddings.weight'
holds by_option 'score(m,n) = <R(m) q_m, R(n) k_n>'
expect 0 '' "$program" info -m good --json
holds out '"parameters"'
holds out '"shift_invariant": true'
holds out '"shape": ['
expect 0 '' "$program" info --env
# Every unit that this kind of processor may have is named, with what becomes of it.
case $(uname -m) in x86_64) units="avx2 fma avx512_vnni avx512_bf16 amx_tile" ;; *) units="asimd i8mm" ;; esac
[ "$posix" ] || units=
for unit in $units; do
    line=$(sed -n "s/^  $unit  *//p" out)
    if grep -qE "^(flags|Features).* $unit( |\$)" /proc/cpuinfo; then
        case $line in 'used ('* | 'not used: '*) ;; *) fail "$unit: $line" ;; esac
    else
        case $line in 'not there' | 'not there: needs '*) ;; *) fail "$unit: $line" ;; esac
    fi
done
# Tiles that cannot be had: what is missing, and this processor's best rung (the last of `rungs` that is not emulated,
# whatever T_ISA says); emulated ones can be had everywhere.
if [ "$(uname -m)" = x86_64 ] && missing=$(sed -n 's/^  amx  *needs //p' out) && [ -n "$missing" ]; then
    rung=$(sed -n 's/^rungs  *//p' out | tr ' ' '\n' | grep -v emulated | tail -n 1)
    expect 2 "isa: \"amx\": expected a processor with $missing" "$program" --isa amx info --env
    holds err "the best instruction set here is \"$rung\""
fi
expect 0 '' "$program" --isa amx_emulated info --env
grep -qE '^rung +amx_emulated$' out || fail "no emulated rung: $(cat out)"
grep -qE '^  amx_[a-z0-9]+ +used' out && fail "tiles are used where they are emulated"
expect 0 '' "$program" --isa ref info --env
grep -qE '^  [a-z0-9_]+ +used \(' out && fail "units are used on the rung ref"
holds out 'rungs'
rm -rf bare && mkdir bare
expect 4 'bare/config.json' "$program" info -m bare
[ ! -s out ] || fail "info prints before it fails: $(cat out)"

[ "$posix" ] || done_testing                            # Windows cuts no file that is mapped

# The file is cut while the program waits for a line.
fresh
mkfifo to
"$program" embed -m model --format f32 < to > out 2> err &
pid=$!
exec 3> to
if [ -r /proc/self/maps ]; then await grep -q model.safetensors "/proc/$pid/maps"; else sleep 1; fi
: > model/model.safetensors
printf 'the city of paris\n' >&3
exec 3>&-
wait $pid
code=$?
case $code in
4) grep -qE 'model.safetensors: file was truncated while in use' err || fail "truncated: $(cat err)" ;;
0) fail "the cut file went unnoticed" ;;
*) fail "exit $code on a cut file: $(cat err)" ;;
esac
done_testing
