/* cmd_translate.c — roformer translate: translates texts with an encoder-decoder model.
 *
 *     source </s>  ->  translation </s>
 *
 * All available lines are translated together and printed in order, each as soon as those before it are complete. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/os/os.h"
#include "cli/shell/commands.h"
#include "cli/shared/generating.h"
#include "cli/io/io.h"
#include "roformer/pipeline.h"
#include "roformer/model.h"

struct args {
    const char *model, *score, *task;
    int64_t seed, memory, nbest;
    rf_generate_options o;
    rf_translate_options t;
    int json, dtype, cache_dtype, early, norm, split;
    cli_list texts;
};

/* A translation as it is printed: a line, or with --json an object. */
typedef struct ranked { double score; int64_t rank; cli_text text; json_t *json; } ranked;

/* What is to be printed of a text. */
typedef struct output {
    cli_text text;
    ranked *of;                 /* [num_return_sequences] until all are complete; NULL: none is                       */
    int64_t ranks;              /* number of complete ones                                                            */
    rf_error why;
} output;

typedef struct job {
    const struct args *a;
    cli_io *io;
    cli_model m;
    rf_generate_options o;
    rf_translate_options t;
    char before[256];           /* the text that comes before the sources of a task                                   */
    cli_window window;
    uint64_t first;             /* the number of the window's first text                                              */
    output *out;                /* [window.n]                                                                         */
    int64_t head;               /* the first text that is not complete                                                */
    uint64_t done, cut, parts;  /* translations; those that reached the maximum length; texts translated in parts     */
    int64_t tokens;
    double seconds;
} job;

/* ---- output ------------------------------------------------------------------------------------------------------ */

/* Prints complete texts. */
static int print_ready(job *j)
{
    for (; j->head < j->window.n && j->out[j->head].ranks == j->o.num_return_sequences; j->head++)
        if (!cli_text_print(&j->out[j->head].text)) break;
    return cli_flush(&j->io->why) || cli_stopped();
}

static json_t *as_json(const job *j, const rf_text_translation *t)
{
    const rf_translation *x = &t->of;
    json_t *ids = json_array(), *logprobs = json_array();
    for (int64_t i = 0; i < x->n; i++) cli_json_add(&ids, json_integer(x->id[i]));
    double end = 0;
    for (int64_t i = 0; i < x->n; i++) cli_json_add(&logprobs, json_real(x->logprob[i]));
    for (int64_t i = x->n; i < x->logprobs; i++) end += x->logprob[i];
    json_t *pairs = j->t.alignments ? json_array() : NULL;
    for (int64_t i = 0; i < t->alignments; i++)
        cli_json_add(&pairs, json_pack("[I, I]", (json_int_t)t->alignment[i].source,
                                       (json_int_t)t->alignment[i].target));
    return json_pack("{s:o, s:f, s:f, s:s, s:o, s:o, s:f, s:o*}", "translation", cli_text_json(t->text, t->bytes),
                     "score", x->score, "logprob", x->total, "finish_reason",
                     x->end == RF_GENERATE_STOP ? "stop" : "length",
                     "ids", ids, "logprobs", logprobs, "end_logprob", end, "alignment", pairs);
}

/* One line for a text: the best translation, and all of them as `nbest`. */
static bool append_json(const job *j, output *x, const rf_text_translation *t)
{
    json_t *all = json_array(), *line = json_copy(x->of[0].json);
    for (int64_t i = 0; i < x->ranks; i++) cli_json_add(&all, json_incref(x->of[i].json));
    cli_json_set(&line, "source_tokens", json_integer(t->source_tokens));
    cli_json_set(&line, "parts", json_integer(t->parts));
    if (j->o.num_return_sequences > 1) cli_json_set(&line, "nbest", json_incref(all));
    const bool good = all != NULL;
    json_decref(all);
    return cli_text_add_json(&x->text, line, JSON_REAL_PRECISION(9) | JSON_ENCODE_ANY) && good &&
           cli_text_add(&x->text, "\n", 1);
}

/* " ||| 0-0 1-2", a pair of word indices for each word of the translation. */
static bool append_pairs(ranked *x, const rf_text_translation *t)
{
    char pair[64];
    bool good = cli_text_add(&x->text, " |||", 4);
    for (int64_t i = 0; i < t->alignments && good; i++) {
        const int n = snprintf(pair, sizeof pair, " %lld-%lld", (long long)t->alignment[i].source,
                               (long long)t->alignment[i].target);
        good = cli_text_add(&x->text, pair, (size_t)n);
    }
    return good;
}

/* The translation, or a line of a list in Moses' format: number of the text from 0, translation, log-probability,
 * score. */
static bool append_text(const job *j, ranked *x, int64_t text, const rf_text_translation *t)
{
    char line[96];
    const bool many = j->a->nbest > 1;
    int n = many ? snprintf(line, sizeof line, "%llu ||| ", (unsigned long long)j->first - 1 + (uint64_t)text) : 0;
    if (!cli_text_add(&x->text, line, (size_t)n) || !cli_text_add(&x->text, t->text, t->bytes)) return false;
    if (j->t.alignments && !append_pairs(x, t)) return false;
    n = many ? snprintf(line, sizeof line, " ||| logprob= %.6g ||| %.6g", t->of.total, t->of.score) : 0;
    return cli_text_add(&x->text, line, (size_t)n) && cli_text_add(&x->text, "\n", 1);
}

/* Beams are reported best first; samples are reported as they end, and sorted by score. */
static int by_score(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static void free_ranks(output *x)
{
    for (int64_t i = 0; x->of && i < x->ranks; i++) {
        free(x->of[i].text.at);
        json_decref(x->of[i].json);
    }
    free(x->of);
    x->of = NULL;
}

/* Adds a translation of a text; after the last one, its lines are complete. */
static bool append(const job *j, output *x, int64_t text, const rf_text_translation *t)
{
    const int64_t n = j->o.num_return_sequences;
    if (!x->of) x->of = calloc((size_t)n, sizeof *x->of);
    if (!x->of) return false;
    ranked *r = &x->of[x->ranks++];
    *r = (ranked){.score = j->o.do_sample ? t->of.score : 0, .rank = t->of.rank};
    if (j->a->json) r->json = as_json(j, t);
    if (j->a->json ? !r->json : !append_text(j, r, text, t)) return false;
    if (x->ranks < n) return true;
    qsort(x->of, (size_t)n, sizeof *x->of, by_score);
    bool good = !j->a->json || append_json(j, x, t);
    for (int64_t i = 0; i < n && good && !j->a->json; i++)
        good = cli_text_add(&x->text, x->of[i].text.at, x->of[i].text.n);
    free_ranks(x);
    return good;
}

static void note_parts(job *j, int64_t text, const rf_text_translation *t)
{
    j->done++;
    j->cut += t->of.end != RF_GENERATE_STOP;
    j->tokens += t->of.n + 1;
    if (t->parts < 2 || t->of.rank) return;
    j->parts++;
    cli_note(j->io, "text %llu: a source of %lld tokens, translated in %lld parts",
             (unsigned long long)j->first + (uint64_t)text, (long long)t->source_tokens, (long long)t->parts);
}

static int take(void *user, int64_t text, const rf_text_translation *t, const rf_error *why)
{
    job *j = user;
    output *x = &j->out[text];
    if (!t) {
        x->why = *why;
        return text == j->head || cli_stopped();                        /* later texts are not printed */
    }
    note_parts(j, text, t);
    if (!append(j, x, text, t)) cli_no_memory(j->io);
    return j->io->why.code || (text == j->head && print_ready(j)) || cli_stopped();
}

/* ---- a window of texts ------------------------------------------------------------------------------------------- */

static void end_texts(job *j)
{
    for (int64_t i = 0; j->out && i < j->window.n; i++) {
        free(j->out[i].text.at);
        free_ranks(&j->out[i]);
    }
    free(j->out);
    j->out = NULL;
    cli_window_empty(&j->window);
}

/* The first error of a text, in their order; texts before it have been printed. */
static rf_status answer(void *user, const cli_texts *in)
{
    job *j = user;
    rf_error *why = &j->io->why;
    const char *const *text = cli_window_texts(&j->window);
    if (!j->window.n) return RF_OK;
    const double begun = cli_seconds();
    j->head = 0;
    j->out = calloc((size_t)j->window.n, sizeof *j->out);
    rf_status status = j->out ? RF_OK : cli_no_memory(j->io);
    if (!status)
        status = rf_translate_texts(j->m.pipeline, text, j->window.size, j->window.n, &j->t, take, j, why);
    j->seconds += cli_seconds() - begun;
    if (!status) status = why->code;
    if (!status && !cli_stopped()) print_ready(j);
    if (!status && j->head < j->window.n && j->out[j->head].why.code)
        status = cli_texts_fail(in, j->first + (uint64_t)j->head, why, &j->out[j->head].why);
    end_texts(j);
    return status;
}

/* ---- given translations ------------------------------------------------------------------------------------------ */

static rf_status print_score(const job *j, const char *text, size_t size, const rf_text_logprob *s)
{
    rf_error *why = &j->io->why;
    const double mean = s->n ? s->total / (double)s->n : 0;
    if (!j->a->json) {
        printf("%.4f\t%lld\t%.2f\t", s->total, (long long)s->n, exp(-mean));
        cli_put_text(text, size);
        putchar('\n');
        return cli_flush(why);
    }
    json_t *ids = json_array(), *logprobs = json_array();
    for (int64_t i = 0; i < s->n; i++) {
        cli_json_add(&ids, json_integer(s->id[i]));
        cli_json_add(&logprobs, json_real(s->logprob[i]));
    }
    return cli_print_json(json_pack("{s:f, s:I, s:f, s:o, s:o}", "logprob", s->total, "tokens", (json_int_t)s->n,
                                    "perplexity", exp(-mean), "ids", ids, "logprobs", logprobs),
                          0, why);
}

/* A pair; `more`: there is a translation as well. */
static rf_status score_pair(const job *j, const cli_texts *in, const char *text, size_t size, const char *line,
                            size_t bytes)
{
    const rf_text_logprob *s;
    rf_error inner = {0};
    const rf_status status = rf_logprob_translation(j->m.pipeline, text, size, line, bytes, &j->t, &s, &inner);
    if (status) return cli_texts_fail(in, cli_texts_number(in), &j->io->why, &inner);
    return print_score(j, line, bytes, s);
}

static rf_status score_all(job *j)
{
    cli_texts in = {0};
    cli_lines given;
    const char *text = "", *line = "";
    size_t size = 0, bytes = 0;
    rf_error *why = &j->io->why;
    rf_status status = cli_lines_open(j->io->ctx, &given, j->a->score, why);
    if (status) return status;
    status = cli_texts_open(j->io->ctx, &in, &j->a->texts, why);
    while (!status && !cli_stopped()) {
        status = cli_texts_next(&in, &text, &size, why);
        if (!status) status = cli_lines_next(&given, &line, &bytes, why);
        if (status || cli_stopped() || (!text && !line)) break;
        if (!text || !line)
            status = rf_fail(why, RF_EDATA, "%s: expected one translation per text, got %s lines", j->a->score,
                             line ? "more" : "fewer");
        else status = score_pair(j, &in, text, size, line, bytes);
    }
    cli_texts_close(&in);
    cli_lines_close(&given);
    return status;
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

/* Command-line options take precedence over those of the model's files. */
static rf_status read_options(job *j)
{
    const cli_parsed *p = j->io->parsed;
    rf_error *why = &j->io->why;
    rf_translate_defaults(j->m.model, &j->o);
    if (j->a->task && rf_translate_task(j->m.model, j->a->task, &j->o, j->before, sizeof j->before, why))
        return why->code;
    cli_generate_given(p, &j->a->o, &j->o);
    if (cli_given(p, "early_stopping")) j->o.early_stopping = (rf_stop_search)j->a->early;
    j->o.length_norm = (rf_length_norm)j->a->norm;
    j->o.num_return_sequences = j->a->nbest;
    if (j->o.num_return_sequences > 1 && !j->o.do_sample && !cli_given(p, "num_beams") &&
        j->o.num_beams < j->o.num_return_sequences)
        j->o.num_beams = j->o.num_return_sequences;
    j->o.seed = (uint64_t)j->a->seed;
    j->o.cache_type = (rf_type)j->a->cache_dtype;
    j->t = j->a->t;
    j->t.long_source = (rf_long_source)j->a->split;
    j->t.generate = &j->o;
    if (!j->t.source_prefix && *j->before) j->t.source_prefix = j->before;
    return RF_OK;
}

/* Given translations are scored as they are: options that select or print translations have no effect. */
static rf_status check_score(const job *j)
{
    static const char *const none[] = {
        "num_beams", "nbest", "length_penalty", "length_norm", "early_stopping", "max_new_tokens", "max_length_factor",
        "prefix", "alignment", "do_sample", "temperature", "top_k", "top_p", "min_p", "seed", "repetition_penalty",
        "no_repeat_ngram_size"};
    for (size_t i = 0; j->a->score && i < sizeof none / sizeof *none; i++)
        if (cli_given(j->io->parsed, none[i]))
            return rf_fail(&j->io->why, RF_EARG, "--%s: has no effect with --score; leave it out", none[i]);
    return RF_OK;
}

static rf_status prepare(job *j)
{
    rf_error *why = &j->io->why;
    rf_status status = check_score(j);
    if (!status) status = cli_generate_check(j->io->parsed, &j->a->o, why);
    if (!status) status = cli_model_open(j->io, j->a->model, cli_dtype(j->a->dtype), &j->m);
    if (status) return status;
    if (!j->m.config->is_encoder_decoder)
        return rf_fail(why, RF_EUNSUPPORTED,
                       "%s: expected an encoder-decoder model to translate, got another model (is_encoder_decoder "
                       "false); roformer train-translation trains one",
                       j->a->model ? j->a->model : "the shipped model");
    status = rf_translate_check(j->m.model, why);
    if (!status) status = read_options(j);
    if (!status && j->a->memory) status = rf_sequence_limit(j->m.session, (size_t)j->a->memory << 20, why);
    return status;
}

static int run(void *arguments, cli_io *io)
{
    job j = {.a = arguments, .io = io};
    cli_signals_catch();
    rf_status status = prepare(&j);
    if (!status)
        status = j.a->score ? score_all(&j) : cli_window_run(io, &j.a->texts, &j.window, &j.first, answer, &j);
    if (j.cut)
        cli_note(io, "%llu of %llu translations were cut: they had as many tokens as --max_new_tokens allows",
                 (unsigned long long)j.cut, (unsigned long long)j.done);
    if (!status && j.seconds > 0 && rf__os_terminal(2))
        cli_note(io, "%llu translations, %.1f tokens in a second", (unsigned long long)j.done,
                 (double)j.tokens / j.seconds);
    cli_window_clear(&j.window);
    cli_model_close(&j.m);
    return cli_exit(io);
}

static void defaults(void *arguments)
{
    struct args *a = arguments;
    rf_translate_defaults(NULL, &a->o);
    rf_translate_text_defaults(&a->t);
    a->seed = (int64_t)a->o.seed;
    a->nbest = 1;
}

#define A(field) offsetof(struct args, field)
static const cli_option options[] = {
    CLI_MODEL_OPTION_OF(struct args, model, "folder of an encoder-decoder model"),
    CLI_DTYPE_OPTION(struct args, dtype),
    {"num_beams", 0, CLI_INT, A(o.num_beams), "N", NULL, 1, RF_BATCH_SIZE_MOST, NULL,
     "beam search with N beams; 1: greedy decoding", "beam"},
    {"nbest", 0, CLI_INT, A(nbest), "N", NULL, 1, RF_RETURN_SEQUENCES_MOST, NULL,
     "print the N best translations of each text, or N samples", "num_return_sequences"},
    {"length_penalty", 0, CLI_REAL, A(o.length_penalty), "X", NULL, -RF_LENGTH_PENALTY_MOST, RF_LENGTH_PENALTY_MOST,
     NULL, "exponent X of --length_norm; values above 0 favor longer translations", NULL},
    {"length_norm", 0, CLI_CHOICE, A(norm), "tokens|gnmt", "tokens", 0, 0, NULL,
     "divisor of log-probabilities; tokens: tokens^X (fairseq, transformers); gnmt: ((5 + tokens) / 6)^X", NULL},
    {"early_stopping", 0, CLI_CHOICE, A(early), "false|true|never", NULL, 0, 0, NULL,
     "when to end beam search once there are as many translations as beams; true: at once; false: when no current "
     "beam has a better score; never: only when no beam can still reach a better score", NULL},
    {"max_new_tokens", 'n', CLI_INT, A(o.max_new_tokens), "N", NULL, 1, RF_NEW_TOKENS_MOST, NULL,
     "maximum number of tokens of a translation", NULL},
    {"max_length_factor", 0, CLI_REAL, A(o.max_length_factor), "X", NULL, 0, RF_NEW_TOKENS_MOST, NULL,
     "maximum number of tokens of a translation per token of its source; 0: no limit", NULL},
    {"max_source_length", 0, CLI_INT, A(t.max_source_length), "N", NULL, 0, RF_NEW_TOKENS_MOST, NULL,
     "maximum number of tokens of a source text; 0: max_position_embeddings (T5: no limit)", NULL},
    {"long_source", 0, CLI_CHOICE, A(split), "refuse|split", "refuse", 0, 0, NULL,
     "refuse longer source texts, or split them into parts that are translated separately, between sentences if "
     "possible", NULL},
    {"source_lang", 0, CLI_TEXT, A(t.source_lang), "CODE", NULL, 0, 0, NULL,
     "language of the texts, for M2M-100, NLLB and mBART, such as eng_Latn (default: that of the folder)", "src_lang"},
    {"target_lang", 0, CLI_TEXT, A(t.target_lang), "CODE", NULL, 0, 0, NULL, "language to translate to", "tgt_lang"},
    {"task", 0, CLI_TEXT, A(task), "NAME", NULL, 0, 0, NULL,
     "settings and source prefix of a task in task_specific_params of config.json, such as summarization (T5)", NULL},
    {"source_prefix", 0, CLI_TEXT, A(t.source_prefix), "TEXT", NULL, 0, 0, NULL,
     "put TEXT before every source text that is not empty, such as \"summarize: \"", NULL},
    {"prefix", 0, CLI_TEXT, A(t.prefix), "TEXT", NULL, 0, 0, NULL, "force translations to begin with TEXT", NULL},
    {"score", 0, CLI_FILE, A(score), "FILE", NULL, 0, 0, NULL,
     "do not translate, but score the translations in FILE, which has one line per text", NULL},
    {"alignment", 0, CLI_FLAG, A(t.alignments), NULL, NULL, 0, 0, NULL,
     "print the word alignment after each translation as \" ||| 0-0 2-1 ...\": for each word of the translation, the "
     "word of the text that it comes from", NULL},
    {"do_sample", 0, CLI_FLAG, A(o.do_sample), NULL, NULL, 0, 0, NULL,
     "sample tokens instead of beam search; implied by the four options below", NULL},
    CLI_SAMPLING_OPTIONS(struct args),
    {"seed", 0, CLI_INT, A(seed), "N", NULL, 0, 9.2e18, NULL, "random seed of sampling", NULL},
    {"repetition_penalty", 0, CLI_REAL, A(o.repetition_penalty), "X", NULL, RF_REPETITION_PENALTY_LEAST,
     RF_REPETITION_PENALTY_MOST, NULL, "values above 1 make tokens that occur in the translation so far less likely",
     NULL},
    {"no_repeat_ngram_size", 0, CLI_INT, A(o.no_repeat_ngram_size), "N", NULL, 0, RF_NEW_TOKENS_MOST, NULL,
     "do not repeat any sequence of N tokens; 0: off", NULL},
    {"batch_size", 'b', CLI_INT, A(o.batch_size), "N", NULL, 1, RF_BATCH_SIZE_MOST, NULL,
     "maximum number of texts to generate at the same time, where each beam counts as one; does not change the result",
     NULL},
    {"cache_dtype", 0, CLI_CHOICE, A(cache_dtype), "f32|bf16", "f32", 0, 0, NULL,
     "data type of the cached keys and values of sources and earlier tokens; bf16 halves the memory", NULL},
    {"cache_memory", 0, CLI_INT, A(memory), "MB", NULL, 0, 1 << 30, NULL,
     "maximum memory for cached keys and values; further texts wait until memory is free; 0: no limit", NULL},
    {"json", 0, CLI_FLAG, A(json), NULL, NULL, 0, 0, NULL, "print one line of JSON per text", NULL},
    {"TEXT", 0, CLI_OPERANDS, A(texts), NULL, NULL, 0, 1 << 20, NULL, "", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "roformer translate -m my-translator \"A dog barks.\"",
    "roformer translate -m my-translator --num_beams 4 --length_penalty 0.6 < test.en > test.de",
    "roformer translate -m my-translator --num_beams 8 --nbest 3 --json \"A dog barks.\"",
    "roformer translate -m nllb --source_lang eng_Latn --target_lang deu_Latn \"A dog barks.\"",
    "roformer translate -m my-translator --score test.de < test.en",
    "roformer translate -m t5-small --task summarization < articles",
    "roformer translate -m my-translator --long_source split --max_source_length 128 < book.en > book.de",
    NULL,
};

const cli_command cmd_translate = {
    "translate",
    "[TEXT...]",
    "translate texts with an encoder-decoder model",
    "Translates each TEXT or, without TEXT, each line of standard input.  An empty line gives an empty line.  Options "
    "that are not given default to the model's generation_config.json, then to greedy decoding and at most 256 "
    "tokens.  Texts are translated in batches.  Translations are printed in the order of the texts, each as soon as "
    "all earlier ones are complete.  A translation does not depend on the number of threads or on the other texts.\n"
    "With --nbest above 1, prints one line per translation: \"N ||| translation ||| logprob= X ||| score\".  N is the "
    "number of the text, from 0.  The score is the log-probability after the division that --length_norm selects.\n"
    "With --json: {\"translation\", \"score\", \"logprob\", \"finish_reason\": \"stop\" or \"length\", \"ids\", "
    "\"logprobs\", \"end_logprob\", \"source_tokens\", \"parts\"} for the best translation; with --alignment also "
    "\"alignment\"; with --nbest also \"nbest\", the list of all translations.\n"
    "With --score, prints one line per translation: its log-probability, its number of tokens including the end token, "
    "its perplexity, and the translation, separated by tabs.",
    examples,
    options,
    sizeof(struct args),
    defaults,
    run,
};
