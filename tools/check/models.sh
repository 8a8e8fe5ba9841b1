#!/bin/sh
# models.sh — pages with numbers of a shipped model name its weights: "`models/NAME` (sha256 `HEX`)", where HEX begins
# the hash of models/NAME/model.safetensors.  The pages of `needed` have such numbers.
set -eu
cd "$(dirname "$0")/../.."
bad=0
needed="README.zh.md docs/encoders-on-cpu.md docs/finetuning.md docs/numerics.md docs/python.md docs/rope.md docs/rope.zh.md \
docs/serving.md docs/training.md results/README.md results/chinese/README.md results/decay/README.md"
for page in README*.md docs/*.md docs/models/*.md docs/adding/*.md results/*.md results/*/README.md experiments/*.md; do
    text=$(tr '\n' ' ' < "$page" | tr -s ' ')
    named=$(printf '%s' "$text" | grep -oE '`models/[a-z-]+`[ ,(（，]*sha256 `[0-9a-f]+`' || true)
    case " $needed " in
    *" $page "*) [ -n "$named" ] || { echo "$page: numbers of a shipped model: expected \`models/NAME\` (sha256 HEX), got no hash"; bad=1; } ;;
    esac
    printf '%s\n' "$named" | sed -n 's/^`models\/\([a-z-]*\)`.*sha256 `\([0-9a-f]*\)`$/\1 \2/p' | sort -u > "${TMPDIR:-/tmp}/models.$$"
    while read -r model stated; do
        actual=$(sha256sum "models/$model/model.safetensors" | cut -d ' ' -f 1)
        case $actual in
        "$stated"*) ;;
        *) echo "$page: models/$model: expected sha256 $(printf '%.16s' "$actual"), got $stated; measure again"; bad=1 ;;
        esac
    done < "${TMPDIR:-/tmp}/models.$$"
    rm -f "${TMPDIR:-/tmp}/models.$$"
done
exit $bad
