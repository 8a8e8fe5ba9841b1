/* values.c — values of templates: operators, tests and filters as those of Python and Jinja. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "text/template/text.h"

/* ---- truth, equality, order -------------------------------------------------------------------------------------- */

bool rf__template_true(const json_t *v)
{
    if (json_is_string(v)) return json_string_length(v) > 0;
    if (json_is_array(v)) return json_array_size(v) > 0;
    if (json_is_object(v)) return json_object_size(v) > 0;
    if (json_is_number(v)) return json_number_value(v) != 0;
    return json_is_true(v);
}

/* Numbers, and true and false, which are 1 and 0. */
static bool number_of(const json_t *v, double *out)
{
    *out = json_is_boolean(v) ? json_is_true(v) : json_number_value(v);
    return json_is_boolean(v) || json_is_number(v);
}

static bool whole_of(const json_t *v, json_int_t *out)
{
    *out = json_is_boolean(v) ? json_is_true(v) : json_integer_value(v);
    return json_is_boolean(v) || json_is_integer(v);
}

/* A part of a value; every one counts as a step. */
static bool equal_parts(rf__rendering *r, const json_t *a, const json_t *b)
{
    const char *key;
    json_t *x;
    size_t i;
    double p, q;
    if (a == b) return true;
    if (!rf__template_spend(r, json_string_length(a))) return false;
    if (number_of(a, &p) && number_of(b, &q)) {
        json_int_t m, n;
        return whole_of(a, &m) && whole_of(b, &n) ? m == n : p == q;
    }
    if (!a || !b || json_typeof(a) != json_typeof(b) || a == r->undefined || b == r->undefined) return false;
    if (json_is_string(a)) return json_equal(a, b);
    if (json_array_size(a) != json_array_size(b) || json_object_size(a) != json_object_size(b)) return false;
    json_array_foreach(a, i, x) if (!equal_parts(r, x, json_array_get(b, i))) return false;
    json_object_foreach((json_t *)(uintptr_t)a, key, x)
        if (!json_object_get(b, key) || !equal_parts(r, x, json_object_get(b, key))) return false;
    return true;
}

bool rf__template_equal(rf__rendering *r, const json_t *a, const json_t *b) { return equal_parts(r, a, b); }

/* Below 0, 0, above 0; fails for values without an order. */
static int compare(rf__rendering *r, const json_t *a, const json_t *b)
{
    double p, q;
    if (number_of(a, &p) && number_of(b, &q)) return (p > q) - (p < q);
    if (json_is_string(a) && json_is_string(b)) {
        const size_t m = json_string_length(a), n = json_string_length(b);
        const int c = memcmp(json_string_value(a), json_string_value(b), m < n ? m : n);
        return c ? c : (m > n) - (m < n);
    }
    rf__template_fail(r, RF_EDATA, "expected two numbers or two strings to compare, got others");
    return 0;
}

bool rf__template_contains(rf__rendering *r, const json_t *whole, const json_t *part)
{
    size_t i;
    json_t *x;
    if (!whole) return false;
    if (json_is_string(whole) && json_is_string(part)) {
        const size_t n = json_string_length(whole);
        return rf__template_spend(r, n) && rf__text_find(json_string_value(whole), n, 0, json_string_value(part),
                                                         json_string_length(part)) <= n;
    }
    if (json_is_object(whole)) return json_is_string(part) && json_object_get(whole, json_string_value(part));
    if (!json_is_array(whole)) rf__template_fail(r, RF_EDATA, "in: expected a string, a list or an object");
    json_array_foreach(whole, i, x) if (rf__template_equal(r, part, x == r->undefined ? NULL : x)) return true;
    return false;
}

/* ---- as text ----------------------------------------------------------------------------------------------------- */

/* Python's repr of a float: the fewest digits from which the same number is read. */
static void real_text(double x, char out[400])
{
    char digits[40];
    int n = 0, exponent;
    if (isinf(x) || isnan(x)) {
        snprintf(out, 400, "%s", isnan(x) ? "nan" : x < 0 ? "-inf" : "inf");
        return;
    }
    do snprintf(digits, sizeof digits, "%.*e", n, x);
    while (n++ < 17 && strtod(digits, NULL) != x);
    exponent = (int)strtol(strchr(digits, 'e') + 1, NULL, 10);
    if (x != 0 && (exponent < -4 || exponent >= 16)) {
        char *e = strchr(digits, 'e');
        snprintf(out, 400, "%.*se%c%02d", (int)(e - digits), digits, exponent < 0 ? '-' : '+', abs(exponent));
        return;
    }
    const int decimals = n - 1 - exponent;
    snprintf(out, 400, "%.*f", decimals > 1 ? decimals : 1, x);
}

json_t *rf__template_string(rf__rendering *r, const json_t *v)
{
    char text[400];
    if (!v) return rf__template_text(r, "", 0);
    if (v == r->function) return rf__template_fail(r, RF_EUNSUPPORTED, "a function as text");
    if (json_is_string(v)) return json_incref((json_t *)(uintptr_t)v);
    if (json_is_array(v) || json_is_object(v))
        return rf__template_fail(r, RF_EUNSUPPORTED, "a list or an object as text: expected | tojson");
    if (json_is_integer(v)) snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
    else if (json_is_real(v)) real_text(json_real_value(v), text);
    else snprintf(text, sizeof text, "%s", json_is_null(v) ? "None" : json_is_true(v) ? "True" : "False");
    return rf__template_text(r, text, strlen(text));
}

static void put_string(rf__text *out, const char *s, size_t n)
{
    static const char from[] = "\n\r\t\b\f\"\\", to[] = "nrtbf\"\\";
    rf__text_put(out, "\"", 1);
    for (size_t i = 0; i < n; i++) {
        char code[8] = {'\\'};
        const char *known = s[i] ? strchr(from, s[i]) : NULL;
        if (known) code[1] = to[known - from];
        else if ((unsigned char)s[i] < 0x20) snprintf(code, sizeof code, "\\u%04x", (unsigned)s[i]);
        rf__text_put(out, known || (unsigned char)s[i] < 0x20 ? code : s + i, known ? 2 : code[1] ? 6 : 1);
    }
    rf__text_put(out, "\"", 1);
}

/* How json.dumps writes: blanks of each level, -1: in one line; what is between items, and after a key. */
typedef struct style {
    int indent;
    const char *item, *key;
} style;

static void put_json(rf__text *out, const json_t *v, const style *how, int level)
{
    rf__rendering *r = out->r;
    const bool list = json_is_array(v), object = json_is_object(v);
    const size_t n = list ? json_array_size(v) : json_object_size(v);
    void *at = object ? json_object_iter((json_t *)(uintptr_t)v) : NULL;
    if (!rf__template_spend(r, 0) || level > 200) return;
    if (v == r->undefined) rf__template_fail(r, RF_EDATA, "tojson: expected a value, got an undefined one");
    if (json_is_string(v)) put_string(out, json_string_value(v), json_string_length(v));
    if (!list && !object && !json_is_string(v)) {
        json_t *text = rf__template_string(r, v);
        if (json_is_boolean(v)) rf__text_put(out, json_is_true(v) ? "true" : "false", json_is_true(v) ? 4 : 5);
        else if (json_is_null(v)) rf__text_put(out, "null", 4);
        else rf__text_put(out, json_string_value(text), json_string_length(text));
        json_decref(text);
        return;
    }
    if (list || object) rf__text_put(out, list ? "[" : "{", 1);
    for (size_t i = 0; i < n && !r->why->code; i++) {
        if (i) rf__text_put(out, how->item, strlen(how->item));
        rf__text_line(out, how->indent, level + 1);
        if (object) put_string(out, json_object_iter_key(at), strlen(json_object_iter_key(at)));
        if (object) rf__text_put(out, how->key, strlen(how->key));
        put_json(out, list ? json_array_get(v, i) : json_object_iter_value(at), how, level + 1);
        if (object) at = json_object_iter_next((json_t *)(uintptr_t)v, at);
    }
    if (n) rf__text_line(out, how->indent, level);
    if (list || object) rf__text_put(out, list ? "]" : "}", 1);
}

static json_t *to_json(rf__rendering *r, const json_t *v, const rf__arguments *x)
{
    const json_t *indent = rf__template_argument(x, 1, "indent"), *marks = rf__template_argument(x, 2, "separators");
    const char *item = json_string_value(json_array_get(marks, 0)), *key = json_string_value(json_array_get(marks, 1));
    json_int_t n = -1;
    rf__text out = {.r = r};
    if (!v) return rf__template_fail(r, RF_EDATA, "tojson: expected a value, got an undefined one");
    if (rf__template_true(rf__template_argument(x, 0, "ensure_ascii")) ||
        rf__template_true(rf__template_argument(x, 3, "sort_keys")) || (rf__template_true(marks) && (!item || !key)) ||
        (indent && !json_is_null(indent) && (!whole_of(indent, &n) || n < 0 || n > 64)))
        return rf__template_fail(r, RF_EUNSUPPORTED, "tojson: expected at most indent, 0 to 64, and separators");
    put_json(&out, v, &(style){(int)n, item ? item : n < 0 ? ", " : ",", key ? key : ": "}, 0);
    return rf__text_take(&out);
}

/* ---- parts ------------------------------------------------------------------------------------------------------- */

json_t *rf__template_listed(rf__rendering *r, const json_t *v)
{
    json_t *list = rf__template_made(r, json_array());
    const char *key;
    json_t *x;
    if (json_is_array(v)) return json_decref(list), json_incref((json_t *)(uintptr_t)v);
    if (json_is_string(v)) return json_decref(list), rf__text_characters(r, v);
    if (v && !json_is_object(v)) rf__template_fail(r, RF_EDATA, "expected a list, an object or a string");
    json_object_foreach((json_t *)(uintptr_t)v, key, x)
        if (rf__template_spend(r, strlen(key)) && json_array_append_new(list, json_string(key)))
            rf__template_fail(r, RF_ENOMEM, "out of memory");
    return list;
}

static bool is_method_of_object(const char *name)
{
    static const char *const own[] = {"keys", "values", "items", "get", "pop", "copy", "update", "clear", "setdefault",
                                      "popitem", "fromkeys"};
    for (size_t i = 0; i < RF_COUNT(own); i++)
        if (!strcmp(name, own[i])) return true;
    return false;
}

json_t *rf__template_member(rf__rendering *r, const json_t *of, const char *name)
{
    json_t *v = json_object_get(of, name);
    if (json_is_object(of) ? is_method_of_object(name) : json_is_string(of) && rf__text_is_method(name))
        return rf__template_fail(r, RF_EUNSUPPORTED, ".%s without ()", name);
    return rf__template_kept(r, v);
}

json_t *rf__template_item(rf__rendering *r, const json_t *of, const json_t *key)
{
    json_int_t i;
    if (json_is_object(of) && !json_is_string(key)) return NULL;
    if (json_is_object(of)) return rf__template_kept(r, json_object_get(of, json_string_value(key)));
    if (!whole_of(key, &i)) return NULL;
    json_t *list = json_is_string(of) ? rf__text_characters(r, of) : json_incref((json_t *)(uintptr_t)of), *v = NULL;
    const json_int_t n = (json_int_t)json_array_size(list);
    if (i >= -n && i < n) v = rf__template_kept(r, json_array_get(list, (size_t)(i < 0 ? i + n : i)));
    json_decref(list);
    return v;
}

/* As Python's slice.indices. */
static void slice_bounds(json_int_t n, json_t *const bound[3], json_int_t *from, json_int_t *to, json_int_t *step)
{
    const bool back = *step < 0;
    const json_int_t low = back ? -1 : 0, high = back ? n - 1 : n;
    json_int_t *const at[2] = {from, to};
    for (int i = 0; i < 2; i++) {
        json_int_t x = json_integer_value(bound[i]);
        if (!json_is_integer(bound[i])) x = (i == 0) == back ? high : low;
        else if (x < 0) x = x + n < low ? low : x + n;
        else if (x > high) x = high;
        *at[i] = x;
    }
}

json_t *rf__template_slice(rf__rendering *r, const json_t *of, json_t *const bound[3])
{
    json_int_t from = 0, to = 0, step = json_is_integer(bound[2]) ? json_integer_value(bound[2]) : 1;
    for (int i = 0; i < 3; i++)
        if (bound[i] && !json_is_null(bound[i]) && !json_is_integer(bound[i]))
            return rf__template_fail(r, RF_EDATA, "a slice: expected whole numbers");
    if (!step || step < -INT32_MAX || step > INT32_MAX || !(json_is_string(of) || json_is_array(of)))
        return rf__template_fail(r, RF_EDATA, "a slice: expected a string or a list, and another step than 0");
    json_t *list = json_is_string(of) ? rf__text_characters(r, of) : json_incref((json_t *)(uintptr_t)of);
    json_t *out = rf__template_made(r, json_array());
    slice_bounds((json_int_t)json_array_size(list), bound, &from, &to, &step);
    for (json_int_t i = from; (step > 0 ? i < to : i > to) && rf__template_spend(r, 0); i += step)
        if (json_array_append(out, json_array_get(list, (size_t)i))) rf__template_fail(r, RF_ENOMEM, "out of memory");
    json_decref(list);
    if (!json_is_string(of)) return out;
    json_t *text = rf__text_joined(r, out, NULL, NULL);
    json_decref(out);
    return text;
}

/* ---- operators --------------------------------------------------------------------------------------------------- */

static json_t *whole_result(rf__rendering *r, char sign, json_int_t a, json_int_t b)
{
    json_int_t v = 0;
    bool good = true;
    if (sign == '+') good = !__builtin_add_overflow(a, b, &v);
    else if (sign == '-') good = !__builtin_sub_overflow(a, b, &v);
    else if (sign == '*') good = !__builtin_mul_overflow(a, b, &v);
    else if (!b || b == -1) {
        good = b && !__builtin_sub_overflow(0, a, &v);
        if (sign == '%') v = 0;
    } else {
        const json_int_t left = a % b, below = left && (left < 0) != (b < 0);
        v = sign == '%' ? left + below * b : a / b - below;
    }
    return good ? rf__template_made(r, json_integer(v))
                : rf__template_fail(r, RF_ERANGE, "%c: expected smaller numbers, and none to divide by 0", sign);
}

static json_t *arithmetic(rf__rendering *r, const char *sign, const json_t *a, const json_t *b)
{
    json_int_t m, n;
    double p, q;
    const bool divides = !strcmp(sign, "/");
    if (whole_of(a, &m) && whole_of(b, &n) && !divides) return whole_result(r, *sign, m, n);
    if (!number_of(a, &p) || !number_of(b, &q))
        return rf__template_fail(r, RF_EDATA, "%s: expected two numbers, two strings or two lists, got others", sign);
    if ((*sign == '/' || *sign == '%') && q == 0) return rf__template_fail(r, RF_EDATA, "a number divided by 0");
    if (*sign == '%' || !strcmp(sign, "//"))
        return rf__template_fail(r, RF_EUNSUPPORTED, "%s: expected whole numbers", sign);
    const double v = *sign == '+' ? p + q : *sign == '-' ? p - q : *sign == '*' ? p * q : p / q;
    return isfinite(v) ? rf__template_made(r, json_real(v)) : rf__template_fail(r, RF_ERANGE, "a number out of range");
}

/* Two strings, or two lists, one after the other. */
static json_t *joined(rf__rendering *r, const json_t *a, const json_t *b)
{
    rf__text out = {.r = r};
    if (json_is_array(a)) {
        json_t *list = rf__template_made(r, json_copy((json_t *)(uintptr_t)a));
        if (!rf__template_spend(r, 8 * json_array_size(a) + 8 * json_array_size(b)) || !list ||
            json_array_extend(list, (json_t *)(uintptr_t)b))
            rf__template_fail(r, RF_ENOMEM, "out of memory");
        return list;
    }
    rf__text_put(&out, json_string_value(a), json_string_length(a));
    rf__text_put(&out, json_string_value(b), json_string_length(b));
    return rf__text_take(&out);
}

static json_t *repeated(rf__rendering *r, const json_t *text, json_int_t times)
{
    rf__text out = {.r = r};
    for (json_int_t i = 0; i < times && rf__template_spend(r, 0); i++)
        rf__text_put(&out, json_string_value(text), json_string_length(text));
    return rf__text_take(&out);
}

json_t *rf__template_binary(rf__rendering *r, const char *sign, const json_t *a, const json_t *b)
{
    if (!strcmp(sign, "==")) return json_boolean(rf__template_equal(r, a, b));
    if (!strcmp(sign, "!=")) return json_boolean(!rf__template_equal(r, a, b));
    if (!strcmp(sign, "in")) return json_boolean(rf__template_contains(r, b, a));
    if (!strcmp(sign, "not in")) return json_boolean(!rf__template_contains(r, b, a));
    if (!strcmp(sign, "~")) {
        json_t *p = rf__template_string(r, a), *q = rf__template_string(r, b), *v = p && q ? joined(r, p, q) : NULL;
        json_decref(p);
        json_decref(q);
        return v;
    }
    if (!a || !b) return rf__template_fail(r, RF_EDATA, "%s: expected two values, got an undefined one", sign);
    if (!strcmp(sign, "<")) return json_boolean(compare(r, a, b) < 0);
    if (!strcmp(sign, "<=")) return json_boolean(compare(r, a, b) <= 0);
    if (!strcmp(sign, ">")) return json_boolean(compare(r, a, b) > 0);
    if (!strcmp(sign, ">=")) return json_boolean(compare(r, a, b) >= 0);
    const bool both = (json_is_string(a) && json_is_string(b)) || (json_is_array(a) && json_is_array(b));
    if (*sign == '+' && both) return joined(r, a, b);
    if (*sign == '*' && json_is_string(a) && json_is_integer(b)) return repeated(r, a, json_integer_value(b));
    if (*sign == '%' && json_is_string(a))
        return rf__template_fail(r, RF_EUNSUPPORTED, "the format of a string by %%");
    return arithmetic(r, sign, a, b);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static bool test_whole(rf__rendering *r, const char *name, const json_t *v, const json_t *argument)
{
    json_int_t n, m = 2;
    if (!whole_of(v, &n) || (argument && !whole_of(argument, &m)) || !m)
        return rf__template_fail(r, RF_EDATA, "%s: expected a whole number", name), false;
    return m == -1 || (n % m != 0) == !strcmp(name, "odd");
}

bool rf__template_test(rf__rendering *r, const char *name, const json_t *v, const json_t *argument)
{
    static const char *const order[][2] = {{"eq", "=="}, {"equalto", "=="}, {"==", "=="}, {"ne", "!="}, {"!=", "!="},
                                           {"lt", "<"},  {"lessthan", "<"}, {"<", "<"},   {"le", "<="}, {"<=", "<="},
                                           {"gt", ">"},  {"greaterthan", ">"}, {">", ">"}, {"ge", ">="}, {">=", ">="},
                                           {"in", "in"}};
    const bool number = json_is_number(v) || json_is_boolean(v);
    for (size_t i = 0; i < RF_COUNT(order); i++)
        if (!strcmp(name, order[i][0])) {
            json_t *yes = rf__template_binary(r, order[i][1], v, argument);
            const bool is = json_is_true(yes);
            return json_decref(yes), is;
        }
    if (!strcmp(name, "defined")) return v;
    if (!strcmp(name, "undefined")) return !v;
    if (!strcmp(name, "none")) return json_is_null(v);
    if (!strcmp(name, "string")) return json_is_string(v);
    if (!strcmp(name, "mapping")) return json_is_object(v);
    if (!strcmp(name, "number")) return number;
    if (!strcmp(name, "integer")) return json_is_integer(v);
    if (!strcmp(name, "float")) return json_is_real(v);
    if (!strcmp(name, "boolean")) return json_is_boolean(v);
    if (!strcmp(name, "true")) return json_is_true(v);
    if (!strcmp(name, "false")) return json_is_false(v);
    if (!strcmp(name, "sequence") || !strcmp(name, "iterable")) return !number && !json_is_null(v);
    if (!strcmp(name, "odd") || !strcmp(name, "even") || !strcmp(name, "divisibleby"))
        return test_whole(r, name, v, argument);
    return rf__template_fail(r, RF_EUNSUPPORTED, "the test %.60s is not known here", name), false;
}

/* ---- filters ----------------------------------------------------------------------------------------------------- */

static json_t *length(rf__rendering *r, const json_t *v)
{
    if (json_is_null(v) || json_is_number(v) || json_is_boolean(v))
        return rf__template_fail(r, RF_EDATA, "length: expected a list, an object or a string");
    const char *s = json_string_value(v);
    size_t n = json_is_array(v) ? json_array_size(v) : json_object_size(v);
    for (size_t i = 0; i < json_string_length(v); i++) n += (s[i] & 0xC0) != 0x80;
    return rf__template_made(r, json_integer((json_int_t)n));
}

/* The member of a path a.b.c, or the item of a number. */
static json_t *by_path(rf__rendering *r, json_t *v, const json_t *path)
{
    const char *at = json_string_value(path);
    char name[80];
    json_incref(v);
    if (!at) return json_decref(v), rf__template_fail(r, RF_EDATA, "expected the name of an attribute");
    for (size_t n; v && at; at = at[n] ? at + n + 1 : NULL) {
        n = strcspn(at, ".");
        snprintf(name, sizeof name, "%.*s", (int)n, at);
        json_t *next = n < sizeof name ? rf__template_kept(r, json_object_get(v, name)) : NULL;
        json_decref(v);
        v = next;
    }
    return v;
}

/* select, reject, selectattr, rejectattr: with a test, or by truth. */
static json_t *select_values(rf__rendering *r, const char *name, json_t *list, const rf__arguments *x)
{
    const size_t by = strstr(name, "attr") ? 1 : 0;
    const bool keep = *name == 's';
    const char *test = json_string_value(json_array_get(x->list, by));
    json_t *out = rf__template_made(r, json_array());
    for (size_t i = 0; i < json_array_size(list) && rf__template_spend(r, 0); i++) {
        json_t *of = json_array_get(list, i), *v = by ? by_path(r, of, json_array_get(x->list, 0))
                                                      : rf__template_kept(r, of);
        const bool yes = test ? rf__template_test(r, test, v, json_array_get(x->list, by + 1)) : rf__template_true(v);
        if (!r->why->code && yes == keep && json_array_append(out, of))
            rf__template_fail(r, RF_ENOMEM, "out of memory");
        json_decref(v);
    }
    return out;
}

static json_t *map_values(rf__rendering *r, json_t *list, const rf__arguments *x)
{
    const json_t *path = json_object_get(x->named, "attribute");
    const char *filter = json_string_value(json_array_get(x->list, 0));
    json_t *out = rf__template_made(r, json_array()), *otherwise = json_object_get(x->named, "default");
    rf__arguments own = {json_copy(x->list), x->named};
    if (json_array_size(own.list)) json_array_remove(own.list, 0);
    if (!path && !filter) rf__template_fail(r, RF_EDATA, "map: expected attribute= or the name of a filter");
    for (size_t i = 0; i < json_array_size(list) && rf__template_spend(r, 0); i++) {
        json_t *of = rf__template_kept(r, json_array_get(list, i));
        json_t *v = path ? by_path(r, of, path) : rf__template_filter(r, filter, of, &own);
        if (!v) v = json_incref(path && otherwise ? otherwise : r->undefined);
        if (json_array_append_new(out, v)) rf__template_fail(r, RF_ENOMEM, "out of memory");
        json_decref(of);
    }
    json_decref(own.list);
    return out;
}

static json_t *reversed(rf__rendering *r, const json_t *v)
{
    json_t *minus = rf__template_made(r, json_integer(-1)), *const bound[3] = {NULL, NULL, minus};
    json_t *out = v ? rf__template_slice(r, v, bound) : rf__template_made(r, json_array());
    json_decref(minus);
    return out;
}

static json_t *to_whole(rf__rendering *r, const json_t *v)
{
    const char *s = json_string_value(v);
    char *end = NULL;
    if (json_is_real(v) && fabs(json_real_value(v)) < 0x1p62)
        return rf__template_made(r, json_integer((json_int_t)json_real_value(v)));
    json_int_t n = s ? (json_int_t)strtoll(s, &end, 10) : 0;
    if (s && strspn(end, " \t\n\r") != strlen(end)) n = 0;
    if (!s) whole_of(v, &n);
    return rf__template_made(r, json_integer(n));
}

/* Filters of lists; of an object: of its keys. */
static json_t *filter_list(rf__rendering *r, const char *name, const json_t *v, const rf__arguments *x, bool *known)
{
    json_t *list = NULL, *out = NULL;
    static const char *const own[] = {"first", "last", "list", "join", "map", "select", "reject", "selectattr",
                                      "rejectattr"};
    for (size_t i = 0; i < RF_COUNT(own); i++) *known |= !strcmp(name, own[i]);
    if (json_is_null(v) && strchr("mrs", *name)) v = NULL;          /* map, select ...: nothing of nothing          */
    if (!*known || !(list = rf__template_listed(r, v)) || r->why->code) return json_decref(list), NULL;
    const size_t n = json_array_size(list);
    if (!strcmp(name, "list")) return list;
    if (!strcmp(name, "first")) out = rf__template_kept(r, json_array_get(list, 0));
    else if (!strcmp(name, "last")) out = n ? rf__template_kept(r, json_array_get(list, n - 1)) : NULL;
    else if (!strcmp(name, "map")) out = map_values(r, list, x);
    else if (strcmp(name, "join")) out = select_values(r, name, list, x);
    else {
        const json_t *path = rf__template_argument(x, 1, "attribute");
        const rf__arguments by = {NULL, json_pack("{s:O}", "attribute", path ? path : json_null())};
        json_t *values = path ? map_values(r, list, &by) : json_incref(list);
        if (!r->why->code) out = rf__text_joined(r, values, rf__template_argument(x, 0, "d"), "join");
        json_decref(values);
        json_decref(by.named);
    }
    json_decref(list);
    return out;
}

json_t *rf__template_filter(rf__rendering *r, const char *name, const json_t *v, const rf__arguments *x)
{
    bool known = false;
    if (!strcmp(name, "default") || !strcmp(name, "d")) {
        const json_t *other = rf__template_argument(x, 0, "default_value");
        const bool use = !v || (rf__template_true(rf__template_argument(x, 1, "boolean")) && !rf__template_true(v));
        if (use && !other) return rf__template_text(r, "", 0);
        return rf__template_kept(r, (json_t *)(uintptr_t)(use ? other : v));
    }
    if (!strcmp(name, "tojson")) return to_json(r, v, x);
    if (!strcmp(name, "length") || !strcmp(name, "count")) return length(r, v);
    if (!strcmp(name, "string")) return rf__template_string(r, v);
    if (!strcmp(name, "int")) return to_whole(r, v);
    if (!strcmp(name, "items") && (!v || json_is_object(v))) return rf__template_method(r, v, name, x);
    if (!strcmp(name, "reverse") && (!v || json_is_array(v) || json_is_string(v))) return reversed(r, v);
    json_t *out = filter_list(r, name, v, x, &known);
    if (known) return out;
    static const char *const of_text[] = {"trim", "upper", "lower", "capitalize", "title", "replace"};
    for (size_t i = 0; i < RF_COUNT(of_text) && !known; i++) known = !strcmp(name, of_text[i]);
    if (!known) return rf__template_fail(r, RF_EUNSUPPORTED, "the filter %.60s is not known here", name);
    json_t *text = rf__template_string(r, v);
    if (!strcmp(name, "trim")) name = "strip";
    if (!strcmp(name, "title")) name = RF__TITLE_FILTER;
    if (text) out = rf__text_method(r, text, name, x);
    json_decref(text);
    return out;
}

/* ---- methods ----------------------------------------------------------------------------------------------------- */

json_t *rf__template_method(rf__rendering *r, const json_t *of, const char *name, const rf__arguments *x)
{
    const bool keys = !strcmp(name, "keys"), values = !strcmp(name, "values"), items = !strcmp(name, "items");
    const char *key;
    json_t *v;
    if (!of && !items) return rf__template_fail(r, RF_EDATA, "an undefined value before .%.60s()", name);
    if (json_is_string(of)) return rf__text_method(r, of, name, x);
    if (json_is_object(of) && !strcmp(name, "get")) {
        const json_t *asked = json_array_get(x->list, 0);
        v = json_is_string(asked) ? json_object_get(of, json_string_value(asked)) : NULL;
        if (!v) v = json_array_size(x->list) > 1 ? json_array_get(x->list, 1) : json_null();
        return rf__template_kept(r, v);
    }
    if (of && (!json_is_object(of) || !(keys || values || items)))
        return rf__template_fail(r, RF_EUNSUPPORTED, "the method %.60s is not known here for this value", name);
    if (keys) return rf__template_listed(r, of);
    json_t *list = rf__template_made(r, json_array());
    json_object_foreach((json_t *)(uintptr_t)of, key, v)
        if (rf__template_spend(r, strlen(key)) &&
            json_array_append_new(list, values ? json_incref(v) : json_pack("[s, O]", key, v)))
            rf__template_fail(r, RF_ENOMEM, "out of memory");
    return list;
}
