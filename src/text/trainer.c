/* trainer.c — trains a tokenizer on text: options, UTF-8, and the row's hooks. */
#include "tokenizer.h"

void rf_tokenizer_train_options_init(rf_tokenizer_train_options *o, size_t size)
{
    const rf_tokenizer_train_options own = {.tokens = 8192, .alphabet = 1000, .max_words = 4000000, .coverage = 0.9995};
    rf__options_init(o, size, &own, sizeof own);
}

int rf_tokenizer_type_uses(const char *type)
{
    const rf_tokenizer_row *row = type ? rf__tokenizer_row_of(type, NULL) : NULL;
    return row && row->training ? row->training->uses : -1;
}

static rf_status read_options(rf_tokenizer_train_options *o, const rf_tokenizer_train_options *given, rf_error *why)
{
    rf_tokenizer_train_defaults(o);
    const rf_status status = rf__options_read(o, sizeof *o, RF_SIZE_TO(rf_tokenizer_train_options, user), given,
                                              "rf_tokenizer_train_options", why);
    if (status) return status;
    if (o->tokens < 6) return rf_fail(why, RF_EARG, "tokens: expected 6 or more, got %d", (int)o->tokens);
    if (o->alphabet < 1) return rf_fail(why, RF_EARG, "alphabet: expected 1 or more, got %d", (int)o->alphabet);
    if (!(o->coverage > 0 && o->coverage <= 1))
        return rf_fail(why, RF_EARG, "coverage: expected more than 0 and at most 1, got %g", o->coverage);
    return RF_OK;
}

rf_status rf_tokenizer_trainer_new(const rf_ctx *ctx, const char *type, const rf_tokenizer_train_options *options,
                                   rf_tokenizer_trainer **out, rf_error *why)
{
    if (!(ctx && type && out)) return rf__missing("rf_tokenizer_trainer_new", "ctx, type, out", why);
    const rf_tokenizer_row *row = rf__tokenizer_row_of(type, why);
    if (!row) return RF_EARG;
    if (!row->training)
        return rf_fail(why, RF_EUNSUPPORTED, row->make ? "a tokenizer of type %s learns nothing from text"
                                                       : RF__TOKENIZER_READ, type);
    rf_tokenizer_trainer *t = rf__calloc(ctx, 1, sizeof *t);
    if (!t) return rf_fail(why, RF_ENOMEM, "tokenizer: out of memory for a trainer");
    t->ctx = ctx;
    t->row = row;
    rf_status status = read_options(&t->options, options, why);
    if (!status) status = row->training->begin(t, why);
    if (status) rf_tokenizer_trainer_free(t);
    else *out = t;
    return status;
}

rf_status rf__training_text(const char *text, size_t size, rf_error *why)
{
    const size_t bad = rf_utf8_check(text, size);
    if (bad == size) return RF_OK;
    return rf_fail(why, RF_EDATA, "vocabulary: the text is not UTF-8 at byte %zu (0x%02X)", bad,
                   (unsigned char)text[bad]);
}

rf_status rf_tokenizer_trainer_feed(rf_tokenizer_trainer *t, const char *text, size_t bytes, rf_error *why)
{
    if (!(t && (text || !bytes))) return rf__missing("rf_tokenizer_trainer_feed", "trainer, text", why);
    const rf_status status = rf__training_text(text, bytes, why);
    return status ? status : t->row->training->feed(t, text, bytes, why);
}

rf_status rf_tokenizer_trainer_finish(rf_tokenizer_trainer *t, rf_tokenizer **out, rf_error *why)
{
    if (!(t && out)) return rf__missing("rf_tokenizer_trainer_finish", "trainer, out", why);
    return t->row->training->finish(t, out, why);
}

int64_t rf_tokenizer_trainer_split_lines(const rf_tokenizer_trainer *t) { return t ? t->split : 0; }

void rf_tokenizer_trainer_free(rf_tokenizer_trainer *t)
{
    if (!t) return;
    if (t->own) t->row->training->clear(t);
    rf__free(t->ctx, t);
}
