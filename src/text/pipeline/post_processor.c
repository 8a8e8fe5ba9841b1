/* post_processor.c — the member "post_processor" of a tokenizer.json: what is put around a text and between two, with
 * which types, and whether offsets exclude blanks.
 *
 *     null, ByteLevel      A, A B
 *     BertProcessing       cls A sep, cls A sep B sep
 *     RobertaProcessing    cls A sep, cls A sep sep B sep, all of type 0
 *     TemplateProcessing   any tokens and texts in any order
 *     Sequence             of ByteLevel and one of the others
 *
 * A template is a list of parts (rf_frame); the first special token before a text is its [CLS], the last one after it
 * its [SEP]. */
#include "text/subword/tokenizer_json.h"

static rf_status unsupported(const rf_tokenizer_folder *f, const char *what, const char *got, const char *expected)
{
    return rf_fail(f->why, RF_EUNSUPPORTED, "%s: post_processor: %s: expected %s, got %.60s", f->fast_path, what,
                   expected, got ? rf__printable(got).text : "none");
}

static rf_status no_data(const rf_tokenizer_folder *f, const char *what, const char *expected)
{
    return rf_fail(f->why, RF_EDATA, "%s: post_processor: %.60s: expected %s, got another value", f->fast_path,
                   rf__printable(what).text, expected);
}

static rf_status put_part(const rf_tokenizer_folder *f, rf_frame *to, int64_t token, int64_t type)
{
    if (to->n == RF_FRAME_PARTS)
        return unsupported(f, "template", "more", "at most 64 tokens");
    if (type < 0) return no_data(f, "type_id", "a whole number");
    to->part[to->n++] = (rf_frame_part){(int32_t)token, (int32_t)type};
    return RF_OK;
}

/* ---- templates --------------------------------------------------------------------------------------------------- */

static const char *member_text(const json_t *x, const char *key) { return json_string_value(json_object_get(x, key)); }

/* A special token of a template becomes the ids that the template's own list gives it. */
static rf_status put_special(const rf_tokenizer_folder *f, const json_t *list, const json_t *x, rf_frame *to)
{
    const char *name = member_text(x, "id");
    const int64_t type = rf__whole_number(json_object_get(x, "type_id"));
    const json_t *special = json_object_get(list, name ? name : ""), *id;
    size_t i;
    json_array_foreach(list, i, id) {                              /* an older form: a list                          */
        const char *one = member_text(id, "id");
        if (one && name && !strcmp(one, name)) special = id;
    }
    const json_t *ids = json_object_get(special, "ids");
    rf_status status = RF_OK;
    if (!json_is_array(ids)) return no_data(f, name ? name : "SpecialToken", "its ids in special_tokens");
    json_array_foreach(ids, i, id) {
        const int64_t token = rf__whole_number(id);
        if (token < 0) return no_data(f, name, "ids from 0 on");
        if (!status) status = put_part(f, to, token, type);
    }
    return status;
}

static rf_status read_template(rf_tokenizer_folder *f, const json_t *x, const char *key, rf_frame *to)
{
    const json_t *list = json_object_get(x, key), *specials = json_object_get(x, "special_tokens"), *part;
    const bool pair = to == &f->parts.frame[1];
    bool has[2] = {false, false};
    rf_status status = RF_OK;
    size_t i;
    json_array_foreach(list, i, part) {
        const json_t *text = json_object_get(part, "Sequence");
        const char *name = member_text(text, "id");
        const bool b = name && !strcmp(name, "B");
        if (text && (!name || (strcmp(name, "A") != 0 && !(b && pair))))
            return no_data(f, key, pair ? "the texts A and B" : "the text A");
        has[b] |= text != NULL;
        if (!status)
            status = text ? put_part(f, to, b ? RF_FRAME_B : RF_FRAME_A,
                                     rf__whole_number(json_object_get(text, "type_id")))
                          : put_special(f, specials, json_object_get(part, "SpecialToken"), to);
    }
    if (status) return status;
    return has[0] && has[1] == pair ? RF_OK : no_data(f, key, pair ? "the texts A and B" : "the text A");
}

/* ---- the other forms --------------------------------------------------------------------------------------------- */

static int64_t id_at(const json_t *x, const char *key)
{
    return rf__whole_number(json_array_get(json_object_get(x, key), 1));
}

/* cls A sep, and cls A sep B sep with one more sep between them in RoBERTa. */
static rf_status read_ends(rf_tokenizer_folder *f, const json_t *x, bool roberta)
{
    const int64_t cls = id_at(x, "cls"), sep = id_at(x, "sep");
    rf_status status = RF_OK;
    if (cls < 0) return no_data(f, "cls", "a token and its id");
    if (sep < 0) return no_data(f, "sep", "a token and its id");
    for (int pair = 0; pair < 2; pair++) {
        const int64_t part[][2] = {{cls, 0}, {RF_FRAME_A, 0},        {sep, 0},
                                   {sep, 0}, {RF_FRAME_B, !roberta}, {sep, !roberta}};
        const size_t n = pair ? RF_COUNT(part) : 3;
        for (size_t i = 0; i < n && !status; i++)
            if (i != 3 || roberta) status = put_part(f, &f->parts.frame[pair], part[i][0], part[i][1]);
    }
    return status;
}

/* Whether offsets exclude blanks; RobertaProcessing and ByteLevel specify it. */
static rf_status read_trim(rf_tokenizer_folder *f, const json_t *x)
{
    if (!json_is_true(json_object_get(x, "trim_offsets"))) return RF_OK;
    if (f->parts.trims) return unsupported(f, "trim_offsets", "true again", "true once");
    f->parts.trims = true;
    f->parts.trims_first = json_is_true(json_object_get(x, "add_prefix_space"));
    return RF_OK;
}

/* The type, or what the members of a processor without one imply. */
static const char *type_of(const json_t *x)
{
    const char *type = member_text(x, "type");
    if (type || !json_object_get(x, "sep") || !json_object_get(x, "cls")) return type;
    return json_object_get(x, "trim_offsets") && json_object_get(x, "add_prefix_space") ? "RobertaProcessing"
                                                                                       : "BertProcessing";
}

static rf_status read_one(rf_tokenizer_folder *f, const json_t *x, int depth)
{
    const char *type = type_of(x);
    size_t i;
    json_t *one;
    rf_status status = RF_OK;
    if (type && !strcmp(type, "ByteLevel")) return read_trim(f, x);
    if (type && !strcmp(type, "Sequence") && depth < 8) {
        json_array_foreach(json_object_get(x, "processors"), i, one) if (!status) status = read_one(f, one, depth + 1);
        return status;
    }
    if (f->parts.frame[0].n)
        return unsupported(f, "Sequence", type, "only one processor that adds tokens");
    if (type && !strcmp(type, "TemplateProcessing")) {
        status = read_template(f, x, "single", &f->parts.frame[0]);
        return status ? status : read_template(f, x, "pair", &f->parts.frame[1]);
    }
    const bool roberta = type && !strcmp(type, "RobertaProcessing");
    if (!roberta && !(type && !strcmp(type, "BertProcessing")))
        return unsupported(f, "type", type,
                           "TemplateProcessing, BertProcessing, RobertaProcessing, ByteLevel or Sequence");
    status = read_ends(f, x, roberta);
    return status || !roberta ? status : read_trim(f, x);
}

/* ---- what is where ----------------------------------------------------------------------------------------------- */

/* The name of a token; NULL: none has the id. */
static const char *name_of(const rf_tokenizer_folder *f, const hf_tokenizer *t, int32_t id)
{
    size_t i;
    json_t *x;
    if (id < t->pieces.n && t->pieces.token[id]) return t->pieces.token[id];
    json_array_foreach(json_object_get(f->fast, "added_tokens"), i, x)
        if (rf__whole_number(json_object_get(x, "id")) == id) return member_text(x, "content");
    return NULL;
}

/* [CLS], [SEP] and where they are, for callers that put texts together themselves. */
static void name_specials(rf_tokenizer_folder *f, const hf_tokenizer *t)
{
    rf_tokenizer_parts *p = &f->parts;
    const rf_frame_part *one = p->frame[0].part;
    size_t a = 0;
    const size_t n = p->frame[0].n;
    while (one[a].token != RF_FRAME_A) a++;
    const char *first = a ? name_of(f, t, one[0].token) : NULL;
    const char *last = n > a + 1 && one[n - 1].token >= 0 ? name_of(f, t, one[n - 1].token) : NULL;
    if (first) p->special[RF_CLS] = first;
    if (last) p->special[RF_SEP] = last;
    p->bare = !a && n == a + 1;
    p->ends_alone = !a;
    p->open_end = n == a + 1;
    if (p->ends_alone && !p->bare) p->special[RF_CLS] = p->special[RF_SEP];
    p->one_type = true;
    for (int pair = 0; pair < 2; pair++)
        for (size_t i = 0; i < p->frame[pair].n; i++) p->one_type &= !p->frame[pair].part[i].type;
}

rf_status rf__hf_read_frame(rf_tokenizer_folder *f, hf_tokenizer *t, const json_t *x)
{
    rf_frame *frame = f->parts.frame;
    f->parts.hidden = true;
    rf_status status = !x || json_is_null(x) ? RF_OK : read_one(f, x, 0);
    for (int pair = 0; pair < 2 && !status && !frame[pair].n; pair++) {
        status = put_part(f, &frame[pair], RF_FRAME_A, 0);
        if (!status && pair) status = put_part(f, &frame[pair], RF_FRAME_B, 1);
    }
    if (!status) name_specials(f, t);
    return status;
}
