"""Pairs of JSON values, and a check of patches between them, for test/t/094_diffs.pl.

patches.py random N SEED    N pairs {"old": ..., "new": ...}, one a line
patches.py real DIR SEED    pairs of the documents in DIR and changes of them
patches.py check FILE DIR   applies "patch" to "old", which must give "new"; and each diff in
                            "text" to its text, by the program patch, in files in DIR
"""
import copy
import json
import random
import subprocess
import sys

# Not "-": jsonpatch takes it for the end of an array, also in objects.
NAMES = ["a", "b", "c", "", "a/b", "m~n", "~1", "0", "é", "\"q\\", "long name"]
LEAVES = [None, True, False, 0, 1, -1, 1.5, 100000000000000000001, "", "x", "two\nlines\n", "ü\U0001f600", "0"]


# Lines that look like parts of a diff are lines as any other.
LINES = ["", " ", "a", "b", "c", "long line", "--- a", "+++ b", "@@ -1,1 +1,1 @@", "-a", "+a", "\\ No newline at end of file", "é"]


def text(rnd):
    """Returns a text of some lines; the last one may have no newline."""
    lines = [rnd.choice(LINES) for _ in range(rnd.randrange(30))]
    return "\n".join(lines) + rnd.choice(["", "\n"])


def changed_text(rnd, old):
    """Returns a text with some other lines."""
    lines = old.split("\n")
    for _ in range(rnd.randrange(1, 5)):
        at = rnd.randrange(len(lines) + 1)
        lines[at:at + rnd.randrange(3)] = [rnd.choice(LINES) for _ in range(rnd.randrange(3))]
    return "\n".join(lines)


def value(rnd, depth):
    """Returns a random value."""
    kind = rnd.random()
    if depth == 0 or kind < 0.3:
        return text(rnd) if rnd.random() < 0.2 else rnd.choice(LEAVES)
    if kind < 0.65:
        return [value(rnd, depth - 1) for _ in range(rnd.randrange(6))]
    return {name: value(rnd, depth - 1) for name in rnd.sample(NAMES, rnd.randrange(6))}


def changed(rnd, old):
    """Returns a value that differs from another one in some places, or in none."""
    new = copy.deepcopy(old)
    for _ in range(rnd.randrange(4)):
        new = change(rnd, new)
    return new


def change(rnd, node):
    """Changes one place of a value, and returns the value."""
    if isinstance(node, dict) and node and rnd.random() < 0.8:
        name = rnd.choice(sorted(node))
        kind = rnd.random()
        if kind < 0.2:
            del node[name]
        elif kind < 0.4:
            node[rnd.choice(NAMES)] = value(rnd, 2)
        else:
            node[name] = change(rnd, node[name])
        return node
    if isinstance(node, list) and node and rnd.random() < 0.8:
        at = rnd.randrange(len(node))
        kind = rnd.random()
        if kind < 0.25:
            del node[at]
        elif kind < 0.5:
            node.insert(at, value(rnd, 2))
        elif kind < 0.6:
            rnd.shuffle(node)
        else:
            node[at] = change(rnd, node[at])
        return node
    if isinstance(node, str) and "\n" in node and rnd.random() < 0.8:
        return changed_text(rnd, node)
    return value(rnd, 2)


def put(old, new):
    """Prints a pair."""
    print(json.dumps({"old": old, "new": new}))


def random_pairs(count, seed):
    """Prints random pairs: half of them are alike."""
    rnd = random.Random(seed)
    for _ in range(count):
        old = value(rnd, 4)
        put(old, changed(rnd, old) if rnd.random() < 0.5 else value(rnd, 4))


def real_pairs(directory, seed):
    """Prints each real document with a change of it, and with the next one of its resource."""
    rnd = random.Random(seed)
    last = {}
    for name in ("descriptor-documents.ndjson", "sample-documents.ndjson"):
        with open(f"{directory}/{name}", encoding="utf-8") as lines:
            for line in lines:
                data = json.loads(line)
                document = data["document"]
                put(document, changed(rnd, document))
                if data["endpoint"] in last:
                    put(last[data["endpoint"]], document)
                last[data["endpoint"]] = document


def same(one, other):
    """Compares values; unlike Python's ==, true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def bytes_of(string):
    """Returns the text of a file; JSON can have halves of characters, which are kept."""
    return string.encode("utf-8", "surrogatepass")


def check_texts(texts, directory):
    """Applies diffs of lines to files, by one call of patch; returns how many are wrong."""
    diffs = []
    for n, (old, _, diff) in enumerate(texts):
        with open(f"{directory}/{n}", "wb") as file:
            file.write(bytes_of(old))
        diffs.append(b"--- %d\n+++ %d\n" % (n, n) + bytes_of(diff))
    done = subprocess.run(["patch", "--posix", "--binary", "--silent", "--fuzz=0", "-p0", "-d", directory],
                          input=b"".join(diffs), capture_output=True, check=False)
    print(done.stdout.decode("utf-8", "replace"), end="")
    wrong = done.returncode != 0
    for n, (old, new, diff) in enumerate(texts):
        with open(f"{directory}/{n}", "rb") as file:
            if file.read() != bytes_of(new):
                wrong += 1
                print(json.dumps({"old": old, "new": new, "diff": diff}))
    return wrong


def check(path, directory):
    """Applies patches, and prints those that are wrong."""
    import jsonpatch
    from jsonpointer import resolve_pointer

    checked = wrong = checked_texts = 0
    texts = []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            pair = json.loads(line)
            checked += 1
            try:
                made = jsonpatch.apply_patch(pair["old"], pair["patch"])
                good = same(made, pair["new"]) and (pair["patch"] != []) != same(pair["old"], pair["new"])
            except jsonpatch.JsonPatchException as error:
                good = False
                print(f"{type(error).__name__}: {error}")
            if not good:
                wrong += 1
                print(line, end="")
            texts += [(resolve_pointer(pair["old"], place), resolve_pointer(pair["new"], place), diff)
                      for place, diff in pair["text"].items()]
            if len(texts) >= 1000:
                checked_texts += len(texts)
                wrong += check_texts(texts, directory)
                texts = []
    if texts:
        wrong += check_texts(texts, directory)
    print(f"{checked} checked, {checked_texts + len(texts)} texts, {wrong} wrong")


if __name__ == "__main__":
    if sys.argv[1] == "random":
        random_pairs(int(sys.argv[2]), int(sys.argv[3]))
    elif sys.argv[1] == "real":
        real_pairs(sys.argv[2], int(sys.argv[3]))
    else:
        check(sys.argv[2], sys.argv[3])
