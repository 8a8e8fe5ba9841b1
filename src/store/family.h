/* family.h — what config.json says of a family of models: how it is recognised, its keys, the names of its classes.
 *
 * The rows are made on the model floor, one file for each family in src/model/families, and listed in
 * src/model/families.def; this floor reads, checks and writes config.json as they say, and knows none of them by
 * name. */
#ifndef RF_STORE_FAMILY_H
#define RF_STORE_FAMILY_H

#include <jansson.h>

#include "base/base.h"
#include "base/folder_keys.h"
#include "roformer/checkpoint.h"

/* RF_KEY_NONE: the family has no such key. */
typedef enum rf_key_kind { RF_KEY_WHOLE, RF_KEY_NUMBER, RF_KEY_TRUTH, RF_KEY_NONE } rf_key_kind;
enum {
    RF_KEY_OPEN_LOW = 1, RF_KEY_OPEN_HIGH = 2,          /* ends of the range that are not in it                       */
    RF_KEY_OURS = 4,            /* written only when it is not the default: what transformers' class does not have    */
    RF_KEY_NULL = 8,            /* null stands for -1                                                                 */
    RF_KEY_STATE = 16,          /* says how far training is, not what is trained                                      */
    RF_KEY_AFTER_PAD = 32,      /* a file holds pad_token_id + 1 more: rows of a table whose first ones have no token */
};

#define RF_POOLER_KEY "pooler_activation"

/* A key of config.json, the member of rf_config that holds it, its default and its range. */
typedef struct rf_config_key {
    const char *name;
    rf_key_kind kind;
    size_t at;
    double normal, low, high;
    int flags;                  /* RF_KEY_*                                                                           */
} rf_config_key;

/* The row of a member by its own name, or by another one: kind, default, range, RF_KEY_*. */
#define RF_CONFIG_KEY_AS(name, member, kind, ...) {name, RF_KEY_##kind, offsetof(rf_config, member), __VA_ARGS__}
#define RF_CONFIG_KEY(member, kind, ...) RF_CONFIG_KEY_AS(#member, member, kind, __VA_ARGS__)

/* A key whose value tells a family from its relatives: a text, or (text NULL) a truth. */
typedef struct rf_config_sign { const char *key, *text; bool truth, required; } rf_config_sign;

/* An older name of a key.  Where a file holds both they agree, unless `loose`: then the newer one counts. */
typedef struct rf_config_alias { const char *name, *key; bool loose; } rf_config_alias;

/* A class of transformers, or of the library that has the family.  foreign: a name of our own, which no library has. */
typedef struct rf_class_row { rf_head head; const char *name; bool causal, foreign; } rf_class_row;

/* Lists end with a row without a name. */
typedef struct rf_family_config {
    const char *name;           /* rf_config.family                                                                   */
    const char *model_type;
    /* Of files that say otherwise: their model_type, and how the names of their classes begin and would begin now. */
    struct { const char *type, *class, *now; } older;
    const char *title;          /* as a sentence has it                                                               */
    const rf_config_sign *sign;
    const rf_config_key *key;   /* in place of common keys of the same name, or beside them                           */
    const rf_config_alias *alias;
    const rf_known_key *known;  /* other keys that its files hold: RF_KEY_ONLY, RF_KEY_IDLE                           */
    /* What no table says of a file that was read into c, and of the keys that it had beside those that are written. */
    rf_status (*read)(const char *file, const json_t *root, rf_config *c, rf_error *why);
    void (*write)(const rf_config *c, json_t **more);
    const rf_class_row *class;           /* the first of a head is the one that is written                           */
    const char *position;       /* position_embedding_type where config.json names none                               */
    bool summarizes;            /* heads of texts look where rf_config.summary says, which `read` and `write` name;
                                   RF_SUMMARY_FIRST where nothing is said                                             */
    bool one_width;             /* embedding_size is hidden_size                                                      */
    bool pairs;                 /* an encoder and a decoder: a source is read, a target written                       */
    const char *act;            /* the key of hidden_act; NULL: by that name                                          */
    rf_act usual_act;           /* its default; RF_ACT_NONE: gelu                                                     */
    const char *elsewhere;      /* why transformers does not load what is written; NULL: it does                      */
} rf_family_config;

extern const rf_family_config *const rf__config_families[];              /* NULL at the end; the first is RoFormer's  */

/* The name of a class as it is now: `to`, or `name` itself. */
const char *rf__config_class_now(const rf_family_config *f, const char *name, char *to, size_t size);

/* The row that c->family names; NULL: none. */
const rf_family_config *rf__config_family(const rf_config *c);

/* The keys of a family: the common ones in their order, then its own (config.c).  NULL: the family has no such key, or
 * it was given in the place of the common one. */
size_t rf__config_key_count(const rf_family_config *f);
const rf_config_key *rf__config_key_of(const rf_family_config *f, size_t i);
const rf_config_key *rf__config_key_named(const rf_family_config *f, const char *name);     /* NULL: there is none  */
double rf__config_value(const rf_config *c, const rf_config_key *k);
rf_status rf__config_read_key(const char *file, const rf_config_key *k, const json_t *v, rf_config *c, rf_error *why);
const char *rf__config_act_key(const rf_family_config *f);                  /* hidden_act, or the family's own name */
rf_status rf__config_check_key(const rf_config *c, const rf_config_key *k, const char *name, rf_error *why);

/* The row of a table of positions that the first position has: 0, or pad_token_id + 1 (RF_KEY_AFTER_PAD). */
int64_t rf__config_first_position(const rf_config *c);

/* Whether a layer sees the tokens near each token alone. */
static inline bool rf__config_local(const rf_config *c, int64_t layer)
{
    const int64_t every = c->global_attn_every_n_layers;
    return c->local_attention > 0 && every > 0 && layer % every != 0;
}

bool rf__config_lacks(const rf_family_config *f, const char *key);      /* a key of others, such as is_decoder */

/* All names, or all values of model_type, with commas between them; returns `to`. */
char *rf__config_family_names(char *to, size_t size, bool types);

/* The family of a config.json.  RF_EUNSUPPORTED: none that is computed here; RF_EDATA: a key of the wrong type. */
rf_status rf__config_pick(const char *file, const json_t *root, const rf_family_config **out, rf_error *why);

/* Older names of keys (config_alias.c): before the newer ones are read; RF_EDATA: the two disagree; those that `more`
 * has get c's numbers. */
rf_status rf__config_aliases_read(const rf_family_config *f, const char *file, const json_t *root, rf_config *c,
                                  rf_error *why);
rf_status rf__config_aliases_agree(const rf_family_config *f, const char *file, const json_t *root, const rf_config *c,
                                   rf_error *why);
void rf__config_aliases_write(const rf_family_config *f, const rf_config *c, json_t **more);

/* The class that c's architecture names, or NULL. */
const rf_class_row *rf__config_class(const rf_config *c);

/* The head that the family has for what `head` is asked for: its own way to label texts where there are two. */
rf_head rf__config_nearest_head(const rf_config *c, rf_head head);

#endif
