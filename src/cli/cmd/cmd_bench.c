/* cmd_bench.c — roformer bench: speed, relative to what the machine can do. */
#include <string.h>

#include "cli/bench/bench.h"
#include "cli/os/program.h"
#include "cli/shell/commands.h"

/* ---- the table of cases ------------------------------------------------------------------------------------------ */

static const struct bench_case { const char *name, *what; rf_status (*run)(bench_job *j); } cases[] = {
    {"forward", "forward pass of the encoder", bench_forward},
    {"train", "one update: forward, backward, AdamW", bench_train},
    {"attention", "fused attention with rotary positions", bench_attention},
    {"rope", "rotation, relative to a copy", bench_rope},
    {"gemm", "matrix products of the encoder", bench_gemm},
    {"tokenize", "text to tokens", bench_tokenize},
    {"kernels", "single kernels on every rung, one thread", bench_kernels},
    {"update", "one update by each optimizer, relative to a copy", bench_update},
    {"parts", "operations of a forward pass and of an update", bench_parts},
    {"save", "time that training waits for a checkpoint", bench_save},
};

static const struct bench_case *find_case(const char *name, rf_error *why)
{
    cli_nearest near = {name, NULL, 0};
    for (size_t i = 0; i < CLI_COUNT(cases); i++) {
        if (!strcmp(cases[i].name, name)) return &cases[i];
        cli_consider(&near, cases[i].name);
    }
    rf_fail(why, RF_EARG, "bench: expected one of forward, train, attention, rope, gemm, tokenize, kernels, update, "
            "parts and save, got '%.60s'%s%s%s", name, near.best ? "; did you mean " : "", near.best ? near.best : "",
            near.best ? "?" : "");
    return NULL;
}

/* RoFormer-base; --config or -m select other shapes. */
static rf_status choose_config(bench_job *j)
{
    rf_error *why = &j->b.io->why;
    if (j->a->config) return cli_new_config(j->b.io, j->a->config, &j->config);
    if (j->a->model) return rf_config_read(j->b.io->ctx, j->a->model, &j->config, why);
    rf_config_defaults(&j->config);
    j->config.vocab_size = 50000;
    j->config.embedding_size = j->config.hidden_size = 768;
    j->config.num_hidden_layers = j->config.num_attention_heads = 12;
    j->config.intermediate_size = 3072;
    return RF_OK;
}

/* The operations of an encoder are not those of a translation model. */
static rf_status measures(const bench_job *j, const char *name, rf_error *why)
{
    const bool encoder = !strcmp(name, "forward") || !strcmp(name, "train") || !strcmp(name, "attention") ||
                         !strcmp(name, "parts");
    if (!encoder || !j->config.is_encoder_decoder) return RF_OK;
    return rf_fail(why, RF_EUNSUPPORTED,
                   "%s: expected an encoder, got an encoder-decoder model (%s); bench/bench_translate and "
                   "bench/bench_translation of the sources measure translation", name, j->config.family);
}

static rf_status run_case(bench_job *j, const struct bench_case *c)
{
    rf_status status = choose_config(j);
    if (!status) status = measures(j, c->name, &j->b.io->why);
    if (status) return status;
    j->b.kind = c->name;
    return c->run(j);
}

/* The maximum memory of this process so far, in MB. */
static double peak_memory(void) { return 1e-6 * cli_os_peak_memory(); }

/* Weights in int8 are for inference only. */
static bool multiplies_in(const char *name, rf_type type, rf_error *why)
{
    const bool int8 = type == RF_I8 || type == RF_I8W;
    if (!int8 || (strcmp(name, "train") && strcmp(name, "save"))) return true;
    rf_fail(why, RF_EARG, "--dtype: expected f32 or bf16 for %s, got %s", name, type == RF_I8 ? "int8" : "int8w");
    return false;
}

static int run(void *arguments, cli_io *io)
{
    const struct bench_args *a = arguments;
    bench_job j = {.b = {.io = io, .seconds = a->seconds, .type = cli_dtype(a->dtype)}, .a = a};
    static const char *const usual[] = {"forward"};
    const int n = a->cases.n ? a->cases.n : 1;
    const char *const *name = a->cases.n ? a->cases.item : usual;
    rf_status status = RF_OK;
    for (int i = 0; i < n && !status; i++)                  /* typing errors are reported before anything runs */
        if (!find_case(name[i], &io->why) || !multiplies_in(name[i], j.b.type, &io->why)) status = RF_EARG;
    j.b.json = a->json;
    if (a->json) j.b.rows = json_array();
    else if (!status)
        printf("roformer %s, %d thread%s, rung %s, products by %s\n", rf_version(), rf_ctx_threads(io->ctx),
               rf_ctx_threads(io->ctx) > 1 ? "s" : "", rf_ctx_isa(io->ctx), rf_gemm_backend(io->ctx));
    for (int i = 0; i < n && !status; i++) status = run_case(&j, find_case(name[i], &io->why));
    if (!a->json && !status) printf("peak memory %.0f MB\n", peak_memory());
    if (a->json && !status)
        cli_print_json(json_pack("{s:s,s:i,s:s,s:s,s:f,s:O}", "version", rf_version(), "threads",
                                 rf_ctx_threads(io->ctx), "rung", rf_ctx_isa(io->ctx), "products",
                                 rf_gemm_backend(io->ctx), "peak_rss_mb", peak_memory(), "rows", j.b.rows),
                       JSON_INDENT(1), &io->why);
    if (j.b.above && !status)
        cli_note(io, "a share of the peak is above 100 %%: other programs slowed the loop that measures the peak; "
                 "measure again while they rest");
    json_decref(j.b.rows);
    return cli_exit(io);
}

#define A(field) offsetof(struct bench_args, field)
static const cli_option options[] = {
    {"model", 'm', CLI_FOLDER, A(model), "DIR", NULL, 0, 0, NULL,
     "model to measure (default: random weights of RoFormer-base)", NULL},
    {"config", 'c', CLI_FILE, A(config), "FILE", NULL, 0, 0, NULL,
     "measure random weights with the shape of this config.json", NULL},
    {"shape", 0, CLI_EACH, A(shapes), "BxT|@FILE", NULL, 0, 0, NULL,
     "number and length of texts, such as 8x128 or 32x5-200 (lengths 5 to 200), or a file with the lengths of one "
     "batch per line; may be repeated", NULL},
    CLI_DTYPE_OPTION(struct bench_args, dtype),
    {"gradient_checkpointing", 0, CLI_FLAG, A(checkpoints), NULL, NULL, 0, 0, NULL,
     "for train and save: recompute the activations of each layer in the backward pass", NULL},
    {"text", 0, CLI_FILE, A(text), "FILE", NULL, 0, 0, NULL, "input of the tokenizer (default: a sample)", NULL},
    {"seconds", 0, CLI_REAL, A(seconds), "X", "2", 0.01, 3600, NULL, "time to measure each row, in seconds", NULL},
    {"json", 0, CLI_FLAG, A(json), NULL, NULL, 0, 0, NULL, "print one JSON object", NULL},
    {"CASE", 0, CLI_OPERANDS, A(cases), NULL, NULL, 0, 16, NULL, "", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "roformer bench rope",
    "roformer bench forward train --shape 8x128",
    "roformer bench forward --shape @bench/peers/lengths.txt",
    "roformer bench parts --dtype bf16",
    "roformer bench attention --shape 4x512 --threads 1 --json",
    NULL,
};

const cli_command cmd_bench = {
    "bench",
    "[forward|train|attention|rope|gemm|tokenize|kernels|update|parts|save]...",
    "measure speed relative to the peak of this machine",
    "Prints for each shape the median and the 95th percentile of the time, tokens per second, operations or bytes per "
    "second, and the fraction of the peak.  The peak is measured at the same time with the same threads: by a loop of "
    "multiply-adds in registers, or by a copy between the same arrays.",
    examples,
    options,
    sizeof(struct bench_args),
    NULL,
    run,
};
