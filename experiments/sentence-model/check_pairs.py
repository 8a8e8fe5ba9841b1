#!/usr/bin/env python3
"""check_pairs.py DATA FILE.jsonl...: how many pairs of training are pairs of STS-B, SICK or MRPC; fails unless 0.

Pairs are compared without order, case, accents and all that is neither letter nor digit; an example's negatives are
pairs with its text, too.  Of each of the nine files of evaluation the number of rows is printed."""
import json, sys

from evaluated import FILES, normal, pairs_of, rows_of


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    data = sys.argv[1]
    for folder, name in (f[:2] for f in FILES):
        n = sum(1 for _ in rows_of(data, folder, name))
        if not n:
            sys.exit("check_pairs.py: %s/%s: no row" % (folder, name))
        print("%-38s %5d rows" % (folder + "/" + name, n))
    evaluated = pairs_of(data)
    common = trained = 0
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8") as f:
            for number, line in enumerate(f, 1):
                row = json.loads(line)
                negatives = ([row["negative"]] if "negative" in row else []) + row.get("negatives", [])
                for other in [row["pair"]] + negatives:
                    trained += 1
                    if tuple(sorted((normal(row["text"]), normal(other)))) in evaluated:
                        common += 1
                        print("%s: line %d: %s" % (path, number, row["text"]))
    print("%d of %d pairs of training are evaluated on" % (common, trained))
    sys.exit(1 if common else 0)


if __name__ == "__main__":
    main()
