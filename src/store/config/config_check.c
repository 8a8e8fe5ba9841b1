/* config_check.c — checks whether a configuration can be computed: first whether every key is in its range (the rows of
 * config.c and of the family), then conditions between keys: heads that divide the width, ids within the vocabulary,
 * lists that exist. */
#include "store/family.h"
#include "store/store.h"

static bool inside(const rf_config_key *k, double x)
{
    if (k->flags & RF_KEY_NULL && x >= -1 && x <= -1) return true;
    return (k->flags & RF_KEY_OPEN_LOW ? x > k->low : x >= k->low) &&
           (k->flags & RF_KEY_OPEN_HIGH ? x < k->high : x <= k->high);
}

rf_status rf__config_check_key(const rf_config *c, const rf_config_key *k, const char *name, rf_error *why)
{
    const double x = rf__config_value(c, k);
    if (k->flags & RF_KEY_UNGATED && inside(k, x) && (int64_t)x % 8)
        return rf_fail(why, RF_EDATA, "%s: %s: expected a multiple of 8, got %.15g", name, k->name, x);
    if (inside(k, x)) return RF_OK;
    if (k->kind == RF_KEY_TRUTH && k->low >= k->high) {
        const bool expected = k->low > 0;
        return rf_fail(why, RF_EDATA, "%s: %s: expected %s, got %s", name, k->name, expected ? "true" : "false",
                       expected ? "false" : "true");
    }
    return rf_fail(why, RF_EDATA, "%s: %s: expected %c%.15g, %.15g%c, got %.15g", name, k->name,
                   k->flags & RF_KEY_OPEN_LOW ? '(' : '[', k->low, k->high, k->flags & RF_KEY_OPEN_HIGH ? ')' : ']', x);
}

rf_status rf__config_check_arrays(const rf_config *c, const char *name, rf_error *why)
{
    const rf_rope_scaling *s = &c->rope_scaling;
    const struct {
        const char *name;
        int64_t n, most;
        const void *is;
    } lists[] = {
        {"rope_theta_per_layer", c->rope_thetas, RF_ROPE_LAYERS, c->rope_theta_per_layer},
        {"rope_frequency", c->rope_frequencies, 32768, c->rope_frequency},
        {"position_table", c->position_table_size, (int64_t)1 << 34, c->position_table},
        {"short_factor", s->shorts, RF_ROPE_LIST, s->short_factor},
        {"long_factor", s->longs, RF_ROPE_LIST, s->long_factor},
        {"mrope_section", s->sections, RF_ROPE_SECTIONS, s->mrope_section},
        {"attention_type", c->attention_types, c->num_hidden_layers, c->attention_type_per_layer},
    };
#define TEXT(member) {#member, c->member, sizeof c->member}
    const struct { const char *name, *text; size_t size; } texts[] = {
        TEXT(family),          TEXT(position_embedding_type), TEXT(architecture),     TEXT(problem_type),
        TEXT(finetuning_task), TEXT(task_text_column),        TEXT(task_pair_column), TEXT(task_label_column),
        TEXT(feature_map),     TEXT(decoder_position_embedding_type), TEXT(score_function),
    };
#undef TEXT
    for (size_t i = 0; i < RF_COUNT(lists); i++)
        if (lists[i].n < 0 || lists[i].n > lists[i].most)
            return rf_fail(why, RF_EARG, "%s: %s: expected 0 to %lld numbers, got %lld", name, lists[i].name,
                           (long long)lists[i].most, (long long)lists[i].n);
    if (c->attention_types && c->attention_types != c->num_hidden_layers)
        return rf__config_wrong_layers(c->attention_types, c, name, why);
    for (size_t i = 0; i < RF_COUNT(lists); i++)
        if (lists[i].n && !lists[i].is)
            return rf_fail(why, RF_EARG, "%s: %s: expected %lld numbers, got NULL", name, lists[i].name,
                           (long long)lists[i].n);
    for (size_t i = 0; i < RF_COUNT(texts); i++)
        if (!memchr(texts[i].text, 0, texts[i].size))
            return rf_fail(why, RF_EARG, "%s: %s: expected a text of less than %zu bytes, got one without an end", name,
                           texts[i].name, texts[i].size);
    return RF_OK;
}

/* Whether the encoding treats all columns of a head alike, not in pairs. */
static bool whole_columns(const rf_config *c)
{
    static const char *const names[] = {"absolute", "none", "t5", "mpnet", "nezha", "deberta", "xlnet", "alibi",
                                        "relative_key", "relative_key_query"};
    for (size_t i = 0; i < RF_COUNT(names); i++)
        if (!strcmp(c->position_embedding_type, names[i])) return true;
    return false;
}

/* Checks the heads of one side. */
static rf_status check_heads(const rf_config *c, const char *key, int64_t heads, const char *name, rf_error *why)
{
    const long long C = c->hidden_size, H = heads, G = c->num_key_value_heads;
    const bool shared = G > 0 && G != H;
    if (shared && H % G)
        return rf_fail(why, RF_EDATA, "%s: num_key_value_heads: expected a divisor of %s, %lld, got %lld", name, key, H,
                       G);
    if ((shared || c->head_dim > 0) && (c->attention_type == RF_ATTENTION_LINEAR || c->attention_types))
        return rf_fail(why, RF_EUNSUPPORTED, "%s: attention_type: expected \"softmax\" with num_key_value_heads or "
                       "head_dim, got linear attention", name);
    if (c->head_dim > 0 && c->head_dim % 2 && !whole_columns(c))
        return rf_fail(why, RF_EDATA, "%s: head_dim: expected an even number for rotation, got %lld", name,
                       (long long)c->head_dim);
    if (c->head_dim > 0) return RF_OK;
    if (C % H)
        return rf_fail(why, RF_EDATA, "%s: %s: expected a divisor of hidden_size, %lld, got %lld", name, key, C, H);
    if (c->attention_key_size % 2)
        return rf_fail(why, RF_EDATA, "%s: attention_key_size: expected an even number for rotation, got %lld", name,
                       (long long)c->attention_key_size);
    if (!c->attention_key_size && C / H % 2 && !whole_columns(c))
        return rf_fail(why, RF_EDATA,
                       "%s: hidden_size / %s: expected an even number of columns per head for rotation, got %lld / "
                       "%lld = %lld", name, key, C, H, C / H);
    return RF_OK;
}

/* Conditions for an encoder and a decoder that ranges of single keys cannot express. */
static rf_status check_pairs(const rf_config *c, const char *name, rf_error *why)
{
    const struct { const char *key; int64_t id; } ids[] = {{"decoder_start_token_id", c->decoder_start_token_id},
                                                           {"eos_token_id", c->eos_token_id}};
    for (size_t i = 0; i < RF_COUNT(ids); i++)
        if (ids[i].id < 0 || ids[i].id >= c->vocab_size)
            return rf_fail(why, RF_EDATA, "%s: %s: expected an id below vocab_size, %lld, got %lld", name, ids[i].key,
                           (long long)c->vocab_size, (long long)ids[i].id);
    if (c->is_decoder)
        return rf_fail(why, RF_EUNSUPPORTED,
                       "%s: is_decoder: expected false, got true; a decoder without its encoder is not supported",
                       name);
    if (c->decoder_vocab_size >= 0 && c->decoder_vocab_size != c->vocab_size)
        return rf_fail(why, RF_EUNSUPPORTED,
                       "%s: decoder_vocab_size: expected vocab_size, %lld, got %lld; separate vocabularies are not "
                       "supported", name, (long long)c->vocab_size, (long long)c->decoder_vocab_size);
    if (c->attention_type == RF_ATTENTION_LINEAR || c->attention_types)
        return rf_fail(why, RF_EUNSUPPORTED,
                       "%s: attention_type: expected \"softmax\" for an encoder-decoder model, got linear attention",
                       name);
    if (!c->decoder_attention_heads) return RF_OK;
    return check_heads(c, "decoder_attention_heads", c->decoder_attention_heads, name, why);
}

/* Refuses settings of a program that the layers of the family would not honor, or that its files could not record. */
static rf_status check_lacking(const rf_config *c, const rf_family_config *f, const char *name, rf_error *why)
{
#define OWN(member) {#member, offsetof(rf_config, member), c->member > 0}
    const struct { const char *key; size_t at; int given; } own[] = {
        OWN(local_attention),     OWN(token_dropout), OWN(attention_key_size),
        OWN(num_key_value_heads), OWN(head_dim),      OWN(query_pre_attn_scalar),
        OWN(global_attn_last),    OWN(scale_embedding), OWN(use_logn_attn),
        OWN(rotary_heads),        OWN(rotary_value_inverse), OWN(use_task_id),
        OWN(summary_use_proj),    OWN(num_hidden_groups),
        OWN(attention_bias),      OWN(mlp_bias), OWN(use_parallel_residual),
        OWN(scale_attn_by_inverse_layer_idx),
        OWN(moe_every_n_layers),
        OWN(is_gated_act),        OWN(scale_decoder_outputs),
    };
#undef OWN
    for (size_t i = 0; i < RF_COUNT(own); i++) {
        bool there = false;
        for (size_t k = 0; k < rf__config_key_count(f); k++)
            there |= rf__config_key_of(f, k) && rf__config_key_of(f, k)->at == own[i].at;
        if (own[i].given && !there)
            return rf_fail(why, RF_EUNSUPPORTED, "%s: %s: expected 0 for a %s, got another number", name, own[i].key,
                           f->title);
    }
    return RF_OK;
}

rf_status rf__config_check_all(const rf_config *c, const char *name, rf_error *why)
{
    const rf_status arrays = rf__config_check_arrays(c, name, why);
    if (arrays) return arrays;
    const rf_family_config *f = rf__config_family(c);
    rf_config other;
    if (!f) return rf_config_defaults_of(c->family, &other, why);
    for (size_t i = 0; i < rf__config_key_count(f); i++) {
        const rf_config_key *k = rf__config_key_of(f, i);
        const rf_status s = k ? rf__config_check_key(c, k, name, why) : RF_OK;
        if (s) return s;
    }
    const rf_status lacking = check_lacking(c, f, name, why);
    if (lacking) return lacking;
    if (c->rope_scaled_layers < RF_ROPE_OF_GLOBAL || c->rope_scaled_layers > RF_ROPE_OF_LOCAL ||
        (c->rope_scaled_layers && !f->by_kind))
        return rf_fail(why, RF_EUNSUPPORTED, "%s: rope_scaled_layers: expected 0 for a %s, got %d", name, f->title,
                       (int)c->rope_scaled_layers);
    if (c->is_encoder_decoder && !f->pairs)
        return rf_fail(why, RF_EUNSUPPORTED,
                       "%s: is_encoder_decoder: expected false, got true; a %s is no encoder-decoder model", name,
                       f->title);
    if (c->is_decoder && !f->pairs && rf__config_lacks(f, "is_decoder"))
        return rf_fail(why, RF_EUNSUPPORTED, "%s: is_decoder: expected false, got true; %s has no causal model", name,
                       f->title);
    if (c->attention_type != RF_ATTENTION_SOFTMAX && c->attention_type != RF_ATTENTION_LINEAR)
        return rf_fail(why, RF_EDATA, "%s: attention_type: expected a known one, got %d", name, (int)c->attention_type);
    if (c->num_labels < 0)
        return rf_fail(why, RF_EDATA, "%s: num_labels: expected 0 or more, got %lld", name, (long long)c->num_labels);
    const long long C = c->hidden_size;
    if (f->one_width && c->embedding_size != C)
        return rf_fail(why, RF_EDATA, "%s: embedding_size: expected hidden_size, %lld, for a %s, got %lld", name, C,
                       f->title, (long long)c->embedding_size);
    rf_status status = check_heads(c, "num_attention_heads", c->num_attention_heads, name, why);
    if (!status && f->pairs) status = check_pairs(c, name, why);
    if (status) return status;
    if (c->pad_token_id >= c->vocab_size)
        return rf_fail(why, RF_EDATA, "%s: pad_token_id: expected an id below vocab_size, %lld, got %lld", name,
                       (long long)c->vocab_size, (long long)c->pad_token_id);
    if (rf__config_act_name(c->hidden_act)) return RF_OK;
    return rf_fail(why, RF_EDATA, "%s: hidden_act: expected a known one, got %d", name, (int)c->hidden_act);
}

rf_status rf__config_check(const rf_config *c, const char *name, rf_error *why)
{
    rf_config own;
    if (!(c && name)) return rf__missing("rf__config_check", "config, name", why);
    const rf_status status = rf__config_given(&own, c, why);
    return status ? status : rf__config_check_all(&own, name, why);
}

rf_status rf__silu_alone(const char *file, const rf_config *c, rf_error *why)
{
    if (c->hidden_act == RF_ACT_SILU) return RF_OK;
    return rf_fail(why, RF_EUNSUPPORTED, "%s: hidden_act: expected none or silu, the function of the gate, got %s",
                   file, rf__config_act_name(c->hidden_act));
}

rf_status rf__usual_head_width(const char *file, const json_t *root, const char *key, const rf_config *c, rf_error *why)
{
    const json_t *D = json_object_get(root, key);
    const int64_t C = c->hidden_size, H = c->num_attention_heads;
    if (!D || json_is_null(D)) return RF_OK;
    if (!json_is_integer(D)) return rf__wrong_type(file, key, D, "an integer", why);
    if (C % H == 0 && json_integer_value(D) == C / H) return RF_OK;
    return rf_fail(why, RF_EUNSUPPORTED, "%s: %s: expected hidden_size / num_attention_heads, %lld / %lld, got %lld",
                   file, key, (long long)C, (long long)H, (long long)json_integer_value(D));
}
