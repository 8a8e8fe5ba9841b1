/* spm_learn.cc — learning a model, by libsentencepiece; everything that C++ may throw ends here. */
#include "text/subword/spm.h"

#include <sentencepiece_trainer.h>

#include <cstring>
#include <new>
#include <string>
#include <unordered_map>

namespace {

/* The reason without the place in the library's sources: "src/x.cc(661) [(a) <= (b)] Vocabulary size ..." */
rf_status fail(rf_error *why, const char *what, const sentencepiece::util::Status &status)
{
    const std::string text = status.error_message();
    const size_t at = text.find("] ");
    const char *reason = at == std::string::npos ? text.c_str() : text.c_str() + at + 2;
    return rf_fail(why, RF_EDATA, "%s: SentencePiece: %.200s", what, *reason ? reason : "not a SentencePiece model");
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

} // namespace

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
        return take(user, model.data(), model.size()) ? RF_OK : rf_fail(why, RF_ENOMEM, "vocabulary: out of memory");
    });
}
