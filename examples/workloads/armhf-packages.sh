#!/bin/sh
# usage: armhf-packages.sh SYSROOT PACKAGE...
#
# Unpack Debian armhf packages and their dependencies into SYSROOT. apt runs with a
# configuration, package lists and an empty package state of its own, so the system's
# packages do not change and root is not needed.
set -eu

suite=bookworm
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
sysroot=$1
shift

if [ -e "$sysroot/.complete" ]; then
    exit 0
fi
rm -rf "$sysroot"
mkdir -p "$sysroot"
apt=$(cd "$sysroot" && pwd).apt
mkdir -p "$apt/state/lists/partial" "$apt/cache/archives/partial"
: >"$apt/status"
echo "deb [signed-by=$keyring] http://deb.debian.org/debian $suite main" >"$apt/sources.list"

# Only the proxy settings of the system's configuration are used, not its sources, pins and hooks.
{
    apt-config dump | grep '^Acquire::https\{0,1\}::' || true
    cat <<END
APT::Architecture "armhf";
APT::Architectures { "armhf"; };
APT::Install-Recommends "false";
APT::Sandbox::User "";
Debug::NoLocking "true";
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::State "$apt/state";
Dir::State::status "$apt/status";
Dir::Cache "$apt/cache";
END
} >"$apt/apt.conf"
export APT_CONFIG="$apt/apt.conf"

apt-get -qq update
apt-get -qq -y --download-only install "$@"
for deb in "$apt"/cache/archives/*.deb; do
    dpkg -x "$deb" "$sysroot"
done
rm -r "$apt"
touch "$sysroot/.complete"
