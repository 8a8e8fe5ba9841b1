/* cmd_fill_mask.c — roformer fill-mask: the likeliest words for each [MASK].
 *
 *     p(w) = softmax(logits at the mask)[w],    softmax over the whole vocabulary also with --target
 *
 * JSON has the shape of the fill-mask pipeline of transformers: {score, token, token_str, sequence}.                 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/shell/commands.h"
#include "cli/shell/io.h"

struct args {
    const char *model;
    int64_t top_k, max_length;
    int json, dtype;
    cli_list targets, texts;
};

enum { BATCH = 32, BATCH_TOKENS = 2048 };

/* One prediction. */
typedef struct prediction { int32_t id; float score; } prediction;

typedef struct job {
    const struct args *a;
    cli_io *io;
    cli_model m;
    int32_t *target;            /* ids to choose from, NULL: all                                                      */
    int targets;
    int V, top;                 /* words of the vocabulary; predictions for each mask                                 */
    prediction *found;          /* [top]                                                                              */
    float *p;                   /* [V]                                                                                */
    rf_encoding e;              /* the batch: texts end to end                                                        */
    char *text[BATCH];
    int32_t start[BATCH + 1], first_mask[BATCH + 1];
    int32_t *row;               /* tokens that are masks                                                              */
    size_t rows_capacity;
    int n;
    bool printed;
} job;

/* ---- choosing ---------------------------------------------------------------------------------------------------- */

static void softmax(float *p, const float *x, int n)
{
    float most = x[0];
    double sum = 0;
    for (int i = 1; i < n; i++) most = x[i] > most ? x[i] : most;
    for (int i = 0; i < n; i++) sum += exp((double)x[i] - (double)most);
    for (int i = 0; i < n; i++) p[i] = (float)(exp((double)x[i] - (double)most) / sum);
}

/* The `k` largest, largest first, of equal ones the smaller id first. */
static int choose(const float *p, const int32_t *id, int n, prediction *best, int k)
{
    int have = 0;
    for (int i = 0; i < n; i++) {
        const prediction g = {id ? id[i] : i, p[id ? id[i] : i]};
        if (have == k && !(g.score > best[k - 1].score)) continue;
        int at = have < k ? have++ : k - 1;
        for (; at > 0 && g.score > best[at - 1].score; at--) best[at] = best[at - 1];
        best[at] = g;
    }
    return have;
}

static bool already(const job *j, int32_t id)
{
    for (int i = 0; i < j->targets; i++)
        if (j->target[i] == id) return true;
    return false;
}

/* A word that is not in the vocabulary stands for its first piece, as in transformers. */
static rf_status find_targets(job *j)
{
    const cli_list *list = &j->a->targets;
    rf_error *why = &j->io->why;
    if (!list->n) return RF_OK;
    if (!(j->target = malloc((size_t)list->n * sizeof *j->target))) return rf_fail(why, RF_ENOMEM, "out of memory");
    for (int i = 0; i < list->n; i++) {
        const char *word = list->item[i];
        int32_t id = rf_tokenizer_id(j->m.t, word);
        if (id < 0) {
            const rf_status status =
                rf_encode(j->m.t, word, strlen(word), NULL, 0, 0, RF_ENCODE_PLAIN, &j->e, NULL, why);
            if (status) return status;
            if (!j->e.n) {
                cli_note(j->io, "--target %.60s: not in the vocabulary, left out", word);
                continue;
            }
            id = j->e.id[0];
            cli_note(j->io, "--target %.60s: not in the vocabulary, its first piece %.60s is used", word,
                     rf_tokenizer_token(j->m.t, id));
        }
        if (!already(j, id)) j->target[j->targets++] = id;
    }
    if (!j->targets) return rf_fail(why, RF_EARG, "--target: none of the words can be used");
    return RF_OK;
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

static char *decode(const job *j, const int32_t *id, size_t n, bool skip, rf_error *why)
{
    char *s = rf_decode(j->m.t, id, n, skip, 0);
    if (!s) rf_fail(why, RF_ENOMEM, "out of memory: text of %zu tokens", n);
    return s;
}

/* The text with `id` in place of the mask at `at`, without padding; special tokens stay when other masks are left. */
static char *sequence(const job *j, int b, int32_t at, int32_t id, bool skip, rf_error *why)
{
    const size_t from = (size_t)j->start[b], to = (size_t)j->start[b + 1];
    int32_t *ids = malloc((to - from) * sizeof *ids);
    size_t n = 0;
    if (!ids) {
        rf_fail(why, RF_ENOMEM, "out of memory");
        return NULL;
    }
    for (size_t i = from; i < to; i++) {
        const int32_t t = i == (size_t)at ? id : j->e.id[i];
        if (t != rf_tokenizer_pad(j->m.t)) ids[n++] = t;
    }
    char *s = decode(j, ids, n, skip, why);
    free(ids);
    return s;
}

static json_t *predictions_json(const job *j, int b, int32_t at, int k, bool skip, rf_error *why)
{
    json_t *list = json_array();
    for (int i = 0; i < k; i++) {
        const int32_t id = j->found[i].id;
        char *word = decode(j, &id, 1, false, why), *whole = word ? sequence(j, b, at, id, skip, why) : NULL;
        json_t *one = json_object();
        if (whole) {
            rf__json_set(&one, "score", json_real((double)j->found[i].score));
            rf__json_set(&one, "token", json_integer(id));
            rf__json_set(&one, "token_str", cli_text_json(word, strlen(word)));
            rf__json_set(&one, "sequence", cli_text_json(whole, strlen(whole)));
        }
        rf__json_add(&list, one);
        rf_text_free(j->m.t, word);
        rf_text_free(j->m.t, whole);
        if (!whole) break;
    }
    return list;
}

static rf_status print_table(job *j, int k, rf_error *why)
{
    char bar[128];
    int width = 0;
    for (int i = 0; i < k; i++) {
        const int cells = cli_cells(rf_tokenizer_token(j->m.t, j->found[i].id));
        width = cells > width ? cells : width;
    }
    for (int i = 0; i < k; i++) {
        const char *word = rf_tokenizer_token(j->m.t, j->found[i].id);
        cli_bar((double)j->found[i].score, 30, bar, sizeof bar);
        for (size_t n = strlen(bar); n && bar[n - 1] == ' '; n--) bar[n - 1] = 0;
        printf("  %s%s%s%*s  %6.2f %%  %s%s%s\n", j->io->color_out ? "\033[1m" : "", word,
               j->io->color_out ? "\033[0m" : "", width - cli_cells(word), "", 100 * (double)j->found[i].score,
               j->io->color_out ? "\033[36m" : "", bar, j->io->color_out ? "\033[0m" : "");
    }
    return ferror(stdout) ? cli_flush(why) : RF_OK;
}

static rf_status answer(job *j, int b, const float *logits)
{
    rf_error *why = &j->io->why;
    const int first = j->first_mask[b], masks = j->first_mask[b + 1] - first;
    const bool listed = j->a->json && masks > 1;
    json_t *all = listed ? json_array() : NULL;
    rf_status status = RF_OK;
    if (!j->a->json) printf("%s%s\n", j->printed ? "\n" : "", j->text[b]);
    j->printed = true;
    for (int m = 0; m < masks && !status; m++) {
        softmax(j->p, logits + (size_t)(first + m) * (size_t)j->V, j->V);
        if (!isfinite(j->p[0])) {
            status = rf_fail(why, RF_ENUMERIC, "the scores of a mask are not finite");
            break;
        }
        const int k = choose(j->p, j->target, j->target ? j->targets : j->V, j->found, j->top);
        if (!j->a->json) {
            if (masks > 1) printf(" mask %d of %d\n", m + 1, masks);
            status = print_table(j, k, why);
            continue;
        }
        json_t *one = predictions_json(j, b, j->row[first + m], k, masks == 1, why);
        status = why->code;
        if (listed) rf__json_add(&all, one);
        else if (!status) status = cli_print_json(one, 0, why);
        else json_decref(one);
    }
    if (listed && !status) return cli_print_json(all, 0, why);
    json_decref(all);
    return status;
}

/* ---- a batch of texts -------------------------------------------------------------------------------------------- */

static rf_status add(job *j, const cli_texts *in, const char *text, size_t size)
{
    const size_t from = j->e.n;
    const int flags = j->n ? RF_ENCODE_APPEND : 0;
    size_t dropped = 0;
    rf_error inner = {0};
    int32_t masks = 0;
    rf_status status = rf_encode(j->m.t, text, size, NULL, 0, (size_t)j->a->max_length, flags, &j->e, &dropped, &inner);
    for (size_t i = j->n ? from : 0; i < j->e.n && !status; i++) {
        if (j->e.id[i] != rf_tokenizer_mask(j->m.t)) continue;
        const size_t at = (size_t)j->first_mask[j->n] + (size_t)masks++;
        if (at == j->rows_capacity) {
            const size_t wide = at ? 2 * at : 64;
            int32_t *row = realloc(j->row, wide * sizeof *row);
            if (!row) return rf_fail(&j->io->why, RF_ENOMEM, "out of memory");
            j->row = row;
            j->rows_capacity = wide;
        }
        j->row[at] = (int32_t)i;
    }
    const char *mask = rf_tokenizer_options_of(j->m.t)->mask;
    if (!status && !masks)
        status = rf_fail(&inner, RF_EDATA, "no mask token (%s) in the text%s", mask,
                         dropped ? ", which was cut to --max-length" : "");
    if (status) return cli_texts_fail(in, &j->io->why, &inner);
    if (!(j->text[j->n] = malloc(size + 1))) return rf_fail(&j->io->why, RF_ENOMEM, "out of memory");
    memcpy(j->text[j->n], text, size);
    j->text[j->n][size] = 0;
    j->n++;
    j->start[j->n] = (int32_t)j->e.n;
    j->first_mask[j->n] = j->first_mask[j->n - 1] + masks;
    return RF_OK;
}

static rf_status answer_batch(job *j)
{
    rf_error *why = &j->io->why;
    rf_status status = RF_OK;
    if (j->n) {
        const rf_batch batch = {.N = j->start[j->n], .B = j->n, .id = j->e.id, .start = j->start};
        const float *logits = NULL;
        status = rf_session_scores(j->m.session, &batch, j->row, j->first_mask[j->n], &logits, why);
        for (int b = 0; b < j->n && !status; b++) status = answer(j, b, logits);
        if (!status) status = cli_flush(why);
    }
    while (j->n) free(j->text[--j->n]);
    return status;
}

static rf_status prepare(job *j)
{
    rf_error *why = &j->io->why;
    rf_status status = cli_model_open(j->io, j->a->model, (rf_type)j->a->dtype, &j->m);
    if (status) return status;
    j->V = (int)j->m.config->vocab_size;
    if (rf_tokenizer_mask(j->m.t) < 0) return rf_fail(why, RF_EDATA, "the model's tokenizer has no mask token");
    if (!rf_model_has_head(j->m.model))
        return rf_fail(why, RF_EUNSUPPORTED, "the model has no masked-language-model head, so it cannot fill masks");
    if (j->m.config->is_decoder)
        return rf_fail(why, RF_EUNSUPPORTED,
                       "the model is causal: what stands behind a mask does not reach it, so it cannot fill masks");
    if ((status = find_targets(j))) return status;
    const int most = j->target ? j->targets : rf_tokenizer_size(j->m.t) < j->V ? rf_tokenizer_size(j->m.t) : j->V;
    j->top = j->a->top_k < most ? (int)j->a->top_k : most;
    j->found = malloc((size_t)j->top * sizeof *j->found);
    j->p = malloc((size_t)j->V * sizeof *j->p);
    return j->found && j->p ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory");
}

static int run(void *arguments, cli_io *io)
{
    job j = {.a = arguments, .io = io};
    cli_texts in = {0};
    rf_encoding_init(&j.e, io->ctx);
    cli_signals_catch();
    rf_status status = cli_texts_open(io->ctx, &in, &j.a->texts, &io->why);
    if (!status) status = prepare(&j);
    while (!status) {
        const char *text;
        size_t size;
        rf_status bad = cli_texts_next(&in, &text, &size, &io->why);
        if (!bad && text) bad = add(&j, &in, text, size);
        const bool full = j.n == BATCH || (j.n && j.e.n >= BATCH_TOKENS);
        if (bad || !text || full || !cli_texts_ready(&in)) {
            rf_error first = io->why;                       /* answers before a bad line are still given */
            io->why = (rf_error){0};
            status = answer_batch(&j);
            if (!status && bad) {
                io->why = first;
                status = bad;
            }
        }
        if (!text) break;
    }
    while (j.n) free(j.text[--j.n]);
    cli_texts_close(&in);
    rf_encoding_clear(&j.e);
    free(j.row);
    free(j.found);
    free(j.p);
    free(j.target);
    cli_model_close(&j.m);
    return cli_exit(io);
}

#define A(field) offsetof(struct args, field)
static const cli_option options[] = {
    CLI_MODEL_OPTION(struct args, model),
    CLI_DTYPE_OPTION(struct args, dtype),
    {"top-k", 'k', CLI_INT, A(top_k), "N", "5", 1, 1000000, NULL, "predictions for each mask", NULL},
    {"target", 0, CLI_EACH, A(targets), "WORD", NULL, 0, 0, NULL, "choose among these words only; may be given again",
     "targets"},
    {"max-length", 0, CLI_INT, A(max_length), "N", "0", 0, 1 << 20, NULL, "cut texts to N tokens; 0: never", NULL},
    {"json", 0, CLI_FLAG, A(json), NULL, NULL, 0, 0, NULL, "one line of JSON for each text", NULL},
    {"TEXT", 0, CLI_OPERANDS, A(texts), NULL, NULL, 0, 1 << 20, NULL, "", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "roformer fill-mask \"The capital of France is [MASK].\"",
    "roformer fill-mask -k 3 --target red --target blue \"The sky is [MASK].\"",
    "echo \"She closed the [MASK].\" | roformer fill-mask --json",
    NULL,
};

const cli_command cmd_fill_mask = {
    "fill-mask",
    "[TEXT...]",
    "predict masked tokens",
    "Each TEXT, or each line of standard input when there is none, holds at least one [MASK].  Prints the likeliest "
    "words.\n"
    "With --json a text with one mask gives a list of {\"score\", \"token\", \"token_str\", \"sequence\"}, one with "
    "several masks a list of such lists, as the fill-mask pipeline of transformers does.",
    examples,
    options,
    sizeof(struct args),
    NULL,
    run,
};
