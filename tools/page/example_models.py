"""example_models.py PROGRAM FOLDER — small models for the panels of the page for which no model is shipped: labels, tags, answers,
rerank, generate, translate. They learn sentences of a few patterns, in a minute or two, and know nothing else."""
import json
import os
import random
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PEOPLE = ["Angela Merkel", "Marie Curie", "Ada Lovelace", "Johann Sebastian Bach", "Clara Schumann", "Isaac Newton", "Jane Austen"]
PLACES = ["Paris", "Brussels", "London", "Vienna", "Warsaw", "New York", "Berlin"]
TOPICS = {
    "music": (["orchestra", "band", "singer", "pianist", "choir"], ["played a symphony", "recorded an album", "gave a concert", "sang two songs"]),
    "sport": (["team", "football club", "runner", "player", "coach"], ["won the match", "lost the final", "took the gold medal", "scored two goals"]),
    "weather": (["storm", "rain", "wind", "snow", "fog"], ["is expected tomorrow", "came from the north", "will end at noon", "destroyed many houses"]),
    "economy": (["company", "bank", "factory", "shop", "farm"], ["sold its shares", "raised its prices", "lent money", "made a profit"]),
}
TAILS = ["", " in the evening", " last year", " on Monday", " again"]
FLOWS = (["river", "stream", "canal"], ["old", "small", "wide", "cold"], ["sea", "lake", "ocean", "harbor"], ["mountains", "forest", "hills"])
GERMAN = {"house": "Haus", "book": "Buch", "window": "Fenster", "picture": "Bild", "child": "Kind", "car": "Auto"}
ADJECTIVES = {"small": "klein", "old": "alt", "new": "neu", "red": "rot", "beautiful": "schön", "big": "groß"}


def run(program, *words):
    done = subprocess.run([program, *words], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"roformer {words[0]}: {done.stderr[-2000:]}")


def write(path, rows):
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(row + "\n" for row in rows)


def about(topic, pick):
    subjects, predicates = TOPICS[topic]
    return f"The {pick(subjects)} {pick(predicates)}{pick(TAILS)}."


def labels(pick):
    return ["text\tlabel"] + [f"{about(topic, pick)}\t{topic}" for _ in range(300) for topic in [pick(list(TOPICS))]]


def rerank(pick):
    rows = ["text\tpair\tlabel"]
    queries = {"music": ["who plays music", "a concert"], "sport": ["who won the game", "sport"],
               "weather": ["bad weather", "will it rain"], "economy": ["business news", "who sells what"]}
    for _ in range(600):
        asked, told = pick(list(TOPICS)), pick(list(TOPICS))
        told = pick([asked, told])
        rows.append(f"{pick(queries[asked])}\t{about(told, pick)}\t{int(asked == told)}")
    return rows


def tags(pick):
    rows = []
    for _ in range(500):
        a, b = pick(PEOPLE), pick(PEOPLE)
        text = pick([f"[{a}] met the mayor of ({pick(PLACES)}) in ({pick(PLACES)}) .", f"[{a}] wrote to [{b}] from ({pick(PLACES)}) .",
                     f"In ({pick(PLACES)}) the prize went to [{a}] .", f"The train to ({pick(PLACES)}) left without [{a}] and [{b}] ."])
        kind, first = "O", False
        for word in text.split():
            if word[0] in "[(":
                kind, first = {"[": "PER", "(": "LOC"}[word[0]], True
            bare = word.strip("[]()")
            rows.append(f"{bare} {'O' if kind == 'O' else ('B-' if first else 'I-') + kind}")
            first = False
            if word[-1] in "])":
                kind = "O"
        rows.append("")
    return rows


def answers(pick):
    rows = []
    for _ in range(500):
        what, how, into, source = map(pick, FLOWS)
        through = pick(["the valley", "the town", "the forest"])
        context = f"The {how} {what} flows through {through} to the {into}. Its source lies in the {source}."
        question, answer = pick([(f"Where does the {what} flow?", f"to the {into}"), (f"Where is the source of the {what}?", f"in the {source}"),
                                 (f"What flows through {through}?", f"The {how} {what}")])
        rows.append(json.dumps({"question": question, "context": context, "answers": {"text": [answer], "answer_start": [context.index(answer)]}}))
    return rows


def pairs(pick):
    """English and German sentences of the same number of words in another order."""
    rows = []
    for _ in range(3000):
        noun, other, how = pick(list(GERMAN)), pick(list(GERMAN)), pick(list(ADJECTIVES))
        rows.append(pick([
            (f"The {noun} is {how}.", f"Das {GERMAN[noun]} ist {ADJECTIVES[how]}."),
            (f"Today the {noun} is not {how}.", f"Heute ist das {GERMAN[noun]} nicht {ADJECTIVES[how]}."),
            (f"I have seen the {noun}.", f"Ich habe das {GERMAN[noun]} gesehen."),
            (f"I have seen the {noun} and the {other} today.", f"Ich habe heute das {GERMAN[noun]} und das {GERMAN[other]} gesehen."),
        ]))
    return rows


def finetune(program, folder, name, task, rows, suffix, *options):
    train = os.path.join(folder, f"{name}.{suffix}")
    write(train, rows)
    run(program, "finetune", "-q", "--task", task, "--train", train, "--dev", train, "-m", os.path.join(ROOT, "models", "roformer-small-en"),
        "-o", os.path.join(folder, name), "--learning_rate", "3e-4", "--batch_size", "16", "--seed", "1", *options)


def main():
    program, folder = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    os.makedirs(folder, exist_ok=True)
    pick = random.Random(1).choice
    finetune(program, folder, "labels", "cls", labels(pick), "tsv", "--num_train_epochs", "2")
    finetune(program, folder, "tags", "tag", tags(pick), "conll", "--num_train_epochs", "2")
    finetune(program, folder, "answers", "qa", answers(pick), "jsonl", "--num_train_epochs", "3")
    finetune(program, folder, "rerank", "cross", rerank(pick), "tsv", "--num_train_epochs", "2")

    texts = os.path.join(folder, "texts.txt")
    write(texts, [about(pick(list(TOPICS)), pick) for _ in range(3000)])
    words, causal = os.path.join(folder, "words"), os.path.join(folder, "generate")
    run(program, "vocab", "-q", "--text", texts, "--size", "300", "-o", words)
    small = {"model_type": "roformer", "hidden_size": 128, "embedding_size": 128, "num_hidden_layers": 2, "num_attention_heads": 2,
             "intermediate_size": 512, "vocab_size": 300, "is_decoder": True}
    write(os.path.join(folder, "small.json"), [json.dumps(small)])
    run(program, "pretrain", "-q", "--text", texts, "--model", words, "--config", os.path.join(folder, "small.json"), "--objective", "clm",
        "--max_steps", "200", "--learning_rate", "2e-3", "--warmup_steps", "20", "--max_length", "64", "--tokens_per_batch", "1024", "-o", causal)

    rows = pairs(pick)
    write(os.path.join(folder, "text.en"), [en for en, _ in rows])
    write(os.path.join(folder, "text.de"), [de for _, de in rows])
    small = {"model_type": "transformer", "d_model": 128, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 4,
             "decoder_attention_heads": 4, "encoder_ffn_dim": 256, "decoder_ffn_dim": 256}
    run(program, "train-translation", "-q", "--source", os.path.join(folder, "text.en"), "--target", os.path.join(folder, "text.de"),
        "--vocab_size", "200", "--max_steps", "400", "--warmup_steps", "50", "--learning_rate", "2e-3", "--max_tokens", "1024",
        "-o", os.path.join(folder, "translate"))


main()
