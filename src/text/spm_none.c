/* spm_none.c — a build without SentencePiece: what it would be needed for says so. */
#ifndef RF_SENTENCEPIECE
#include "spm.h"

static rf_status missing(const char *what, rf_error *why)
{
    return rf_fail(why, RF_EUNSUPPORTED,
                   "%s: sub-words need SentencePiece, and this build was made without it: install it (Debian: "
                   "libsentencepiece-dev) and build again with -DRF_SENTENCEPIECE=ON",
                   what);
}

rf_status rf__spm_load(const void *data, size_t size, const char *name, rf__spm **out, rf_error *why)
{
    (void)data, (void)size, (void)out;
    return missing(name, why);
}

rf_status rf__spm_train(const char *const option[], const char *text, size_t size, rf__spm_take *take, void *user,
                        rf_error *why)
{
    (void)option, (void)text, (void)size, (void)take, (void)user;
    return missing("vocabulary", why);
}

/* There is no model to ask. */
void rf__spm_free(rf__spm *m) { (void)m; }
int32_t rf__spm_size(const rf__spm *m) { return (void)m, 0; }
const char *rf__spm_piece(const rf__spm *m, int32_t id) { return (void)m, (void)id, NULL; }
int32_t rf__spm_id(const rf__spm *m, const char *piece) { return (void)m, (void)piece, -1; }
bool rf__spm_control(const rf__spm *m, int32_t id) { return (void)m, (void)id, false; }
int32_t rf__spm_reserved(const rf__spm *m, rf__spm_role role) { return (void)m, (void)role, -1; }

rf_status rf__spm_encode(const rf__spm *m, const char *text, size_t size, int nbest, float alpha, uint32_t seed,
                         rf__spm_put *put, void *user, rf_error *why)
{
    (void)m, (void)text, (void)size, (void)nbest, (void)alpha, (void)seed, (void)put, (void)user;
    return missing("encode", why);
}

rf_status rf__spm_decode(const rf__spm *m, const int32_t *id, size_t n, rf__spm_take *take, void *user, rf_error *why)
{
    (void)m, (void)id, (void)n, (void)take, (void)user;
    return missing("decode", why);
}

rf_status rf__spm_join(const rf__spm *m, const char *const *piece, size_t n, rf__spm_take *take, void *user,
                       rf_error *why)
{
    (void)m, (void)piece, (void)n, (void)take, (void)user;
    return missing("decode", why);
}
#else
typedef int rf__spm_is_there;           /* C has no empty file                                                        */
#endif
