#!/bin/sh
# failover.sh [PROGRAM]   three replicas of HAProxy with deploy/haproxy.cfg; under load one is killed, one drained, one reloaded, one
# cut off, and all are replaced: clients that repeat a request once see no failure (failover.py).  Each replica is a host of its own, a
# network namespace; where these are not allowed (they need root) or HOSTS=no, a port of the loopback interface, and none is cut off.
set -eu
cd "$(dirname "$0")/../.."
program=${1:-build/release/roformer}
PATH=$PATH:/usr/sbin:/sbin
haproxy=$(command -v haproxy) || { echo "failover: haproxy is not installed (sh tools/setup.sh deploy)"; exit 77; }
"$program" serve --port 0 -m nowhere 2>&1 | grep -q 'got one without' && { echo "failover: a program without libmicrohttpd"; exit 77; }
if [ "${HOSTS:-yes}" = yes ] && unshare --net sh -c 'ip link set lo up && ip netns add "$0" && ip netns exec "$0" true && ip netns delete "$0"' "roformer-$$" 2> /dev/null; then
    exec unshare --net sh -c 'ip link set lo up && exec python3 -B tools/check/failover.py "$@" hosts' sh "$program" "$haproxy" deploy/haproxy.cfg
fi
echo "failover: no network namespaces here, or none wanted: replicas on the loopback interface"
exec python3 -B tools/check/failover.py "$program" "$haproxy" deploy/haproxy.cfg
