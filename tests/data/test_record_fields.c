/* test_record_fields.c — mirrors src/data/examples/rows.c, src/data/documents/json_fields.c: fields of rows and of
 * objects of JSON. */
#include "t.h"
#include "roformer/inspect/records.h"

/* ---- rows ---- */

static rf_table_row row;

static const char *field(size_t i)
{
    static char text[64];
    snprintf(text, sizeof text, "%.*s", (int)row.field[i].size, row.field[i].at);
    return text;
}

static char *cut(const char *text, int quotes)
{
    static char bytes[64];
    snprintf(bytes, sizeof bytes, "%s", text);
    rf_table_cut(bytes, bytes + strlen(bytes), quotes ? ',' : '\t', quotes, &row);
    return bytes;
}

static void rows_have_fields(void **state)
{
    (void)state;
    char *bytes = cut("a,\"b, \"\"c\"\"\nd\",\r\nnext", 1);
    assert_int_equal(row.fault, RF_ROW_FINE);
    assert_int_equal(row.n, 3);
    assert_int_equal(row.lines, 2);
    assert_string_equal(row.next, "next");
    assert_ptr_equal(row.next, bytes + strlen("a,\"b, \"\"c\"\"\nd\",\r\n"));
    rf_table_unquote(&row);
    assert_string_equal(field(0), "a");
    assert_string_equal(field(1), "b, \"c\"\nd");
    assert_string_equal(field(2), "");
    cut("\"a\tb\r\r\n", 0);                                          /* without quotes, a quote is a character */
    assert_int_equal(row.n, 2);
    assert_string_equal(field(0), "\"a");
    assert_string_equal(field(1), "b");
}

static void faults_of_rows(void **state)
{
    (void)state;
    cut("a,\"b\nc", 1);
    assert_int_equal(row.fault, RF_ROW_OPEN);
    assert_int_equal(row.lines, 0);
    cut("a,\"b\"c\n", 1);
    assert_int_equal(row.fault, RF_ROW_AFTER);
    char *many = t_bytes(RF_TABLE_COLUMNS + 1);
    memset(many, ',', RF_TABLE_COLUMNS);
    rf_table_cut(many, many + RF_TABLE_COLUMNS, ',', 1, &row);
    assert_int_equal(row.fault, RF_ROW_MANY);
    rf_table_cut(many, many + RF_TABLE_COLUMNS - 1, ',', 1, &row);
    assert_int_equal(row.fault, RF_ROW_FINE);
    assert_int_equal(row.n, RF_TABLE_COLUMNS);
    t_free_all();
}

/* ---- JSON ---- */

static rf_json_fields *fields;
static rf_error why;

static rf_status read(const char *line)
{
    why = (rf_error){0};
    return rf_json_fields_read(fields, line, strlen(line), "here:7", &why);
}

static void refuses(const char *line, const char *with)
{
    assert_int_equal(read(line), RF_EDATA);
    if (!strstr(why.text, with) || strncmp(why.text, "here:7", 6)) fail_msg("%s: %s", line, why.text);
    assert_null(rf_json_field(fields, 0, NULL));
}

static void members_by_name(void **state)
{
    (void)state;
    const char *const name[] = {"text", "meta.id"};
    size_t bytes;
    assert_int_equal(rf_json_fields_new(t_shared(), name, 2, &fields, &why), RF_OK);
    assert_null(rf_json_field(fields, 0, NULL));
    assert_int_equal(read("{\"text\": \"caf\\u00e9\", \"meta\": {\"id\": \"a\"}, \"more\": [1, {}]}"), RF_OK);
    assert_string_equal(rf_json_field(fields, 0, &bytes), "caf\xc3\xa9");
    assert_int_equal(bytes, 5);
    assert_string_equal(rf_json_field(fields, 1, &bytes), "a");
    assert_null(rf_json_field(fields, 2, &bytes));
    assert_int_equal(read("{\"text\": \"\", \"meta\": {\"id\": \"a\"}, \"meta.id\": -12}"), RF_OK);
    assert_string_equal(rf_json_field(fields, 0, &bytes), "");
    assert_string_equal(rf_json_field(fields, 1, &bytes), "-12");
    refuses("{\"text\": [\"a\", \"b\"], \"meta\": {\"id\": 1}}", "\"text\": expected a string, got a list of 2");
    refuses("{\"meta\": {\"id\": 1}}", "\"text\": expected a string, got none");
    refuses("{\"text\": null, \"meta\": {\"id\": 1}}", "got null");
    refuses("[\"text\"]", "expected a JSON object");
    refuses("{\"text\": \"a\", \"text\": \"b\"}", "duplicate");
    refuses("{\"text\": \"a\\u0000\"}", "U+0000");
    refuses("{\"text\": \"a\xff\"}", "byte 0xff");
    refuses("{\"text\": ", "not valid JSON");
    assert_int_equal(read("{\"text\": \"a\", \"meta\": {\"id\": 1.5}}"), RF_EDATA);
    assert_non_null(strstr(why.text, "\"meta.id\": expected a string, got 1.5"));
    rf_json_fields_free(fields);
}

static void names_are_checked(void **state)
{
    (void)state;
    const char *const name[RF_MAX_JSON_FIELDS + 1] = {"a", ""};
    assert_int_equal(rf_json_fields_new(t_shared(), name, 0, &fields, &why), RF_EARG);
    assert_int_equal(rf_json_fields_new(t_shared(), name, 2, &fields, &why), RF_EARG);
    assert_int_equal(rf_json_fields_new(t_shared(), name, RF_MAX_JSON_FIELDS + 1, &fields, &why), RF_EARG);
    assert_int_equal(rf_json_fields_new(NULL, name, 1, &fields, &why), RF_EARG);
    assert_int_equal(rf_json_fields_read(NULL, "{}", 2, "here", &why), RF_EARG);
    rf_json_fields_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_have_fields), cmocka_unit_test(faults_of_rows),
                                       cmocka_unit_test(members_by_name), cmocka_unit_test(names_are_checked)};
    return cmocka_run_group_tests_name("data/record_fields", tests, NULL, NULL);
}
