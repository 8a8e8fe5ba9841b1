/* memory.h — will the run fit? */
#ifndef RF_TRAIN_MEMORY_H
#define RF_TRAIN_MEMORY_H

#include "model/params.h"
#include "roformer/train.h"

/* Bytes of a step's arena with a micro-batch of `tokens`, of which `source` are those of a translator's encoder: what
 * rf_graph_memory will say, within a few per cent.  Those of the slabs: rf__optimizer_bytes, and the rounded copy of
 * the weights. */
double rf__memory_batch(const rf_params *p, const rf_train_options *o, int64_t tokens, int64_t source);
double rf__memory_slabs(const rf_params *p, const rf_train_options *o);

/* The tokens of a step's micro-batches of this rank, before they are computed. */
double rf__memory_buffers(const rf_params *p, const rf_train_options *o, int64_t tokens);

/* An evaluation of so many tokens at once, nothing recorded. */
double rf__memory_forward(const rf_params *p, int64_t tokens);

/* What a job has besides. */
typedef struct rf__memory_job {
    int64_t example;                    /* tokens of the longest example; 0: a batch is not counted in examples       */
    int64_t least;                      /* tokens of a batch that is possible: of one example, or of two              */
    int64_t evaluated;                  /* tokens of the largest batch of an evaluation                               */
    double copies;                      /* bytes of slabs of its own: FGM keeps the word embeddings as they were      */
    int64_t examples, at_once;          /* of a batch, and those of it that are encoded together; 0: not counted      */
    double each;                        /* bytes for every example of a batch: rows of a teacher                      */
    double square;                      /* bytes for every two examples of a batch: cosines of each with all others   */
    double source;                      /* share of the tokens that are a translator's sources                        */
} rf__memory_job;

/* RF_ENOMEM with the numbers, and with the tokens_per_batch that would fit; otherwise `note` says what is needed.
 * Where a batch is counted in examples, with the per_device_train_batch_size, and mini_batch_size where that is less.
 * job NULL: pre-training. */
rf_status rf__memory_check(const rf_params *p, const rf_train_options *o, const rf__memory_job *job, double left,
                           char *note, size_t size, rf_error *why);

#endif
