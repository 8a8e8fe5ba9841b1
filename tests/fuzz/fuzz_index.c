/* fuzz_index.c — arbitrary bytes as a model.safetensors.index.json next to four shards: rejected with a message, or
 * every tensor of the index is in the shard that it names, and only there.
 *
 *     one.safetensors    tensors "a" and "b"             two.safetensors    tensor "c"
 *     twice.safetensors  "a" again                       cut.safetensors    a header without its data                */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "folder.h"
#include "store/store.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char path[96];

/* header, and this many bytes of data that are 1.0f */
static void put_shard(const char *name, const char *header, size_t bytes)
{
    unsigned char file[512];
    const uint64_t n = strlen(header);
    const float one = 1;
    memcpy(file, &n, 8);
    memcpy(file + 8, header, n);
    for (size_t i = 0; i < bytes; i += 4) memcpy(file + 8 + n + i, &one, 4);
    put_file(name, file, 8 + n + bytes);
}

static void clean(void)
{
    static const char *const file[] = {"one.safetensors", "two.safetensors", "twice.safetensors", "cut.safetensors",
                                       "model.safetensors.index.json"};
    for (size_t i = 0; i < RF_COUNT(file); i++) unlink(in(file[i]));
    rmdir(folder);
}

static void prepare(void)
{
    make_folder("index");
    atexit(clean);
    snprintf(path, sizeof path, "%s/model.safetensors.index.json", folder);
    put_shard("one.safetensors", "{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
                                 "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]}}", 12);
    put_shard("two.safetensors", "{\"c\":{\"dtype\":\"F32\",\"shape\":[1,3],\"data_offsets\":[0,12]}}", 12);
    put_shard("twice.safetensors", "{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4);
    put_shard("cut.safetensors", "{\"d\":{\"dtype\":\"F32\",\"shape\":[9],\"data_offsets\":[0,36]}}", 0);
}

/* An accepted file is consistent: each name of the map is a tensor, and its contents can be read. */
static void visit(const rf_weights *w, const uint8_t *data, size_t size)
{
    rf_error why = {0};
    json_t *index = rf__json_parse((const char *)data, size, 0, "input", &why), *file;
    const char *name;
    if (!index) abort();
    json_object_foreach(json_object_get(index, "weight_map"), name, file) {
        float value[3];
        const rf_weight *t = rf__weights_find(w, name);
        const char *shard = !strcmp(name, "c") ? "two.safetensors"
                          : !strcmp(name, "a") && t && t->count == 1 ? "twice.safetensors" : "one.safetensors";
        if (!t || t->count > 3 || strcmp(shard, json_string_value(file))) abort();
        if (rf__weights_read(w, t, value, 1, NULL)) abort();
        for (size_t i = 0; i < t->count; i++)
            if (value[i] < 1 || value[i] > 1) abort();
    }
    json_decref(index);
    for (size_t i = 0; i < rf_weights_count(w); i++)
        if (rf__weights_find(w, rf_weights_at(w, i)->name) != rf_weights_at(w, i)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static rf_ctx *ctx;
    if (!ctx) {
        if (rf_ctx_new(&(rf_ctx_options){.size = sizeof(rf_ctx_options), .threads = 1}, &ctx, NULL)) abort();
        prepare();
    }
    put_file("model.safetensors.index.json", data, size);
    rf_weights *w = NULL;
    rf_error why = {0};
    const rf_status s = rf_weights_open(ctx, path, &w, &why);
    if (s != why.code || !s != (w != NULL) || (s && !*why.text)) abort();
    if (w) visit(w, data, size);
    rf_weights_close(w);
    return 0;
}
