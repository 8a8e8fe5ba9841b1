/* config.c — what config.json would say of a checkpoint whose folder has bert_config.json.
 *
 * The numbers are those of bert_config.json. Neither file names the kind of model; the variables determine it:
 *
 *     position_embeddings                     BERT (WoBERT is one, with a vocabulary of words) or SimBERT
 *     none, and use_relative_position true    NEZHA: RoFormer's layers with position_embedding_type "nezha"
 *     none, and gated attention units         GAU-alpha
 *     none, and no biases                     RoFormerV2
 *     none                                    RoFormer
 *
 * RoFormer-GPT and RoFormer-Sim have RoFormer's variables, and SimBERT has BERT's. A folder with the name of a
 * published one is read as that model (`published` below). Any other folder of RoFormer's variables must state its
 * kind, and so must one of BERT's with a pooler but without the task of sentence pairs, as SimBERT's are. Keys of
 * config.json in bert_config.json take precedence over all of this. */
#include <stdio.h>
#include <stdlib.h>

#include "base/files/json_file.h"
#include "base/os/os.h"
#include "roformer/inspect/files.h"
#include "store/formats/tensorflow/tensorflow.h"

enum { CONFIG_BYTES = 1 << 20 };

/* Beginnings of the names of the authors' folders; whether the variables are BERT's, the model is causal, and it
 * computes a sentence vector. */
static const struct { const char *name; bool bert, causal, vector; } published[] = {
    {"chinese_roformer_", false, false, false},
    {"chinese_roformer-char", false, false, false},
    {"chinese_roformer-gpt", false, true, false},
    {"chinese_roformer-sim", false, true, true},
    {"chinese_simbert", true, true, true},
};

/* Norms of bert4keras, which computes RoFormer's models, add K.epsilon(); those of BERT and NEZHA add 1e-12. */
static const double epsilon = 1e-7, bert_epsilon = 1e-12;

static void set(json_t *root, const char *key, json_t *value, bool *fine)
{
    if (json_object_get(root, key)) json_decref(value);
    else if (!value || json_object_set_new(root, key, value)) *fine = false;
}

/* false: the folder's name is not one of the published ones. */
static bool set_published(json_t *root, const char *folder, bool bert, bool *fine)
{
    bool found = false;
    char *whole = rf__os_whole_path(folder);                             /* "." has a name, too */
    const char *path = whole ? whole : folder, *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < RF_COUNT(published); i++) {
        if (published[i].bert != bert || strncmp(name, published[i].name, strlen(published[i].name))) continue;
        found = true;
        if (!published[i].causal) continue;
        set(root, "is_decoder", json_true(), fine);
        if (published[i].vector) set(root, "pooler_activation", json_string("linear"), fine);
    }
    free(whole);
    return found;
}

static const char *class_of(const rf__bundle_model *m, bool causal)
{
    if (m->units) return "GAUAlphaForMaskedLM";
    if (m->absolute) return causal ? "BertLMHeadModel" : m->decoder ? "BertForMaskedLM" : "BertModel";
    if (causal) return "RoFormerForCausalLM";
    return m->decoder || !m->biases ? "RoFormerForMaskedLM" : "RoFormerModel";
}

/* *which: nothing says whether a RoFormer is RoFormer-GPT or RoFormer-Sim, or a BERT SimBERT. */
static bool complete(json_t *root, const rf__bundle_model *m, const char *folder, bool *which)
{
    bool fine = true;
    const bool nezha = json_is_true(json_object_get(root, "use_relative_position"));
    const bool said = json_object_get(root, "architectures") || json_object_get(root, "is_decoder");
    json_object_del(root, "use_relative_position");
    set(root, "model_type", json_string(m->absolute ? "bert" : m->units ? "gau_alpha" : "roformer"), &fine);
    set(root, "layer_norm_eps", json_real(m->absolute || nezha ? bert_epsilon : epsilon), &fine);
    if (nezha) set(root, "position_embedding_type", json_string("nezha"), &fine);
    if (m->units) json_object_del(root, "num_attention_heads");         /* a unit has one, whatever stands there */
    if (!m->absolute && !m->biases && !m->units) {
        set(root, "norm_type", json_string("rms_norm"), &fine);
        set(root, "use_bias", json_false(), &fine);
    }
    if (!m->absolute && m->embedding_size) set(root, "embedding_size", json_integer(m->embedding_size), &fine);
    const bool many = m->absolute ? m->decoder && m->vector : m->biases && !nezha;
    const bool named = m->biases && set_published(root, folder, m->absolute, &fine);
    *which = many && !said && !named;
    const bool causal = json_is_true(json_object_get(root, "is_decoder"));
    set(root, "architectures", json_pack("[s]", class_of(m, causal)), &fine);
    return fine;
}

bool rf__bundle_index(const rf_ctx *ctx, const char *folder, char *path, size_t size)
{
    int found = 0;
    if (rf__path(path, size, folder, RF_FILE_TF_CONFIG, NULL) || !rf__is_there(ctx, path)) return false;
    if (rf__path(path, size, folder, RF_FILE_TF_INDEX, NULL)) return false;
    if (rf__is_there(ctx, path)) return true;
    rf__os_folder *f = rf__os_folder_open(folder);
    for (const char *name; f && (name = rf__os_next(f, NULL));) {
        const bool index = rf__ends_with(name, ".index") && strcmp(name, ".index");
        if (index && !rf__path(path, size, folder, name, NULL)) found++;
    }
    rf__os_folder_close(f);
    return found == 1;
}

static rf_status read_bert(const rf_ctx *ctx, const char *path, json_t **root, rf_error *why)
{
    const rf_status status = rf__json_file(ctx, path, CONFIG_BYTES, 0, root, why);
    if (status || json_is_object(*root)) return status;
    rf_fail(why, RF_EDATA, "%s: expected an object, got %s", path, rf__json_shown(*root).text);
    json_decref(*root);
    *root = NULL;
    return RF_EDATA;
}

/* Weights that Keras' save_weights wrote; "": there are none. */
static void find_keras(const char *folder, char name[256])
{
    rf__os_folder *f = rf__os_folder_open(folder);
    *name = 0;
    for (const char *is; f && (is = rf__os_next(f, NULL));)
        if (rf__ends_with(is, ".h5") || rf__ends_with(is, ".weights")) snprintf(name, 256, "%s", is);
    rf__os_folder_close(f);
}

rf_status rf__bert_config(const rf_ctx *ctx, const char *folder, char path[RF_CONFIG_PATH], json_t **root,
                          rf_error *why)
{
    char weights[RF_CONFIG_PATH], keras[256];
    bool fine = true;
    *root = NULL;
    rf_status status = rf__path(path, RF_CONFIG_PATH, folder, RF_FILE_TF_CONFIG, why);
    if (status || !rf__is_there(ctx, path)) return status;
    if (rf__weights_file_of(ctx, folder, weights, sizeof weights, NULL)) {
        find_keras(folder, keras);
        if (*keras)
            return rf_fail(why, RF_EUNSUPPORTED, "%.200s/%s: weights of Keras' layers are not read: expected a "
                           "checkpoint beside %s, got none; write one with bert4keras' save_weights_as_checkpoint",
                           folder, rf__printable(keras).text, RF_FILE_TF_CONFIG);
        return rf__weights_file_of(ctx, folder, weights, sizeof weights, why);
    }
    status = read_bert(ctx, path, root, why);
    if (status) return status;
    set(*root, "model_type", json_string("bert"), &fine);
    set(*root, "architectures", json_pack("[s]", "BertForMaskedLM"), &fine);
    return fine ? RF_OK : rf_fail(why, RF_ENOMEM, "%s: out of memory", path);
}

rf_status rf__bundle_config(const rf_ctx *ctx, const char *folder, char path[RF_CONFIG_PATH], json_t **root,
                            rf_error *why)
{
    char index[RF_CONFIG_PATH];
    rf__bundle b = {0};
    rf__bundle_model m;
    bool which = false;
    if (!rf__bundle_index(ctx, folder, index, sizeof index))
        return rf_fail(why, RF_EIO, "%s: expected a TensorFlow checkpoint (%s, %s), got none", folder,
                       RF_FILE_TF_CONFIG, RF_FILE_TF_INDEX);
    rf_status status = rf__path(path, RF_CONFIG_PATH, folder, RF_FILE_TF_CONFIG, why);
    if (!status) status = rf__bundle_read(ctx, index, &b, why);
    if (!status) status = rf__bundle_examine(&b, index, &m, why);
    if (!status) status = read_bert(ctx, path, root, why);
    rf__bundle_clear(&b);
    if (status) return status;
    if (!complete(*root, &m, folder, &which)) status = rf_fail(why, RF_ENOMEM, "%s: out of memory", path);
    if (!status && which && m.absolute)
        status = rf_fail(why, RF_EDATA,
                         "%s: architectures: expected one, or the folder name chinese_simbert..., got neither: BERT "
                         "without the task of sentence pairs and SimBERT look the same; add \"architectures\": "
                         "[\"BertForMaskedLM\"], for SimBERT \"is_decoder\": true and \"pooler_activation\": "
                         "\"linear\"", path);
    else if (!status && which)
        status = rf_fail(why, RF_EDATA,
                         "%s: architectures: expected one, or a published folder name (chinese_roformer...), got "
                         "neither: RoFormer, -GPT and -Sim look the same; add \"architectures\": "
                         "[\"RoFormerForMaskedLM\"], for -GPT \"is_decoder\": true, for -Sim that and "
                         "\"pooler_activation\": \"linear\"", path);
    if (status) json_decref(*root);
    return status;
}
