/* spm_library.cc — see spm_library.h. */
#include "spm_library.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

struct library {
    sentencepiece::SentencePieceProcessor p;
};

static char *copy(const std::string &text, size_t *size)
{
    char *out = static_cast<char *>(malloc(text.size() + 1));
    if (!out) abort();
    memcpy(out, text.c_str(), text.size() + 1);
    *size = text.size();
    return out;
}

library *library_load(const void *data, size_t size)
{
    library *l = new library;
    if (l->p.LoadFromSerializedProto(absl::string_view(static_cast<const char *>(data), size)).ok()) return l;
    delete l;
    return nullptr;
}

void library_free(library *l) { delete l; }
int32_t library_unk(const library *l) { return l->p.unk_id(); }

/* Random numbers belong to a thread and are seeded when it first asks for one. */
bool library_encode(const library *l, const char *text, size_t size, int nbest, float alpha, uint32_t seed,
                    library_put *put, void *user)
{
    sentencepiece::ImmutableSentencePieceText pieces;
    const absl::string_view input(text, size);
    bool good = false;
    if (nbest) {
        sentencepiece::SetRandomGeneratorSeed(seed);
        std::thread t([&] { good = l->p.SampleEncode(input, nbest, alpha, pieces.mutable_proto()).ok(); });
        t.join();
    } else {
        good = l->p.Encode(input, pieces.mutable_proto()).ok();
    }
    for (size_t i = 0; i < pieces.pieces_size() && good; i++) {
        const auto piece = pieces.pieces(static_cast<int>(i));
        put(user, piece.piece().c_str(), static_cast<int32_t>(piece.id()), piece.begin(), piece.end());
    }
    return good;
}

char *library_decode(const library *l, const int32_t *id, size_t n, size_t *size)
{
    std::string text;
    if (!l->p.Decode(std::vector<int>(id, id + n), &text).ok()) abort();
    return copy(text, size);
}

char *library_join(const library *l, const char *const *piece, size_t n, size_t *size)
{
    std::string text;
    if (!l->p.Decode(std::vector<std::string>(piece, piece + n), &text).ok()) abort();
    return copy(text, size);
}
