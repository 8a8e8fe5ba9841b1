/* cross.c — a cross-encoder (reranker): one number z for a query and a document that are read together.
 *
 *     pairs     a text, a second text, a label y                    learned one by one
 *     lists     a text and several documents with labels y          learned by their order
 *
 *     losses    bce, mse (pairs and lists); margin_mse, infonce, listnet, listmle, ranknet, lambda (lists): list_loss.c
 *     answer    f(z); f is the logistic function, or the identity after mse and margin_mse, which learn z = y
 *
 * Folders are those of CrossEncoder of sentence-transformers. */
#include <math.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "graph/graph.h"
#include "task/metrics.h"
#include "task/task.h"

/* ---- examples ---- */

/* The documents of a query in up to two parts, each a string or a list of strings. Labels are one list for all
 * documents, or one for each part; without labels, those of the first part are 1 and those of the second 0. */
typedef struct part { rf__text text; const json_t *list, *label; size_t n; } part;
typedef struct documents { part part[2]; const json_t *label; size_t n; bool list; } documents;

static const json_t *member(const rf__example *m, const char *const *names)
{
    for (; *names; names++) {
        const json_t *v = json_object_get(m->record->json, *names);
        if (v) return v;
    }
    return NULL;
}

/* Reads the strings of `list`; `what` is its name. */
static void take(rf__example *m, part *p, const json_t *list, const char *what)
{
    p->list = list;
    p->n = json_array_size(list);
    if (!json_is_array(list)) RF__EXAMPLE_BAD(m, "%s: expected a list of strings, got %s", what,
                                              rf__json_shown(list).text);
    for (size_t i = 0; i < p->n; i++)
        if (!json_is_string(json_array_get(list, i)))
            RF__EXAMPLE_BAD(m, "%s: expected strings, got %s at place %zu", what,
                            rf__json_shown(json_array_get(list, i)).text, i + 1);
}

/* {"query": .., "pos": [..], "neg": [..]} with or without "pos_scores" and "neg_scores", in FlagEmbedding's format. */
static void positives_and_negatives(rf__example *m, documents *d)
{
    const json_t *j = m->record->json, *neg = json_object_get(j, "neg");
    take(m, &d->part[0], json_object_get(j, "pos"), "pos");
    if (neg) take(m, &d->part[1], neg, "neg");
    d->part[0].label = json_object_get(j, "pos_scores");
    d->part[1].label = json_object_get(j, "neg_scores");
    if (!d->part[0].label != !d->part[1].label)
        RF__EXAMPLE_BAD(m, "expected both pos_scores and neg_scores, or neither, got one of them");
}

/* A second text, and worse documents: "negative", a string, or "negatives", a list. */
static void second_text(rf__example *m, documents *d)
{
    const json_t *one = json_object_get(m->record->json, "negative"),
                 *many = json_object_get(m->record->json, "negatives");
    d->part[0] = (part){.text = m->record->pair, .n = 1};
    if (one && many) RF__EXAMPLE_BAD(m, "expected \"negative\" or \"negatives\", got both");
    else if (json_is_string(one)) d->part[1] = (part){.text = rf__json_string(one), .n = 1};
    else if (one || many) take(m, &d->part[1], one ? one : many, one ? "negative" : "negatives");
}

static void read_documents(rf__example *m, documents *d)
{
    static const char *const lists[] = {"documents", "docs", "passages", NULL};
    const json_t *own = member(m, lists), *label = rf__record_member(m->record->json, m->l->layout.label);
    const bool parts = json_object_get(m->record->json, "pos") != NULL;
    *d = (documents){.label = json_is_array(label) ? label : NULL, .list = true};
    if ((m->record->pair.at != NULL) + (own != NULL) + parts != 1) {
        RF__EXAMPLE_BAD(m, m->record->pair.at || own || parts
                               ? "expected one of a second text, a list of documents, and pos with neg, got several"
                               : "expected a second text, a list \"documents\", or lists \"pos\" and \"neg\", got "
                                 "none");
        return;
    }
    if (own) take(m, &d->part[0], own, "documents");
    else if (parts) positives_and_negatives(m, d);
    else second_text(m, d);
    d->n = d->part[0].n + d->part[1].n;
    d->list = own || parts || d->part[1].n || d->label;
    if (d->list && d->n < 2 && m->with_labels && !m->bad)
        RF__EXAMPLE_BAD(m, "expected at least 2 documents in a list, got %zu", d->n);
    if (!d->n && !m->bad) RF__EXAMPLE_BAD(m, "expected documents, got none");
    if (own && !d->label && !m->record->label.at && m->with_labels && !m->bad)
        RF__EXAMPLE_BAD(m, "expected a list of labels, one for each of %zu documents, got none", d->n);
}

static rf__text document(const part *p, size_t i)
{
    return p->list ? rf__json_string(json_array_get(p->list, i)) : p->text;
}

/* Reads a list of n numbers; y NULL: they are only checked. */
static void read_labels(rf__example *m, const json_t *list, size_t n, float y[])
{
    if (json_array_size(list) != n || !json_is_array(list)) {
        RF__EXAMPLE_BAD(m, "labels: expected a list of %zu numbers, one for each document, got %zu", n,
                        json_array_size(list));
        return;
    }
    for (size_t i = 0; i < n; i++) {
        const json_t *v = json_array_get(list, i);
        const double x = json_is_boolean(v) ? json_is_true(v) : json_number_value(v);
        y[i] = (float)(x / m->l->o->score_max);
        if ((!json_is_number(v) && !json_is_boolean(v)) || !isfinite(y[i]))
            RF__EXAMPLE_BAD(m, "label %zu: expected a finite number, got %s", i + 1, rf__json_shown(v).text);
    }
}

/* y [d->n] */
static void label_documents(rf__example *m, const documents *d, float y[])
{
    const part *p = d->part;
    if (!d->list && !m->record->label.at)
        RF__EXAMPLE_BAD(m, "expected a label, or documents to compare (negatives), got neither");
    else if (!d->list) *y = (float)(rf__example_number(m, "label") / m->l->o->score_max);
    else if (m->record->label.at)
        RF__EXAMPLE_BAD(m, "labels: expected a list of %zu numbers, one for each document, got one number", d->n);
    else if (d->label) read_labels(m, d->label, d->n, y);
    else if (p[0].label) {
        read_labels(m, p[0].label, p[0].n, y);
        read_labels(m, p[1].label, p[1].n, y + p[0].n);
    } else {
        for (size_t i = 0; i < d->n; i++) y[i] = i < p[0].n;
    }
}

static rf_status example(rf__example *m, rf__items *out, rf_error *why)
{
    documents d;
    read_documents(m, &d);
    if (!m->bad && out->n && m->l->scored == d.list)
        RF__EXAMPLE_BAD(m, "expected %s, as in the first example, got %s", d.list ? "one second text" : "a list of "
                        "documents", d.list ? "a list of documents" : "one second text");
    if (m->bad) return RF_OK;
    m->l->scored = !d.list;
    float *y = rf__calloc(out->ctx, d.n, sizeof *y);
    if (!y) return rf_fail(why, RF_ENOMEM, "out of memory: labels of %zu documents", d.n);
    if (m->with_labels) label_documents(m, &d, y);
    for (size_t i = 0; i < d.n; i++) m->l->graded |= y[i] != 0 && y[i] != 1;
    rf_status status = RF_OK;
    for (size_t k = 0; k < RF_COUNT(d.part); k++)
        for (size_t i = 0; i < d.part[k].n && !m->bad && !status; i++)
            status = rf__items_text(out, m->record->text, document(&d.part[k], i), why);
    if (!status && !m->bad) status = rf__items_end(out, -1, y, why);
    rf__free(out->ctx, y);
    return status;
}

/* ---- losses ---- */

static const struct { rf_loss loss; rf_list_loss_kind kind; bool order; const char *name; } losses[] = {
    {RF_LOSS_BCE, RF_LIST_BCE, false, "bce"},
    {RF_LOSS_MSE, RF_LIST_MSE, false, "mse"},
    {RF_LOSS_MARGIN_MSE, RF_LIST_MARGIN_MSE, true, "margin_mse"},
    {RF_LOSS_INFONCE, RF_LIST_INFONCE, true, "infonce"},
    {RF_LOSS_LISTNET, RF_LIST_LISTNET, true, "listnet"},
    {RF_LOSS_LISTMLE, RF_LIST_LISTMLE, true, "listmle"},
    {RF_LOSS_RANKNET, RF_LIST_RANKNET, true, "ranknet"},
    {RF_LOSS_LAMBDA, RF_LIST_LAMBDA, true, "lambda"},
};

static const rf_loss accepted[] = {RF_LOSS_BCE,     RF_LOSS_MSE,     RF_LOSS_MARGIN_MSE, RF_LOSS_INFONCE,
                                   RF_LOSS_LISTNET, RF_LOSS_LISTMLE, RF_LOSS_RANKNET,    RF_LOSS_LAMBDA,
                                   RF_LOSS_AUTO};

/* The row of the chosen loss; for examples that it cannot be computed from, such as a dev file of pairs, the
 * default. */
static size_t loss_row(const rf_finetune_options *o, bool lists)
{
    const rf_loss usual = lists ? RF_LOSS_LAMBDA : RF_LOSS_BCE;
    size_t row = 0, own = 0;
    for (size_t i = 0; i < RF_COUNT(losses); i++) {
        if (losses[i].loss == usual) own = i;
        if (losses[i].loss == o->loss) row = i;
    }
    return o->loss == RF_LOSS_AUTO || (losses[row].order && !lists) ? own : row;
}

static bool has_lists(const rf__items *t) { return t->first[1] - t->first[0] > 1; }

static rf_status check(const rf__items *t, const rf_finetune_options *o, const rf_config *c, rf_error *why)
{
    (void)c;
    const size_t row = loss_row(o, has_lists(t));
    rf_error own = {0};
    if (o->loss != RF_LOSS_AUTO && losses[row].loss != o->loss)
        return rf_fail(why, RF_EDATA,
                       "loss: expected examples with several documents each, which it compares, got pairs of texts; "
                       "use bce or mse, or give each text its documents in a list");
    for (size_t i = 0; i < t->n; i++) {
        const size_t at = t->first[i];
        if (rf__list_labels_check(losses[row].kind, t->target + at, (int64_t)(t->first[i + 1] - at), &own))
            return rf_fail(why, own.code, "train: example %zu: %.180s%s", i + 1, own.text,
                           losses[row].kind == RF_LIST_BCE ? "; --score_max divides labels" : "");
    }
    return RF_OK;
}

static rf_tensor *loss(rf_graph *g, rf_tensor *z, const rf__item_batch *b, const rf__task_objective *o, double weight,
                       double *sum)
{
    rf_finetune_options usual;
    rf_finetune_defaults(&usual);
    const size_t row = loss_row(o->o ? o->o : &usual, b->B > (int64_t)b->n);
    return rf__list_loss(g, z, b->group, (int64_t)b->n, b->target, losses[row].kind, weight, sum);
}

static const char *function_of(const rf_finetune_options *o)
{
    return o->loss == RF_LOSS_MSE || o->loss == RF_LOSS_MARGIN_MSE ? "Identity" : "Sigmoid";
}

/* ---- metrics ---- */

static const char *const of_lists[] = {"map", "mrr_at_10", "ndcg_at_10", NULL},
                         *const of_pairs[] = {"pearson", "spearmanr", NULL},
                         *const of_classes[] = {"average_precision", "accuracy", "precision", "recall", "f1", NULL};

static bool has_metric(const rf__labeled *l, const char *name)
{
    if (rf__is_among(of_lists, name)) return !l->scored;
    return l->scored && (rf__is_among(of_pairs, name) || (!l->graded && rf__is_among(of_classes, name)));
}

static const char *no_metric(const rf__labeled *l)
{
    return l->scored ? "the examples are pairs of texts" : "the examples are lists of documents";
}

static rf_status evaluate(const rf__answers *a, const rf__items *t, const rf__labeled *l, rf_metric_values *out,
                          rf_error *why)
{
    (void)l;
    const size_t n = t->sequences;
    double (*f)(double z);
    rf_status status = rf__score_function(a->function, &f, why);
    double *x = status ? NULL : rf__calloc(t->ctx, 2 * n, sizeof *x);
    if (!status && !x) status = rf__metrics_no_memory(t, why);
    for (size_t s = 0; s < n && !status; s++) {
        x[s] = (double)t->target[s];
        x[n + s] = f((double)a->logit[s]);
        if (isnan(x[n + s])) status = rf_fail(why, RF_ENUMERIC, "pair %zu: expected a number, got NaN", s + 1);
    }
    if (!status && has_lists(t)) status = rf__list_metrics(t->ctx, t->first, t->n, t->target, x + n, out, why);
    else if (!status) status = rf__pair_metrics(t->ctx, x, x + n, n, 2, out, why);
    if (x) rf__free(t->ctx, x);
    return status;
}

/* ---- answers ---- */

/* For a folder of another program only if this task is requested, because `reg` comes first. */
static bool recognize(const rf_config *c) { return c->num_labels == 1 && !*c->problem_type; }

/* {"score": x}, or {"scores": [..]} for a list of documents. */
static json_t *predict(const rf__prediction *p, size_t i)
{
    const size_t at = p->t->first[i], n = p->t->first[i + 1] - at;
    double (*f)(double z);
    if (rf__score_function(p->z->function, &f, NULL)) return NULL;
    if (n == 1) return json_pack("{s:o}", "score", rf__json_real6(f((double)p->z->logit[at])));
    json_t *all = json_array();
    for (size_t k = 0; k < n; k++) rf__json_add(&all, rf__json_real6(f((double)p->z->logit[at + k])));
    return all ? json_pack("{s:o}", "scores", all) : NULL;
}

static const char *const options[] = {"head", "loss", "score_max", NULL};

const rf__task rf__task_cross = {
    .examples = {
        .name = "cross",
        .text = true,
        .pair = true,
        .lists = true,
        .label = RF__MEMBER_SCORES,
        .lines = rf__records_table,
        .kind = RF__LABEL_LIST,
        .example = example,
    },
    .head = RF_HEAD_SEQUENCE,
    .problem_type = "",
    .options = options,
    .losses = accepted,
    .recognize = recognize,
    .check = check,
    .loss = loss,
    .function_of = function_of,
    .metric = "spearmanr",
    .other_metric = "ndcg_at_10",
    .evaluate = evaluate,
    .has_metric = has_metric,
    .no_metric = no_metric,
    .probabilities = rf__task_sigmoid,
    .function = "Sigmoid",
    .columns = "score",
    .between = ',',
    .predict = predict,
};
