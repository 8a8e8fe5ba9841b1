/* small_units.h — what the tests of bytes and of characters check alike. */
#ifndef T_SMALL_UNITS_H
#define T_SMALL_UNITS_H

#include "one_context.h"

#include "roformer/tokenizer.h"
#include "text/tokenizer.h"

static void encode(const rf_tokenizer *t, const char *text, size_t size, int flags, rf_encoding *e)
{
    rf_error why = {0};
    if (rf_encode(t, text, size, NULL, 0, 0, flags, e, NULL, &why)) fail_msg("%s", why.text);
}

/* The expected tokens of a text, [n]: ids, offsets and names. */
typedef struct units {
    size_t n;
    const int32_t *id;
    const uint32_t *start, *end;
    const char *const *name;
} units;

static void has_units(const rf_tokenizer *t, const rf_encoding *e, const units *x)
{
    assert_int_equal(e->n, x->n);
    for (size_t i = 0; i < e->n; i++) {
        assert_int_equal(e->id[i], x->id[i]);
        assert_int_equal(e->start[i], x->start[i]);
        assert_int_equal(e->end[i], x->end[i]);
        assert_string_equal(rf_tokenizer_token(t, e->id[i]), x->name[i]);
        assert_int_equal(rf_tokenizer_id(t, x->name[i]), x->id[i]);
    }
    assert_null(rf_tokenizer_options_of(t));
    assert_null(rf__tokenizer_transformers(t));
}

/* A tokenizer of `tokens` tokens: `text` has the ids, which decode to `back` without special tokens. */
typedef struct folder_case {
    int32_t tokens;
    const char *text;
    size_t size;
    const int32_t *id;
    size_t n;
    const char *back;
    size_t back_size;
} folder_case;

/* Opens the folder, saves the tokenizer in another one, and opens this one. */
static void opens_and_saves(const char *folder, const folder_case *x)
{
    const char *to = t_folder();
    assert_string_equal(rf_tokenizer_found(ctx, folder), "tokenizer_config.json");
    rf_encoding e;
    rf_encoding_init(&e, ctx);
    uint64_t print = 0;
    for (int again = 0; again < 2; again++) {
        rf_tokenizer *t = NULL;
        rf_error why = {0};
        if (rf_tokenizer_open(ctx, again ? to : folder, &t, &why)) fail_msg("%s", why.text);
        assert_int_equal(rf_tokenizer_size(t), x->tokens);
        encode(t, x->text, x->size, RF_ENCODE_PLAIN, &e);
        assert_int_equal(e.n, x->n);
        assert_memory_equal(e.id, x->id, x->n * sizeof *x->id);
        assert_int_equal(rf_tokenizer_id(t, "xy"), x->id[0]);
        assert_true(rf_tokenizer_is_special(t, x->id[x->n - 1]) && !rf_tokenizer_is_special(t, x->id[0]));
        size_t bytes = 0;
        char *back = rf_decode(t, e.id, e.n, 1, 0, &bytes);
        assert_int_equal(bytes, x->back_size);
        assert_memory_equal(back, x->back, bytes + 1);
        rf_text_free(t, back);
        if (again) assert_int_equal(rf__tokenizer_fingerprint(t, 1), print);
        print = rf__tokenizer_fingerprint(t, 1);
        t_write(to, "vocab.txt", "old\n", 4);
        assert_int_equal(rf_tokenizer_save(t, to, NULL), RF_OK);
        assert_string_equal(rf_tokenizer_found(ctx, to), "tokenizer_config.json");
        rf_tokenizer_free(t);
    }
    rf_encoding_clear(&e);
}

#endif
