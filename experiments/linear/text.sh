#!/bin/sh
# text.sh DATA WORK — divides the first 50,000,000 bytes of enwiki-2015 as in Enwik8's protocol: 90, 5 and 5 % in
# WORK/train.txt, valid.txt and test.txt, each ending at the end of an article.
set -eu
export LC_ALL=C
[ -s "$2/test.txt" ] && exit 0
mkdir -p "$2"
cd "$2"
zstd -dc "$1/enwiki-2015/enwiki_AA.txt.zst" | awk '
BEGIN { split("train.txt.part valid.txt.part test.txt.part", name, " "); split("45000000 47500000 50000000", end, " "); part = 1 }
{ print > name[part]; bytes += length($0) + 1 }
/^<\/doc>/ && bytes >= end[part] { if (++part > 3) exit }'
for name in train valid test; do mv "$name.txt.part" "$name.txt"; done
