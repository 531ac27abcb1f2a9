#!/usr/bin/env python3
"""Writes src/base/lowercase_table.h, the simple lower-case mapping of Unicode.

    tools/lowercase_table.py > src/base/lowercase_table.h

The mapping must not change in an existing store, because identities are hashed in
lower case.  So do not run this again with a newer version of Unicode.
"""
import sys
import unicodedata


def mappings():
    """Yields (codepoint, lower-case codepoint) in order, without ASCII.

    U+0130, the capital I with a dot, is the one character whose full lower
    case has two characters.  It stays as it is, as in the invariant culture
    of .NET, whose ReferentialIds ours must equal.
    """
    for codepoint in range(0x80, sys.maxunicode + 1):
        lower = chr(codepoint).lower()
        if len(lower) == 1 and ord(lower) != codepoint:
            yield codepoint, ord(lower)


def ranges():
    """Joins mappings with equal distances into (first, last, step, delta)."""
    found = []
    for codepoint, lower in mappings():
        delta = lower - codepoint
        if found and found[-1][3] == delta:
            first, last, step, _ = found[-1]
            gap = codepoint - last
            if gap == step or (first == last and gap <= 2):
                found[-1] = (first, codepoint, gap, delta)
                continue
        found.append((codepoint, codepoint, 1, delta))
    return found


def main():
    print("/*")
    print(" * lowercase_table.h")
    print(" *\t\tSimple lower-case mapping of Unicode %s, without ASCII."
          % unicodedata.unidata_version)
    print(" *")
    print(" * Written by tools/lowercase_table.py; do not edit.")
    print(" */")
    print("static const LowercaseRange lowercase_ranges[] = {")
    print(",\n".join("\t{0x%04X, 0x%04X, %d, %d}" % entry for entry in ranges()))
    print("};")


main()
