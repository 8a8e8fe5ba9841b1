/* config_write.c — writes config.json: architectures, the keys that name the family, the keys of config.c in their
 * order, position encodings, rope, attention and task; then the keys of the file that was read, if they are not written
 * yet. */
#include <stdio.h>
#include <stdlib.h>

#include "roformer/inspect/files.h"
#include "store/family.h"
#include "store/store.h"
#include "store/task.h"

typedef struct writer { const rf_ctx *ctx; char *text; size_t size, capacity; } writer;

/* The shortest decimal number that reads back as x; jansson writes 0.1 with 17 digits. */
static char *shortest(double x)
{
    for (size_t digits = 1; digits <= 17; digits++) {
        json_t *v = json_real(x);
        char *text = v ? rf__json_dump(v, JSON_ENCODE_ANY | JSON_REAL_PRECISION(digits)) : NULL;
        json_decref(v);
        if (!text) return NULL;
        json_t *back = json_loads(text, JSON_DECODE_ANY, NULL);
        const bool same = back && json_number_value(back) == x;
        json_decref(back);
        if (same) return text;
        free(text);
    }
    return NULL;
}

static bool append_member(writer *w, const char *name, const char *value)
{
    const size_t need = strlen(name) + strlen(value) + 16;
    if (!rf__grow(w->ctx, &w->text, &w->capacity, w->size + need, 1)) return false;
    const int wrote = snprintf(w->text + w->size, need, "%s  \"%s\": %s", w->size > 2 ? ",\n" : "", name, value);
    w->size += (size_t)wrote;
    return true;
}

static bool put_key(writer *w, const rf_config *c, const rf_config_key *k)
{
    const double x = rf__config_value(c, k);
    if (k->flags & RF_KEY_OURS && x >= k->normal && x <= k->normal) return true;
    if (k->flags & RF_KEY_NULL && x < 0) return append_member(w, k->name, "null");
    if (k->kind == RF_KEY_TRUTH) return append_member(w, k->name, x > 0 ? "true" : "false");
    if (k->kind == RF_KEY_NUMBER) {
        char *number = shortest(x);
        const bool fine = number && append_member(w, k->name, number);
        free(number);
        return fine;
    }
    int64_t n = *(const int64_t *)(const void *)((const char *)c + k->at);
    if (k->flags & RF_KEY_AFTER_PAD) n += rf__config_first_position(c);
    if (k->flags & RF_KEY_UNGATED) n = n / 2 * 3;
    char number[32];
    snprintf(number, sizeof number, "%lld", (long long)n);
    return append_member(w, k->name, number);
}

/* Writes model_type, and the keys that identify the family among those with this model_type. */
static bool put_signs(writer *w, const rf_family_config *f)
{
    char type[64];
    snprintf(type, sizeof type, "\"%s\"", f->model_type);
    bool fine = append_member(w, "model_type", type);
    for (const rf_config_sign *s = f->sign; s && s->key && fine; s++) {
        snprintf(type, sizeof type, s->text ? "\"%s\"" : "%s", s->text ? s->text : s->truth ? "true" : "false");
        if (s->required) fine = append_member(w, s->key, type);
    }
    return fine;
}

static char *architectures(const rf_config *c)
{
    json_t *list = json_pack("[s]", c->architecture);
    char *text = list ? rf__json_dump(list, JSON_COMPACT) : NULL;
    json_decref(list);
    return text;
}

/* Writes the name of an encoding as JSON. Models have only names of the registry, but callers of rf_config_write may
 * pass any. */
static bool put_position(writer *w, const char *key, const char *position, const char *usual)
{
    if (!strcmp(position, usual)) return true;
    json_t *v = json_string(position);
    char *name = v ? rf__json_dump(v, JSON_ENCODE_ANY) : NULL;
    const bool fine = name && append_member(w, key, name);
    free(name);
    json_decref(v);
    return fine;
}

static bool put_positions(writer *w, const rf_config *c)
{
    return put_position(w, "position_embedding_type", c->position_embedding_type, rf__config_family(c)->position) &&
           put_position(w, "decoder_position_embedding_type", c->decoder_position_embedding_type, "");
}

static bool put_rope(writer *w, const rf_config *c)
{
    const rf_family_config *f = rf__config_family(c);
    const bool apart = f->by_kind && c->rope_scaled_layers != f->flat;
    char *scaling = !rf__config_has_rope(c) ? NULL : apart ? rf__config_kinds_json(c) : rf__config_rope_json(c),
         *thetas = c->rope_thetas ? rf__config_thetas_json(c) : NULL;
    bool fine = !scaling == !rf__config_has_rope(c) && !thetas == !c->rope_thetas;
    if (fine && scaling) fine = append_member(w, apart ? "rope_parameters" : "rope_scaling", scaling);
    if (fine && thetas) fine = append_member(w, "rope_theta_per_layer", thetas);
    free(scaling);
    free(thetas);
    return fine;
}

/* Removes from `all` the keys that have been written. */
static bool without_written(writer *w, json_t *all)
{
    const char *name;
    json_t *value;
    void *next;
    if (!rf__grow(w->ctx, &w->text, &w->capacity, w->size + 2, 1)) return false;
    w->text[w->size] = '}';
    json_t *written = json_loadb(w->text, w->size + 1, 0, NULL);
    w->text[w->size] = 0;
    json_object_foreach_safe(all, next, name, value) if (json_object_get(written, name)) json_object_del(all, name);
    json_decref(written);
    return written != NULL;
}

/* Writes the members of an object and releases it. */
static bool put_all(writer *w, json_t *all)
{
    json_t *value;
    const char *name;
    bool fine = all != NULL;
    json_object_foreach(all, name, value) {
        char *one = fine ? rf__json_dump(value, JSON_ENCODE_ANY) : NULL;
        fine = one && append_member(w, name, one);
        free(one);
    }
    json_decref(all);
    return fine;
}

/* Writes what config.json has to contain for c. *more: the keys that are left; NULL if memory ran out. */
static bool put_config(writer *w, const rf_config *c, json_t **more)
{
    const rf_family_config *f = rf__config_family(c);
    char act[32];
    snprintf(act, sizeof act, "\"%s\"", f->act_name ? f->act_name : rf__config_act_name(c->hidden_act));
    char *list = architectures(c);
    bool fine = list && rf__grow(w->ctx, &w->text, &w->capacity, 256, 1);
    if (fine) w->size = (size_t)snprintf(w->text, w->capacity, "{\n");
    if (*c->architecture) fine = fine && append_member(w, "architectures", list);
    fine = fine && put_signs(w, f) &&
           append_member(w, rf__config_act_key(f), act);
    free(list);
    for (size_t i = 0; i < rf__config_key_count(f) && fine; i++)
        if (rf__config_key_of(f, i)) fine = put_key(w, c, rf__config_key_of(f, i));
    if (c->linear_pooler) fine = fine && append_member(w, RF_POOLER_KEY, "\"linear\"");
    fine = fine && put_positions(w, c) && put_rope(w, c) && put_all(w, rf__config_attention_json(c)) &&
           put_all(w, rf__task_json(c));
    if (f->vectors) json_object_del(*more, RF_POOLER_KEY);     /* "tanh", the default */
    fine = fine && without_written(w, *more);
    rf__config_aliases_write(f, c, more);
    if (f->write && *more) f->write(c, more);
    return fine;
}

rf_status rf_config_write(const rf_ctx *ctx, const char *folder, const rf_config *c, rf_error *why)
{
    if (!(ctx && folder && c)) return rf__missing("rf_config_write", "ctx, folder, config", why);
    return rf__config_write_with(ctx, folder, c, json_object(), why);
}

rf_status rf__config_write_with(const rf_ctx *ctx, const char *folder, const rf_config *given, json_t *more,
                                rf_error *why)
{
    char path[4096];
    rf_error local = {0};
    if (!why) why = &local;
    rf_config c;
    if (rf__config_given(&c, given, why) || rf__path(path, sizeof path, folder, RF_FILE_CONFIG, why) ||
        rf__config_check_all(&c, path, why)) {
        json_decref(more);
        return why->code;
    }
    writer w = {.ctx = ctx};
    bool fine = put_config(&w, &c, &more);
    fine = put_all(&w, more) && fine;
    rf_status s = RF_OK;
    if (!fine || !rf__grow(ctx, &w.text, &w.capacity, w.size + 4, 1)) {
        s = rf_fail(why, RF_ENOMEM, "%s: out of memory", path);
    } else {
        w.size += (size_t)snprintf(w.text + w.size, 4, "\n}\n");
        s = rf__replace_file(ctx, path, w.text, w.size, why);
    }
    rf__free(ctx, w.text);
    return s;
}
