/* saver.h — checkpoints that are written while training continues.
 *
 *     between two steps    a thread starts to write checkpoint-S from the run's own weights and moments; nothing is
 *                          copied
 *     the next gradient    reads the weights without changing them
 *     the next update      waits until the thread has read them all (rf__saver_read), which is usually the case
 *     meanwhile            the files are synced and published as any other checkpoint (checkpoint.c); old ones are
 *                          removed
 *     some steps later     the result is known
 *
 * There is one save at a time. */
#ifndef RF_TRAIN_SAVER_H
#define RF_TRAIN_SAVER_H

#include <pthread.h>

#include "train/checkpoint/average.h"
#include "train/checkpoint/checkpoint.h"
#include "train/log/events.h"
#include "train/log/metrics.h"

/* A save: what is written, and what belongs to it. */
typedef struct rf__save {
    rf__checkpoint checkpoint;         /* its state contains the lengths of both logs; read and user are not set */
    rf__metrics *metrics;
    rf__events *events;
    const char *folder;
    int64_t keep;                       /* save_total_limit                                                           */
    rf__ranking best;                   /* average_best: those are kept as well                                       */
} rf__save;

/* Saves synchronously: writes the checkpoint; syncs the logs, so that it never records a lost line; publishes it; only
 * then removes old ones. `path` receives its path. Fails as rf__checkpoint_save does. */
rf_status rf__save_write(const rf__save *s, char *path, size_t size, rf_error *why);

/* Zero-initialized, it is idle. */
typedef struct rf__saver {
    rf__save save;                      /* with its own copy of the state                                             */
    rf__state state;
    pthread_t thread;
    bool running;                       /* a save was started and rf__saver_end has not been called                   */
    bool reading;                       /* its thread may still read the slabs                                        */
    pthread_mutex_t lock;               /* of `read`                                                                  */
    pthread_cond_t change;              /* of `read`                                                                  */
    bool read;                          /* it has read them                                                           */
    _Atomic bool done;                  /* it has finished                                                            */
    rf_status status;                   /* the members below belong to the thread until it is joined                  */
    rf_error why;
    char path[4096];
    double waited;                      /* seconds that the run waited for saves                                      */
} rf__saver;

/* Starts to write what->checkpoint, whose state is copied. false: the system has no thread available, and nothing was
 * done. */
bool rf__saver_start(rf__saver *s, const rf__save *what);

/* Waits until values, moments and averages have been read; then they may change. */
void rf__saver_read(rf__saver *s);

bool rf__saver_done(const rf__saver *s);                                 /* rf__saver_end would not wait              */

/* Waits for the started save; its step is s->state.step. */
rf_status rf__saver_end(rf__saver *s, char *path, size_t size, rf_error *why);

void rf__saver_free(rf__saver *s);                                       /* likewise                                  */

#endif
