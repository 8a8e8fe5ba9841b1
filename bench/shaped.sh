#!/bin/sh
# shaped.sh BUILD TEXT [RATE:DELAY...] — the model of docs/scaling.md against 2 ranks in 2 network namespaces whose link has a rate (bits a
# second) and a delay (seconds), by shaped_link.c.  Open MPI's processes find each other as on two machines.  Root; takes some minutes.
set -eu
. "$(dirname "$0")/ranks_lib"
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
text=$(readlink -f "$2")
shift 2
[ $# -gt 0 ] || set -- 1e9:1e-4 1e9:5e-3 2e8:1e-4
cmake --build "$build" --target shaped_link mpi_link > /dev/null
folder=$(mktemp -d)
cd "$folder"

end() {
    [ -z "${link:-}" ] || kill "$link" 2> /dev/null || true
    for k in 0 1; do
        ip netns pids "roformer$k" 2> /dev/null | xargs -r kill -9
        ip netns del "roformer$k" 2> /dev/null || true
    done
    rm -rf "$folder"
}
trap end EXIT
trap 'exit 130' INT TERM

# What mpirun calls in place of ssh: HOST COMMAND...
cat > agent <<'SH'
#!/bin/sh
k=$((${1##*.} - 1))
shift
exec ip netns exec "roformer$k" unshare -u sh -c "hostname roformer$k; $*"
SH
chmod +x agent
for k in 0 1; do
    ip netns add "roformer$k"
    ip -n "roformer$k" link set lo up
done

mpi() {     # on both nodes, over their link
    ip netns exec roformer0 unshare -u sh -c 'hostname roformer0; exec "$@"' sh mpirun --mca plm rsh --mca plm_rsh_agent "$folder/agent" \
        --mca btl tcp,self --mca btl_tcp_if_include link0 --mca oob_tcp_if_include link0 -H 10.77.0.1,10.77.0.2 -n 2 --bind-to none "$@"
}
shape="pretrain --threads 1 --tokens_per_batch 1024"

prepare "$build" "$text"
steps=7
# shellcheck disable=SC2086
free=$(turn free mpirun --oversubscribe --bind-to none --mca btl vader,self -n 2 "$build/roformer-mpi" $shape)
echo "in shared memory: a step of 2 x 1,024 tokens in $(awk -v t="$free" 'BEGIN { printf "%.2f", 2048 / t }') s"
for pair; do
    rate=${pair%:*} delay=${pair#*:}
    "$build/bench/shaped_link" "$rate" "$delay" roformer0 roformer1 &
    link=$!
    sleep 1
    mpi "$build/bench/mpi_link" 52 > pings
    # shellcheck disable=SC2086
    shaped=$(turn shaped mpi "$build/roformer-mpi" $shape)
    kill "$link"
    wait "$link" 2> /dev/null || true
    link=
    grep -E 'ping +(8|2097152) |gradient' pings
    python3 "$here/scaling.py" check "$rate" "$delay" "$free" "$shaped" "$(awk '$1 == "gradient" { print $4 / 1000, $2 }' pings)"
done
