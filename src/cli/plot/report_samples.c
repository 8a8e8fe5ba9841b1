/* report_samples.c — masked words of held-out text, and the model's predictions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "roformer/inspect/folder.h"
#include "cli/plot/report.h"
#include "cli/plot/svg.h"

enum { SAMPLES = 5, WORDS = 36, EVERY = 9, MASKS = 16, TOP = 3, LEAST = 12 };

typedef struct sample {
    int32_t id[WORDS + 2], truth[MASKS], row[MASKS];        /* truth -1: unknown                                      */
    int n, masks;
} sample;

typedef struct predicting {
    cli_io *io;
    FILE *to;
    const rf_tokenizer *t;
    rf_model *model;
    rf_session *session;
    int written;
} predicting;

/* ---- one sample ---- */

static void put_ids(const predicting *g, const int32_t *id, size_t n)
{
    char *text = rf_decode(g->t, id, n, 1, 1, NULL);
    if (text) svg_text(g->to, text);
    rf_text_free(g->t, text);
}

/* The text with numbered masks. */
static void put_text(const predicting *g, const sample *s)
{
    int from = 0;
    fputs("<p class=\"sample\">", g->to);
    for (int m = 0; m < s->masks; m++) {
        put_ids(g, s->id + from, (size_t)(s->row[m] - from));
        fprintf(g->to, " <b class=\"mask\">%d</b> ", m + 1);
        from = s->row[m] + 1;
    }
    put_ids(g, s->id + from, (size_t)(s->n - from));
    fputs("</p>\n", g->to);
}

static void put_predictions(const predicting *g, const sample *s, int m, const float *logit, int n)
{
    int32_t best[TOP];
    int have = 0;
    double sum = 0;
    for (int i = 0; i < n; i++) {
        if (have == TOP && !(logit[i] > logit[best[TOP - 1]])) continue;
        int at = have < TOP ? have++ : TOP - 1;
        for (; at > 0 && logit[i] > logit[best[at - 1]]; at--) best[at] = best[at - 1];
        best[at] = i;
    }
    for (int i = 0; i < n; i++) sum += exp((double)logit[i] - (double)logit[best[0]]);
    fprintf(g->to, "<tr><td><b class=\"mask\">%d</b></td><td>", m + 1);
    if (s->truth[m] >= 0) put_ids(g, &s->truth[m], 1);
    fputs("</td>", g->to);
    for (int i = 0; i < have; i++) {
        const char *class = s->truth[m] >= 0 && best[i] == s->truth[m] ? " class=\"right\"" : "";
        fprintf(g->to, "<td%s>", class);
        put_ids(g, &best[i], 1);
        fprintf(g->to, " <small>%.0f %%</small></td>",
                100 * exp((double)logit[best[i]] - (double)logit[best[0]]) / sum);
    }
    fputs("</tr>\n", g->to);
}

static void put_sample(predicting *g, const sample *s)
{
    const int32_t start[2] = {0, s->n};
    const rf_batch batch = {.N = s->n, .B = 1, .id = s->id, .start = start};
    const float *logits;
    rf_error why = {0};
    const int V = (int)rf_model_config(g->model)->vocab_size, known = rf_tokenizer_size(g->t);
    if (!s->masks || rf_session_mlm_logits(g->session, &batch, s->row, s->masks, &logits, &why)) return;
    if (!g->written++) fputs("<h2>What it puts in place of masked words</h2>\n", g->to);
    put_text(g, s);
    fputs("<table><tr><th></th><th>was</th><th colspan=\"3\">predictions</th></tr>\n", g->to);
    for (int m = 0; m < s->masks; m++) put_predictions(g, s, m, logits + (size_t)m * (size_t)V, known < V ? known : V);
    fputs("</table>\n", g->to);
}

/* ---- where samples come from ---- */

static bool begins_word(const predicting *g, int32_t id)
{
    return !rf_tokenizer_is_special(g->t, id) && !rf_tokenizer_continues(g->t, id);
}

/* The beginning of a document, n tokens at s->id[1]; every ninth word that is one token is masked. */
static void mask_words(const predicting *g, int n, sample *s)
{
    s->n = n + 2;
    s->masks = 0;
    s->id[0] = rf_tokenizer_cls(g->t);
    s->id[1 + n] = rf_tokenizer_sep(g->t);
    for (int i = 4, last = -EVERY; i < n && s->masks < MASKS; i++) {
        if (i - last < EVERY || !begins_word(g, s->id[i]) || rf_tokenizer_continues(g->t, s->id[i + 1])) continue;
        s->truth[s->masks] = s->id[i];
        s->row[s->masks++] = i;
        last = i;
    }
    for (int m = 0; m < s->masks; m++) s->id[s->row[m]] = rf_tokenizer_mask(g->t);
}

static void from_cache(predicting *g, const char *path)
{
    rf_token_cache *cache;
    sample s;
    int64_t size;
    int taken = 0, held;
    if (rf_token_cache_open(g->io->ctx, g->t, path, &cache, NULL)) return;
    while (taken < SAMPLES && !rf_token_cache_next(cache, s.id + 1, WORDS, &size, &held, NULL) && size >= 0) {
        if (!held || size < LEAST) continue;
        mask_words(g, size < WORDS ? (int)size : WORDS, &s);
        put_sample(g, &s);
        taken++;
    }
    rf_token_cache_close(cache);
}

static void from_text(predicting *g, const char *text)
{
    rf_encoding e;
    sample s = {.n = 0};
    rf_error *why = &g->io->why;
    rf_encoding_init(&e, g->io->ctx);
    if (!rf_encode(g->t, text, strlen(text), NULL, 0, WORDS + 2, 0, &e, NULL, why)) {
        s.n = (int)e.n;
        for (int i = 0; i < s.n; i++) {
            s.id[i] = e.id[i];
            if (e.id[i] != rf_tokenizer_mask(g->t) || s.masks == MASKS) continue;
            s.truth[s.masks] = -1;
            s.row[s.masks++] = i;
        }
        if (!s.masks)
            rf_fail(why, RF_EDATA, "--sample: expected a mask token (%s) in the first %d tokens, got \"%.100s\"",
                    rf_tokenizer_token(g->t, rf_tokenizer_mask(g->t)), WORDS, text);
        put_sample(g, &s);
    }
    rf_encoding_clear(&e);
}

void report_samples(cli_io *io, FILE *to, const char *folder, const json_t *options, const cli_list *samples)
{
    predicting g = {.io = io, .to = to};
    char path[4096];
    if (rf_model_open(io->ctx, folder, &g.model, NULL)) return;
    g.t = rf_model_tokenizer(g.model);
    const bool predicts =
        g.t && rf_tokenizer_mask(g.t) >= 0 && rf_model_has_head(g.model) && !rf_model_config(g.model)->is_decoder;
    if (predicts && !rf_session_open(g.model, &g.session, NULL)) {
        const char *data = json_string_value(json_array_get(json_object_get(options, "data"), 0));
        for (int i = 0; samples && i < samples->n && !io->why.code; i++) from_text(&g, samples->item[i]);
        snprintf(path, sizeof path, "%s/" RF_FILE_TOKENS, folder);
        if (!g.written) from_cache(&g, data ? data : path);
    }
    if (!predicts && samples && samples->n)
        rf_fail(&io->why, RF_EUNSUPPORTED,
                "--sample: expected a masked language model, got one without the head for it");
    rf_session_close(g.session);
    rf_model_close(g.model);
}
