/* pickle.c — pickle's opcodes, protocol 2, as torch.save writes them.
 *
 * A pickle is a program for a stack machine. This machine cannot call anything: GLOBAL looks up a name in the list
 * below or refuses it, and REDUCE creates the value of that name from its arguments. */
#include "store/formats/pickle.h"

#include <stdio.h>

#include "base/json.h"

enum {
    MAX_PICKLE = 32 << 20, /* bytes, values: about ten times what 65,536 tensors need                            */
    MAX_VALUES = 3 << 20,
    MARK = -1
};

typedef enum meaning { ORDERED_DICT, REBUILD_TENSOR, REBUILD_PARAMETER, STORAGE } meaning;

static const struct global {
    const char *module, *name;
    meaning meaning;
    const char *dtype;
} globals[] = {
    {"collections", "OrderedDict", ORDERED_DICT, NULL},
    {"torch._utils", "_rebuild_tensor_v2", REBUILD_TENSOR, NULL},
    {"torch._utils", "_rebuild_tensor", REBUILD_TENSOR, NULL},
    {"torch._utils", "_rebuild_parameter", REBUILD_PARAMETER, NULL},
    {"torch", "FloatStorage", STORAGE, "F32"},
    {"torch", "HalfStorage", STORAGE, "F16"},
    {"torch", "BFloat16Storage", STORAGE, "BF16"},
    {"torch", "DoubleStorage", STORAGE, "F64"},
    {"torch", "LongStorage", STORAGE, "I64"},
    {"torch", "IntStorage", STORAGE, "I32"},
    {"torch", "ShortStorage", STORAGE, "I16"},
    {"torch", "CharStorage", STORAGE, "I8"},
    {"torch", "ByteStorage", STORAGE, "U8"},
    {"torch", "BoolStorage", STORAGE, "BOOL"},
};

struct machine {
    const rf_ctx *ctx;
    const unsigned char *data;
    size_t size, at, opcode; /* opcode: where the current one began                                                */
    const char *name;
    size_t base;
    rf__pickle *p;
    uint32_t *stack, *memo; /* indices of values; MARK; memo: 1 + index, 0: empty                                 */
    size_t height, capacity, memo_capacity;
    rf_error *why;
};

static rf_status refuse(struct machine *m, rf_status code, const char *what)
{
    return rf_fail(m->why, code, "%s: refused: %s at byte %zu", m->name, what, m->base + m->opcode);
}

static rf_status broken(struct machine *m, const char *what) { return refuse(m, RF_EDATA, what); }

static rf_status no_memory(struct machine *m)
{
    return rf_fail(m->why, RF_ENOMEM, "%s: out of memory for %zu pickled values", m->name, m->p->values);
}

/* ---- bytes of the pickle ----------------------------------------------------------------------------------------- */

/* The next n bytes; NULL: the pickle ends before. */
static const unsigned char *take(struct machine *m, size_t n)
{
    if (n > m->size - m->at) {
        broken(m, "the pickle ends within an opcode that begins");
        return NULL;
    }
    const unsigned char *from = m->data + m->at;
    m->at += n;
    return from;
}

static int64_t integer_of_bytes(const unsigned char *from, size_t n, bool is_signed)
{
    uint64_t x = is_signed && n && from[n - 1] & 0x80 ? UINT64_MAX : 0;
    for (size_t i = n; i-- > 0;) x = x << 8 | from[i];
    return (int64_t)x;
}

/* ---- stack ------------------------------------------------------------------------------------------------------- */

static rf_status push_index(struct machine *m, uint32_t index)
{
    if (m->height >= MAX_VALUES) return broken(m, "the stack is higher than a state dict needs");
    if (!rf__grow(m->ctx, &m->stack, &m->capacity, m->height + 1, sizeof *m->stack)) return no_memory(m);
    m->stack[m->height++] = index;
    return RF_OK;
}

static rf_status push(struct machine *m, rf__pickle_value v)
{
    rf__pickle *p = m->p;
    if (p->values >= MAX_VALUES) return broken(m, "more values than a state dict needs");
    if (!rf__grow(m->ctx, &p->value, &p->value_capacity, p->values + 1, sizeof *p->value)) return no_memory(m);
    p->value[p->values] = v;
    return push_index(m, (uint32_t)p->values++);
}

static rf__pickle_value *top(struct machine *m, size_t below)
{
    if (below >= m->height) return NULL;
    const uint32_t index = m->stack[m->height - 1 - below];
    return index == (uint32_t)MARK ? NULL : &m->p->value[index];
}

static bool is_a(const rf__pickle_value *v, rf__pickle_kind kind) { return v && v->kind == kind; }

/* The number of values above the last MARK; false: there is none. */
static bool above_mark(const struct machine *m, size_t *n)
{
    for (*n = 0; *n < m->height; ++*n)
        if (m->stack[m->height - 1 - *n] == (uint32_t)MARK) return true;
    return false;
}

/* ---- containers -------------------------------------------------------------------------------------------------- */

/* The last n values of the stack become one tuple; `mark` removes a MARK with them. */
static rf_status make_tuple(struct machine *m, size_t n, size_t mark)
{
    rf__pickle *p = m->p;
    for (size_t i = 0; i < n; i++)
        if (!top(m, i)) return broken(m, "a tuple of more values than there are");
    if (p->items + n > MAX_VALUES) return broken(m, "more values than a state dict needs");
    if (!rf__grow(m->ctx, &p->item, &p->item_capacity, p->items + n, sizeof *p->item)) return no_memory(m);
    const rf__pickle_value tuple = {.kind = RF_PICKLE_TUPLE, .a = (uint32_t)p->items, .n = (int64_t)n};
    m->height -= n;
    if (n) memcpy(p->item + p->items, m->stack + m->height, n * sizeof *p->item);
    p->items += n;
    m->height -= mark;
    return push(m, tuple);
}

/* Appends the last n values of the stack to the list or dict below them (and below `mark`). */
static rf_status extend(struct machine *m, rf__pickle_kind kind, size_t n, size_t mark)
{
    rf__pickle *p = m->p;
    rf__pickle_value *to = top(m, n + mark);
    if (!is_a(to, kind) || (kind == RF_PICKLE_DICT && n % 2))
        return broken(m, "members for an object that is not a container");
    for (size_t i = 0; i < n; i++)
        if (!top(m, i)) return broken(m, "members that do not exist");
    if (p->cells + n >= MAX_VALUES) return broken(m, "more values than a state dict needs");
    if (!rf__grow(m->ctx, &p->cell, &p->cell_capacity, p->cells + n + 1, sizeof *p->cell)) return no_memory(m);
    if (!p->cells) p->cell[p->cells++] = (rf__pickle_cell){0, 0};
    for (size_t i = 0; i < n; i++) {
        const uint32_t at = (uint32_t)p->cells++;
        p->cell[at] = (rf__pickle_cell){m->stack[m->height - n + i], 0};
        if (to->a) p->cell[to->b].next = at;
        else to->a = at;
        to->b = at;
    }
    to->n += (int64_t)n;
    m->height -= n + mark;
    return RF_OK;
}

static rf_status containers(struct machine *m, unsigned opcode)
{
    size_t n = 0;
    if (strchr("teu", (int)opcode) && !above_mark(m, &n)) return broken(m, "an opcode without its MARK");
    switch (opcode) {
    case ')': return make_tuple(m, 0, 0);
    case 0x85: return make_tuple(m, 1, 0);
    case 0x86: return make_tuple(m, 2, 0);
    case 0x87: return make_tuple(m, 3, 0);
    case 't': return make_tuple(m, n, 1);
    case ']': return push(m, (rf__pickle_value){.kind = RF_PICKLE_LIST});
    case '}': return push(m, (rf__pickle_value){.kind = RF_PICKLE_DICT});
    case 'a': return extend(m, RF_PICKLE_LIST, 1, 0);
    case 's': return extend(m, RF_PICKLE_DICT, 2, 0);
    case 'e': return extend(m, RF_PICKLE_LIST, n, 1);
    default: return extend(m, RF_PICKLE_DICT, n, 1);
    }
}

/* ---- plain values ------------------------------------------------------------------------------------------------ */

static rf_status push_whole(struct machine *m, size_t bytes, bool is_signed)
{
    const unsigned char *from = take(m, bytes);
    if (!from) return m->why->code;
    return push(m, (rf__pickle_value){.kind = RF_PICKLE_WHOLE, .n = integer_of_bytes(from, bytes, is_signed)});
}

static rf_status push_text(struct machine *m)
{
    const unsigned char *size = take(m, 4);
    const size_t n = size ? (size_t)integer_of_bytes(size, 4, false) : 0, at = m->at;
    if (!size || !take(m, n)) return m->why->code;
    return push(m, (rf__pickle_value){.kind = RF_PICKLE_TEXT, .a = (uint32_t)at, .b = (uint32_t)n});
}

static rf_status plain(struct machine *m, unsigned opcode)
{
    const unsigned char *size;
    switch (opcode) {
    case 'N': return push(m, (rf__pickle_value){.kind = RF_PICKLE_NONE});
    case 0x88: return push(m, (rf__pickle_value){.kind = RF_PICKLE_TRUTH, .n = 1});
    case 0x89: return push(m, (rf__pickle_value){.kind = RF_PICKLE_TRUTH});
    case 'K': return push_whole(m, 1, false);
    case 'M': return push_whole(m, 2, false);
    case 'J': return push_whole(m, 4, true);
    case 0x8a:
        if (!(size = take(m, 1))) return m->why->code;
        return *size > 8 ? broken(m, "a whole number of more than 64 bits") : push_whole(m, *size, true);
    case 'G': return take(m, 8) ? push(m, (rf__pickle_value){.kind = RF_PICKLE_NUMBER}) : m->why->code;
    default: return push_text(m);
    }
}

/* ---- memo -------------------------------------------------------------------------------------------------------- */

static rf_status memo(struct machine *m, unsigned opcode)
{
    const size_t width = opcode == 'q' || opcode == 'h' ? 1 : 4;
    const unsigned char *from = take(m, width);
    if (!from) return m->why->code;
    const size_t at = (size_t)integer_of_bytes(from, width, false);
    if (opcode == 'h' || opcode == 'j') {
        if (at >= m->memo_capacity || !m->memo[at]) return broken(m, "a read of an empty place of the memo");
        return push_index(m, m->memo[at] - 1);
    }
    if (!top(m, 0)) return broken(m, "nothing to remember");
    if (at >= MAX_VALUES) return broken(m, "a place in the memo beyond what a state dict needs");
    const size_t before = m->memo_capacity;
    if (!rf__grow(m->ctx, &m->memo, &m->memo_capacity, at + 1, sizeof *m->memo)) return no_memory(m);
    if (m->memo_capacity > before) memset(m->memo + before, 0, (m->memo_capacity - before) * sizeof *m->memo);
    m->memo[at] = m->stack[m->height - 1] + 1;
    return RF_OK;
}

/* ---- objects ----------------------------------------------------------------------------------------------------- */

/* Reads a line of the opcode GLOBAL. */
static const char *line(struct machine *m, size_t *n)
{
    const char *from = (const char *)m->data + m->at, *end = memchr(from, '\n', m->size - m->at);
    if (!end) {
        broken(m, "a name without an end");
        return NULL;
    }
    *n = (size_t)(end - from);
    m->at += *n + 1;
    return from;
}

static bool same(const char *text, size_t n, const char *word) { return strlen(word) == n && !memcmp(text, word, n); }

static rf_status global(struct machine *m)
{
    size_t a, b;
    const char *module = line(m, &a), *name = module ? line(m, &b) : NULL;
    if (!name) return m->why->code;
    for (size_t i = 0; i < RF_COUNT(globals); i++)
        if (same(module, a, globals[i].module) && same(name, b, globals[i].name))
            return push(m, (rf__pickle_value){.kind = RF_PICKLE_GLOBAL, .global = (uint8_t)i});
    char full[80];
    const int m38 = (int)(a < 38 ? a : 38), n38 = (int)(b < 38 ? b : 38);
    const int k = snprintf(full, sizeof full, "%.*s.%.*s", m38, module, n38, name);
    return rf_fail(m->why, RF_EUNSUPPORTED,
                   "%s: refused: the object %s at byte %zu, which no state dict needs; nothing was executed", m->name,
                   k > 0 ? rf__printable(full).text : "", m->base + m->opcode);
}

/* ("storage", type, key, where, elements [, None]): the data of a tensor, which is stored elsewhere. */
static rf_status storage(struct machine *m)
{
    const rf__pickle *p = m->p;
    const rf__pickle_value *t = top(m, 0), *v[6];
    if (!is_a(t, RF_PICKLE_TUPLE) || t->n < 5 || t->n > 6) return broken(m, "a reference that is no storage");
    for (int64_t i = 0; i < t->n; i++) v[i] = &p->value[p->item[t->a + (uint32_t)i]];
    if (!rf__pickle_is(p, p->item[t->a], "storage") || v[1]->kind != RF_PICKLE_GLOBAL || !rf__pickle_dtype(v[1]) ||
        v[2]->kind != RF_PICKLE_TEXT || v[4]->kind != RF_PICKLE_WHOLE || v[4]->n < 0 ||
        (t->n == 6 && v[5]->kind != RF_PICKLE_NONE))
        return broken(m, "a reference that is no storage");
    const rf__pickle_value made = {
        .kind = RF_PICKLE_STORAGE, .global = v[1]->global, .a = p->item[t->a + 2], .n = v[4]->n};
    m->height--;
    return push(m, made);
}

static bool is_member(const rf__pickle *p, const rf__pickle_value *tuple, int64_t i, rf__pickle_kind kind)
{
    return i < tuple->n && p->value[p->item[tuple->a + (uint32_t)i]].kind == kind;
}

/* callable, arguments -> the value that they create */
static rf_status reduce(struct machine *m)
{
    const rf__pickle *p = m->p;
    const rf__pickle_value *with = top(m, 0), *call = top(m, 1);
    if (!is_a(with, RF_PICKLE_TUPLE) || !is_a(call, RF_PICKLE_GLOBAL))
        return broken(m, "a call of something that is not an object");
    const uint32_t arguments = m->stack[m->height - 1];
    const meaning is = globals[call->global].meaning;
    m->height -= 2;
    if (is == ORDERED_DICT && !with->n) return push(m, (rf__pickle_value){.kind = RF_PICKLE_DICT});
    if (is == REBUILD_PARAMETER && is_member(p, with, 0, RF_PICKLE_TENSOR)) return push_index(m, p->item[with->a]);
    if (is == REBUILD_TENSOR && is_member(p, with, 0, RF_PICKLE_STORAGE) && is_member(p, with, 1, RF_PICKLE_WHOLE) &&
        is_member(p, with, 2, RF_PICKLE_TUPLE) && is_member(p, with, 3, RF_PICKLE_TUPLE))
        return push(m, (rf__pickle_value){.kind = RF_PICKLE_TENSOR, .a = arguments});
    return broken(m, "arguments that do not make the object");
}

/* Attributes of an OrderedDict besides its members (_metadata: versions of modules) are not used. */
static rf_status build(struct machine *m)
{
    if (!top(m, 0) || !is_a(top(m, 1), RF_PICKLE_DICT)) return broken(m, "attributes for something that is not a dict");
    m->height--;
    return RF_OK;
}

static rf_status unknown(struct machine *m, unsigned opcode)
{
    return rf_fail(m->why, RF_EUNSUPPORTED,
                   "%s: refused: opcode 0x%02x at byte %zu, which torch.save does not write; nothing was executed",
                   m->name, opcode, m->base + m->opcode);
}

static rf_status protocol(struct machine *m)
{
    const unsigned char *version = take(m, 1);
    if (!version) return m->why->code;
    return *version == 2 ? RF_OK
                         : rf_fail(m->why, RF_EUNSUPPORTED,
                                   "%s: refused: pickle protocol: expected 2, the default of torch.save, got %d",
                                   m->name, *version);
}

static rf_status step(struct machine *m, unsigned opcode)
{
    switch (opcode) {
    case 0x80: return protocol(m);
    case '(': return push_index(m, (uint32_t)MARK);
    case 'c': return global(m);
    case 'Q': return storage(m);
    case 'R': return reduce(m);
    case 'b': return build(m);
    case 'q':
    case 'r':
    case 'h':
    case 'j': return memo(m, opcode);
    case 'N':
    case 0x88:
    case 0x89:
    case 'K':
    case 'M':
    case 'J':
    case 0x8a:
    case 'G':
    case 'X': return plain(m, opcode);
    case ')':
    case 0x85:
    case 0x86:
    case 0x87:
    case 't':
    case ']':
    case '}':
    case 'a':
    case 's':
    case 'e':
    case 'u': return containers(m, opcode);
    default: return unknown(m, opcode);
    }
}

static rf_status run(struct machine *m)
{
    rf_status status = RF_OK;
    while (!status) {
        m->opcode = m->at;
        const unsigned char *opcode = take(m, 1);
        if (!opcode) return m->why->code;
        if (*opcode == '.') break;
        if (!m->opcode && *opcode != 0x80) return broken(m, "not a pickle: another byte than 0x80");
        status = step(m, *opcode);
    }
    if (status) return status;
    if (m->height != 1 || !top(m, 0)) return broken(m, "the pickle ends with other than one value");
    m->p->root = m->stack[0];
    m->p->size = m->at;
    return RF_OK;
}

rf_status rf__pickle_read(const rf_ctx *ctx, const unsigned char *data, size_t size, const char *name, size_t base,
                          rf__pickle *out, rf_error *why)
{
    *out = (rf__pickle){.data = data};
    struct machine m = {.ctx = ctx, .data = data, .name = name, .base = base, .p = out, .why = why};
    m.size = size < MAX_PICKLE ? size : MAX_PICKLE;
    const rf_status status = run(&m);
    rf__free(ctx, m.stack);
    rf__free(ctx, m.memo);
    return status;
}

void rf__pickle_clear(const rf_ctx *ctx, rf__pickle *p)
{
    rf__free(ctx, p->value);
    rf__free(ctx, p->item);
    rf__free(ctx, p->cell);
    *p = (rf__pickle){0};
}

const char *rf__pickle_dtype(const rf__pickle_value *v) { return globals[v->global].dtype; }

bool rf__pickle_is(const rf__pickle *p, uint32_t text, const char *word)
{
    const rf__pickle_value *v = &p->value[text];
    return v->kind == RF_PICKLE_TEXT && same((const char *)p->data + v->a, v->b, word);
}
