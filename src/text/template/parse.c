/* parse.c — reads a template into a tree.
 *
 * White space as in Jinja with trim_blocks and lstrip_blocks: {%- and -%} remove all of it before and after a tag; a
 * tag {% %} or {# #} otherwise removes the line end after it, and blanks before it if nothing else precedes it in its
 * line; {%+ and +%} keep them. */
#include <stdio.h>

#include "text/template/reader.h"

/* ---- expressions ------------------------------------------------------------------------------------------------- */

static rf__phrase *expression(rf__tags *p);
static rf__phrase *binary(rf__tags *p, int least);

static void append(rf__phrase ***last, rf__phrase *x)
{
    if (!x) return;
    **last = x;
    *last = &x->next;
}

/* Expressions up to a closing sign. */
static rf__phrase *list_of(rf__tags *p, const char *close)
{
    rf__phrase *first = NULL, **last = &first;
    while (!p->why->code && !rf__tags_sign(p, close)) {
        append(&last, expression(p));
        if (!rf__tags_sign(p, ",")) {
            rf__tags_need(p, close);
            break;
        }
    }
    return first;
}

/* Arguments after an opening parenthesis; those of macros have names and may have a default in a. */
static rf__phrase *arguments(rf__tags *p, bool of_macro)
{
    rf__phrase *first = NULL, **last = &first;
    char own[NAME];
    while (!p->why->code && !rf__tags_sign(p, ")")) {
        const char *before = p->at;
        rf__phrase *x = NULL;
        bool named = rf__tags_peek(p, own);
        if (named) p->at += strlen(own);
        rf__tags_skip(p);
        named = named && (of_macro || (rf__tags_begins(p, "=") && !rf__tags_begins(p, "==")));
        if (!named) p->at = before;
        if (rf__tags_sign(p, "*")) return rf__tags_wrong(p, RF_EUNSUPPORTED, "expected arguments without *");
        const bool valued = !of_macro || rf__tags_begins(p, "=");
        if (named && valued) rf__tags_need(p, "=");
        if (valued) x = expression(p);
        if (of_macro && !named) return rf__tags_wrong(p, RF_EDATA, "expected a name");
        append(&last, rf__tags_node(p, NODE_CONSTANT, named ? own : NULL, x, NULL));
        if (!rf__tags_sign(p, ",")) {
            rf__tags_need(p, ")");
            break;
        }
    }
    return first;
}

static rf__phrase *dict(rf__tags *p)
{
    rf__phrase *first = NULL, **last = &first;
    while (!p->why->code && !rf__tags_sign(p, "}")) {
        append(&last, expression(p));
        if (rf__tags_need(p, ":")) append(&last, expression(p));
        if (!rf__tags_sign(p, ",")) {
            rf__tags_need(p, "}");
            break;
        }
    }
    return rf__tags_node(p, NODE_DICT, NULL, first, NULL);
}

static rf__phrase *primary(rf__tags *p)
{
    static const char *const constants[] = {"true", "True", "false", "False", "none", "None"};
    char own[NAME];
    rf__tags_skip(p);
    if (rf__tags_quote(p)) return rf__tags_string(p);
    if (p->at < p->end && rf__tags_is_digit(*p->at)) return rf__tags_number(p);
    if (rf__tags_sign(p, "[")) return rf__tags_node(p, NODE_LIST, NULL, list_of(p, "]"), NULL);
    if (rf__tags_sign(p, "{")) return dict(p);
    if (rf__tags_sign(p, "(")) {
        if (rf__tags_sign(p, ")")) return rf__tags_node(p, NODE_LIST, NULL, NULL, NULL);
        rf__phrase *x = expression(p);
        if (!x || !rf__tags_sign(p, ",")) return rf__tags_need(p, ")") ? x : NULL;
        x->next = list_of(p, ")");
        return rf__tags_node(p, NODE_LIST, NULL, x, NULL);
    }
    if (!rf__tags_peek(p, own)) return rf__tags_wrong(p, RF_EDATA, "expected a value");
    p->at += strlen(own);
    for (size_t i = 0; i < RF_COUNT(constants); i++)
        if (!strcmp(own, constants[i]))
            return rf__tags_constant(p, NODE_CONSTANT, i < 4 ? json_boolean(i < 2) : json_null());
    return rf__tags_node(p, NODE_NAME, own, NULL, NULL);
}

static rf__phrase *subscript(rf__tags *p, rf__phrase *of)
{
    rf__phrase *part[3] = {0};
    int n = 0;
    for (;; n++) {
        rf__tags_skip(p);
        if (!rf__tags_begins(p, ":") && !rf__tags_begins(p, "]")) part[n] = expression(p);
        if (n == 2 || !rf__tags_sign(p, ":")) break;
    }
    if (!rf__tags_need(p, "]")) return NULL;
    if (!n && !part[0]) return rf__tags_wrong(p, RF_EDATA, "expected an index");
    rf__phrase *x = rf__tags_node(p, n ? NODE_SLICE : NODE_ITEM, NULL, of, part[0]);
    if (x) x->c = part[1], x->d = part[2];
    return x;
}

static rf__phrase *test(rf__tags *p, rf__phrase *of);

/* What follows a value: members, items, calls, then filters and tests. */
static rf__phrase *postfix(rf__tags *p, rf__phrase *x, bool filters)
{
    char own[NAME];
    while (x && !p->why->code) {
        if (rf__tags_sign(p, ".")) {
            rf__tags_skip(p);
            const bool digit = p->at < p->end && rf__tags_is_digit(*p->at);
            if (digit) x = rf__tags_node(p, NODE_ITEM, NULL, x, rf__tags_number(p));
            else if (rf__tags_name(p, own)) x = rf__tags_node(p, NODE_MEMBER, own, x, NULL);
        } else if (rf__tags_sign(p, "[")) x = subscript(p, x);
        else if (rf__tags_sign(p, "(")) x = rf__tags_node(p, NODE_CALL, NULL, x, arguments(p, false));
        else if (filters && rf__tags_sign(p, "|")) {
            if (!rf__tags_name(p, own)) return NULL;
            x = rf__tags_node(p, NODE_FILTER, own, x, rf__tags_sign(p, "(") ? arguments(p, false) : NULL);
        } else if (filters && rf__tags_word(p, "is")) x = test(p, x);
        else break;
    }
    return x;
}

/* The argument of a test may stand without parentheses. */
static rf__phrase *test(rf__tags *p, rf__phrase *of)
{
    static const char *const with[] = {"divisibleby", "equalto", "eq", "ne", "gt", "ge", "lt", "le", "in", "sameas"};
    char own[NAME];
    const bool no = rf__tags_word(p, "not");
    if (!rf__tags_name(p, own)) return NULL;
    rf__phrase *x = rf__tags_node(p, NODE_TEST, own, of, NULL);
    if (x && rf__tags_sign(p, "(")) x->b = list_of(p, ")");
    else
        for (size_t i = 0; x && i < RF_COUNT(with); i++)
            if (!strcmp(own, with[i])) x->b = postfix(p, primary(p), false);
    return no ? rf__tags_node(p, NODE_UNARY, "not", x, NULL) : x;
}

static rf__phrase *unary(rf__tags *p, bool filters)
{
    if (!rf__tags_enter(p)) return NULL;
    rf__phrase *x;
    if (rf__tags_sign(p, "-")) x = rf__tags_node(p, NODE_UNARY, "-", unary(p, false), NULL);
    else if (rf__tags_sign(p, "+")) x = rf__tags_node(p, NODE_UNARY, "+", unary(p, false), NULL);
    else x = primary(p);
    x = postfix(p, x, filters);
    p->depth--;
    return x;
}

/* The operator at p->at and how tightly it binds; NULL: there is none, or it binds less. */
static const char *operator_at(rf__tags *p, int least, int *binds)
{
    static const struct { const char *text; int binds; } row[] = {
        {"or", 1}, {"and", 2}, {"in", 4}, {"==", 4}, {"!=", 4}, {"<=", 4}, {">=", 4}, {"<", 4},
        {">", 4}, {"+", 5}, {"-", 5}, {"~", 6}, {"**", 9}, {"*", 7}, {"//", 7}, {"/", 7}, {"%", 7}};
    const char *before = p->at;
    if (least <= 4 && rf__tags_word(p, "not")) {
        *binds = 4;
        if (rf__tags_word(p, "in")) return "not in";
        p->at = before;
        return NULL;
    }
    for (size_t i = 0; i < RF_COUNT(row); i++) {
        *binds = row[i].binds;
        const char *text = row[i].text;
        if (!(rf__tags_is_letter(*text) ? rf__tags_word(p, text) : rf__tags_sign(p, text))) continue;
        if (*binds >= least) return text;
        p->at = before;
        return NULL;
    }
    return NULL;
}

static rf__phrase *binary(rf__tags *p, int least)
{
    int binds;
    const char *sign_of, *before = p->at;
    rf__phrase *x;
    if (!rf__tags_enter(p)) return NULL;
    if (least <= 3 && rf__tags_word(p, "not")) x = rf__tags_node(p, NODE_UNARY, "not", binary(p, 3), NULL);
    else p->at = before, x = unary(p, true);
    int compared = 0, depth = p->depth;
    while (x && (sign_of = operator_at(p, least, &binds))) {
        compared += binds == 4;
        if (compared > 1 || binds == 9) return rf__tags_wrong(p, RF_EUNSUPPORTED, "expected no a < b < c and no **");
        if (!rf__tags_enter(p)) return NULL;
        x = rf__tags_node(p, NODE_BINARY, sign_of, x, binary(p, binds + 1));
    }
    p->depth = depth - 1;
    return p->why->code ? NULL : x;
}

static rf__phrase *expression(rf__tags *p)
{
    if (!rf__tags_enter(p)) return NULL;
    rf__phrase *x = binary(p, 1);
    while (x && rf__tags_word(p, "if")) {
        rf__phrase *choice = rf__tags_node(p, NODE_CHOICE, NULL, binary(p, 1), x);
        if (choice && rf__tags_word(p, "else")) choice->c = expression(p);
        x = choice;
    }
    p->depth--;
    return p->why->code ? NULL : x;
}

/* Expressions separated by commas are a list. */
static rf__phrase *tuple(rf__tags *p, bool choices)
{
    rf__phrase *x = choices ? expression(p) : binary(p, 1), **last = x ? &x->next : NULL;
    if (!x || !rf__tags_sign(p, ",")) return x;
    do {
        rf__tags_skip(p);
        if (rf__tags_closes(p) || rf__tags_begins(p, "}}")) break;
        append(&last, choices ? expression(p) : binary(p, 1));
    } while (!p->why->code && rf__tags_sign(p, ","));
    return rf__tags_node(p, NODE_LIST, NULL, x, NULL);
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static rf__phrase *body(rf__tags *p, const char *const ends[]);

/* The end of a tag; the white space after it. */
static bool close_tag(rf__tags *p, const char *end, bool block)
{
    rf__tags_skip(p);
    const char first = p->at < p->end ? *p->at : 0;
    p->at += first == '-' || first == '+';
    if (!rf__tags_begins(p, end)) return rf__tags_wrong(p, RF_EDATA, "expected the end of the tag"), false;
    p->at += 2;
    if (first == '-') rf__tags_skip(p);
    else if (block && first != '+' && p->at < p->end && *p->at == '\n') p->at++;
    p->after = p->at;
    return true;
}

/* Names that are assigned: a, b.c, or (a, b). */
static rf__phrase *targets(rf__tags *p)
{
    rf__phrase *first = NULL, **last = &first;
    char own[NAME], member[NAME];
    const bool enclosed = rf__tags_sign(p, "(");
    do {
        if (!rf__tags_name(p, own)) return NULL;
        const bool dot = rf__tags_sign(p, ".");
        if (dot && !rf__tags_name(p, member)) return NULL;
        rf__phrase *x = rf__tags_node(p, NODE_NAME, own, NULL, NULL);
        append(&last, dot ? rf__tags_node(p, NODE_MEMBER, member, x, NULL) : x);
    } while (rf__tags_sign(p, ","));
    if (enclosed) rf__tags_need(p, ")");
    return first;
}

static bool end_with(rf__tags *p, const char *what)
{
    if (!strcmp(p->tag, what)) return close_tag(p, "%}", true);
    char message[64];
    snprintf(message, sizeof message, "expected {%% %s %%}", what);
    return rf__tags_wrong(p, RF_EDATA, message), false;
}

/* {% elif %} is an {% if %} that is all of the part after {% else %}. */
static rf__phrase *read_if(rf__tags *p)
{
    static const char *const ends[] = {"elif", "else", "endif", NULL}, *const last[] = {"endif", NULL};
    rf__phrase *first = NULL, **at = &first, *x;
    int branches = 0;
    do {
        if (branches++ == 10 * DEPTH) return rf__tags_wrong(p, RF_ERANGE, "expected fewer branches");
        x = *at = rf__tags_node(p, NODE_IF, NULL, tuple(p, false), NULL);
        if (!x || !close_tag(p, "%}", true)) return NULL;
        x->b = body(p, ends);
        at = &x->c;
    } while (!strcmp(p->tag, "elif") && !p->why->code);
    if (!strcmp(p->tag, "else") && close_tag(p, "%}", true)) x->c = body(p, last);
    return !p->why->code && end_with(p, "endif") ? first : NULL;
}

static bool is_content(const rf__phrase *x)
{
    const char *own = x->kind == NODE_ITEM ? json_string_value(x->b->value) : x->name;
    return (x->kind == NODE_ITEM || x->kind == NODE_MEMBER || x->kind == NODE_NAME) && own && !strcmp(own, "content");
}

static rf__phrase *read_for(rf__tags *p)
{
    static const char *const ends[] = {"else", "endfor", NULL}, *const last[] = {"endfor", NULL};
    rf__phrase *target = targets(p), *x = NULL;
    if (!target) return NULL;
    if (!rf__tags_word(p, "in")) return rf__tags_wrong(p, RF_EDATA, "expected in");
    x = rf__tags_node(p, NODE_FOR, NULL, tuple(p, false), NULL);
    if (!x) return NULL;
    x->d = target;
    p->t->takes_parts |= is_content(x->a);
    if (rf__tags_word(p, "if")) x->e = expression(p);
    if (rf__tags_word(p, "recursive"))
        return rf__tags_wrong(p, RF_EUNSUPPORTED, "expected a loop without recursive");
    if (!close_tag(p, "%}", true)) return NULL;
    p->loops++;
    x->b = body(p, ends);
    p->loops--;
    if (!strcmp(p->tag, "else") && close_tag(p, "%}", true)) x->c = body(p, last);
    return !p->why->code && end_with(p, "endfor") ? x : NULL;
}

static rf__phrase *read_set(rf__tags *p)
{
    static const char *const ends[] = {"endset", NULL};
    rf__phrase *x = rf__tags_node(p, NODE_SET, NULL, NULL, NULL);
    if (!x || !(x->d = targets(p))) return NULL;
    if (rf__tags_sign(p, "=")) return (x->a = tuple(p, true)) && close_tag(p, "%}", true) ? x : NULL;
    rf__tags_skip(p);
    if (rf__tags_begins(p, "|")) return rf__tags_wrong(p, RF_EUNSUPPORTED, "expected {% set %} without a filter");
    if (!close_tag(p, "%}", true)) return NULL;
    x->b = body(p, ends);
    return !p->why->code && end_with(p, "endset") ? x : NULL;
}

static rf__phrase *read_macro(rf__tags *p)
{
    static const char *const ends[] = {"endmacro", NULL};
    char own[NAME];
    if (p->loops) return rf__tags_wrong(p, RF_EUNSUPPORTED, "expected no macro in a loop");
    if (!rf__tags_name(p, own) || !rf__tags_need(p, "(")) return NULL;
    rf__phrase *x = rf__tags_node(p, NODE_MACRO, own, NULL, NULL);
    if (!x) return NULL;
    x->d = arguments(p, true);
    if (!close_tag(p, "%}", true)) return NULL;
    x->b = body(p, ends);
    if (rf__tags_word(p, own)) rf__tags_skip(p);
    return !p->why->code && end_with(p, "endmacro") ? x : NULL;
}

/* {% generation %} only marks what the model has written. */
static rf__phrase *read_generation(rf__tags *p)
{
    static const char *const ends[] = {"endgeneration", NULL};
    rf__phrase *x = rf__tags_node(p, NODE_IF, NULL, rf__tags_constant(p, NODE_CONSTANT, json_true()), NULL);
    if (!x || !close_tag(p, "%}", true)) return NULL;
    x->b = body(p, ends);
    return !p->why->code && end_with(p, "endgeneration") ? x : NULL;
}

static rf__phrase *jump(rf__tags *p, rf__phrase_kind kind)
{
    if (!p->loops) return rf__tags_wrong(p, RF_EDATA, "expected a loop around it");
    return close_tag(p, "%}", true) ? rf__tags_node(p, kind, NULL, NULL, NULL) : NULL;
}

static rf__phrase *statement(rf__tags *p)
{
    if (!strcmp(p->tag, "if")) return read_if(p);
    if (!strcmp(p->tag, "for")) return read_for(p);
    if (!strcmp(p->tag, "set")) return read_set(p);
    if (!strcmp(p->tag, "macro")) return read_macro(p);
    if (!strcmp(p->tag, "generation")) return read_generation(p);
    if (!strcmp(p->tag, "break")) return jump(p, NODE_BREAK);
    if (!strcmp(p->tag, "continue")) return jump(p, NODE_CONTINUE);
    p->at -= strlen(p->tag);
    return rf__tags_wrong(p, RF_EUNSUPPORTED, "expected if, for, set, macro, break or continue");
}

/* The text before a mark, or before the end. */
static rf__phrase *text_before(rf__tags *p, const char *mark)
{
    const char *from = p->after, *to = mark;
    const char how = mark + 2 < p->end ? mark[2] : 0;
    if (how == '-') {
        while (to > from && rf__tags_is_space(to[-1])) to--;
    } else if (mark < p->end && mark[1] != '{' && how != '+') {
        while (to > from && to[-1] != '\n' && rf__tags_is_space(to[-1])) to--;
        if (to > p->start && to[-1] != '\n') to = mark;
    }
    return to > from ? rf__tags_constant(p, NODE_TEXT, json_stringn(from, (size_t)(to - from))) : NULL;
}

static bool is_mark(const char *at, const char *end)
{
    return at + 1 < end && *at == '{' && (at[1] == '{' || at[1] == '%' || at[1] == '#');
}

static void skip_comment(rf__tags *p)
{
    while (p->at < p->end && !rf__tags_begins(p, "#}")) p->at++;
    p->at -= p->at < p->end && (p->at[-1] == '-' || p->at[-1] == '+');
    close_tag(p, "#}", true);
}

/* Texts and tags up to one of `ends`, whose name is then in p->tag; NULL: up to the end of the template. */
static rf__phrase *body(rf__tags *p, const char *const ends[])
{
    rf__phrase *first = NULL, **last = &first;
    if (!rf__tags_enter(p)) return NULL;
    while (!p->why->code) {
        const char *mark = p->after;
        while (mark < p->end && !is_mark(mark, p->end)) mark++;
        append(&last, text_before(p, mark));
        p->at = p->after = mark;
        if (mark == p->end) break;
        p->at += 2;
        p->at += mark[1] != '#' && p->at < p->end && (*p->at == '-' || *p->at == '+');
        if (mark[1] == '#') skip_comment(p);
        else if (mark[1] == '{') {
            append(&last, rf__tags_node(p, NODE_OUTPUT, NULL, tuple(p, true), NULL));
            if (!p->why->code) close_tag(p, "}}", false);
        } else if (rf__tags_name(p, p->tag)) {
            for (int i = 0; ends && ends[i]; i++)
                if (!strcmp(p->tag, ends[i])) return p->depth--, first;
            append(&last, statement(p));
        }
    }
    *p->tag = 0;
    if (ends && !p->why->code) rf__tags_wrong(p, RF_EDATA, "expected the end of a block");
    p->depth--;
    return first;
}

rf_status rf__template_parse(rf_template *t, const char *text, size_t size, rf_error *why)
{
    rf_error own = {0};
    rf__tags p = {.t = t, .start = text, .at = text, .after = text, .end = text + size, .counted = text, .line = 1,
                .why = &own, .string = rf__alloc(t->ctx, size + 4)};
    if (p.string) t->first = body(&p, NULL);
    else rf__tags_no_memory(&p);
    rf__free(t->ctx, p.string);
    return own.code ? rf_fail(why, own.code, "%s", own.text) : RF_OK;
}
