/* start_model.c — the model that a run trains: tokenizer, config, memory, weights, optimizer, encoder. */
#include <inttypes.h>

#include "model/family.h"
#include "model/layers/linear_attention.h"
#include "model/positions.h"
#include "roformer/inspect/files.h"
#include "store/store.h"
#include "text/tokenizer.h"
#include "train/checkpoint/folder.h"
#include "train/memory.h"
#include "train/run.h"

/* ---- config.json ---- */

/* The first and last token of a new decoder. Marian's starts with padding, as its class expects. */
static void mark_targets(const rf__run *r, rf_config *c)
{
    const bool marian = !strcmp(c->family, "marian");
    c->decoder_start_token_id = marian ? c->pad_token_id : rf_tokenizer_cls(r->tokenizer);
    c->eos_token_id = rf_tokenizer_sep(r->tokenizer);
}

/* The config of a new model gets the size of the tokenizer's vocabulary; that of a trained model must be large
 * enough. */
static rf_status fit_vocabulary(rf__run *r, rf_config *c, bool trained, rf_error *why)
{
    const int32_t size = r->vocab.size, pad = rf_tokenizer_pad(r->tokenizer);
    if (trained && c->vocab_size >= size) return RF_OK;
    if (trained)
        return rf_fail(why, RF_EDATA, "config.json: vocab_size: expected the %d tokens of the tokenizer, got %lld",
                       size, (long long)c->vocab_size);
    if (c->vocab_size != size && r->o.config)
        rf__run_notify(r, "note", "vocab_size is %d, the number of tokens of the tokenizer (config.json: %lld)", size,
                     (long long)c->vocab_size);
    c->vocab_size = size;
    const bool moved = pad >= 0 && pad != c->pad_token_id;
    if (moved) c->pad_token_id = pad;
    if (c->token_dropout) c->mask_token_id = rf_tokenizer_mask(r->tokenizer);
    if (!c->is_encoder_decoder) rf_config_set_head(c, RF_HEAD_MLM);
    else mark_targets(r, c);
    return moved ? rf__config_check(c, "tokenizer", why) : RF_OK;               /* families may fix pad_token_id */
}

/* The first token of a causal model attends only to itself. */
static rf_status check_head(const rf_config *c, rf_head head, rf_error *why)
{
    const rf_family *f;
    const rf_status status = rf__family_find(c, &f, why);
    if (status) return status;
    const rf_head_row *is = rf__family_head(f, head);
    const bool first =
        is && (is->input == RF_HEAD_INPUT_FIRST ||
               (is->input == RF_HEAD_INPUT_SUMMARY && c->summary == RF_SUMMARY_FIRST));
    if (!c->is_decoder || !first) return RF_OK;
    return rf_fail(
        why, RF_EUNSUPPORTED,
        "config.json: is_decoder: expected false for a head that reads a text's first token, got true: in a causal "
        "model the first token does not attend to the others");
}

static rf_status read_new_config(rf__run *r, rf_config *c, rf_error *why)
{
    char strange[512];
    const rf_status status = rf_config_read_new(r->ctx, r->o.config, c, strange, sizeof strange, why);
    if (!status && *strange)
        rf__run_notify(r, "note", "%s: unknown keys are ignored: %s", r->o.config, strange);
    return status;
}

static rf_status read_config(rf__run *r, bool trained, rf_error *why)
{
    const char *folder = *r->from ? r->from : r->o.model;
    rf_config c;
    rf_status status = RF_OK;
    if (!*r->from && r->o.config) {
        status = read_new_config(r, &c, why);
    } else if (!r->job->invent || rf__config_there(r->ctx, folder)) {
        status = rf_config_read(r->ctx, folder, &c, why);
    } else {
        status = r->job->invent(r, &c, why);
    }
    if (!status && r->job->admit) status = r->job->admit(r, &c, trained, why);
    if (!status) status = fit_vocabulary(r, &c, trained, why);
    if (!status) status = rf__config_check(&c, r->o.config ? r->o.config : RF_FILE_CONFIG, why);
    rf_head head = RF_HEAD_MLM;
    if (!status) status = r->job->configure(r, &c, &head, why);
    if (!status) status = check_head(&c, head, why);
    if (!status) status = rf__params_new_head(r->ctx, &c, head, &r->params, why);
    r->model = &r->params;
    if (status) rf__config_named(r->ctx, !*r->from && r->o.config ? r->o.config : folder, why);
    return status;
}

static bool same_decoder(const rf_config *a, const rf_config *b)
{
    return a->decoder_layers == b->decoder_layers && a->decoder_attention_heads == b->decoder_attention_heads &&
           a->decoder_ffn_dim == b->decoder_ffn_dim && a->normalize_before == b->normalize_before &&
           a->tie_word_embeddings == b->tie_word_embeddings &&
           a->share_encoder_decoder_embeddings == b->share_encoder_decoder_embeddings &&
           a->rotary_cross_attention == b->rotary_cross_attention &&
           !strcmp(a->decoder_position_embedding_type, b->decoder_position_embedding_type);
}

static bool same_shape(const rf_config *a, const rf_config *b)
{
    return !strcmp(a->family, b->family) && a->embedding_size == b->embedding_size &&
           a->hidden_size == b->hidden_size && a->num_hidden_layers == b->num_hidden_layers &&
           a->num_attention_heads == b->num_attention_heads && a->intermediate_size == b->intermediate_size &&
           a->rotary_value == b->rotary_value && a->hidden_act == b->hidden_act && rf__config_same_positions(a, b) &&
           a->attention_bias == b->attention_bias && a->mlp_bias == b->mlp_bias &&
           a->use_parallel_residual == b->use_parallel_residual &&
           a->scale_attn_by_inverse_layer_idx == b->scale_attn_by_inverse_layer_idx && same_decoder(a, b);
}

/* A resumed run has the config of its checkpoint; another one, given by name, is refused. */
static rf_status compare_config(rf__run *r, rf_error *why)
{
    rf_config c;
    if (!*r->from || !r->o.config) return RF_OK;
    const rf_status status = rf_config_read(r->ctx, r->o.config, &c, why);
    if (status || same_shape(&c, &r->params.config)) return status;
    return rf_fail(why, RF_EARG, "%s: expected the architecture of %s, got another", r->o.config, r->from);
}

/* ---- weights, gradients, memory ---- */

rf_status rf__run_load_weights(rf__run *r, const char *path, rf_error *why)
{
    rf_weights *w;
    bool head;
    rf_status status = rf_weights_open(r->ctx, path, &w, why);
    if (status) return status;
    status = rf__params_load(&r->params, w, r->optimizer.value, &head, NULL, why);
    rf_weights_close(w);
    return status;
}

static rf_status load_checkpoint(rf__run *r, rf_error *why)
{
    char path[4096];
    /* not rf_weights_open(folder): that would also look for shards */
    rf_status status = rf__path(path, sizeof path, r->from, RF_FILE_WEIGHTS, why);
    if (!status) status = rf__run_load_weights(r, path, why);
    if (!status) status = rf__path(path, sizeof path, r->from, RF_FILE_MOMENTS, why);
    if (!status) status = rf__optimizer_load(&r->optimizer, path, why);
    if (status || !r->optimizer.ema || !rf__folder_has(r->from, RF_FILE_MEANS)) return status;
    status = rf__path(path, sizeof path, r->from, RF_FILE_MEANS, why);
    if (status) return status;
    rf__optimizer_swap(&r->optimizer, r->optimizer.value, r->optimizer.ema);
    status = rf__run_load_weights(r, path, why);
    rf__optimizer_swap(&r->optimizer, r->optimizer.value, r->optimizer.ema);
    r->ema_loaded = true;
    return status;
}

/* Prepares the sums of gradients and the exchange with other ranks; the losses of this rank's micro-batches, and of
 * all. */
rf_status rf__run_open_exchange(rf__run *r, rf_error *why)
{
    const int64_t share = r->o.gradient_accumulation_steps, ranks = rf__ranks(r->o.comm);
    rf__optimizer *z = &r->optimizer;
    r->state.micro_batches = share * ranks;
    rf__free(r->ctx, r->loss);
    rf__exchange_free(&r->exchange);
    rf__tree_free(&r->tree);
    r->loss = rf__calloc(r->ctx, (size_t)(share + share * ranks), sizeof *r->loss);
    if (!r->loss) return rf_fail(why, RF_ENOMEM, "out of memory: losses of %lld batches", (long long)share);
    const rf_status status = rf__tree_new(&r->params, z->grad, rf__rank(r->o.comm) * share, share, &r->tree, why);
    if (status || !r->o.comm) return status;
    z->exchange = &r->exchange;
    return rf__exchange_new(r->ctx, r->o.comm, &z->shares, z->span, &r->tree, share, z->partial, &r->exchange, why);
}

/* Checks the memory of the run, or of each of its stages. */
static rf_status check_memory(rf__run *r, const rf__memory_job *own, double left, char *note, size_t size,
                              rf_error *why)
{
    rf_status status = RF_OK;
    for (int i = 0; i < r->stages.n && !status; i++) {
        rf_train_options o = r->o;
        rf__stage_apply(&r->stages, i, rf__ranks(o.comm), &o);
        status = rf__memory_check(&r->params, &o, own, left, note, size, why);
    }
    return status ? status : rf__memory_check(&r->params, &r->o, own, left, note, size, why);
}

static bool writes_text(const rf_config *c) { return c->is_decoder || c->is_encoder_decoder; }

/* ---- the sequence ---- */

/* The state that the parts of the sequence share. */
typedef struct opening {
    const char *folder;                 /* the folder of the tokenizer, and of config.json and weights if it has them */
    bool trained;                       /* the folder has weights                                                     */
} opening;

static rf_status find_folder(rf__run *r, opening *of, rf_error *why)
{
    if (!*r->from && !r->o.model) return rf_fail(why, RF_EARG, "model: expected a folder with a tokenizer, got none");
    of->folder = *r->from ? r->from : r->o.model;
    of->trained = *r->from || (!r->o.config && rf__holds_weights(r->o.model));
    return RF_OK;
}

static rf_status open_tokenizer(rf__run *r, opening *of, rf_error *why)
{
    rf_status status = rf_tokenizer_open(r->ctx, of->folder, &r->tokenizer, why);
    if (!status) status = rf__tokenizer_savable(r->tokenizer, of->folder, why);
    const char *old = status ? NULL : rf_tokenizer_displaces(r->tokenizer, r->folder);
    if (old)
        rf__run_notify(r, "note", "%s: its %s will be renamed to %s.replaced, because the trained model's tokenizer "
                       "has other files", r->folder, old, old);
    if (!status) status = rf__vocab_new(r->ctx, r->tokenizer, &r->vocab, why);
    if (!status && r->o.cut_sentences) rf__vocab_sentences(&r->vocab, r->tokenizer);
    return status;
}

static rf_status prepare_data(rf__run *r, opening *of, rf_error *why)
{
    (void)of;
    return r->job->prepare ? r->job->prepare(r, why) : RF_OK;
}

static rf_status open_config(rf__run *r, opening *of, rf_error *why)
{
    rf_status status = read_config(r, of->trained, why);
    if (!status && of->trained && writes_text(&r->params.config))
        status = rf__generation_keep(r->ctx, of->folder, &r->generation, why);
    if (!status) status = compare_config(r, why);
    return status || !r->job->settle ? status : r->job->settle(r, why);
}

static rf_status check_memory_left(rf__run *r, opening *of, rf_error *why)
{
    char note[256];
    rf__memory_job own = {0};
    (void)of;
    const double left = rf__memory_left() / (r->o.comm ? r->o.comm->local : 1);
    if (r->job->memory) r->job->memory(r, &own);
    const rf_status status = check_memory(r, &own, left, note, sizeof note, why);
    if (status) return status;
    rf__run_notify(r, "note", "%s", note);
    if (rf__linear_attention_slower(&r->params.config, r->o.max_length))
        rf__run_notify(r, "note",
                       "%" PRId64 " features of linear attention take far longer than softmax attention, whose weights "
                       "are exact, on texts of %" PRId64 " tokens",
                       rf__linear_attention_columns(&r->params.config), r->o.max_length);
    return RF_OK;
}

static rf_status open_optimizer(rf__run *r, opening *of, rf_error *why)
{
    const rf__rule rule = rf__rule_of(&r->o);
    rf_status status = rf__optimizer_new_shared(&r->params, &rule, rf__ranks(r->o.comm), rf__rank(r->o.comm),
                                                &r->optimizer, why);
    if (!status) status = *r->from ? load_checkpoint(r, why) : r->job->begin(r, of->trained, why);
    if (!status && r->optimizer.ema && !r->ema_loaded)
        rf__optimizer_blend(&r->optimizer, r->optimizer.ema, r->optimizer.value, 1);
    return status ? status : rf__run_open_exchange(r, why);
}

static rf_status open_encoder(rf__run *r, opening *of, rf_error *why)
{
    (void)of;
    rf_status status = rf__encoder_new(r->model, r->optimizer.value, r->optimizer.grad, &r->encoder, why);
    if (!status) status = rf__graph_new(r->ctx, &r->graph, why);
    if (status) return status;
    rf__graph_products(r->graph, r->o.bf16 ? RF_BF16 : RF_F32);
    rf__graph_smoothing(r->graph, r->o.label_smoothing_factor);
    rf__encoder_recompute(r->encoder, r->o.gradient_checkpointing != 0);
    if (!r->o.bf16_stochastic_rounding) return RF_OK;
    r->rounded = rf__alloc(r->ctx, r->params.total * sizeof *r->rounded);
    return r->rounded
               ? RF_OK
               : rf_fail(why, RF_ENOMEM, "out of memory: %.0f MB of rounded weights", (double)r->params.total * 2e-6);
}

rf_status rf__run_open_model(rf__run *r, rf_error *why)
{
    static rf_status (*const step[])(rf__run *r, opening *of, rf_error *why) = {
        open_tokenizer, prepare_data, open_config, check_memory_left, open_optimizer, open_encoder,
    };
    opening of = {0};
    rf_held_folder *held = NULL;
    rf_status status = find_folder(r, &of, why);
    if (!status) status = rf_folder_hold(r->ctx, of.folder, &held, why);
    for (size_t i = 0; i < RF_COUNT(step) && !status; i++) status = step[i](r, &of, why);
    return rf_folder_release(&held, status, why);
}
