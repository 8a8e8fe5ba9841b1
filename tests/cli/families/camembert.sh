#!/bin/sh
# camembert.sh — a CamemBERT folder with SentencePiece's model agrees with transformers: ids, vectors and the answer to a
# mask, also after convert.
. "$(dirname "$0")/../lib"
. "$here/family_lib"
rm -rf whole && cp -r "$repository/tests/golden/camembert/whole" whole && chmod -R u+w whole
cp "$repository/tests/golden/subwords/unigram.model" whole/sentencepiece.bpe.model
masked_folder whole
expect 0 'read back and compared' "$program" convert whole written
holds written/config.json '"CamembertForMaskedLM"'
masked_folder written
done_testing
