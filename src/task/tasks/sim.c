/* sim.c — RoFormer-Sim: a text's vector, and texts with the same meaning.  Su 2021, kexue.fm/archives/7427 and 8454.
 *
 *     pairs (a_i, b_i) of a batch, i < n, become 2 n sequences, both ways:
 *
 *         x_2i = [CLS] a_i [SEP] b_i [SEP],   x_2i+1 = [CLS] b_i [SEP] a_i [SEP]        types 0, then 1
 *
 *     UniLM's mask (Dong et al. 2019): all tokens see the first part, and tokens of the second part also see earlier
 *     tokens of that part.  So h_[CLS] depends only on the first part.
 *
 *     loss  =  mean over tokens t of second parts of  -log p(t | what is before it)
 *           +  mean over j < 2 n of  -log( exp(s <u_j, u_j'>) / sum over k != j of exp(s <u_j, u_k>) ),   j' = j xor 1
 *
 *     where k leaves out, besides j', texts equal to those of j or j' and the partners of texts equal to that of j
 *
 *     u = v / |v|,  v = W h_[CLS] + b,  s = 20
 *
 * With vectors w of a teacher (--teacher), of any width, this replaces the second mean:
 *
 *           +  100 mean over j, k < 2 n of (<u_j, u_k> - <w_j, w_k> / (|w_j| |w_k|))^2
 *
 * Half of the first parts are masked (15 % of their words, as in pre-training), so that generation also restores words.
 * The weight of each mean is the number of the batch's examples.  An evaluation uses only vectors: its loss is the
 * second mean, or CoSENT's if examples have scores. */
#include <math.h>

#include "graph/graph.h"
#include "model/family.h"
#include "model/positions.h"
#include "store/store.h"
#include "task/vectors.h"

/* ---- examples: two texts, which are two sequences; batches in which one follows the other ---- */

static bool empty(rf__text t) { return rf_utf8_blank(t.at, t.size); }

static rf_status example(rf__example *m, rf__items *out, rf_error *why)
{
    const rf__text none = {NULL, 0};
    const rf__file_record *r = m->record;
    const float score = rf__vectors_score_of(m);
    if (json_object_get(r->json, "negative") || json_object_get(r->json, "negatives"))
        RF__EXAMPLE_BAD(m,
                        "expected no negatives, got some; the negatives of this task are the other texts of a batch");
    else if (!m->bad && !r->pair.at)
        RF__EXAMPLE_BAD(m, "expected a second text with the meaning of the first, got none");
    else if (!m->bad && (empty(r->text) || empty(r->pair)))
        RF__EXAMPLE_BAD(m, "%s text: expected words to generate, got none", empty(r->text) ? "first" : "second");
    rf__vectors_agree(m, out, score);
    if (m->bad) return RF_OK;
    int32_t row;
    rf_status status = rf__vectors_teacher_row(m, out, &row, why);
    if (status || m->bad) return status;
    status = rf__items_text(out, r->text, none, why);
    if (!status) status = rf__items_text(out, r->pair, none, why);
    return status ? status : rf__items_end(out, row, &score, why);
}

static rf_status check(const rf__items *t, const rf_finetune_options *o, const rf_config *c, rf_error *why)
{
    (void)c;
    if (t->id[0] != rf_tokenizer_cls(t->tokenizer) || t->id[t->start[1] - 1] != rf_tokenizer_sep(t->tokenizer))
        return rf_fail(why, RF_EUNSUPPORTED, "tokenizer: expected one that puts a text between [CLS] and [SEP], which "
                       "separate the two parts, got another");
    if (!isnan(t->target[0]))
        return rf_fail(why, RF_EDATA,
                       "train: expected pairs of similar texts without scores, got scores; leave out the column and "
                       "the pairs that are not similar; a dev file may have scores");
    if (o->mini_batch_size)
        return rf_fail(why, RF_EARG, "mini_batch_size: expected a task whose loss is computed from embeddings only, "
                       "got sim");
    if (o->per_device_train_batch_size < 2 || t->n < 2)
        return rf_fail(why, o->per_device_train_batch_size < 2 ? RF_EARG : RF_EDATA,
                       "batch: expected at least 2 pairs, the negatives of each other, got 1");
    return RF_OK;
}

/* ---- the model: causal after the first part, with a linear pooler ---- */

static rf_status configure(rf_config *c, rf_error *why)
{
    const rf_family *f;
    const rf_position *p;
    c->is_decoder = c->linear_pooler = 1;
    rf_status status = rf__family_find(c, &f, why);
    if (!status && !f->vector)
        return rf_fail(why, RF_EUNSUPPORTED,
                       "config.json: model_type: expected one that supports RoFormer-Sim's linear pooler, such as "
                       "\"roformer\", got \"%s\"",
                       f->config.model_type);
    if (!status && c->type_vocab_size < 2)
        return rf_fail(why, RF_EUNSUPPORTED,
                       "config.json: type_vocab_size: expected at least 2 for the two parts of a text, got 1");
    if (!status && rf__config_linear_attention(c, -1))
        return rf_fail(why, RF_EUNSUPPORTED,
                       "config.json: attention_type: expected softmax attention, got linear, which cannot be "
                       "bidirectional in the first part and causal in the second");
    if (!status) status = rf__position_find(c, &p, why);
    if (!status) status = rf__position_caches(p, c, why);
    if (!status && (p->relate || p->flags & RF_POSITION_CAUSAL))
        return rf_fail(why, RF_EUNSUPPORTED,
                       "config.json: position_embedding_type: expected one with offsets to later tokens, which the "
                       "first part attends to, got \"%s\" in a causal model",
                       p->name);
    return status;
}

/* ---- losses ---- */

/* 2 n vectors, of which 2 i and 2 i + 1 belong together: cosines of each with all others, except itself. */
static rf_tensor *similarity(rf_graph *g, rf_tensor *v, const rf__item_batch *b, double scale, double weight,
                             double *sum)
{
    const int64_t B = v->dim[0];
    float *own = rf__push(g, (size_t)(B * B), sizeof *own);
    int32_t *partner = rf__push(g, (size_t)B, sizeof *partner);
    rf__vector_pair *pair = rf__push(g, (size_t)B, sizeof *pair);
    if (!own || !partner || !pair) return &g->nil.t;
    memset(own, 0, (size_t)(B * B) * sizeof *own);
    for (int64_t i = 0; i < B; i++) {
        own[i * B + i] = -1e12F, partner[i] = (int32_t)(i ^ 1);
        pair[i] = (rf__vector_pair){(int32_t)i, (int32_t)(i ^ 1)};
    }
    rf_tensor *u = rf__unit(g, v, 0);
    rf_tensor *z = rf__add(g, rf__cross(g, u, u, scale), rf__constant(g, own, 2, (int64_t[]){B, B}));
    if (!rf__graph_error(g)->code) rf__vectors_spare_equal(z, b, pair, pair, partner);
    return rf__row_loss(g, z, partner, NULL, weight, sum, NULL);
}

/* With a teacher, its cosines replace this: the targets are its cosines, times DISTIL as the student's. */
static rf_tensor *distil(rf_graph *g, rf_tensor *v, const rf__item_batch *b, double weight, double *sum)
{
    static const double DISTIL = 10;                                    /* squared: Su's 100 */
    const int64_t B = b->B, C = b->teacher->C;
    float *w = rf__push(g, (size_t)(B * C), sizeof *w);
    double all = 0;
    if (!w) return &g->nil.t;
    for (int64_t j = 0; j < B; j++) rf__teacher_row(b->teacher, b->label[j / 2] + j % 2, w + j * C);
    rf_tensor *u = rf__unit(g, v, 0), *t = rf__unit(g, rf__constant(g, w, 2, (int64_t[]){B, C}), 0);
    rf_tensor *said = rf__cross(g, t, t, DISTIL);
    if (rf__graph_error(g)->code) return &g->nil.t;
    const double each = (double)b->n / (double)(B * B);
    rf_tensor *y = rf__square_loss(g, rf__cross(g, u, u, DISTIL), said->f32, weight * each, &all);
    if (sum) *sum += all * each;
    return y;
}

/* The loss of the vectors of a training batch, weighted by its number of examples. */
static rf_tensor *similarity_loss(rf_graph *g, rf_tensor *v, const rf__item_batch *b, double scale, double weight,
                                  double *sum)
{
    double all = 0;
    if (b->teacher) return distil(g, v, b, weight, sum);
    rf_tensor *y = similarity(g, v, b, scale, weight / 2, &all);
    if (sum) *sum += all / 2;
    return y;
}

static double scale_of(const rf__task_objective *o)
{
    rf_finetune_options usual;
    rf_finetune_defaults(&usual);
    return (o->o ? o->o : &usual)->similarity_scale;
}

/* The loss of vectors only; similarity's mean over 2 n counts as n examples. */
static rf_tensor *loss(rf_graph *g, rf_tensor *v, const rf__item_batch *b, const rf__task_objective *o, double weight,
                       double *sum)
{
    const int64_t n = (int64_t)b->n;
    double all = 0;
    if (isnan(b->target[0])) return similarity_loss(g, v, b, scale_of(o), weight, sum);
    int32_t *row = rf__push(g, (size_t)(2 * n), sizeof *row);
    for (int32_t i = 0; row && i < n; i++) row[i] = 2 * i, row[n + i] = 2 * i + 1;
    if (!row) return &g->nil.t;
    rf_tensor *cosines = rf__vectors_cosines(g, rf__unit(g, v, 0), row, row + n, n);
    rf_tensor *y = rf__cosent_loss(g, cosines, b->target, scale_of(o), weight * (double)n, &all);
    if (sum) *sum += all * (double)n;
    return y;
}

/* The sequences of a batch, and their predictions: row[0..B) are their first tokens, followed by the tokens that each
 * predict the next one, label[0..n). */
typedef struct both_ways {
    rf_batch batch;
    int32_t *id, *type, *start, *row, *label;
    int64_t n;
} both_ways;

static bool reserve(rf_graph *g, const rf__item_batch *b, both_ways *w)
{
    const size_t N = (size_t)(2 * b->N - b->B), B = (size_t)b->B;
    w->id = rf__push(g, N, sizeof *w->id);
    w->type = rf__push(g, N, sizeof *w->type);
    w->start = rf__push(g, B + 1, sizeof *w->start);
    w->row = rf__push(g, N, sizeof *w->row);
    w->label = rf__push(g, N, sizeof *w->label);
    return w->id && w->type && w->start && w->row && w->label;
}

/* Masks words of a first part between its [CLS] and [SEP], or none: a function of (key, stream, sequence, position). */
static void mask_source(int32_t id[], int64_t n, int64_t sequence, const rf__task_objective *o)
{
    enum { COIN = -2, SEQUENCES = 18 };                              /* twice the largest batch is below 2^18 */
    const uint64_t stream = o->stream << SEQUENCES | (uint64_t)sequence;
    uint32_t word[4];
    rf__philox(o->masking->key, (uint64_t)COIN, stream, word);
    if (word[0] * 0x1p-32 < o->o->source_mask_probability) rf__mask_ids(id + 1, n - 2, o->masking, stream, NULL, NULL);
}

static bool join(rf_graph *g, const rf__item_batch *b, const rf__task_objective *o, both_ways *w)
{
    int32_t at = 0;
    if (!reserve(g, b, w)) return false;
    for (int32_t s = 0; s < b->B; s++) {
        const int32_t *first = b->id + b->start[s], *second = b->id + b->start[s ^ 1] + 1;       /* without its [CLS] */
        const int32_t m = b->start[s + 1] - b->start[s], n = b->start[(s ^ 1) + 1] - b->start[s ^ 1] - 1;
        w->start[s] = w->row[s] = at;
        for (int32_t i = 0; i < m; i++) w->id[at + i] = first[i], w->type[at + i] = 0;
        if (o->masking) mask_source(w->id + at, m, s, o);
        for (int32_t i = 0; i < n; i++) {
            w->id[at + m + i] = w->label[w->n] = second[i];
            w->type[at + m + i] = 1;
            w->row[b->B + w->n++] = at + m + i - 1;
        }
        at += m + n;
    }
    w->start[b->B] = at;
    w->batch = (rf_batch){.N = at, .B = b->B, .id = w->id, .type = w->type, .start = w->start};
    return true;
}

static rf_tensor *train(rf_graph *g, rf_encoder *e, const rf__item_batch *b, const rf__task_objective *o, double weight,
                        double *sum)
{
    double written = 0;
    rf_error why = {0};
    both_ways w = {.n = 0};
    if (2 * b->N - b->B > INT32_MAX)
        return rf__stop(g, RF_ERANGE, "batch: expected at most %d tokens, got %lld", INT32_MAX,
                        (long long)(2 * b->N - b->B));
    if (!join(g, b, o, &w)) return &g->nil.t;
    if (o->masking && rf__vocab_words_found(o->masking->vocab, &why)) return rf__stop(g, why.code, "%s", why.text);
    const int64_t rows = b->B + w.n;
    const double each = (double)b->n / (double)w.n;
    int32_t *place = rf__push(g, (size_t)rows, sizeof *place);
    for (int32_t i = 0; place && i < rows; i++) place[i] = i;
    rf_tensor *h = rf__encoder_forward_rows(g, e, &w.batch, w.row, rows);
    rf_tensor *v = rf__encoder_vector(g, e, rf__rows(g, h, place, b->B));
    rf_tensor *alike = similarity_loss(g, v, b, scale_of(o), weight, sum);
    rf_tensor *next = rf__mlm_loss(g, e, h, place + b->B, w.label, w.n, weight * each, &written, NULL);
    if (sum) *sum += each * written;
    return rf__add(g, next, alike);
}

/* The texts of a single pair have nothing to be distinguished from. */
static int64_t least(const rf__items *t, const rf_finetune_options *o)
{
    (void)t, (void)o;
    return 2;
}

/* Cosines of the 2 texts with 2 others, a mask, their sum, and an adjoint; or cosines, the teacher's, and an
 * adjoint. */
static double square(const rf__items *t, const rf_finetune_options *o)
{
    (void)o;
    return 2 * 2 * (t->teacher ? 3.0 : 4.0) * sizeof(float);
}

/* ---- a folder is recognized by its pooler ---- */

static bool recognize(const rf_config *c) { return c->linear_pooler && c->is_decoder; }

static const char *const options[] = {"similarity_scale", "score_max", "similarity_threshold",
                                      "source_mask_probability", "teacher", "dimensions", NULL};

const rf__task rf__task_sim = {
    .examples = RF__VECTORS_EXAMPLES("sim", 2),
    .head = RF_HEAD_MLM,
    .options = options,
    .recognize = recognize,
    .configure = configure,
    .check = check,
    .loss = loss,
    .train = train,
    .least = least,
    .square = square,
    RF__VECTORS_TASK,
};
