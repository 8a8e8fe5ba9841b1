/* world.h — paths of the model and the corpus of tiny.h, as the options of a run need them. */
#ifndef TESTS_TRAIN_WORLD_H
#define TESTS_TRAIN_WORLD_H

#include "tiny.h"

typedef struct world { char *model, *corpus; const char *text[1]; } world;

static inline world make_world(void)
{
    world w = {.model = tiny_model()};
    w.corpus = tiny_path(w.model, "corpus.txt");
    w.text[0] = w.corpus;
    return w;
}

static inline void end_world(world *w)
{
    free(w->model);
    free(w->corpus);
}

#endif
