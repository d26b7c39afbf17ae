#!/bin/sh
# Stands in for ssh and scp: hosts are folders below $FAKE_HOSTS. HOST.down cannot be reached, HOST.refuses has
# another key; HOST.evil answers with commands for a shell where a folder's name is asked for. What runs there takes its locks in the host's own folder, and not those of this machine.
name=$(basename "$0")
while :; do
    case $1 in
    -o | -F) shift 2 ;;
    --) shift; break ;;
    -r) shift ;;
    *) break ;;
    esac
done
reach() {
    place=$FAKE_HOSTS/$1
    [ ! -e "$place.down" ] || { echo "ssh: connect to host $1 port 22: No route to host" >&2; exit 255; }
    [ ! -e "$place.refuses" ] || { echo "$1: Permission denied (publickey)." >&2; exit 255; }
    [ -d "$place" ] || { echo "ssh: Could not resolve hostname $1: Name or service not known" >&2; exit 255; }
    export XDG_CACHE_HOME="$place/cache" TMPDIR="$place/tmp"
    own="s#/run/lock/toll#$place/lock-#; s#/tmp/toll#$place/lock-tmp-#"
}
if [ "$name" = scp ]; then
    for last; do :; done
    case $last in
    *:*)
        reach "${last%%:*}"
        while [ $# -gt 1 ]; do cp -r "$1" "${last#*:}" || exit 1; shift; done
        sed -i "$own" "${last#*:}/on_host.py"
        ;;
    *) reach "${1%%:*}"; eval "cp -r ${1#*:} \"$last\"" ;;
    esac
    exit
fi
reach "$1"
shift
case "$*" in
*mktemp*) [ ! -e "$place.evil" ] || { echo "x; touch $FAKE_HOSTS/pwned; true"; exit; } ;;
esac
case "$*" in
*" -S - "*) sed "$own" | sh -c "$*" ;;
*) exec sh -c "$*" ;;
esac
