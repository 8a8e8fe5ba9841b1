/* cache.c — keys, values and states of earlier tokens, sequence by sequence; see cache.h. */
#include "model/cache.h"

/* A page or a state: a header, followed by its contents. */
typedef struct block { int64_t owners; size_t bytes; } block;
enum { HEAD = 64 };                     /* bytes of the header, so that rows are aligned                              */

/* A sequence's data of one layer. */
typedef struct store {
    void **page;
    size_t pages, capacity;
    void *state[RF_STATES], *next[RF_STATES];
} store;

typedef struct sequence {
    rf_sequence number;
    rf_type type;
    int64_t length, more;               /* tokens; those of the call                                                  */
    char *source;                       /* rows of its source's tokens, layer after layer; NULL: it has no source     */
    int64_t sources;                    /* number of source tokens                                                    */
    bool called;
    store at[];                         /* [layers + 1], the embeddings first                                         */
} sequence;

struct rf_cache {
    const rf_ctx *ctx;
    int64_t places;                     /* layers and the embeddings                                                  */
    rf_keeping *keeping;                /* [places]                                                                   */
    sequence **all;                     /* sorted by number                                                           */
    size_t sequences, capacity;
    rf_sequence last;                   /* the last number that was assigned                                          */
    sequence **called;                  /* sequences of the call                                                      */
    size_t calls, called_capacity;
    bool reading;                       /* the call reads sources: its sequences are new                              */
    size_t bytes, limit;
    bool refused;                       /* refused because of the limit                                               */
};

/* ---- blocks ---- */

static block *head_of(const void *x) { return (block *)(void *)((char *)(uintptr_t)x - HEAD); }

static bool fits(const rf_cache *c, size_t bytes)
{
    size_t all;
    return rf__checked_add(c->bytes, bytes, &all) && (!c->limit || all <= c->limit);
}

static void *block_new(rf_cache *c, size_t bytes)
{
    size_t size;
    c->refused = !fits(c, bytes);
    char *x = !c->refused && rf__checked_add(bytes, HEAD, &size) ? rf__alloc(c->ctx, size) : NULL;
    if (!x) return NULL;
    *(block *)(void *)x = (block){1, bytes};
    c->bytes += bytes;
    return x + HEAD;
}

static void *shared(void *x)
{
    if (x) head_of(x)->owners++;
    return x;
}

static void drop(rf_cache *c, void *x)
{
    if (!x || --head_of(x)->owners) return;
    c->bytes -= head_of(x)->bytes;
    rf__free(c->ctx, head_of(x));
}

/* ---- sizes ---- */

static size_t row_bytes(const rf_keeping *k, rf_type type)
{
    return (size_t)k->columns * (type == RF_BF16 ? sizeof(uint16_t) : sizeof(float));
}

static size_t page_bytes(const rf_keeping *k, rf_type type) { return RFK_PAGE * row_bytes(k, type); }
static int64_t pages_of(int64_t tokens) { return tokens / RFK_PAGE + (tokens % RFK_PAGE != 0); }

/* States count twice: during a call, the new state exists as well. */
size_t rf__keeping_bytes(const rf_keeping *k, rf_type type, int64_t tokens)
{
    size_t sum;
    if (!rf__checked_mul((size_t)pages_of(tokens), page_bytes(k, type), &sum)) return SIZE_MAX;
    for (int j = 0; j < RF_STATES; j++)
        if (!rf__checked_add(sum, 2 * (size_t)k->state[j] * sizeof(float), &sum)) return SIZE_MAX;
    return sum;
}

static size_t source_row(const rf_keeping *k, rf_type type)
{
    return (size_t)k->source * (type == RF_BF16 ? sizeof(uint16_t) : sizeof(float));
}

size_t rf__source_bytes(const rf_keeping *k, rf_type type, int64_t tokens)
{
    size_t bytes;
    return rf__checked_mul((size_t)tokens, source_row(k, type), &bytes) ? bytes : SIZE_MAX;
}

/* ---- the cache ---- */

rf_status rf__cache_new(const rf_ctx *ctx, int64_t layers, const rf_keeping keeping[], rf_cache **out, rf_error *why)
{
    rf_cache *c = rf__calloc(ctx, 1, sizeof *c);
    if (c) {
        *c = (rf_cache){.ctx = ctx, .places = layers + 1};
        c->keeping = rf__calloc(ctx, (size_t)c->places, sizeof *c->keeping);
    }
    if (!c || !c->keeping) {
        rf__cache_free(c);
        return rf_fail(why, RF_ENOMEM, "out of memory: sequences of %lld layers", (long long)layers);
    }
    memcpy(c->keeping, keeping, (size_t)c->places * sizeof *keeping);
    *out = c;
    return RF_OK;
}

static void clear(rf_cache *c, sequence *q)
{
    for (int64_t l = 0; l < c->places; l++) {
        store *s = &q->at[l];
        for (size_t i = 0; i < s->pages; i++) drop(c, s->page[i]);
        for (int j = 0; j < RF_STATES; j++) drop(c, s->state[j]), drop(c, s->next[j]);
        rf__free(c->ctx, s->page);
    }
    drop(c, q->source);
    rf__free(c->ctx, q);
}

void rf__cache_free(rf_cache *c)
{
    if (!c) return;
    for (size_t i = 0; i < c->sequences; i++) clear(c, c->all[i]);
    rf__free(c->ctx, c->all);
    rf__free(c->ctx, c->called);
    rf__free(c->ctx, c->keeping);
    rf__free(c->ctx, c);
}

size_t rf__cache_bytes(const rf_cache *c) { return c->bytes; }
size_t rf__cache_most(const rf_cache *c) { return c->limit; }
void rf__cache_limit(rf_cache *c, size_t bytes) { c->limit = bytes; }

/* ---- sequences ---- */

/* The index of the sequence; c->sequences: there is none. */
static size_t find(const rf_cache *c, rf_sequence which)
{
    size_t from = 0, to = c->sequences;
    while (from < to) {
        const size_t middle = from + (to - from) / 2;
        if (c->all[middle]->number < which) from = middle + 1;
        else to = middle;
    }
    return from < c->sequences && c->all[from]->number == which ? from : c->sequences;
}

static rf_status absent(const rf_cache *c, rf_sequence which, rf_error *why)
{
    if (which < 1 || which > c->last)
        return rf_fail(why, RF_EARG, "sequence %lld: expected one that was begun, got an unknown number",
                       (long long)which);
    return rf_fail(why, RF_EARG, "sequence %lld: expected one that is in use, got one that was dropped",
                   (long long)which);
}

/* Appends a sequence; all others have lower numbers. */
static rf_status add(rf_cache *c, sequence *q, rf_sequence *out, rf_error *why)
{
    if (!q || !rf__grow(c->ctx, &c->all, &c->capacity, c->sequences + 1, sizeof *c->all)) {
        if (q) clear(c, q);
        return rf_fail(why, RF_ENOMEM, "out of memory: a sequence beside %zu others", c->sequences);
    }
    q->number = ++c->last;
    c->all[c->sequences++] = q;
    *out = q->number;
    return RF_OK;
}

static sequence *make(const rf_cache *c, rf_type type)
{
    sequence *q = rf__calloc(c->ctx, 1, sizeof *q + (size_t)c->places * sizeof *q->at);
    if (q) q->type = type;
    return q;
}

rf_status rf__cache_add(rf_cache *c, rf_type type, rf_sequence *out, rf_error *why)
{
    return add(c, make(c, type), out, why);
}

/* Shares everything of the first `tokens` tokens. false: out of memory. */
static bool share(const rf_cache *c, sequence *q, const sequence *from, int64_t tokens)
{
    q->length = tokens;
    q->source = shared(from->source);
    q->sources = from->sources;
    for (int64_t l = 0; l < c->places; l++) {
        const store *s = &from->at[l];
        store *to = &q->at[l];
        const size_t n = (size_t)rf__min64((int64_t)s->pages, pages_of(tokens));
        if (n && !rf__grow(c->ctx, &to->page, &to->capacity, n, sizeof *to->page)) return false;
        for (; to->pages < n; to->pages++) to->page[to->pages] = shared(s->page[to->pages]);
        for (int j = 0; j < RF_STATES; j++) to->state[j] = shared(s->state[j]);
    }
    return true;
}

bool rf__cache_cuts(const rf_cache *c)
{
    for (int64_t l = 0; l < c->places; l++)
        for (int j = 0; j < RF_STATES; j++)
            if (c->keeping[l].state[j]) return false;
    return true;
}

rf_status rf__cache_fork(rf_cache *c, rf_sequence from, int64_t tokens, rf_sequence *out, rf_error *why)
{
    const size_t i = find(c, from);
    if (i == c->sequences) return absent(c, from, why);
    sequence *q = make(c, c->all[i]->type);
    if (q && !share(c, q, c->all[i], tokens)) {
        clear(c, q);
        q = NULL;
    }
    return add(c, q, out, why);
}

rf_status rf__cache_drop(rf_cache *c, rf_sequence which, rf_error *why)
{
    const size_t i = find(c, which);
    if (i == c->sequences) return absent(c, which, why);
    clear(c, c->all[i]);
    memmove(c->all + i, c->all + i + 1, (--c->sequences - i) * sizeof *c->all);
    return RF_OK;
}

int64_t rf__cache_tokens(const rf_cache *c, rf_sequence which)
{
    const size_t i = find(c, which);
    return i == c->sequences ? -1 : c->all[i]->length;
}

/* ---- a call ---- */

/* Makes page i of a layer writable. */
static bool unshare_page(rf_cache *c, sequence *q, int64_t place, size_t i)
{
    store *s = &q->at[place];
    if (!rf__grow(c->ctx, &s->page, &s->capacity, i + 1, sizeof *s->page)) return false;
    while (s->pages <= i) s->page[s->pages++] = NULL;
    void *old = s->page[i];
    if (old && head_of(old)->owners == 1) return true;
    void *fresh = block_new(c, page_bytes(&c->keeping[place], q->type));
    if (!fresh) return false;
    if (old) {
        const int64_t rows = rf__min64(RFK_PAGE, q->length - (int64_t)i * RFK_PAGE);
        memcpy(fresh, old, (size_t)rows * row_bytes(&c->keeping[place], q->type));
        drop(c, old);
    }
    s->page[i] = fresh;
    return true;
}

/* Reserves the pages of the call's tokens. */
static bool reserve(rf_cache *c, sequence *q)
{
    for (int64_t l = 0; l < c->places; l++) {
        if (!c->keeping[l].columns) continue;
        for (int64_t i = q->length / RFK_PAGE; i < pages_of(q->length + q->more); i++)
            if (!unshare_page(c, q, l, (size_t)i)) return false;
    }
    return true;
}

/* Bytes that the layers will request for each sequence during the call. */
static size_t later(const rf_cache *c)
{
    size_t sum = 0;
    for (int64_t l = 0; l < c->places; l++)
        for (int j = 0; j < RF_STATES; j++) sum += (size_t)c->keeping[l].state[j] * sizeof(float);
    return sum;
}

static rf_status too_much(rf_cache *c, const sequence *q, rf_error *why)
{
    const long long number = q->number, more = q->more;
    size_t token = 0;
    for (int64_t l = 0; l < c->places; l++) token += row_bytes(&c->keeping[l], q->type);
    rf__cache_end(c, false);
    const char *const linear =
        token ? "; layers with linear attention (attention_type) keep one size at any length" : "";
    if (!c->refused)
        return rf_fail(why, RF_ENOMEM, "out of memory: %lld tokens more of sequence %lld, of %zu bytes each%s", more,
                       number, token, linear);
    return rf_fail(why, RF_ERANGE, "sequence %lld: expected at most %zu bytes for all sequences, %zu are in use, got "
                   "%lld tokens more of %zu bytes each%s", number, c->limit, c->bytes, more, token, linear);
}

rf_status rf__cache_begin(rf_cache *c, const rf_sequence which[], int64_t B, const int32_t start[], rf_error *why)
{
    size_t asked = 0;
    if (!rf__grow(c->ctx, &c->called, &c->called_capacity, (size_t)B, sizeof(sequence *)))
        return rf_fail(why, RF_ENOMEM, "out of memory: a list of %lld sequences", (long long)B);
    for (int64_t b = 0; b < B; b++) {
        const size_t i = find(c, which[b]);
        const bool twice = i < c->sequences && c->all[i]->called;
        if (i == c->sequences || twice) {
            rf__cache_end(c, false);
            return twice ? rf_fail(why, RF_EARG, "batch: expected each sequence once, got sequence %lld twice",
                                   (long long)which[b])
                         : absent(c, which[b], why);
        }
        sequence *q = c->called[c->calls++] = c->all[i];
        q->called = true;
        q->more = start[b + 1] - start[b];
    }
    for (int64_t b = 0; b < B; b++) {
        sequence *q = c->called[b];
        asked += later(c);
        if (!reserve(c, q)) return too_much(c, q, why);
        c->refused = !fits(c, asked);
        if (c->refused) return too_much(c, q, why);
    }
    return RF_OK;
}

static void undo(rf_cache *c, store *s, int64_t length)
{
    while ((int64_t)s->pages > pages_of(length)) drop(c, s->page[--s->pages]);
    for (int j = 0; j < RF_STATES; j++) {
        drop(c, s->next[j]);
        s->next[j] = NULL;
    }
}

static void commit(rf_cache *c, store *s)
{
    for (int j = 0; j < RF_STATES; j++) {
        if (!s->next[j]) continue;
        drop(c, s->state[j]);
        s->state[j] = s->next[j];
        s->next[j] = NULL;
    }
}

void rf__cache_end(rf_cache *c, bool succeeded)
{
    for (size_t b = 0; b < c->calls; b++) {
        sequence *q = c->called[b];
        if (c->reading && !succeeded) {
            rf__cache_drop(c, q->number, NULL);
            continue;
        }
        for (int64_t l = 0; l < c->places; l++)
            if (succeeded) commit(c, &q->at[l]);
            else undo(c, &q->at[l], q->length);
        if (succeeded) q->length += q->more;
        q->more = 0;
        q->called = false;
    }
    c->calls = 0;
    c->reading = false;
}

/* ---- sources ---- */

/* Bytes of a source in all layers; SIZE_MAX: too large. */
static size_t source_size(const rf_cache *c, rf_type type, int64_t tokens)
{
    size_t sum = 0;
    for (int64_t l = 0; l < c->places; l++)
        if (!rf__checked_add(sum, rf__source_bytes(&c->keeping[l], type, tokens), &sum)) return SIZE_MAX;
    return sum;
}

static rf_status read_one(rf_cache *c, rf_type type, int64_t tokens, rf_sequence *out, rf_error *why)
{
    rf_status status = rf__cache_add(c, type, out, why);
    if (status) return status;
    sequence *q = c->called[c->calls++] = c->all[c->sequences - 1];
    const size_t bytes = source_size(c, type, tokens);
    q->called = true;
    q->sources = tokens;
    q->source = block_new(c, bytes);
    if (q->source) return RF_OK;
    if (!c->refused) return rf_fail(why, RF_ENOMEM, "out of memory: a source of %lld tokens", (long long)tokens);
    return rf_fail(why, RF_ERANGE, "source: expected at most %zu bytes for all sequences, %zu are in use, got %lld "
                   "tokens of %zu bytes in all", c->limit, c->bytes, (long long)tokens, bytes);
}

rf_status rf__cache_read(rf_cache *c, rf_type type, int64_t B, const int32_t start[], rf_sequence out[], rf_error *why)
{
    if (!rf__grow(c->ctx, &c->called, &c->called_capacity, (size_t)B, sizeof(sequence *)))
        return rf_fail(why, RF_ENOMEM, "out of memory: a list of %lld sequences", (long long)B);
    c->reading = true;
    for (int64_t b = 0; b < B; b++) {
        const rf_status status = read_one(c, type, start[b + 1] - start[b], &out[b], why);
        if (!status) continue;
        rf__cache_end(c, false);
        return status;
    }
    return RF_OK;
}

/* The offset of a layer's rows in a source. */
static size_t source_at(const rf_cache *c, const sequence *q, int64_t place)
{
    size_t at = 0;
    for (int64_t l = 0; l < place; l++) at += rf__source_bytes(&c->keeping[l], q->type, q->sources);
    return at;
}

int64_t rf__cache_length(const rf_cache *c, int64_t b) { return c->called[b]->length; }

/* ---- rows ---- */

/* Row `token` of a layer, which the call may write. */
static char *row_at(const rf_cache *c, const sequence *q, int64_t place, int64_t token)
{
    return (char *)q->at[place].page[token / RFK_PAGE] +
           (size_t)(token % RFK_PAGE) * row_bytes(&c->keeping[place], q->type);
}

/* Columns [from, from + width) of the tokens' rows of x. */
typedef struct slice { const rf_tensor *x; int64_t from, width; } slice;

static void write_row(const rf_graph *g, rf_type type, char *to, const slice part[], int parts, int64_t n)
{
    for (int i = 0; i < parts; i++) {
        const float *x = part[i].x->f32 + n * part[i].x->dim[1] + part[i].from;
        const size_t width = (size_t)part[i].width;
        if (type == RF_BF16) g->k->to_bf16((uint16_t *)(void *)to, x, part[i].width);
        else memcpy(to, x, width * sizeof *x);
        to += width * (type == RF_BF16 ? sizeof(uint16_t) : sizeof(float));
    }
}

static const rf_past *past_of(rf_graph *g, const rf_cache *c, int64_t place)
{
    rf_past *past = rf__push(g, 1, sizeof *past);
    int64_t *count = rf__push(g, c->calls, sizeof *count);
    rf_type *type = rf__push(g, c->calls, sizeof *type);
    const void *const **page = rf__push(g, c->calls, sizeof *page);
    if (g->error.code) return NULL;
    for (size_t b = 0; b < c->calls; b++) {
        const sequence *q = c->called[b];
        count[b] = q->length + q->more;
        type[b] = q->type;
        page[b] = (const void *const *)q->at[place].page;
    }
    *past = (rf_past){.count = count, .page = page, .type = type};
    return past;
}

/* Appends the rows of the call's tokens: the parts side by side, rounded to the sequence's type. *out: the rows of all
 * tokens, including these; NULL: the graph has stopped. */
static void append_rows(rf_graph *g, const rf_cache *c, int64_t layer, const slice part[], int parts,
                        const rf_past **out)
{
    const int64_t place = layer + 1;
    const rf_keeping *k = &c->keeping[place];
    int64_t columns = 0, first_row = 0;
    *out = NULL;
    if (g->error.code) return;
    for (int i = 0; i < parts; i++) columns += part[i].width;
    if (columns != k->columns) {
        rf__stop(g, RF_ESHAPE, "cache: layer %lld: expected rows of %lld columns, got %lld", (long long)layer,
                 (long long)k->columns, (long long)columns);
        return;
    }
    for (size_t b = 0; b < c->calls; first_row += c->called[b++]->more) {
        const sequence *q = c->called[b];
        for (int64_t t = 0; t < q->more; t++)
            write_row(g, q->type, row_at(c, q, place, q->length + t), part, parts, first_row + t);
    }
    *out = past_of(g, c, place);
}

void rf__cache_extend(rf_graph *g, rf_cache *c, int64_t layer, rf_tensor *qkv, rf_attention_spec *spec)
{
    rf_tensor *rotated = qkv;
    if (spec->rope) {                                               /* the kernel rotates the queries */
        const rf_rotate_parts_spec rotate = {.parts = 3,
                                             .heads = spec->heads,
                                             .rotated = spec->heads,
                                             .kv_heads = spec->kv_heads,
                                             .row = {NULL, spec->row, spec->row},
                                             .rope = {NULL, spec->rope, spec->rotate_value ? spec->rope : NULL}};
        rotated = rf__rotate_parts(g, qkv, &rotate);
    }
    if (g->error.code) return;
    const int64_t G = spec->kv_heads ? spec->kv_heads : spec->heads;
    const int64_t D = qkv->dim[1] / (spec->heads + 2 * G);
    const slice part[] = {{rotated, spec->heads * D, 2 * G * D},
                               {spec->more_key, 0, spec->more_key ? spec->more_key->dim[1] : 0}};
    append_rows(g, c, layer, part, spec->more_key ? 2 : 1, &spec->past);
}

bool rf__cache_put_source(rf_graph *g, rf_cache *c, int64_t layer, const rf_tensor *x)
{
    const rf_keeping *k = &c->keeping[layer + 1];
    int64_t first = 0;
    if (g->error.code) return false;
    if (x->dim[1] != k->source) {
        rf__stop(g, RF_ESHAPE,
                 "cache: layer %lld: expected rows of %lld columns of a source, got %lld", (long long)layer,
                 (long long)k->source, (long long)x->dim[1]);
        return false;
    }
    for (size_t b = 0; b < c->calls; first += c->called[b++]->sources) {
        sequence *q = c->called[b];
        char *to = q->source + source_at(c, q, layer + 1);
        for (int64_t t = 0; t < q->sources; t++, to += source_row(k, q->type))
            write_row(g, q->type, to, &(slice){x, 0, k->source}, 1, first + t);
    }
    return true;
}

const rf_past *rf__cache_source(rf_graph *g, const rf_cache *c, int64_t layer)
{
    const rf_keeping *k = &c->keeping[layer + 1];
    rf_past *past = rf__push(g, 1, sizeof *past);
    int64_t *count = rf__push(g, c->calls, sizeof *count), pages = 0;
    rf_type *type = rf__push(g, c->calls, sizeof *type);
    const void *const **page = rf__push(g, c->calls, sizeof *page);
    for (size_t b = 0; b < c->calls; b++) pages += pages_of(c->called[b]->sources);
    const void **at = rf__push(g, (size_t)pages, sizeof *at);
    if (g->error.code) return NULL;
    for (size_t b = 0; b < c->calls; b++) {
        const sequence *q = c->called[b];
        const char *rows = q->source + source_at(c, q, layer + 1);
        count[b] = q->sources;
        type[b] = q->type;
        page[b] = at;
        for (int64_t i = 0; i < pages_of(q->sources); i++)
            *at++ = rows + (size_t)(i * RFK_PAGE) * source_row(k, q->type);
    }
    *past = (rf_past){.count = count, .page = page, .type = type, .apart = 1};
    return past;
}

/* ---- states ---- */

const float *rf__cache_state(const rf_cache *c, int64_t b, int64_t layer, rf_state_kind which)
{
    return c->called[b]->at[layer + 1].state[which];
}

float *rf__cache_next_state(rf_graph *g, rf_cache *c, int64_t b, int64_t layer, rf_state_kind which)
{
    store *s = &c->called[b]->at[layer + 1];
    if (g->error.code) return NULL;
    if (!s->next[which]) s->next[which] = block_new(c, (size_t)c->keeping[layer + 1].state[which] * sizeof(float));
    if (!s->next[which])
        rf__stop(g, RF_ENOMEM, "out of memory: the state of sequence %lld", (long long)c->called[b]->number);
    return s->next[which];
}
