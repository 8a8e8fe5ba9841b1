/* Pairs that a chat template places in one text: which templates are read, white space as in Jinja, failing
 * allocations; a folder of a reranker.
 *  Scores: tests/cli/families/reranker.sh.  mirrors conversation.c, logit_score.c, answer_row.c and reranker.c */
#include "one_context.h"

#include "base/base.h"
#include "roformer/model.h"
#include "roformer/tokenizer.h"
#include "text/conversation.h"
#include "train/checkpoint/folder.h"

#define ROLE(role, more)                                                                                               \
    "{{ messages | selectattr(\"role\", \"eq\", \"" role "\") | map(attribute=\"content\") | first" more " }}"
#define QUERY ROLE("query", "")
#define DOCUMENT ROLE("document", "")

/* The text of the pair q, d; NULL: the template is no template of pairs.  "refused": it refuses pairs. */
static const char *text_of(const char *template, const char *instruction, size_t *end)
{
    static char copy[256];
    rf_conversation *c = NULL;
    rf_error why = {0};
    char *text = NULL;
    size_t size;
    if (rf__conversation_new(ctx, "here", template, strlen(template), instruction, &c, &why)) fail_msg("%s", why.text);
    if (!c) return NULL;
    const rf_status status = rf__conversation_text(ctx, c, "q", 1, "d", 1, &text, &size, end, &why);
    if (status) t_failed(&why, RF_EUNSUPPORTED, "here: chat template: expected one that places a query");
    snprintf(copy, sizeof copy, "%.*s", status ? 7 : (int)size, status ? "refused" : text);
    rf__free(ctx, text);
    rf__conversation_free(ctx, c);
    return copy;
}

static void templates(void **state)
{
    (void)state;
    static const struct { const char *template, *instruction, *expected; size_t end; } row[] = {
        {"a " QUERY " b " DOCUMENT " c", NULL, "a q b d c", 2},
        {"a " DOCUMENT " b\n" QUERY "\n\n", NULL, "a d b\nq\n", 1},
        {QUERY DOCUMENT, NULL, "qd", 0},
        {ROLE("system", "") "|" QUERY "|" DOCUMENT, NULL, "|q|d", 0},
        {ROLE("system", "") "|" QUERY "|" DOCUMENT, "i", "i|q|d", 0},
        {ROLE("system", " | default('find')") " " QUERY DOCUMENT, NULL, "find qd", 0},
        {ROLE("system", " | default('find')") " " QUERY DOCUMENT, "i", "i qd", 0},
        {"a \n{{- messages|selectattr('role','equalto','query')|map(attribute='content')|first -}}\n b" DOCUMENT, NULL,
         "aqbd", 0},
        {"{{ messages | selectattr('role', '==', 'query') | map(attribute='content') | first }} { " DOCUMENT "}", NULL,
         "q { d}", 1},
        {"a chat: 'query'", NULL, NULL, 0},
        {"", NULL, NULL, 0},
        {"{% for m in messages %}'query' \"document\"{% endfor %}", NULL, "refused", 0},
        {QUERY DOCUMENT "{# a comment #}", NULL, "refused", 0},
        {QUERY QUERY DOCUMENT, NULL, "refused", 0},
        {QUERY " 'document'", NULL, "refused", 0},
        {QUERY DOCUMENT "{{ bos_token }}", NULL, "refused", 0},
        {QUERY ROLE("document", " | upper"), NULL, "refused", 0},
        {QUERY ROLE("document", " | default('a\\n')"), NULL, "refused", 0},
        {QUERY ROLE("assistant", "") DOCUMENT, NULL, "refused", 0},
        {QUERY "{{ 'document'", NULL, "refused", 0},
        {QUERY "{{'document'-", NULL, "refused", 0},
        {QUERY DOCUMENT QUERY QUERY QUERY QUERY QUERY QUERY QUERY QUERY, NULL, "refused", 0},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        size_t end = 0;
        const char *got = text_of(row[i].template, row[i].instruction, &end);
        if (!got != !row[i].expected || (got && strcmp(got, row[i].expected)))
            fail_msg("row %zu: expected %s, got %s", i, row[i].expected, got ? got : "no template");
        assert_int_equal(end, row[i].end);
    }
}

/* ---- a folder ---- */

static const char *folder_of_reranker(void)
{
    static const char *const file[][2] = {
        {"reranker", "config.json"}, {"reranker", "tokenizer_config.json"}, {"reranker", "chat_template.jinja"},
        {"reranker", "modules.json"}, {"reranker", "config_sentence_transformers.json"},
        {"reranker", "1_LogitScore/config.json"}, {"whole", "model.safetensors"}, {"whole", "tokenizer.json"}};
    const char *folder = t_folder();
    char path[512];
    rf_error why = {0};
    snprintf(path, sizeof path, "%s/1_LogitScore", folder);
    if (rf__folder_make(path, &why)) fail_msg("%s", why.text);
    for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
        char from[512], *data;
        size_t size;
        snprintf(from, sizeof from, "tests/golden/qwen3/%s/%s", file[i][0], file[i][1]);
        if (rf__read_file(ctx, from, 1 << 24, &data, &size, &why)) fail_msg("%s", why.text);
        t_write(folder, file[i][1], data, size);
        rf__free(ctx, data);
    }
    return folder;
}

/* A pair in f32 is what its text is; a limit keeps the words at the end, and one below these keeps the last of them. */
static void pairs_are_texts(void **state)
{
    (void)state;
    const char *folder = folder_of_reranker();
    rf_tokenizer *t = NULL;
    rf_encoding e, cut;
    rf_error why = {0};
    size_t dropped = 0;
    if (rf_tokenizer_open(ctx, folder, &t, &why)) fail_msg("%s", why.text);
    rf_encoding_init(&e, ctx);
    rf_encoding_init(&cut, ctx);
    assert_int_equal(rf_tokenizer_places_pairs(t), 1);
    if (rf_encode(t, "a", 1, "b c", 3, 0, 0, &e, &dropped, &why)) fail_msg("%s", why.text);
    assert_int_equal(dropped, 0);
    for (size_t limit = 1; limit <= e.n + 2; limit += 7) {
        if (rf_encode(t, "a", 1, "b c", 3, limit, 0, &cut, &dropped, &why)) fail_msg("%s", why.text);
        assert_int_equal(cut.n, limit < e.n ? limit : e.n);
        assert_int_equal(dropped, e.n - cut.n);
        assert_int_equal(cut.id[cut.n - 1], e.id[e.n - 1]);
    }
    const size_t before = e.n;
    if (rf_encode(t, "a", 1, "b", 1, 0, RF_ENCODE_APPEND, &e, NULL, &why)) fail_msg("%s", why.text);
    assert_true(e.n > before && e.n < 2 * before);
    assert_memory_equal(e.id, e.id + before, 16 * sizeof *e.id);
    assert_int_equal(rf_encode(t, "a", 1, "b", 1, 0, RF_ENCODE_PLAIN, &e, NULL, &why), RF_EUNSUPPORTED);
    t_failed(&why, RF_EUNSUPPORTED, "expected its special tokens, got a call without them");
    rf_encoding_clear(&e);
    rf_encoding_clear(&cut);
    rf_tokenizer_free(t);
}

/* The head's row: z = x (W[true] - W[false]), in a model whose logits are x W^T. */
static void the_score_is_a_difference_of_logits(void **state)
{
    (void)state;
    enum { N = 5 };
    const char *folder = folder_of_reranker();
    rf_model *reranker = NULL, *causal = NULL;
    rf_session *s = NULL;
    rf_error why = {0};
    const int32_t id[N] = {83, 71, 5, 220, 44}, start[] = {0, N}, last[] = {N - 1};
    const rf_batch batch = {.N = N, .B = 1, .id = id, .start = start};
    const float *z;
    int64_t rows;
    char modules[512];
    if (rf_model_open(ctx, folder, &reranker, &why) || rf_session_open(reranker, &s, &why) ||
        rf_session_logits(s, &batch, &z, &rows, &why))
        fail_msg("%s", why.text);
    assert_int_equal(rows, 1);
    const double score = (double)z[0];
    rf_session_close(s);
    rf_model_close(reranker);
    snprintf(modules, sizeof modules, "%s/modules.json", folder);
    remove(modules);
    if (rf_model_open(ctx, folder, &causal, &why) || rf_session_open(causal, &s, &why) ||
        rf_session_mlm_logits(s, &batch, last, 1, &z, &why))
        fail_msg("%s", why.text);
    /* two sums of 24 products below 1 */
    t_near(score, (double)z[83] - (double)z[97], 1e-5);
    rf_session_close(s);
    rf_model_close(causal);
}

static rf_status open_and_encode(const rf_ctx *own, void *folder, rf_error *why)
{
    rf_model *m = NULL;
    rf_encoding e;
    rf_encoding_init(&e, own);
    rf_status status = rf_model_open(own, folder, &m, why);
    if (!status) status = rf_encode(rf_model_tokenizer(m), "a", 1, "b", 1, 260, 0, &e, NULL, why);
    rf_encoding_clear(&e);
    rf_model_close(m);
    return status;
}

static void every_failing_allocation(void **state)
{
    (void)state;
    t_fail_allocations(1, NULL, open_and_encode, (void *)(uintptr_t)folder_of_reranker());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(templates), cmocka_unit_test(pairs_are_texts),
        cmocka_unit_test(the_score_is_a_difference_of_logits), cmocka_unit_test(every_failing_allocation),
    };
    return cmocka_run_group_tests_name("text/conversation", tests, setup, teardown);
}
