/* data.h — the texts of an experiment: their location, and whether they are the expected ones; values of an overlay. */
#ifndef EXPERIMENTS_DATA_H
#define EXPERIMENTS_DATA_H

#include "run.h"

/* DATA/NAME, or DATA/NAME.zst or .gz when that is what is there. */
void data_path(const request *r, const char *name, char out[PATH]);

/* Ends the program (4) with all files of the list "data" that are not there, where each was looked for and how it gets
 * its name; or (3) with what is of another layout.  Sizes are of the whole texts: `stand_in` passes over them. */
void data_check(const request *r, bool stand_in);

/* Keys of FILE.json over those of the experiment: objects key by key, in its rows, too. */
void data_overlay(request *r, const char *path);

/* CAIL2019-SCM's {"A", "B", "C", "label"} as `finetune --task mc` reads it, in `to`. */
void data_triplets(const char *from, const char *to);

/* How many of such triplets who reads nothing has right: of two candidates the one that is usually right in the other
 * triplets, or the one that is usually wrong, whichever does better; 0.5 where texts are never there twice. */
double data_guess(const char *path);

#endif
