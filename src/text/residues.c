/* residues.c — how a vocabulary reads proteins, which are words of capital letters:
 *
 *     ACDEFGHIKLMNPQRSTVWY       ->  a token for each letter or for several (ESM-2), one [UNK] (ProtBert, AntiBERTa2)
 *     A C D E F G H I K L ...    ->  a token for each letter (ProtBert, AntiBERTa2)
 *
 * Vocabularies of words know them from pieces of words, which mean something else: their tokens of small letters have
 * an O, which is no amino acid. */
#include "text/tokenizer.h"

static const char joined[] = "ACDEFGHIKLMNPQRSTVWY";

static rf_status read_as(const rf_tokenizer *t, const char *text, size_t size, rf_encoding *e, rf_error *why)
{
    return rf_encode(t, text, size, NULL, 0, 0, RF_ENCODE_PLAIN | RF_ENCODE_NO_SPECIALS, e, NULL, why);
}

/* <eos> and [unused1] are no words. */
static bool is_word(const char *token)
{
    size_t letters = 0;
    bool o = false;
    if (*token == '<' || *token == '[') return false;
    for (; *token; token++) {
        letters += *token >= 'a' && *token <= 'z';
        o |= *token == 'o';
    }
    return o && letters > 1;
}

static bool has_words(const rf_tokenizer *t)
{
    enum { SHARE = 50 };
    int64_t words = 0;
    for (int32_t id = 0; id < t->n; id++) {
        const char *token = rf_tokenizer_token(t, id);
        words += token && is_word(token);
    }
    return words * SHARE > t->n;
}

rf_status rf_tokenizer_residues(const rf_tokenizer *t, rf_residues *out, rf_error *why)
{
    char apart[2 * sizeof joined - 3];
    rf_encoding e;
    bool alone = false;
    if (!(t && out)) return rf__missing("rf_tokenizer_residues", "tokenizer, out", why);
    for (size_t i = 0; i < sizeof apart; i++) apart[i] = i % 2 ? ' ' : joined[i / 2];
    rf_encoding_init(&e, t->ctx);
    rf_status status = read_as(t, joined, sizeof joined - 1, &e, why);
    if (!status && e.n == 1 && e.id[0] == rf_tokenizer_unk(t)) {
        status = read_as(t, apart, sizeof apart, &e, why);
        alone = !status && e.n == sizeof joined - 1;
        for (size_t i = 0; i < e.n && alone; i++) alone = e.id[i] != rf_tokenizer_unk(t);
    }
    rf_encoding_clear(&e);
    if (!status) *out = alone ? RF_RESIDUES_APART : has_words(t) ? RF_RESIDUES_WORDS : RF_RESIDUES_JOINED;
    return status;
}
