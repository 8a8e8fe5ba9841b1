/* cmd_score.c — roformer score: log-probability of texts under a language model. */
#include <math.h>
#include <string.h>

#include "cli/shell/commands.h"
#include "cli/io/io.h"
#include "cli/shared/records.h"
#include "cli/shared/unread.h"
#include "roformer/pipeline.h"

struct args {
    const char *model, *context, *input;
    rf_logprob_options o;
    int json, dtype, format;
    bool noted, unread;                 /* that first tokens are not counted; that a text is unknown                  */
    cli_list texts;
};

/* For a protein, the name is printed instead of the sequence. */
static json_t *as_json(const char *name, const rf_text_logprob *s)
{
    json_t *ids = json_array(), *logprobs = json_array();
    for (int64_t i = 0; i < s->n; i++) {
        cli_json_add(&ids, json_integer(s->id[i]));
        cli_json_add(&logprobs, json_real(s->logprob[i]));
    }
    const double mean = s->n ? s->total / (double)s->n : 0;
    json_t *out = json_pack("{s:s*, s:f, s:I, s:f, s:o, s:o}", "id", name, "logprob", s->total, "tokens",
                            (json_int_t)s->n, "perplexity", exp(-mean), "ids", ids, "logprobs", logprobs);
    if (s->uncounted) cli_json_set(&out, "uncounted", json_integer(s->uncounted));
    return out;
}

static rf_status print(const struct args *a, const char *name, const char *text, size_t size, const rf_text_logprob *s,
                       rf_error *why)
{
    if (a->json) return cli_print_json(as_json(name, s), 0, why);
    printf("%.4f\t%lld\t%.2f\t", s->total, (long long)s->n, s->n ? exp(-s->total / (double)s->n) : 1);
    if (name) cli_put_name(name);
    else cli_put_text(text, size);
    putchar('\n');
    return cli_flush(why);
}

/* Computes and prints the score of one text; *inner: its error. */
static rf_status score_one(struct args *a, cli_io *io, rf_pipeline *p, const char *name, const char *text,
                           size_t size, rf_error *inner)
{
    const rf_text_logprob *s;
    const size_t before = a->context ? strlen(a->context) : 0;
    const rf_status status = rf_logprob_text(p, a->context, before, text, size, &a->o, &s, inner);
    if (!status && s->uncounted && !a->noted) {
        cli_note(io, "the tokenizer puts no token before a text: the first token of each text has no probability and "
                 "is not counted (--context gives it one)");
        a->noted = true;
    }
    if (!status) cli_note_unread(io, rf_model_tokenizer(rf_pipeline_model(p)), text, size, &a->unread);
    return status ? status : print(a, name, text, size, s, &io->why);
}

static rf_status score_operands(struct args *a, cli_io *io, rf_pipeline *p)
{
    cli_texts in;
    const char *text;
    size_t size;
    rf_status status = cli_texts_open(io->ctx, &in, &a->texts, &io->why);
    while (!status && !(status = cli_texts_next(&in, &text, &size, &io->why)) && text && !cli_stopped()) {
        rf_error inner = {0};
        status = score_one(a, io, p, NULL, text, size, &inner);
        if (inner.code) cli_texts_fail(&in, cli_texts_number(&in), &io->why, &inner);
    }
    cli_texts_close(&in);
    return status;
}

static rf_status score_file(struct args *a, cli_io *io, rf_pipeline *p)
{
    cli_records in;
    const char *text, *name;
    size_t size;
    rf_status status = cli_records_open(io, &in, a->input ? a->input : "-", a->format,
                                        rf_model_tokenizer(rf_pipeline_model(p)));
    while (!status && !(status = cli_records_next(&in, &text, &size, &name)) && text && !cli_stopped()) {
        rf_error inner = {0};
        status = score_one(a, io, p, in.proteins ? name : NULL, text, size, &inner);
        if (inner.code) cli_records_fail(&in, in.number, &inner);
    }
    cli_records_close(&in);
    return status;
}

/* Refuses texts on the command line if texts are read from a file. */
static rf_status check(const struct args *a, cli_io *io)
{
    if (!a->texts.n || (!a->input && !cli_given(io->parsed, "input-format"))) return RF_OK;
    return rf_fail(&io->why, RF_EARG, "--%s: expected no TEXT beside it, got %d; leave one out",
                   a->input ? "input" : "input-format", a->texts.n);
}

static int run(void *arguments, cli_io *io)
{
    struct args *a = arguments;
    rf_pipeline *p = NULL;
    cli_signals_catch();
    if (!check(a, io) && !cli_pipeline_open(io, a->model, cli_dtype(a->dtype), &p))
        (a->texts.n ? score_operands : score_file)(a, io, p);
    rf_pipeline_close(p);
    return cli_exit(io);
}

static void defaults(void *arguments)
{
    struct args *a = arguments;
    rf_logprob_defaults(&a->o);
}

#define A(field) offsetof(struct args, field)
static const cli_option options[] = {
    CLI_MODEL_OPTION_OF(struct args, model, "folder of a language model, causal or masked"),
    CLI_DTYPE_OPTION(struct args, dtype),
    {"input", 0, CLI_FILE, A(input), "FILE", NULL, 0, 0, NULL,
     "read texts from FILE (also .gz and .zst) instead of standard input", NULL},
    CLI_INPUT_FORMAT_OPTION(struct args, format),
    {"context", 0, CLI_TEXT, A(context), "TEXT", NULL, 0, 0, NULL,
     "text before each TEXT; its own probability does not count", NULL},
    {"max_length", 0, CLI_INT, A(o.max_length), "N", NULL, 0, 1 << 20, NULL,
     "longer texts are read in windows of N tokens; 0: max_position_embeddings", NULL},
    {"stride", 0, CLI_INT, A(o.stride), "N", NULL, 0, 1 << 20, NULL, "windows begin every N tokens; 0: half a window",
     NULL},
    {"end", 0, CLI_FLAG, A(o.end), NULL, NULL, 0, 0, NULL, "include the probability of the end of the text ([SEP])",
     NULL},
    {"json", 0, CLI_FLAG, A(json), NULL, NULL, 0, 0, NULL, "print one line of JSON per text", NULL},
    {"TEXT", 0, CLI_OPERANDS, A(texts), NULL, NULL, 0, 1 << 20, NULL, "", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "roformer score -m my-causal-model \"The model was good\" \"Good the was model\"",
    "roformer score -m my-causal-model --context \"The model\" was is --json",
    "roformer score -m esm2_t30_150M_UR50D --input proteins.fasta",
    NULL,
};

const cli_command cmd_score = {
    "score",
    "[TEXT...]",
    "log-probability of texts under a language model",
    "Prints for each TEXT or, without TEXT, for each line of standard input: its natural log-probability, its number "
    "of tokens, its perplexity, and the text (for a FASTA file, the name of the record), separated by tabs.  "
    "Probabilities are conditioned on --context and on [CLS], if the tokenizer puts it before a text.  If it does not "
    "(GPT-2, Qwen) and there is no --context, the first token has no probability and is not counted; a note says so.\n"
    "A masked language model gives the pseudo-log-likelihood: the sum over the tokens of log p(token | all other "
    "tokens), with one pass for each token.  The perplexity is then the pseudo-perplexity, and --max_length, --stride "
    "and --end do not apply.\n"
    "With --json: {\"logprob\", \"tokens\", \"perplexity\", \"ids\", \"logprobs\"}, and \"uncounted\": 1 if the "
    "first token is not counted.",
    examples,
    options,
    sizeof(struct args),
    defaults,
    run,
};
