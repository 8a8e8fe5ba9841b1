/* test_batch.c — mirrors src/data/corpus/batch.c, pieces.c and vocab.c: order, cutting, packing, masking. */
#include "t.h"
#include "data/corpus/batch.h"

/* A vocabulary of 1000: five special tokens, then every third token continues a word. */
enum { V = 1000 };

static rf__token_kinds vocabulary(void)
{
    static uint8_t kind[V];
    static int32_t plain[V];
    rf__token_kinds v = {.size = V, .cls = 2, .sep = 3, .mask = 4, .kind = kind, .plain = plain};
    for (int32_t id = 0; id < V; id++) {
        kind[id] = id < 5 ? RF__SPECIAL : id % 3 == 0 ? RF__CONTINUES : 0;
        if (id >= 5) plain[v.plains++] = id;
    }
    return v;
}

/* ---- order ---- */

static void every_piece_once(void **state)
{
    (void)state;
    const uint64_t sizes[] = {1, 2, 3, 4, 5, 17, 64, 65, 1000, 4097};
    for (size_t s = 0; s < RF_COUNT(sizes); s++)
        for (uint64_t epoch = 0; epoch < 3; epoch++) {
            const uint64_t n = sizes[s];
            unsigned char *seen = calloc(n, 1);
            for (uint64_t i = 0; i < n; i++) {
                const uint64_t p = rf__shuffled(i, n, rf__make_key(1, 2), epoch);
                assert_true(p < n && !seen[p]);
                seen[p] = 1;
            }
            free(seen);
        }
    assert_true(rf__shuffled(12345, (uint64_t)1 << 40, rf__make_key(1, 2), 0) < (uint64_t)1 << 40);
}

/* Neighbors are moved far apart, and epochs differ.  The mean distance of two random numbers below n is n / 3, with a
 * deviation of n / sqrt(18) for one pair: over 4000 pairs 0.0037 n, of which 5 are allowed. */
static void order_looks_random(void **state)
{
    (void)state;
    const uint64_t n = 4001;
    double distance = 0;
    unsigned same = 0;
    for (uint64_t i = 0; i + 1 < n; i++) {
        const double a = (double)rf__shuffled(i, n, rf__make_key(9, 2), 1),
                     b = (double)rf__shuffled(i + 1, n, rf__make_key(9, 2), 1);
        distance += fabs(a - b) / (double)n;
        same += rf__shuffled(i, n, rf__make_key(9, 2), 2) == rf__shuffled(i, n, rf__make_key(9, 2), 1);
    }
    t_near(distance / (double)(n - 1), 1.0 / 3, 5 * 0.0037);
    assert_true(same < 12);                                        /* expected 1, Poisson */
}

/* ---- cutting ---- */

/* Tokens 7 and 11 end sentences: a piece ends after the last of them that fits, and a sentence that does not fit is
 * divided as without them. */
static void pieces_of_sentences(void **state)
{
    (void)state;
    uint8_t kind[V] = {0};
    int32_t id[100];
    for (int i = 0; i < 100; i++) id[i] = 20 + i;
    kind[7] = kind[11] = RF__ENDS;
    id[3] = 7, id[9] = 11, id[18] = 7, id[70] = 11;
    const rf__ids ids = {id, 4};
    assert_int_equal(rf__piece_length(ids, 0, 100, 16, kind), 10);
    assert_int_equal(rf__piece_length(ids, 10, 90, 16, kind), 9);
    assert_int_equal(rf__piece_length(ids, 19, 81, 16, kind), 16);
    assert_int_equal(rf__piece_length(ids, 55, 45, 16, kind), 16);
    assert_int_equal(rf__piece_length(ids, 71, 29, 40, kind), 29);
    kind[7] = kind[11] = 0;
    assert_int_equal(rf__piece_length(ids, 0, 100, 16, kind), 16);
}

static void cuts_cover_everything_between_words(void **state)
{
    (void)state;
    const rf__token_kinds v = vocabulary();
    uint16_t id[3000];
    rf_rng r;
    rf_rng_init(&r, 1, 1);
    for (size_t i = 0; i < RF_COUNT(id); i++) id[i] = (uint16_t)(5 + rf_rng_below(&r, V - 5));
    for (size_t i = 100; i < 400; i++) id[i] = 6;                    /* one endless word */
    const rf__ids ids = {id, 2};
    for (size_t total = 1; total < RF_COUNT(id); total += 37) {
        size_t at = 0, last = 0;
        while (at < total) {
            const size_t size = rf__piece_length(ids, at, total - at, 30, v.kind);
            assert_true(size >= 1 && size <= 30);
            assert_true(size >= 15 || at + size == total || total - at <= 33);       /* no scraps in the middle */
            at += size;
            last = size;
            if (at < total && v.kind[id[at]] & RF__CONTINUES) assert_true(at > 100 && at <= 400);
        }
        assert_int_equal(at, total);
        if (total > 60) assert_true(last >= 2);
    }
}

/* ---- masking ---- */

static int64_t continues(const rf__token_kinds *v, const int32_t *id, int64_t from, int64_t to)
{
    int64_t n = 0;
    for (int64_t i = from; i < to; i++) n += (v->kind[id[i]] & RF__CONTINUES) != 0;
    return n;
}

/* Counts of n independent draws with probability p: five deviations of a binomial. */
static void binomial(int64_t hits, int64_t n, double p)
{
    t_near((double)hits, (double)n * p, 5 * sqrt((double)n * p * (1 - p)) + 1);
}

static void shares_of_masking(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    const rf__token_kinds v = vocabulary();
    const int64_t capacity = 400000;
    rf__mlm_batch b;
    uint16_t *id = malloc((size_t)capacity * sizeof *id);
    rf_rng r;
    rf_rng_init(&r, 4, 1);
    for (int64_t i = 0; i < capacity; i++) id[i] = (uint16_t)rf_rng_below(&r, V);
    assert_int_equal(rf__mlm_batch_new(ctx, capacity, &b, NULL), RF_OK);
    const rf__masking m = {rf__make_key(11, 3), 0.15, false, &v, false};
    rf__mlm_batch_clear(&b);
    for (size_t at = 0; at + 100 <= (size_t)capacity && rf__fits(&b, 100); at += 100)
        rf__mlm_batch_add(&b, (rf__ids){id, 2}, at, 100, true, &m, at);

    int64_t masked = 0, same = 0, other = 0, candidates = 0;
    int64_t drawn[V] = {0};
    for (int64_t i = 0; i < b.B; i++) {
        assert_int_equal(b.id[b.start[i]], v.cls);
        assert_int_equal(b.id[b.start[i + 1] - 1], v.sep);
        for (int64_t j = 0; j < 100; j++) candidates += !(v.kind[id[i * 100 + j]] & RF__SPECIAL);
    }
    for (int64_t i = 0; i < b.n; i++) {
        assert_false(v.kind[b.label[i]] & RF__SPECIAL);
        assert_true(i == 0 || b.row[i] > b.row[i - 1]);
        const int32_t sees = b.id[b.row[i]];
        if (sees == v.mask) masked++;
        else if (sees == b.label[i]) same++;
        else other++, drawn[sees]++;
        assert_true(sees == v.mask || !(v.kind[sees] & RF__SPECIAL));
        assert_int_equal(id[(b.row[i] / 102) * 100 + b.row[i] % 102 - 1], b.label[i]);
    }
    binomial(b.n, candidates, 0.15);
    binomial(masked, b.n, 0.8);
    binomial(other, b.n, 0.1 * (1 - 1.0 / (V - 5)));
    binomial(same, b.n, 0.1 + 0.1 / (V - 5));
    int64_t labeled = 0;
    for (int64_t i = 0; i < b.N; i++) {                              /* tokens without a label are unchanged */
        if (labeled < b.n && b.row[labeled] == i) {
            labeled++;
            continue;
        }
        const int64_t piece = i / 102, at = i % 102;
        if (at && at < 101) assert_int_equal(b.id[i], id[piece * 100 + at - 1]);
    }
    for (int32_t i = 5; i < V; i++) assert_true((double)drawn[i] < 6 + 5 * (double)other / (V - 5));
    rf__mlm_batch_free(ctx, &b);
    free(id);
    rf_ctx_free(ctx);
}

static void whole_words_are_whole(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    const rf__token_kinds v = vocabulary();
    rf__mlm_batch b;
    uint16_t id[20000];
    rf_rng r;
    rf_rng_init(&r, 8, 1);
    for (size_t i = 0; i < RF_COUNT(id); i++)
        id[i] = (uint16_t)(rf_rng_below(&r, 50) ? 5 + rf_rng_below(&r, V - 5) : 1);
    assert_int_equal(rf__mlm_batch_new(ctx, 30000, &b, NULL), RF_OK);
    const rf__masking m = {rf__make_key(12, 3), 0.15, true, &v, false};
    rf__mlm_batch_clear(&b);
    rf__mlm_batch_add(&b, (rf__ids){id, 2}, 0, RF_COUNT(id), true, &m, 1);
    unsigned char *labeled = calloc((size_t)b.N, 1);
    for (int64_t i = 0; i < b.n; i++) labeled[b.row[i]] = 1;
    for (size_t i = 1; i < RF_COUNT(id); i++) {
        const bool joined = (v.kind[id[i]] & RF__CONTINUES) && !(v.kind[id[i - 1]] & RF__SPECIAL);
        if (joined) assert_int_equal(labeled[i + 1], labeled[i]);
    }
    /* words are selected, so the fraction of tokens is p; a word of k tokens counts k times: variance at most 3 times
     * larger */
    t_near((double)b.n / (double)RF_COUNT(id), 0.15 * 0.98, 5 * sqrt(3 * 0.15 / (double)RF_COUNT(id)));
    assert_true(continues(&v, b.label, 0, b.n) > 0);
    free(labeled);
    rf__mlm_batch_free(ctx, &b);
    rf_ctx_free(ctx);
}

/* Pieces of one word each: with whole-word masking, all of it is selected or nothing. */
static void whole_words_in_a_share(void **state)
{
    (void)state;
    enum { PIECES = 4000, TOKENS = 12 };
    rf_ctx *ctx = t_ctx(1, NULL);
    const rf__token_kinds v = vocabulary();
    int32_t follower = 5;
    while (!(v.kind[follower] & RF__CONTINUES)) follower++;
    const double p = 0.5, share = 0.3;
    const rf__masking m = {rf__make_key(15, 3), p, share, &v, false};
    int64_t whole = 0, masked = 0;
    for (uint64_t piece = 0; piece < PIECES; piece++) {
        int32_t id[TOKENS], place[TOKENS], label[TOKENS];
        for (int i = 0; i < TOKENS; i++) id[i] = follower;
        const int64_t n = rf__mask_ids(id, TOKENS, &m, piece, place, label);
        whole += n == 0 || n == TOKENS;
        masked += n;
    }
    /* Token by token, twelve draws agree once in 2^11. */
    const double expected = share + (1 - share) * ldexp(1, 1 - TOKENS);
    t_near((double)whole / PIECES, expected, 5 * sqrt(expected * (1 - expected) / PIECES));
    /* A piece's count has a variance of 12^2 / 4 if it is a word, and of 12 / 4 otherwise. */
    const double variance = p * (1 - p) * (share * TOKENS * TOKENS + (1 - share) * TOKENS);
    t_near((double)masked / PIECES, p * TOKENS, 5 * sqrt(variance / PIECES));
    rf_ctx_free(ctx);
}

/* The masks of a piece do not depend on the rest of the batch. */
static void masks_belong_to_the_piece(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    const rf__token_kinds v = vocabulary();
    uint16_t id[200];
    rf__mlm_batch a, b;
    for (size_t i = 0; i < RF_COUNT(id); i++) id[i] = (uint16_t)(5 + i * 4);
    const rf__masking m = {rf__make_key(13, 3), 0.3, false, &v, false};
    assert_int_equal(rf__mlm_batch_new(ctx, 300, &a, NULL), RF_OK);
    assert_int_equal(rf__mlm_batch_new(ctx, 300, &b, NULL), RF_OK);
    rf__mlm_batch_clear(&a);
    rf__mlm_batch_clear(&b);
    rf__mlm_batch_add(&a, (rf__ids){id, 2}, 50, 100, true, &m, 77);
    rf__mlm_batch_add(&b, (rf__ids){id, 2}, 0, 40, true, &m, 5);
    const int64_t before = b.n;
    rf__mlm_batch_add(&b, (rf__ids){id, 2}, 50, 100, true, &m, 77);
    assert_int_equal(b.n - before, a.n);
    assert_memory_equal(a.id, b.id + 42, 102 * sizeof *a.id);
    assert_memory_equal(a.label, b.label + before, (size_t)a.n * sizeof *a.label);
    rf__mlm_batch_free(ctx, &a);
    rf__mlm_batch_free(ctx, &b);
    rf_ctx_free(ctx);
}

static void a_batch_has_something_to_predict(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    const rf__token_kinds v = vocabulary();
    const uint16_t id[] = {1, 9}, unknown[] = {1, 1};
    rf__mlm_batch b;
    const rf__masking m = {rf__make_key(1, 3), 0.001, false, &v, false};
    assert_int_equal(rf__mlm_batch_new(ctx, 8, &b, NULL), RF_OK);
    rf__mlm_batch_clear(&b);
    rf__mlm_batch_add(&b, (rf__ids){id, 2}, 0, 2, true, &m, 0);
    rf__mlm_batch_finish(&b, &m);
    assert_int_equal(b.n, 1);
    assert_int_equal(b.label[0], 9);
    assert_int_equal(b.id[b.row[0]], v.mask);
    rf__mlm_batch_clear(&b);
    rf__mlm_batch_add(&b, (rf__ids){unknown, 2}, 0, 2, true, &m, 0);
    rf__mlm_batch_finish(&b, &m);
    assert_int_equal(b.n, 0);
    rf__mlm_batch_free(ctx, &b);
    rf_ctx_free(ctx);
}

/* Every token of a piece but the last predicts the next one; [SEP] is a label only where a document ends. */
static void next_tokens(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    const rf__token_kinds v = vocabulary();
    const uint16_t id[] = {7, 1, 9, 8, 30};
    rf__mlm_batch b;
    const rf__masking m = {rf__make_key(1, 3), 0.15, false, &v, true};
    assert_int_equal(rf__mlm_batch_new(ctx, 32, &b, NULL), RF_OK);
    rf__mlm_batch_clear(&b);
    rf__mlm_batch_add(&b, (rf__ids){id, 2}, 0, 3, false, &m, 9);
    rf__mlm_batch_add(&b, (rf__ids){id, 2}, 3, 2, true, &m, 9);
    rf__mlm_batch_finish(&b, &m);
    const int32_t sees[] = {v.cls, 7, 1, 9, v.sep, v.cls, 8, 30, v.sep}, row[] = {0, 1, 2, 5, 6, 7},
                  label[] = {7, 1, 9, 8, 30, v.sep};
    assert_int_equal(b.N, RF_COUNT(sees));
    assert_int_equal(b.n, RF_COUNT(row));
    assert_memory_equal(b.id, sees, sizeof sees);
    assert_memory_equal(b.row, row, sizeof row);
    assert_memory_equal(b.label, label, sizeof label);
    rf__mlm_batch_free(ctx, &b);
    rf_ctx_free(ctx);
}

/* The last piece of a document is marked as such. */
static void pieces_know_the_end(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    const rf__token_kinds v = vocabulary();
    uint16_t id[100];
    const uint32_t length[] = {10, 41, 0, 49};
    for (size_t i = 0; i < RF_COUNT(id); i++) id[i] = (uint16_t)(5 + i);
    const rf__tokens tokens = {.ids = {id, 2}, .tokens = RF_COUNT(id), .documents = RF_COUNT(length), .length = length};
    rf__pieces p;
    assert_int_equal(rf__pieces_new(ctx, &tokens, 1, &v, 18, false, 0, &p, NULL), RF_OK);
    size_t at = 0;
    for (size_t i = 0; i < p.n; i++) {
        assert_int_equal(rf__piece_at(&p, i), at);
        at += rf__piece_size(&p, i);
        assert_int_equal(rf__piece_ends(&p, i), at == 10 || at == 51 || at == 100);
    }
    assert_int_equal(at, 100);
    rf__pieces_free(ctx, &p);
    rf_ctx_free(ctx);
}

/* ---- packing ---- */

/* Documents with a geometric mixture of lengths, as in text. */
static void packing(int64_t tokens_per_batch, int64_t max_length, double mean, double *efficiency, int *misses)
{
    rf_ctx *ctx = t_ctx(1, NULL);
    const rf__token_kinds v = vocabulary();
    enum { DOCUMENTS = 3000 };
    uint32_t *length = malloc(DOCUMENTS * sizeof *length);
    rf_rng r;
    rf_rng_init(&r, 21, (uint64_t)max_length);
    size_t total = 0;
    for (size_t i = 0; i < DOCUMENTS; i++) {
        length[i] = 1 + (uint32_t)(-mean * log(1 - (double)rf_rng_uniform(&r)));
        total += length[i];
    }
    uint16_t *id = malloc(total * sizeof *id);
    for (size_t i = 0; i < total; i++) id[i] = (uint16_t)(5 + rf_rng_below(&r, V - 5));
    const rf__tokens tokens = {.ids = {id, 2}, .tokens = total, .documents = DOCUMENTS, .length = length};
    rf__pieces p;
    rf__mlm_batch b;
    assert_int_equal(rf__pieces_new(ctx, &tokens, 1, &v, max_length, false, 0, &p, NULL), RF_OK);
    assert_int_equal(rf__mlm_batch_new(ctx, tokens_per_batch, &b, NULL), RF_OK);
    const rf__masking m = {rf__make_key(1, 3), 0.15, false, &v, false};
    rf__data_position at = {0};
    int64_t batches = 0, pieces = 0, filled = 0;
    while (at.epoch < 2) {                                           /* two epochs and the first batch of a third */
        rf__pack_next(&p, rf__make_key(1, 4), &m, &at, &b);
        assert_true(b.N <= tokens_per_batch && b.B > 0);
        for (int64_t i = 0; i < b.B; i++) assert_true(b.start[i + 1] - b.start[i] <= max_length);
        filled += b.N;
        pieces += b.B;
        batches++;
    }
    *efficiency = (double)filled / (double)(batches * tokens_per_batch);
    *misses = (int)(2 * (int64_t)p.n + at.index - pieces - at.waits);
    rf__mlm_batch_free(ctx, &b);
    rf__pieces_free(ctx, &p);
    free(id);
    free(length);
    rf_ctx_free(ctx);
}

static void batches_are_full(void **state)
{
    (void)state;
    static const struct { int64_t batch, length; double mean;
    } c[] = {
        {8192, 128, 600},  {8192, 128, 60},  {1024, 128, 600},   {1024, 128, 60},
        {4096, 512, 1500}, {4096, 512, 200}, {16384, 512, 3000},
    };
    for (size_t i = 0; i < RF_COUNT(c); i++) {
        double efficiency;
        int misses;
        packing(c[i].batch, c[i].length, c[i].mean, &efficiency, &misses);
        print_message("           %5lld tokens, pieces of %3lld, documents of %4.0f: %.2f %% full\n",
                      (long long)c[i].batch, (long long)c[i].length, c[i].mean, 100 * efficiency);
        assert_true(efficiency >= 0.98);
        assert_int_equal(misses, 0);                                 /* every piece once an epoch, or waiting */
    }
}

/* Three corpora of different sizes and lengths, mixed 0.6, 0.3, 0.1: the drawn tokens follow these fractions within a
 * piece at all times, and a copied position continues in the same way. */
static void corpora_are_mixed(void **state)
{
    (void)state;
    enum { SOURCES = 3, LENGTH = 64, CAPACITY = 1024 };
    static const double weight[SOURCES] = {6, 3, 1};
    static const size_t documents[SOURCES] = {200, 50, 400};
    rf_ctx *ctx = t_ctx(1, NULL);
    const rf__token_kinds v = vocabulary();
    rf__tokens tokens[SOURCES] = {{.tokens = 0}};
    uint32_t length[SOURCES][400];
    uint16_t *id[SOURCES];
    for (int s = 0; s < SOURCES; s++) {
        for (size_t d = 0; d < documents[s]; d++)
            tokens[s].tokens += length[s][d] = (uint32_t)(20 * (s + 1) + (int)(d % 50));
        id[s] = malloc(tokens[s].tokens * sizeof *id[s]);
        for (size_t i = 0; i < tokens[s].tokens; i++) id[s][i] = (uint16_t)(100 * (s + 1));  /* says where it is from */
        tokens[s].ids = (rf__ids){id[s], 2};
        tokens[s].documents = documents[s];
        tokens[s].length = length[s];
    }
    rf__pieces p;
    rf__mlm_batch b, c;
    rf__data_position at = {0}, copy;
    const rf__masking m = {rf__make_key(1, 3), 0.15, false, &v, false};
    assert_int_equal(rf__pieces_new(ctx, tokens, SOURCES, &v, LENGTH, false, 0, &p, NULL), RF_OK);
    assert_int_equal(p.documents, 650);
    assert_int_equal(rf__pieces_mix(&p, weight, NULL), RF_OK);
    assert_int_equal(rf__mlm_batch_new(ctx, CAPACITY, &b, NULL), RF_OK);
    assert_int_equal(rf__mlm_batch_new(ctx, CAPACITY, &c, NULL), RF_OK);
    for (int batch = 0; batch < 300; batch++) {
        copy = at;
        rf__pack_next(&p, rf__make_key(1, 4), &m, &at, &b);
        rf__pack_next(&p, rf__make_key(1, 4), &m, &copy, &c);
        assert_memory_equal(&at, &copy, sizeof at);
        assert_memory_equal(b.id, c.id, (size_t)b.N * sizeof *b.id);
        const double drawn[SOURCES] = {(double)at.tokens, (double)at.cursor[1].tokens, (double)at.cursor[2].tokens};
        const double all = drawn[0] + drawn[1] + drawn[2];
        /* the stream with the largest deficit is next, so none is ahead of another by more than a piece, in units of
         * its weight */
        for (int s = 0; s < SOURCES; s++) assert_true(fabs(drawn[s] - all * weight[s] / 10) <= LENGTH * SOURCES);
        int64_t from[SOURCES] = {0};
        for (int64_t i = 0; i < b.N; i++)
            for (int s = 0; s < SOURCES; s++) from[s] += b.id[i] == 100 * (s + 1);
        if (batch > 5) assert_true(from[0] > from[1] && from[1] > from[2]);
    }
    t_near(rf__data_position_epoch(&at, &p),
           (double)(at.tokens + at.cursor[1].tokens + at.cursor[2].tokens) / (double)p.tokens, 1e-12);
    assert_true(at.epoch > 1 && at.cursor[1].epoch > 1 && rf__data_position_inside(&at, &p));
    at.cursor[2].index = (int64_t)p.n + 1;
    assert_false(rf__data_position_inside(&at, &p));
    assert_true(rf__packing(&p, rf__make_key(1, 4), CAPACITY, 100) > 0.98);
    for (int s = 0; s < SOURCES; s++) free(id[s]);
    rf__mlm_batch_free(ctx, &b);
    rf__mlm_batch_free(ctx, &c);
    rf__pieces_free(ctx, &p);
    rf_ctx_free(ctx);
}

/* The predicted packing is that of the batches. */
static void packing_is_foretold(void **state)
{
    (void)state;
    rf_ctx *ctx = t_ctx(1, NULL);
    const rf__token_kinds v = vocabulary();
    uint32_t length[500];
    rf__tokens tokens = {.documents = 500, .length = length};
    for (size_t i = 0; i < 500; i++) tokens.tokens += length[i] = (uint32_t)(1 + i * 7919 % 700);
    uint16_t *id = calloc(tokens.tokens, sizeof *id);
    for (size_t i = 0; i < tokens.tokens; i++) id[i] = 6;
    tokens.ids = (rf__ids){id, 2};
    rf__pieces p;
    rf__mlm_batch b;
    rf__data_position at = {0};
    const rf__masking m = {rf__make_key(1, 3), 0.15, false, &v, false};
    int64_t filled = 0, batches = 0;
    assert_int_equal(rf__pieces_new(ctx, &tokens, 1, &v, 100, false, 0, &p, NULL), RF_OK);
    assert_int_equal(rf__mlm_batch_new(ctx, 1000, &b, NULL), RF_OK);
    for (; rf__data_position_epoch(&at, &p) < 1; batches++) {
        rf__pack_next(&p, rf__make_key(2, 4), &m, &at, &b);
        filled += b.N;
    }
    t_near(rf__packing(&p, rf__make_key(2, 4), 1000, 1 << 20), (double)filled / (double)(1000 * batches), 1e-15);
    free(id);
    rf__mlm_batch_free(ctx, &b);
    rf__pieces_free(ctx, &p);
    rf_ctx_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_piece_once),
        cmocka_unit_test(order_looks_random),
        cmocka_unit_test(pieces_of_sentences), cmocka_unit_test(cuts_cover_everything_between_words),
        cmocka_unit_test(next_tokens),
        cmocka_unit_test(pieces_know_the_end),
        cmocka_unit_test(shares_of_masking),
        cmocka_unit_test(whole_words_are_whole),
        cmocka_unit_test(whole_words_in_a_share),
        cmocka_unit_test(masks_belong_to_the_piece),
        cmocka_unit_test(a_batch_has_something_to_predict),
        cmocka_unit_test(batches_are_full),
        cmocka_unit_test(corpora_are_mixed),
        cmocka_unit_test(packing_is_foretold),
    };
    return cmocka_run_group_tests_name("train/batch", tests, NULL, NULL);
}
