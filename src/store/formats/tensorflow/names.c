/* names.c — the names of transformers' tensors for the variables of Google's BERT, of bert4keras and of the authors'
 * checkpoints.
 *
 *     bert/encoder/layer_0/attention/self/query/kernel [in, out]  ->  bert.encoder.layer.0.attention.self.query.weight
 *
 * In RoFormer's checkpoints variables begin with "bert/", too. */
#include <stdio.h>

#include "store/formats/tensorflow/tensorflow.h"

/* ---- which model ---- */

#define UNITS "GAU_alpha/"

typedef struct strange { const char *begins, *what; } strange;

static const strange others[] = {
    {"electra/", "ELECTRA"},
    {"discriminator_predictions/", "ELECTRA"},
    {"generator/", "ELECTRA"},
    {"bert/encoder/transformer/", "ALBERT (layers with shared weights)"},
    {"_CHECKPOINTABLE_OBJECT_GRAPH", "a checkpoint of TensorFlow 2's objects, whose variables have no names"},
};

static bool begins(const char *name, const char *with) { return !strncmp(name, with, strlen(with)); }

static const rf__variable *find(const rf__bundle *b, const char *name)
{
    for (size_t i = 0; i < b->count; i++)
        if (!strcmp(b->variable[i].name, name)) return &b->variable[i];
    return NULL;
}

rf_status rf__bundle_examine(const rf__bundle *b, const char *file, rf__bundle_model *out, rf_error *why)
{
    for (size_t i = 0; i < b->count; i++)
        for (size_t k = 0; k < RF_COUNT(others); k++)
            if (begins(b->variable[i].name, others[k].begins))
                return rf_fail(why, RF_EUNSUPPORTED,
                               "%s: variable \"%s\": expected those of BERT, RoFormer, RoFormerV2, GAU-alpha or "
                               "NEZHA, got %s",
                               file, rf__printable(b->variable[i].name).text, others[k].what);
    const rf__variable *words = find(b, "bert/embeddings/word_embeddings");
    if (!words)
        return rf_fail(why, RF_EUNSUPPORTED,
                       "%s: expected the variable bert/embeddings/word_embeddings of BERT and RoFormer, got none",
                       file);
    const bool absolute = find(b, "bert/embeddings/position_embeddings") != NULL;
    const bool units = find(b, UNITS "encoder/layer_0/gau/i_dense/kernel") != NULL;
    *out = (rf__bundle_model){
        .prefix = absolute ? "bert." : units ? "gau_alpha." : "roformer.",
        .absolute = absolute,
        .units = units,
        .biases = find(b, "bert/encoder/layer_0/attention/self/query/bias") != NULL,
        .decoder = find(b, "cls/predictions/output_bias") != NULL,
        .vector = find(b, "bert/pooler/dense/kernel") && !find(b, "cls/seq_relationship/output_weights"),
        .embedding_size = words->rank == 2 ? words->dim[1] : 0,
    };
    return RF_OK;
}

/* ---- names ---- */

/* Steps and moments of Google's and bert4keras' optimizers and of TensorFlow's own, and the task that is not used. */
bool rf__bundle_is_tensor(const rf__variable *v)
{
    static const char *const tails[] = {"/adam_m", "/adam_v", "/Adam", "/Adam_1", "/lamb_m", "/lamb_v", "/Momentum"},
                      *const heads[] = {"global_step", "cls/seq_relationship/", "beta1_power", "beta2_power",
                                        "training/", "save_counter", "Adam/", "AdamWeightDecayOptimizer/"};
    for (size_t i = 0; i < RF_COUNT(tails); i++)
        if (rf__ends_with(v->name, tails[i])) return false;
    for (size_t i = 0; i < RF_COUNT(heads); i++)
        if (begins(v->name, heads[i])) return false;
    return !strstr(v->name, "/AdamWeightDecayOptimizer");
}

typedef struct text { char *at; size_t size, n; } text;

static void append_name(text *t, const char *what, size_t size)
{
    for (size_t i = 0; i < size && t->n + 1 < t->size; i++) t->at[t->n++] = what[i] == '/' ? '.' : what[i];
    t->at[t->n] = 0;
}

static void put_text(text *t, const char *what) { append_name(t, what, strlen(what)); }

/* The last part of a variable's name. */
static const struct { const char *is, *now; bool matrix; } parts[] = {
    {"/kernel", ".weight", true}, {"/gamma", ".weight", false}, {"/beta", ".bias", false},
    {"/bias", ".bias", false},    {"/output_bias", ".bias", false},
};

void rf__bundle_name(const rf__variable *v, const char *prefix, char *out, size_t size, bool *transpose)
{
    static const char project[] = "encoder/embedding_hidden_mapping_in", layer[] = "encoder/layer_";
    const char *name = v->name, *last = strrchr(name, '/');
    text t = {out, size, 0};
    *out = 0;
    *transpose = false;
    if (!last || !(begins(name, "bert/") || begins(name, "cls/") || begins(name, UNITS))) {
        put_text(&t, name);
        return;
    }
    if (begins(name, "bert/")) name += strlen("bert/"), put_text(&t, prefix);
    else if (begins(name, UNITS)) name += strlen(UNITS), put_text(&t, prefix);
    if (begins(name, project)) name += strlen(project), put_text(&t, "embeddings_project");
    else if (begins(name, layer)) name += strlen(layer), put_text(&t, "encoder.layer.");
    if (name > last) last = name;
    append_name(&t, name, (size_t)(last - name));
    for (size_t i = 0; i < RF_COUNT(parts); i++) {
        if (strcmp(last, parts[i].is)) continue;
        *transpose = parts[i].matrix && v->rank == 2;
        put_text(&t, parts[i].now);
        return;
    }
    put_text(&t, last);
    if (rf__ends_with(last, "_embeddings")) put_text(&t, ".weight");
}
