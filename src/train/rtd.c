/* rtd.c — replaced-token detection.                                                Clark et al. 2020 (ELECTRA)
 *
 *     x           a text, m its masked tokens, x^m the text with them masked
 *     p_G         softmax(norm(act(h_G(x^m) W_t)) E^T + b)            the generator, at the positions m
 *     x^c         x with those positions sampled from p_G; no gradient passes through sampling
 *     D(x^c)      h_D(x^c) of every token, through its head (heads.c, detect)
 *     L           mean over m of -log p_G(x_i)  +  w mean over all tokens of log(1 + exp((-1)^r D)),   r: replaced,
 *                 a token is replaced if it differs from x
 *
 * Both models share the embeddings.  There is one list of parameters, in which those that only the generator has are
 * named "generator.<name>".  So optimizer, checkpoints and averages need not distinguish two models.  The discriminator
 * is the model; the generator is saved with it. */
#include <errno.h>
#include <math.h>
#include <stdio.h>

#include "base/os/os.h"
#include "graph/graph.h"
#include "model/family.h"
#include "model/layers/linear_attention.h"
#include "model/positions.h"
#include "roformer/inspect/files.h"
#include "store/store.h"
#include "train/checkpoint/checksums.h"
#include "train/checkpoint/folder.h"
#include "train/rtd.h"

static const char own_folder[] = "generator", own_prefix[] = "generator.";

/* ---- the generator's shape ---- */

static bool part_of(int64_t whole, double size, int64_t *part)
{
    const double exact = (double)whole * size;
    *part = (int64_t)(exact + 0.5);
    return *part > 0 && fabs(exact - (double)*part) < 1e-6;
}

static rf_status check_model(const rf_config *c, rf_error *why)
{
    const rf_family *f;
    const rf_position *p;
    rf_status status = rf__family_find(c, &f, why);
    if (status) return status;
    if (!rf__family_head(f, RF_HEAD_DETECT))
        return rf_fail(why, RF_EUNSUPPORTED, "objective rtd: expected a RoFormer or an ELECTRA, got a %s",
                       f->config.title);
    if (c->is_decoder)
        return rf_fail(why, RF_EUNSUPPORTED, "objective rtd: expected a model with bidirectional attention, got "
                       "is_decoder true");
    if (rf__config_linear_attention(c, -1))
        return rf_fail(why, RF_EUNSUPPORTED, "objective rtd: expected softmax attention, got attention_type linear");
    status = rf__position_find(c, &p, why);
    if (status || !(p->embedding || p->layer) || !strcmp(p->name, "absolute")) return status;
    return rf_fail(why, RF_EUNSUPPORTED, "objective rtd: expected \"absolute\" or a position encoding without "
                   "parameters, got position_embedding_type \"%s\"", p->name);
}

rf_status rf__rtd_config(const rf_config *model, double size, rf_config *generator, rf_error *why)
{
    const rf_status status = check_model(model, why);
    if (status) return status;
    *generator = *model;
    const bool whole = part_of(model->hidden_size, size, &generator->hidden_size) &&
                       part_of(model->num_attention_heads, size, &generator->num_attention_heads) &&
                       part_of(model->intermediate_size, size, &generator->intermediate_size);
    if (!whole)
        return rf_fail(why, RF_EARG,
                       "generator_size: expected a fraction that makes whole numbers of hidden_size, %lld, "
                       "num_attention_heads, %lld, and intermediate_size, %lld, got %g",
                       (long long)model->hidden_size, (long long)model->num_attention_heads,
                       (long long)model->intermediate_size, size);
    rf_config_set_head(generator, RF_HEAD_MLM);
    return rf__config_check(generator, "generator", why);
}

/* ---- one list of parameters ---- */

/* The discriminator's parameter if it is shared: all embeddings. */
static const rf_param *shared(const rf_params *d, const rf_param *p)
{
    for (size_t i = 0; i < d->n && p->layer < 0 && !p->head; i++)
        if (!strcmp(d->p[i].name, p->name) && d->p[i].rank == p->rank && d->p[i].count == p->count &&
            d->p[i].dim[0] == p->dim[0])
            return &d->p[i];
    return NULL;
}

/* Slots for parameters that the generator does not share, after the discriminator's. */
static bool join(const rf_params *d, rf_params *g, rf_params *all)
{
    memcpy(all->p, d->p, d->n * sizeof *d->p);
    for (size_t i = 0; i < g->n; i++) {
        rf_param *p = &g->p[i];
        const rf_param *is = shared(d, p);
        if (is) {
            p->offset = is->offset;
            continue;
        }
        if (!p->joined) all->total = (all->total + 15) & ~(size_t)15;
        p->offset = all->total;
        if (!rf__checked_add(all->total, p->count, &all->total)) return false;
        all->p[all->n] = *p;
        snprintf(all->p[all->n].name, sizeof p->name, "%s%.*s", own_prefix, (int)(sizeof p->name - sizeof own_prefix),
                 p->name);
        all->n++;
    }
    all->total = (all->total + 15) & ~(size_t)15;
    return all->total <= SIZE_MAX / sizeof(float);
}

rf_status rf__rtd_new(rf_params *all, const rf_config *config, double weight, rf__rtd **out, rf_error *why)
{
    const rf_ctx *ctx = all->ctx;
    rf_params both = *all, generator;
    rf_status status = rf__params_new(ctx, config, &generator, why);
    if (status) return status;
    rf__rtd *t = rf__calloc(ctx, 1, sizeof *t);
    both.p = rf__calloc(ctx, all->n + generator.n, sizeof *both.p);
    if (!t || !both.p) status = rf_fail(why, RF_ENOMEM, "out of memory: a generator of %zu parameters", generator.n);
    else if (!join(all, &generator, &both))
        status = rf_fail(why, RF_ERANGE, "config: expected fewer parameters than this machine can count");
    if (status) {
        rf__params_free(&generator);
        rf__free(ctx, both.p);
        rf__free(ctx, t);
        return status;
    }
    rf__free(ctx, all->p);
    const size_t own = all->n;
    *all = both;
    *t = (rf__rtd){.ctx = ctx, .discriminator = both, .generator = generator, .weight = weight};
    t->discriminator.n = own;
    t->generator.total = t->discriminator.total = both.total;
    *out = t;
    return RF_OK;
}

void rf__rtd_free(rf__rtd *t)
{
    if (!t) return;
    rf__encoder_free(t->encoder);
    rf__params_free(&t->generator);
    rf__free(t->ctx, t);
}

/* ---- first weights ---- */

void rf__rtd_init(const rf__rtd *t, float *slab, bool whole, uint64_t seed)
{
    (whole ? rf__params_init : rf__params_init_head)(&t->discriminator, slab, seed);
    for (size_t i = 0; i < t->generator.n; i++)
        if (!shared(&t->discriminator, &t->generator.p[i]))
            rf__param_init(&t->generator, i, slab + t->generator.p[i].offset, seed + 1);
}

static rf_status load(const rf_params *p, const char *folder, float *slab, rf_error *why)
{
    rf_weights *w;
    bool head;
    rf_params own = *p;                         /* no frequencies of positions are in the files of these families     */
    rf_status status = rf_weights_open(p->ctx, folder, &w, why);
    if (status) return status;
    status = rf__params_load(&own, w, slab, &head, NULL, why);
    rf_weights_close(w);
    return status;
}

rf_status rf__rtd_load(const rf__rtd *t, const char *folder, float *slab, bool *generator, rf_error *why)
{
    char path[4096];
    rf_status status = rf__path(path, sizeof path, folder, own_folder, why);
    *generator = !status && rf__holds_weights(path);
    if (*generator) status = load(&t->generator, path, slab, why);
    return status ? status : load(&t->discriminator, folder, slab, why);        /* whose embeddings are used */
}

/* ---- what is drawn ---- */

typedef struct drawing {
    const rfk_table *k;
    float *z;
    int64_t V, first;
    uint64_t seed;
    int32_t *drawn;
} drawing;

/* The first token up to which the probabilities reach a number between 0 and their sum. */
static void draw_row(void *arg, int64_t i, int worker)
{
    (void)worker;
    const drawing *d = arg;
    float *p = d->z + i * d->V;
    rf_rng r;
    double all = 0, sum = 0;
    d->k->softmax(p, p, d->V);
    for (int64_t v = 0; v < d->V; v++) all += (double)p[v];
    rf_rng_init(&r, d->seed, (uint64_t)(d->first + i));
    const double until = (double)rf_rng_uniform(&r) * all;
    int64_t at = 0;
    for (int64_t v = 0; v < d->V; v++) {
        if (!(p[v] > 0)) continue;
        at = v;
        sum += (double)p[v];
        if (sum > until) break;
    }
    d->drawn[d->first + i] = (int32_t)at;
}

void rf__rtd_draw(rf_graph *g, rf_encoder *generator, const rf_tensor *x, uint64_t seed, uint64_t stream,
                  int32_t drawn[])
{
    rf_tensor *table, *bias;
    rf__mlm_decoder(generator, &table, &bias);
    if (g->error.code) return;
    const int64_t n = x->dim[0], K = x->dim[1], V = table->dim[0], most = rf__vocab_loss_rows(n, V);
    const rf_mark mark = rf__scratch(g);
    drawing d = {.k = g->k, .V = V, .seed = rf__hash64(&stream, sizeof stream, seed), .drawn = drawn};
    d.z = rf__push(g, (size_t)(most * V), sizeof *d.z);
    for (; d.first < n && !g->error.code; d.first += most) {
        const int64_t rows = rf__min64(most, n - d.first);
        rf__graph_gemm(g, &(rf_gemm_call){.m = rows, .n = V, .k = K, .a = x->f32 + d.first * K, .lda = K,
                                          .b = table->f32, .b16 = g->products == RF_BF16 ? table->bf16 : NULL,
                                          .ldb = K, .b_transposed = 1, .c = d.z, .ldc = V,
                                          .bias = bias ? bias->f32 : NULL, .type = g->products});
        if (!g->error.code) rf__each(g, rows, draw_row, &d);
    }
    if (!g->error.code) rf__scratch_end(g, mark);
}

/* ---- the loss ---- */

/* The text with the sampled tokens, and which tokens differ from the original. */
static void replace(const rf__mlm_batch *b, int32_t id[], const int32_t drawn[], float target[], rf__rtd_sums *sums)
{
    memcpy(id, b->id, (size_t)b->N * sizeof *id);
    memset(target, 0, (size_t)b->N * sizeof *target);
    for (int64_t i = 0; i < b->n; i++) {
        const int32_t at = b->row[i];
        id[at] = drawn[i];
        target[at] = drawn[i] != b->label[i];
        sums->replaced += drawn[i] != b->label[i];
    }
}

static void count(const rf_tensor *z, const float target[], rf__rtd_sums *sums)
{
    for (int64_t i = 0; i < z->dim[0]; i++) {
        const bool says = z->f32[i] > 0, is = target[i] > 0;
        sums->right += says == is;
        sums->detected += says && is;
    }
    sums->tokens += z->dim[0];
}

rf_tensor *rf__rtd_loss(rf_graph *g, const rf__rtd *t, rf_encoder *discriminator, const rf__mlm_batch *b, uint64_t seed,
                        uint64_t stream, const double weight[2], rf__rtd_sums *sums)
{
    rf_batch view = rf__mlm_batch_view(b);
    rf_tensor *table, *bias, *h = rf__encoder_forward(g, t->encoder, &view);
    rf_tensor *x = rf__mlm_transform(g, t->encoder, h, b->row, b->n);
    rf__mlm_decoder(t->encoder, &table, &bias);
    rf_tensor *of_g = rf__vocab_loss(g, x, table, bias, b->label, b->n, weight[0], &sums->generator, &sums->found);
    int32_t *id = rf__push(g, (size_t)b->N, sizeof *id), *drawn = rf__push(g, (size_t)b->n + 1, sizeof *drawn);
    float *target = rf__push(g, (size_t)b->N, sizeof *target);
    if (g->error.code) return &g->nil.t;
    rf__rtd_draw(g, t->encoder, x, seed, stream, drawn);
    if (g->error.code) return &g->nil.t;
    replace(b, id, drawn, target, sums);
    view.id = id;
    rf_tensor *z = rf__task_logits(g, discriminator, rf__encoder_forward(g, discriminator, &view), &view);
    if (!g->error.code) count(z, target, sums);
    return rf__add(g, of_g, rf__binary_loss(g, z, target, weight[1], &sums->detection));
}

rf_status rf__rtd_gradient(const rf__rtd *t, rf_graph *g, rf_encoder *discriminator, const rf__mlm_batch *b,
                           uint64_t seed, uint64_t stream, double weight, double *loss_sum, rf_error *why)
{
    const double each[2] = {weight, t->weight / (double)t->tokens};
    rf__rtd_sums sums = {0};
    rf__graph_reset(g);
    rf__graph_record(g, 1, seed, stream);
    rf_tensor *loss = rf__rtd_loss(g, t, discriminator, b, seed, stream, each, &sums);
    const rf_error *failed = rf__graph_error(g);
    if (failed->code) return rf_fail(why, failed->code, "%s", failed->text);
    *loss_sum += sums.generator + sums.detection * each[1] / weight;
    return rf__backward(g, loss, why);
}

/* ---- what is left ---- */

rf_status rf__rtd_save_generator(const rf__rtd *t, const float *slab, const rf_tokenizer *tokenizer, rf_type type,
                                 const char *folder, rf_error *why)
{
    char own[4096], path[4096];
    rf_status status = rf__path(own, sizeof own, folder, own_folder, why);
    if (!status && rf__os_make_folder(own) && errno != EEXIST)
        status = rf_fail(why, RF_EIO, "%s: cannot create: %s", own, rf__os_reason(errno));
    if (!status) status = rf__checksums_remove(own, why);
    if (!status) status = rf_config_write(t->ctx, own, &t->generator.config, why);
    if (!status) status = rf_tokenizer_save(tokenizer, own, why);
    if (!status) status = rf__path(path, sizeof path, own, RF_FILE_WEIGHTS, why);
    if (!status) status = rf__params_save(&t->generator, slab, type, path, why);
    if (status) return status;
    return rf__checksums_of_model(t->ctx, own, why);
}
