/* spm.cc — the calls of spm.h, by libsentencepiece; everything that C++ may throw ends here. */
#include "text/spm.h"

#include <sentencepiece_processor.h>
#include <sentencepiece_trainer.h>

#include <cstring>
#include <mutex>
#include <new>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

using sentencepiece::SentencePieceProcessor;

struct rf__spm {
    SentencePieceProcessor p;
};

namespace {

/* The reason without the place in the library's sources: "src/x.cc(661) [(a) <= (b)] Vocabulary size ..." */
rf_status fail(rf_error *why, const char *what, const sentencepiece::util::Status &status)
{
    const std::string text = status.error_message();
    const size_t at = text.find("] ");
    const char *reason = at == std::string::npos ? text.c_str() : text.c_str() + at + 2;
    return rf_fail(why, RF_EDATA, "%s: SentencePiece: %.200s", what, *reason ? reason : "this is no model of its own");
}

template <typename F> rf_status guarded(rf_error *why, const char *what, F f)
{
    try {
        return f();
    } catch (const std::bad_alloc &) {
        return rf_fail(why, RF_ENOMEM, "%s: SentencePiece is out of memory", what);
    } catch (const std::exception &e) {
        return rf_fail(why, RF_EDATA, "%s: SentencePiece: %.200s", what, e.what());
    } catch (...) {
        return rf_fail(why, RF_EDATA, "%s: SentencePiece failed", what);
    }
}

/* Lines of a text. */
class lines : public sentencepiece::SentenceIterator {
  public:
    lines(const char *text, size_t size) : at_(text), end_(text + size) { Next(); }
    bool done() const override { return done_; }
    const std::string &value() const override { return line_; }
    sentencepiece::util::Status status() const override { return sentencepiece::util::Status(); }
    void Next() override
    {
        done_ = at_ == end_;
        if (done_) return;
        const char *to = static_cast<const char *>(memchr(at_, '\n', static_cast<size_t>(end_ - at_)));
        if (!to) to = end_;
        line_.assign(at_, static_cast<size_t>(to - at_));
        at_ = to == end_ ? to : to + 1;
    }

  private:
    const char *at_, *end_;
    std::string line_;
    bool done_ = false;
};

std::mutex sampling;

/* Random numbers of the library belong to a thread and are seeded when it first asks for one: so a thread for each
 * text, one at a time, since what seeds them is of the process. */
sentencepiece::util::Status sample(const rf__spm *m, absl::string_view text, int nbest, float alpha, uint32_t seed,
                                   sentencepiece::ImmutableSentencePieceText *out)
{
    sentencepiece::util::Status status;
    std::lock_guard<std::mutex> lock(sampling);
    sentencepiece::SetRandomGeneratorSeed(seed == UINT32_MAX ? 0 : seed);
    std::exception_ptr thrown;
    std::thread t([&] {
        try {
            status = m->p.SampleEncode(text, nbest, alpha, out->mutable_proto());
        } catch (...) {
            thrown = std::current_exception();
        }
    });
    t.join();
    if (thrown) std::rethrow_exception(thrown);
    return status;
}

} // namespace

rf_status rf__spm_load(const void *data, size_t size, const char *name, rf__spm **out, rf_error *why)
{
    return guarded(why, name, [&] {
        rf__spm *m = new rf__spm;
        const auto status = m->p.LoadFromSerializedProto(absl::string_view(static_cast<const char *>(data), size));
        if (status.ok()) {
            *out = m;
            return RF_OK;
        }
        delete m;
        return fail(why, name, status);
    });
}

void rf__spm_free(rf__spm *m) { delete m; }

int32_t rf__spm_size(const rf__spm *m) { return m->p.GetPieceSize(); }
const char *rf__spm_piece(const rf__spm *m, int32_t id) { return m->p.IdToPiece(id).c_str(); }

int32_t rf__spm_id(const rf__spm *m, const char *piece)
{
    const int32_t id = m->p.PieceToId(piece);
    return id >= 0 && m->p.IdToPiece(id) == piece ? id : -1;
}

bool rf__spm_control(const rf__spm *m, int32_t id) { return m->p.IsControl(id); }

int32_t rf__spm_reserved(const rf__spm *m, rf__spm_role role)
{
    switch (role) {
    case RF_SPM_UNK: return m->p.unk_id();
    case RF_SPM_BOS: return m->p.bos_id();
    case RF_SPM_EOS: return m->p.eos_id();
    case RF_SPM_PAD: return m->p.pad_id();
    }
    return -1;
}

rf_status rf__spm_encode(const rf__spm *m, const char *text, size_t size, int nbest, float alpha, uint32_t seed,
                         rf__spm_put *put, void *user, rf_error *why)
{
    return guarded(why, "encode", [&] {
        sentencepiece::ImmutableSentencePieceText pieces;
        const absl::string_view input(text, size);
        const auto status = alpha > 0 ? sample(m, input, nbest, alpha, seed, &pieces)
                                      : m->p.Encode(input, pieces.mutable_proto());
        if (!status.ok()) return fail(why, "encode", status);
        const size_t n = pieces.pieces_size();
        for (size_t i = 0; i < n; i++) {
            const auto piece = pieces.pieces(static_cast<int>(i));
            if (!put(user, piece.piece().c_str(), static_cast<int32_t>(piece.id()), piece.begin(), piece.end()))
                return rf_fail(why, RF_ENOMEM, "encode: no memory for %zu bytes of text", size);
        }
        return RF_OK;
    });
}

rf_status rf__spm_decode(const rf__spm *m, const int32_t *id, size_t n, rf__spm_take *take, void *user, rf_error *why)
{
    return guarded(why, "decode", [&] {
        std::string text;
        const auto status = m->p.Decode(std::vector<int>(id, id + n), &text);
        if (!status.ok()) return fail(why, "decode", status);
        return take(user, text.data(), text.size()) ? RF_OK : rf_fail(why, RF_ENOMEM, "decode: no memory");
    });
}

rf_status rf__spm_join(const rf__spm *m, const char *const *piece, size_t n, rf__spm_take *take, void *user,
                       rf_error *why)
{
    return guarded(why, "decode", [&] {
        std::string text;
        const auto status = m->p.Decode(std::vector<std::string>(piece, piece + n), &text);
        if (!status.ok()) return fail(why, "decode", status);
        return take(user, text.data(), text.size()) ? RF_OK : rf_fail(why, RF_ENOMEM, "decode: no memory");
    });
}

rf_status rf__spm_train(const char *const option[], const char *text, size_t size, rf__spm_take *take, void *user,
                        rf_error *why)
{
    return guarded(why, "vocabulary", [&] {
        std::unordered_map<std::string, std::string> all;
        for (; *option; option += 2) all[option[0]] = option[1];
        lines from(text, size);
        std::string model;
        const auto status = sentencepiece::SentencePieceTrainer::Train(all, &from, &model);
        if (!status.ok()) return fail(why, "vocabulary", status);
        return take(user, model.data(), model.size()) ? RF_OK : rf_fail(why, RF_ENOMEM, "vocabulary: no memory");
    });
}
