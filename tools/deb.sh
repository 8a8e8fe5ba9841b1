#!/bin/sh
# deb.sh [OUT] — builds the Debian packages of the last commit (debian/) into the folder OUT (build/deb) in a new Debian 12 that
# mmdebstrap makes: twice, in other folders, time zones, languages and umasks; the packages must have the same bytes.  lintian must
# find no error and no warning, and debian/tests must pass where only the packages and what they depend on are installed.
set -eu
cd "$(dirname "$0")/.."
out=${1:-build/deb}
mkdir -p "$out"
out=$(cd "$out" && pwd)
command -v mmdebstrap > /dev/null && command -v dpkg-source > /dev/null || { echo "deb: needs mmdebstrap and dpkg-dev (sh tools/setup.sh deb)" >&2; exit 1; }
fail() { echo "deb: $*" >&2; exit 1; }
work=$(mktemp -d "${TMPDIR:-/tmp}/roformer-deb-XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# in_debian LOG INCLUDE SCRIPT IN...: SCRIPT in a new Debian that has the packages INCLUDE and the files IN in /deb; /deb/out comes back
in_debian() {
    log=$out/$1 include=$2 script=$3
    shift 3
    rm -rf "$work/deb" && mkdir -p "$work/deb/out"
    cp -R "$@" "$work/deb/"
    printf '%s\n' "set -eux" "$script" > "$work/deb/script"
    echo "deb: $log"
    mmdebstrap --variant=buildd --include="$include" --customize-hook="copy-in '$work/deb' /" \
        --customize-hook='chroot "$1" sh /deb/script' --customize-hook="sync-out /deb/out '$work/back'" \
        bookworm /dev/null > "$log" 2>&1 || { tail -30 "$log" >&2; fail "failed, see $log"; }
}

# The source package: the archive of tools/dist.sh without debian/, and debian/.
version=$(dpkg-parsechangelog -S Version)
upstream=${version%-*}
rm -rf "$out"/*.deb "$out"/*.dsc "$out"/*.tar.* "$out"/*.log
sh tools/dist.sh
[ -f "build/roformer-$upstream.tar.gz" ] || fail "debian/changelog: expected the version of include/roformer/context.h, got $version"
mkdir "$work/source" "$work/back"
gzip -dc "build/roformer-$upstream.tar.gz" | tar --delete "roformer-$upstream/debian" | gzip -n -9 > "$work/source/roformer_$upstream.orig.tar.gz"
tar -xzf "build/roformer-$upstream.tar.gz" -C "$work/source"
(cd "$work/source" && dpkg-source -b "roformer-$upstream") > "$out/source.log" 2>&1 || { tail "$out/source.log" >&2; fail "no source package"; }
rm -rf "$work/source/roformer-$upstream"
cp "$work"/source/* "$out/"

in_debian build.log build-essential,dpkg-dev,lintian '
cd /deb && apt-get -q -y build-dep ./*.dsc
build() {
    mkdir -p "$1" && cd "$1" && dpkg-source -x /deb/*.dsc source && cd source
    dpkg-buildpackage -b -us -uc
    mkdir -p "/deb/out/$2" && cp ../*.deb ../*.changes ../*.buildinfo "/deb/out/$2/"
}
export DEB_BUILD_OPTIONS=parallel=$(nproc)
(umask 022; TZ=UTC LC_ALL=C build /build first)
(umask 027; TZ=Pacific/Kiritimati LC_ALL=C.UTF-8 build /srv/another/folder second)
for file in /deb/out/first/*.deb; do cmp "$file" "/deb/out/second/${file##*/}"; done
useradd reader
# No package of a Debian archive: no number of a bug for it, and no public signing key.
runuser -u reader -- lintian --info --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs /deb/out/first/*.changes /deb/*.dsc \
    > /deb/out/lintian.log 2>&1 || { cat /deb/out/lintian.log; exit 1; }' "$out"/*.dsc "$out"/*.tar.*
cp "$work"/back/first/* "$work/back/lintian.log" "$out/"

in_debian tests.log autopkgtest '
cd /deb && autopkgtest --apt-upgrade --output-dir=/deb/out/tests ./*.deb ./*.dsc -- null' "$out"/*.deb "$out"/*.dsc "$out"/*.tar.*
cat "$work/back/tests/summary"
(cd "$out" && ls -l ./*.deb && sha256sum ./*.deb)
