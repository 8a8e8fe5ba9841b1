/* serve_demo.h — what `roformer serve --demo` serves: the shipped models, and an index of a few sentences. */
#ifndef CLI_SERVE_DEMO_H
#define CLI_SERVE_DEMO_H

#include "cli/io/io.h"

/* models: their folders, the sentence model first. index: in `folder`, which is temporary. */
enum { SERVE_DEMO_MODELS = 3 };
typedef struct serve_demo {
    char model[SERVE_DEMO_MODELS][4096];
    int models;
    char folder[4096], index[4200];
} serve_demo;

/* Finds the models and makes the index. On error, too, serve_demo_close has to be called. */
rf_status serve_demo_open(cli_io *io, serve_demo *d);
void serve_demo_close(serve_demo *d);

#endif
