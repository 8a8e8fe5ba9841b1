/* fuzz_torch.c — arbitrary bytes as a file of torch.save.  A file with its first bytes (zip, pickles) is used as it is;
 * otherwise the bytes are the pickle of tensors and the data of the old format, after a valid header. */
#include "weights.h"

#define FRONT "\x80\2\x8a\nl\xfc\x9c\x46\xf9 j\xa8P\x19.\x80\2M\xe9\3.\x80\2}(X\15\0\0\0little_endian\x88u."

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (rf__torch_is(data, size)) {
        open_and_visit(data, size);
        return 0;
    }
    uint8_t *file = malloc(sizeof FRONT - 1 + size);
    if (!file) abort();
    memcpy(file, FRONT, sizeof FRONT - 1);
    if (size) memcpy(file + sizeof FRONT - 1, data, size);
    open_and_visit(file, sizeof FRONT - 1 + size);
    free(file);
    return 0;
}
