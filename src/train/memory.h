/* memory.h — checks whether a run fits into memory. */
#ifndef RF_TRAIN_MEMORY_H
#define RF_TRAIN_MEMORY_H

#include "model/params/params.h"
#include "roformer/train.h"

/* Bytes of a step for a micro-batch of `tokens`, of which `source` belong to the encoder of a translation model: of its
 * arena, to the byte for texts of max_length, and of what linear attention keeps. The slabs are not included:
 * rf__optimizer_bytes, and the rounded copy of the weights. */
double rf__memory_batch(const rf_params *p, const rf_train_options *o, int64_t tokens, int64_t source);
double rf__memory_slabs(const rf_params *p, const rf_train_options *o);

/* Bytes of the tokens of this rank's micro-batches of a step, before they are computed. */
double rf__memory_buffers(const rf_params *p, const rf_train_options *o, int64_t tokens);

/* Bytes of an evaluation of `tokens` at once, without recording. */
double rf__memory_forward(const rf_params *p, const rf_train_options *o, int64_t tokens);

/* What a job needs in addition. */
typedef struct rf__memory_job {
    const rf_params *model;             /* whose step is counted; NULL: that of all parameters                        */
    int64_t example;                    /* tokens of the longest example; 0: batches are not counted in examples      */
    int64_t least;                      /* tokens of the smallest possible batch: of one example, or of two           */
    int64_t evaluated;                  /* tokens of the largest batch in evaluations                                 */
    double copies;                      /* bytes of additional slabs: FGM stores a copy of the word embeddings        */
    int64_t examples, at_once;          /* examples of a batch, and how many are encoded together; 0: not counted     */
    double each;                        /* bytes for every example of a batch: vectors of a teacher                   */
    double square;                    /* bytes for every pair of examples of a batch: cosines of each with all others */
    double source;                      /* fraction of the tokens that belong to the sources of a translation model   */
} rf__memory_job;

/* RF_ENOMEM with the numbers, and with the tokens_per_batch that would fit; otherwise `note` states what is needed. If
 * batches are counted in examples, with the per_device_train_batch_size, and with mini_batch_size if that is smaller.
 * job NULL: pre-training. */
rf_status rf__memory_check(const rf_params *p, const rf_train_options *o, const rf__memory_job *job, double left,
                           char *note, size_t size, rf_error *why);

#endif
