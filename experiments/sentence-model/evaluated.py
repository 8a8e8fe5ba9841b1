"""evaluated.py: the rows with which sentence models are evaluated: all files of STS-B, SICK and MRPC."""
import os, re, unicodedata

# folder, file, columns of the two sentences and of the score, lines of header
FILES = (("glue/STS-B", "train.tsv", 7, 8, 9, 1), ("glue/STS-B", "dev.tsv", 7, 8, 9, 1),
         ("glue/STS-B", "sts-test.tsv", 5, 6, 4, 0), ("sick", "SICK_train.txt", 1, 2, 3, 1),
         ("sick", "SICK_trial.txt", 1, 2, 3, 1), ("sick", "SICK_test_annotated.txt", 1, 2, 3, 1),
         ("glue/MRPC", "train.tsv", 3, 4, 0, 1), ("glue/MRPC", "dev.tsv", 3, 4, 0, 1),
         ("glue/MRPC", "msr_paraphrase_test.txt", 3, 4, 0, 1))


def normal(text):
    """Letters and digits, without case and accents."""
    text = unicodedata.normalize("NFKD", text).casefold()
    return "".join(re.findall(r"\w", text)).replace("_", "")


def rows_of(data, folder, name):
    """(sentence, sentence, score) of one of the files."""
    a, b, score, header = next(f[2:] for f in FILES if f[:2] == (folder, name))
    with open(os.path.join(data, folder, name), encoding="utf-8-sig", newline="\n") as f:
        lines = f.read().split("\n")[header:]
    for line in lines:
        field = line.rstrip("\r").split("\t")
        if len(field) > max(a, b):
            yield field[a], field[b], float(field[score])


def pairs_of(data):
    """Each pair, in order of the alphabet, normalized."""
    return {tuple(sorted((normal(a), normal(b)))) for f in FILES for a, b, _ in rows_of(data, f[0], f[1])}


def sentences_of(data):
    return {s for pair in pairs_of(data) for s in pair}
