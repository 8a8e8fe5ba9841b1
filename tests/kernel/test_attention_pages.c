/* test_attention_pages.c — mirrors src/kernel/attention/attention_pack.inc, attention_one_query.inc and
 * attention_bf16_one_query.inc, src/kernel/ref/attention.h: keys and values in pages give the same bits as in rows, on
 * every rung, for all queries together and for single queries. */
#include "t.h"

enum { QUERIES = 7, KEYS = 700, HEADS = 2 };
enum { ROWS, PAGES, ALONE, BESIDE, HOWS };

typedef struct problem {
    int64_t width, width2, stride;
    float *q, *q2, *key_value;          /* [KEYS, stride]: keys, values and additional columns of all heads           */
    float *table;                       /* [2 * 5 + 1, width]                                                         */
    const void *page[(KEYS + RFK_PAGE - 1) / RFK_PAGE];
    bool bf16;                          /* numbers that bf16 can represent, and pages of bf16                         */
} problem;

static problem problem_of(int64_t width, int64_t width2, bool bf16)
{
    problem p = {.width = width, .width2 = width2, .stride = HEADS * (2 * width + width2), .bf16 = bf16};
    p.q = t_normal(QUERIES * width);
    p.q2 = t_normal(QUERIES * (width2 + 1));
    p.table = t_normal(11 * width);
    p.key_value = t_normal(KEYS * p.stride);
    for (int64_t i = 0; bf16 && i < KEYS * p.stride; i++) p.key_value[i] = rf__from_bf16(rf__bf16(p.key_value[i]));
    for (int64_t i = 0; i * RFK_PAGE < KEYS; i++) {
        const int64_t rows = rf__min64(RFK_PAGE, KEYS - i * RFK_PAGE);
        const float *from = p.key_value + i * RFK_PAGE * p.stride;
        void *to = t_bytes((size_t)(rows * p.stride) * (bf16 ? 2 : 4));
        for (int64_t j = 0; j < rows * p.stride; j++)
            if (bf16) ((uint16_t *)to)[j] = rf__bf16(from[j]);
            else ((float *)to)[j] = from[j];
        p.page[i] = to;
    }
    return p;
}

/* The last head. */
static rfk_attention call(const problem *p, const rfk_relative *relative, bool paged, float *out)
{
    const int64_t h = HEADS - 1, key = h * p->width, value = HEADS * p->width + key,
                  key2 = 2 * HEADS * p->width + h * p->width2;
    rfk_attention a = {.q = p->q, .q_stride = p->width, .queries = QUERIES, .keys = KEYS, .width = p->width,
                       .scale = 0.3F, .causal = 1, .out = out, .out_stride = p->width, .q2 = p->q2,
                       .q2_stride = p->width2, .width2 = p->width2, .relative = relative};
    if (paged) {
        a.pages = (rfk_pages){p->page, p->stride, key, value, key2, p->bf16};
    } else {
        a.k = p->key_value + key;
        a.v = p->key_value + value;
        a.k2 = p->key_value + key2;
        a.k_stride = a.v_stride = a.k2_stride = p->stride;
    }
    return a;
}

static void compare(const char *isa, void (*kernel)(const rfk_attention *, int64_t, int64_t, void *), const problem *p)
{
    const rfk_relative relative = {.clip = 5, .query = p->table, .key = p->table, .query_stride = p->width,
                                   .key_stride = p->width};
    for (int related = 0; related < 2; related++) {
        float *out[HOWS];
        for (int how = 0; how < HOWS; how++) {
            out[how] = t_floats(QUERIES * p->width);
            rfk_attention a = call(p, related ? &relative : NULL, how != ROWS, out[how]);
            if (how == BESIDE) a.next = -p->width;                  /* the first head is fetched meanwhile */
            for (int64_t t = 0, n = how < ALONE ? QUERIES : 1; t < QUERIES; t += n)
                kernel(&a, t, t + n, t_bytes(rfk_attention_scratch(&a)));
            if (memcmp(out[0], out[how], (size_t)(QUERIES * p->width) * sizeof **out))
                fail_msg("%s: width %d + %d, %s%s%s: other bits", isa, (int)p->width, (int)p->width2,
                         p->bf16 ? "bf16" : "f32", related ? ", related" : "", how < ALONE ? "" : ", one by one");
            t_check_fences();
        }
    }
}

static void pages_are_rows(void **state)
{
    (void)state;
    static const int64_t width[][2] = {{64, 0}, {64, 66}, {64, 32}, {96, 0}, {24, 0}, {5, 3}};
    rfk_table rung;
    for (int i = 0; rfk_rung(i, &rung); i++)
        for (size_t w = 0; w < 2 * RF_COUNT(width); w++) {
            const problem p = problem_of(width[w / 2][0], width[w / 2][1], w % 2);
            compare(rung.isa, rung.attention, &p);
            compare(rung.isa, rung.attention_bf16, &p);
            t_free_all();
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(pages_are_rows)};
    return cmocka_run_group_tests_name("kernel/attention_pages", tests, NULL, NULL);
}
