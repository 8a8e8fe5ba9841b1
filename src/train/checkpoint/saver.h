/* saver.h — checkpoints that are written while training goes on.
 *
 *     between two steps    a thread begins to write checkpoint-S from the run's own weights and moments: nothing is
 *     copied
 *     the next gradient    needs the weights as they are, and leaves them so
 *     the next update      waits until the thread has read them all (rf__saver_read), which it mostly has
 *     meanwhile         the files are synced and published as any other checkpoint (checkpoint.c); old ones are removed
 *     some step later      how it went
 *
 * There is one save at a time.                                                                                       */
#ifndef RF_TRAIN_SAVER_H
#define RF_TRAIN_SAVER_H

#include <pthread.h>
#include <semaphore.h>

#include "train/checkpoint/average.h"
#include "train/checkpoint/checkpoint.h"
#include "train/log/events.h"
#include "train/log/metrics.h"

/* A save: what is written, and what goes with it. */
typedef struct rf__save {
    rf__checkpoint checkpoint;         /* its state already holds the lengths of both logs; read and user are not set */
    rf__metrics *metrics;
    rf__events *events;
    const char *folder;
    int64_t keep;                       /* save_total_limit                                                           */
    rf__ranking best;                   /* average_best: those are kept besides                                       */
} rf__save;

/* All of it, here and now: the checkpoint written; logs synced, so that it never knows of a line that is lost;
 * published; only then old ones removed.  `path` receives where.  Fails as rf__checkpoint_save does. */
rf_status rf__save_write(const rf__save *s, char *path, size_t size, rf_error *why);

/* One that is all zero has nothing to do. */
typedef struct rf__saver {
    rf__save save;                      /* of a state that is the saver's own                                         */
    rf__state state;
    pthread_t thread;
    bool running;                       /* a save was started and rf__saver_end has not been called                   */
    bool reading;                       /* its thread may still read the slabs                                        */
    sem_t read;                         /* it does not any more                                                       */
    _Atomic bool done;                  /* it has nothing more to do                                                  */
    rf_status status;                   /* below: the thread's until it is joined                                     */
    rf_error why;
    char path[4096];
    double waited;                      /* seconds that the run waited for saves                                      */
} rf__saver;

/* Begins to write what->checkpoint, whose state is copied.  false: the system gives no thread, and nothing was done. */
bool rf__saver_start(rf__saver *s, const rf__save *what);

/* Waits until values, moments and means have been read: from now on they may change. */
void rf__saver_read(rf__saver *s);

bool rf__saver_done(const rf__saver *s);                                 /* rf__saver_end would not wait              */

/* Waits for the save that was started; its step is s->state.step. */
rf_status rf__saver_end(rf__saver *s, char *path, size_t size, rf_error *why);

void rf__saver_free(rf__saver *s);                                       /* likewise                                  */

#endif
