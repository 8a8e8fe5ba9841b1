/* tied.c — copies of the word embeddings in files.
 *
 *     tie_word_embeddings:                 cls.predictions.decoder.weight = lm_head.weight = word
 *     share_encoder_decoder_embeddings:    encoder.embed_tokens.weight = decoder.embed_tokens.weight = word
 *
 * A copy with other numbers is a separate matrix, which transformers uses regardless of config.json. This library
 * follows config.json, so a file that contradicts it is refused; for some families, the weights decide instead
 * (store/tied_head.c). */
#include <stdio.h>

#include "model/family.h"
#include "model/params/params.h"
#include "roformer/inspect/files.h"
#include "store/store.h"

/* A star in `as` stands for the number of a layer; transformers 5.24 writes the star itself. */
static bool is_named(const char *name, const char *as)
{
    for (; *as && *as != '*'; name++, as++)
        if (*name != *as) return false;
    if (!*as) return !*name;
    if (*name == '*') return !strcmp(name + 1, as + 1);
    const size_t digits = strspn(name, "0123456789");
    return digits && !strcmp(name + digits, as + 1);
}

/* The row of a tensor that is not a parameter and is not reported; NULL: it is not in the list. */
const rf_silent *rf__silent_find(const rf_family *f, const char *name)
{
    const char *bare = rf__family_bare(f, name);
    for (const rf_silent *one = f->silent; one->name; one++)
        if (is_named(bare, one->name)) return one;
    return NULL;
}

static rf_status differs(const rf_params *p, const rf_weights *w, const rf_weight *copy, const rf_weight *word,
                         const char *key, rf_error *why)
{
    if (p->family->config.head_in_file)
        return rf_fail(why, RF_EUNSUPPORTED, "%s: %.100s: expected the numbers of %.100s, got others; sides with words "
                       "of their own are not supported in this family", rf__weights_name(w),
                       rf__printable(copy->name).text, rf__printable(word->name).text);
    return rf_fail(why, RF_EDATA,
                   "%s: %.100s: expected the numbers of %.100s, as %s is true (or missing) in %s, got others; set %s "
                   "to false there to use this matrix, as transformers does",
                   rf__weights_name(w), rf__printable(copy->name).text, rf__printable(word->name).text, key,
                   RF_FILE_CONFIG, key);
}

/* Whether the model uses what the tensor is a copy of: heads for labels have no logits, an encoder alone no target. */
static bool concerns(const rf_params *p, const char *name)
{
    if (p->head == RF_HEAD_MLM || p->head == RF_HEAD_SEQ2SEQ) return true;
    const char *bare = rf__family_bare(p->family, name);
    return p->family->decoder &&
           (!strncmp(bare, "encoder.", 8) || (p->config.is_encoder_decoder && !strncmp(bare, "decoder.", 8)));
}

rf_status rf__params_tied(const rf_params *p, const rf_weights *w, const rf_weight *const *match, rf_error *why)
{
    const rf_weight *word = match[p->word];
    rf_status status = RF_OK;
    if (!word) return RF_OK;
    for (size_t i = 0; i < rf_weights_count(w) && !status; i++) {
        const rf_weight *t = rf_weights_at(w, i);
        const rf_silent *is = rf__silent_find(p->family, t->name);
        bool used = !is || !is->copy || !concerns(p, t->name), same = true;
        for (size_t k = 0; !used && k < p->n; k++) used = match[k] == t;
        if (!used) status = rf__weights_equal(p->ctx, w, t, word, &same, why);
        if (!status && !same) status = differs(p, w, t, word, is->copy, why);
    }
    return status;
}
