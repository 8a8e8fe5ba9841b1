/* cmd_generate.c — roformer generate: text from a causal model.
 *
 *     [CLS] prompt | token token ... [SEP]
 *
 * A token is printed as soon as it is there: decoding is such that the text of n tokens begins that of n + 1.        */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/shell/commands.h"
#include "cli/shell/io.h"
#include "roformer/pipeline.h"

struct args {
    const char *model, *prompt_file;
    int64_t seed;
    rf_generate_options o;
    int json, full, dtype;
    cli_list texts;
};

typedef struct job {
    const struct args *a;
    cli_io *io;
    cli_model m;
    rf_generate_options o;
    rf_encoding e;              /* the prompt's tokens */
    json_t *seen;               /* how often each prompt has come */
    int64_t tokens;
    double seconds;
} job;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static rf_status no_memory(const job *j) { return rf_fail(&j->io->why, RF_ENOMEM, "out of memory"); }

/* ---- one text ---------------------------------------------------------------------------------------------------- */

/* Equal prompts of one call are told apart by how many came before: each gets a sample of its own. */
static rf_status count_prompt(job *j, const char *text, size_t size, rf_error *why)
{
    const rf_status status = rf_encode(j->m.t, text, size, NULL, 0, 0, RF_ENCODE_PLAIN, &j->e, NULL, why);
    if (status) return status;
    char *key = malloc(9 * j->e.n + 1), *to = key;
    if (!key) return rf_fail(why, RF_ENOMEM, "out of memory: a prompt of %zu tokens", j->e.n);
    *key = 0;
    for (size_t i = 0; i < j->e.n; i++) to += snprintf(to, 10, "%x ", (unsigned)j->e.id[i]);
    const json_int_t before = json_integer_value(json_object_get(j->seen, key));
    const bool kept = !json_object_set_new(j->seen, key, json_integer(before + 1));
    free(key);
    j->o.occurrence = (uint64_t)before;
    return kept ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: the prompts so far");
}

static int show(void *user, const char *text, size_t size)
{
    job *j = user;
    if (!j->a->json) {
        fwrite(text, 1, size, stdout);
        if (cli_flush(&j->io->why)) return 1;
    }
    return cli_stopped() != 0;
}

static rf_status print_json(const job *j, const char *text, size_t size, const rf_generation *g)
{
    static const char *const reason[] = {"length", "stop", "interrupted"};
    const size_t kept = j->a->full ? size : 0;
    char *whole = malloc(kept + g->bytes + 1);
    if (!whole) return no_memory(j);
    memcpy(whole, text, kept);
    memcpy(whole + kept, g->text, g->bytes);
    json_t *ids = json_array(), *logprobs = json_array();
    for (int64_t i = 0; i < g->n; i++) {
        cli_json_add(&ids, json_integer(g->id[i]));
        cli_json_add(&logprobs, json_real(g->logprob[i]));
    }
    json_t *line = json_pack("{s:o, s:s, s:I, s:o, s:o}", "generated_text", cli_text_json(whole, kept + g->bytes),
                             "finish_reason", reason[g->end], "prompt_tokens", (json_int_t)g->prompt_tokens, "ids", ids,
                             "logprobs", logprobs);
    free(whole);
    return cli_print_json(line, 0, &j->io->why);
}

/* A failure that is the text's own is left in `inner`, to be told with its line; any other in io->why. */
static rf_status answer(job *j, const char *text, size_t size, rf_error *inner)
{
    rf_generation g = {0};
    const double begin = now();
    rf_status status = count_prompt(j, text, size, inner);
    if (status) return status;
    if (!j->a->json && j->a->full) fwrite(text, 1, size, stdout);
    status = rf_generate(j->m.pipeline, text, size, &j->o, show, j, &g, inner);
    j->seconds += now() - begin;
    j->tokens += g.n + (g.end == RF_GENERATE_STOP);
    if (!j->a->json && putchar('\n') == EOF) return cli_flush(&j->io->why);
    if (status || j->io->why.code) return status ? status : j->io->why.code;
    return j->a->json ? print_json(j, text, size, &g) : cli_flush(&j->io->why);
}

/* ---- all texts --------------------------------------------------------------------------------------------------- */

/* Any of these asks for sampling. */
static const char *const drawing[] = {"temperature", "top_k", "top_p"};

static rf_status check(const job *j, rf_error *why)
{
    const cli_parsed *p = j->io->parsed;
    if (j->a->prompt_file && j->a->texts.n) return rf_fail(why, RF_EARG, "--prompt_file and TEXT exclude one another");
    for (size_t i = 0; i < sizeof drawing / sizeof *drawing; i++)
        if (cli_given(p, drawing[i]) && cli_given(p, "do_sample") && !j->a->o.do_sample)
            return rf_fail(why, RF_EARG, "--do_sample=false and --%s exclude one another", drawing[i]);
    return RF_OK;
}

static rf_status prepare(job *j)
{
    rf_error *why = &j->io->why;
    rf_status status = cli_model_open(j->io, j->a->model, cli_dtype(j->a->dtype), &j->m);
    if (status) return status;
    if (!j->m.config->is_decoder)
        return rf_fail(why, RF_EUNSUPPORTED,
                       "the model sees tokens on both sides (is_decoder false), so it cannot write text; "
                       "roformer pretrain --objective clm trains one that can");
    j->o = j->a->o;
    j->o.seed = (uint64_t)j->a->seed;
    for (size_t i = 0; i < sizeof drawing / sizeof *drawing; i++)
        if (cli_given(j->io->parsed, drawing[i])) j->o.do_sample = 1;
    j->seen = json_object();
    return j->seen ? RF_OK : no_memory(j);
}

static rf_status from_texts(job *j)
{
    cli_texts in = {0};
    const char *text;
    size_t size;
    rf_status status = cli_texts_open(j->io->ctx, &in, &j->a->texts, &j->io->why);
    while (!status && !(status = cli_texts_next(&in, &text, &size, &j->io->why)) && text && !cli_stopped()) {
        rf_error inner = {0};
        status = answer(j, text, size, &inner);
        if (inner.code) cli_texts_fail(&in, cli_texts_number(&in), &j->io->why, &inner);
    }
    cli_texts_close(&in);
    return status;
}

/* The whole file is one prompt, without the end of its last line. */
static rf_status from_file(job *j)
{
    cli_lines in;
    const char *line;
    size_t size, n = 0;
    char *text = NULL;
    FILE *all = open_memstream(&text, &n);
    if (!all) return no_memory(j);
    rf_status status = cli_lines_open(j->io->ctx, &in, j->a->prompt_file, &j->io->why);
    for (bool first = true; !status && !(status = cli_lines_next(&in, &line, &size, &j->io->why)) && line;
         first = false) {
        if (!first) fputc('\n', all);
        fwrite(line, 1, size, all);
    }
    const bool whole = !fclose(all);
    cli_lines_close(&in);
    if (!status && !whole) status = no_memory(j);
    rf_error inner = {0};
    if (!status && !cli_stopped()) status = answer(j, text, n, &inner);
    if (inner.code) rf_fail(&j->io->why, inner.code, "%s", inner.text);
    free(text);
    return status;
}

static int run(void *arguments, cli_io *io)
{
    job j = {.a = arguments, .io = io};
    rf_encoding_init(&j.e, io->ctx);
    cli_signals_catch();
    rf_status status = check(&j, &io->why);
    if (!status) status = prepare(&j);
    if (!status) status = j.a->prompt_file ? from_file(&j) : from_texts(&j);
    if (!status && j.tokens && j.seconds > 0 && isatty(2))
        cli_note(io, "%lld tokens, %.1f in a second", (long long)j.tokens, (double)j.tokens / j.seconds);
    rf_encoding_clear(&j.e);
    json_decref(j.seen);
    cli_model_close(&j.m);
    return cli_exit(io);
}

static void defaults(void *arguments)
{
    struct args *a = arguments;
    rf_generate_defaults(&a->o);
    a->seed = (int64_t)a->o.seed;
    a->full = 1;
}

#define A(field) offsetof(struct args, field)
static const cli_option options[] = {
    CLI_MODEL_OPTION_OF(struct args, model, "folder of a causal model (the shipped model is not)"),
    CLI_DTYPE_OPTION(struct args, dtype),
    {"prompt_file", 'f', CLI_FILE, A(prompt_file), "FILE", NULL, 0, 0, NULL,
     "the whole file is one prompt; - is standard input", NULL},
    {"max_new_tokens", 'n', CLI_INT, A(o.max_new_tokens), "N", NULL, 0, RF_NEW_TOKENS_MOST, NULL, "tokens at most",
     NULL},
    {"do_sample", 0, CLI_FLAG, A(o.do_sample), NULL, NULL, 0, 0, NULL,
     "sample tokens by their probabilities; also when one of the next three is given", NULL},
    {"temperature", 0, CLI_REAL, A(o.temperature), "X", NULL, RF_TEMPERATURE_LEAST, RF_TEMPERATURE_MOST, NULL,
     "below 1: likely tokens become likelier", NULL},
    {"top_k", 'k', CLI_INT, A(o.top_k), "N", NULL, 0, RF_TOP_K_MOST, NULL,
     "top-k sampling: draw from the N likeliest tokens; 0: all", NULL},
    {"top_p", 'p', CLI_REAL, A(o.top_p), "P", NULL, RF_TOP_P_LEAST, 1, NULL,
     "nucleus sampling: draw from the fewest tokens whose probabilities add up to P", NULL},
    {"repetition_penalty", 0, CLI_REAL, A(o.repetition_penalty), "X", NULL, RF_REPETITION_PENALTY_LEAST,
     RF_REPETITION_PENALTY_MOST, NULL, "above 1: tokens of the text so far become less likely", NULL},
    {"seed", 0, CLI_INT, A(seed), "N", NULL, 0, 9.2e18, NULL, "decides what is drawn", NULL},
    {"return_full_text", 0, CLI_FLAG, A(full), NULL, NULL, 0, 0, NULL, "the prompt first (on)", NULL},
    {"json", 0, CLI_FLAG, A(json), NULL, NULL, 0, 0, NULL, "one line of JSON for each prompt", NULL},
    {"TEXT", 0, CLI_OPERANDS, A(texts), NULL, NULL, 0, 1 << 20, NULL, "", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "roformer generate -m my-causal-model \"The model\"",
    "roformer generate -m my-causal-model --top_p 0.9 --temperature 0.8 --seed 7 -n 200 \"The model\"",
    "echo \"The model\" | roformer generate -m my-causal-model --json",
    NULL,
};

const cli_command cmd_generate = {
    "generate",
    "[TEXT...]",
    "generate text with a causal model",
    "Each TEXT, each line of standard input when there is none, or the whole of --prompt_file is a prompt.  Without "
    "sampling the likeliest token is taken each time.  A text ends with [SEP], which training puts at the end of "
    "documents, or after --max_new_tokens.  Tokens are printed as they come; a prompt and a seed give the same text, "
    "whatever the number of threads and the other prompts; a prompt that comes again gets another sample.\n"
    "With --json: {\"generated_text\", \"finish_reason\": \"stop\" or \"length\", \"prompt_tokens\", \"ids\", "
    "\"logprobs\"}, the last two of the new tokens, by the model's own distribution.",
    examples,
    options,
    sizeof(struct args),
    defaults,
    run,
};
