#!/bin/sh
# children.sh — a script that sources lib and is interrupted or fails leaves no process and no folder.
. "$(dirname "$0")/../lib"
sentences 40 > text.txt
"$program" vocab -q --text text.txt --size 60 -o base || exit 1
small_json base/vocab.txt 1 16 '"max_position_embeddings": 64'
cat > script << EOC
. "$repository/tests/cli/lib"
cp -r "$work/base" "$work/small.json" "$work/text.txt" .
"\$program" pretrain -q --text text.txt --model base --config small.json -o run --max_steps 100000000 --save_steps 0 --threads 1 2> log &
pid=\$!
await [ -s run/metrics.jsonl ]
echo "\$pid \$work" > "$work/begun"
[ "\$2" = fails ] && exit 1
wait \$pid
EOC
gone() { ! kill -0 "$1" 2> /dev/null; }
for how in fails HUP TERM; do
    rm -f begun
    sh script "$program" $how > said 2>&1 &
    pid=$!
    tries=0
    until [ -s begun ] || [ $tries -ge 12000 ]; do sleep 0.05; tries=$((tries + 1)); done
    read -r child folder < begun || { fail "$how: it did not begin: $(cat said)"; continue; }
    [ $how = fails ] || kill -s $how $pid
    wait $pid
    [ $? -eq 1 ] || fail "$how: exit code"
    gone "$child" || { fail "$how: $child trains on"; kill -s KILL "$child"; }
    [ ! -e "$folder" ] || { fail "$how: left $folder"; rm -rf "$folder"; }
done
done_testing
