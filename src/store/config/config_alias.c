/* config_alias.c — older names of keys of config.json, which a family's row lists (store/family.h).
 *
 * They are read first and the newer names after them; at the end, both must agree. When a file is written again, the
 * older names that it had get the current numbers. */
#include "store/family.h"
#include "store/store.h"

const rf_config_key *rf__config_key_named(const rf_family_config *f, const char *name)
{
    for (size_t i = 0; i < rf__config_key_count(f); i++) {
        const rf_config_key *k = rf__config_key_of(f, i);
        if (k && !strcmp(k->name, name)) return k;
    }
    return NULL;
}

/* The row of the key that `a` is an alias of, with the name of `a`. */
static rf_config_key row_of(const rf_family_config *f, const rf_config_alias *a)
{
    const rf_config_key *own = rf__config_key_named(f, a->key);
    rf_config_key k = {0};
    if (own) k = *own;                                                /* always true: families are checked at startup */
    k.name = a->name;
    return k;
}

static const json_t *value_of(const json_t *root, const rf_config_alias *a)
{
    const json_t *v = json_object_get(root, a->name);
    return v && !json_is_null(v) ? v : NULL;
}

rf_status rf__config_aliases_read(const rf_family_config *f, const char *file, const json_t *root, rf_config *c,
                                  rf_error *why)
{
    rf_status status = RF_OK;
    for (const rf_config_alias *a = f->alias; a && a->name && !status; a++) {
        const rf_config_key k = row_of(f, a);
        if (value_of(root, a)) status = rf__config_read_key(file, &k, value_of(root, a), c, why);
    }
    return status;
}

rf_status rf__config_aliases_agree(const rf_family_config *f, const char *file, const json_t *root, const rf_config *c,
                                   rf_error *why)
{
    for (const rf_config_alias *a = f->alias; a && a->name; a++) {
        const rf_config_key k = row_of(f, a);
        rf_config other = *c;
        if (a->loose || !value_of(root, a)) continue;
        const rf_status status = rf__config_read_key(file, &k, value_of(root, a), &other, why);
        if (status) return status;
        const double mine = rf__config_value(c, &k), theirs = rf__config_value(&other, &k);
        if (mine < theirs || mine > theirs)
            return rf_fail(why, RF_EDATA, "%s: %s: expected %.15g, as %s says, got %.15g; remove one of the two", file,
                           a->name, mine, a->key, theirs);
    }
    return RF_OK;
}

void rf__config_aliases_write(const rf_family_config *f, const rf_config *c, json_t **more)
{
    for (const rf_config_alias *a = f->alias; a && a->name; a++) {
        const rf_config_key k = row_of(f, a);
        const double x = rf__config_value(c, &k);
        const json_t *v = value_of(*more, a);
        if (a->loose || !v || !json_is_number(v) || (json_number_value(v) >= x && json_number_value(v) <= x)) continue;
        rf__json_set(more, a->name, k.kind == RF_KEY_WHOLE ? json_integer((json_int_t)x) : json_real(x));
    }
}
