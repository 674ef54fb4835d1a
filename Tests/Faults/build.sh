# For the scripts beside it: builds faults.so and their programs into build/faults, and makes a folder for stores, in
# memory where it can be: what is tested does not depend on the medium, and a sync of tmpfs costs nothing.
# Wants $library.
programs=$PWD/build/faults
mkdir -p "$programs"
shared_memory=/dev/shm
[ -w "$shared_memory" ] || shared_memory=${TMPDIR:-/tmp}
folder=$(mktemp -d "${FAULTS_FOLDER:-$shared_memory}/objstore-faults.XXXXXX")
trap 'rm -rf "$folder"' EXIT
flags=(-std=gnu11 -Wall -Wextra -Werror -O2)

build_fault_program() { # NAME
    "${CC:-cc}" "${flags[@]}" -fPIC -shared -fvisibility=hidden -o "$programs/faults.so" Tests/Faults/faults.c -ldl -lpthread
    # Before the C library in the list of what is loaded: as if it was preloaded.
    "${CC:-cc}" "${flags[@]}" -Iinclude -o "$programs/$1" "Tests/Faults/$1.c" -L"$programs" -l:faults.so -L"$library" -lobjstore \
        -Wl,-rpath,"$programs:$library"
}
