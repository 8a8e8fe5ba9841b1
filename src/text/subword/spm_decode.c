/* spm_decode.c — pieces of a SentencePiece model to text.
 *
 * U+2581 becomes a blank, except at the beginning of the text (add_dummy_prefix: the first one;
 * remove_extra_whitespaces: those of all leading pieces).  Control pieces give no text, and the unknown piece gives
 * unk_surface.  Consecutive byte pieces become their characters, with U+FFFD for each byte that belongs to none.  Then
 * the denormalizer follows.                                                                                          */
#include "roformer/tokenizer.h"
#include "spm_model.h"

typedef struct text { const rf_ctx *ctx; char *at; size_t n, capacity; } text;

static bool append(text *t, const char *data, size_t size)
{
    if (!rf__grow(t->ctx, &t->at, &t->capacity, t->n + size + 1, 1)) return false;
    memcpy(t->at + t->n, data, size);
    t->n += size;
    return true;
}

/* A piece with blanks. */
static bool append_piece(text *t, const char *piece, size_t size)
{
    for (size_t from = 0, at = 0; at <= size; at++) {
        const bool blank = size - at >= 3 && !memcmp(piece + at, RF__BLANK, 3);
        if (!blank && at < size) continue;
        if (!append(t, piece + from, at - from) || (blank && !append(t, " ", 1))) return false;
        from = blank ? at + 3 : at;
        at += blank ? 2 : 0;
    }
    return true;
}

/* Whether bytes form characters that UTF-8 does not allow. */
static bool append_bytes(text *t, text *bytes)
{
    for (size_t at = 0; at < bytes->n;) {
        size_t size = 1;
        while (size < 4 && at + size < bytes->n && ((unsigned char)bytes->at[at + size] & 0xC0) == 0x80) size++;
        const size_t good = rf_utf8_check(bytes->at + at, size);
        if (!append(t, good ? bytes->at + at : "\xEF\xBF\xBD", good ? good : 3)) return false;
        at += good ? good : 1;
    }
    bytes->n = 0;
    return true;
}

/* State of the decoded text. */
typedef struct decoding {
    const rf__spm *m;
    text out, bytes;
    bool begins, blank;                 /* still empty; the last piece began with the blank that is removed           */
} decoding;

/* A piece by its name; id -1 if the model does not have it. */
static bool decode_one(decoding *d, const char *name, size_t size, int32_t id)
{
    const rf__spm *m = d->m;
    const int byte = id < 0 ? -1 : rf__spm_byte(m, id);
    if (byte >= 0) return append(&d->bytes, &(char){(char)byte}, 1);
    if (!append_bytes(&d->out, &d->bytes)) return false;
    if (d->blank || d->out.n) d->begins = false;
    d->blank = false;
    if (id < 0) return append(&d->out, name, size);
    if (m->piece[id].type == RF_PIECE_CONTROL) return true;
    if (id == m->unk) return append(&d->out, m->unk_surface, strlen(m->unk_surface));
    if (d->begins && (m->normal.dummy_prefix || m->normal.remove_extra) && size >= 3 && !memcmp(name, RF__BLANK, 3)) {
        name += 3;
        size -= 3;
        d->blank = !m->normal.remove_extra;
    }
    return append_piece(&d->out, name, size);
}

static bool finish(decoding *d, bool good, rf__spm_take *take, void *user)
{
    rf__spm_text plain = {.ctx = d->m->ctx};
    good = good && append_bytes(&d->out, &d->bytes);
    if (good && d->m->denormalizes && d->out.n) {
        good = rf__spm_normalize(NULL, &d->m->denormal, d->out.at, d->out.n, &plain) && take(user, plain.at, plain.n);
    } else if (good) {
        good = take(user, d->out.n ? d->out.at : "", d->out.n);
    }
    rf__free(plain.ctx, plain.at);
    rf__free(plain.ctx, plain.from);
    rf__free(plain.ctx, d->out.at);
    rf__free(plain.ctx, d->bytes.at);
    return good;
}

static decoding begin(const rf__spm *m)
{
    return (decoding){.m = m, .out.ctx = m->ctx, .bytes.ctx = m->ctx, .begins = true};
}

bool rf__spm_decode(const rf__spm *m, const int32_t *id, size_t n, rf__spm_take *take, void *user)
{
    decoding d = begin(m);
    bool good = true;
    for (size_t i = 0; i < n && good; i++) good = decode_one(&d, m->piece[id[i]].name, m->piece[id[i]].size, id[i]);
    return finish(&d, good, take, user);
}

bool rf__spm_join(const rf__spm *m, const char *const *piece, size_t n, rf__spm_take *take, void *user)
{
    decoding d = begin(m);
    bool good = true;
    for (size_t i = 0; i < n && good; i++) good = decode_one(&d, piece[i], strlen(piece[i]), rf__spm_id(m, piece[i]));
    return finish(&d, good, take, user);
}
