#!/usr/bin/env python3
"""Keeps a copy of a dms store, by its feed of changes.

    apt-get install python3-psycopg2
    examples/follow/follow.py "dbname=school" --database "dbname=copy"
    examples/follow/follow.py "dbname=school" --directory copy/
    examples/follow/follow.py "dbname=school" --directory copy/ --verify

The first run reads everything.  Later ones go on where the last one ended, whenever
and however that was: documents and the cursor behind them are stored together.

A database gets two tables in the schema "follow": document, and cursor.  A directory
gets a file for each resource, with one JSON object per line; the last line about an id
is what holds, and one without a document says that it was deleted.  --help lists more.
"""
import argparse
import contextlib
import hashlib
import json
import os
import sys
import time

import psycopg2
import psycopg2.extras

# One state of the store, for a pass that is verified afterwards.
REPEATABLE_READ = psycopg2.extensions.ISOLATION_LEVEL_REPEATABLE_READ
CURSOR_LOST = "ZD410"
CHANGES = """SELECT kind, project, resource, document_uuid::text, etag, document, next_cursor
             FROM dms.read_changes(%s, %s)"""
RESOURCES = "SELECT project, resource FROM dms.resources() WHERE kind <> 'abstract'"
DIGESTS = "SELECT bucket, documents, digest FROM dms.document_digests(%s, %s)"
BUCKETS = 256


class DatabaseCopy:
    """A copy in tables of another database."""

    TABLES = """
        CREATE SCHEMA IF NOT EXISTS follow;
        CREATE TABLE IF NOT EXISTS follow.document (
            id uuid PRIMARY KEY, project text NOT NULL, resource text NOT NULL, etag bigint NOT NULL,
            document json NOT NULL);
        CREATE TABLE IF NOT EXISTS follow.cursor (place text)"""
    PUT = """INSERT INTO follow.document AS d (id, project, resource, etag, document) VALUES %s
             ON CONFLICT (id) DO UPDATE SET (project, resource, etag, document) =
                 (EXCLUDED.project, EXCLUDED.resource, EXCLUDED.etag, EXCLUDED.document)
             WHERE d.etag < EXCLUDED.etag"""
    REMOVE = """DELETE FROM follow.document AS d USING (VALUES %s) AS gone (id, etag)
                WHERE d.id = gone.id::uuid AND d.etag < gone.etag"""

    def __init__(self, conninfo):
        self.conninfo, self.connection = conninfo, None
        with self.transaction() as cursor:
            cursor.execute(self.TABLES)

    @contextlib.contextmanager
    def transaction(self, name=None):
        """A cursor in a transaction of its own; connects again if the connection was lost."""
        if self.connection is None or self.connection.closed:
            self.connection = psycopg2.connect(self.conninfo)
        with self.connection, self.connection.cursor(name) as cursor:
            yield cursor

    def place(self):
        """The cursor, or None at the beginning."""
        with self.transaction() as cursor:
            cursor.execute("SELECT place FROM follow.cursor")
            row = cursor.fetchone()
        return row and row[0]

    def apply(self, documents, deleted, place):
        """Store documents and deletes with the cursor behind them."""
        with self.transaction() as cursor:
            psycopg2.extras.execute_values(
                cursor, self.PUT, [(d.id, d.project, d.resource, d.etag, d.text) for d in documents])
            psycopg2.extras.execute_values(cursor, self.REMOVE, deleted)
            cursor.execute("DELETE FROM follow.cursor")
            cursor.execute("INSERT INTO follow.cursor VALUES (%s)", [place])

    def clear(self):
        """Forget everything."""
        with self.transaction() as cursor:
            cursor.execute("TRUNCATE follow.document, follow.cursor")

    def documents(self):
        """All documents, as (project, resource, id, text)."""
        with self.transaction("documents") as cursor:
            cursor.execute("SELECT project, resource, id::text, document::text FROM follow.document")
            yield from cursor


class DirectoryCopy:
    """A copy in files, which only grow until they are written anew by compact()."""

    def __init__(self, directory):
        self.directory = directory
        self.state = os.path.join(directory, "cursor.json")
        os.makedirs(directory, exist_ok=True)
        try:
            with open(self.state, encoding="utf-8") as file:
                saved = json.load(file)
        except FileNotFoundError:
            saved = {"place": None, "sizes": {}}
        self.saved_place, self.sizes = saved["place"], saved["sizes"]
        self.etags = {}                     # id: (file, etag); of deleted ones, too
        self.recover()

    def path(self, name):
        if os.path.basename(name) != name:
            raise ValueError("%r cannot be the name of a file" % name)
        return os.path.join(self.directory, name)

    def recover(self):
        """Remove what was written after the cursor was, and read what there is."""
        for name in os.listdir(self.directory):
            if name.endswith(".ndjson") and name not in self.sizes:
                os.remove(self.path(name))
        for name, size in self.sizes.items():
            os.truncate(self.path(name), size)
            for line in self.lines(name):
                self.etags[line["id"]] = (name, line["etag"])

    def lines(self, name):
        with open(self.path(name), encoding="utf-8") as file:
            for line in file:
                yield json.loads(line)

    def place(self):
        """The cursor, or None at the beginning."""
        return self.saved_place

    def newer(self, id, etag):
        return id not in self.etags or self.etags[id][1] < etag

    def apply(self, documents, deleted, place):
        """Append documents and deletes, and then the cursor behind them."""
        lines = {}
        for d in documents:
            if self.newer(d.id, d.etag):
                name = "%s.%s.ndjson" % (d.project, d.resource)
                # The text is kept byte by byte, as a string: digests are of these bytes.
                lines.setdefault(name, []).append({"id": d.id, "etag": d.etag, "document": d.text})
                self.etags[d.id] = (name, d.etag)
        for id, etag in deleted:
            if id in self.etags and self.newer(id, etag):
                name = self.etags[id][0]
                lines.setdefault(name, []).append({"id": id, "etag": etag})
                self.etags[id] = (name, etag)
        for name, some in lines.items():
            self.append(name, some)
        self.save(place)

    def append(self, name, lines):
        with open(self.path(name), "ab") as file:
            for line in lines:
                file.write((json.dumps(line) + "\n").encode())
            file.flush()
            os.fsync(file.fileno())
            self.sizes[name] = file.tell()

    def save(self, place):
        """Replace the state as a whole: a crash leaves the old one or the new one."""
        with open(self.state + ".new", "w", encoding="utf-8") as file:
            json.dump({"place": place, "sizes": self.sizes}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(self.state + ".new", self.state)
        self.saved_place = place

    def clear(self):
        """Forget everything."""
        self.sizes, self.etags = {}, {}
        self.save(None)
        self.recover()

    def current(self, name):
        """The last line about each id of a file that has a document."""
        for line in self.lines(name):
            if "document" in line and self.etags[line["id"]] == (name, line["etag"]):
                yield line

    def documents(self):
        """All documents, as (project, resource, id, text)."""
        for name in list(self.sizes):
            project, resource = name[:-len(".ndjson")].rsplit(".", 1)
            for line in self.current(name):
                yield project, resource, line["id"], line["document"]

    def compact(self):
        """Write files anew without the lines that do not hold any more."""
        kept = {name: list(self.current(name)) for name in self.sizes}
        place = self.saved_place
        # If this is interrupted, the next run begins anew.
        self.clear()
        for name, lines in kept.items():
            self.append(name, lines)
        self.save(place)
        self.etags = {line["id"]: (name, line["etag"]) for name, lines in kept.items() for line in lines}


class Document:
    """A document of the feed."""

    def __init__(self, project, resource, id, etag, text):
        self.project, self.resource, self.id, self.etag, self.text = project, resource, id, etag, text


class Follower:
    """Applies the changes of a store to a copy."""

    def __init__(self, conninfo, copy, batch):
        self.conninfo, self.copy, self.batch = conninfo, copy, batch
        self.connection = None

    def connect(self, level=None):
        """Connect to the store, unless that was done before."""
        if self.connection is None or self.connection.closed:
            self.connection = psycopg2.connect(self.conninfo)
        self.connection.rollback()
        self.connection.set_session(isolation_level=level or "READ COMMITTED", readonly=True)

    def read(self):
        """Read a batch, and apply it; returns how many changes there were, and whether that was all."""
        with self.connection.cursor() as cursor:
            cursor.execute(CHANGES, [self.copy.place(), self.batch])
            rows = cursor.fetchall()
        documents = [Document(project, resource, id, etag, text)
                     for kind, project, resource, id, etag, text, _ in rows if kind == "document"]
        deleted = [(id, etag) for kind, _, _, id, etag, _, _ in rows if kind == "delete"]
        self.copy.apply(documents, deleted, rows[-1][-1])
        return len(documents) + len(deleted), rows[-1][0] == "end"

    def catch_up(self, one_state=False):
        """Apply all changes that there are; returns their number."""
        total, complete = 0, False
        self.connect(REPEATABLE_READ if one_state else None)
        while not complete:
            try:
                changes, complete = self.read()
            except psycopg2.Error as error:
                if error.pgcode != CURSOR_LOST:
                    raise
                print("follow: %s; beginning anew" % reason(error), flush=True)
                self.connect(REPEATABLE_READ if one_state else None)
                self.copy.clear()
                continue
            total += changes
            if not one_state:
                self.connection.commit()
        return total

    def follow(self, interval):
        """Apply changes for ever; if the store does not answer, try again."""
        while True:
            try:
                changes = self.catch_up()
                if changes:
                    print("follow: %d changes" % changes, flush=True)
            except (psycopg2.OperationalError, psycopg2.InterfaceError) as error:
                print("follow: %s" % reason(error), file=sys.stderr, flush=True)
                if self.connection is not None:
                    self.connection.close()
            time.sleep(interval)

    def verify(self):
        """Compare the copy with the store, both in one state; returns the differences."""
        self.catch_up(one_state=True)
        copied = {}
        for project, resource, id, text in self.copy.documents():
            bucket = int(id[-8:], 16) % BUCKETS
            count, digest = copied.get((project, resource, bucket), (0, bytes(32)))
            hashed = hashlib.sha256(text.encode()).digest()
            copied[project, resource, bucket] = count + 1, bytes(a ^ b for a, b in zip(digest, hashed))
        stored = {}
        with self.connection.cursor() as cursor:
            cursor.execute(RESOURCES)
            for project, resource in cursor.fetchall():
                cursor.execute(DIGESTS, [project, resource])
                for bucket, count, digest in cursor:
                    stored[project, resource, bucket] = count, bytes(digest)
        self.connection.rollback()
        return sum(count for count, _ in stored.values()), [
            "%s.%s, bucket %d: %d documents in the store, %d in the copy%s" % (
                *key, stored.get(key, (0,))[0], copied.get(key, (0,))[0],
                ", of other content" if stored.get(key, (0,))[0] == copied.get(key, (0,))[0] else "")
            for key in sorted(stored.keys() | copied.keys()) if stored.get(key) != copied.get(key)]


def reason(error):
    """The first line of what an error says."""
    return (str(error).splitlines() or ["the connection was lost"])[0]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", help="how to connect to the store, such as dbname=school")
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--database", help="how to connect to the database of the copy")
    target.add_argument("--directory", help="the directory of the copy")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--once", action="store_true", help="end when all changes are copied")
    action.add_argument("--verify", action="store_true", help="the same, and compare the copy with the store")
    action.add_argument("--compact", action="store_true", help="write the files of a directory anew, and end")
    parser.add_argument("--batch", type=int, default=1000, help="changes that are stored together")
    parser.add_argument("--interval", type=float, default=1, help="seconds between looks for changes")
    arguments = parser.parse_args()
    if arguments.compact and arguments.directory is None:
        parser.error("--compact is for directories")

    # Documents are kept as the texts that they are.
    psycopg2.extras.register_default_json(globally=True, loads=lambda text: text)
    copy = DatabaseCopy(arguments.database) if arguments.database is not None else DirectoryCopy(arguments.directory)
    follower = Follower(arguments.store, copy, arguments.batch)
    if arguments.compact:
        copy.compact()
    elif arguments.verify:
        documents, differences = follower.verify()
        for difference in differences:
            print("follow: " + difference)
        print("follow: %d documents, %d differences" % (documents, len(differences)))
        return 1 if differences else 0
    elif arguments.once:
        print("follow: %d changes" % follower.catch_up())
    else:
        try:
            follower.follow(arguments.interval)
        except KeyboardInterrupt:
            pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
