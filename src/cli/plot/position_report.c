/* position_report.c — the measurements of position-report as JSON and as a table. */
#include <math.h>

#include "cli/plot/position_report.h"

static json_t *number(double x) { return isfinite(x) ? json_real(x) : json_null(); }

static bool rotates(const position_report *r) { return (rf_position_flags(r->bench->is) & RF_POSITION_ROPE) != 0; }

/* ---- JSON ---- */

static json_t *numbers(const double *x, int64_t n, double over)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < n; i++) cli_json_add(&list, number(x[i] / over));
    return list;
}

static json_t *change_json(double max, double mean, double rms)
{
    json_t *o = json_object();
    cli_json_set(&o, "max", number(max));
    cli_json_set(&o, "mean", number(mean));
    cli_json_set(&o, "rms", number(rms));
    return o;
}

static json_t *shift_json(const rf_shift *s)
{
    json_t *o = json_object();
    cli_json_set(&o, "shift", json_integer(s->by));
    cli_json_set(&o, "defined", json_boolean(s->defined));
    cli_json_set(&o, "hidden", s->defined ? change_json(s->hidden_max, s->hidden_mean, s->hidden_rms) : json_null());
    cli_json_set(&o, "logits",
                 s->defined && s->scored ? change_json(s->logits_max, s->logits_mean, s->logits_rms) : json_null());
    return o;
}

static json_t *head_json(const position_report *r, int64_t l, int64_t h)
{
    const rf_attention_report *a = &r->attention;
    const rf_head_sums *s = &a->sums[l];
    const int64_t i = l * a->H + h, half = s->r / 2;
    json_t *o = json_object();
    cli_json_set(&o, "head", json_integer(h));
    cli_json_set(&o, "distance", number(a->distance[i]));
    cli_json_set(&o, "entropy", number(a->entropy[i]));
    cli_json_set(&o, "ends", number(a->ends[i]));
    cli_json_set(&o, "by_distance", numbers(a->by_distance + i * a->length, a->length, 1));
    if (rotates(r)) {
        cli_json_set(&o, "query_planes", numbers(s->query_plane + h * half, half, (double)s->tokens));
        cli_json_set(&o, "key_planes", numbers(s->key_plane + h * half, half, (double)s->tokens));
    }
    return o;
}

static json_t *attention_json(const position_report *r)
{
    const rf_attention_report *a = &r->attention;
    json_t *o = json_object(), *layers = json_array();
    cli_json_set(&o, "uniform_distance", number(a->uniform_distance));
    cli_json_set(&o, "uniform_entropy", number(a->uniform_entropy));
    for (int64_t l = 0; l < a->L; l++) {
        json_t *heads = json_array();
        for (int64_t h = 0; h < a->H; h++) cli_json_add(&heads, head_json(r, l, h));
        cli_json_add(&layers, json_pack("{s:I,s:o}", "layer", (json_int_t)l, "heads", heads));
    }
    cli_json_set(&o, "layers", layers);
    return o;
}

static json_t *subspaces_json(const rf_subspaces *s)
{
    json_t *o = json_object();
    cli_json_set(&o, "share", number(s->share));
    cli_json_set(&o, "width", json_integer(s->width));
    cli_json_set(&o, "positions", json_integer(s->positions));
    cli_json_set(&o, "words", json_integer(s->words));
    cli_json_set(&o, "position_dimensions", json_integer(s->position_dimensions));
    cli_json_set(&o, "word_dimensions", json_integer(s->word_dimensions));
    cli_json_set(&o, "overlap", number(s->overlap));
    cli_json_set(&o, "random_overlap", number(s->random_overlap));
    cli_json_set(&o, "random_deviation", number(s->random_deviation));
    cli_json_set(&o, "cosines", numbers(s->cosine, s->angles, 1));
    cli_json_set(&o, "random_cosines", numbers(s->random_cosine, s->angles, 1));
    return o;
}

static json_t *length_json(const rf_length_loss *l)
{
    json_t *o = json_object(), *bins = json_array();
    cli_json_set(&o, "length", json_integer(l->length));
    cli_json_set(&o, "defined", json_boolean(l->defined));
    cli_json_set(&o, "loss", l->defined ? number(l->loss) : json_null());
    cli_json_set(&o, "error", l->defined ? number(l->error) : json_null());
    cli_json_set(&o, "accuracy", l->defined ? number((double)l->hits / (double)l->labels) : json_null());
    cli_json_set(&o, "change", l->defined ? number(l->change) : json_null());
    cli_json_set(&o, "change_error", l->defined ? number(l->change_error) : json_null());
    cli_json_set(&o, "labels", json_integer(l->labels));
    for (int64_t i = 0; i < l->bins && l->defined; i++) {
        json_t *bin = json_object();
        cli_json_set(&bin, "from", json_integer(i * l->bin_width));
        cli_json_set(&bin, "labels", json_integer(l->bin_labels[i]));
        cli_json_set(&bin, "loss", number(l->bin_loss[i]));
        cli_json_add(&bins, bin);
    }
    cli_json_set(&o, "places", bins);
    return o;
}

json_t *position_report_json(const position_report *r)
{
    const lab_bench *b = r->bench;
    json_t *o = json_object(), *shifts = json_array(), *lengths = json_array();
    cli_json_set(&o, "model", cli_text_json(b->folder, strlen(b->folder)));
    cli_json_set(&o, "position_embedding_type", json_string(rf_position_name(b->is)));
    cli_json_set(&o, "max_length", json_integer(b->text.length));
    cli_json_set(&o, "pieces", json_integer(b->probe.pieces));
    cli_json_set(&o, "stretches", json_integer(b->text.n));
    cli_json_set(&o, "stretch_tokens", json_integer(b->text.size));
    for (int i = 0; i < POSITION_SHIFTS; i++) cli_json_add(&shifts, shift_json(&r->shift[i]));
    for (int i = 0; i < r->lengths; i++) cli_json_add(&lengths, length_json(&r->loss[i]));
    cli_json_set(&o, "shifts", shifts);
    cli_json_set(&o, "attention", attention_json(r));
    cli_json_set(&o, "subspaces", r->subspaces.width ? subspaces_json(&r->subspaces) : json_null());
    cli_json_set(&o, "lengths", lengths);
    return o;
}

/* ---- the table ---- */

static void print_shifts(const position_report *r)
{
    printf("\nmoving all positions    hidden states: largest    mean      rms    logits: largest    mean      rms\n");
    for (int i = 0; i < POSITION_SHIFTS; i++) {
        const rf_shift *s = &r->shift[i];
        printf("  by %-6lld ", (long long)s->by);
        if (!s->defined) {
            printf(" the encoding has no such positions\n");
            continue;
        }
        printf("%26.3g %9.2g %8.3g", s->hidden_max, s->hidden_mean, s->hidden_rms);
        if (s->scored) printf(" %18.3g %9.2g %8.3g", s->logits_max, s->logits_mean, s->logits_rms);
        printf("\n");
    }
}

static void print_heads(const rf_attention_report *a, const char *title, const double *value, int digits)
{
    printf("\n%s\n  layer", title);
    for (int64_t h = 0; h < a->H; h++) printf(" %7s%-2lld", "head ", (long long)h);
    printf("\n");
    for (int64_t l = 0; l < a->L; l++) {
        printf("  %5lld", (long long)l);
        for (int64_t h = 0; h < a->H; h++) printf(" %9.*f", digits, value[l * a->H + h]);
        printf("\n");
    }
}

/* Norms of queries and keys: means over heads and over the planes of each eighth. */
static void print_planes(const rf_attention_report *a)
{
    enum { GROUPS = 8 };
    const int64_t half = a->sums[0].r / 2, groups = half < GROUPS ? half : GROUPS;
    printf("\nplanes: mean norm of q, of k, over all heads; fast planes first\n  layer   ");
    for (int64_t i = 0; i < groups; i++)
        printf("   %3lld-%-3lld", (long long)(i * half / groups), (long long)((i + 1) * half / groups - 1));
    printf("\n");
    for (int64_t row = 0; row < 2 * a->L; row++) {
        const rf_head_sums *s = &a->sums[row / 2];
        const double *plane = row % 2 ? s->key_plane : s->query_plane;
        if (row % 2) printf("        k ");
        else printf("  %5lld q ", (long long)(row / 2));
        for (int64_t i = 0; i < groups; i++) {
            const int64_t from = i * half / groups, to = (i + 1) * half / groups;
            double sum = 0;
            for (int64_t h = 0; h < a->H; h++)
                for (int64_t p = from; p < to; p++) sum += plane[h * half + p];
            printf(" %9.3f", sum / (double)(a->H * (to - from) * s->tokens));
        }
        printf("\n");
    }
}

/* A number, or a dash if nothing was predicted, or a single stretch has no error estimate. */
static const char *cell(double x, int width, char text[32])
{
    if (isfinite(x)) snprintf(text, 32, "%*.4f", width, x);
    else snprintf(text, 32, "%*s", width, "-");
    return text;
}

static void print_lengths(const position_report *r)
{
    printf("\nloss by length          loss    error   accuracy   against the first    first eighth of a piece   last "
           "eighth\n");
    for (int i = 0; i < r->lengths; i++) {
        const rf_length_loss *l = &r->loss[i];
        printf("  %6lld tokens ", (long long)l->length);
        if (!l->defined) {
            printf("   the encoding has no such positions\n");
            continue;
        }
        double first = 0, last = 0, n = 0, m = 0;
        char text[4][32];
        for (int64_t k = 0; k < l->bins; k++) {
            const int64_t at = k * l->bin_width;
            const double loss = l->bin_labels[k] ? l->bin_loss[k] * (double)l->bin_labels[k] : 0;
            if (8 * at < l->length) first += loss, n += (double)l->bin_labels[k];
            if (8 * at >= 7 * l->length) last += loss, m += (double)l->bin_labels[k];
        }
        printf("%13.4f %s %8.2f %% %+11.4f (%s) %s %s\n", l->loss, cell(l->error, 8, text[0]),
               100 * (double)l->hits / (double)l->labels, l->change, cell(l->change_error, 0, text[1]),
               cell(first / n, 20, text[2]), cell(last / m, 18, text[3]));
    }
}

static double degrees(double cosine) { return acos(fmin(cosine, 1)) * 180 / acos(-1); }

static void print_subspaces(const rf_subspaces *s)
{
    printf("\nsubspaces of %lld columns: the fewest principal directions that hold %.0f %% of the squares of vectors\n"
           "  %lld positions in %lld dimensions, %lld words in %lld; overlap is the mean squared cosine of their "
           "principal angles\n",
           (long long)s->width, 100 * s->share, (long long)s->positions, (long long)s->position_dimensions,
           (long long)s->words, (long long)s->word_dimensions);
    if (!s->angles) return;
    printf("            overlap    smallest angle   median angle\n");
    printf("  model     %7.4f  %12.1f deg %10.1f deg\n", s->overlap, degrees(s->cosine[0]),
           degrees(s->cosine[s->angles / 2]));
    printf("  random    %7.4f  %12.1f deg %10.1f deg   (standard deviation of the overlap %.4f)\n", s->random_overlap,
           degrees(s->random_cosine[0]), degrees(s->random_cosine[s->angles / 2]), s->random_deviation);
}

void position_report_print(const position_report *r)
{
    const rf_attention_report *a = &r->attention;
    const lab_bench *b = r->bench;
    char title[160];
    printf("%s: %s\n", rf_position_name(b->is), rf_position_equation(b->is));
    printf("%lld pieces of %lld tokens; %lld stretches of %lld tokens for losses\n", (long long)b->probe.pieces,
           (long long)b->text.length, (long long)b->text.n, (long long)b->text.size);
    print_shifts(r);
    snprintf(title, sizeof title,
             "attention reaches so many tokens far, in the mean; the same everywhere would be %.1f",
             a->uniform_distance);
    print_heads(a, title, a->distance, 1);
    snprintf(title, sizeof title, "entropy of attention in nats; the same everywhere would be %.2f",
             a->uniform_entropy);
    print_heads(a, title, a->entropy, 2);
    print_heads(a, "share of attention on [CLS] and [SEP]", a->ends, 3);
    if (rotates(r) && a->sums[0].r > 1) print_planes(a);
    if (r->subspaces.width) print_subspaces(&r->subspaces);
    if (r->lengths) print_lengths(r);
}
