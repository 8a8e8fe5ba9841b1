#!/bin/sh
# libraries.sh TARGET FOLDER — builds, from Debian's sources and as static libraries, what roformer and its tests need
# on TARGET (jansson, utf8proc, oniguruma, zlib, zstd, xxHash's headers, libmicrohttpd, cmocka), and writes a CMake
# toolchain file:
#
#     sh tools/ports/libraries.sh x86_64-windows build/ports/x86_64-windows
#     cmake -B build/windows -G Ninja -DCMAKE_TOOLCHAIN_FILE=$PWD/build/ports/x86_64-windows/toolchain.cmake
#
# Targets: x86_64-windows, aarch64-macos, x86_64-macos, wasm32-wasi, and for Linux CPU-linux-gnu.VERSION (the oldest
# glibc on which it runs) and CPU-linux-musl, CPU being x86_64 or aarch64.  Debian's MinGW compiles for Windows, Zig for
# all others.
#
# FOLDER gets include, lib, lib/pkgconfig, toolchain.cmake, READY when all is there, and, where a program for TARGET can
# run here, `run`, which ctest uses.  A FOLDER that is READY and newer than this script is left as it is.  The sources
# and Zig are in build/ports and serve all targets.  JOBS is how many compilers run at once.  Needs dpkg-dev, for Windows
# gcc-mingw-w64-x86-64, for others python3-venv, and the network (sh tools/setup.sh ports).
set -eu
[ $# = 2 ] || { sed -n '2,16s/^# \{0,1\}//p' "$0" >&2; exit 2; }
target=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
cd "$(dirname "$0")/../.."
ports=$PWD/build/ports
sources=$ports/sources
[ -z "$(find "$folder/READY" -newer tools/ports/libraries.sh 2> /dev/null)" ] || exit 0

say() { echo "libraries: $*" >&2; }
needs() {               # COMMAND...
    for tool; do
        command -v "$tool" > /dev/null || { say "$tool is not installed (sh tools/setup.sh ports)"; exit 77; }
    done
}
logged() {              # COMMAND...: its output goes to FOLDER/log
    "$@" >> "$folder/log" 2>&1 || { tail -20 "$folder/log" >&2; say "failed: $*"; exit 1; }
}
script() {              # NAME: standard input becomes the command FOLDER/NAME
    { echo '#!/bin/sh'; cat; } > "$folder/$1" && chmod +x "$folder/$1"
}

# ---- sources ---------------------------------------------------------------------------------------------------------

fetch() {
    rm -rf "$sources.new"
    logged sh tools/ports/sources.sh "$sources.new" jansson utf8proc libonig zlib libzstd xxhash libmicrohttpd cmocka
    # MinGW's snprintf is that of C99; %lld is understood by every C library of today, Windows' as well.
    sed -i '/^#define v\{0,1\}snprintf *_v\{0,1\}snprintf$/d' "$sources.new/jansson/src/jansson_private.h"
    sed -i 's/"I64d"/"lld"/' "$sources.new/jansson/src/jansson.h"
    # cmocka guesses uintptr_t, which is another type on some targets.
    sed -i 's/^#if !defined(_UINTPTR_T) .*/#include <stdint.h>\n#if 0/' "$sources.new/cmocka/include/cmocka.h"
    rm -rf "$sources" && mv "$sources.new" "$sources"
}
: > "$folder/log"
[ -d "$sources/libmicrohttpd" ] || fetch

# ---- compilers -------------------------------------------------------------------------------------------------------

zig() {                 # TARGET [FLAG...]: Zig as a compiler, one path for each command, as CMake wants
    needs python3
    if [ ! -x "$ports/zig/bin/python" ] || ! "$ports/zig/bin/python" -c 'import ziglang' 2> /dev/null; then
        logged python3 -m venv "$ports/zig"
        logged "$ports/zig/bin/pip" install ziglang==0.17.1
    fi
    for command in cc ar ranlib; do
        script zig-$command << END
export ZIG_GLOBAL_CACHE_DIR="\${ZIG_GLOBAL_CACHE_DIR:-$ports/zig-cache}"
for a; do                               # Zig has other names of Arm's architectures
    shift
    case \$a in -march=armv8.2-a+*) a=-mcpu=generic+v8_2a+\${a#*+} ;; esac
    set -- "\$@" "\$a"
done
exec "$ports/zig/bin/python" -m ziglang $command $([ $command != cc ] || echo "-target $*") "\$@"
END
    done
    cc=$folder/zig-cc ar=$folder/zig-ar ranlib=$folder/zig-ranlib
}

cpu=${target%%-*}
pic=-fPIC
flags=
case $target in
x86_64-windows)
    system=Windows pic=
    cc=x86_64-w64-mingw32-gcc-posix ar=x86_64-w64-mingw32-ar ranlib=x86_64-w64-mingw32-ranlib
    needs $cc $ar
    flags="-DUSE_WINDOWS_CRYPTOAPI -D__USE_MINGW_ANSI_STDIO=1"
    ;;
aarch64-macos | x86_64-macos) system=Darwin && zig "$target.11.0" ;;
wasm32-wasi)            # with setjmp, which cmocka needs, by WebAssembly's exceptions; atomics: for a module with threads
    system=WASI pic=
    zig "$target" -mcpu=baseline+atomics+bulk_memory -mexception-handling -mllvm -wasm-enable-sjlj \
        -mllvm -wasm-use-legacy-eh=false
    ;;
x86_64-linux-gnu.* | aarch64-linux-gnu.* | x86_64-linux-musl | aarch64-linux-musl) system=Linux && zig "$target" ;;
*) say "expected one of the targets that $0 lists, got $target"; exit 2 ;;
esac
case $system in Linux | Darwin) flags="-DHAVE_SIGLONGJMP -DHAVE_STRSIGNAL -DHAVE_GETPID" ;; esac
[ $system = Windows ] || flags="$flags -DUSE_URANDOM -DHAVE_ALLOCA_H"

# ---- libraries -------------------------------------------------------------------------------------------------------

rm -rf "$folder/objects" "$folder/include" "$folder/lib"
mkdir -p "$folder/objects" "$folder/include" "$folder/lib/pkgconfig"
# What the configure scripts of these libraries find on all targets.
flags="$flags -DHAVE_STDINT_H -DHAVE_INTTYPES_H -DHAVE_SYS_TYPES_H -DHAVE_SYS_STAT_H -DHAVE_SYS_TIME_H -DHAVE_UNISTD_H
    -DHAVE_FCNTL_H -DHAVE_OPEN -DHAVE_CLOSE -DHAVE_READ -DHAVE_GETTIMEOFDAY -DHAVE_SCHED_H -DHAVE_SCHED_YIELD
    -DHAVE_ATOMIC_BUILTINS -DHAVE_LOCALE_H -DHAVE_SETLOCALE -DHAVE_ALLOCA -DHAVE_SIGNAL_H
    -DHAVE_STRINGS_H -DHAVE_GCC_THREAD_LOCAL_STORAGE -DSIZEOF_INT=4 -DSIZEOF_LONG_LONG=8
    -DSIZEOF_LONG=__SIZEOF_LONG__ -DSIZEOF_VOIDP=__SIZEOF_POINTER__"

: > "$folder/objects/config.h"            # the flags stand for these files
: > "$folder/objects/jansson_private_config.h"

library() {             # NAME PACKAGE SOURCE CFLAGS FILES...: lib/libNAME.a of the FILES of SOURCE, and PACKAGE.pc
    name=$1 package=$2 source=$3 cflags=$4
    shift 4
    mkdir "$folder/objects/$name"
    compile="$cc -c -O2 -DNDEBUG -w $pic -ffile-prefix-map=$sources=. -I$folder/include -I$folder/objects $flags $cflags"
    # shellcheck disable=SC2086
    for file; do echo "$sources/$source/$file"; done |
        (cd "$folder/objects/$name" && logged xargs -P "${JOBS:-$(nproc)}" -n 1 $compile)
    logged "$ar" rcs "$folder/lib/lib$name.a" "$folder/objects/$name"/*.o
    logged "$ranlib" "$folder/lib/lib$name.a"
    version=$(sed -n '1s/.*(\([0-9]*:\)\{0,1\}\([0-9.]*[0-9]\).*/\2/p' "$sources/$source/debian/changelog")
    [ $name != utf8proc ] ||                    # its package's version is that of its interface
        version=$(sed -n 's/^set(SO_[A-Z]* \([0-9]*\)).*/\1/p' "$sources/$source/CMakeLists.txt" | paste -sd .)
    cat > "$folder/lib/pkgconfig/$package.pc" << END
prefix=\${pcfiledir}/../..
Name: $package
Description: $source
Version: $version
Libs: -L\${prefix}/lib -l$name$(case $system-$name in
    WASI-cmocka) echo " -lwasi-emulated-signal" ;;
    Windows-microhttpd) echo " -lws2_32" ;;
    esac)
Cflags: -I\${prefix}/include$([ $name != utf8proc ] || echo " -DUTF8PROC_STATIC")
END
}

sed -e 's/@json_inline@/inline/' -e 's/@json_have_[a-z_]*@/1/' "$sources/jansson/src/jansson_config.h.in" \
    > "$folder/include/jansson_config.h"
cp "$sources/jansson/src/jansson.h" "$folder/include/"
library jansson jansson jansson "" $(cd "$sources/jansson" && ls src/*.c)

cp "$sources/utf8proc/utf8proc.h" "$folder/include/"
library utf8proc libutf8proc utf8proc -DUTF8PROC_STATIC utf8proc.c

# oniguruma: without POSIX's interface, and without the files that only other files include or that make tables.
cp "$sources/libonig/src/oniguruma.h" "$sources/libonig/src/oniggnu.h" "$folder/include/"
library onig oniguruma libonig -DONIG_STATIC \
    $(sed -n '/^set(_SRCS src/,/)/p' "$sources/libonig/CMakeLists.txt" | grep -o 'src/[a-z0-9_]*\.c')

# zlib.h would define fdopen as NULL for a Mac.
cp "$sources/zlib/zlib.h" "$sources/zlib/zconf.h" "$folder/include/"
library z zlib zlib -Dfdopen=fdopen $(cd "$sources/zlib" && ls ./*.c)

cp "$sources/libzstd/lib/zstd.h" "$sources/libzstd/lib/zstd_errors.h" "$sources/libzstd/lib/zdict.h" "$folder/include/"
library zstd libzstd libzstd "-DZSTD_DISABLE_ASM=1 -DZSTD_LEGACY_SUPPORT=0 -DXXH_NAMESPACE=ZSTD_" \
    $(cd "$sources/libzstd" && ls lib/common/*.c lib/compress/*.c lib/decompress/*.c)

# libmicrohttpd: HTTP/1.1 alone, without TLS, authentication, forms and files; its configuration for all targets.
cat > "$folder/objects/MHD_config.h" << END
#define VERSION "$(sed -n '1s/.*(\([0-9.]*\)-.*/\1/p' "$sources/libmicrohttpd/debian/changelog")"
#define PACKAGE_VERSION VERSION
#define HAVE_MESSAGES 1
#define HAVE_INET6 1
#define HAVE_POLL 1
#define HAVE_GETSOCKNAME 1
#define MHD_USE_GETSOCKNAME 1
#define HAVE_CALLOC 1
#define HAVE_SNPRINTF 1
#define HAVE_C_VARARRAYS 1
#define HAVE___FUNC__ 1
#define HAVE_STDBOOL_H 1
#define HAVE_STDDEF_H 1
#define HAVE_STDLIB_H 1
#define HAVE_STRING_H 1
#define HAVE_LIMITS_H 1
#define HAVE_TIME_H 1
#define INLINE_FUNC 1
#define _MHD_static_inline static inline
#define _MHD_NORETURN _Noreturn
#define SIZEOF_SIZE_T __SIZEOF_SIZE_T__
#define SIZEOF_UINT64_T 8
#define SIZEOF_UNSIGNED_INT 4
#define SIZEOF_UNSIGNED_LONG_LONG 8
#ifdef _WIN32
#define WINDOWS 1
#define MHD_USE_W32_THREADS 1
#define _MHD_ITC_SOCKETPAIR 1
#define HAVE_WINSOCK2_H 1
#define HAVE_WS2TCPIP_H 1
#define HAVE___LSEEKI64 1
#define HAVE_W32_GMTIME_S 1
#define SIZEOF_STRUCT_TIMEVAL_TV_SEC 4
#else
#define _GNU_SOURCE 1
#define _DARWIN_C_SOURCE 1
#define MHD_USE_POSIX_THREADS 1
#define HAVE_PTHREAD_H 1
#define HAVE_PTHREAD_SIGMASK 1
#define HAVE_ARPA_INET_H 1
#define HAVE_NETDB_H 1
#define HAVE_NETINET_IN_H 1
#define HAVE_NETINET_TCP_H 1
#define HAVE_NET_IF_H 1
#define HAVE_POLL_H 1
#define HAVE_SEARCH_H 1
#define HAVE_SYS_IOCTL_H 1
#define HAVE_SYS_PARAM_H 1
#define HAVE_SYS_SELECT_H 1
#define HAVE_SYS_SOCKET_H 1
#define HAVE_GMTIME_R 1
#define HAVE_CLOCK_GETTIME 1
#define HAVE_NANOSLEEP 1
#define HAVE_SENDMSG 1
#define HAVE_WRITEV 1
#define HAVE_SYSCONF 1
#define HAVE_RANDOM 1
#define SIZEOF_STRUCT_TIMEVAL_TV_SEC __SIZEOF_LONG__
#endif
#ifdef __APPLE__
#define OSX 1
#define _MHD_ITC_PIPE 1
#define HAVE_STRUCT_SOCKADDR_IN_SIN_LEN 1
#define HAVE_STRUCT_SOCKADDR_IN6_SIN6_LEN 1
#define HAVE_STRUCT_SOCKADDR_STORAGE_SS_LEN 1
#endif
#ifdef __linux__
#define LINUX 1
#define EPOLL_SUPPORT 1
#define HAVE_EPOLL_CREATE1 1
#define HAVE_ACCEPT4 1
#define HAVE_SOCK_NONBLOCK 1
#define HAVE_SYS_EVENTFD_H 1
#define _MHD_ITC_EVENTFD 1
#define HAVE_LISTEN_SHUTDOWN 1
#endif
END
if [ $system != WASI ]; then
    http=$sources/libmicrohttpd/src
    cp "$http/include/microhttpd.h" "$folder/include/"
    library microhttpd libmicrohttpd libmicrohttpd "-I$http/include -I$http/microhttpd -DBUILDING_MHD_LIB=1" \
        $(printf 'src/microhttpd/%s.c\n' connection reason_phrase daemon internal memorypool mhd_mono_clock sysfdsetsize \
            mhd_str mhd_send mhd_sockets mhd_itc mhd_compat mhd_threads response) \
        $([ $system != Windows ] || echo src/microhttpd/tsearch.c)
fi

cp "$sources/xxhash/xxhash.h" "$sources/xxhash/xxh3.h" "$folder/include/"

cp "$sources/cmocka/include/cmocka.h" "$folder/include/"
emulated=
if [ $system = WASI ]; then                     # Zig's C library lacks the tag of the exceptions that are longjmp's
    printf '%s\n' '__asm__(".globl __c_longjmp\n.tagtype __c_longjmp i32\n__c_longjmp:\n");' > "$folder/objects/tag.h"
    emulated="-D_WASI_EMULATED_SIGNAL -include tag.h"
fi
library cmocka cmocka cmocka "-I$sources/cmocka/include $emulated" src/cmocka.c

# ---- for CMake -------------------------------------------------------------------------------------------------------

run=
case $target in
x86_64-windows)
    wine=$(command -v wine64 || echo /usr/lib/wine/wine64)
    if [ -x "$wine" ]; then
        # A program that starts Wine's services gives them its output, whose end ctest would await; so they are started
        # before, unless they run, and end 30 seconds after the last program.
        run=$folder/run
        script run << END
export WINEPREFIX="\${WINEPREFIX:-$folder/wine}" WINEDEBUG="\${WINEDEBUG:--all}"
"${wine%/*}/wineserver64" -k0 2> /dev/null || flock -o "$folder/wine.lock" \\
    sh -c '"${wine%/*}/wineserver64" -p30 && exec "$wine" wineboot' > /dev/null 2>&1 < /dev/null
exec "$wine" "\$@"
END
        logged "$run" hostname
    fi
    ;;
aarch64-linux-*)
    if command -v qemu-aarch64 > /dev/null; then        # glibc is that of the cross-compiler
        run=$folder/run
        echo 'exec qemu-aarch64 -L /usr/aarch64-linux-gnu "$@"' | script run
    fi
    ;;
wasm32-wasi)
    "$ports/zig/bin/python" -c 'import wasmtime' 2> /dev/null || logged "$ports/zig/bin/pip" install wasmtime==50.0.1
    run=$folder/run
    echo "exec \"$ports/zig/bin/python\" \"$PWD/tools/ports/wasi.py\" \"\$@\"" | script run
    ;;
esac
{
    cat << END
set(CMAKE_SYSTEM_NAME $system)
set(CMAKE_SYSTEM_PROCESSOR $cpu)
set(CMAKE_C_COMPILER $cc)
set(CMAKE_AR $ar CACHE FILEPATH "")
set(CMAKE_RANLIB $ranlib CACHE FILEPATH "")
set(CMAKE_FIND_ROOT_PATH $folder)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE ONLY)
set(ENV{PKG_CONFIG_LIBDIR} $folder/lib/pkgconfig)
END
    [ -z "$run" ] || echo "set(CMAKE_CROSSCOMPILING_EMULATOR $run)"
    case $system in
    Windows)                                    # no DLL but those of Windows, libwinpthread's neither
        echo 'set(CMAKE_EXE_LINKER_FLAGS_INIT -static)'
        echo 'set(CMAKE_SHARED_LINKER_FLAGS_INIT -static)'
        echo 'set(CMAKE_RC_COMPILER x86_64-w64-mingw32-windres)'
        ;;
    Darwin)                                     # what CMake asks a Mac for; without install_name_tool
        echo 'set(CMAKE_SYSTEM_VERSION 20)'
        echo 'set(CMAKE_SHARED_LIBRARY_RUNTIME_C_FLAG -Wl,-rpath,)'
        echo 'set(CMAKE_BUILD_WITH_INSTALL_RPATH ON)'
        echo 'set(CMAKE_BUILD_WITH_INSTALL_NAME_DIR ON)'
        echo 'set(CMAKE_INSTALL_NAME_DIR @rpath)'
        ;;
    WASI)                                       # a system that CMake does not know before 3.31
        mkdir -p "$folder/cmake/Platform"
        printf 'set(%s)\n' 'WASI 1' 'CMAKE_EXECUTABLE_SUFFIX .wasm' 'CMAKE_SYSTEM_PREFIX_PATH /' \
            > "$folder/cmake/Platform/WASI.cmake"
        echo "list(APPEND CMAKE_MODULE_PATH $folder/cmake)"
        ;;
    esac
} > "$folder/toolchain.cmake"
touch "$folder/READY"
