/* cmd_positions.c — roformer positions: lists position encodings, and plots curves that explain rotary positions. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/shell/commands.h"
#include "cli/plot/position_curves.h"
#include "cli/plot/position_plots.h"
#include "roformer/kernel/kernels.h"
#include "roformer/inspect/positions.h"

rf_status positions_config(const positions_args *a, cli_io *io, rf_config *c)
{
    const rf_position *named;
    rf_config_defaults(c);
    rf_status status = a->config ? cli_new_config(io, a->config, c) : RF_OK;
    if (!status) status = rf_position_of(c, a->config, &named, &io->why);
    if (status || !a->head_size) return status;
    if (a->head_size % 2)
        return rf_fail(&io->why, RF_EARG, "--head_size: expected an even number for rotation, got %lld",
                       (long long)a->head_size);
    c->hidden_size = a->head_size;
    c->num_attention_heads = 1;
    return RF_OK;
}

/* ---- the list ---- */

typedef struct numbers { int64_t parameters; double flops, bytes; } numbers;

static bool is(const rf_position *p, int flag) { return (rf_position_flags(p) & flag) != 0; }

static rf_config with(const rf_config *base, const char *position, bool causal)
{
    rf_config c = *base;
    snprintf(c.position_embedding_type, sizeof c.position_embedding_type, "%s", position);
    if (causal) c.is_decoder = 1;
    return c;
}

/* Of a pass; NAN if the model cannot have the encoding. */
static numbers pass(const rf_ctx *ctx, const rf_config *c, int64_t T)
{
    numbers n = {0};
    if (rf_forward_cost(ctx, c, T, &n.flops, &n.bytes, NULL)) n.flops = n.bytes = NAN;
    return n;
}

/* What the encoding adds for each token. none: passes without positions, of an encoder and of a decoder. */
static numbers count(const rf_ctx *ctx, const rf_position *p, const rf_config *base, const numbers none[2], int64_t T)
{
    const bool causal = is(p, RF_POSITION_CAUSAL);
    const rf_config c = with(base, rf_position_name(p), causal);
    const numbers n = pass(ctx, &c, T);
    return (numbers){rf_position_parameters(p, &c), (n.flops - none[causal].flops) / (double)T,
                     (n.bytes - none[causal].bytes) / (double)T};
}

static json_t *row_json(const rf_position *p, const numbers *n)
{
    return json_pack("{s:s, s:s, s:s, s:I, s:o?, s:o?, s:b, s:b, s:b, s:b}", "name", rf_position_name(p), "equation",
                     rf_position_equation(p), "source", rf_position_source(p), "parameters", (json_int_t)n->parameters,
                     "flops_per_token", json_real(n->flops), "bytes_per_token", json_real(n->bytes), "shift_invariant",
                     is(p, RF_POSITION_SHIFT), "extrapolates", is(p, RF_POSITION_EXTRAPOLATES), "causal_only",
                     is(p, RF_POSITION_CAUSAL), "extension", is(p, RF_POSITION_EXTENSION));
}

static int list(const positions_args *a, cli_io *io, const rf_config *c)
{
    json_t *all = json_array();
    numbers none[2];
    for (int causal = 0; causal < 2; causal++) {
        const rf_config plain = with(c, "none", causal);
        none[causal] = pass(io->ctx, &plain, a->length);
    }
    if (!a->train.json)
        printf("%-20s %12s %12s %12s  %-5s %-6s  %s\n", "position_embedding_type", "parameters", "FLOPs/token",
               "bytes/token", "shift", "longer", "");
    const rf_position *p;
    for (int i = 0; (p = rf_position_at(i)); i++) {
        const numbers n = count(io->ctx, p, c, none, a->length);
        char parameters[32], flops[32], bytes[32];
        cli_json_add(&all, row_json(p, &n));
        if (a->train.json) continue;
        cli_count((double)n.parameters, parameters, sizeof parameters);
        if (isnan(n.flops)) snprintf(flops, sizeof flops, "-"), snprintf(bytes, sizeof bytes, "-");
        else cli_count(n.flops, flops, sizeof flops), cli_count(n.bytes, bytes, sizeof bytes);
        printf("%-23s %12s %12s %12s  %-5s %-6s  %s%s%s\n    %s\n", rf_position_name(p), parameters, flops, bytes,
               is(p, RF_POSITION_SHIFT) ? "yes" : "no", is(p, RF_POSITION_EXTRAPOLATES) ? "yes" : "no",
               rf_position_source(p), is(p, RF_POSITION_CAUSAL) ? "; causal only" : "",
               is(p, RF_POSITION_EXTENSION) ? "; extension" : "", rf_position_equation(p));
    }
    if (a->train.json) cli_print_json(all, 0, &io->why);
    else json_decref(all);
    if (!io->why.code) cli_flush(&io->why);
    return cli_exit(io);
}

/* ---- plots ------- */

static const struct { const char *name; positions_plot_function *draw;
} plots[] = {
    {"score", positions_score},
    {"rotation", positions_rotation},
    {"similarity", positions_similarity},
    {"attention", positions_attention},
    {"bias", positions_bias},
    {"extrapolation", positions_extrapolation},
};

/* "decay, score, ... or extrapolation": each plot once. */
static const char *plot_names(char *text, size_t size)
{
    const size_t last = sizeof plots / sizeof *plots - 1;
    size_t n = 0;
    for (const cli_curve *k = cli_curves; k->name && n < size; k++)
        n += (size_t)snprintf(text + n, size - n, "%s, ", k->name);
    for (size_t i = 0; i <= last && n < size; i++)
        if (strcmp(plots[i].name, "score"))
            n += (size_t)snprintf(text + n, size - n, "%s%s", plots[i].name,
                                  i + 1 < last ? ", " : i < last ? " or " : "");
    return text;
}

rf_status positions_must(const rf_config *c, const char *path, int flags, const char *plot, rf_error *why)
{
    const rf_position *p, *is = NULL;
    char names[512] = "";
    size_t n = 0;
    for (int i = 0; (p = rf_position_at(i)); i++) {
        if (!strcmp(rf_position_name(p), c->position_embedding_type)) is = p;
        if ((rf_position_flags(p) & flags) == flags && n < sizeof names)
            n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "", rf_position_name(p));
    }
    if (is && (rf_position_flags(is) & flags) == flags) return RF_OK;
    return rf_fail(why, RF_EUNSUPPORTED, "%.200s%s%s: expected an encoding that has this plot (%s), got %s",
                   path ? path : "", path ? ": " : "", plot, names, c->position_embedding_type);
}

/* Finds a plot of models, or a curve of a config; otherwise reports an error. */
static void find_plot(const positions_args *a, const char *name, positions_plot_function **plot,
                      const cli_curve **curve, rf_error *why)
{
    cli_nearest near = {name, NULL, 0};
    char names[256];
    for (size_t i = 0; i < sizeof plots / sizeof *plots; i++) {
        const bool both = !strcmp(name, "score");                   /* of random queries and keys, or of a model's */
        if (!strcmp(plots[i].name, name) && (!both || a->models.n)) *plot = plots[i].draw;
        cli_consider(&near, plots[i].name);
    }
    for (const cli_curve *k = cli_curves; k->name && !*plot; k++) {
        if (!strcmp(k->name, name)) *curve = k;
        cli_consider(&near, k->name);
    }
    if (*curve && (a->models.n || a->text.n))
        rf_fail(why, RF_EARG, "%s: expected no --model and no --text, since it is drawn from --config", name);
    if (!*plot && !*curve)
        rf_fail(why, RF_EARG, "unknown plot %.60s%s%s%s: expected one of %s", name, near.best ? "; did you mean " : "",
                near.best ? near.best : "", near.best ? "?" : "", plot_names(names, sizeof names));
}

static int columns(const cli_curve *k)
{
    int n = 0;
    while (k->column[n].key) n++;
    return n;
}

static void put_rows(lab_script *s, const cli_curve *k, const curve_of *of, int64_t most)
{
    double row[CLI_CURVE_COLUMNS + 1];
    for (int64_t i = 0; k->row(of, most, i, row) && !s->why->code && !cli_stopped(); i++) {
        lab_put(s, "%.0f", row[0]);
        for (int j = 0; j < columns(k); j++) lab_put(s, isfinite(row[1 + j]) ? "\t%.7g" : "\t?", row[1 + j]);
        lab_put(s, "\n");
    }
}

/* Prints the numbers without a plot: a line of names, then the rows. */
static void put_table(lab_script *s, const cli_curve *k, const curve_of *of, int64_t most)
{
    lab_put(s, "%.*s", (int)strcspn(k->x, " "), k->x);
    for (int j = 0; j < columns(k); j++) lab_put(s, "\t%s", k->column[j].key);
    lab_put(s, "\n");
    put_rows(s, k, of, most);
}

/* Curves that coincide (wavelengths without scaling) stay visible: later ones are dashed. */
static void put_plot(lab_script *s, const cli_curve *k, const curve_of *of, int64_t most)
{
    const bool log_x = k->log_x || (!strncmp(k->x, "distance", 8) && most > 4000);
    lab_put(s, "$curve << EOD\n");
    put_rows(s, k, of, most);
    lab_put(s, "EOD\nset grid\nset key below\nset bmargin %d\nset rmargin 5\nset xlabel '%s'\nset ylabel '%s'\n%s%s",
            4 + columns(k), k->x, k->y, log_x ? "set logscale x\n" : "",
            !k->log_y  ? ""
            : k->log_x ? "set logscale y\nset format y '%.0e'\n"
                       : "set logscale y\n");
    lab_put(s, "set title \"%s\\nheads of %lld rotated columns, base %g%s%s\"\nplot ", k->summary,
            (long long)rf_rope_width(of->c), rf_rope_base(of->c, of->layer),
            of->c->rope_scaling.rope_type ? ", rope_type " : "",
            of->c->rope_scaling.rope_type ? rf_rope_type_name(of->c->rope_scaling.rope_type) : "");
    for (int j = 0; j < columns(k); j++)
        lab_put(s, "%s$curve using 1:%d with lines linewidth 1.5%s %s%s%s", j ? ", \\\n     " : "", j + 2,
                j % 2 ? " dashtype 2" : "", k->column[j].label ? "title '" : "notitle",
                k->column[j].label ? k->column[j].label : "", k->column[j].label ? "'" : "");
    lab_put(s, "\n");
}

/* The base of --layer, or of the first layer, if each layer has its own. */
static rf_status positions_curve(const positions_args *a, cli_io *io, const cli_curve *k)
{
    rf_config c;
    lab_script s = {.out.fd = -1};
    char script[4096];
    const int64_t most = cli_given(io->parsed, "max_distance") ? a->distance : k->most,
                  layer = a->layer < 0 ? 0 : a->layer;
    if (positions_config(a, io, &c) || positions_must(&c, a->config, POSITIONS_ROTATE, k->name, &io->why) ||
        rf_rope_check(&c, &io->why))
        return io->why.code;
    if (layer >= c.num_hidden_layers)
        return rf_fail(&io->why, RF_EARG, "--layer: expected a layer from 0 to %lld, got %lld",
                       (long long)c.num_hidden_layers - 1, (long long)layer);
    const curve_of of = {&c, rf_ctx_kernels(io->ctx), layer, cli_given(io->parsed, "length") ? a->length : 0};
    if (positions_begin(a, &s, script, sizeof script, a->width, a->height, &io->why)) return io->why.code;
    if (a->output) put_plot(&s, k, &of, most);
    else put_table(&s, k, &of, most);
    return positions_end(a, io, &s, script);
}

static int run(void *arguments, cli_io *io)
{
    const positions_args *a = arguments;
    positions_plot_function *plot = NULL;
    const cli_curve *curve = NULL;
    cli_signals_catch();
    if (!a->words.n) {
        rf_config c;
        if (a->output || a->models.n || a->text.n)
            rf_fail(&io->why, RF_EARG,
                    "--output, --model, --text: have no effect without a plot; use positions plot KIND");
        return io->why.code || positions_config(a, io, &c) ? cli_exit(io) : list(a, io, &c);
    }
    if (a->train.json)
        rf_fail(&io->why, RF_EARG,
                "--json: has no effect on a plot; leave it out (without --output, numbers are printed between tabs)");
    if (io->why.code) return cli_exit(io);
    if (strcmp(a->words.item[0], "plot") || a->words.n < 2) {
        char names[256];
        rf_fail(&io->why, RF_EARG, "positions: expected \"plot\" and one of %s, got other words",
                plot_names(names, sizeof names));
        return cli_exit(io);
    }
    find_plot(a, a->words.item[1], &plot, &curve, &io->why);
    if (io->why.code) return cli_exit(io);
    if (plot) plot(a, io);
    else positions_curve(a, io, curve);
    return cli_exit(io);
}

#define A(field) offsetof(positions_args, field)
static const cli_option options[] = {
    {"config", 0, CLI_FILE, A(config), "FILE", NULL, 0, 0, NULL,
     "config.json, or a folder with one: sizes and rotary parameters (default: a base model)", NULL},
    {"length", 0, CLI_INT, A(length), "N", "512", 1, 1e9, NULL,
     "text length for the costs, and for rope_type dynamic and longrope", NULL},
    {"head_size", 0, CLI_INT, A(head_size), "D", "0", 0, 65536, NULL, "columns of a head; 0: from the config", NULL},
    {"max_distance", 0, CLI_INT, A(distance), "N", "250", 1, 2147483647, NULL,
     "largest distance or position of a curve; for angles, rotation and similarity the default is 1000000, 6 and 127",
     NULL},
    {"model", 'm', CLI_EACH, A(models), "DIR", NULL, 0, 0, NULL,
     "trained model for score, similarity, attention, bias and extrapolation; may be repeated for extrapolation "
     "(default: the shipped model; for similarity the model that --config describes)", NULL},
    {"text", 0, CLI_EACH, A(text), "FILE|TEXT", NULL, 0, 0, NULL,
     "text for the model: a sentence for attention, otherwise files", NULL},
    {"layer", 0, CLI_INT, A(layer), "N", "-1", -1, 1e6, NULL,
     "attention of this layer only, from 0; -1: all; for wavelengths and other curves: the layer whose rope_theta is "
     "used", NULL},
    {"head", 0, CLI_INT, A(head), "N", "-1", -1, 1e6, NULL, "attention of this head only, from 0; -1: all", NULL},
    CLI_TRAIN_ROW("max_length", positions_args, train.t, "sequence length in training, as in position-report"),
    {"pieces", 0, CLI_INT, A(pieces), "N", "16", 1, 1e6, NULL, "number of sequences for score", NULL},
    {"stretches", 0, CLI_INT, A(stretches), "N", "32", 1, 1e6, NULL, "number of text samples for extrapolation", NULL},
    CLI_TRAIN_ROW("mlm_probability", positions_args, train.t, NULL),
    CLI_TRAIN_ROW("seed", positions_args, train.t, "random seed of masking"),
    CLI_TRAIN_READER(positions_args, train.t),
    {"output", 'o', CLI_FILE, A(output), "FILE.svg|FILE.png", NULL, 0, 0, NULL,
     "the plot; its gnuplot script is saved next to it as FILE.gp or FILE.png.gp; without --output the numbers are "
     "printed", NULL},
    {"width", 0, CLI_INT, A(width), "N", "900", 100, 20000, NULL, "width in pixels", NULL},
    {"height", 0, CLI_INT, A(height), "N", "480", 50, 10000, NULL, "height in pixels", NULL},
    {"json", 0, CLI_FLAG, offsetof(train_args, json), NULL, NULL, 0, 0, NULL, "print the list as one line of JSON",
     NULL},
    {"WORD", 0, CLI_OPERANDS, A(words), NULL, NULL, 0, 2, NULL, "", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "roformer positions",
    "roformer positions --config my-model --json",
    "roformer positions plot decay --head_size 128 --max_distance 1000000 -o decay.svg",
    "roformer positions plot angles --max_distance 1000000",
    "roformer positions plot rotation -o rotation.svg",
    "roformer positions plot similarity -o similarity.svg",
    "roformer positions plot attention --text \"The capital of France is [MASK].\" -o attention.svg",
    "roformer positions plot bias -m my-model --max_length 64 -o bias.png",
    "roformer positions plot score -m my-model --text corpus.txt --max_distance 100000 -o score.svg",
    "roformer positions plot extrapolation -m my-model -m my-causal-model --text corpus.txt --stretches 4 -o "
    "length.svg",
    NULL,
};

const cli_command cmd_positions = {
    "positions",
    "[plot decay|score|wavelengths|angles|rotation|similarity|attention|bias|extrapolation]",
    "list and plot position encodings",
    "Lists every value of position_embedding_type: number of parameters, operations and memory traffic that it adds "
    "per token of a forward pass, whether scores stay the same when all positions move (shift), whether it is defined "
    "for texts longer than those in training (longer), and its equation.\n"
    "With plot, draws a plot with gnuplot, or prints its numbers.  For rotary positions: decay, score, wavelengths, "
    "angles or rotation (a vector in four planes at positions 0 to 6, as in Figure 1 of the paper).  For encodings "
    "that add a vector per position: similarity (dot products of these vectors, as a map and as curves over the "
    "distance).  For trained models: score (mean score of all queries with all keys by the offset of the key), "
    "attention (a map for each layer and head for one sentence), bias (the same map for positions only, with queries "
    "and keys set to zero) or extrapolation (loss by sequence length, as position-report measures it).",
    examples,
    options,
    sizeof(positions_args),
    train_prepare,
    run,
};
