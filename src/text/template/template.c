/* template.c — makes the text of a template: its statements and expressions. */
#include <stdarg.h>
#include <stdio.h>

#include "base/os/os.h"
#include "roformer/tokenizer.h"
#include "text/template/template.h"
#include "text/template/parts.h"

enum { CALLS = 12, MACROS = 64, NESTED = 30 };

/* Variables of the template, of a pass of a loop, or of a macro. */
typedef struct rf__scope {
    json_t *names;
    struct rf__scope *up;
} scope;

static json_t *eval(rf__rendering *r, const rf__phrase *x);
static void run(rf__rendering *r, const rf__phrase *x);

json_t *rf__template_fail(rf__rendering *r, rf_status status, const char *format, ...)
{
    char what[400];
    va_list list;
    if (r->why->code) return NULL;
    va_start(list, format);
    vsnprintf(what, sizeof what, format, list);
    va_end(list);
    rf_fail(r->why, status, "%s: line %d: %s", r->t->name, r->line, what);
    return NULL;
}

json_t *rf__template_made(rf__rendering *r, json_t *fresh)
{
    return fresh ? fresh : rf__template_fail(r, RF_ENOMEM, "out of memory");
}

json_t *rf__template_kept(const rf__rendering *r, json_t *stored)
{
    return stored && stored != r->undefined ? json_incref(stored) : NULL;
}

bool rf__template_spend(rf__rendering *r, size_t bytes)
{
    const size_t most = RF_TEMPLATE_STEPS;
    r->steps -= (int64_t)(1 + (bytes < 32 * most ? bytes / 32 : most));
    if (r->steps < 0) rf__template_fail(r, RF_ERANGE, "expected at most %d steps of a template", RF_TEMPLATE_STEPS);
    return !r->why->code;
}

json_t *rf__template_text(rf__rendering *r, const char *text, size_t size)
{
    return rf__template_spend(r, size) ? rf__template_made(r, json_stringn(text, size)) : NULL;
}

/* ---- variables --------------------------------------------------------------------------------------------------- */

static bool is_space_of_names(const rf__rendering *r, const json_t *v)
{
    for (size_t i = 0; i < json_array_size(r->spaces); i++)
        if (json_array_get(r->spaces, i) == v) return true;
    return false;
}

/* Stores a value, which is freed, in a list or an object. A namespace cannot be a part of others: it could be one of
 * itself. */
static void store(rf__rendering *r, json_t *in, const char *name, json_t *v, bool variable)
{
    bool good = true;
    if (!variable && v && is_space_of_names(r, v))
        rf__template_fail(r, RF_EUNSUPPORTED, "a namespace in another value");
    if (!v) v = json_incref(r->undefined);
    if (r->why->code) json_decref(v);
    else good = name ? !json_object_set_new(in, name, v) : !json_array_append_new(in, v);
    if (!good) rf__template_fail(r, RF_ENOMEM, "out of memory");
}

static void set(rf__rendering *r, const char *name, json_t *v)
{
    store(r, r->scope->names, name, v, true);
}

static const rf__phrase *macro_of(const rf__rendering *r, const char *name)
{
    for (int i = r->macros; i--;)
        if (!strcmp(r->macro[i]->name, name)) return r->macro[i];
    return NULL;
}

static bool is_function(const char *name)
{
    static const char *const own[] = {"range", "namespace", "dict", "raise_exception", "strftime_now"};
    for (size_t i = 0; i < RF_COUNT(own); i++)
        if (!strcmp(name, own[i])) return true;
    return false;
}

/* A function as a value is only known to be there. */
static json_t *look_up(const rf__rendering *r, const char *name)
{
    for (const scope *s = r->scope; s; s = s->up) {
        json_t *v = json_object_get(s->names, name);
        if (v) return rf__template_kept(r, v);
    }
    return macro_of(r, name) || is_function(name) ? json_incref(r->function) : NULL;
}

/* Assigns to a name, to a member of a namespace, or to several names. Takes the value. */
static void assign(rf__rendering *r, const rf__phrase *target, json_t *v)
{
    if (target->next) {
        json_t *list = rf__template_listed(r, v);
        size_t n = 0;
        for (const rf__phrase *x = target; x; x = x->next) n++;
        if (!r->why->code && json_array_size(list) != n)
            rf__template_fail(r, RF_EDATA, "expected %zu values, got %zu", n, json_array_size(list));
        for (size_t i = 0; i < n && !r->why->code; i++, target = target->next) {
            if (target->kind == NODE_NAME) set(r, target->name, rf__template_kept(r, json_array_get(list, i)));
            else rf__template_fail(r, RF_EUNSUPPORTED, "members among several names");
        }
        json_decref(list);
        json_decref(v);
        return;
    }
    if (target->kind == NODE_NAME) {
        set(r, target->name, v);
        return;
    }
    json_t *of = look_up(r, target->a->name);
    if (!of || !is_space_of_names(r, of))
        rf__template_fail(r, RF_EDATA, "%s: expected a namespace before .%s", target->a->name, target->name);
    if (r->why->code) json_decref(v);
    else store(r, of, target->name, v, false);
    json_decref(of);
}

/* ---- calls ------------------------------------------------------------------------------------------------------- */

/* How deep lists and objects are in each other; every one counts as a step. */
static int nesting(rf__rendering *r, const json_t *v)
{
    int most = 0;
    size_t i;
    const char *key;
    json_t *x;
    if (!(json_is_array(v) || json_is_object(v)) || v == r->undefined || !rf__template_spend(r, 0)) return 0;
    json_array_foreach(v, i, x) if (!r->why->code && most < NESTED) most = (int)rf__max64(most, nesting(r, x));
    json_object_foreach((json_t *)(uintptr_t)v, key, x)
        if (!r->why->code && most < NESTED) most = (int)rf__max64(most, nesting(r, x));
    return most + 1;
}

static void check_nesting(rf__rendering *r, const json_t *v)
{
    if (nesting(r, v) > NESTED) rf__template_fail(r, RF_ERANGE, "expected fewer lists in each other");
}

static rf__arguments evaluate_arguments(rf__rendering *r, const rf__phrase *x)
{
    rf__arguments a = {rf__template_made(r, json_array()), rf__template_made(r, json_object())};
    for (; x && !r->why->code; x = x->next) store(r, x->name ? a.named : a.list, x->name, eval(r, x->a), false);
    return a;
}

static void clear(rf__arguments *a)
{
    json_decref(a->list);
    json_decref(a->named);
}

/* Takes what has been written since `from` as a value. */
static json_t *captured(rf__rendering *r, size_t from)
{
    json_t *v = r->why->code ? NULL : rf__template_text(r, r->n > from ? r->out + from : "", r->n - from);
    r->n = from;
    return v;
}

/* Macros see the variables of the template and their own. */
static json_t *call_macro(rf__rendering *r, const rf__phrase *macro, const rf__arguments *a)
{
    scope own = {.names = rf__template_made(r, json_object()), .up = r->scope}, *before = r->scope;
    size_t i = 0, named = 0, from = r->n;
    while (own.up->up->up) own.up = own.up->up;
    if (++r->depth > CALLS) rf__template_fail(r, RF_ERANGE, "expected fewer calls of macros in each other");
    r->scope = &own;
    for (const rf__phrase *x = macro->d; x && !r->why->code; x = x->next, i++) {
        json_t *given = json_array_get(a->list, i), *by_name = json_object_get(a->named, x->name);
        named += by_name != NULL;
        if (!given) given = by_name;
        set(r, x->name, given ? rf__template_kept(r, given) : x->a ? eval(r, x->a) : NULL);
    }
    if (!r->why->code && (json_array_size(a->list) > i || json_object_size(a->named) > named))
        rf__template_fail(r, RF_EDATA, "%s: expected at most %zu arguments", macro->name, i);
    run(r, macro->b);
    r->scope = before;
    r->depth--;
    json_decref(own.names);
    return captured(r, from);
}

static json_t *range(rf__rendering *r, const rf__arguments *a)
{
    json_int_t bound[3] = {0, 0, 1};
    const size_t n = json_array_size(a->list);
    for (size_t i = 0; i < n && i < 3; i++) {
        if (!json_is_integer(json_array_get(a->list, i)))
            return rf__template_fail(r, RF_EDATA, "range: expected whole numbers");
        bound[n == 1 ? 1 : i] = json_integer_value(json_array_get(a->list, i));
    }
    if (!n || n > 3 || !bound[2]) return rf__template_fail(r, RF_EDATA, "range: expected one to three numbers");
    json_t *list = rf__template_made(r, json_array());
    for (json_int_t i = bound[0]; (bound[2] > 0 ? i < bound[1] : i > bound[1]) && rf__template_spend(r, 32);) {
        store(r, list, NULL, rf__template_made(r, json_integer(i)), false);
        if (__builtin_add_overflow(i, bound[2], &i)) break;
    }
    return list;
}

static json_t *call_function(rf__rendering *r, const char *name, const rf__arguments *a)
{
    const json_t *first = json_array_get(a->list, 0);
    const char *text = json_string_value(first);
    char date[200];
    if (!strcmp(name, "range")) return range(r, a);
    if (!strcmp(name, "raise_exception")) {
        if (!r->why->code) rf_fail(r->why, RF_EARG, "%.400s", text ? text : "the chat template refuses the messages");
        return NULL;
    }
    if (!strcmp(name, "strftime_now")) {
        const size_t n = text && r->now ? rf__os_date(date, sizeof date, text, r->now) : 0;
        return n ? rf__template_text(r, date, n) : rf__template_fail(r, RF_EUNSUPPORTED, "strftime_now: this format");
    }
    if (first == r->undefined) return rf__template_fail(r, RF_EDATA, "%s: got an undefined value", name);
    json_t *fresh = rf__template_made(r, first ? json_copy((json_t *)(uintptr_t)first) : json_object());
    if (fresh && (!json_is_object(fresh) || json_object_update(fresh, a->named)))
        rf__template_fail(r, RF_EUNSUPPORTED, "%s: expected an object", name);
    else if (fresh && !strcmp(name, "namespace") && json_array_append(r->spaces, fresh))
        rf__template_fail(r, RF_ENOMEM, "out of memory");
    return fresh;
}

static json_t *call(rf__rendering *r, const rf__phrase *x)
{
    const rf__phrase *of = x->a;
    const char *name = of->name;
    const rf__phrase *macro = of->kind == NODE_NAME ? macro_of(r, name) : NULL;
    json_t *object = of->kind == NODE_MEMBER ? eval(r, of->a) : NULL, *v = NULL;
    rf__arguments a = evaluate_arguments(r, x->b);
    r->line = x->line;
    if (r->why->code) v = NULL;
    else if (macro) v = call_macro(r, macro, &a);
    else if (of->kind == NODE_NAME && is_function(name)) v = call_function(r, name, &a);
    else if (of->kind == NODE_MEMBER) v = rf__template_method(r, object, name, &a);
    else
        rf__template_fail(r, RF_EUNSUPPORTED, "the function %.60s is not known here", name ? name : "of an expression");
    json_decref(object);
    clear(&a);
    return v;
}

/* ---- expressions ------------------------------------------------------------------------------------------------- */

static json_t *evaluate_binary(rf__rendering *r, const rf__phrase *x)
{
    json_t *a = eval(r, x->a);
    const bool ends = (!strcmp(x->name, "and") && !rf__template_true(a)) ||
                      (!strcmp(x->name, "or") && rf__template_true(a));
    if (r->why->code || ends) return a;
    json_t *b = eval(r, x->b), *v = NULL;
    r->line = x->line;
    if (!strcmp(x->name, "and") || !strcmp(x->name, "or")) return json_decref(a), b;
    if (!r->why->code) v = rf__template_binary(r, x->name, a, b);
    json_decref(a);
    json_decref(b);
    return v;
}

static json_t *evaluate_unary(rf__rendering *r, const rf__phrase *x)
{
    json_t *a = eval(r, x->a), *v = NULL, *zero = json_integer(0);
    if (!strcmp(x->name, "not")) v = json_boolean(!rf__template_true(a));
    else if (!r->why->code && rf__template_made(r, zero)) v = rf__template_binary(r, x->name, zero, a);
    json_decref(zero);
    json_decref(a);
    return v;
}

static json_t *evaluate_part(rf__rendering *r, const rf__phrase *x)
{
    const rf__phrase *const from[3] = {x->b, x->c, x->d};
    json_t *of = eval(r, x->a), *part[3] = {0}, *v = NULL;
    for (int i = 0; i < 3 && x->kind != NODE_MEMBER && !r->why->code; i++) {
        if (from[i]) part[i] = eval(r, from[i]);
        if (x->kind == NODE_SLICE && from[i] && !part[i])
            rf__template_fail(r, RF_EDATA, "a slice: expected whole numbers, got an undefined value");
    }
    r->line = x->line;
    if (!of && !r->why->code)
        rf__template_fail(r, RF_EDATA, "%.60s is undefined", x->a->name ? x->a->name : "a value before . or [");
    if (r->why->code) v = NULL;
    else if (x->kind == NODE_MEMBER) v = rf__template_member(r, of, x->name);
    else if (x->kind == NODE_ITEM) v = rf__template_item(r, of, part[0]);
    else v = rf__template_slice(r, of, part);
    json_decref(of);
    for (int i = 0; i < 3; i++) json_decref(part[i]);
    return v;
}

static json_t *evaluate_filter(rf__rendering *r, const rf__phrase *x)
{
    json_t *of = eval(r, x->a), *v = NULL;
    rf__arguments a = evaluate_arguments(r, x->b);
    r->line = x->line;
    if (!r->why->code) v = rf__template_filter(r, x->name, of, &a);
    json_decref(of);
    clear(&a);
    return v;
}

static json_t *evaluate_test(rf__rendering *r, const rf__phrase *x)
{
    json_t *of = eval(r, x->a), *argument = x->b && !r->why->code ? eval(r, x->b) : NULL;
    r->line = x->line;
    const bool yes = !r->why->code && rf__template_test(r, x->name, of, argument);
    json_decref(of);
    json_decref(argument);
    return json_boolean(yes);
}

static json_t *evaluate_list(rf__rendering *r, const rf__phrase *x)
{
    json_t *list = rf__template_made(r, json_array());
    for (const rf__phrase *y = x->a; y && !r->why->code; y = y->next) store(r, list, NULL, eval(r, y), false);
    check_nesting(r, list);
    return list;
}

static json_t *evaluate_dict(rf__rendering *r, const rf__phrase *x)
{
    json_t *dict = rf__template_made(r, json_object());
    for (const rf__phrase *y = x->a; y && y->next && !r->why->code; y = y->next->next) {
        json_t *key = eval(r, y);
        if (!r->why->code && !json_is_string(key)) rf__template_fail(r, RF_EUNSUPPORTED, "a key that is no string");
        if (!r->why->code) store(r, dict, json_string_value(key), eval(r, y->next), false);
        json_decref(key);
    }
    check_nesting(r, dict);
    return dict;
}

static json_t *evaluate_choice(rf__rendering *r, const rf__phrase *x)
{
    json_t *a = eval(r, x->a);
    const rf__phrase *chosen = rf__template_true(a) ? x->b : x->c;
    json_decref(a);
    return chosen && !r->why->code ? eval(r, chosen) : NULL;
}

static json_t *eval(rf__rendering *r, const rf__phrase *x)
{
    r->line = x->line;
    if (!rf__template_spend(r, 0)) return NULL;
    switch (x->kind) {
    case NODE_CONSTANT: return rf__template_made(r, json_deep_copy(x->value)); /* other threads use it, too */
    case NODE_NAME: return look_up(r, x->name);
    case NODE_MEMBER:
    case NODE_ITEM:
    case NODE_SLICE: return evaluate_part(r, x);
    case NODE_CALL: return call(r, x);
    case NODE_FILTER: return evaluate_filter(r, x);
    case NODE_TEST: return evaluate_test(r, x);
    case NODE_UNARY: return evaluate_unary(r, x);
    case NODE_BINARY: return evaluate_binary(r, x);
    case NODE_CHOICE: return evaluate_choice(r, x);
    case NODE_LIST: return evaluate_list(r, x);
    case NODE_DICT: return evaluate_dict(r, x);
    default: return NULL;
    }
}

/* ---- statements -------------------------------------------------------------------------------------------------- */

static void write_text(rf__rendering *r, const json_t *text)
{
    const size_t n = json_string_length(text);
    if (!n || !rf__template_spend(r, n)) return;
    if (n > RF_TEMPLATE_OUTPUT - r->n)
        rf__template_fail(r, RF_ERANGE, "expected at most %d bytes of text", RF_TEMPLATE_OUTPUT);
    else if (!rf__grow(r->t->ctx, &r->out, &r->capacity, r->n + n + 1, 1))
        rf__template_fail(r, RF_ENOMEM, "out of memory");
    if (r->why->code) return;
    memcpy(r->out + r->n, json_string_value(text), n);
    r->n += n;
}

/* {{ ... | safe }} is what it is without the filter, since nothing is escaped. */
static const rf__phrase *without_safe(const rf__phrase *x)
{
    while (x->kind == NODE_FILTER && !strcmp(x->name, "safe")) x = x->a;
    return x;
}

/* Writes a value, which is freed. */
static void write_value(rf__rendering *r, json_t *v)
{
    json_t *text = r->why->code ? NULL : rf__template_string(r, v);
    write_text(r, text);
    json_decref(text);
    json_decref(v);
}

/* The variable `loop` in pass i of n. */
static json_t *loop_of(rf__rendering *r, json_t *list, size_t i)
{
    const json_int_t n = (json_int_t)json_array_size(list), at = (json_int_t)i;
    json_t *before = at ? json_array_get(list, i - 1) : r->undefined;
    json_t *after = at + 1 < n ? json_array_get(list, i + 1) : r->undefined;
    return rf__template_made(
        r, json_pack("{s:I, s:I, s:I, s:I, s:b, s:b, s:I, s:O, s:O}", "index", at + 1, "index0", at, "revindex", n - at,
                     "revindex0", n - at - 1, "first", at == 0, "last", at + 1 == n, "length", n, "previtem", before,
                     "nextitem", after));
}

/* The values of the loop for which its condition is true. */
static json_t *chosen(rf__rendering *r, const rf__phrase *x, json_t *list)
{
    json_t *kept = rf__template_made(r, json_array());
    scope own = {.up = r->scope};
    r->scope = &own;
    for (size_t i = 0; i < json_array_size(list) && !r->why->code; i++) {
        own.names = rf__template_made(r, json_object());
        assign(r, x->d, rf__template_kept(r, json_array_get(list, i)));
        json_t *yes = r->why->code ? NULL : eval(r, x->e);
        if (rf__template_true(yes)) store(r, kept, NULL, rf__template_kept(r, json_array_get(list, i)), false);
        json_decref(yes);
        json_decref(own.names);
    }
    r->scope = own.up;
    json_decref(list);
    return kept;
}

static void run_for(rf__rendering *r, const rf__phrase *x)
{
    json_t *of = eval(r, x->a), *list = r->why->code ? NULL : rf__template_listed(r, of);
    scope own = {.up = r->scope};
    json_decref(of);
    if (x->e && !r->why->code) list = chosen(r, x, list);
    r->scope = &own;
    const size_t n = r->why->code ? 0 : json_array_size(list);
    for (size_t i = 0; i < n && !r->why->code && r->jump != NODE_BREAK; i++) {
        r->jump = 0;
        own.names = rf__template_made(r, json_object());
        assign(r, x->d, rf__template_kept(r, json_array_get(list, i)));
        if (!r->why->code) set(r, "loop", loop_of(r, list, i));
        run(r, x->b);
        json_decref(own.names);
    }
    r->jump = 0;
    own.names = n || r->why->code ? NULL : rf__template_made(r, json_object());
    if (own.names) run(r, x->c);
    json_decref(own.names);
    r->scope = own.up;
    json_decref(list);
}

static void run_set(rf__rendering *r, const rf__phrase *x)
{
    const size_t from = r->n;
    if (x->b) run(r, x->b);
    json_t *v = x->a ? eval(r, x->a) : captured(r, from);
    if (r->why->code) json_decref(v);
    else assign(r, x->d, v);
}

static void run_if(rf__rendering *r, const rf__phrase *x)
{
    for (;;) {
        json_t *a = eval(r, x->a);
        const bool yes = rf__template_true(a);
        json_decref(a);
        if (r->why->code) return;
        if (!yes && x->c && x->c->kind == NODE_IF && !x->c->next) x = x->c;
        else {
            run(r, yes ? x->b : x->c);
            return;
        }
    }
}

static void run(rf__rendering *r, const rf__phrase *x)
{
    for (; x && !r->why->code && !r->jump && rf__template_spend(r, 0); x = x->next) {
        r->line = x->line;
        switch (x->kind) {
        case NODE_TEXT: write_text(r, x->value); break;
        case NODE_OUTPUT: write_value(r, eval(r, without_safe(x->a))); break;
        case NODE_IF: run_if(r, x); break;
        case NODE_FOR: run_for(r, x); break;
        case NODE_SET: run_set(r, x); break;
        case NODE_MACRO:
            if (r->macros == MACROS) rf__template_fail(r, RF_ERANGE, "expected at most %d macros", MACROS);
            else r->macro[r->macros++] = x;
            break;
        case NODE_BREAK:
        case NODE_CONTINUE: r->jump = (int)x->kind; break;
        default: break;
        }
    }
}

/* ---- a template -------------------------------------------------------------------------------------------------- */

/* As Jinja reads a file: line ends are \n, and the last one does not count. */
static char *with_line_ends(const rf_ctx *ctx, const char *text, size_t *size)
{
    char *own = rf__alloc(ctx, *size + 1);
    size_t n = 0;
    for (size_t i = 0; own && i < *size; i++) {
        if (text[i] == '\n' && i && text[i - 1] == '\r') continue;
        own[n++] = text[i] == '\r' ? '\n' : text[i];
    }
    if (own && n && own[n - 1] == '\n') n--;
    if (own) own[n] = 0;
    *size = n;
    return own;
}

rf_status rf__template_new(const rf_ctx *ctx, const char *name, const char *text, size_t size, rf_template **out,
                           rf_error *why)
{
    *out = NULL;
    if (size > RF_TEMPLATE_BYTES || rf_utf8_check(text, size) < size)
        return rf_fail(why, RF_EDATA, "%s: a template: expected at most %d bytes of UTF-8, got %s", name,
                       RF_TEMPLATE_BYTES, size > RF_TEMPLATE_BYTES ? "more" : "another text");
    rf_template *t = rf__calloc(ctx, 1, sizeof *t);
    char *own = with_line_ends(ctx, text, &size);
    if (t) {
        t->ctx = ctx;
        rf__arena_init(&t->arena, ctx);
        t->constants = json_array();
        t->name = rf__strdup(ctx, name);
    }
    rf_status status = t && own && t->constants && t->name ? RF_OK : RF_ENOMEM;
    if (status) rf_fail(why, status, "%s: out of memory for a template", name);
    else status = rf__template_parse(t, own, size, why);
    rf__free(ctx, own);
    if (status) rf__template_free(t);
    else *out = t;
    return status;
}

void rf__template_free(rf_template *t)
{
    if (!t) return;
    const rf_ctx *ctx = t->ctx;
    json_decref(t->constants);
    rf__arena_clear(&t->arena);
    rf__free(ctx, t->name);
    rf__free(ctx, t);
}

bool rf__template_takes_parts(const rf_template *t) { return t->takes_parts; }

static bool uses(const rf__phrase *x, const char *variable)
{
    for (; x; x = x->next) {
        if (x->kind == NODE_NAME && !strcmp(x->name, variable)) return true;
        if (uses(x->a, variable) || uses(x->b, variable) || uses(x->c, variable) || uses(x->d, variable) ||
            uses(x->e, variable))
            return true;
    }
    return false;
}

bool rf__template_uses(const rf_template *t, const char *variable) { return uses(t->first, variable); }

rf_status rf__template_render(const rf_template *t, const json_t *variables, const struct tm *now, char **text,
                              size_t *size, rf_error *why)
{
    rf_error own = {0};
    scope given = {.names = (json_t *)(uintptr_t)variables}, top = {json_object(), &given};
    rf__rendering r = {.t = t, .now = now, .why = &own, .undefined = json_object(), .steps = RF_TEMPLATE_STEPS,
                       .function = json_string("a function"), .spaces = json_array(), .scope = &top,
                       .out = rf__alloc(t->ctx, 64), .capacity = 64};
    if (r.undefined && r.function && r.spaces && top.names && r.out) run(&r, t->first);
    else rf_fail(&own, RF_ENOMEM, "%s: out of memory for the text of a template", t->name);
    json_decref(top.names);
    json_decref(r.spaces);
    json_decref(r.undefined);
    json_decref(r.function);
    if (own.code) rf__free(t->ctx, r.out);
    if (own.code) return rf_fail(why, own.code, "%s", own.text);
    r.out[r.n] = 0;
    *text = r.out;
    *size = r.n;
    return RF_OK;
}
