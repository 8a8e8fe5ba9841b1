/* validation.c — the documents of these texts that `roformer pretrain` and `prepare` hold out, as lines of JSON.
 *
 *     validation [-s SHARE] TEXT... > held-out.jsonl
 *
 * A document is held out when the hash of its text, as a number from 0 to 1, is below SHARE (--validation_split).  */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../hash.h"
#include "roformer/inspect/files.h"

static rf_status write_held_out(rf_reader *r, double share, rf_error *why)
{
    rf_document d;
    rf_status status;
    int held = 0;
    while (!(status = rf_reader_next(r, &d, why)) && d.text) {
        if (!d.continues) held = (double)(hash64(d.text, d.size, 0) >> 11) * 0x1p-53 < share;
        if (!held) continue;
        json_t *line = json_pack("{s:o}", "text", json_stringn(d.text, d.size));
        if (!line || json_dumpf(line, stdout, JSON_COMPACT) || putchar('\n') == EOF)
            status = rf_fail(why, RF_EIO, "standard output: cannot be written");
        json_decref(line);
        if (status) return status;
    }
    return status;
}

int main(int argc, char **argv)
{
    double share = 0.005;
    for (int option; (option = getopt(argc, argv, "s:")) != -1;)
        if (option == 's') share = strtod(optarg, NULL);
        else return 2;
    if (optind == argc) return fprintf(stderr, "usage: validation [-s SHARE] TEXT... > held-out.jsonl\n"), 2;
    rf_ctx *ctx = NULL;
    rf_reader *r = NULL;
    rf_error why = {0};
    rf_status status = rf_ctx_new(NULL, &ctx, &why);
    if (!status) status = rf_reader_open(ctx, (const char *const *)argv + optind, argc - optind, NULL, &r, &why);
    if (!status) status = write_held_out(r, share, &why);
    if (!status && fflush(stdout)) status = rf_fail(&why, RF_EIO, "standard output: cannot be written");
    rf_reader_close(r);
    rf_ctx_free(ctx);
    if (status) fprintf(stderr, "validation: %s\n", why.text);
    return status ? 1 : 0;
}
