/* cmd_tokenize.c — roformer tokenize: the tokens of a text, their ids, and the characters that they cover. */
#include <string.h>

#include "cli/shell/commands.h"
#include "cli/io/io.h"

struct args {
    const char *model;
    int json, no_special;
    int64_t max_length;
    cli_list texts;
};

/* Converts offsets in bytes to characters. Tokens usually move forward, so counting continues from the last offset, or
 * backward from it. */
typedef struct cursor { const char *text; size_t byte, character; } cursor;

static size_t characters(cursor *p, size_t byte)
{
    while (p->byte > byte) p->character -= ((unsigned char)p->text[--p->byte] & 0xC0) != 0x80;
    for (; p->byte < byte; p->byte++) p->character += ((unsigned char)p->text[p->byte] & 0xC0) != 0x80;
    return p->character;
}

static rf_status print_json(const rf_tokenizer *t, const rf_encoding *e, const char *text, rf_error *why)
{
    json_t *ids = json_array(), *tokens = json_array(), *offsets = json_array(), *all = json_object();
    cursor at = {text, 0, 0};
    for (size_t i = 0; i < e->n; i++) {
        const char *token = rf_tokenizer_token(t, e->id[i]);
        cli_json_add(&ids, json_integer(e->id[i]));
        cli_json_add(&tokens, cli_text_json(token, strlen(token)));
        const size_t from = characters(&at, e->start[i]), to = characters(&at, e->end[i]);
        cli_json_add(&offsets, json_pack("[II]", (json_int_t)from, (json_int_t)to));
    }
    cli_json_set(&all, "ids", ids);
    cli_json_set(&all, "tokens", tokens);
    cli_json_set(&all, "offsets", offsets);
    return cli_print_json(all, JSON_COMPACT, why);
}

static rf_status print_table(const cli_io *io, const rf_tokenizer *t, const rf_encoding *e, const char *text,
                             rf_error *why)
{
    cursor at = {text, 0, 0};
    int width = 0;
    for (size_t i = 0; i < e->n; i++) {
        const int cells = cli_put_token(NULL, rf_tokenizer_token(t, e->id[i]));
        width = cells > width ? cells : width;
    }
    for (size_t i = 0; i < e->n; i++) {
        const char *token = rf_tokenizer_token(t, e->id[i]);
        const size_t from = characters(&at, e->start[i]), to = characters(&at, e->end[i]);
        const bool dim = io->color_out && rf_tokenizer_is_special(t, e->id[i]);
        fputs(dim ? "\033[2m" : "", stdout);
        const int cells = cli_put_token(stdout, token);
        printf("%*s  %6d", width - cells, "", (int)e->id[i]);
        if (!e->added[i]) printf("  %zu..%zu", from, to);
        printf("%s\n", dim ? "\033[0m" : "");
    }
    return ferror(stdout) ? cli_flush(why) : RF_OK;
}

static int run(void *arguments, cli_io *io)
{
    const struct args *a = arguments;
    char folder[4096];
    rf_tokenizer *t = NULL;
    rf_encoding e;
    cli_texts in = {0};
    bool printed = false;
    rf_encoding_init(&e, io->ctx);
    cli_signals_catch();
    rf_status status = cli_texts_open(io->ctx, &in, &a->texts, &io->why);
    if (!status) status = cli_model_folder(a->model, folder, sizeof folder, &io->why);
    if (!status) status = rf_tokenizer_open(io->ctx, folder, &t, &io->why);
    while (!status) {
        const char *text;
        size_t size;
        rf_error inner = {0};
        if (cli_texts_next(&in, &text, &size, &io->why) || !text) break;
        status = rf_encode(t, text, size, NULL, 0, (size_t)a->max_length, a->no_special ? RF_ENCODE_PLAIN : 0, &e, NULL,
                           &inner);
        if (status) {
            cli_texts_fail(&in, cli_texts_number(&in), &io->why, &inner);
        } else if (a->json) {
            status = print_json(t, &e, text, &io->why);
        } else {
            if (printed) putchar('\n');
            status = print_table(io, t, &e, text, &io->why);
        }
        printed = true;
        if (!status && !cli_texts_ready(&in)) status = cli_flush(&io->why);
    }
    cli_texts_close(&in);
    rf_encoding_clear(&e);
    rf_tokenizer_free(t);
    return cli_exit(io);
}

#define A(field) offsetof(struct args, field)
static const cli_option options[] = {
    CLI_MODEL_OPTION(struct args, model),
    {"json", 0, CLI_FLAG, A(json), NULL, NULL, 0, 0, NULL, "print one line of JSON per text", NULL},
    {"no-special", 0, CLI_FLAG, A(no_special), NULL, NULL, 0, 0, NULL, "omit [CLS] and [SEP]", NULL},
    {"max-length", 0, CLI_INT, A(max_length), "N", "0", 0, 1 << 20, NULL,
     "truncate texts to N tokens; 0: no truncation", NULL},
    {"TEXT", 0, CLI_OPERANDS, A(texts), NULL, NULL, 0, 1 << 20, NULL, "", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "roformer tokenize \"Rotary embeddings turn vectors.\"",
    "echo \"A dog barks.\" | roformer tokenize --json",
    NULL,
};

const cli_command cmd_tokenize = {
    "tokenize",
    "[TEXT...]",
    "show the tokens of a text",
    "Prints for each TEXT or, without TEXT, for each line of standard input: the tokens, their ids, and the "
    "characters of the text that each token comes from.\n"
    "With --json, one line per text: {\"ids\": [...], \"tokens\": [...], \"offsets\": [[from, to], ...]}.  Offsets "
    "count Unicode characters; those of [CLS] and [SEP] are 0, 0.",
    examples,
    options,
    sizeof(struct args),
    NULL,
    run,
};
