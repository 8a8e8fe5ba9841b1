/* test_family.c — mirrors src/model/family.c, src/model/post_norm.c and src/model/families (each file: its rows and
 * its equations). */
#include "t.h"

#include "model/family.h"

/* A small config of a family. */
static rf_config small(const char *family)
{
    rf_config c;
    rf_error why = {0};
    if (rf_config_defaults_of(family, &c, &why)) fail_msg("%s", why.text);
    c.vocab_size = 13;
    c.hidden_size = c.embedding_size = 8;
    c.num_hidden_layers = 2;
    c.num_attention_heads = 2;
    c.intermediate_size = 12;
    c.max_position_embeddings = 16;
    c.num_labels = 2;
    return c;
}

/* Rows name members inside their structs, each of them once (joined rows share one), and the word embeddings are
 * there. */
static void check_rows(const rf_family_row *row, size_t size, int *words)
{
    for (const rf_family_row *r = row; r && r->row.name; r++) {
        assert_true(r->at % sizeof(void *) == 0 && r->at < size);
        *words += (r->row.flags & RF_ROW_WORDS) != 0;
        for (const rf_family_row *s = row; s < r; s++)
            assert_true(s->at != r->at || r->row.flags & RF_ROW_JOINED);
    }
}

static void rows_are_bound_to_members(void **state)
{
    (void)state;
    for (const rf_family_config *const *f = rf__config_families; *f; f++) {
        const rf_config c = small((*f)->name);
        const rf_family *family;
        int words = 0;
        assert_int_equal(rf__family_find(&c, &family, NULL), RF_OK);
        assert_ptr_equal(&family->config, *f);
        check_rows(family->embedding, family->embedding_size, &words);
        check_rows(family->layer, family->layer_size, &words);
        assert_int_equal(words, 1);
        assert_int_equal(family->head[0].head, RF_HEAD_MLM);
        for (const rf_head_row *h = family->head; h->forward; h++) {
            check_rows(h->row, sizeof(rf_head_weights), &words);
            assert_int_equal(words, 1);
        }
        for (const rf_class_row *is = (*f)->class; is->name; is++) assert_non_null(rf__family_head(family, is->head));
    }
}

/* The count that needs no list of parameters is that of the list, for every head. */
static void parameters_are_counted(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    for (const rf_family_config *const *f = rf__config_families; *f; f++)
        for (const rf_class_row *is = (*f)->class; is->name; is++) {
            rf_config c = small((*f)->name);
            rf_params p;
            rf_error why = {0};
            c.is_decoder = is->causal;
            snprintf(c.architecture, sizeof c.architecture, "%s", is->name);
            if (rf__params_new_head(ctx, &c, is->head, &p, &why)) fail_msg("%s: %s", is->name, why.text);
            int64_t n = 0;
            for (size_t i = 0; i < p.n; i++) n += (int64_t)p.p[i].count;
            assert_int_equal(n, rf_config_parameters(&c));
            assert_true(p.p[p.word].flags & RF_ROW_WORDS);
            rf__params_free(&p);
        }
    rf_ctx_free(ctx);
}

static void encodings_that_a_family_lacks(void **state)
{
    (void)state;
    static const char *const two[] = {"absolute", "none", NULL};
    rf_family one = rf__family_roformer;
    rf_error why = {0};
    assert_int_equal(rf__family_allows(&one, &rf__position_alibi, &why), RF_OK);
    one.positions = two;
    assert_int_equal(rf__family_allows(&one, &rf__position_none, NULL), RF_OK);
    assert_int_equal(rf__family_allows(&one, &rf__position_alibi, &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED, "position_embedding_type is \"alibi\", a RoFormer has \"absolute\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_bound_to_members),
        cmocka_unit_test(parameters_are_counted),
        cmocka_unit_test(encodings_that_a_family_lacks),
    };
    return cmocka_run_group_tests_name("model/family", tests, NULL, NULL);
}
