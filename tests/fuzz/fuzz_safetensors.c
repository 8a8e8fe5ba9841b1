/* fuzz_safetensors.c — any bytes as a .safetensors file: refused with a sentence, or every tensor lies inside the
 * file. */
#include "weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    open_and_visit(data, size);
    return 0;
}
