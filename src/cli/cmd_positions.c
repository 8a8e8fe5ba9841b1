/* cmd_positions.c — roformer positions: the registry of position encodings, and curves that explain rotary ones. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/gnuplot.h"
#include "cli/position_curves.h"
#include "model/position.h"

struct args {
    cli_list words;
    const char *config, *output;
    int64_t length, head_size, distance, width, height;
    int json;
};

static rf_status read_config(const struct args *a, cli_io *io, rf_config *c)
{
    rf_config_defaults(c);
    const rf_status status = a->config ? rf_config_read(io->ctx, a->config, c, &io->why) : RF_OK;
    if (status || !a->head_size) return status;
    if (a->head_size % 2)
        return rf_fail(&io->why, RF_EARG, "--head_size: %lld is odd, rotation needs pairs of columns", (long long)a->head_size);
    c->hidden_size = a->head_size;
    c->num_attention_heads = 1;
    return RF_OK;
}

/* ---- the list ---- */

typedef struct numbers { int64_t parameters; double flops, bytes; } numbers;

static numbers count(const rf_position *p, const rf_config *base, int64_t T)
{
    rf_config c = *base;
    numbers n = {0};
    snprintf(c.position_embedding_type, sizeof c.position_embedding_type, "%s", p->name);
    n.parameters = rf__position_parameters(p, &c);
    if (p->cost) p->cost(&c, T, &n.flops, &n.bytes);
    return n;
}

static json_t *row_json(const rf_position *p, const numbers *n)
{
    return json_pack("{s:s, s:s, s:s, s:I, s:f, s:f, s:b, s:b, s:b, s:b}", "name", p->name, "equation", p->equation, "source", p->source,
                     "parameters", (json_int_t)n->parameters, "flops_per_token", n->flops, "bytes_per_token", n->bytes,
                     "shift_invariant", (p->flags & RF_POSITION_SHIFT) != 0, "extrapolates", (p->flags & RF_POSITION_EXTRAPOLATES) != 0,
                     "causal_only", (p->flags & RF_POSITION_CAUSAL) != 0, "extension", (p->flags & RF_POSITION_EXTENSION) != 0);
}

static int list(const struct args *a, cli_io *io, const rf_config *c)
{
    json_t *all = json_array();
    if (!a->json)
        printf("%-20s %12s %12s %12s  %-5s %-6s  %s\n", "position_embedding_type", "parameters", "FLOPs/token", "bytes/token", "shift",
               "longer", "");
    for (const rf_position *const *p = rf__position_list; *p; p++) {
        const numbers n = count(*p, c, a->length);
        char parameters[32], flops[32], bytes[32];
        json_array_append_new(all, row_json(*p, &n));
        if (a->json) continue;
        cli_count((double)n.parameters, parameters, sizeof parameters);
        cli_count(n.flops, flops, sizeof flops);
        cli_count(n.bytes, bytes, sizeof bytes);
        printf("%-23s %12s %12s %12s  %-5s %-6s  %s%s%s\n    %s\n", (*p)->name, parameters, flops, bytes,
               (*p)->flags & RF_POSITION_SHIFT ? "yes" : "no", (*p)->flags & RF_POSITION_EXTRAPOLATES ? "yes" : "no", (*p)->source,
               (*p)->flags & RF_POSITION_CAUSAL ? "; causal only" : "", (*p)->flags & RF_POSITION_EXTENSION ? "; extension" : "", (*p)->equation);
    }
    if (a->json) cli_print_json(all, 0, &io->why);
    else json_decref(all);
    if (!io->why.code) cli_flush(&io->why);
    return cli_exit(io);
}

/* ---- curves ---- */

static const cli_curve *find_curve(const char *name, rf_error *why)
{
    cli_nearest near = {name, NULL, 0};
    for (const cli_curve *k = cli_curves; k->name; k++) {
        if (!strcmp(k->name, name)) return k;
        cli_consider(&near, k->name);
    }
    rf_fail(why, RF_EARG, "unknown picture %.60s%s%s%s: it is decay, score, wavelengths or angles", name, near.best ? "; did you mean " : "",
            near.best ? near.best : "", near.best ? "?" : "");
    return NULL;
}

static int columns(const cli_curve *k)
{
    int n = 0;
    while (k->column[n]) n++;
    return n;
}

static rf_status put_rows(const cli_curve *k, const rf_config *c, int64_t most, cli_out *out, rf_error *why)
{
    double row[CLI_CURVE_COLUMNS + 1];
    rf_status status = RF_OK;
    for (int64_t i = 0; !status && k->row(c, most, i, row) && !cli_stopped(); i++) {
        char line[256];
        int n = snprintf(line, sizeof line, "%.0f", row[0]);
        for (int j = 0; j < columns(k); j++)
            n += snprintf(line + n, sizeof line - (size_t)n, isfinite(row[1 + j]) ? "\t%.7g" : "\t?", row[1 + j]);
        line[n++] = '\n';
        status = cli_out_write(out, line, (size_t)n, why);
    }
    return status;
}

static rf_status put_text(cli_out *out, const char *text, rf_error *why) { return cli_out_write(out, text, strlen(text), why); }

/* Without a picture: a line of names, then the numbers. */
static rf_status print_curve(const cli_curve *k, const rf_config *c, int64_t most, rf_error *why)
{
    cli_out out;
    char line[256];
    int n = snprintf(line, sizeof line, "%s", k->x);
    for (int j = 0; j < columns(k); j++) n += snprintf(line + n, sizeof line - (size_t)n, "\t%s", k->column[j]);
    rf_status status = cli_out_open(&out, "-", why);
    if (!status) status = put_text(&out, line, why);
    if (!status) status = put_text(&out, "\n", why);
    if (!status) status = put_rows(k, c, most, &out, why);
    if (!status) status = cli_out_commit(&out, why);
    cli_out_discard(&out);
    return status;
}

static rf_status write_script(const struct args *a, const cli_curve *k, const rf_config *c, cli_out *out, bool svg, rf_error *why)
{
    char text[2048], name[1024];
    const char *slash = strrchr(a->output, '/');
    const bool log_x = k->log_x || (!strcmp(k->x, "distance") && a->distance > 4000);
    cli_gnuplot_quote(slash ? slash + 1 : a->output, name, sizeof name);
    rf_status status = put_text(out, "# drawn with: gnuplot FILE.gp\n$curve << EOD\n", why);
    if (!status) status = put_rows(k, c, a->distance, out, why);
    int n = snprintf(text, sizeof text, "EOD\nif (!exists('out')) out = '%s'\nset terminal %s size %lld,%lld noenhanced font ',11'\nset output out\n"
                     "set grid\nset key top right\nset title '%s'\nset xlabel '%s'\nset ylabel '%s'\n%s%sset datafile missing '?'\nplot ", name,
                     svg ? "svg background rgb 'white'" : "pngcairo", (long long)a->width, (long long)a->height, k->summary, k->x, k->y,
                     log_x ? "set logscale x\n" : "", k->log_y ? "set logscale y\n" : "");
    for (int j = 0; j < columns(k); j++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s$curve using 1:%d with lines title '%s'", j ? ", \\\n     " : "", j + 2, k->column[j]);
    snprintf(text + n, sizeof text - (size_t)n, "\nset output\n");
    return status ? status : put_text(out, text, why);
}

static rf_status draw_curve(const struct args *a, cli_io *io, const cli_curve *k, const rf_config *c)
{
    rf_error *why = &io->why;
    char script[4096];
    cli_out out = {.fd = -1};
    const char *dot = strrchr(a->output, '.');
    const bool svg = dot && !strcmp(dot, ".svg"), png = dot && !strcmp(dot, ".png");
    if (!svg && !png) return rf_fail(why, RF_EARG, "positions plot needs -o FILE.svg or -o FILE.png");
    const int n = snprintf(script, sizeof script, "%.*s.gp", (int)(dot - a->output), a->output);
    if (n < 0 || (size_t)n >= sizeof script - 32) return rf_fail(why, RF_EARG, "--output: the path is too long");
    rf_status status = cli_out_open(&out, script, why);
    if (!status) status = write_script(a, k, c, &out, svg, why);
    if (!status) status = cli_out_commit(&out, why);
    if (!status) status = cli_gnuplot(script, a->output, why);
    if (!status) cli_note(io, "%s drawn; %s holds script and data", a->output, script);
    cli_out_discard(&out);
    return status;
}

static int run(void *arguments, cli_io *io)
{
    const struct args *a = arguments;
    rf_config c;
    if (read_config(a, io, &c)) return cli_exit(io);
    if (!a->words.n && a->output) rf_fail(&io->why, RF_EARG, "--output belongs to a picture: positions plot KIND");
    if (io->why.code) return cli_exit(io);
    if (!a->words.n) return list(a, io, &c);
    if (strcmp(a->words.item[0], "plot") || a->words.n < 2) {
        rf_fail(&io->why, RF_EARG, "positions: \"plot\" and what to draw are understood: decay, score, wavelengths or angles");
        return cli_exit(io);
    }
    const cli_curve *k = find_curve(a->words.item[1], &io->why);
    if (k && !rf__rope_check(&c, &io->why)) {
        if (a->output) draw_curve(a, io, k, &c);
        else print_curve(k, &c, a->distance, &io->why);
    }
    return cli_exit(io);
}

#define A(field) offsetof(struct args, field)
static const cli_option options[] = {
    {"config", 0, CLI_FILE, A(config), "FILE", NULL, 0, 0, NULL, "config.json or a folder with one, for sizes and rope keys; without it a base model", NULL},
    {"length", 0, CLI_INT, A(length), "N", "512", 1, 1e9, NULL, "tokens of the text that costs are for", NULL},
    {"head_size", 0, CLI_INT, A(head_size), "D", NULL, 2, 65536, NULL, "columns of a head, instead of the config's", NULL},
    {"max_distance", 0, CLI_INT, A(distance), "N", "250", 1, 2147483647, NULL, "largest distance, or position, of a curve", NULL},
    {"output", 'o', CLI_FILE, A(output), "FILE.svg|FILE.png", NULL, 0, 0, NULL,
     "the picture; its script is kept as FILE.gp.  Without it the numbers are printed", NULL},
    {"width", 0, CLI_INT, A(width), "N", "900", 100, 20000, NULL, "in pixels", NULL},
    {"height", 0, CLI_INT, A(height), "N", "480", 50, 10000, NULL, "in pixels", NULL},
    {"json", 0, CLI_FLAG, A(json), NULL, NULL, 0, 0, NULL, "the list as one line of JSON", NULL},
    {"WORD", 0, CLI_OPERANDS, A(words), NULL, NULL, 0, 2, NULL, "", NULL},
    {0},
};
#undef A

static const char *const examples[] = {
    "roformer positions",
    "roformer positions --config my-model --json",
    "roformer positions plot decay --head_size 128 --max_distance 1000000 -o decay.svg",
    "roformer positions plot angles --max_distance 1000000",
    NULL,
};

const cli_command cmd_positions = {
    "positions", "[plot decay|score|wavelengths|angles]", "list position encodings, draw what rotary ones do",
    "Lists every value of position_embedding_type: parameters, arithmetic and memory traffic it adds for each token in a forward, whether "
    "scores stay when all positions move (shift), whether it is defined for texts longer than those trained on (longer), and its equation.\n"
    "With plot, draws a curve of rotary positions with gnuplot, or prints its numbers.",
    examples, options, sizeof(struct args), NULL, run,
};
