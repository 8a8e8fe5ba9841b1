/* embed.c — vectors of texts; texts with similar meanings have similar vectors.
 *
 *     u = z / |z|,  cos(x, y) = <u_x, u_y>                       z: the pooled vector of a text
 *
 *     infonce    mean over texts i of -log( exp(s cos(t_i, p_i)) / sum_c exp(s cos(t_i, c)) ),  c: all second texts and
 *                negatives of the batch                          (van den Oord et al. 2018; MultipleNegativesRanking)
 *                except, besides p_i: texts equal to t_i or p_i, and second texts of first texts equal to t_i
 *     cosent     log(1 + sum over score_i < score_j of exp(s (cos_i - cos_j)))                           (Su 2022)
 *     cosine     mean of (cos(t_i, p_i) - score_i)^2
 *     triplet    mean of max(0, |t_i - p_i| - |t_i - q_i| + margin)
 *
 * Towards vectors y_i of another model (--teacher; Reimers and Gurevych 2020), x each of the texts of example i:
 *
 *     mse        mean over examples and their texts of |x - y_i|^2 / C           x: the vector as the folder gives it
 *     cosine     mean over examples and their texts of 1 - cos(x, y_i)
 *
 * Matryoshka (Kusupati et al. 2022): the loss is summed over all d, with z truncated to its first d numbers and
 * normalized.  A text without a second text is paired with itself: two dropout masks give two vectors (SimCSE, Gao et
 * al. 2021). */
#include <math.h>
#include <stdlib.h>

#include "graph/graph.h"
#include "task/vectors.h"

/* ---- examples ---- */

/* A member in which other programs have what is trained on, but which is not read here; NULL: none. */
static const char *unread_of(const json_t *object)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
        if (!strcmp(key, "pos") || !strcmp(key, "neg") || !strncmp(key, "negative_", 9)) return key;
    return NULL;
}

/* The number of strings in "negative", a string, or "negatives", a list; -1: the record is malformed. */
static int64_t negatives_of(rf__example *m, const json_t **list)
{
    const json_t *one = json_object_get(m->record->json, "negative"),
                 *many = json_object_get(m->record->json, "negatives");
    *list = one ? one : many;
    const char *other = m->with_labels ? unread_of(m->record->json) : NULL;
    if (other)
        return RF__EXAMPLE_BAD(m, "member \"%s\": expected \"text\" and \"pair\", with \"negative\" or a list "
                               "\"negatives\"", rf__printable(other).text), -1;
    if (!*list) return 0;
    const bool fine = one && many ? false : one ? json_is_string(one) : json_is_array(many);
    if (!fine)
        return RF__EXAMPLE_BAD(m, one && many ? "expected \"negative\" or \"negatives\", got both"
                                  : one       ? "negative: expected a string, got another value"
                                              : "negatives: expected a list, got another value"),
               -1;
    if (one) return 1;
    for (size_t i = 0; i < json_array_size(many); i++)
        if (!json_is_string(json_array_get(many, i)))
            return RF__EXAMPLE_BAD(m, "negative %zu: expected a string, got %s", i + 1,
                                   rf__json_shown(json_array_get(many, i)).text), -1;
    return (int64_t)json_array_size(many);
}

/* Conditions that an example must meet, by itself and with the others. */
static void check_example(rf__example *m, const rf__items *out, float score, int64_t negatives)
{
    const rf__file_record *r = m->record;
    if (negatives > 0 && !isnan(score)) RF__EXAMPLE_BAD(m, "expected a score or negatives, got both");
    if (negatives > 0 && !r->pair.at) RF__EXAMPLE_BAD(m, "expected a second text with negatives, got none");
    if (negatives > 0 && out->teacher) RF__EXAMPLE_BAD(m, "expected no negatives with --teacher, got some");
    if (!isnan(score) && !m->bad && !r->pair.at) RF__EXAMPLE_BAD(m, "expected a second text with a score, got none");
    if (m->held && !m->bad && !r->pair.at)
        RF__EXAMPLE_BAD(m, "expected a second text in evaluation, got none; single texts are for training only");
    rf__vectors_agree(m, out, score);
}

static rf_status example(rf__example *m, rf__items *out, rf_error *why)
{
    const json_t *list = NULL;
    const rf__file_record *r = m->record;
    const rf__text none = {NULL, 0};
    const float score = rf__vectors_score_of(m);
    const int64_t negatives = m->bad ? -1 : negatives_of(m, &list);
    int32_t row;
    rf_status status = rf__vectors_teacher_row(m, out, &row, why);
    if (status) return status;
    check_example(m, out, score, negatives);
    if (m->bad || negatives < 0) return RF_OK;
    status = rf__items_text(out, r->text, none, why);
    if (!status && (r->pair.at || !out->teacher))
        status = rf__items_text(out, r->pair.at ? r->pair : r->text, none, why);
    for (int64_t i = 0; i < negatives && !status; i++)
        status = rf__items_text(
            out, rf__json_string(json_is_array(list) ? json_array_get(list, (size_t)i) : list), none, why);
    return status ? status : rf__items_end(out, row, &score, why);
}

/* ---- examples that cannot be learned ---- */

static size_t texts_of(const rf__items *t, size_t i) { return t->first[i + 1] - t->first[i]; }

/* Whether the first two texts of example i are equal. */
static bool same_texts(const rf__items *t, size_t i)
{
    const size_t *start = t->start + t->first[i], size = start[1] - start[0];
    if (texts_of(t, i) < 2) return false;
    return size == start[2] - start[1] && !memcmp(t->id + start[0], t->id + start[1], size * sizeof *t->id);
}

/* The loss for examples with or without scores and a teacher. */
static rf_loss loss_of(const rf_finetune_options *o, bool taught, bool scored)
{
    const bool of_teacher = o->teacher && !taught;              /* its loss is not that of a dev file's examples */
    if (o->loss != RF_LOSS_AUTO && !of_teacher) return o->loss;
    return taught ? RF_LOSS_MSE : scored ? RF_LOSS_COSENT : RF_LOSS_INFONCE;
}

/* Conditions with a teacher, or with the loss that requires one. */
static rf_status check_teacher(const rf__items *t, const rf_finetune_options *o, const rf_config *c, rf_error *why)
{
    const rf_loss what = loss_of(o, t->teacher, false);
    if (!t->teacher)
        return rf_fail(why, RF_EARG, "loss mse: expected --teacher FILE.npy, got none");
    if (what != RF_LOSS_MSE && what != RF_LOSS_COSINE)
        return rf_fail(why, RF_EARG, "loss: expected mse or cosine with --teacher, got %s", rf__loss_names[what]);
    if (o->matryoshka)
        return rf_fail(why, RF_EARG, "matryoshka: expected none with --teacher, whose vectors are learned whole");
    if (!isnan(t->target[0]))
        return rf_fail(why, RF_EDATA,
                       "expected examples without scores with --teacher, got scores; leave the column out");
    if (t->teacher->C != c->hidden_size)
        return rf_fail(why, RF_EDATA,
                       "teacher: expected vectors of the model's %lld numbers (hidden_size), got %lld; use a model of "
                       "that width, or reduce the vectors beforehand, for example by PCA", (long long)c->hidden_size,
                       (long long)t->teacher->C);
    return RF_OK;
}

/* The next number of "256,128"; 0: the end, -1: not a valid number. */
static int64_t next_width(const char **at, int64_t most)
{
    char *end;
    if (!*at || !**at) return 0;
    const long long width = strtoll(*at, &end, 10);
    if (end == *at || (*end && *end != ',') || width < 1 || width > most) return -1;
    *at = end + (*end == ',');
    return width;
}

static rf_status check(const rf__items *t, const rf_finetune_options *o, const rf_config *c, rf_error *why)
{
    const rf_loss what = loss_of(o, false, !isnan(t->target[0]));
    if (t->teacher || what == RF_LOSS_MSE) return check_teacher(t, o, c, why);
    const bool scored = !isnan(t->target[0]), by_score = what == RF_LOSS_COSENT || what == RF_LOSS_COSINE;
    size_t same = 0, lacking = t->n;
    const char *at = o->matryoshka;
    int64_t width;
    while ((width = next_width(&at, c->hidden_size)) > 0) {}
    if (width)
        return rf_fail(why, RF_EARG, "matryoshka: expected numbers from 1 to %lld, separated by commas, got %.60s",
                       (long long)c->hidden_size, o->matryoshka);
    for (size_t i = t->n; i-- > 0;) {
        same += same_texts(t, i);
        if (texts_of(t, i) < 3) lacking = i;
    }
    if (by_score != scored)
        return rf_fail(why, RF_EDATA, "loss %s: expected examples %s", rf__loss_names[what],
                       scored ? "without scores, got scores; use cosent or cosine"
                              : "with scores, got none; name their column with --label_column");
    if (what == RF_LOSS_TRIPLET && lacking < t->n)
        return rf_fail(why, RF_EDATA, "loss triplet: example %zu: expected a negative, got none", lacking + 1);
    if (what == RF_LOSS_INFONCE && o->per_device_train_batch_size < 2 && lacking < t->n)
        return rf_fail(why, RF_EARG,
                       "per_device_train_batch_size: expected at least 2, got 1, which leaves example %zu alone in its "
                       "batch without negatives",
                       lacking + 1);
    if (what == RF_LOSS_COSENT && o->per_device_train_batch_size < 2)
        return rf_fail(why, RF_EARG,
                       "per_device_train_batch_size: expected at least 2 with loss cosent, which compares the scores "
                       "of a batch's examples, got 1; loss cosine learns each example by itself");
    if (what == RF_LOSS_COSENT && t->n < 2)
        return rf_fail(why, RF_EDATA, "loss cosent: expected at least 2 examples, whose scores it compares, got 1");
    if (what == RF_LOSS_INFONCE && t->n < 2 && lacking < t->n)
        return rf_fail(why, RF_EDATA, "loss infonce: expected at least 2 examples, the negatives of each other, got 1");
    if (same == t->n && !(c->hidden_dropout_prob > 0 || c->attention_probs_dropout_prob > 0))
        return rf_fail(why, RF_EARG,
                       "dropout: expected above 0 for examples whose second text is the first one (SimCSE), got 0; use "
                       "--dropout 0.1");
    return RF_OK;
}

/* ---- losses ---- */

/* Rows of z: first texts, second texts, then negatives, each of example of[i]. Every example has a second text, except
 * those with a teacher's vectors, which need no rows either. */
typedef struct rows { int32_t *text, *candidate, *of; int64_t n, candidates; } rows;

static bool rows_of(rf_graph *g, const rf__item_batch *b, rows *r)
{
    r->n = (int64_t)b->n;
    r->candidates = b->B - r->n;
    r->text = rf__push(g, (size_t)r->n, sizeof *r->text);
    r->candidate = rf__push(g, (size_t)r->candidates, sizeof *r->candidate);
    r->of = rf__push(g, (size_t)r->candidates, sizeof *r->of);
    if (!r->text || !r->candidate || !r->of) return false;
    int64_t next = r->n;
    for (int32_t i = 0; i < (int32_t)b->n; i++) {
        r->text[i] = b->group[i];
        r->candidate[i] = b->group[i] + 1;
        r->of[i] = i;
        for (int32_t s = b->group[i] + 2; s < b->group[i + 1]; s++, next++) {
            r->candidate[next] = s;
            r->of[next] = i;
        }
    }
    return true;
}

static rf_tensor *infonce(rf_graph *g, rf_tensor *u, const rf__item_batch *b, const rows *r, double scale,
                          double weight, double *sum)
{
    rf_tensor *z = rf__cross(g, rf__rows(g, u, r->text, r->n), rf__rows(g, u, r->candidate, r->candidates), scale);
    rf__vector_pair *pair = rf__push(g, (size_t)(r->n + r->candidates), sizeof *pair);
    if (!pair || rf__graph_error(g)->code) return &g->nil.t;
    for (int64_t i = 0; i < r->n; i++) pair[i] = (rf__vector_pair){r->text[i], r->candidate[i]};
    for (int64_t c = 0; c < r->candidates; c++)
        pair[r->n + c] = (rf__vector_pair){r->candidate[c], c < r->n ? r->text[c] : -1};
    rf__vectors_spare_equal(z, b, pair, pair + r->n, r->of);
    return rf__row_loss(g, z, r->of, NULL, weight, sum, NULL);
}

/* cos(t_i, p_i), a column. */
static rf_tensor *cosines(rf_graph *g, rf_tensor *u, const rows *r)
{
    return rf__vectors_cosines(g, u, r->text, r->candidate, r->n);
}

/* One number for the batch, weighted by its number of examples. */
static rf_tensor *cosent(rf_graph *g, rf_tensor *u, const rows *r, const float score[], double scale, double weight,
                         double *sum)
{
    double all = 0;
    rf_tensor *loss = rf__cosent_loss(g, cosines(g, u, r), score, scale, weight * (double)r->n, &all);
    if (sum) *sum += all * (double)r->n;
    return loss;
}

/* Each text with each of its negatives; weighted by the number of examples. */
static rf_tensor *triplet(rf_graph *g, rf_tensor *z, const rows *r, double margin, double weight, double *sum)
{
    const int64_t n = r->candidates - r->n;
    int32_t *row = rf__push(g, (size_t)(3 * n), sizeof *row);
    if (!n) return rf__stop(g, RF_EDATA, "loss triplet: expected negatives, got a batch without any");
    for (int64_t i = 0; row && i < n; i++) {
        row[i] = r->text[r->of[r->n + i]];
        row[n + i] = r->candidate[r->of[r->n + i]];
        row[2 * n + i] = r->candidate[r->n + i];
    }
    double all = 0;
    const double each = (double)r->n / (double)n;
    rf_tensor *loss = rf__triplet_loss(g, rf__rows(g, z, row, 3 * n), margin, weight * each, &all);
    if (sum) *sum += all * each;
    return loss;
}

/* Distillation towards rows of the teacher. share: weight of each number in the mean. */
static rf_tensor *distil(rf_graph *g, rf_tensor *z, const rf__item_batch *b, rf_loss what, bool unit,
                         double weight, double *sum)
{
    const int64_t C = z->dim[1];
    float *y = rf__push(g, (size_t)(b->B * C), sizeof *y), *share = rf__push(g, (size_t)(b->B * C), sizeof *share);
    double all = (double)b->n;
    if (!y || !share) return rf__stop(g, RF_ENOMEM, "out of memory: vectors of %lld texts", (long long)b->B);
    for (size_t i = 0; i < b->n; i++)
        for (int32_t s = b->group[i], texts = b->group[i + 1] - s; s < b->group[i + 1]; s++) {
            float *row = y + s * C;
            double square = 0;
            rf__teacher_row(b->teacher, b->label[i], row);
            for (int64_t c = 0; c < C; c++) square += (double)row[c] * (double)row[c];
            const double each = what == RF_LOSS_MSE ? 1 / sqrt((double)(texts * C)) : -1 / (texts * sqrt(square));
            for (int64_t c = 0; c < C; c++) row[c] = (float)(row[c] * each), share[s * C + c] = (float)each;
        }
    rf_tensor *u = unit || what != RF_LOSS_MSE ? rf__unit(g, z, 0) : z;
    if (what == RF_LOSS_MSE)
        return rf__square_loss(g, rf__mul(g, u, rf__constant(g, share, 2, z->dim)), y, weight, sum);
    for (int64_t i = 0; !rf__graph_error(g)->code && i < b->B * C; i++) all += (double)u->f32[i] * (double)y[i];
    for (int64_t i = 0; i < b->B * C; i++) y[i] = (float)(y[i] * weight);
    *share = (float)(weight * (double)b->n);
    if (sum) *sum += all;
    return rf__add(g, rf__inner(g, u, y), rf__constant(g, share, 1, (int64_t[]){1}));
}

/* The loss of z truncated to `width` numbers; 0: all of them. */
static rf_tensor *loss_at(rf_graph *g, rf_tensor *z, int64_t width, const rf__item_batch *b, const rows *r,
                          const rf_finetune_options *o, double weight, double *sum)
{
    const bool scored = !isnan(b->target[0]);
    const rf_loss what = loss_of(o, b->teacher, scored);
    if (b->teacher) return distil(g, z, b, what, o->normalize, weight, sum);
    if (what == RF_LOSS_MSE) return rf__stop(g, RF_EARG, "loss mse: expected a teacher's vectors, got none");
    if ((what == RF_LOSS_COSENT || what == RF_LOSS_COSINE) && !scored)
        return rf__stop(g, RF_EDATA, "loss %s: expected examples with scores, got none", rf__loss_names[what]);
    if (what == RF_LOSS_TRIPLET)
        return triplet(g, width || o->normalize ? rf__unit(g, z, width) : z, r, o->margin, weight, sum);
    rf_tensor *u = rf__unit(g, z, width);
    switch (what) {
    case RF_LOSS_COSENT: return cosent(g, u, r, b->target, o->similarity_scale, weight, sum);
    case RF_LOSS_COSINE: return rf__square_loss(g, cosines(g, u, r), b->target, weight, sum);
    default: return infonce(g, u, b, r, o->similarity_scale, weight, sum);
    }
}

static rf_tensor *loss(rf_graph *g, rf_tensor *z, const rf__item_batch *b, const rf__task_objective *o, double weight,
                       double *sum)
{
    rows r = {0};
    rf_finetune_options usual;
    rf_tensor *all = NULL;
    rf_finetune_defaults(&usual);
    const rf_finetune_options *options = o->o ? o->o : &usual;
    if (!b->teacher && !rows_of(g, b, &r))
        return rf__stop(g, RF_ENOMEM, "out of memory: a batch of %zu examples", b->n);
    const char *at = options->matryoshka;
    if (!at || !*at) return loss_at(g, z, 0, b, &r, options, weight, sum);
    for (int64_t width; (width = next_width(&at, z->dim[1]));) {
        if (width < 0)
            return rf__stop(g, RF_EARG, "matryoshka: expected numbers from 1 to %lld, separated by commas, got %.60s",
                            (long long)z->dim[1], options->matryoshka);
        rf_tensor *one = loss_at(g, z, width, b, &r, options, weight, sum);
        all = all ? rf__add(g, all, one) : one;
    }
    return all;
}

/* An example is distinguished from the second texts, or scores, of the others. */
static int64_t least(const rf__items *t, const rf_finetune_options *o)
{
    const rf_loss what = loss_of(o, t->teacher, !isnan(t->target[0]));
    size_t own = 0;
    while (own < t->n && texts_of(t, own) > 2) own++;
    return what == RF_LOSS_COSENT || (what == RF_LOSS_INFONCE && own < t->n) ? 2 : 1;
}

/* Cosines of first texts with all others, and their adjoints, at each width. */
static double square(const rf__items *t, const rf_finetune_options *o)
{
    const bool scored = t->n && !isnan(t->target[0]);
    const char *at = o->matryoshka;
    double widths = 0;
    if (!t->n || loss_of(o, t->teacher, scored) != RF_LOSS_INFONCE) return 0;
    while (next_width(&at, INT64_MAX) > 0) widths++;
    return fmax(widths, 1) * 2 * sizeof(float) * ((double)t->sequences / (double)t->n - 1);
}

/* ---- answers ---- */

static bool recognize(const rf_config *c)
{
    (void)c;                                                             /* the head is sufficient */
    return true;
}

static const char *const options[] = {"loss",       "pooling",   "normalize",       "similarity_scale", "margin",
                                      "matryoshka", "score_max", "mini_batch_size", "teacher", "similarity_threshold",
                                      "dimensions", NULL};

static const rf_loss losses[] = {RF_LOSS_INFONCE, RF_LOSS_COSENT, RF_LOSS_COSINE,
                                 RF_LOSS_TRIPLET, RF_LOSS_MSE,    RF_LOSS_AUTO};

const rf__task rf__task_embed = {
    .examples = RF__VECTORS_EXAMPLES("embed", 1),
    .head = RF_HEAD_EMBED,
    .options = options,
    .losses = losses,
    .recognize = recognize,
    .check = check,
    .loss = loss,
    .least = least,
    .square = square,
    RF__VECTORS_TASK,
};
