/* characters.c — masked words of Chinese lines, predicted by models with any vocabulary and by n-grams of characters,
 * and scored per character, so that models of words and of characters can be compared.
 *
 *     characters [-d DICTIONARY] [-n LINES] MODEL [MODEL...] -- TRAINING [TRAINING...] -- TEXT [TEXT...]
 *
 * In each line of a TEXT one word is hidden: among the tokens of the first MODEL that consist of Han characters, the
 * one with the smallest hash.  Every model sees the same rest of the line.  A model's tokens at the position of the
 * word are all masked, and their predictions spell the predicted word; a character is correct if it is at its position.
 * A model of characters knows how many are missing, one of words does not.  n-grams (ngrams.h) count the characters of
 * TRAINING, and do not see hidden neighbors, either.  nats: - log p of the word's tokens (of its characters), per
 * character. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../hash.h"
#include "ngrams.h"
#include "roformer/roformer.h"

enum { LONGEST = 360, LETTERS = 65536, MOST_MODELS = 8, MOST_HIDDEN = 64 };

typedef struct guesser {
    const char *name;
    rf_model *model;
    rf_session *session;
    const rf_tokenizer *tokenizer;
    rf_encoding e;
} guesser;

typedef struct score { int64_t characters, words; double nats; } score;

/* A line, which of its bytes are masked, and their values. */
typedef struct hidden { const char *text; size_t size, from, to, characters; } hidden;

static rf_ctx *ctx;
static guesser one[MOST_MODELS];
static int models;
static ngrams *left, *right;
static double *p_left, *p_right, *p_one;
static rf_error why;

static void check(rf_status status)
{
    if (!status) return;
    fprintf(stderr, "characters: %s\n", why.text);
    exit(1);
}

static void *need(void *p)
{
    if (!p) check(rf_fail(&why, RF_ENOMEM, "out of memory"));
    return p;
}

/* The character at *at, which advances past it; text is UTF-8 from rf_reader. */
static uint32_t letter(const char *text, size_t *at)
{
    const unsigned char *s = (const unsigned char *)text + *at;
    const int more = *s < 0x80 ? 0 : *s < 0xE0 ? 1 : *s < 0xF0 ? 2 : 3;
    uint32_t c = more ? *s & (0x3Fu >> more) : *s;
    for (int i = 1; i <= more; i++) c = c << 6 | (s[i] & 0x3Fu);
    *at += (size_t)more + 1;
    return c;
}

static bool is_han(uint32_t c) { return c >= 0x4E00 && c <= 0x9FFF; }

/* ---- what is hidden ---------------------------------------------------------------------------------------------- */

static bool hide(const char *text, size_t size, hidden *h)
{
    rf_encoding *e = &one[0].e;
    uint64_t least = 0;
    *h = (hidden){.text = text, .size = size};
    check(rf_encode(one[0].tokenizer, text, size, NULL, 0, 0, RF_ENCODE_PLAIN | RF_ENCODE_NO_SPECIALS, e, NULL, &why));
    for (size_t i = 0; i < e->n; i++) {
        size_t characters = 0, at = e->start[i];
        for (; at < e->end[i] && is_han(letter(text, &at)); characters++) {}
        if (at != e->end[i] || !characters || (size_t)(e->end[i] - e->start[i]) != 3 * characters) continue;
        const uint64_t hash = hash64(text, size, i + 1);
        if (h->characters && hash >= least) continue;
        least = hash;
        h->from = e->start[i], h->to = e->end[i], h->characters = characters;
    }
    return h->characters;
}

/* ---- models ------------------------------------------------------------------------------------------------------ */

static const char *spelled(const guesser *g, int32_t id)
{
    const char *s = rf_tokenizer_token(g->tokenizer, id);
    return !s ? "" : s[0] == '#' && s[1] == '#' && s[2] ? s + 2 : s;
}

static void count(const hidden *h, const char *guess, double nats, score *s)
{
    const size_t size = strlen(guess);
    for (size_t at = 0; at < h->to - h->from && at + 3 <= size; at += 3)
        s->characters += !memcmp(guess + at, h->text + h->from + at, 3);
    s->words += size == h->to - h->from && !memcmp(guess, h->text + h->from, size);
    s->nats += nats;
}

static void ask(guesser *g, const hidden *h, score *s)
{
    rf_encoding *e = &g->e;
    int32_t row[MOST_HIDDEN], label[MOST_HIDDEN], start[2] = {0, 0};
    const float *logits;
    int64_t n = 0;
    check(rf_encode(g->tokenizer, h->text, h->size, NULL, 0, 0, RF_ENCODE_NO_SPECIALS, e, NULL, &why));
    for (size_t i = 0; i < e->n && n < MOST_HIDDEN; i++) {
        if (e->added[i] || e->end[i] <= h->from || e->start[i] >= h->to) continue;
        row[n] = (int32_t)i;
        label[n++] = e->id[i];
        e->id[i] = rf_tokenizer_mask(g->tokenizer);
    }
    start[1] = (int32_t)e->n;
    const rf_batch batch = {.N = start[1], .B = 1, .id = e->id, .start = start};
    check(rf_session_mlm_logits(g->session, &batch, row, n, &logits, &why));
    const int64_t V = rf_model_config(g->model)->vocab_size, known = rf_tokenizer_size(g->tokenizer);
    char guess[1024] = "";
    double nats = 0;
    for (int64_t k = 0; k < n; k++, logits += V) {
        int32_t best = 0;
        double sum = 0;
        for (int32_t v = 1; v < known; v++)
            if (logits[v] > logits[best]) best = v;
        for (int64_t v = 0; v < V; v++) sum += exp((double)logits[v] - (double)logits[best]);
        nats += log(sum) + (double)logits[best] - (double)logits[label[k]];
        if (strlen(guess) + strlen(spelled(g, best)) < sizeof guess) strcat(guess, spelled(g, best));
    }
    count(h, guess, nats, s);
}

static void open_model(const char *folder)
{
    if (models == MOST_MODELS) check(rf_fail(&why, RF_ERANGE, "more than %d models", MOST_MODELS));
    guesser *g = &one[models++];
    g->name = strrchr(folder, '/') && strrchr(folder, '/')[1] ? strrchr(folder, '/') + 1 : folder;
    check(rf_model_open(ctx, folder, &g->model, &why));
    check(rf_session_open(g->model, &g->session, &why));
    if (!(g->tokenizer = rf_model_tokenizer(g->model))) check(rf_fail(&why, RF_EDATA, "%s: has no tokenizer", folder));
    rf_encoding_init(&g->e, ctx);
}

/* ---- n-grams of characters --------------------------------------------------------------------------------------- */

static void learn(char **path, int paths)
{
    rf_reader *r;
    rf_document d;
    uint16_t *token = NULL;
    size_t n = 0, capacity = 0, documents = 0, *start = need(calloc(2, sizeof *start));
    check(rf_reader_open(ctx, (const char *const *)path, paths, NULL, &r, &why));
    for (;;) {
        check(rf_reader_next(r, &d, &why));
        if (!d.text) break;
        if (n + d.size > capacity) token = need(realloc(token, (capacity = 2 * n + d.size) * sizeof *token));
        for (size_t at = 0; at < d.size;) {
            const uint32_t c = letter(d.text, &at);
            token[n++] = (uint16_t)(c < LETTERS ? c : 0);
        }
        start = need(realloc(start, (documents + 2) * sizeof *start));
        start[++documents] = n;
    }
    rf_reader_close(r);
    fprintf(stderr, "counting %zu characters in %zu documents\n", n, documents);
    left = need(ngrams_count(token, start, documents, LETTERS, 0));
    right = need(ngrams_count(token, start, documents, LETTERS, 1));
    p_left = need(malloc(LETTERS * sizeof *p_left));
    p_right = need(malloc(LETTERS * sizeof *p_right));
    p_one = need(malloc(LETTERS * sizeof *p_one));
    ngrams_predict(left, 1, -1, -1, p_one);
    free(token);
    free(start);
}

/* Each hidden character from two on each side, as far as they are seen: left x right / unigram, and left alone. */
static void count_grams(const hidden *h, score *both, score *before)
{
    uint32_t c[LONGEST + 1];
    size_t n = 0, first = 0;
    for (size_t at = 0; at < h->size; c[n++] = letter(h->text, &at))
        if (at == h->from) first = n;
    for (size_t i = first; i < first + h->characters; i++) {
        int32_t seen[4];                /* two before, one before, one after, two after                               */
        static const int step[] = {-2, -1, 1, 2};
        for (int k = 0; k < 4; k++) {
            const int64_t j = (int64_t)i + step[k];
            const bool its = j >= (int64_t)first && j < (int64_t)(first + h->characters);
            seen[k] = j >= 0 && j < (int64_t)n && !its && c[j] < LETTERS ? (int32_t)c[j] : -1;
        }
        ngrams_predict(left, 3, seen[0], seen[1], p_left);
        ngrams_predict(right, 3, seen[3], seen[2], p_right);
        double sum = 0;
        int32_t best = 0, best_left = 0;
        for (int32_t v = 0; v < LETTERS; v++) {
            const double p = p_left[v] * p_right[v] / p_one[v];
            sum += p;
            if (p > p_left[best] * p_right[best] / p_one[best]) best = v;
            if (p_left[v] > p_left[best_left]) best_left = v;
        }
        both->characters += (uint32_t)best == c[i];
        both->nats -= log(p_left[c[i]] * p_right[c[i]] / p_one[c[i]] / sum);
        before->characters += (uint32_t)best_left == c[i];
        before->nats -= log(p_left[c[i]]);
    }
}

/* ---- texts ------------------------------------------------------------------------------------------------------- */

static void row(const char *name, const score *s, int64_t lines, int64_t characters, bool words)
{
    printf("| %s | %.2f %% |", name, 100. * (double)s->characters / (double)characters);
    if (words) printf(" %.2f %% |", 100. * (double)s->words / (double)lines);
    else printf(" |");
    printf(" %.3f |\n", s->nats / (double)characters);
}

static void judge(const char *path, int64_t most)
{
    score s[MOST_MODELS] = {{0}}, both = {0}, before = {0};
    int64_t lines = 0, characters = 0;
    rf_reader *r;
    rf_document d;
    hidden h;
    check(rf_reader_open(ctx, &path, 1, NULL, &r, &why));
    while (lines < most) {
        check(rf_reader_next(r, &d, &why));
        if (!d.text) break;
        for (size_t at = 0, end; at < d.size && lines < most; at = end + 1) {
            const char *stop = memchr(d.text + at, '\n', d.size - at);
            end = stop ? (size_t)(stop - d.text) : d.size;
            size_t size = end - at < LONGEST ? end - at : LONGEST;
            while (size < end - at && ((unsigned char)d.text[at + size] & 0xC0) == 0x80) size--;
            if (size < 24 || !hide(d.text + at, size, &h)) continue;
            for (int i = 0; i < models; i++) ask(&one[i], &h, &s[i]);
            if (left) count_grams(&h, &both, &before);
            lines++;
            characters += (int64_t)h.characters;
        }
    }
    rf_reader_close(r);
    const char *slash = strrchr(path, '/');
    printf("\n%s: %lld words of %lld characters, one a line\n\n| guesser | characters | words | nats a character |\n"
           "|---|---:|---:|---:|\n", slash ? slash + 1 : path, (long long)lines, (long long)characters);
    if (left) row("left trigram, back-off", &before, lines, characters, false);
    if (left) row("two-sided trigram / unigram", &both, lines, characters, false);
    for (int i = 0; i < models; i++) row(one[i].name, &s[i], lines, characters, true);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int64_t most = 5000;
    int i = 1;
    rf_ctx_options o;
    rf_ctx_defaults(&o);
    for (; i + 1 < argc && argv[i][0] == '-' && argv[i][1] != '-'; i += 2)
        if (argv[i][1] == 'n') most = atoll(argv[i + 1]);
        else if (argv[i][1] == 'd') o.dictionary = argv[i + 1];
    check(rf_ctx_new(&o, &ctx, &why));
    for (; i < argc && strcmp(argv[i], "--"); i++) open_model(argv[i]);
    const int first = i + 1;
    for (i = first; i < argc && strcmp(argv[i], "--"); i++) {}
    if (i >= argc || !models)
        return fprintf(stderr, "usage: characters [-d DICTIONARY] [-n LINES] MODEL... -- TRAINING... -- TEXT...\n"), 2;
    if (i > first) learn(argv + first, i - first);
    for (i++; i < argc; i++) judge(argv[i], most);
    return 0;
}
