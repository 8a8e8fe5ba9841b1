#!/bin/sh
# xlnet.sh — an XLNet folder with spiece.model alone agrees with transformers: ids, answers to a mask, vectors, the
# likelihood of a text, scores of pairs; before and after convert.  Without types in the settings, a pair has none.
# Unsupported configs are rejected by name.
. "$(dirname "$0")/../lib"
. "$here/family_lib"
golden=$repository/tests/golden/xlnet

# answers FOLDER   ids, vectors, answers to a mask, the likelihood of a text
answers() {
    masked_folder "$golden/whole" "$1" 'the <mask> house'
    "$program" score -q -m "$1" --json 'the old man and the sea' | sed 's/.*"logprob\(": *[-0-9.e]*\).*/"score\1/' > logprob.txt
    close_json "$golden/whole/logprob.txt" logprob.txt
}
copy whole model
answers model
expect 0 '' "$program" info -m model --tensors
grep -q 'ignored *nothing' out || fail "$(grep ignored out)"
expect 0 'read back and compared' "$program" convert model written
answers written

# A <sep> B <sep> <cls>, with the types 0, 1 and 2
{ printf 'text\tpair\n'; sed 's/$/\tthe old man and the sea/' texts.txt; } > pairs.tsv
expect 0 '' "$program" predict -q -m model/pairs --input pairs.tsv
sed '1d; s/^/"score": /' out > scores.txt
close_json "$golden/whole/pairs/scores.txt" scores.txt
expect 0 "" "$program" convert -q --dtype int8 model/pairs int8 && expect 0 '' "$program" predict -q -m int8 --input pairs.tsv
rm -r model/pairs

right=model
refused config.json 's/"attn_type": "bi"/"attn_type": "uni"/' 'attn_type: expected "bi", got "uni"'
refused config.json 's/"summary_type": "last"/"summary_type": "attn"/' 'summary_type: expected last, first or mean, got "attn"'
refused config.json 's/"d_head": 12/"d_head": 8/' 'd_head: '
# A token type beyond the encoding's would have no term.
refusing='embed -q -m broken -o no.npy texts.txt'
refused config.json 's/"type_vocab_size": 3/"type_vocab_size": 2/' 'token types: expected at most .* 1, got 2'
done_testing
