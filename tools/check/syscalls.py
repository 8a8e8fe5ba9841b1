"""syscalls.py TRACE UNIT — the system calls in a log of strace that a unit's SystemCallFilter refuses."""
import re
import subprocess
import sys


def members(name):
    """The calls of a set, without those of sets in it."""
    out = subprocess.run(["systemd-analyze", "syscall-filter", name], check=True, capture_output=True, text=True).stdout
    found = set()
    for word in re.findall(r"^    (@?[a-z0-9_-]+)$", out, re.M):
        found |= members(word) if word.startswith("@") else {word}
    return found


allowed = members("@default")
for line in open(sys.argv[2], encoding="utf-8"):
    if line.startswith("SystemCallFilter="):
        words = line.strip().split("=", 1)[1]
        for name in words.lstrip("~").split():
            allowed = allowed - members(name) | members("@default") if words.startswith("~") else allowed | members(name)
used = set(re.findall(r"^(?:\[pid +\d+\] )?(?:\d+ +)?([a-z0-9_]+)\(", open(sys.argv[1], encoding="utf-8", errors="replace").read(), re.M))
refused = sorted(used - allowed)
print(f"{len(used)} system calls, refused by the unit: {', '.join(refused) or 'none'}")
sys.exit(len(used) < 20 or bool(refused))
