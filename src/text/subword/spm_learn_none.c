/* spm_learn_none.c — for a build without SentencePiece: training of sub-words fails with a message. */
#ifndef RF_SENTENCEPIECE
#include "spm.h"

rf_status rf__spm_train(const char *const option[], const char *text, size_t size, rf__spm_take *take, void *user,
                        rf_error *why)
{
    (void)option, (void)text, (void)size, (void)take, (void)user;
    return rf_fail(why, RF_EUNSUPPORTED,
                   "vocabulary: learning sub-words needs SentencePiece, and this build was made without it: install it "
                   "(Debian: libsentencepiece-dev) and build again with -DRF_SENTENCEPIECE=ON");
}
#else
typedef int rf__spm_learns;             /* an empty file is not valid C                                               */
#endif
