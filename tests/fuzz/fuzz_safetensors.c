/* fuzz_safetensors.c — arbitrary bytes as a .safetensors file: rejected with a message, or every tensor is inside the
 * file. */
#include "weights.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    open_and_visit(data, size);
    return 0;
}
