/* cmd_generate.c — roformer generate: generates text with a causal model.
 *
 *     [CLS] prompt | token token ... [SEP]
 *
 * All available prompts are generated together and printed in order: the first unfinished text as it is generated, the
 * others, as far as they are complete, after it. */
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "cli/shell/commands.h"
#include "cli/shared/generating.h"
#include "cli/io/io.h"
#include "roformer/pipeline.h"
#include "roformer/model.h"

struct args {
    const char *model, *prompt_file;
    int64_t seed, memory;
    rf_generate_options o;
    int json, full, logprobs, dtype, cache_dtype, early;
    cli_list texts, stop;
};

/* What is to be printed of a text. */
typedef struct output { cli_text text; bool begun, ended; rf_error why; } output;

typedef struct job {
    const struct args *a;
    cli_io *io;
    cli_model m;
    rf_generate_options o;
    bool full;                  /* the prompt first */
    rf_encoding e;              /* a prompt's tokens */
    json_t *seen;               /* how often each prompt has occurred */
    cli_window window;
    uint64_t first;             /* the number of the window's first text */
    uint64_t *occurrence;       /* [window.n] */
    output *out;                /* [window.n num_return_sequences] */
    int64_t head;               /* the first text that is not complete */
    int64_t tokens;
    double seconds;
} job;

/* ---- output ------------------------------------------------------------------------------------------------------ */

/* Prints complete texts, and the available part of the next one; not before its first token, which may never come. */
static int print_ready(job *j)
{
    const int64_t texts = j->window.n * j->o.num_return_sequences;
    rf_error *why = &j->io->why;
    for (; j->head < texts && j->out[j->head].ended && !j->out[j->head].why.code; j->head++)
        if (!cli_text_print(&j->out[j->head].text)) break;
    if (j->head < texts && j->out[j->head].begun) cli_text_print(&j->out[j->head].text);
    return cli_flush(why) || cli_stopped();
}

static int show(void *user, int64_t text, const char *piece, size_t size)
{
    job *j = user;
    j->out[text].begun = true;
    if (j->a->json) return cli_stopped() != 0;
    if (!cli_text_add(&j->out[text].text, piece, size)) cli_no_memory(j->io);
    if (j->io->why.code) return 1;
    return text == j->head ? print_ready(j) : cli_stopped() != 0;
}

static json_t *as_json(const job *j, const char *text, size_t size, const rf_generation *g)
{
    static const char *const reason[] = {"length", "stop", "interrupted"};
    const size_t kept = j->full ? size : 0;
    char *whole = malloc(kept + g->bytes + 1);
    if (!whole) return NULL;
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
    return line;
}

/* Log-probability, number and text of each new token, the text quoted; and an empty line. */
static bool append_logprobs(const job *j, output *x, const rf_generation *g)
{
    char number[64];
    bool good = true;
    for (int64_t i = 0; i < g->n && good; i++) {
        const char *token = rf_tokenizer_token(j->m.t, g->id[i]);
        json_t *quoted = token ? cli_text_json(token, strlen(token)) : NULL;
        snprintf(number, sizeof number, "%.4f\t%d\t", g->logprob[i], (int)g->id[i]);
        good = cli_text_add(&x->text, number, strlen(number));
        good = cli_text_add_json(&x->text, quoted, JSON_ENCODE_ANY) && good && cli_text_add(&x->text, "\n", 1);
    }
    return good && cli_text_add(&x->text, "\n", 1);
}

static int take_text(void *user, int64_t number, const rf_generation *g, const rf_error *why)
{
    job *j = user;
    output *x = &j->out[number];
    const int64_t i = number / j->o.num_return_sequences;
    x->ended = true;
    if (why) x->why = *why;
    if (g) j->tokens += g->n + (g->end == RF_GENERATE_STOP);
    json_t *line = g && j->a->json ? as_json(j, j->window.text[i], j->window.size[i], g) : NULL;
    if (g && j->a->json && !cli_text_add_json(&x->text, line, JSON_REAL_PRECISION(9) | JSON_ENCODE_ANY))
        cli_no_memory(j->io);
    if (g && !cli_text_add(&x->text, "\n", 1)) cli_no_memory(j->io);
    if (g && j->a->logprobs && !j->a->json && !append_logprobs(j, x, g)) cli_no_memory(j->io);
    return j->io->why.code || (number == j->head && print_ready(j)) || cli_stopped();
}

/* ---- a window of texts ------------------------------------------------------------------------------------------- */

/* Equal prompts of one call are numbered: each gets its own sample. */
static rf_status count_prompt(job *j, const char *text, size_t size, uint64_t *occurrence, rf_error *why)
{
    *occurrence = 0;
    if (rf_encode(j->m.t, text, size, NULL, 0, 0, RF_ENCODE_PLAIN, &j->e, NULL, NULL)) return RF_OK;    /* reported */
    char *key = malloc(9 * j->e.n + 1), *to = key;
    if (!key) return rf_fail(why, RF_ENOMEM, "out of memory: a prompt of %zu tokens", j->e.n);
    *key = 0;
    for (size_t i = 0; i < j->e.n; i++) to += snprintf(to, 10, "%x ", (unsigned)j->e.id[i]);
    const json_int_t before = json_integer_value(json_object_get(j->seen, key));
    const bool kept = !json_object_set_new(j->seen, key, json_integer(before + 1));
    free(key);
    *occurrence = (uint64_t)before;
    return kept ? RF_OK : rf_fail(why, RF_ENOMEM, "out of memory: the prompts so far");
}

/* Allocates the output of each text, which begins with its prompt. */
static rf_status begin_texts(job *j, const char *const *text)
{
    const int64_t n = j->window.n, R = j->o.num_return_sequences;
    rf_status status = RF_OK;
    j->head = 0;
    j->occurrence = calloc((size_t)n, sizeof *j->occurrence);
    j->out = calloc((size_t)(n * R), sizeof *j->out);
    if (!j->occurrence || !j->out) return cli_no_memory(j->io);
    for (int64_t i = 0; i < n && !status; i++)
        status = count_prompt(j, text[i], j->window.size[i], &j->occurrence[i], &j->io->why);
    for (int64_t i = 0; i < n * R && !status && !j->a->json && j->full; i++)
        if (!cli_text_add(&j->out[i].text, text[i / R], j->window.size[i / R])) status = cli_no_memory(j->io);
    return status;
}

static void end_texts(job *j)
{
    for (int64_t i = 0; j->out && i < j->window.n * j->o.num_return_sequences; i++) free(j->out[i].text.at);
    free(j->out);
    free(j->occurrence);
    j->out = NULL;
    j->occurrence = NULL;
    cli_window_empty(&j->window);
}

/* The first error of a text, in their order; texts before it have been printed. */
static rf_status answer(void *user, const cli_texts *in)
{
    job *j = user;
    const int64_t n = j->window.n, R = j->o.num_return_sequences;
    const char *const *text = cli_window_texts(&j->window);
    rf_error *why = &j->io->why;
    if (!n) return RF_OK;
    const double begun = cli_seconds();
    rf_status status = begin_texts(j, text);
    if (!status)
        status = rf_generate_texts(j->m.pipeline, text, j->window.size, j->occurrence, n, &j->o, show, take_text, j,
                                   why);
    j->seconds += cli_seconds() - begun;
    if (!status && why->code) status = why->code;
    if (!status && j->head < n * R) {
        const output *x = &j->out[j->head];
        if (x->why.code && in) status = cli_texts_fail(in, j->first + (uint64_t)(j->head / R), why, &x->why);
        else if (x->why.code) status = rf_fail(why, x->why.code, "%s: %s", j->a->prompt_file, x->why.text);
        else if (!j->a->json && x->begun && cli_stopped()) putchar('\n');
    }
    end_texts(j);
    return status;
}

/* ---- all texts --------------------------------------------------------------------------------------------------- */

static rf_status check(const job *j, rf_error *why)
{
    if (j->a->prompt_file && j->a->texts.n) return rf_fail(why, RF_EARG,
                                                           "--prompt_file, TEXT: expected one of them, got both");
    return cli_generate_check(j->io->parsed, &j->a->o, why);
}

/* Command-line options take precedence over those of the model's files. */
static rf_status read_options(job *j)
{
    const cli_parsed *p = j->io->parsed;
    rf_error *why = &j->io->why;
    const rf_status status = rf_generate_model_check(j->m.model, why);
    if (status) return status;
    rf_generate_model_defaults(j->m.model, &j->o);
    cli_generate_given(p, &j->a->o, &j->o);
    j->o.seed = (uint64_t)j->a->seed;
    if (j->o.num_return_sequences > 1 && j->o.num_beams == 1 && !cli_given(p, "do_sample")) j->o.do_sample = 1;
    if (cli_given(p, "early_stopping")) j->o.early_stopping = (rf_stop_search)j->a->early;
    j->o.cache_type = (rf_type)j->a->cache_dtype;
    j->o.stop_string = j->a->stop.item;
    j->o.stop_strings = j->a->stop.n;
    const bool beams = j->o.num_beams > 1;
    if (cli_needs(p, "length_penalty", beams, "--num_beams above 1", why)) return why->code;
    return cli_needs(p, "early_stopping", beams, "--num_beams above 1", why);
}

static rf_status prepare(job *j)
{
    rf_error *why = &j->io->why;
    rf_status status = cli_model_open(j->io, j->a->model, cli_dtype(j->a->dtype), &j->m);
    if (status) return status;
    if (j->m.config->is_encoder_decoder)
        return rf_fail(why, RF_EUNSUPPORTED,
                       "%s: expected a causal model, got a translation model; use roformer translate", j->a->model);
    if (!j->m.config->is_decoder)
        return rf_fail(why, RF_EUNSUPPORTED,
                       "%s: expected a causal model, got one with bidirectional attention (is_decoder false); roformer "
                       "pretrain --objective clm trains a causal one", j->a->model ? j->a->model : "the shipped model");
    j->full = j->a->full && (!j->m.config->linear_pooler || cli_given(j->io->parsed, "return_full_text"));
    status = read_options(j);
    if (!status && j->a->memory) status = rf_sequence_limit(j->m.session, (size_t)j->a->memory << 20, why);
    if (status) return status;
    j->seen = json_object();
    return j->seen ? RF_OK : cli_no_memory(j->io);
}

/* The whole file is one prompt, without the end of its last line. */
static rf_status from_file(job *j)
{
    cli_lines in;
    const char *line;
    size_t size;
    rf__os_text all;
    if (!rf__os_text_open(&all)) return cli_no_memory(j->io);
    rf_status status = cli_lines_open(j->io->ctx, &in, j->a->prompt_file, &j->io->why);
    for (bool first = true; !status && !(status = cli_lines_next(&in, &line, &size, &j->io->why)) && line;
         first = false) {
        if (!first) fputc('\n', all.to);
        fwrite(line, 1, size, all.to);
    }
    const bool whole = rf__os_text_close(&all);
    cli_lines_close(&in);
    if (!status && !whole) status = cli_no_memory(j->io);
    if (!status && !cli_stopped()) status = cli_window_add(&j->window, all.text, all.size, &j->io->why);
    if (!status) status = answer(j, NULL);
    free(all.text);
    return status;
}

static int run(void *arguments, cli_io *io)
{
    job j = {.a = arguments, .io = io};
    rf_encoding_init(&j.e, io->ctx);
    cli_signals_catch();
    rf_status status = check(&j, &io->why);
    if (!status) status = prepare(&j);
    if (!status)
        status = j.a->prompt_file ? from_file(&j)
                                  : cli_window_run(io, &j.a->texts, &j.window, &j.first, answer, &j);
    if (!status && j.tokens && j.seconds > 0 && rf__os_terminal(2))
        cli_note(io, "%lld tokens, %.1f in a second", (long long)j.tokens, (double)j.tokens / j.seconds);
    rf_encoding_clear(&j.e);
    json_decref(j.seen);
    cli_window_clear(&j.window);
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
    CLI_MODEL_OPTION_OF(struct args, model, "folder of a causal model or RoFormer-Sim (the shipped model is neither)"),
    CLI_DTYPE_OPTION(struct args, dtype),
    {"prompt_file", 'f', CLI_FILE, A(prompt_file), "FILE", NULL, 0, 0, NULL,
     "read the whole file as one prompt; - is standard input", NULL},
    {"max_new_tokens", 'n', CLI_INT, A(o.max_new_tokens), "N", NULL, 0, RF_NEW_TOKENS_MOST, NULL,
     "maximum number of new tokens", NULL},
    {"min_new_tokens", 0, CLI_INT, A(o.min_new_tokens), "N", NULL, 0, RF_NEW_TOKENS_MOST, NULL,
     "do not end a text before it has N new tokens; 0: no minimum", NULL},
    {"do_sample", 0, CLI_FLAG, A(o.do_sample), NULL, NULL, 0, 0, NULL,
     "sample tokens instead of greedy decoding; implied by the five options below, and by --num_return_sequences "
     "without beams", NULL},
    CLI_SAMPLING_OPTIONS(struct args),
    {"typical_p", 0, CLI_REAL, A(o.typical_p), "P", NULL, RF_TOP_P_LEAST, 1, NULL,
     "typical sampling: sample from the tokens whose information content is closest to the entropy, as many as needed "
     "for probabilities that sum to at least P", NULL},
    {"num_return_sequences", 0, CLI_INT, A(o.num_return_sequences), "N", NULL, 1, RF_RETURN_SEQUENCES_MOST, NULL,
     "number of texts per prompt: samples, or the best ones of --num_beams", NULL},
    {"repetition_penalty", 0, CLI_REAL, A(o.repetition_penalty), "X", NULL, RF_REPETITION_PENALTY_LEAST,
     RF_REPETITION_PENALTY_MOST, NULL, "values above 1 make tokens that occur in the text so far less likely", NULL},
    {"presence_penalty", 0, CLI_REAL, A(o.presence_penalty), "X", NULL, -RF_PRESENCE_PENALTY_MOST,
     RF_PRESENCE_PENALTY_MOST, NULL, "subtract X from the score of each token that the new text has", NULL},
    {"frequency_penalty", 0, CLI_REAL, A(o.frequency_penalty), "X", NULL, -RF_PRESENCE_PENALTY_MOST,
     RF_PRESENCE_PENALTY_MOST, NULL, "subtract X from it for each time that the new text has it", NULL},
    {"no_repeat_ngram_size", 0, CLI_INT, A(o.no_repeat_ngram_size), "N", NULL, 0, RF_NEW_TOKENS_MOST, NULL,
     "do not repeat any sequence of N tokens, including those of the prompt; 0: off", NULL},
    {"special_tokens", 0, CLI_FLAG, A(o.special_tokens), NULL, NULL, 0, 0, NULL,
     "allow [PAD], [UNK], [CLS] and [MASK] to be generated (default: never); they appear in the ids of --json, but "
     "not in the text", NULL},
    {"stop", 0, CLI_EACH, A(stop), "STRING", NULL, 0, 0, NULL, "stop after STRING has been generated; may be repeated",
     NULL},
    {"num_beams", 0, CLI_INT, A(o.num_beams), "N", NULL, 1, RF_BATCH_SIZE_MOST, NULL,
     "beam search with N beams; 1: no beam search; with --num_return_sequences, the best texts are printed", NULL},
    {"length_penalty", 0, CLI_REAL, A(o.length_penalty), "X", NULL, -RF_LENGTH_PENALTY_MOST, RF_LENGTH_PENALTY_MOST,
     NULL,
     "beam search: divide log-probabilities by the number of tokens to the power of X; values above 0 favor longer "
     "texts", NULL},
    {"early_stopping", 0, CLI_CHOICE, A(early), "false|true|never", "false", 0, 0, NULL,
     "when to end beam search once N texts are complete; true: at once; false: when no current beam has a better "
     "score; never: only when no beam can still reach a better score", NULL},
    {"seed", 0, CLI_INT, A(seed), "N", NULL, 0, 9.2e18, NULL, "random seed of sampling", NULL},
    {"batch_size", 'b', CLI_INT, A(o.batch_size), "N", NULL, 1, RF_BATCH_SIZE_MOST, NULL,
     "maximum number of texts to generate at the same time; does not change the result", NULL},
    {"cache_dtype", 0, CLI_CHOICE, A(cache_dtype), "f32|bf16", "f32", 0, 0, NULL,
     "data type of the KV cache; bf16 halves its memory", NULL},
    {"cache_memory", 0, CLI_INT, A(memory), "MB", NULL, 0, 1 << 30, NULL,
     "maximum memory of the KV cache; further texts wait until memory is free; 0: no limit, except that the prompts "
     "must fit into the available memory", NULL},
    {"return_full_text", 0, CLI_FLAG, A(full), NULL, NULL, 0, 0, NULL,
     "print the prompt before the new text (default: on; RoFormer-Sim: off)", NULL},
    {"logprobs", 0, CLI_FLAG, A(logprobs), NULL, NULL, 0, 0, NULL,
     "after each text, print one line per new token: its log-probability before sampling options are applied, its id, "
     "and the quoted token; then a blank line.  --json includes these numbers without this option", NULL},
    {"json", 0, CLI_FLAG, A(json), NULL, NULL, 0, 0, NULL, "print one line of JSON per prompt", NULL},
    {"TEXT", 0, CLI_OPERANDS, A(texts), NULL, NULL, 0, 1 << 20, NULL, "", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "roformer generate -m my-causal-model \"The model\"",
    "roformer generate -m my-causal-model --top_p 0.9 --temperature 0.8 --seed 7 -n 200 \"The model\"",
    "roformer generate -m my-causal-model --min_p 0.1 --num_return_sequences 3 --stop . \"The model\"",
    "printf 'The model\\nA dog\\n' | roformer generate -m my-causal-model -n 20 --no_repeat_ngram_size 3",
    "roformer generate -m my-causal-model --num_beams 4 --length_penalty 0.8 \"The model\"",
    "echo \"The model\" | roformer generate -m my-causal-model --json",
    "roformer generate -m my-causal-model -n 8 --logprobs \"The model\"",
    NULL,
};

const cli_command cmd_generate = {
    "generate",
    "[TEXT...]",
    "generate text with a causal model",
    "Each TEXT is a prompt.  Without TEXT, each line of standard input is a prompt, or the whole file of "
    "--prompt_file.  Without sampling options and --num_beams, decoding is greedy.  A text ends at [SEP] (training "
    "puts it at the end of each document), after a --stop string, or after --max_new_tokens tokens.\n"
    "Options that are not given default to the model's generation_config.json, then to the values below.  In that "
    "file, eos_token_id replaces [SEP], and max_length includes the prompt.\n"
    "RoFormer-Sim reads the prompt with bidirectional attention and generates texts with the same meaning.\n"
    "Up to --batch_size texts are generated at the same time.  A common prefix of several prompts is computed "
    "once.  Texts are printed in the order of the prompts, and tokens are printed as they are generated.  The same "
    "prompt and seed give the same text, regardless of the number of threads and of the other prompts.  If a prompt "
    "occurs several times, each occurrence gets its own sample.\n"
    "With --json: {\"generated_text\", \"finish_reason\": \"stop\" or \"length\", \"prompt_tokens\", \"ids\", "
    "\"logprobs\"}.  The last two describe the new tokens; logprobs are those of the model before sampling options "
    "are applied.",
    examples,
    options,
    sizeof(struct args),
    defaults,
    run,
};
