/* generation_options.c — options of generate and translate for a model: the program's defaults, then those of its
 * generation_config.json. See include/roformer/generate.h. */
#include <math.h>

#include "decode/generation_options.h"
#include "model/model.h"
#include "roformer/generate.h"

/* ---- checks ------------------------------------------------------------------------------------------------------ */

void rf_generate_options_init(rf_generate_options *o, size_t size)
{
    const rf_generate_options own = {
        .max_new_tokens = RF__NEW_TOKENS, .temperature = 1, .top_p = 1, .repetition_penalty = 1, .seed = 42,
        .typical_p = 1, .num_return_sequences = 1, .batch_size = 64,
        .num_beams = 1, .length_penalty = 1, .forced_bos = -1, .forced_eos = -1, .decoder_start = -1};
    rf__options_init(o, size, &own, sizeof own);
}

rf_status rf__generate_options_read(rf_generate_options *own, const rf_generate_options *given, rf_error *why)
{
    rf_generate_defaults(own);
    return rf__options_read(own, sizeof *own, RF_SIZE_TO(rf_generate_options, suppressed), given, "rf_generate_options",
                            why);
}

rf_status rf__generate_check(const rf_generate_options *o, rf_error *why)
{
    const struct { const char *name; double value, least, most; } limits[] = {
        {"max_new_tokens", (double)o->max_new_tokens, 0, RF_NEW_TOKENS_MOST},
        {"temperature", o->temperature, RF_TEMPERATURE_LEAST, RF_TEMPERATURE_MOST},
        {"top_k", (double)o->top_k, 0, RF_TOP_K_MOST},
        {"top_p", o->top_p, RF_TOP_P_LEAST, 1},
        {"repetition_penalty", o->repetition_penalty, RF_REPETITION_PENALTY_LEAST, RF_REPETITION_PENALTY_MOST},
        {"min_p", o->min_p, 0, 1},
        {"typical_p", o->typical_p, RF_TOP_P_LEAST, 1},
        {"no_repeat_ngram_size", (double)o->no_repeat_ngram_size, 0, RF_NEW_TOKENS_MOST},
        {"num_return_sequences", (double)o->num_return_sequences, 1, RF_RETURN_SEQUENCES_MOST},
        {"batch_size", (double)o->batch_size, 1, RF_BATCH_SIZE_MOST},
        {"num_beams", (double)o->num_beams, 1, RF_BATCH_SIZE_MOST},
        {"length_penalty", o->length_penalty, -RF_LENGTH_PENALTY_MOST, RF_LENGTH_PENALTY_MOST},
        {"early_stopping", (double)o->early_stopping, RF_STOP_HEURISTIC, RF_STOP_NEVER},
        {"length_norm", (double)o->length_norm, RF_LENGTH_POWER, RF_LENGTH_GNMT},
        {"forced_bos", (double)o->forced_bos, -1, INT32_MAX},
        {"forced_eos", (double)o->forced_eos, -1, INT32_MAX},
        {"decoder_start", (double)o->decoder_start, -1, INT32_MAX},
        {"max_length_factor", o->max_length_factor, 0, RF_NEW_TOKENS_MOST},
        {"max_length", (double)o->max_length, 0, RF_NEW_TOKENS_MOST},
        {"min_new_tokens", (double)o->min_new_tokens, 0, RF_NEW_TOKENS_MOST},
        {"min_length", (double)o->min_length, 0, RF_NEW_TOKENS_MOST},
        {"top_logprobs", (double)o->top_logprobs, 0, RF_TOP_LOGPROBS_MOST},
        {"presence_penalty", o->presence_penalty, -RF_PRESENCE_PENALTY_MOST, RF_PRESENCE_PENALTY_MOST},
        {"frequency_penalty", o->frequency_penalty, -RF_PRESENCE_PENALTY_MOST, RF_PRESENCE_PENALTY_MOST},
    };
    for (size_t i = 0; i < RF_COUNT(limits); i++)
        if (!(limits[i].value >= limits[i].least && limits[i].value <= limits[i].most))
            return rf_fail(why, RF_EARG, "%s: expected %.10g to %.10g, got %.10g", limits[i].name, limits[i].least,
                           limits[i].most, limits[i].value);
    if (o->stops < 0 || o->suppressed < 0 || (o->stops && !o->stop) || (o->suppressed && !o->suppress) ||
        o->stop_strings < 0 || (o->stop_strings && !o->stop_string))
        return rf_fail(why, RF_EARG, "stop, suppress, stop_string: expected lists of 0 or more, got counts %lld, %lld "
                       "and %lld, or a count without its list", (long long)o->stops, (long long)o->suppressed,
                       (long long)o->stop_strings);
    if (o->num_beams > 1 && o->do_sample)
        return rf_fail(why, RF_EARG, "num_beams: expected 1 with do_sample, got %lld; beam search does not sample",
                       (long long)o->num_beams);
    if (o->num_beams > 1 && o->num_return_sequences > o->num_beams)
        return rf_fail(why, RF_EARG, "num_return_sequences: expected at most num_beams, %lld, got %lld",
                       (long long)o->num_beams, (long long)o->num_return_sequences);
    if (o->num_beams > 1 && (o->presence_penalty != 0 || o->frequency_penalty != 0))
        return rf_fail(why, RF_EARG, "presence_penalty, frequency_penalty: expected 0 with beam search, got %g and %g; "
                       "use num_beams 1", o->presence_penalty, o->frequency_penalty);
    if (o->num_beams > 1 && o->stop_strings)
        return rf_fail(why, RF_EARG,
                       "stop_strings: expected none with beam search; leave stop_strings out, or use num_beams 1");
    if (o->num_beams == 1 && o->num_return_sequences > 1 && !o->do_sample)
        return rf_fail(why, RF_EARG, "num_return_sequences: expected 1 without do_sample, got %lld; without sampling "
                       "all texts would be equal", (long long)o->num_return_sequences);
    if (o->cache_type != RF_F32 && o->cache_type != RF_BF16)
        return rf_fail(why, RF_EARG, "cache_type: expected RF_F32 or RF_BF16, got %d", (int)o->cache_type);
    return RF_OK;
}

double rf__norm_of_length(const rf_generate_options *o, int64_t n)
{
    return pow(o->length_norm == RF_LENGTH_GNMT ? (5 + (double)n) / 6 : (double)n, o->length_penalty);
}

/* ---- defaults of the model's files ------------------------------------------------------------------------------- */

enum { TRANSLATIONS = 128 };                          /* for translation models: texts at a time */

/* Members that the options and generation_config.json share by name. */
#define OF_THE_FOLDER(X) \
    X(max_new_tokens) X(temperature) X(top_k) X(top_p) X(min_p) X(typical_p) X(repetition_penalty) \
    X(no_repeat_ngram_size) X(stop) X(stops) X(suppress) X(suppressed) X(num_beams) X(length_penalty) X(max_length) \
    X(min_new_tokens) X(min_length)

static void options_of(const rf__generation_config *x, bool translates, rf_generate_options *o, size_t size)
{
    rf_generate_options own;
    rf_generate_defaults(&own);
    own.do_sample = x->do_sample && x->num_beams == 1;
#define TAKE(member) own.member = x->member;
    OF_THE_FOLDER(TAKE)
#undef TAKE
    own.early_stopping = (rf_stop_search)x->early;
    own.forced_bos = (int32_t)x->forced_bos;
    own.forced_eos = (int32_t)x->forced_eos;
    own.renormalize_logits = x->renormalize;
    if (translates) own.batch_size = TRANSLATIONS;
    rf__options_init(o, size, &own, sizeof own);
}

void rf_translate_init(const rf_model *m, rf_generate_options *o, size_t size)
{
    const rf__generation_config usual = rf__generation_usual(true);
    options_of(m ? &m->generation : &usual, true, o, size);
}

rf_status rf_translate_task_sized(const rf_model *m, const char *task, rf_generate_options *o, size_t options_size,
                                  char *prefix, size_t size, rf_error *why)
{
    if (!(m && task && o && prefix && size))
        return rf__missing("rf_translate_task", "model, task, options, prefix, size", why);
    if (!m->config.is_encoder_decoder) return rf_translate_check(m, why);
    rf__generation_config x = m->generation;
    x.stop = x.suppress = NULL;
    x.stops = x.suppressed = 0;
    const rf_status status =
        rf__generation_task(m->ctx, m->folder ? m->folder : "", task, m->config.decoder_start_token_id, &x, prefix,
                            size, why);
    if (status) return status;
    if (x.why.code) return rf_fail(why, x.why.code, "%s", x.why.text);
    x.stop = m->generation.stop, x.stops = m->generation.stops;
    x.suppress = m->generation.suppress, x.suppressed = m->generation.suppressed;
    options_of(&x, true, o, options_size);
    return RF_OK;
}

void rf_generate_model_init(const rf_model *m, rf_generate_options *o, size_t size)
{
    if (m) options_of(&m->generation, m->config.is_encoder_decoder, o, size);
    else rf_generate_options_init(o, size);
}

rf_status rf_generate_model_check(const rf_model *m, rf_error *why)
{
    if (!m) return rf__missing("rf_generate_model_check", "model", why);
    const rf_error *own = &m->generation.why;
    return own->code ? rf_fail(why, own->code, "%s", own->text) : RF_OK;
}

rf_status rf_translate_check(const rf_model *m, rf_error *why)
{
    if (!m) return rf__missing("rf_translate_check", "model", why);
    if (rf__model_translates(m)) return rf_generate_model_check(m, why);
    if (m->config.is_encoder_decoder)
        return rf_fail(why, RF_EUNSUPPORTED, "translate: expected a model with a language-model head, got a %s",
                       m->config.architecture);
    return rf_fail(why, RF_EUNSUPPORTED, "translate: expected an encoder-decoder model, got one without a decoder");
}
