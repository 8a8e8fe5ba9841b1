/* spm_model.c — reading a SentencePiece model: a protobuf message, ModelProto of sentencepiece_model.proto.
 *
 *     1 pieces*            1 piece (name)  2 score  3 type
 *     2 trainer_spec       3 model_type  24 treat_whitespace_as_suffix  35 byte_fallback  44 unk_surface
 *                          45 46 47 48 unk_piece ...; its other fields only describe training
 *     3 normalizer_spec    2 precompiled_charsmap  3 add_dummy_prefix  4 remove_extra_whitespaces
 *                          5 escape_whitespaces
 *     4 self_test_data     ignored
 *     5 denormalizer_spec  as 3
 *
 * As in protobuf, the last occurrence of a repeated scalar field counts, and messages are merged.  Fields from 200 on
 * are extensions without effect.  Any other unknown field is rejected, because it might change the result.
 * */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/json.h"
#include "base/protobuf.h"
#include "roformer/tokenizer.h"
#include "spm_model.h"

enum { LONGEST_PIECE = 8000, MOST_PIECES = 1 << 24, MOST_NESTED = 64, MOST_GROWTH = 256, EXTENSIONS = 200 };

/* The model that is being read, and the current part of it, for messages. */
typedef struct reader {
    rf__spm *m;
    const char *name;
    char part[64];
    size_t pieces, bytes;               /* their number; size of all names, each with a zero                          */
    char *free;                         /* where the next name goes                                                   */
    rf_error *why;
} reader;

typedef rf_status take_field(reader *r, const rf__field *f, void *message);

static rf_status no_memory(reader *r)
{
    return rf_fail(r->why, RF_ENOMEM, "%s: out of memory for its pieces", r->name);
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

static rf_status each_field(reader *r, const unsigned char *data, size_t size, take_field *take, void *message)
{
    rf__wire w = {data, size, 0};
    rf__field f;
    const char *fault;
    size_t at = 0;
    for (; rf__wire_next(&w, &f, &fault); at = w.at) {
        if (f.number >= EXTENSIONS) continue;
        const rf_status status = take(r, &f, message);
        if (status) return status;
    }
    if (!fault) return RF_OK;
    return rf_fail(r->why, RF_EDATA, "%s: SentencePiece model: %s, byte %zu of %zu: %s; the file is damaged, or no "
                   "such model", r->name, r->part, at, size, fault);
}

/* Whether the field has the type that the format specifies. */
static rf_status expect(reader *r, const rf__field *f, rf__wire_type type, const char *field)
{
    if (f->type == type) return RF_OK;
    return rf_fail(r->why, RF_EDATA, "%s: SentencePiece model: %s: %s: expected wire type %d, got %d", r->name, r->part,
                   field, (int)type, (int)f->type);
}

static rf_status unknown_field(reader *r, const rf__field *f)
{
    return rf_fail(r->why, RF_EUNSUPPORTED, "%s: SentencePiece model: %s: expected fields of SentencePiece 0.2.3, got "
                   "field %u, which may change what text becomes", r->name, r->part, (unsigned)f->number);
}

static rf_status take_flag(reader *r, const rf__field *f, const char *field, bool *out)
{
    *out = f->value != 0;
    return expect(r, f, RF_WIRE_VARINT, field);
}

/* A string, which must be UTF-8 without zeros. */
static rf_status take_text(reader *r, const rf__field *f, const char *field, char **out)
{
    const rf_status status = expect(r, f, RF_WIRE_LENGTH, field);
    if (status) return status;
    const char *text = (const char *)f->data;
    if (memchr(text, 0, f->size) || rf_utf8_check(text, f->size) != f->size)
        return rf_fail(r->why, RF_EDATA, "%s: SentencePiece model: %s: %s: expected UTF-8 without zeros", r->name,
                       r->part, field);
    char *copy = rf__alloc(r->m->ctx, f->size + 1);
    if (!copy) return no_memory(r);
    memcpy(copy, text, f->size);
    copy[f->size] = 0;
    rf__free(r->m->ctx, *out);
    *out = copy;
    return RF_OK;
}

/* ---- settings ---------------------------------------------------------------------------------------------------- */

/* Fields of TrainerSpec that only describe how the model was trained. */
static bool of_learning(uint32_t number)
{
    static const uint8_t range[][2] = {{1, 2}, {4, 7}, {10, 23}, {25, 26}, {30, 34}, {36, 36}, {40, 43}, {49, 55}};
    for (size_t i = 0; i < RF_COUNT(range); i++)
        if (number >= range[i][0] && number <= range[i][1]) return true;
    return false;
}

static rf_status take_kind(reader *r, const rf__field *f)
{
    rf_status status = expect(r, f, RF_WIRE_VARINT, "model_type");
    if (!status && (f->value < RF_SPM_UNIGRAM || f->value > RF_SPM_CHAR))
        status = rf_fail(r->why, RF_EDATA, "%s: SentencePiece model: trainer_spec: model_type: expected 1 (unigram), 2 "
                         "(BPE), 3 (words) or 4 (characters), got %llu", r->name, (unsigned long long)f->value);
    if (!status) r->m->kind = (rf__spm_kind)f->value;
    return status;
}

static rf_status take_trainer(reader *r, const rf__field *f, void *message)
{
    rf__spm *m = message;
    switch (f->number) {
    case 3: return take_kind(r, f);
    case 24: return take_flag(r, f, "treat_whitespace_as_suffix", &m->blank_behind);
    case 35: return take_flag(r, f, "byte_fallback", &m->byte_fallback);
    case 44: return take_text(r, f, "unk_surface", &m->unk_surface);
    case 45: return take_text(r, f, "unk_piece", &m->role[RF_SPM_UNK]);
    case 46: return take_text(r, f, "bos_piece", &m->role[RF_SPM_BOS]);
    case 47: return take_text(r, f, "eos_piece", &m->role[RF_SPM_EOS]);
    case 48: return take_text(r, f, "pad_piece", &m->role[RF_SPM_PAD]);
    default: return of_learning(f->number) ? RF_OK : unknown_field(r, f);
    }
}

static rf_status take_map(reader *r, const rf__field *f, rf__charsmap *map)
{
    char where[1024];
    rf_status status = expect(r, f, RF_WIRE_LENGTH, "precompiled_charsmap");
    if (status) return status;
    rf__charsmap_clear(r->m->ctx, map);
    if (!f->size) return RF_OK;
    snprintf(where, sizeof where, "%.900s: SentencePiece model: %s: precompiled_charsmap", r->name, r->part);
    status = rf__charsmap_read(map, r->m->ctx, f->data, f->size, where, r->why);
    if (status || map->longest <= MOST_GROWTH) return status;
    return rf_fail(r->why, RF_EUNSUPPORTED, "%s: expected texts of at most %d bytes, got one of %zu", where,
                   MOST_GROWTH, map->longest);
}

/* A flag of Marian's fork of SentencePiece, which other programs pass over: false is what they do. */
static rf_status take_case(reader *r, const rf__field *f, const char *what)
{
    const rf_status status = expect(r, f, RF_WIRE_VARINT, what);
    if (status || !f->value) return status;
    return rf_fail(r->why, RF_EUNSUPPORTED, "%s: SentencePiece model: %s: %s: expected false, got true; the case codes "
                   "of Marian's fork of SentencePiece are not supported", r->name, r->part, what);
}

static rf_status take_rules(reader *r, const rf__field *f, void *message)
{
    rf__spm_rules *rules = message;
    switch (f->number) {
    case 1: return expect(r, f, RF_WIRE_LENGTH, "name");
    case 2:
        rules->raw = f->data;
        rules->raw_size = f->size;
        return take_map(r, f, &rules->map);
    case 3: return take_flag(r, f, "add_dummy_prefix", &rules->dummy_prefix);
    case 4: return take_flag(r, f, "remove_extra_whitespaces", &rules->remove_extra);
    case 5: return take_flag(r, f, "escape_whitespaces", &rules->escape);
    case 6: return expect(r, f, RF_WIRE_LENGTH, "normalization_rule_tsv");   /* from which the map is built */
    case 7: return take_case(r, f, "encode_case");
    case 8: return take_case(r, f, "decode_case");
    default: return unknown_field(r, f);
    }
}

/* ---- pieces ------------------------------------------------------------------------------------------------------ */

typedef struct piece_fields { const unsigned char *name; size_t size; float score; uint64_t type; } piece_fields;

static rf_status take_piece_field(reader *r, const rf__field *f, void *message)
{
    piece_fields *p = message;
    const uint32_t bits = (uint32_t)f->value;
    switch (f->number) {
    case 1:
        p->name = f->data;
        p->size = f->size;
        return expect(r, f, RF_WIRE_LENGTH, "piece");
    case 2:
        memcpy(&p->score, &bits, sizeof bits);
        return expect(r, f, RF_WIRE_4_BYTES, "score");
    case 3:
        p->type = f->value;
        return expect(r, f, RF_WIRE_VARINT, "type");
    default: return unknown_field(r, f);
    }
}

/* The error in a piece; NULL: none. */
static const char *fault_of(const piece_fields *p)
{
    const char *name = (const char *)p->name;
    const bool zero = p->size == 1 && !*name && p->type == RF_PIECE_UNUSED;            /* some models have it         */
    if (p->type < RF_PIECE_NORMAL || p->type > RF_PIECE_BYTE) return "expected a type from 1 to 6";
    if (!p->size) return "expected a text, got an empty one";
    if (p->size >= LONGEST_PIECE) return "expected a text of less than 8,000 bytes";
    if (!zero && memchr(name, 0, p->size)) return "expected a text without zeros";
    if (rf_utf8_check(name, p->size) != p->size) return "expected a text of UTF-8";
    return isfinite(p->score) ? NULL : "expected a score that is a number";
}

static rf_status read_piece(reader *r, const rf__field *f, piece_fields *p)
{
    *p = (piece_fields){.type = RF_PIECE_NORMAL};
    snprintf(r->part, sizeof r->part, "pieces[%zu]", r->pieces);
    rf_status status = expect(r, f, RF_WIRE_LENGTH, "pieces");
    if (!status) status = each_field(r, f->data, f->size, take_piece_field, p);
    const char *fault = status ? NULL : fault_of(p);
    if (fault) status = rf_fail(r->why, RF_EDATA, "%s: SentencePiece model: %s: %s", r->name, r->part, fault);
    return status;
}

/* First pass over the message: reads settings, checks and counts pieces. */
static rf_status take_all_but_pieces(reader *r, const rf__field *f, void *message)
{
    rf__spm *m = message;
    piece_fields p;
    rf_status status;
    switch (f->number) {
    case 1:
        if (r->pieces == MOST_PIECES)
            return rf_fail(r->why, RF_EUNSUPPORTED, "%s: SentencePiece model: more than %d pieces", r->name,
                           MOST_PIECES);
        status = read_piece(r, f, &p);
        r->pieces++;
        r->bytes += p.size + 1;
        break;
    case 2:
        snprintf(r->part, sizeof r->part, "trainer_spec");
        status = expect(r, f, RF_WIRE_LENGTH, "trainer_spec");
        return status ? status : each_field(r, f->data, f->size, take_trainer, m);
    case 3:
        snprintf(r->part, sizeof r->part, "normalizer_spec");
        status = expect(r, f, RF_WIRE_LENGTH, "normalizer_spec");
        return status ? status : each_field(r, f->data, f->size, take_rules, &m->normal);
    case 4: return RF_OK;
    case 5:
        snprintf(r->part, sizeof r->part, "denormalizer_spec");
        status = expect(r, f, RF_WIRE_LENGTH, "denormalizer_spec");
        return status ? status : each_field(r, f->data, f->size, take_rules, &m->denormal);
    default: snprintf(r->part, sizeof r->part, "the model"); return unknown_field(r, f);
    }
    return status;
}

/* ---- pieces by name ---------------------------------------------------------------------------------------------- */

static size_t slot_of(const rf__spm *m, const char *name, size_t size)
{
    size_t i = (size_t)rf__hash64(name, size, 0) & m->mask;
    for (; m->table[i] >= 0; i = (i + 1) & m->mask) {
        const rf__spm_piece_row *p = &m->piece[m->table[i]];
        if (p->size == size && !memcmp(p->name, name, size)) break;
    }
    return i;
}

int32_t rf__spm_find(const rf__spm *m, const char *name, size_t size) { return m->table[slot_of(m, name, size)]; }

int32_t rf__spm_piece_of(const rf__spm *m, const char *text, size_t size)
{
    const int32_t id = rf__spm_find(m, text, size);
    return id >= 0 && m->piece[id].type != RF_PIECE_CONTROL ? id : m->unk;
}

static rf_status twice(reader *r, int32_t id, const char *what)
{
    return rf_fail(r->why, RF_EDATA, "%s: SentencePiece model: pieces[%d], \"%.60s\": %s", r->name, (int)id,
                   rf__printable(r->m->piece[id].name).text, what);
}

int rf__spm_byte_name(const char *name, size_t size, bool lower_case)
{
    static const char digits[] = "0123456789ABCDEFabcdef";
    const size_t known = lower_case ? 22 : 16;
    if (size != 6 || memcmp(name, "<0x", 3) != 0 || name[5] != '>') return -1;
    const char *high = memchr(digits, name[3], known), *low = memchr(digits, name[4], known);
    if (!high || !low) return -1;
    const int h = (int)(high - digits), l = (int)(low - digits);
    return 16 * (h < 16 ? h : h - 6) + (l < 16 ? l : l - 6);
}

static int byte_of(const rf__spm_piece_row *p) { return rf__spm_byte_name(p->name, p->size, false); }

int rf__spm_byte(const rf__spm *m, int32_t id)
{
    return m->piece[id].type == RF_PIECE_BYTE ? byte_of(&m->piece[id]) : -1;
}

/* User-defined symbols that begin with each other may be nested up to MOST_NESTED deep. */
static rf_status add_user_symbol(reader *r, int32_t id)
{
    rf__spm *m = r->m;
    const rf__spm_piece_row *p = &m->piece[id];
    m->has_users = true;
    return rf__trie_add(&m->users, m->ctx, p->name, p->size, id) ? RF_OK : no_memory(r);
}

static rf_status check_nesting(reader *r)
{
    const rf__spm *m = r->m;
    for (int32_t id = 0; id < m->n && m->has_users; id++) {
        const rf__spm_piece_row *p = &m->piece[id];
        uint32_t node = 0;
        int begun = 0;
        if (p->type != RF_PIECE_USER_DEFINED) continue;
        for (size_t at = 0; at < p->size;)
            begun += rf__trie_step(&m->users, &node, rf__utf8_get((const unsigned char *)p->name, &at)) >= 0;
        if (begun > MOST_NESTED) return twice(r, id, "expected at most 64 user-defined symbols that it begins with");
    }
    return RF_OK;
}

static rf_status add_by_type(reader *r, int32_t id)
{
    rf__spm *m = r->m;
    const rf__spm_piece_row *p = &m->piece[id];
    const int byte = byte_of(p);
    switch ((rf__piece_type)p->type) {
    case RF_PIECE_NORMAL:
        if (p->score < m->lowest) m->lowest = p->score;
        if (p->score > m->highest) m->highest = p->score;
        break;
    case RF_PIECE_USER_DEFINED: return add_user_symbol(r, id);
    case RF_PIECE_UNUSED: m->has_unused = true; break;
    case RF_PIECE_UNKNOWN:
        if (m->unk >= 0) return twice(r, id, "expected one piece of type 2 (unknown), got a second one");
        m->unk = id;
        break;
    case RF_PIECE_BYTE:
        if (!m->byte_fallback) return twice(r, id, "a piece of type 6 (byte) although byte_fallback is false");
        if (byte < 0) return twice(r, id, "expected <0x00> to <0xFF>, as its type is 6 (byte)");
        m->byte[byte] = id;
        break;
    case RF_PIECE_CONTROL: break;
    }
    return RF_OK;
}

/* Second pass: reads pieces.  The table has enough space. */
static rf_status take_pieces(reader *r, const rf__field *f, void *message)
{
    rf__spm *m = message;
    piece_fields p;
    if (f->number != 1) return RF_OK;
    rf_status status = read_piece(r, f, &p);
    if (status) return status;
    const int32_t id = (int32_t)r->pieces++;
    rf__spm_piece_row *row = &m->piece[id];
    memcpy(r->free, p.name, p.size);
    r->free[p.size] = 0;
    *row = (rf__spm_piece_row){r->free, p.score, (uint16_t)p.size, (uint8_t)p.type};
    r->free += p.size + 1;
    if (!*row->name) return RF_OK;                                  /* the zero, which no text contains               */
    const size_t slot = slot_of(m, row->name, row->size);
    if (m->table[slot] >= 0) return twice(r, id, "expected one piece of this text, got a second one");
    m->table[slot] = id;
    return add_by_type(r, id);
}

static bool make_space(reader *r)
{
    rf__spm *m = r->m;
    size_t slots = 16;
    while (slots < 2 * r->pieces) slots *= 2;
    m->n = (int32_t)r->pieces;
    m->mask = slots - 1;
    m->piece = rf__calloc(m->ctx, r->pieces, sizeof *m->piece);
    m->names = r->free = rf__alloc(m->ctx, r->bytes);
    m->table = rf__alloc(m->ctx, slots * sizeof *m->table);
    if (!m->piece || !m->names || !m->table || !rf__trie_begin(&m->users, m->ctx) ||
        !rf__trie_begin(&m->trie, m->ctx))
        return false;
    for (size_t i = 0; i < slots; i++) m->table[i] = -1;
    return true;
}

/* Unigram: the pieces that text becomes, without unused ones. */
static rf_status make_trie(reader *r)
{
    rf__spm *m = r->m;
    int32_t any = 0;
    for (int32_t id = 0; id < m->n; id++) {
        const rf__spm_piece_row *p = &m->piece[id];
        if (!rf__spm_of_text(m, id) || !*p->name) continue;
        any++;
        if (p->type != RF_PIECE_UNUSED && !rf__trie_add(&m->trie, m->ctx, p->name, p->size, id)) return no_memory(r);
    }
    if (any) return RF_OK;
    return rf_fail(r->why, RF_EDATA, "%s: SentencePiece model: expected pieces that text becomes, got none", r->name);
}

/* Checks of all pieces together. */
static rf_status check_all(reader *r)
{
    const rf__spm *m = r->m;
    if (m->unk < 0)
        return rf_fail(r->why, RF_EDATA, "%s: SentencePiece model: expected a piece of type 2 (unknown), got none",
                       r->name);
    for (int i = 0; i < 256 && m->byte_fallback; i++)
        if (m->byte[i] < 0)
            return rf_fail(r->why, RF_EDATA, "%s: SentencePiece model: byte_fallback: expected a piece <0x%02X> of "
                           "type 6 (byte), got none", r->name, (unsigned)i);
    return check_nesting(r);
}

/* ---- making one -------------------------------------------------------------------------------------------------- */

static rf_status read_all(reader *r, const unsigned char *data, size_t size)
{
    rf__spm *m = r->m;
    snprintf(r->part, sizeof r->part, "the file");
    rf_status status = each_field(r, data, size, take_all_but_pieces, m);
    if (status) return status;
    if (!r->pieces)
        return rf_fail(r->why, RF_EDATA, "%s: SentencePiece model: expected pieces, got none", r->name);
    if (!make_space(r)) return no_memory(r);
    r->pieces = 0;
    status = each_field(r, data, size, take_pieces, m);
    if (!status) status = check_all(r);
    if (!status && m->kind == RF_SPM_UNIGRAM) status = make_trie(r);
    m->denormalizes = m->denormal.map.unit != NULL;
    return status;
}

static bool defaults(rf__spm *m)
{
    static const char *const name[4] = {"<unk>", "<s>", "</s>", "<pad>"};
    if (!m->unk_surface) m->unk_surface = rf__strdup(m->ctx, " \xE2\x81\x87 ");
    bool good = m->unk_surface;
    for (int i = 0; i < 4; i++) {
        if (m->role[i] && *m->role[i]) continue;
        rf__free(m->ctx, m->role[i]);
        good &= (m->role[i] = rf__strdup(m->ctx, name[i])) != NULL;
    }
    return good;
}

rf_status rf__spm_load(const rf_ctx *ctx, const void *data, size_t size, const char *name, rf__spm **out, rf_error *why)
{
    const rf__spm_rules usual = {.dummy_prefix = true, .remove_extra = true, .escape = true};
    rf__spm *m = rf__calloc(ctx, 1, sizeof *m);
    reader r = {.m = m, .name = name, .why = why};
    if (!m) return no_memory(&r);
    m->ctx = ctx;
    m->kind = RF_SPM_UNIGRAM;
    m->unk = -1;
    m->lowest = FLT_MAX;
    m->highest = FLT_MIN;                                           /* as in the library                              */
    m->normal = m->denormal = usual;
    for (int i = 0; i < 256; i++) m->byte[i] = -1;
    rf_status status = read_all(&r, data, size);
    if (!status && !defaults(m)) status = no_memory(&r);
    if (status) rf__spm_free(m);
    else *out = m;
    return status;
}

void rf__spm_free(rf__spm *m)
{
    if (!m) return;
    for (int i = 0; i < 4; i++) rf__free(m->ctx, m->role[i]);
    rf__free(m->ctx, m->unk_surface);
    rf__charsmap_clear(m->ctx, &m->normal.map);
    rf__charsmap_clear(m->ctx, &m->denormal.map);
    rf__trie_clear(&m->trie, m->ctx);
    rf__trie_clear(&m->users, m->ctx);
    rf__free(m->ctx, m->table);
    rf__free(m->ctx, m->names);
    rf__free(m->ctx, m->piece);
    rf__free(m->ctx, m);
}

/* ---- questions --------------------------------------------------------------------------------------------------- */

rf__spm_kind rf__spm_kind_of(const rf__spm *m) { return m->kind; }
int32_t rf__spm_size(const rf__spm *m) { return m->n; }
const char *rf__spm_piece(const rf__spm *m, int32_t id) { return m->piece[id].name; }
int32_t rf__spm_id(const rf__spm *m, const char *piece) { return rf__spm_find(m, piece, strlen(piece)); }
bool rf__spm_control(const rf__spm *m, int32_t id) { return m->piece[id].type == RF_PIECE_CONTROL; }

int32_t rf__spm_reserved(const rf__spm *m, rf__spm_role role)
{
    const int32_t found = rf__spm_id(m, m->role[role]), id = found < 0 ? m->unk : found;
    return m->piece[id].type == (role == RF_SPM_UNK ? RF_PIECE_UNKNOWN : RF_PIECE_CONTROL) ? id : -1;
}
