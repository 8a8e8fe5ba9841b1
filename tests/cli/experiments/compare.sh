#!/bin/sh
# compare.sh — bench/compare.py prints and saves each measurement immediately, continues after an interruption, and
# leaves out programs that are not installed.  Programs and times are simulated: the test checks which are called, in
# which order, and what is written.
. "$(dirname "$0")/../lib"
command -v python3 > /dev/null || { echo "  skipped: no python3"; exit 0; }
compare=$repository/bench/compare.py

# The n-th call takes n ms; "stop_at" holds a number of a call that never ends.
cat > ours << 'EOF'
#!/bin/sh
echo x >> calls
n=$(wc -l < calls)
[ "$n" -ne "$(cat stop_at)" ] || { touch waiting; exec sleep 600; }
printf '{"rows": [{"what": "encoder", "shape": "1x4", "ms": %d, "gflops": 50, "share_of_fma_peak": 0.5}]}\n' "$n"
EOF
# A "python" that runs one of the peers and has not what the others need.
cat > theirs << 'EOF'
#!/bin/sh
case $1 in
*/openvino_forward.py) ;;
*) echo "ModuleNotFoundError: No module named 'nothing'" >&2; exit 1 ;;
esac
echo started >> starts
echo '{"engine": "openvino f32", "version": "1.0", "threads": 2}'
while read -r case; do
    echo "libraries print other things"
    echo '{"bench": "forward", "ms": 10, "gflops": 25}'
done
EOF
chmod +x ours theirs
echo 0 > stop_at
begin() { exec python3 "$compare" --roformer ./ours --python ./theirs forward --shape 1x4 --shape 2x8 --rounds 2 --seconds 0.01 -o rows.jsonl "$@"; }
run() { (begin "$@"); }
rows() { grep -c '"round"' rows.jsonl; }

# Eight measurements: ours and the peer's of two shapes, then again, the peer first.  Stopped in our fourth.
echo 4 > stop_at
begin > first 2> words &
pid=$!
await test -e waiting
kill -TERM $pid
wait $pid && fail "a stopped run says that it ended well"
[ "$(rows)" -eq 7 ] || fail "a stopped run kept $(rows) measurements of 7"
for line in '1x4 .* round 1/2  roformer' '1x4 .* round 1/2  openvino f32' '2x8 .* round 1/2  openvino f32'; do
    grep -qE "$line" first || fail "not printed as it was measured: $line"
done
grep -q 'torch_forward.py is left out: .*No module named .nothing.' words || fail "no word of a peer that is missing: $(cat words)"
grep -qE '2x8 .*openvino f32 .*x   \(1 of 2 rounds\)' first || fail "no table of what a stopped run has: $(cat first)"

# Again: what is there is not measured again, but the shape in which it was stopped is, as a whole.
echo 0 > stop_at
printf '{"bench": "forward", "sha' >> rows.jsonl      # as a machine that goes down leaves it
asked=$(wc -l < calls)
run > second 2>> words || fail "it does not go on: $(cat second words)"
[ $(($(wc -l < calls) - asked)) -eq 1 ] || fail "the second run asked ours $(($(wc -l < calls) - asked)) times instead of once"
[ "$(wc -l < starts)" -eq 2 ] || fail "the peer was started $(wc -l < starts) times instead of twice"
grep -qE 'round 1/2|1x4 +round' second && fail "a round was measured again: $(cat second)"
grep -qE '2x8 .*openvino f32 .* x$' second || fail "no table: $(cat second)"

# What a table says: the peer took 10 ms, ours 1 and 3; the peak is 100.
grep -qE '1x4 +openvino f32 +10.000 ms +25.0 GFLOP/s +25.0 % of peak +6.67 x$' second || fail "figures: $(cat second)"
# All is there: nobody is asked.  (Peers that are not installed are looked for.)
asked=$(wc -l < calls)
run --only openvino > again 2> words || fail "a table alone: $(cat words)"
[ "$(wc -l < calls) $(wc -l < starts)" = "$asked 2" ] || fail "somebody was asked for what is there"
grep -qE '1x4 +openvino f32 .* 6.67 x$' again || fail "no table of what is there: $(cat again)"

# Of another program, nothing is added to the file.
cp rows.jsonl before
echo '# another' >> ours
run > third 2> words && fail "two programs in one file"
grep -q 'rows.jsonl: roformer: expected .*, got .*; name another file' words || fail "words: $(cat words)"
same rows.jsonl before

# A peer that fails says so in its row, and is asked again next time.
sed -i '/another/d' ours
sed -i 's/echo .{"bench": "forward", "ms": 10, "gflops": 25}./echo "{\\"error\\": \\"no memory\\"}"/' theirs
rm -f rows.jsonl
run > fourth 2> words || fail "an error of a peer ends the run"
[ "$(grep -c 'openvino f32 .*no memory' fourth)" -eq 6 ] || fail "an error is not told: $(cat fourth)"
run > fifth 2> words
[ "$(grep -c 'round ./2  openvino f32 .*no memory' fifth)" -eq 4 ] || fail "an error is kept for good: $(cat fifth)"

# --hold works while measurements do, and ends.
cat > hold << 'EOF'
#!/bin/sh
echo ready
cat > /dev/null
echo released >> released
EOF
chmod +x hold
rm -f rows.jsonl
run --hold ./hold > sixth 2> words || fail "with --hold: $(cat words)"
[ "$(wc -l < released)" -eq 1 ] || fail "--hold was not let go"
done_testing
