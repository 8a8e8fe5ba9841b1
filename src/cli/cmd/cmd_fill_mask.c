/* cmd_fill_mask.c — roformer fill-mask: the most likely words for each [MASK].
 *
 * JSON output has the form of the fill-mask pipeline of transformers: {score, token, token_str, sequence}. */
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "cli/shell/commands.h"
#include "cli/io/io.h"
#include "cli/shared/unread.h"

struct args {
    const char *model;
    int64_t top_k, max_length;
    int json, dtype;
    cli_list targets, texts;
};

enum { BATCH = 32, BATCH_BYTES = 1 << 13 };

typedef struct job {
    const struct args *a;
    cli_io *io;
    cli_model m;
    rf_fill_options o;
    int32_t *target;            /* ids to choose from, NULL: all */
    int targets;
    cli_window window;
    uint64_t first;             /* the number of the window's first text                                              */
    bool printed, unread;
} job;

/* ---- targets ----------------------------------------------------------------------------------------------------- */

static bool already(const job *j, int32_t id)
{
    for (int i = 0; i < j->targets; i++)
        if (j->target[i] == id) return true;
    return false;
}

static rf_status first_piece(const job *j, const char *word, int32_t *id, size_t *pieces)
{
    rf_encoding e;
    rf_encoding_init(&e, j->io->ctx);
    const rf_status status = rf_encode(j->m.t, word, strlen(word), NULL, 0, 0, RF_ENCODE_PLAIN, &e, NULL, &j->io->why);
    *pieces = e.n;
    if (!status && e.n) *id = e.id[0];
    rf_encoding_clear(&e);
    return status;
}

static bool is_file(const char *path)
{
    rf__os_state st;
    return !rf__os_look(path, &st) && st.kind == RF__OS_FILE;
}

/* A word that is not in the vocabulary is replaced by its first piece, as in transformers. */
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
            size_t pieces;
            const rf_status status = first_piece(j, word, &id, &pieces);
            if (status) return status;
            if (id < 0 || id == rf_tokenizer_unk(j->m.t)) {
                cli_note(j->io, "--target %.60s: not in the vocabulary, ignored", word);
                continue;
            }
            cli_note(j->io, pieces > 1 ? "--target %.60s: not in the vocabulary, its first piece %.60s is used"
                                       : "--target %.60s: the vocabulary has it as %.60s", word,
                     rf_tokenizer_token(j->m.t, id));
        }
        if (!already(j, id)) j->target[j->targets++] = id;
    }
    if (!j->targets) return rf_fail(why, RF_EARG, "--target: expected a word of the vocabulary, got none");
    return RF_OK;
}

/* ---- printing ---------------------------------------------------------------------------------------------------- */

static json_t *predictions_json(const job *j, const rf_mask *mask, rf_error *why)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < mask->words; i++) {
        const int32_t id = mask->word[i].id;
        size_t size[2] = {0, 0};
        char *word = rf_decode(j->m.t, &id, 1, 0, 0, &size[0]);
        char *whole = word ? rf_fill_sequence(j->m.pipeline, mask, id, &size[1]) : NULL;
        json_t *one = json_object();
        if (whole) {
            cli_json_set(&one, "score", json_real((double)mask->word[i].score));
            cli_json_set(&one, "token", json_integer(id));
            cli_json_set(&one, "token_str", cli_text_json(word, size[0]));
            cli_json_set(&one, "sequence", cli_text_json(whole, size[1]));
        }
        cli_json_add(&list, one);
        rf_text_free(j->m.t, word);
        rf_text_free(j->m.t, whole);
        if (!whole) {
            rf_fail(why, RF_ENOMEM, "out of memory: the text of a prediction");
            break;
        }
    }
    return list;
}

static rf_status print_table(const job *j, const rf_mask *mask, rf_error *why)
{
    char bar[128];
    const char *bold = j->io->color_out ? "\033[1m" : "", *cyan = j->io->color_out ? "\033[36m" : "";
    const char *plain = j->io->color_out ? "\033[0m" : "";
    int width = 0;
    for (int64_t i = 0; i < mask->words; i++) {
        const int cells = cli_put_token(NULL, mask->word[i].token);
        width = cells > width ? cells : width;
    }
    for (int64_t i = 0; i < mask->words; i++) {
        const rf_mask_word *w = &mask->word[i];
        cli_bar((double)w->score, 30, bar, sizeof bar);
        for (size_t n = strlen(bar); n && bar[n - 1] == ' '; n--) bar[n - 1] = 0;
        printf("  %s", bold);
        const int cells = cli_put_token(stdout, w->token);
        printf("%s%*s  %6.2f %%  %s%s%s\n", plain, width - cells, "", 100 * (double)w->score, cyan, bar, plain);
    }
    return ferror(stdout) ? cli_flush(why) : RF_OK;
}

/* Prints the masks of one text. */
static rf_status answer(job *j, const char *text, size_t size, const rf_mask *mask)
{
    rf_error *why = &j->io->why;
    const bool listed = j->a->json && mask->of > 1;
    json_t *all = listed ? json_array() : NULL;
    rf_status status = RF_OK;
    if (!j->a->json) {
        if (j->printed) putchar('\n');
        cli_put_text(text, size);
        putchar('\n');
    }
    j->printed = true;
    for (int64_t m = 0; m < mask->of && !status; m++) {
        if (!j->a->json) {
            if (mask->of > 1) printf(" mask %lld of %lld\n", (long long)m + 1, (long long)mask->of);
            status = print_table(j, mask + m, why);
            continue;
        }
        json_t *one = predictions_json(j, mask + m, why);
        status = why->code;
        if (listed) cli_json_add(&all, one);
        else if (!status) status = cli_print_json(one, 0, why);
        else json_decref(one);
    }
    if (listed && !status) return cli_print_json(all, 0, why);
    json_decref(all);
    return status;
}

/* ---- a batch of texts -------------------------------------------------------------------------------------------- */

/* Texts before one that cannot be read are answered. */
static rf_status answer_batch(job *j, const cli_texts *in)
{
    cli_window *w = &j->window;
    rf_error *why = &j->io->why, inner = {0};
    const rf_texts_report *r;
    const rf_mask *mask = NULL;
    int64_t masks = 0, n = w->n;
    rf_status status = RF_OK;
    if (!n) return RF_OK;
    const char *const *text = cli_window_texts(w);
    rf_fill_mask(j->m.pipeline, text, w->size, n, &j->o, &mask, &masks, &r, &inner);
    if (inner.code && r->bad < 0) return rf_fail(why, inner.code, "%s", inner.text);
    for (int64_t i = 0; i < r->done && i < n; i++) cli_note_unread(j->io, j->m.t, text[i], w->size[i], &j->unread);
    for (int64_t m = 0; m < masks && !status; m += mask[m].of)
        status = answer(j, text[mask[m].text], w->size[mask[m].text], mask + m);
    if (!status) status = cli_flush(why);
    if (inner.code == RF_EDATA && !in->from_lines && is_file(text[r->bad])) {
        inner.code = RF_OK;
        rf_fail(&inner, RF_EDATA, "TEXT: expected a mask token, got the name of a file; read its lines with "
                "\"< %.200s\"", text[r->bad]);
    }
    cli_window_empty(w);
    if (status || !inner.code) return status;
    return cli_texts_fail(in, j->first + (uint64_t)r->bad, why, &inner);
}

static rf_status prepare(job *j)
{
    rf_status status = cli_model_open(j->io, j->a->model, cli_dtype(j->a->dtype), &j->m);
    if (status) return status;
    rf_fill_defaults(&j->o);
    j->o.top_k = j->a->top_k;
    j->o.max_length = j->a->max_length;
    status = rf_fill_mask(j->m.pipeline, NULL, NULL, 0, &j->o, NULL, NULL, NULL, &j->io->why);    /* can it at all? */
    if (!status) status = find_targets(j);
    j->o.target = j->target;
    j->o.targets = j->targets;
    return status;
}

static int run(void *arguments, cli_io *io)
{
    job j = {.a = arguments, .io = io};
    cli_texts in = {0};
    cli_signals_catch();
    rf_status status = cli_texts_open(io->ctx, &in, &j.a->texts, &io->why);
    if (!status) status = prepare(&j);
    while (!status) {
        const char *text;
        size_t size;
        rf_status bad = cli_texts_next(&in, &text, &size, &io->why);
        if (!j.window.n) j.first = cli_texts_number(&in);
        if (!bad && text) bad = cli_window_add(&j.window, text, size, &io->why);
        const bool full = j.window.n == BATCH || j.window.used >= BATCH_BYTES;
        if (bad || !text || full || !cli_texts_ready(&in)) {
            const rf_error first = io->why;                 /* results before a malformed line are still printed */
            io->why = (rf_error){0};
            status = answer_batch(&j, &in);
            if (!status && bad) {
                io->why = first;
                status = bad;
            }
        }
        if (!text) break;
    }
    cli_texts_close(&in);
    cli_window_clear(&j.window);
    free(j.target);
    cli_model_close(&j.m);
    return cli_exit(io);
}

#define A(field) offsetof(struct args, field)
static const cli_option options[] = {
    CLI_MODEL_OPTION(struct args, model),
    CLI_DTYPE_OPTION(struct args, dtype),
    {"top-k", 'k', CLI_INT, A(top_k), "N", "5", 1, 1000000, NULL, "number of predictions per mask", NULL},
    {"target", 0, CLI_EACH, A(targets), "WORD", NULL, 0, 0, NULL, "predict only the given words; may be repeated",
     "targets"},
    {"max-length", 0, CLI_INT, A(max_length), "N", "0", 0, 1 << 20, NULL,
     "truncate texts to N tokens; 0: no truncation", NULL},
    {"json", 0, CLI_FLAG, A(json), NULL, NULL, 0, 0, NULL, "print one line of JSON per text", NULL},
    {"TEXT", 0, CLI_OPERANDS, A(texts), NULL, NULL, 0, 1 << 20, NULL, "", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "roformer fill-mask \"She won the gold [MASK] at the Olympic Games.\"",
    "roformer fill-mask -k 3 --target red --target blue \"The sky is [MASK].\"",
    "echo \"She closed the [MASK].\" | roformer fill-mask --json",
    NULL,
};

const cli_command cmd_fill_mask = {
    "fill-mask",
    "[TEXT...]",
    "predict masked tokens",
    "Each TEXT must contain at least one [MASK].  Without TEXT, each line of standard input is a text.  Prints the "
    "most likely words for each mask.\n"
    "With --json, a text with one mask gives a list of {\"score\", \"token\", \"token_str\", \"sequence\"}.  A text "
    "with several masks gives a list of such lists.  This is the format of the fill-mask pipeline of transformers.",
    examples,
    options,
    sizeof(struct args),
    NULL,
    run,
};
