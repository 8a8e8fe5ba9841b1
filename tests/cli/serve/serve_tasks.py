"""serve_tasks.py PROGRAM MODEL CASES.jsonl — POST to the path of each case (/) gives its answer; numbers within 1e-5, as
both sides compute in f32."""
import json
import sys

from serve_client import Server


def same(ours, theirs):
    if isinstance(theirs, float):
        return abs(ours - theirs) < 1e-5
    if isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    if isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(same(ours[k], theirs[k]) for k in theirs)
    return ours == theirs


def main():
    program, model, cases = sys.argv[1:]
    rows = [json.loads(line) for line in open(cases, encoding="utf-8")][1:]
    bad = 0
    with Server(program, "-m", model) as server:
        for row in rows:
            answer = server.post(row.get("path", "/"), row["request"])
            if answer.status != 200 or not same(answer.json(), row["answer"]):
                print(f"{row['request']}: expected {row['answer']}, got {answer.status} {answer.body.decode()}")
                bad += 1
    print(f"{model}: {len(rows)} answers, {bad} differ")
    sys.exit(bad > 0)


main()
