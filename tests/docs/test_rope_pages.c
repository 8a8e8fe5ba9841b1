/* test_rope_pages.c — the numbers of docs/rope.md and docs/rope.zh.md, from the library and from formulas in double.
 *
 * Each line of a ```numbers block names one of the functions below.  The test fails if a page states a number without a
 * function, or if no page uses a function.                                                                           */
#include "page.h"
#include "roformer/inspect/positions.h"
#include "roformer/kernel/rope.h"

#include <complex.h>

void rope(float *x, int d, int m);
#include "rope_page.inc" /* the ten lines of C, as docs/rope.md prints them */

enum { D_MOST = 256, SHOWN = 16 };

/* A function of arguments a[] that gives one number. */
#define SCALAR(name, formula) \
    static int name(const double *a, int n, double *out) \
    { \
        (void)a, (void)n; \
        out[0] = (formula); \
        return 1; \
    }

static double theta(int64_t d, int64_t i) { return pow(10000, -2 * (double)i / (double)d); }

static double complex number(double re, double im) { return re + im * I; }

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* R(m) x by the library. */
static void rotate(double *y, const double *x, int64_t d, double m, rf_rope_layout layout)
{
    rf_rope *table = NULL;
    const rf_rope_spec spec = {d, 10000, layout};
    const int32_t at = (int32_t)m;
    float v[D_MOST];
    for (int64_t i = 0; i < d; i++) v[i] = (float)x[i];
    assert_int_equal(rf_rope_at(t_shared(), &spec, &at, 1, &table, NULL), RF_OK);
    assert_int_equal(rf_rope_rotate(t_shared(), table, v, v, NULL, 1, 1, d, 1, NULL), RF_OK);
    rf_rope_free(table);
    for (int64_t i = 0; i < d; i++) y[i] = v[i];
}

/* ---- 1: attention without positions, queries = keys = values = words of two columns ---- */

static int attend(const double *a, int n, double *out)
{
    const double *x = a + 1, *q = x + 2 * (int)a[0];
    double sum = 0;
    out[0] = out[1] = 0;
    for (int j = 0; j < (n - 1) / 2; j++) {
        const double p = exp(dot(q, x + 2 * j, 2) / sqrt(2));
        sum += p;
        for (int c = 0; c < 2; c++) out[c] += p * x[2 * j + c];
    }
    for (int c = 0; c < 2; c++) out[c] /= sum;
    return 2;
}

/* ---- 2-3: numbers for positions ---- */

SCALAR(unit, a[0] / (a[1] - 1))

static int binary(const double *a, int n, double *out)
{
    (void)n;
    for (int i = 0; i < 4; i++) out[i] = (double)((int)a[0] >> (3 - i) & 1);
    return 4;
}

SCALAR(bits_between, __builtin_popcount((unsigned)a[0] ^ (unsigned)a[1]))

static int sinusoid(const double *a, int n, double *out)
{
    (void)n;
    const int64_t d = (int64_t)a[1];
    for (int64_t t = 0; t < d / 2; t++) {
        out[2 * t] = sin(a[0] * theta(d, t));
        out[2 * t + 1] = cos(a[0] * theta(d, t));
    }
    return (int)d;
}

/* The least distance between two of the first T rows of the library's table of C columns (cosines and sines). */
static int least_distance(const double *a, int n, double *out)
{
    (void)n;
    const int64_t d = (int64_t)a[0], T = (int64_t)a[1];
    double *row = calloc((size_t)(T * d), sizeof *row), x[D_MOST];
    assert_non_null(row);
    for (int64_t c = 0; c < d; c++) x[c] = c % 2 == 0;
    out[0] = INFINITY;
    for (int64_t m = 0; m < T; m++) {
        rotate(row + m * d, x, d, (double)m, RF_ROPE_PAIRS);
        for (int64_t k = 0; k < m; k++) {
            double sum = 0;
            for (int64_t c = 0; c < d; c++) sum += pow(row[m * d + c] - row[k * d + c], 2);
            out[0] = fmin(out[0], sqrt(sum));
        }
    }
    free(row);
    return 1;
}

/* p_m . p_n, and with a matrix between them: the sines count twice. */
static double product_of(const double *a, double sines)
{
    double p[D_MOST], q[D_MOST];
    const int64_t d = (int64_t)a[0];
    sinusoid((double[]){a[1], a[0]}, 2, p);
    sinusoid((double[]){a[2], a[0]}, 2, q);
    for (int64_t t = 0; t < d / 2; t++) p[2 * t] *= sines;
    return dot(p, q, d);
}

SCALAR(product, product_of(a, 1))
SCALAR(product_weighted, product_of(a, 2))

/* ---- 5-7: two columns ---- */

static int times_conjugate(const double *a, int n, double *out)
{
    (void)n;
    const double complex z = number(a[0], a[1]) * conj(number(a[2], a[3]));
    return out[0] = creal(z), out[1] = cimag(z), 2;
}

static int euler(const double *a, int n, double *out)
{
    (void)n;
    const double complex z = cexp(number(0, a[0]));
    return out[0] = creal(z), out[1] = cimag(z), 2;
}

/* Re[q k* e^(i (m - n))]: q, k, m, n */
SCALAR(complex_score, creal(number(a[0], a[1]) * conj(number(a[2], a[3])) * cexp(number(0, a[4] - a[5]))))

static int rotated_score(const double *a, int n, double *out)
{
    (void)n;
    double q[2], k[2];
    rotate(q, a, 2, a[4], RF_ROPE_PAIRS);
    rotate(k, a + 2, 2, a[5], RF_ROPE_PAIRS);
    return out[0] = dot(q, k, 2), 1;
}

/* q^T R(r) k, and (R(r) q)^T k */
static int rotate_key(const double *a, int n, double *out)
{
    (void)n;
    double k[2];
    rotate(k, a + 2, 2, a[4], RF_ROPE_PAIRS);
    return out[0] = dot(a, k, 2), 1;
}

static int rotate_query(const double *a, int n, double *out)
{
    (void)n;
    double q[2];
    rotate(q, a, 2, a[4], RF_ROPE_PAIRS);
    return out[0] = dot(q, a + 2, 2), 1;
}

/* The formula of an article with sin instead of cos: r (sin t + i sin t) */
SCALAR(sines_only, hypot(sin(a[0]), sin(a[0])))
SCALAR(arctan, atan(a[1] / a[0]))
SCALAR(arctan2, atan2(a[1], a[0]))

/* ---- 8-9: d columns ---- */

static int frequency(const double *a, int n, double *out)
{
    (void)n;
    rf_config c;
    rf_config_defaults(&c);
    c.hidden_size = (int64_t)a[0] * c.num_attention_heads;
    return out[0] = rf_rope_frequency(&c, 0, 0, (int64_t)a[1]), 1;
}

SCALAR(frequency_from_1, theta((int64_t)a[0], (int64_t)a[1] + 1))

static int wavelength(const double *a, int n, double *out)
{
    frequency(a, n, out);
    return out[0] = 2 * acos(-1) / out[0], 1;
}

SCALAR(matrix_products, a[0] * a[0])
SCALAR(sparse_products, 2 * a[0])

static int pairs(const double *a, int n, double *out) { return rotate(out, a, n - 1, a[n - 1], RF_ROPE_PAIRS), n - 1; }
static int halves(const double *a, int n, double *out)
{
    return rotate(out, a, n - 1, a[n - 1], RF_ROPE_HALVES), n - 1;
}

/* The result of torch.cat([even, odd]) instead of stack: the same numbers, sorted. */
static int cat(const double *a, int n, double *out)
{
    double y[D_MOST];
    const int d = pairs(a, n, y);
    for (int i = 0; i < d; i++) out[i] = y[i < d / 2 ? 2 * i : 2 * i + 1 - d];
    return d;
}

/* The matrix whose last row repeats the one before it (sin, cos instead of cos, -sin). */
static int repeated_row(const double *a, int n, double *out)
{
    const int d = pairs(a, n, out);
    return out[d - 2] = out[d - 1], d;
}

/* The column of cosines cos 1, cos 2, cos 2, cos d/2: every plane but the first has a number of its neighbor. */
static int shifted_angles(const double *a, int n, double *out)
{
    const double m = a[n - 1];
    const double angle[] = {m * theta(4, 0), m * theta(4, 1), m * theta(4, 1), m * theta(4, 1)};
    const double swapped[] = {-a[1], a[0], -a[3], a[2]};
    for (int i = 0; i < 4; i++) out[i] = a[i] * cos(angle[i]) + swapped[i] * sin(angle[i]);
    return 4;
}

typedef int layout_of(const double *, int, double *);

/* q, k of four columns, m, n: the score with a layout for each. */
static double score_of(const double *a, layout_of *of_q, layout_of *of_k)
{
    double q[4], k[4];
    of_q((double[]){a[0], a[1], a[2], a[3], a[8]}, 5, q);
    of_k((double[]){a[4], a[5], a[6], a[7], a[9]}, 5, k);
    return dot(q, k, 4);
}

SCALAR(score, score_of(a, pairs, pairs))
SCALAR(score_cat, score_of(a, cat, cat))
SCALAR(score_mixed, score_of(a, pairs, cat))
SCALAR(score_halves, score_of(a, halves, halves))

/* m, if positions are numbers of bf16. */
static int in_bf16(const double *a, int n, double *out)
{
    (void)n;
    float f = (float)a[0];
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000U;
    memcpy(&f, &bits, sizeof f);
    return out[0] = f, 1;
}

/* The error of m theta_i computed in float32, in the worst plane. */
static int float32_error(const double *a, int n, double *out)
{
    (void)n;
    out[0] = 0;
    for (int64_t i = 0; i < (int64_t)a[0] / 2; i++) {
        const float angle = (float)a[1] * (float)theta((int64_t)a[0], i);
        out[0] = fmax(out[0], fabs(angle - a[1] * theta((int64_t)a[0], i)));
    }
    return 1;
}

/* ---- 10: values ---- */

/* The mean of R(s) v and R(s + 1) v, which attention with equal weights gives the first token; rotated back. */
static int value_mean(const double *a, int n, double *out)
{
    (void)n;
    double v[2], w[2];
    rotate(v, a, 2, a[2], RF_ROPE_PAIRS);
    rotate(w, a, 2, a[2] + 1, RF_ROPE_PAIRS);
    for (int i = 0; i < 2; i++) out[i] = (v[i] + w[i]) / 2;
    return 2;
}

static int value_mean_back(const double *a, int n, double *out)
{
    double mean[2];
    value_mean(a, n, mean);
    rotate(out, mean, 2, -a[2], RF_ROPE_PAIRS);
    return 2;
}

/* ---- 11: decay ---- */

static double decay_from(int64_t d, double m, int64_t first)
{
    double complex s = 0;
    double sum = 0;
    for (int64_t i = 0; i < d / 2; i++) {
        s += cexp(number(0, m * theta(d, i + first)));
        sum += cabs(s);
    }
    return sum / (double)(d / 2);
}

SCALAR(decay, decay_from((int64_t)a[0], a[1], 0))
SCALAR(decay_from_1, decay_from((int64_t)a[0], a[1], 1))

/* q of ones, k = R(-aim) q: their score at distance m. */
static int aimed(const double *a, int n, double *out)
{
    (void)n;
    double q[D_MOST] = {0}, k[D_MOST];
    const int64_t d = (int64_t)a[0];
    for (int64_t i = 0; i < d; i++) q[i] = 1;
    rotate(k, q, d, -a[1], RF_ROPE_PAIRS);
    rotate(k, k, d, a[2], RF_ROPE_PAIRS);
    return out[0] = dot(q, k, d), 1;
}

/* In how many of the first 250 steps the bound increases. */
static int decay_rises(const double *a, int n, double *out)
{
    (void)n;
    out[0] = 0;
    for (int m = 0; m < 250; m++) out[0] += decay_from((int64_t)a[0], m + 1, 0) > decay_from((int64_t)a[0], m, 0);
    return 1;
}

/* ---- 12: linear attention: m, a shift of all positions, q, keys of two columns; a weight for each key ---- */

static double feature(double x) { return x > 0 ? x + 1 : exp(x); }

static int linear_weights(const double *a, int n, double *out, bool after)
{
    double q[2], sum = 0;
    const double query[] = {feature(a[2]), feature(a[3])};
    rotate(q, after ? query : a + 2, 2, a[0] + a[1], RF_ROPE_PAIRS);
    const int keys = (n - 4) / 2;
    for (int j = 0; j < keys; j++) {
        double k[2], plain[] = {feature(a[4 + 2 * j]), feature(a[5 + 2 * j])};
        rotate(k, after ? plain : a + 4 + 2 * j, 2, j + a[1], RF_ROPE_PAIRS);
        if (!after)
            for (int c = 0; c < 2; c++) k[c] = feature(k[c]);
        const double rotated[] = {after ? q[0] : feature(q[0]), after ? q[1] : feature(q[1])};
        out[j] = dot(rotated, k, 2);
        sum += after ? dot(query, plain, 2) : out[j];
    }
    for (int j = 0; j < keys; j++) out[j] /= sum;
    return keys;
}

static int eq19(const double *a, int n, double *out) { return linear_weights(a, n, out, true); }
static int eq19_sum(const double *a, int n, double *out)
{
    double weight[SHOWN];
    const int keys = eq19(a, n, weight);
    out[0] = 0;
    for (int j = 0; j < keys; j++) out[0] += weight[j];
    return 1;
}

static int before_map(const double *a, int n, double *out) { return linear_weights(a, n, out, false); }
SCALAR(state_numbers, a[0] * a[1] + a[0])
SCALAR(cache_numbers, a[0] * (a[1] + a[2]))

/* ---- 13: longer texts: theta_i of d = 64, stretched; factor, original length (yarn), i ---- */

static double stretched(const char *type, double factor, double original, double i)
{
    rf_config c;
    rf_error why = {0};
    char text[256], length[64] = "";
    if (original > 0) snprintf(length, sizeof length, ", \"original_max_position_embeddings\": %g", original);
    snprintf(text, sizeof text,
             "{\"hidden_size\": 256, \"num_attention_heads\": 4,"
             " \"rope_scaling\": {\"rope_type\": \"%s\", \"factor\": %g%s}}",
             type, factor, length);
    if (rf_config_parse(t_shared(), text, strlen(text), "config.json", &c, &why)) fail_msg("%s", why.text);
    return rf_rope_frequency(&c, 0, 0, (int64_t)i) / theta(64, (int64_t)i);
}

SCALAR(linear, stretched("linear", a[0], 0, a[1]))
SCALAR(ntk, stretched("ntk", a[0], 0, a[1]))
SCALAR(yarn, stretched("yarn", a[0], a[1], a[2]))
SCALAR(radians, a[1] * theta(64, (int64_t)a[0]))

/* ---- 15: figures of the paper that write-ups repeat wrongly: its Tables 2, 4 and 5 ---- */

static const double glue_bert[] = {88.9, 93.5, 90.5, 85.8, 71.2, 84.6},
                    glue_rope[] = {89.5, 90.7, 88.0, 87.0, 86.4, 80.2};

static int glue_won(const double *a, int n, double *out)
{
    (void)a, (void)n;
    out[0] = 0;
    for (size_t i = 0; i < RF_COUNT(glue_bert); i++) out[0] += glue_rope[i] > glue_bert[i];
    return 1;
}

SCALAR(glue_qqp, glue_rope[4] - glue_bert[4])

/* CAIL2019-SCM, test accuracy: RoFormer-1024 over RoFormer and WoBERT with texts of 512. */
SCALAR(scm_over_roformer, 69.79 - 68.29)
SCALAR(scm_over_wobert, 69.79 - 68.10)

static int stage_steps(const double *a, int n, double *out)
{
    (void)n;
    static const double steps[] = {200000, 12500, 120000, 80000, 10000, 30000};
    return out[0] = steps[(int)a[0] - 1], 1;
}

/* ---- the pages ---- */

static const char *const pages[] = {"docs/rope.md", "docs/rope.zh.md"};

static const struct function {
    const char *name;
    int least; /* arguments */
    int (*of)(const double *a, int n, double *out);
} functions[] = {
    {"attend", 5, attend},
    {"unit", 2, unit},
    {"binary", 1, binary},
    {"bits_between", 2, bits_between},
    {"sinusoid", 2, sinusoid},
    {"least_distance", 2, least_distance},
    {"product", 3, product},
    {"product_weighted", 3, product_weighted},
    {"euler", 1, euler},
    {"times_conjugate", 4, times_conjugate},
    {"complex_score", 6, complex_score},
    {"rotated_score", 6, rotated_score},
    {"rotate_key", 5, rotate_key},
    {"rotate_query", 5, rotate_query},
    {"sines_only", 1, sines_only},
    {"arctan", 2, arctan},
    {"arctan2", 2, arctan2},
    {"frequency", 2, frequency},
    {"frequency_from_1", 2, frequency_from_1},
    {"wavelength", 2, wavelength},
    {"matrix_products", 1, matrix_products},
    {"sparse_products", 1, sparse_products},
    {"pairs", 3, pairs},
    {"halves", 3, halves},
    {"cat", 3, cat},
    {"repeated_row", 3, repeated_row},
    {"shifted_angles", 5, shifted_angles},
    {"score", 10, score},
    {"score_cat", 10, score_cat},
    {"score_mixed", 10, score_mixed},
    {"score_halves", 10, score_halves},
    {"bf16", 1, in_bf16},
    {"float32_error", 2, float32_error},
    {"value_mean", 3, value_mean},
    {"value_mean_back", 3, value_mean_back},
    {"decay", 2, decay},
    {"decay_from_1", 2, decay_from_1},
    {"aimed", 3, aimed},
    {"decay_rises", 1, decay_rises},
    {"eq19", 8, eq19},
    {"eq19_sum", 8, eq19_sum},
    {"before_map", 8, before_map},
    {"state_numbers", 2, state_numbers},
    {"cache_numbers", 3, cache_numbers},
    {"linear", 2, linear},
    {"ntk", 2, ntk},
    {"yarn", 3, yarn},
    {"radians", 2, radians},
    {"glue_won", 0, glue_won},
    {"glue_qqp", 0, glue_qqp},
    {"scm_over_roformer", 1, scm_over_roformer},
    {"scm_over_wobert", 1, scm_over_wobert},
    {"stage_steps", 1, stage_steps},
};

static const struct function *function_of(const char *line, size_t length)
{
    for (size_t i = 0; i < RF_COUNT(functions); i++)
        if (strlen(functions[i].name) == length && !strncmp(functions[i].name, line, length)) return functions + i;
    return NULL;
}

/* "results/x/table.txt: words" */
static void cited(const page *p, const char *line, const char *colon)
{
    static char text[PAGE_TEXT], whole[PAGE_TEXT], words[1024];
    char path[256];
    snprintf(path, sizeof path, "%.*s", (int)(colon - line), line);
    page_squeezed(page_read(path, text, sizeof text), whole);
    page_squeezed(colon + 2, words);
    if (!strstr(whole, words)) fail_msg("%s: %s does not hold \"%s\"", p->path, path, words);
}

/* "name(arguments) = values" */
static void computed(const page *p, const char *line, const char *equals)
{
    const char *open = strchr(line, '('), *end = strchr(line, '#');
    if (!open || open > equals) fail_msg("%s: no function: %s", p->path, line);
    const struct function *f = function_of(line, (size_t)(open - line));
    if (!f) fail_msg("%s: unknown function: %s", p->path, line);
    page_number arg[PAGE_NUMBERS], value[PAGE_NUMBERS];
    double a[PAGE_NUMBERS] = {0}, out[D_MOST];
    const int args = page_numbers(open + 1, equals, arg, PAGE_NUMBERS);
    const int values = page_numbers(equals + 1, end ? end : line + strlen(line), value, PAGE_NUMBERS);
    if (args < f->least) fail_msg("%s: %d arguments, %s takes %d: %s", p->path, args, f->name, f->least, line);
    for (int i = 0; i < args; i++) a[i] = arg[i].value;
    const int n = f->of(a, args, out);
    if (n != values) fail_msg("%s: %d values, %s gives %d: %s", p->path, values, f->name, n, line);
    for (int i = 0; i < n; i++)
        if (fabs(out[i] - value[i].value) > value[i].half + 1e-6 * fmin(1, fabs(out[i])))
            fail_msg("%s: value %d is %.9g: %s", p->path, i + 1, out[i], line);
}

static void recompute(const page *p)
{
    int lines = 0;
    for (int i = 0; i < p->lines; i++) {
        const char *line = p->line[i].text;
        if (strcmp(p->line[i].fence, "numbers") || !*line || *line == '#') continue;
        const char *equals = strstr(line, " = "), *colon = strstr(line, ": ");
        if (!strncmp(line, "results/", 8) && colon) cited(p, line, colon);
        else if (equals) computed(p, line, equals);
        else fail_msg("%s: neither a function nor a file of results: %s", p->path, line);
        lines++;
    }
    assert_true(lines > 50);
}

static void every_number_is_recomputed(void **state)
{
    (void)state;
    for (size_t i = 0; i < RF_COUNT(pages); i++) {
        page *p = page_open(pages[i]);
        recompute(p);
        page_repeats(p);
        free(p);
    }
}

/* Both pages show the same numbers and the same code, section by section. */
static void the_pages_agree(void **state)
{
    (void)state;
    page *p = page_open(pages[0]), *q = page_open(pages[1]);
    int i = 0, j = 0;
    for (;; i++, j++) {
        while (i < p->lines && (!p->line[i].fence[0] || p->line[i].text[0] == '#')) i++;
        while (j < q->lines && (!q->line[j].fence[0] || q->line[j].text[0] == '#')) j++;
        if (i == p->lines || j == q->lines) break;
        if (!page_same_line(p->line + i, q->line + j))
            fail_msg("line %d of %s is \"%s\", line %d of %s is \"%s\"", i + 1, p->path, p->line[i].text, j + 1,
                     q->path, q->line[j].text);
    }
    assert_true(i == p->lines && j == q->lines);
    free(p);
    free(q);
}

static void formulas_render(void **state)
{
    (void)state;
    for (size_t f = 0; f < RF_COUNT(pages); f++) {
        page *p = page_open(pages[f]);
        for (int i = 0; i < p->lines; i++) page_formulas_render(p, i);
        free(p);
    }
}

static void every_function_is_used(void **state)
{
    (void)state;
    page *p = page_open("docs/rope.md");
    for (size_t f = 0; f < RF_COUNT(functions); f++) {
        bool used = false;
        for (int i = 0; i < p->lines && !used; i++)
            used = !strcmp(p->line[i].fence, "numbers") &&
                   function_of(p->line[i].text, strcspn(p->line[i].text, "(")) == functions + f;
        if (!used) fail_msg("%s does not use %s", p->path, functions[f].name);
    }
    free(p);
}

/* The ten lines compute in double and round once; the library's table and product round three times. */
static void the_ten_lines_are_the_library(void **state)
{
    (void)state;
    static const int at[] = {0, 1, 2, 255, 257, 65535, 1000003};
    for (size_t i = 0; i < RF_COUNT(at); i++) {
        float *x = t_normal(64);
        double expected[64], given[64];
        for (int j = 0; j < 64; j++) given[j] = x[j];
        rotate(expected, given, 64, at[i], RF_ROPE_PAIRS);
        rope(x, 64, at[i]);
        t_close_to(x, expected, 64, 4 * 4 * 1.1920929e-7, 0);
        t_free_all();
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_is_recomputed),
        cmocka_unit_test(the_pages_agree),
        cmocka_unit_test(formulas_render),
        cmocka_unit_test(every_function_is_used),
        cmocka_unit_test(the_ten_lines_are_the_library),
    };
    return cmocka_run_group_tests_name("docs/rope_pages", tests, NULL, NULL);
}
