#!/bin/sh
# sources.sh FOLDER PACKAGE... — fetches Debian's source packages from where the machine's packages come from, and unpacks
# each into FOLDER/PACKAGE.  The system's lists and cache are not touched.  Needs dpkg-dev and the network.
set -eu
[ $# -ge 2 ] || { sed -n '2,3s/^# \{0,1\}//p' "$0" >&2; exit 2; }
for tool in apt-get dpkg-source; do
    command -v $tool > /dev/null || { echo "sources: $tool is not installed" >&2; exit 77; }
done
mkdir -p "$1"
folder=$(cd "$1" && pwd)
shift
. /etc/os-release
apt=$folder/apt
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
keys=/usr/share/keyrings/debian-archive-keyring.gpg
mirror=$(apt-get indextargets --format '$(REPO_URI)' 2> /dev/null | grep -m 1 '/debian/*$' ||
    echo http://deb.debian.org/debian)
echo "deb-src [signed-by=$keys] $mirror $VERSION_CODENAME main" > "$apt/sources.list"
: > "$apt/status"
options="-qq -o Dir::Etc::SourceList=$apt/sources.list -o Dir::Etc::SourceParts=/dev/null -o Dir::State=$apt
    -o Dir::State::Status=$apt/status -o Dir::Cache=$apt/cache -o APT::Sandbox::User="
cd "$folder"
# shellcheck disable=SC2086
apt-get $options update
# shellcheck disable=SC2086
apt-get $options --download-only source "$@"
for dsc in *.dsc; do
    rm -rf "${dsc%%_*}"
    dpkg-source --no-check -x "$dsc" "${dsc%%_*}"
done
