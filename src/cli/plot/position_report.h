/* position_report.h — the measurements of position-report as JSON, as a table, as plots. */
#ifndef CLI_POSITION_REPORT_H
#define CLI_POSITION_REPORT_H

#include "cli/plot/lab.h"

enum { POSITION_SHIFTS = 4 };
typedef struct position_report {
    const lab_bench *bench;
    rf_shift shift[POSITION_SHIFTS];
    rf_attention_report attention;
    rf_length_loss loss[RF_LENGTHS];
    int lengths;                /* 0: the model has no head                                                           */
    rf_subspaces subspaces;     /* width 0: the encoding adds no vector for each position                             */
} position_report;

json_t *position_report_json(const position_report *r);
void position_report_print(const position_report *r);

/* Refuses (RF_EARG) files in the folder that would be overwritten, unless position-report wrote them. */
rf_status position_report_own(const char *folder, rf_error *why);

/* FOLDER/length, place, distance and planes, each as .gp, .svg and .png. */
rf_status position_report_draw(const position_report *r, const char *folder, rf_error *why);

#endif
