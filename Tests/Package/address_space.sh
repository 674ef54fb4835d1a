#!/usr/bin/env bash
# usage: address_space.sh [LIBRARY FOLDER] [SCENARIO]
#
# Calls that need much memory, in a process that may have only a little more than it has, and a little more in each
# attempt, until they succeed: whichever allocation fails, the call returns OUT_OF_MEMORY, the transaction can be
# cancelled, and the store is what it was (address_space.c).
set -euo pipefail
cd "$(dirname "$0")/../.."
library=$(realpath "${1:-build/lib}")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"${CC:-cc}" -std=gnu99 -Wall -Wextra -Werror -O1 -Iinclude -o "$folder/address_space" Tests/Package/address_space.c \
    -L"$library" -lobjstore -Wl,-rpath,"$library"
# What a crash of Swift's runtime writes is for its users.
SWIFT_BACKTRACE=enable=no "$folder/address_space" "$folder" "${@:2}"
