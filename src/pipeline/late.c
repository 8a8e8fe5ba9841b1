/* late.c — tokens of late-interaction models, and their comparison (Khattab and Zaharia 2020, ColBERT).
 *
 *     document    [CLS] [D] d_1 .. d_n [SEP]                         without vectors of the tokens in `skip`
 *     query       [CLS] [Q] q_1 .. q_n [SEP] [MASK] .. [MASK]        up to the folder's length, with do_query_expansion
 *     score       sum_i max_j <E_qi, E_dj>                           MaxSim
 *
 * As in PyLate: without attend_to_expansion_tokens, the [MASK] attend to the tokens before them, and nothing attends to
 * them. */
#include <math.h>

#include "decode/session.h"
#include "model/positions.h"
#include "pipeline/pipeline.h"
#include "roformer/kernel/kernels.h"
#include "text/tokenizer.h"

enum { EXPANSION = 2 };                 /* rf_encoding.added of the tokens that fill a query                          */

static const char *const role_name[RF__ROLES] = {"document", "query"};

/* ---- settings ---------------------------------------------------------------------------------------------------- */

rf_status rf__late_open(rf_pipeline *p, rf_error *why)
{
    const rf_tokenizer *t = rf_model_tokenizer(p->model);
    const rf__late *l = p->late;
    rf__late_ids *is = &p->late_ids;
    for (int r = 0; r < RF__ROLES; r++) {
        is->prefix[r] = *l->prefix[r] ? rf_tokenizer_id(t, l->prefix[r]) : -1;
        if (*l->prefix[r] && is->prefix[r] < 0)
            return rf_fail(why, RF_EDATA, "%s_prefix: expected a token of the tokenizer, got \"%s\", which it does not "
                           "have; add the token and its trained vector", role_name[r],
                           rf__printable(l->prefix[r]).text);
    }
    is->pad = rf_tokenizer_mask(t);
    if (l->expand && is->pad < 0)
        return rf_fail(why, RF_EUNSUPPORTED, "do_query_expansion: expected a tokenizer with a mask token, got none; "
                       "write false if the model was trained without expansion");
    is->skip = rf__calloc(p->ctx, (size_t)l->skips + 1, sizeof *is->skip);
    if (!is->skip) return rf_fail(why, RF_ENOMEM, "out of memory: a list of words");
    for (int64_t i = 0; i < l->skips; i++) {                        /* a word without a token stands for the unknown  */
        const int32_t id = rf_tokenizer_id(t, l->skip[i]), other = id < 0 ? rf_tokenizer_unk(t) : id;
        if (other >= 0) is->skip[is->skips++] = other;
    }
    return RF_OK;
}

static bool has_prompt(const rf_sentence *s, const char *name)
{
    for (int64_t i = 0; i < s->prompts; i++)
        if (!strcmp(s->prompt[i].name, name)) return true;
    return false;
}

rf_status rf__late_role(const rf_pipeline *p, rf_embed_options *o, rf_error *why)
{
    if (p->no_sentence.code) return rf_fail(why, p->no_sentence.code, "%s", p->no_sentence.text);
    if (o->role < -1 || o->role >= RF__ROLES)
        return rf_fail(why, RF_EARG, "role: expected -1, RF_ROLE_DOCUMENT or RF_ROLE_QUERY, got %d", o->role);
    if (o->skip_special_tokens)
        return rf_fail(why, RF_EARG, "skip_special_tokens: expected 0 with a late-interaction model, whose special "
                       "tokens have vectors, got %d", o->skip_special_tokens);
    for (int r = 0; r < RF__ROLES && o->prompt_name; r++) {
        if (strcmp(o->prompt_name, role_name[r])) continue;
        if (o->role == -1) o->role = r;
        if (!has_prompt(&p->sentence, role_name[r])) o->prompt_name = NULL;
    }
    if (o->role == -1) o->role = RF_ROLE_DOCUMENT;
    return RF_OK;
}

static bool expands(const rf_pipeline *p, const rf_embed_options *o)
{
    return o->role == RF_ROLE_QUERY && p->late->expand;
}

rf_status rf__late_length(const rf_pipeline *p, rf_embed_options *o, rf_error *why)
{
    const int64_t least = expands(p, o) ? 2 : o->max_length ? 2 : 0;
    if (o->max_length == -1)
        o->max_length = rf__position_limit(rf_model_config(p->model), p->late->length[o->role]);
    if (o->max_length >= least) return RF_OK;
    return rf_fail(why, RF_EARG, "max_length: expected 2 or more tokens, to which a query is filled, got %lld",
                   (long long)o->max_length);
}

int64_t rf__late_limit(const rf_pipeline *p, const rf_embed_options *o)
{
    return o->max_length ? o->max_length - (p->late_ids.prefix[o->role] >= 0) : 0;
}

/* ---- tokens of a text -------------------------------------------------------------------------------------------- */

/* Puts token `id` before token `at` of an encoding, which has space for it. */
static void insert(rf_encoding *e, size_t at, int32_t id, uint8_t added)
{
    const size_t n = e->n - at;
    memmove(e->id + at + 1, e->id + at, n * sizeof *e->id);
    memmove(e->type + at + 1, e->type + at, n * sizeof *e->type);
    memmove(e->start + at + 1, e->start + at, n * sizeof *e->start);
    memmove(e->end + at + 1, e->end + at, n * sizeof *e->end);
    memmove(e->added + at + 1, e->added + at, n * sizeof *e->added);
    e->id[at] = id;
    e->type[at] = 0;
    e->start[at] = e->end[at] = 0;
    e->added[at] = added;
    e->n++;
}

rf_status rf__late_complete(const rf_pipeline *p, const rf_embed_options *o, rf__text_window *w, rf_error *why)
{
    rf_encoding *e = &w->e;
    const size_t from = (size_t)w->start[w->n - 1], n = e->n - from;
    const int32_t prefix = p->late_ids.prefix[o->role];
    const size_t fill = expands(p, o) ? (size_t)o->max_length : 0, most = fill > n ? fill - n : 0;
    if (e->n + most + 1 > INT32_MAX || !rf__grow_tokens(e, most + 1))
        return rf_fail(why, RF_ENOMEM, "out of memory: a text of %zu tokens", n + most + 1);
    if (prefix >= 0) insert(e, from + (n > 0), prefix, 1);
    while (e->n - from < fill) insert(e, e->n, p->late_ids.pad, EXPANSION);
    w->start[w->n] = (int32_t)e->n;
    return RF_OK;
}

bool rf__late_keeps(const rf_pipeline *p, const rf_embed_options *o, const rf__text_window *w, int32_t t)
{
    const rf__late_ids *is = &p->late_ids;
    for (int64_t i = 0; p->late && i < is->skips && o->role == RF_ROLE_DOCUMENT; i++)
        if (w->e.id[t] == is->skip[i]) return false;
    return true;
}

rf_status rf__late_hidden(const rf_pipeline *p, const rf_embed_options *o, const rf__parts *x, int64_t part,
                          rf__worker *with, const float **out, rf_error *why)
{
    const rf_batch *b = &with->batch.view;
    if (!expands(p, o) || p->late->attend) return rf_session_hidden(with->session, b, out, why);
    int32_t *seen = rf__alloc(p->ctx, (size_t)b->B * sizeof *seen);
    if (!seen) return rf_fail(why, RF_ENOMEM, "out of memory: a batch of %lld texts", (long long)b->B);
    for (int64_t i = 0; i < b->B; i++) {
        const int64_t text = rf__order_text(x->order[x->cut[part] + i]), from = x->window.start[text];
        int64_t n = x->window.start[text + 1] - from;
        while (n && x->window.e.added[from + n - 1] == EXPANSION) n--;
        seen[i] = (int32_t)n;
    }
    const rf_status status = rf__session_hidden_seen(with->session, b, seen, out, why);
    rf__free(p->ctx, seen);
    return status;
}

/* ---- scores ------------------------------------------------------------------------------------------------------ */

rf_status rf_max_sim(const rf_ctx *ctx, const float *query, int64_t queries, const float *document, int64_t documents,
                     int64_t width, double *out, rf_error *why)
{
    if (!(ctx && out && (query || !queries) && (document || !documents)))
        return rf__missing("rf_max_sim", "ctx, query, document, out", why);
    if (queries < 0 || documents < 0 || width < 1)
        return rf_fail(why, RF_EARG, "rf_max_sim: expected 0 or more vectors of 1 or more numbers, got %lld and "
                       "%lld of %lld", (long long)queries, (long long)documents, (long long)width);
    double sum = 0;
    for (int64_t i = 0; i < queries; i++) {
        float most = documents ? -INFINITY : 0;
        for (int64_t j = 0; j < documents; j++) {
            const float x = ctx->k->dot(query + i * width, document + j * width, width);
            if (!(x <= most)) most = x;
        }
        sum += (double)most;
    }
    if (!isfinite(sum)) return rf_fail(why, RF_ENUMERIC, "rf_max_sim: expected finite scores, got NaN or infinity");
    *out = sum;
    return RF_OK;
}
