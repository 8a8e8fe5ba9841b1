/* abilities.c — the abilities of a model, with their names in /v1/models. The page shows a panel for each. */
#include "roformer/inspect/positions.h"
#include "serve/server.h"

rf_head srv_model_head(const srv_model *m)
{
    const rf_model *model = rf_engine_model(m->engine);
    const rf_head head = rf_model_task(model);
    return head == RF_HEAD_MLM && !rf_model_has_head(model) ? RF_HEAD_EMBED : head;
}

bool srv_labels_texts(const srv_model *m)
{
    return srv_model_head(m) == RF_HEAD_SEQUENCE || srv_model_head(m) == RF_HEAD_POOLED;
}

bool srv_fills_masks(const srv_model *m) { return srv_model_head(m) == RF_HEAD_MLM && !m->config->is_decoder; }
bool srv_generates(const srv_model *m) { return srv_model_head(m) == RF_HEAD_MLM && m->config->is_decoder; }

bool srv_compares(const srv_model *m) { return !m->no_vectors.code; }
static bool searches(const srv_model *m) { return m->index != NULL; }
bool srv_reranks(const srv_model *m) { return srv_labels_texts(m) && rf_engine_labels(m->engine)->n == 1; }
static bool classifies(const srv_model *m) { return srv_labels_texts(m) && !srv_reranks(m); }
static bool tags(const srv_model *m) { return srv_model_head(m) == RF_HEAD_TOKEN; }
static bool answers(const srv_model *m) { return srv_model_head(m) == RF_HEAD_SPAN; }
bool srv_translates(const srv_model *m) { return srv_model_head(m) == RF_HEAD_SEQ2SEQ; }
static bool tokenizes(const srv_model *m) { return m->tokenizer != NULL; }

bool srv_attends(const srv_model *m)
{
    const rf_config *c = m->config;
    return !c->is_encoder_decoder && c->attention_type == RF_ATTENTION_SOFTMAX && !c->attention_types;
}

static bool rotates(const srv_model *m)
{
    const rf_position *is;
    return srv_attends(m) && !rf_position_of(m->config, NULL, &is, NULL) && (rf_position_flags(is) & RF_POSITION_ROPE);
}

static const struct {
    const char *name;
    bool (*is)(const srv_model *m);
} rows[SRV_ABILITIES] = {
    {"fill-mask", srv_fills_masks}, {"similarity", srv_compares}, {"search", searches},   {"rerank", srv_reranks},
    {"classify", classifies},   {"tags", tags},           {"answers", answers},   {"translate", srv_translates},
    {.name = "embed", .is = srv_compares},
    {"generate", srv_generates},    {"tokenize", tokenizes},  {"attention", srv_attends}, {"positions", rotates},
};

const char *srv_ability_name(int i) { return rows[i].name; }
bool srv_model_can(const srv_model *m, int i) { return rows[i].is(m); }
