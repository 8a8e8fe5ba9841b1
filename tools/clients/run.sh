#!/bin/sh
# run.sh PROGRAM [all|CLIENT...] — programs that others have written use `roformer serve`: each client of
# tools/clients/client_*.py in a virtual environment of its own with the packages of tools/clients/requirements,
# schemathesis on /openapi.json, promtool on /metrics, and curl.  Writes what ran, with its version.  Without names, the
# slow ones do not run.  Environments stay in ${CLIENTS:-build/clients} for the next time.
set -eu
cd "$(dirname "$0")/../.."
program=$(realpath "$1")
shift
python=${PYTHON:-python3}
kept=${CLIENTS:-build/clients}
mkdir -p "$kept"
kept=$(realpath "$kept")
work=$(mktemp -d "${TMPDIR:-/tmp}/roformer-clients-XXXXXX")
servers=
finish() {
    [ -z "$servers" ] || kill $servers 2> /dev/null || true
    wait
    rm -rf "$work"
}
trap finish EXIT
trap 'exit 1' HUP INT TERM
failures=0

# ---- models and servers ----------------------------------------------------------------------------------------------

. tests/cli/serve/serve_models
make_model=$(dirname "$program")/tests/make_model golden=$PWD/tests/golden
(cd "$work" && serve_models "$make_model" "$golden" && chat_model "$golden" && mv model masks && mv pairs rank)
printf 'text\tpair\nthe old city\tthe city is old\na red house\tthe house is red\n' > "$work/pairs.tsv"
"$program" finetune -q --task embed --train "$work/pairs.tsv" --batch_size 2 --dropout 0 --model "$work/masks" --pooling mean \
    --normalize --max_length 60 --max_steps 1 -o "$work/words"

# serve NAME [OPTION...]: a server of one model; its address in $address
serve() {
    name=$1
    shift
    : > "$work/$name.err"
    "$program" serve -m "$work/$name" --port 0 "$@" 2> "$work/$name.err" &
    servers="$servers $!"
    tries=0
    until grep -q loaded "$work/$name.err"; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || { cat "$work/$name.err" >&2; exit 1; }
        sleep 0.1
    done
    address=$(sed -n 's|.*listening on \(http://[0-9.:]*\).*|\1|p' "$work/$name.err")
}
serve words && export WORDS=$address
serve masks && export MASKS=$address
serve causal && export CAUSAL=$address
serve chat --any-model && export CHAT=$address
serve rank && export RANK=$address
serve labels && export LABELS=$address
for kind in token=tags span=answers sequence=nli; do
    mkdir "$work/${kind#*=}"
    cp "tests/golden/bert/${kind%=*}/config.json" "tests/golden/bert/${kind%=*}/model.safetensors" tests/golden/serving/vocab.txt tests/golden/serving/tokenizer_config.json "$work/${kind#*=}"
done
cp tests/golden/serving/nli/config.json "$work/nli"
serve tags && export TAGS=$address
serve answers && export ANSWERS=$address
serve nli && export NLI=$address
serve translate --languages en:de && export TRANSLATE=$address
export VECTORS="$work/vectors.jsonl"
PYTHONPATH=tools/clients "$python" -B -c 'import os; open(os.environ["VECTORS"], "w").close(); import lib; print("\n".join(lib.TEXTS))' |
    "$program" embed -q -m "$work/words" -f jsonl > "$work/vectors" && mv "$work/vectors" "$VECTORS"

# ---- clients ---------------------------------------------------------------------------------------------------------

report() {              # NAME VERSIONS STATUS
    if [ "$3" -eq 0 ]; then result=ok; else result=FAILED failures=$((failures + 1)); fi
    printf '%-20s %-7s %s\n' "$1" "$result" "$2"
}

# environment NAME: in $kept/NAME, with what requirements/NAME.txt says
environment() {
    wanted=tools/clients/requirements/$1.txt
    ! cmp -s "$wanted" "$kept/$1/whole" || return 0
    rm -rf "${kept:?}/$1"
    "$python" -m venv "$kept/$1"
    "$kept/$1/bin/pip" install -q --disable-pip-version-check -r "$wanted" > "$work/log" 2>&1 || { tail -20 "$work/log" >&2; return 1; }
    cp "$wanted" "$kept/$1/whole"
}

versions() { sed 's/==/ /' "tools/clients/requirements/$1.txt" | paste -s -d , - | sed 's/,/, /g'; }

in_python() {           # NAME
    environment "$1"
    code=0
    PYTHONPATH=tools/clients "$kept/$1/bin/python" -B "tools/clients/client_$1.py" > "$work/log" 2>&1 || { code=1; tail -15 "$work/log" >&2; }
    report "$1" "$(versions "$1")" $code
}

curl() {
    code=0
    [ "$(command curl -sf "$WORDS/embed" -H 'Content-Type: application/json' -d '{"inputs":"a"}' | cut -c 1-2)" = '[[' ] || code=1
    command curl -sf "$TRANSLATE/translate" -d q='one two three' -d source=en -d target=de | grep -q '"four three two"' || code=1
    command curl -sf -T README.md "$WORDS/embed" > /dev/null && code=1
    head -c 9000000 /dev/zero > "$work/large"
    for expect in 'Expect:' 'Expect: 100-continue'; do
        [ "$(command curl -s -o /dev/null -w '%{http_code}' -H "$expect" --data-binary "@$work/large" "$WORDS/embed")" = 413 ] || code=1
    done
    report curl "$(command curl --version | sed 1q | cut -d' ' -f 1-2)" $code
}

# Requests that schemathesis makes from the description of every route, valid and invalid ones.
schemathesis() {
    environment schemathesis
    code=0
    for url in "$WORDS" "$MASKS" "$CAUSAL" "$CHAT" "$RANK" "$LABELS" "$TRANSLATE"; do
        (cd "$work" && "$kept/schemathesis/bin/schemathesis" run "$url/openapi.json" --max-examples $examples --seed 1 --generation-database none \
            --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,unsupported_method \
            > log 2>&1) || { code=1; tail -40 "$work/log" >&2; }
    done
    report schemathesis "$(versions schemathesis)" $code
}

# Debian's package, without installing its daemon.  Names of text-embeddings-inference are not as promtool would have them.
promtool() {
    code=0
    if [ ! -x "$kept/prometheus/usr/bin/promtool" ]; then
        (cd "$work" && { apt-get download prometheus || { apt-get update && apt-get download prometheus; }; } > log 2>&1 && dpkg -x prometheus_*.deb "$kept/prometheus") || { cat "$work/log" >&2; return 1; }
    fi
    command curl -sf "$WORDS/metrics" | "$kept/prometheus/usr/bin/promtool" check metrics > "$work/log" 2>&1 || [ $? -eq 3 ] || code=1
    ! grep -v '^te_' "$work/log" || code=1
    report promtool "$("$kept/prometheus/usr/bin/promtool" --version 2>&1 | sed -n '1s/ (.*//p')" $code
}

usual="curl promtool openai huggingface_hub langchain cohere libretranslatepy llama_index openapi schemathesis"
examples=10
[ $# -gt 0 ] || set -- $usual
[ "$1" != all ] || { set -- $usual litellm haystack; examples=50; }
for client; do
    case $client in
        curl | promtool | schemathesis) $client ;;
        *) in_python "$client" ;;
    esac
done
[ "$failures" -eq 0 ] || { echo "clients: $failures failed" >&2; exit 1; }
