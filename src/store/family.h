/* family.h — what config.json contains for a family of models: how the family is recognized, its keys, and the names of
 * its classes.
 *
 * The rows are defined in the model module, one file for each family in src/model/families, and listed in
 * src/model/families.def. This module reads, checks and writes config.json by these rows and knows no family by
 * name. */
#ifndef RF_STORE_FAMILY_H
#define RF_STORE_FAMILY_H

#include <jansson.h>

#include "base/base.h"
#include "base/files/folder_keys.h"
#include "roformer/checkpoint.h"

/* RF_KEY_NONE: the family does not have the key. */
typedef enum rf_key_kind { RF_KEY_WHOLE, RF_KEY_NUMBER, RF_KEY_TRUTH, RF_KEY_NONE } rf_key_kind;
enum {
    RF_KEY_OPEN_LOW = 1, RF_KEY_OPEN_HIGH = 2,          /* ends that do not belong to the range                       */
    RF_KEY_OURS = 4,           /* written only if it is not the default, because transformers' class does not have it */
    RF_KEY_NULL = 8,            /* null means -1                                                                      */
    RF_KEY_STATE = 16,          /* how far training is, not what is trained                                           */
    RF_KEY_AFTER_PAD = 32,      /* the file has a value larger by pad_token_id + 1: it counts rows of a table whose
                                   first rows belong to no token */
    RF_KEY_UNGATED = 64,        /* the file has the width of a feed-forward layer without a gate and as many weights;
                                   here it is two thirds of that, rounded up to a multiple of 8 */
    RF_KEY_ANY_POSITION = 128,  /* only of families with `any_position`; the classes of others do not read it         */
};

#define RF_POOLER_KEY "pooler_activation"

/* A key of config.json: the member of rf_config that holds it, its default and its range. */
typedef struct rf_config_key {
    const char *name;
    rf_key_kind kind;
    size_t at;
    double normal, low, high;
    int flags;                  /* RF_KEY_*                                                                           */
} rf_config_key;

/* The row of a member, with the member's name as key or with another key: kind, default, range, RF_KEY_*. */
#define RF_CONFIG_KEY_AS(name, member, kind, ...) {name, RF_KEY_##kind, offsetof(rf_config, member), __VA_ARGS__}
#define RF_CONFIG_KEY(member, kind, ...) RF_CONFIG_KEY_AS(#member, member, kind, __VA_ARGS__)

/* The usual limits of a member, once for all families: kind, range, RF_KEY_*. */
#define RF_LIMITS_vocab_size                   RF_KEY_WHOLE, 1, 16777216, 0
#define RF_LIMITS_embedding_size               RF_KEY_WHOLE, 1, 65536, 0
#define RF_LIMITS_hidden_size                  RF_KEY_WHOLE, 2, 65536, 0
#define RF_LIMITS_intermediate_size            RF_KEY_WHOLE, 1, 1048576, 0
#define RF_LIMITS_num_hidden_layers            RF_KEY_WHOLE, 1, 1024, 0
#define RF_LIMITS_num_attention_heads          RF_KEY_WHOLE, 1, 4096, 0
#define RF_LIMITS_num_key_value_heads          RF_KEY_WHOLE, 1, 4096, RF_KEY_NULL
#define RF_LIMITS_head_dim                     RF_KEY_WHOLE, 2, 65536, 0
#define RF_LIMITS_max_position_embeddings      RF_KEY_WHOLE, 2, 16777216, 0
#define RF_LIMITS_local_attention              RF_KEY_WHOLE, 2, 16777216, 0
#define RF_LIMITS_max_relative_position        RF_KEY_WHOLE, 1, 1048576, 0
#define RF_LIMITS_pad_token_id                 RF_KEY_WHOLE, -1, 16777215, RF_KEY_NULL
#define RF_LIMITS_mask_token_id                RF_KEY_WHOLE, -1, 16777215, RF_KEY_NULL
#define RF_LIMITS_rope_theta                   RF_KEY_NUMBER, 1, 1e18, RF_KEY_OPEN_LOW
#define RF_LIMITS_local_rope_theta             RF_KEY_NUMBER, 1, 1e18, RF_KEY_OPEN_LOW
#define RF_LIMITS_layer_norm_eps               RF_KEY_NUMBER, 0, 1, RF_KEY_OPEN_LOW
#define RF_LIMITS_hidden_dropout_prob          RF_KEY_NUMBER, 0, 1, RF_KEY_OPEN_HIGH
#define RF_LIMITS_attention_probs_dropout_prob RF_KEY_NUMBER, 0, 1, RF_KEY_OPEN_HIGH
#define RF_LIMITS_classifier_dropout           RF_KEY_NUMBER, 0, 1, RF_KEY_OPEN_HIGH
#define RF_LIMITS_tie_word_embeddings          RF_KEY_TRUTH, 0, 1, 0

/* The row of a member with its usual limits: default, further RF_KEY_*; with one value, which transformers' class does
 * not name; and of a member that the family does not have. */
#define RF_USUAL_ROW(name, member, normal, more, kind, low, high, flags) \
    {name, kind, offsetof(rf_config, member), normal, low, high, (flags) | (more)}
#define RF_USUAL_WITH(...) RF_USUAL_ROW(__VA_ARGS__)
#define RF_USUAL_AS(name, member, normal, more) RF_USUAL_WITH(name, member, normal, more, RF_LIMITS_##member)
#define RF_USUAL(member, normal, more) RF_USUAL_AS(#member, member, normal, more)
#define RF_FIXED(member, kind, value) RF_CONFIG_KEY(member, kind, value, value, value, RF_KEY_OURS)
#define RF_LACKS(member) RF_CONFIG_KEY(member, NONE, 0, 0, 0, 0)

/* A key whose value distinguishes a family from related ones: a string, or (text NULL) a boolean. */
typedef struct rf_config_sign { const char *key, *text; bool truth, required; } rf_config_sign;

/* An older name of a key. If a file has both, they must agree; with `loose`, the newer one takes precedence. */
typedef struct rf_config_alias { const char *name, *key; bool loose; } rf_config_alias;

/* A class of transformers, or of the library that has the family. foreign: this project's own name, which no library
 * has. */
typedef struct rf_class_row { rf_head head; const char *name; bool causal, foreign; } rf_class_row;

/* Rows of rf_family_config.known: a key that may only have its usual value, and one without effect; why. */
#define RF_ONLY(name, usual, why) {RF_KEYS_CONFIG, name, RF_KEY_ONLY, usual, why}
#define RF_IDLE(name, why) {RF_KEYS_CONFIG, name, RF_KEY_IDLE, "", why}

#define RF_ONE_POSITION RF_IDLE("position_embedding_type", "the class has one encoding")

/* Lists end with a row without a name. */
typedef struct rf_family_config {
    const char *name;           /* rf_config.family                                                                   */
    const char *model_type;
    /* for other files: their model_type, and the beginning of the names of their classes, then and now */
    struct { const char *type, *class, *now; } older;
    const char *title;          /* in sentences                                                                       */
    const rf_config_sign *sign;
    /* with text: whether a string of auto_map, which names the code of the class, contains it */
    struct { const char *text; bool named; } code;
    bool coded;                 /* auto_map of its published folders names code that computes the same                */
    const rf_config_key *key;   /* replace common keys of the same name, or are added to them                         */
    const rf_config_alias *alias;
    const rf_known_key *known;  /* other keys of its files: RF_KEY_ONLY, RF_KEY_IDLE                                  */
    /* Reads what no table describes from a file into c; writes the keys that are not in the tables. */
    rf_status (*read)(const char *file, const json_t *root, rf_config *c, rf_error *why);
    void (*write)(const rf_config *c, json_t **more);
    const rf_class_row *class;           /* the first class of a head is the one that is written                     */
    const char *position;       /* position_embedding_type if config.json names none                                  */
    const char *const *positions;       /* others that it may name, NULL at the end; NULL: none                       */
    bool by_kind;               /* two kinds of layers, by rf__config_local, with rope_parameters of their own;       */
    rf_rope_layers flat;        /* ... those that a rope_scaling in place of them is of                               */
    bool any_position;          /* accepts every position encoding, not only `position`                               */
    bool summarizes;            /* heads for texts use the token that rf_config.summary names, which `read` and
                                   `write` handle; RF_SUMMARY_FIRST is the default */
    bool one_width;             /* embedding_size equals hidden_size                                                  */
    bool vectors;               /* RF_POOLER_KEY may be "linear": RoFormer-Sim, SimBERT                               */
    bool pairs;                 /* an encoder and a decoder, for a source and a target                                */
    bool endless;               /* its classes limit no text: max_position_embeddings is the length of training alone */
    /* The matrix of logits: the model has it if its weights do, whatever config.json says (tied_head.c); the names of
     * the word embeddings that it is compared with, NULL at the end. NULL: tie_word_embeddings decides. */
    const char *head_in_file, *const *word_names;
    int forced_end;             /* without generation_config.json, 1 + forced_eos_token_id of its class; 0: none      */
    bool framed;                /* sources and targets have the tokens of the tokenizer's template around them        */
    bool start_once;            /* unless the folder suppresses others, decoder_start_token_id is never generated     */
    const char *act;            /* the key of hidden_act; NULL: hidden_act                                            */
    rf_act usual_act;           /* its default; RF_ACT_NONE: gelu                                                     */
    const char *act_name;       /* the name of usual_act, the only one, in its files; NULL: the common name           */
    const char *elsewhere;      /* why transformers cannot load the written folder; NULL: it can                      */
} rf_family_config;

extern const rf_family_config *const rf__config_families[];              /* NULL-terminated; the first is RoFormer    */

/* The current name of a class: `to`, or `name` itself. */
const char *rf__config_class_now(const rf_family_config *f, const char *name, char *to, size_t size);

/* The row named by c->family; NULL: there is none. */
const rf_family_config *rf__config_family(const rf_config *c);

/* max_position_embeddings, or INT32_MAX if the family is `endless`. */
int64_t rf__config_longest(const rf_config *c);

/* The keys of a family: the common ones in their order, then its own (config.c). NULL: the family has no such key, or
 * its own key replaces it. */
size_t rf__config_key_count(const rf_family_config *f);
const rf_config_key *rf__config_key_of(const rf_family_config *f, size_t i);
const rf_config_key *rf__config_key_named(const rf_family_config *f, const char *name);     /* NULL: there is none  */
double rf__config_value(const rf_config *c, const rf_config_key *k);
rf_status rf__config_read_key(const char *file, const rf_config_key *k, const json_t *v, rf_config *c, rf_error *why);
bool rf__act_named(const char *name, rf_act *out);                  /* false: no activation has this name            */
const char *rf__config_act_key(const rf_family_config *f);                  /* "hidden_act", or the family's own name */
/* The activation that a key names; without the key, *out is unchanged. RF_EUNSUPPORTED: another one. */
rf_status rf__config_read_act(const char *file, const json_t *root, const char *key, rf_act *out, rf_error *why);
rf_status rf__tied_head_read(const rf_ctx *ctx, const char *folder, rf_config *c, rf_error *why);   /* head_in_file */
rf_status rf__config_check_key(const rf_config *c, const rf_config_key *k, const char *name, rf_error *why);

/* The row of the position table for the first position: 0, or pad_token_id + 1 (RF_KEY_AFTER_PAD). */
int64_t rf__config_first_position(const rf_config *c);

/* Whether a layer attends only to tokens near each token; every 0: all layers do. */
static inline bool rf__config_local(const rf_config *c, int64_t layer)
{
    const int64_t every = c->global_attn_every_n_layers;
    return c->local_attention > 0 && (!every || (layer + (c->global_attn_last != 0)) % every != 0);
}

/* Whether a layer has the rotary positions of layers that attend to near tokens: where there are two kinds. */
static inline bool rf__config_local_rope(const rf_config *c, int64_t layer)
{
    return layer >= 0 && c->global_attn_every_n_layers && rf__config_local(c, layer);
}

/* Whether rope_scaling is of a layer. */
static inline bool rf__config_scaled(const rf_config *c, int64_t layer)
{
    return c->rope_scaled_layers == RF_ROPE_OF_ALL ||
           rf__config_local_rope(c, layer) == (c->rope_scaled_layers == RF_ROPE_OF_LOCAL);
}

/* Columns of the queries of all heads; those of the keys, and of the values. */
static inline int64_t rf__config_query_columns(const rf_config *c)
{
    return c->head_dim > 0 ? c->num_attention_heads * c->head_dim : c->hidden_size;
}

static inline int64_t rf__config_key_columns(const rf_config *c)
{
    const int64_t H = c->num_attention_heads, G = c->num_key_value_heads;
    return G > 0 ? rf__config_query_columns(c) / H * G : rf__config_query_columns(c);
}

/* Whether `known` says that the class does not read the key. */
bool rf__config_idle(const rf_family_config *f, const char *key);

bool rf__config_lacks(const rf_family_config *f, const char *key);     /* a key of other families, such as is_decoder */

/* All names, or all values of model_type, separated by commas; returns `to`. */
char *rf__config_family_names(char *to, size_t size, bool types);

/* Determines the family of a config.json. RF_EUNSUPPORTED: it is not supported; RF_EDATA: a key has the wrong type. */
rf_status rf__config_pick(const char *file, const json_t *root, const rf_family_config **out, rf_error *why);

/* Older names of keys (config_alias.c). They are read before the newer ones; RF_EDATA: the two disagree. Those in
 * `more` get the numbers of c. */
rf_status rf__config_aliases_read(const rf_family_config *f, const char *file, const json_t *root, rf_config *c,
                                  rf_error *why);
rf_status rf__config_aliases_agree(const rf_family_config *f, const char *file, const json_t *root, const rf_config *c,
                                   rf_error *why);
void rf__config_aliases_write(const rf_family_config *f, const rf_config *c, json_t **more);

/* Reads the scaling of rotary positions (config_rope.c). */
rf_status rf__config_read_rope(const rf_ctx *ctx, const rf_family_config *f, const char *file, const json_t *root,
                               rf_config *c, rf_error *why);

/* The class for the architecture of c, or NULL. */
const rf_class_row *rf__config_class(const rf_config *c);

/* The head of the family that corresponds to `head`: a family with two ways to label texts has its own one. */
rf_head rf__config_nearest_head(const rf_config *c, rf_head head);

#endif
