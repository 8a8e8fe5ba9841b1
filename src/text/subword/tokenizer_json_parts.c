/* tokenizer_json_parts.c — what splits words (pre_tokenizer). */
#include "tokenizer_json.h"

/* Byte-level BPE: ByteLevel is the last step, and those before it only split.  A regular expression that byte_level.c
 * knows needs no step. */
static void find_level(const rf_tokenizer_folder *f, hf_tokenizer *t)
{
    const rf__pre_tokenizer *p = &t->pre;
    const rf__pre_step *last = p->n ? &p->step[p->n - 1] : NULL, *split = p->n > 1 ? &p->step[p->n - 2] : NULL;
    if (!last || !rf__pre_is_byte_level(last) || p->splits != p->n - 1 ||
        !json_is_array(json_object_get(json_object_get(f->fast, "model"), "merges")))
        return;
    t->level = last->known ? last->known : &rf__split_whole;
    t->blank_first = last->blank_first;
    t->before = p->n - 1;
    if (split && split->known && !last->known && !last->blank_first && split->behavior == RF_ISOLATED)
        t->level = split->known, t->before--;
    for (unsigned i = 0; i < 256; i++) t->scalar[i] = rf__byte_scalar(i);
}

rf_status rf__hf_read_splitter(const rf_tokenizer_folder *f, hf_tokenizer *t, const json_t *x)
{
    const rf_status status = rf__pre_read(&t->pre, f->ctx, x, f->fast_path, f->why);
    if (!status) find_level(f, t);
    return status;
}
