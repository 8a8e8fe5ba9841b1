#!/bin/sh
# options_table.sh PLAIN OUT — generates a C program from the output of plain_header.sh.  The program prints every
# struct that a function fills with defaults (void rf_..._init(STRUCT *, size_t)) as JSON: its size, and for each member
# the name, offset, size, type and default.  Defaults are numbers, texts or NULL; members that are structs have none.
set -eu
awk '
function trim(s) { gsub(/^ +| +$/, "", s); return s }
# Members of a struct, a declaration a line: "const char *a, *b", "int (*f)(void *)", "union { T a; unsigned char b[9]; }"
function member(line,   type, names, n, i, name, stars) {
    line = trim(line)
    if (line ~ /\(\*/) { name = line; sub(/.*\(\*/, "", name); sub(/\).*/, "", name); add(name, "function *"); return }
    n = split(line, names, /, */)
    type = names[1]
    sub(/[A-Za-z0-9_]+(\[[^]]*\])?$/, "", type)
    for (i = 1; i <= n; i++) {
        name = i == 1 ? substr(names[1], length(type) + 1) : names[i]
        stars = ""
        while (name ~ /^\*/) { stars = stars "*"; name = substr(name, 2) }
        if (name ~ /\[/) { sub(/\[.*/, "", name); add(name, trim(type) " []") }
        else add(name, trim((i == 1 ? type : base(type)) stars))
    }
}
function base(type) { gsub(/\*/, "", type); return trim(type) }
function add(name, type) { count[current]++; names_of[current, count[current]] = name; type_of[current, count[current]] = type }
{ text = text $0 " " }
END {
    gsub(/  +/, " ", text)
    while (match(text, /typedef enum [a-z_0-9]+ \{/)) {
        name = substr(text, RSTART, RLENGTH); sub(/typedef enum /, "", name); sub(/ \{/, "", name); is_enum[name] = 1
        text = substr(text, 1, RSTART - 1) "ENUM" substr(text, RSTART + 12)
    }
    rest = text
    while (match(rest, /typedef struct [a-z_0-9]+ \{/)) {
        current = substr(rest, RSTART, RLENGTH); sub(/typedef struct /, "", current); sub(/ \{/, "", current)
        rest = substr(rest, RSTART + RLENGTH)
        depth = 1; body = ""
        for (i = 1; depth; i++) { c = substr(rest, i, 1); depth += (c == "{") - (c == "}"); if (depth) body = body c }
        rest = substr(rest, i)
        gsub(/union \{/, "", body); gsub(/\} *;/, "", body)
        n = split(body, line, ";")
        for (k = 1; k <= n; k++) if (trim(line[k]) != "") member(line[k])
    }
    print "#include <inttypes.h>\n#include <stddef.h>\n#include <stdio.h>\n#include \"roformer/roformer.h\""
    print "static union { max_align_t align; unsigned char byte[65536]; } space;"
    print "static void text(const char *s)\n{\n    if (!s) { printf(\"null\"); return; }\n    putchar(34);"
    print "    for (; *s; s++) { if (*s == 34 || *s == 92) putchar(92); putchar(*s); }\n    putchar(34);\n}"
    print "static void begin(const char *sep, const char *name, size_t at, size_t size, const char *type)\n{"
    print "    printf(\"%s\\n      {\\\"name\\\": \\\"%s\\\", \\\"offset\\\": %zu, \\\"size\\\": %zu, \\\"type\\\": \\\"%s\\\"\", sep, name, at, size, type);\n}"
    print "int main(void)\n{\n    const char *sep = \"\";\n    printf(\"{\");"
    rest = text
    while (match(rest, /void rf_[a-z_0-9]+_init\(rf_[a-z_0-9]+ \*[a-z]+, size_t size\)/)) {
        call = substr(rest, RSTART + 5, RLENGTH - 5); rest = substr(rest, RSTART + RLENGTH)
        type = call; sub(/.*\(/, "", type); sub(/ .*/, "", type); sub(/\(.*/, "", call)
        print "    {\n        " type " *o = (" type " *)(void *)&space;\n        _Static_assert(sizeof *o <= sizeof space, \"space\");"
        print "        " call "(o, sizeof *o);"
        print "        printf(\"%s\\n  \\\"" call "\\\": {\\n    \\\"struct\\\": \\\"" type "\\\", \\\"size\\\": %zu, \\\"members\\\": [\", sep, sizeof *o);"
        for (k = 1; k <= count[type]; k++) {
            name = names_of[type, k]; t = type_of[type, k]
            print "        begin(\"" (k > 1 ? "," : "") "\", \"" name "\", offsetof(" type ", " name "), sizeof o->" name ", \"" t "\");"
            if (t == "const char *") print "        printf(\", \\\"default\\\": \"); text(o->" name ");"
            else if (t ~ /\*$/) print "        printf(\", \\\"default\\\": %s\", o->" name " ? \"true\" : \"null\");"
            else if (t == "double" || t == "float") print "        printf(\", \\\"default\\\": %.17g\", (double)o->" name ");"
            else if (t == "size_t" || t == "uint64_t") print "        printf(\", \\\"default\\\": %\" PRIu64, (uint64_t)o->" name ");"
            else if (t ~ /^(int|unsigned|int32_t|int64_t)$/ || t in is_enum) print "        printf(\", \\\"default\\\": %\" PRId64, (int64_t)o->" name ");"
            print "        putchar(125);"
        }
        print "        printf(\"\\n    ]}\");\n        sep = \",\";\n    }"
    }
    print "    printf(\"\\n}\\n\");\n    return 0;\n}"
}' "$1" > "$2.part"
mv "$2.part" "$2"
