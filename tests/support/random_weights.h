/* random_weights.h — writes random weights to a model folder that has a vocabulary and a config.json. */
#ifndef TESTS_TRAIN_RANDOM_WEIGHTS_H
#define TESTS_TRAIN_RANDOM_WEIGHTS_H

#include "model/params/params.h"
#include "tiny.h"

static inline void random_weights(const rf_ctx *ctx, const char *folder, uint64_t seed)
{
    rf_config c;
    rf_params p;
    char *path = tiny_path(folder, "model.safetensors");
    assert_int_equal(rf_config_read(ctx, folder, &c, NULL), RF_OK);
    assert_int_equal(rf__params_new(ctx, &c, &p, NULL), RF_OK);
    float *slab = t_floats((int64_t)p.total);
    rf__params_init(&p, slab, seed);
    assert_int_equal(rf__params_save(&p, slab, RF_F32, path, NULL), RF_OK);
    rf__params_free(&p);
    free(path);
}

#endif
