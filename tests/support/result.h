/* result.h — checksums of everything that a run writes, except times. */
#ifndef TESTS_TRAIN_RESULT_H
#define TESTS_TRAIN_RESULT_H

#include <jansson.h>

#include "tiny.h"

typedef struct result { uint32_t model, optimizer, metrics; int lines; } result;

static inline result result_of(const char *folder, int64_t last)
{
    char name[64], *path = tiny_path(folder, "metrics.jsonl"), line[1024];
    result r = {.model = tiny_crc(folder, "model.safetensors")};
    snprintf(name, sizeof name, "checkpoint-%d/optimizer.safetensors", (int)last);
    r.optimizer = tiny_crc(folder, name);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        json_t *j = json_loads(line, 0, NULL);
        if (!j) fail_msg("not JSON: %s", line);
        json_object_del(j, "seconds");
        json_object_del(j, "tokens_per_second");
        json_object_del(j, "eval_seconds");
        json_object_del(j, "input_wait");
        char *text = json_dumps(j, JSON_SORT_KEYS);
        r.metrics = rf__crc32c(r.metrics, text, strlen(text));
        r.lines++;
        free(text);
        json_decref(j);
    }
    fclose(f);
    free(path);
    return r;
}

static inline void same(result a, result b)
{
    assert_int_equal(a.model, b.model);
    assert_int_equal(a.optimizer, b.optimizer);
    assert_int_equal(a.lines, b.lines);
    assert_int_equal(a.metrics, b.metrics);
}

#endif
