/* test_many_texts.c — mirrors src/decode/session.c: a text has the same bits in every hidden state, alone on one thread
 * and among others on three, on every rung and in every type.
 *
 *     model_test_many_texts [TEXTS]          100; 10,000 in the sweep (make sweep)                                   */
#include "work.h"

enum { LONGEST = 80, MOST = 40 };
static int texts = 100;

static rf_config small(void)
{
    rf_config c;
    rf_config_defaults(&c);
    c.vocab_size = 211;
    c.embedding_size = 40;
    c.hidden_size = 72;                 /* heads of 24, not a multiple of a vector width */
    c.num_hidden_layers = 2;
    c.num_attention_heads = 3;
    c.intermediate_size = 130;
    c.initializer_range = 0.2;
    return c;
}

/* Text number `text`: most are short, as sentences are. */
static int32_t fill(int text, int32_t *id)
{
    rf_rng r;
    rf_rng_init(&r, 11, (uint64_t)text);
    const int32_t n = 1 + (int32_t)rf_rng_below(&r, 1 + rf_rng_below(&r, LONGEST));
    for (int32_t j = 0; j < n; j++) id[j] = (int32_t)rf_rng_below(&r, 211);
    return n;
}

static uint64_t hash_of(const float *v, int32_t tokens)
{
    return rf__hash64(v, (size_t)tokens * 72 * sizeof *v, 1);
}

static const float *hidden(rf_session *s, const rf_batch *b)
{
    const float *v;
    rf_error why = {0};
    if (rf_session_hidden(s, b, &v, &why)) fail_msg("%s", why.text);
    return v;
}

static void alone(rf_session *s, uint64_t *hash)
{
    for (int i = 0; i < texts; i++) {
        int32_t id[LONGEST];
        const int32_t start[] = {0, fill(i, id)};
        hash[i] = hash_of(hidden(s, &(rf_batch){.N = start[1], .B = 1, .id = id, .start = start}), start[1]);
    }
}

static int common_divisor(int a, int b) { return b ? common_divisor(b, a % b) : a; }

/* In a different order (by a stride that is coprime to the number of texts), in batches of 1 to MOST. */
static int among_others(rf_session *s, const uint64_t *hash)
{
    rf_rng r;
    int differ = 0, step = texts * 5 / 8 + 1;
    while (common_divisor(step, texts) > 1) step++;
    rf_rng_init(&r, 12, 0);
    for (int done = 0; done < texts;) {
        int32_t id[MOST * LONGEST], start[MOST + 1] = {0};
        const int left = texts - done, some = 1 + (int)rf_rng_below(&r, MOST), B = some < left ? some : left;
        int number[MOST];
        for (int b = 0; b < B; b++) {
            number[b] = (int)((int64_t)(done + b) * step % texts);
            start[b + 1] = start[b] + fill(number[b], id + start[b]);
        }
        const float *v = hidden(s, &(rf_batch){.N = start[B], .B = B, .id = id, .start = start});
        for (int b = 0; b < B; b++) differ += hash_of(v + start[b] * 72, start[b + 1] - start[b]) != hash[number[b]];
        done += B;
    }
    return differ;
}

static void same_bits(void **state)
{
    (void)state;
    static const struct { rf_type type; const char *name; } types[] = {{RF_F32, "f32"}, {RF_BF16, "bf16"},
                                                                       {RF_I8, "int8"}};
    const rf_config c = small();
    rfk_table k;
    uint64_t *hash = t_bytes((size_t)texts * sizeof *hash);
    for (int rung = 0; rfk_rung(rung, &k); rung++)
        for (size_t i = 0; i < RF_COUNT(types); i++) {
            struct work one = begin_as(&c, types[i].type, 1, k.isa), three = begin_as(&c, types[i].type, 3, k.isa);
            alone(one.session, hash);
            const int differ = among_others(three.session, hash);
            print_message("%-12s %-5s %d texts, %d with other bits\n", k.isa, types[i].name, texts, differ);
            assert_int_equal(differ, 0);
            end(&one), end(&three);
        }
    t_free_all();
}

int main(int n, char **argument)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(same_bits)};
    if (n > 1) texts = atoi(argument[1]);
    if (texts < 1) return 2;
    return cmocka_run_group_tests_name("model/many_texts", tests, NULL, NULL);
}
