/* family.c — the registry of families; see family.h. */
#include "model/family.h"
#include "store/store.h"

#define RFF(name) &rf__family_##name,
static const rf_family *const families[] = {
#include "model/families.def"
};
#undef RFF

#define RFF(name) &rf__family_##name.config,
const rf_family_config *const rf__config_families[] = {
#include "model/families.def"
    NULL
};
#undef RFF

rf_status rf__family_find(const rf_config *c, const rf_family **out, rf_error *why)
{
    rf_config other;
    const rf_status arrays = rf__config_check_arrays(c, "config", why);
    if (arrays) return arrays;
    for (size_t i = 0; i < RF_COUNT(families); i++)
        if (!strcmp(families[i]->config.name, c->family)) {
            *out = families[i];
            return RF_OK;
        }
    return rf_config_defaults_of(c->family, &other, why);
}

const rf_head_row *rf__family_head(const rf_family *f, rf_head head)
{
    for (const rf_head_row *h = f->head; h->forward; h++)
        if (h->head == head) return h;
    return NULL;
}

const char *rf__family_prefix(const rf_family *f, rf_head head)
{
    return f->label_prefix && (head == RF_HEAD_SEQUENCE || head == RF_HEAD_TOKEN) ? f->label_prefix : f->prefix;
}

const char *rf__family_bare(const rf_family *f, const char *name)
{
    const char *const prefix[] = {f->label_prefix, f->prefix, f->older_prefix};
    for (size_t i = 0; i < RF_COUNT(prefix); i++)
        if (prefix[i] && !strncmp(name, prefix[i], strlen(prefix[i]))) return name + strlen(prefix[i]);
    return name;
}

rf_status rf__family_allows(const rf_family *f, const rf_position *p, rf_error *why)
{
    const char *const *other = f->config.positions;
    while (other && *other && strcmp(*other, p->name)) other++;
    if (f->config.any_position || !strcmp(f->config.position, p->name) || (other && *other)) return RF_OK;
    char accepted[160];
    int n = snprintf(accepted, sizeof accepted, "\"%s\"", f->config.position);
    for (other = f->config.positions; other && *other && n < (int)sizeof accepted; other++)
        n += snprintf(accepted + n, sizeof accepted - (size_t)n, "%s\"%s\"", other[1] ? ", " : " or ", *other);
    return rf_fail(why, RF_EUNSUPPORTED, "config.json: position_embedding_type: expected %s for a %s, got \"%s\"; "
                   "model_type %s accepts all that `roformer positions` lists", accepted, f->config.title, p->name,
                   families[0]->config.model_type);
}

/* ---- conditions of rows ------------------------------------------------------------------------------------------ */

#define WHEN(name, condition) \
    bool rf__when_##name(const rf_config *c, int64_t layer) \
    { \
        (void)layer; \
        return condition; \
    }
WHEN(projected, c->embedding_size != c->hidden_size)
WHEN(untied, !c->tie_word_embeddings)
WHEN(shared_words, c->share_encoder_decoder_embeddings != 0)
WHEN(separate_words, !c->share_encoder_decoder_embeddings)
WHEN(before, c->normalize_before != 0)
WHEN(linear_pooler, c->linear_pooler != 0)
WHEN(types, c->type_vocab_size > 0)
WHEN(task_types, c->use_task_id != 0)
WHEN(attention_bias, c->attention_bias != 0)
WHEN(mlp_bias, c->mlp_bias != 0)
#undef WHEN

/* ---- rows that several families have ----------------------------------------------------------------------------- */

const rf_family_row rf__rows_masked[] = {
    RF_HEAD_ROW("cls.predictions.transform.dense.weight", "EC", NORMAL, true, 0, dense),
    RF_HEAD_ROW("cls.predictions.transform.dense.bias", "E", ZEROS, false, 0, dense_bias),
    RF_HEAD_ROW("cls.predictions.transform.LayerNorm.weight", "E", ONES, false, 0, norm),
    RF_HEAD_ROW("cls.predictions.transform.LayerNorm.bias", "E", ZEROS, false, 0, norm_bias),
    RF_HEAD_UNTIED("cls.predictions.decoder.weight", NORMAL),
    RF_HEAD_ROW("cls.predictions.bias", "V", ZEROS, false, RF_ROW_TWICE, out_bias),
    {{0}, 0},
};
const rf_family_row rf__rows_lm_head[] = {
    RF_HEAD_ROW("lm_head.dense.weight", "EC", NORMAL, true, 0, dense),
    RF_HEAD_ROW("lm_head.dense.bias", "E", ZEROS, false, 0, dense_bias),
    RF_HEAD_ROW("lm_head.layer_norm.weight", "E", ONES, false, 0, norm),
    RF_HEAD_ROW("lm_head.layer_norm.bias", "E", ZEROS, false, 0, norm_bias),
    RF_HEAD_UNTIED("lm_head.decoder.weight", NORMAL),
    RF_HEAD_ROW("lm_head.bias", "V", ZEROS, false, RF_ROW_TWICE, out_bias),
    {{0}, 0},
};
const rf_family_row rf__rows_dense[] = {
    RF_HEAD_ROW("classifier.dense.weight", "CC", NORMAL, true, 0, dense),
    RF_HEAD_ROW("classifier.dense.bias", "C", ZEROS, false, 0, dense_bias),
    RF_HEAD_ROW("classifier.out_proj.weight", "KC", NORMAL, true, 0, out),
    RF_HEAD_ROW("classifier.out_proj.bias", "K", ZEROS, false, 0, out_bias),
    {{0}, 0},
};
const rf_family_row rf__rows_label[] = {
    RF_HEAD_ROW("classifier.weight", "KC", NORMAL, true, 0, out),
    RF_HEAD_ROW("classifier.bias", "K", ZEROS, false, 0, out_bias),
    {{0}, 0},
};
const rf_family_row rf__rows_span[] = {
    RF_HEAD_ROW("qa_outputs.weight", "KC", NORMAL, true, 0, out),
    RF_HEAD_ROW("qa_outputs.bias", "K", ZEROS, false, 0, out_bias),
    {{0}, 0},
};
const rf_family_row rf__rows_choice[] = {
    RF_HEAD_ROW("classifier.weight", "1C", NORMAL, true, 0, out),
    RF_HEAD_ROW("classifier.bias", "1", ZEROS, false, 0, out_bias),
    {{0}, 0},
};

/* transformers' ElectraForPreTraining. */
const rf_family_row rf__rows_detect[] = {
    RF_HEAD_ROW("discriminator_predictions.dense.weight", "CC", NORMAL, true, 0, dense),
    RF_HEAD_ROW("discriminator_predictions.dense.bias", "C", ZEROS, false, 0, dense_bias),
    RF_HEAD_ROW("discriminator_predictions.dense_prediction.weight", "1C", NORMAL, true, 0, out),
    RF_HEAD_ROW("discriminator_predictions.dense_prediction.bias", "1", ZEROS, false, 0, out_bias),
    {{0}, 0},
};

/* TensorFlow's names of norms. transformers' decoder.bias is tied to cls.predictions.bias or, if untied, the only one
 * that is used. */
const rf_spelling rf__spelling_bert[] = {
    {"LayerNorm.weight", "LayerNorm.gamma", false},
    {"LayerNorm.bias", "LayerNorm.beta", false},
    {"cls.predictions.bias", "cls.predictions.decoder.bias", true},
    {0},
};

/* The same of classes whose head is called lm_head. */
const rf_spelling rf__spelling_lm_head[] = {
    {"LayerNorm.weight", "LayerNorm.gamma", false},
    {"LayerNorm.bias", "LayerNorm.beta", false},
    {"lm_head.bias", "lm_head.decoder.bias", true},
    {0},
};
