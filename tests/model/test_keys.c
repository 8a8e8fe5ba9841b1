/* test_keys.c — mirrors config.c and config_rope.c: keys added to the config.json of golden folders mean what
 * they mean in transformers, or nothing (tools/golden/golden_keys.py). */
#define _GNU_SOURCE
#include "t.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/json.h"
#include "roformer/model.h"

enum { N = 24 };

/* A folder with the keys of a case. */
static const char *changed(const json_t *one)
{
    static char folder[4096];
    static int count;
    char path[4200], from[4200], here[4096];
    const char *golden = json_string_value(json_object_get(one, "folder"));
    snprintf(path, sizeof path, "tests/golden/%s/config.json", golden);
    json_t *config = json_load_file(path, 0, NULL);
    assert_non_null(config);
    assert_int_equal(json_object_update(config, json_object_get(one, "keys")), 0);
    snprintf(folder, sizeof folder, "%s/%d", t_folder(), count++);
    assert_int_equal(mkdir(folder, 0777), 0);
    snprintf(path, sizeof path, "%s/config.json", folder);
    assert_int_equal(json_dump_file(config, path, 0), 0);
    json_decref(config);
    assert_non_null(getcwd(here, sizeof here));
    snprintf(from, sizeof from, "%s/tests/golden/%s/model.safetensors", here, golden);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    assert_int_equal(symlink(from, path), 0);
    return folder;
}

/* The hidden states of these models have numbers of up to 10; f32 keeps 6 digits of them. */
static void compare(const char *folder, const json_t *one)
{
    int32_t id[N];
    const int32_t start[2] = {0, N};
    const rf_batch batch = {.N = N, .B = 1, .id = id, .start = start};
    const json_t *mean = json_object_get(one, "mean");
    rf_model *m = NULL;
    rf_session *s = NULL;
    rf_error why = {0};
    const float *x;
    for (int i = 0; i < N; i++) id[i] = 7 * i % 27 + 4;
    if (rf_model_open(t_shared(), folder, &m, &why) || rf_session_open(m, &s, &why) ||
        rf_session_embed(s, &batch, RF_POOL_MEAN, &x, &why))
        fail_msg("%s: %s", json_string_value(json_object_get(one, "folder")), why.text);
    for (size_t i = 0; i < json_array_size(mean); i++) {
        const double expected = json_real_value(json_array_get(mean, i));
        if (!(fabs((double)x[i] - expected) <= 2e-5))
            fail_msg("%s (%s): [%zu]: expected %g, got %g", json_dumps(one, 0), folder, i, expected, (double)x[i]);
    }
    rf_session_close(s);
    rf_model_close(m);
}

static void keys_mean_what_they_mean_in_transformers(void **state)
{
    (void)state;
    char line[8192];
    int cases = 0;
    FILE *f = fopen("tests/golden/keys.jsonl", "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        if (*line == '#') continue;
        json_t *one = json_loads(line, 0, NULL);
        assert_non_null(one);
        const char *folder = changed(one);
        compare(folder, one);

        /* written again, the folder has the same meaning */
        rf_config c, back;
        rf_error why = {0};
        if (rf_config_read(t_shared(), folder, &c, &why) || rf_config_write(t_shared(), folder, &c, &why) ||
            rf_config_read(t_shared(), folder, &back, &why))
            fail_msg("%s", why.text);
        compare(folder, one);
        json_decref(one);
        cases++;
    }
    fclose(f);
    assert_true(cases > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(keys_mean_what_they_mean_in_transformers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
