/* translation_frame.c — the tokens around the two sides of a translation.
 *
 *     Marian, Transformer   s </s>                       ->  start | t </s>
 *     BART and its kin      as the tokenizer's template      start | the same of the target, with its language
 *
 * as transformers' tokenizers make input_ids and labels. A generated translation begins with the language's token
 * (forced_bos_token_id), or where the class says so, start is that token: MBartTokenizer. */
#include "model/translation_frame.h"
#include "store/family.h"

static void end_with(rf_around *a, int32_t id) { a->id[1][a->n[1]++] = id; }

/* The template of t around a text, with `now` in place of the language `old`; now -1: without it. */
static void read_template(const rf_tokenizer *t, int32_t old, int32_t now, rf_around *out)
{
    const rf_frame *f = &t->frame[0];
    int side = 0;
    for (size_t i = 0; i < f->n; i++) {
        const int32_t id = f->part[i].token, is = id == old && t->languages ? now : id;
        if (id == RF_FRAME_A) side = 1;
        else if (is >= 0) out->id[side][out->n[side]++] = is;
    }
}

rf_status rf__frame_translation(const rf_config *c, const rf_tokenizer *t, const char *source_lang,
                                const char *target_lang, rf_translation_frame *out, rf_error *why)
{
    const rf_family_config *f = rf__config_family(c);
    const bool framed = f && f->framed;
    int32_t source = t->source_language, target = t->target_language;
    rf_status status = RF_OK;
    *out = (rf_translation_frame){.start = (int32_t)c->decoder_start_token_id, .forced = -1};
    if (!framed && (source_lang || target_lang))
        return rf_fail(why, RF_EARG, "%s: expected a model with tokens for languages (M2M-100, NLLB, mBART), got a %s; "
                       "leave the option out", source_lang ? "source_lang" : "target_lang", f ? f->title : c->family);
    if (source_lang) status = rf__language_find(t, "source_lang", source_lang, &source, why);
    if (!status && target_lang) status = rf__language_find(t, "target_lang", target_lang, &target, why);
    if (status) return status;
    if (framed) {
        read_template(t, t->source_language, source, &out->source);
        read_template(rf__tokenizer_target(t), t->source_language, target, &out->target);
    } else {
        end_with(&out->source, (int32_t)c->eos_token_id);
    }
    if (!out->target.n[1]) end_with(&out->target, (int32_t)c->eos_token_id);
    if (!framed || !t->languages || target < 0) return RF_OK;
    if (rf__languages_start(t)) out->start = target;
    else out->forced = target;
    return RF_OK;
}
