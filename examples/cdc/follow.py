#!/usr/bin/env python3
"""Follows a dms store by change data capture: by a replication slot, with wal2json.

    apt-get install python3-psycopg2 postgresql-15-wal2json
    examples/cdc/follow.py "dbname=school" --envelopes events.ndjson
    examples/cdc/follow.py "dbname=school" --database "dbname=copy"
    examples/cdc/follow.py "dbname=school" --database "dbname=copy" --verify

A file gets a line for each event: a key, and a value as Debezium's connector writes it.
A database gets the documents, in the tables "document" and "place" of the schema "cdc".

The first run makes a slot, and reads all documents in the snapshot of the slot.  Later
runs go on where the last one ended, whenever and however that was: what is written is
stored together with the place in the log, and only then is that place confirmed to the
server, which keeps its log from there on.  doc/cdc.md has more; --help lists options.
"""
import argparse
import contextlib
import datetime
import hashlib
import json
import os
import select
import sys
import time

import psycopg2
import psycopg2.extras

TABLE = "dms.documentcache"
COLUMNS = ["documentid", "documentuuid", "projectname", "resourcename", "resourceversion",
           "etag", "lastmodifiedat", "documentjson", "computedat"]
# Times are written as Debezium writes them, whatever the settings of the server are.
SESSION = "-c timezone=UTC -c datestyle=ISO"
WAL2JSON = {"format-version": "2", "include-xids": "1", "include-timestamp": "1", "include-lsn": "1",
            "add-tables": TABLE}
SLOT = """SELECT confirmed_flush_lsn - '0/0', coalesce(wal_status = 'lost', false), plugin, database = current_database()
          FROM pg_replication_slots WHERE slot_name = %s"""
RESOURCES = "SELECT project, resource FROM dms.resources() WHERE kind <> 'abstract'"
DIGESTS = "SELECT bucket, documents, digest FROM dms.document_digests(%s, %s)"
BUCKETS = 256
# The ids of a resource in one bucket: the last eight digits, as a number.
IDS = """SELECT DocumentUuid::text FROM dms.Document WHERE (ProjectName, ResourceName) = (%s, %s)
         AND ('x' || right(DocumentUuid::text, 8))::bit(32)::bigint %% 256 = %s"""
SNAPSHOT_ROWS = 1000
# Classes of errors that pass: the server is away, is being shut down, or has no resources.
PASSING = ("08", "53", "55", "57")
# The server ends a connection that is silent for wal_sender_timeout, a minute by default.
INTERVAL = 10
# What is not for us is confirmed after a second: a server that is shut down waits for it.
QUIET = 1


class LostPlace(Exception):
    """What was written cannot be continued."""


class Change:
    """A change of a row: c (created), u (updated), d (deleted) or r (read in the snapshot)."""

    def __init__(self, op, id, row, source):
        self.op, self.id, self.row, self.source = op, id, row, source

    def envelope(self):
        """The value of the event, without a schema."""
        before = {"documentuuid": self.id} if self.op == "d" else None
        return {"before": before, "after": self.row, "source": self.source, "op": self.op,
                "ts_ms": int(time.time() * 1000)}


class Events:
    """A file of events, one per line, and beside it the place that it has reached."""

    def __init__(self, path):
        self.path, self.state = path, path + ".place"
        try:
            with open(self.state, encoding="utf-8") as file:
                self.saved = json.load(file)
        except FileNotFoundError:
            self.saved = {"system": None, "lsn": None, "size": 0}
        self.file = open(path, "ab")
        if self.file.tell() < self.saved["size"]:
            raise SystemExit("follow: %s is shorter than it was; remove %s, too" % (path, self.state))
        # What was written after the place was saved is written again.
        self.file.truncate(self.saved["size"])

    def place(self):
        """The server, None if there is none yet, and the position in its log, None if it is not known."""
        return self.saved["system"], self.saved["lsn"]

    def begin(self):
        """All documents follow.  The file keeps what it has: it is a log."""

    def put(self, changes):
        """Append events; after a delete comes a tombstone, for compacted topics."""
        for change in changes:
            key = {"documentuuid": change.id}
            self.line({"key": key, "value": change.envelope()})
            if change.op == "d":
                self.line({"key": key, "value": None})

    def line(self, event):
        self.file.write((json.dumps(event, ensure_ascii=False) + "\n").encode())

    def commit(self, system, lsn):
        """Store what was put, and then the place: a crash leaves both or neither."""
        self.file.flush()
        os.fsync(self.file.fileno())
        self.saved = {"system": system, "lsn": lsn, "size": self.file.tell()}
        with open(self.state + ".new", "w", encoding="utf-8") as file:
            json.dump(self.saved, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(self.state + ".new", self.state)

    def rollback(self):
        """Forget what was put since the last commit."""
        self.file.flush()
        self.file.truncate(self.saved["size"])


class DatabaseCopy:
    """A copy of all documents in a table of another database."""

    TABLES = """
        CREATE SCHEMA IF NOT EXISTS cdc;
        CREATE TABLE IF NOT EXISTS cdc.document (
            id uuid PRIMARY KEY, project text NOT NULL, resource text NOT NULL, etag bigint NOT NULL,
            last_modified timestamptz NOT NULL, document json NOT NULL);
        CREATE TABLE IF NOT EXISTS cdc.place (system text NOT NULL, lsn bigint)"""
    PUT = """INSERT INTO cdc.document (id, project, resource, etag, last_modified, document) VALUES %s
             ON CONFLICT (id) DO UPDATE SET (project, resource, etag, last_modified, document) =
                 (EXCLUDED.project, EXCLUDED.resource, EXCLUDED.etag, EXCLUDED.last_modified, EXCLUDED.document)"""

    def __init__(self, conninfo):
        self.connection = psycopg2.connect(conninfo)
        with self.connection, self.connection.cursor() as cursor:
            cursor.execute(self.TABLES)

    def place(self):
        with self.connection, self.connection.cursor() as cursor:
            cursor.execute("SELECT system, lsn FROM cdc.place")
            return cursor.fetchone() or (None, None)

    def begin(self):
        """All documents follow, so what is there is deleted, in the same transaction."""
        with self.connection.cursor() as cursor:
            cursor.execute("DELETE FROM cdc.document")

    def put(self, changes):
        """Apply changes.  Of several of one document, the last one counts."""
        last = {change.id: change for change in changes}
        gone = [id for id, change in last.items() if change.row is None]
        rows = [(id, change.row["projectname"], change.row["resourcename"], change.row["etag"],
                 change.row["lastmodifiedat"], change.row["documentjson"])
                for id, change in last.items() if change.row is not None]
        with self.connection.cursor() as cursor:
            if gone:
                cursor.execute("DELETE FROM cdc.document WHERE id = ANY (%s::uuid[])", [gone])
            if rows:
                psycopg2.extras.execute_values(cursor, self.PUT, rows, page_size=len(rows))

    def commit(self, system, lsn):
        """Store what was put, together with the place."""
        with self.connection, self.connection.cursor() as cursor:
            cursor.execute("DELETE FROM cdc.place")
            cursor.execute("INSERT INTO cdc.place VALUES (%s, %s)", [system, lsn])

    def rollback(self):
        """Forget what was put since the last commit."""
        self.connection.rollback()

    def documents(self):
        """All documents, as (project, resource, id, text)."""
        with self.connection, self.connection.cursor("documents") as cursor:
            cursor.execute("SELECT project, resource, id::text, document::text FROM cdc.document")
            yield from cursor

    def ids(self, project, resource, bucket):
        """The ids of a bucket."""
        with self.connection, self.connection.cursor() as cursor:
            cursor.execute("""SELECT id::text FROM cdc.document WHERE (project, resource) = (%s, %s)
                              AND ('x' || right(id::text, 8))::bit(32)::bigint %% 256 = %s""", [project, resource, bucket])
            return [id for id, in cursor]

    def remove(self, ids):
        """Delete documents that do not exist any more."""
        with self.connection, self.connection.cursor() as cursor:
            cursor.execute("DELETE FROM cdc.document WHERE id = ANY (%s::uuid[])", [ids])


class Follower:
    """Reads changes from a slot, and gives them to what keeps them."""

    def __init__(self, conninfo, target, slot, batch):
        self.conninfo, self.target, self.slot, self.batch = conninfo, target, slot, batch
        self.connections = contextlib.ExitStack()

    # --- connections -----------------------------------------------------

    def connect(self):
        """Connect to the store twice: for statements, and for the log."""
        self.close()
        self.sql = psycopg2.connect(self.conninfo, options=SESSION)
        self.connections.callback(self.sql.close)
        self.log = psycopg2.connect(self.conninfo, options=SESSION,
                                    connection_factory=psycopg2.extras.LogicalReplicationConnection)
        self.connections.callback(self.log.close)
        self.cursor = self.log.cursor()
        self.cursor.execute("IDENTIFY_SYSTEM")
        self.system, _, _, self.database = self.cursor.fetchone()

    def close(self):
        self.connections.close()

    def ask(self, sql, *values):
        """The rows of a statement in a transaction of its own."""
        with self.sql, self.sql.cursor() as cursor:
            cursor.execute(sql, values)
            return cursor.fetchall()

    # --- the slot ---------------------------------------------------------

    def find_slot(self):
        """Raise LostPlace unless the slot continues what was written; returns the place."""
        system, lsn = self.target.place()
        slots = self.ask(SLOT, self.slot)
        if slots and (system is None or slots[0][2:] != ("wal2json", True)):
            raise SystemExit("follow: the slot \"%s\" is of another copy; choose another name" % self.slot)
        if system is None:
            raise LostPlace("nothing was written yet")
        if not slots:
            raise LostPlace("there is no slot \"%s\"" % self.slot)
        confirmed, lost, _, _ = slots[0]
        if lsn is None:
            raise LostPlace("the first run did not end")
        if lost:
            raise LostPlace("the slot has fallen too far behind")
        if system != self.system:
            raise LostPlace("this is another server")
        if confirmed > lsn:
            raise LostPlace("the slot is ahead of what was written")
        return lsn

    def begin_anew(self):
        """Make the slot, and read all documents in its snapshot; returns the place."""
        if self.ask(SLOT, self.slot):
            self.wait_for_slot(lambda: self.cursor.drop_replication_slot(self.slot))
        # From here on the slot is known to be ours.
        self.target.commit(self.system, None)
        self.cursor.create_replication_slot(self.slot, output_plugin="wal2json")
        _, point, snapshot, _ = self.cursor.fetchone()
        high, low = point.split("/")
        lsn = (int(high, 16) << 32) + int(low, 16)
        self.target.begin()
        self.sql.set_session(isolation_level="REPEATABLE READ", readonly=True)
        with self.sql, self.sql.cursor() as cursor:
            cursor.execute("SET TRANSACTION SNAPSHOT %s", [snapshot])
            self.read_rows(lsn)
        self.sql.set_session(isolation_level="DEFAULT", readonly=False)
        self.target.commit(self.system, lsn)
        return lsn

    def read_rows(self, lsn):
        """Read all rows, some at a time."""
        count = 0
        with self.sql.cursor("rows") as cursor:
            cursor.itersize = SNAPSHOT_ROWS
            cursor.execute("SELECT %s FROM %s" % (", ".join(COLUMNS[:1] + [c + "::text" for c in COLUMNS[1:]]), TABLE))
            while True:
                rows = cursor.fetchmany(SNAPSHOT_ROWS)
                if not rows:
                    break
                source = self.source(lsn, None, int(time.time() * 1000), "true")
                self.target.put([Change("r", row[1], as_row(zip(COLUMNS, row)), source) for row in rows])
                count += len(rows)
        print("follow: a new slot, with %d documents" % count, flush=True)

    def wait_for_slot(self, action):
        """The server may not yet know that the program that used the slot before has ended."""
        for _ in range(600):
            try:
                return action()
            except psycopg2.errors.ObjectInUse:
                time.sleep(0.1)
        return action()

    # --- the log ----------------------------------------------------------

    def source(self, lsn, xid, ts_ms, snapshot):
        return {"connector": "postgresql", "name": "dms", "db": self.database, "schema": "dms", "table": "documentcache",
                "snapshot": snapshot, "lsn": lsn, "txId": xid, "ts_ms": ts_ms}

    def start(self):
        """Begin to read the log, after the place that was stored."""
        try:
            self.place = self.find_slot()
        except LostPlace as reason:
            print("follow: %s; beginning anew" % reason, flush=True)
            self.target.rollback()
            self.place = self.begin_anew()
        self.changes, self.unsaved, self.open, self.saved = [], False, False, self.place
        self.wait_for_slot(lambda: self.cursor.start_replication(
            slot_name=self.slot, start_lsn=self.place, options=WAL2JSON, decode=True))
        self.told = time.monotonic()

    def take(self, message):
        """Take a message: the begin or the end of a transaction, or a change of a row, which counts."""
        record = json.loads(message.payload)
        action = record["action"]
        if action == "B":
            self.open = True
        elif action == "C":
            self.open = False
            self.place = message_lsn(record["nextlsn"])
            if len(self.changes) >= self.batch or time.monotonic() - self.told >= INTERVAL:
                self.save()
        elif action == "T":
            raise LostPlace("the table was truncated by hand")
        elif action in "IUD":
            self.changes.append(self.change(record))
            self.unsaved = True
            # The rest of a large transaction follows; nothing is stored before its end.
            if self.open and len(self.changes) >= 10 * self.batch:
                self.target.put(self.changes)
                self.changes = []
                self.tell()
        return action in "IUD"

    def change(self, record):
        """The change of a row that a record of wal2json tells."""
        op = {"I": "c", "U": "u", "D": "d"}[record["action"]]
        row = as_row((c["name"], c["value"]) for c in record["columns"]) if op != "d" else None
        key = row if op != "d" else {c["name"]: c["value"] for c in record["identity"]}
        if "documentuuid" not in key:
            raise SystemExit("follow: a delete without the id of the document; call dms.publish_documents()")
        if op != "d" and "documentjson" not in row:
            raise SystemExit("follow: a change of %s without its text" % key["documentuuid"])
        return Change(op, key["documentuuid"], row,
                      self.source(message_lsn(record["lsn"]), record["xid"], milliseconds(record["timestamp"]), "false"))

    def save(self):
        """Store what was read, and confirm it to the server."""
        self.target.put(self.changes)
        self.target.commit(self.system, self.place)
        self.changes, self.unsaved, self.saved = [], False, self.place
        self.tell()

    def tell(self):
        """Confirm what was stored; the server answers with how far it has read."""
        self.cursor.send_feedback(flush_lsn=self.saved, reply=True, force=True)
        self.told = time.monotonic()

    def idle(self, interval):
        """Nothing is to be read now: store what there is, and what the server says is not for us."""
        if not self.open:
            self.place = max(self.place, self.cursor.wal_end)
            if self.unsaved or (self.place > self.saved and time.monotonic() - self.told >= QUIET):
                self.save()
        if time.monotonic() - self.told >= interval:
            self.tell()
        select.select([self.cursor], [], [], min(interval, QUIET))

    def catch_up(self, until):
        """Read the log up to a position, or for ever; returns how many changes there were."""
        count = 0
        while True:
            message = self.cursor.read_message()
            if message is not None:
                count += self.take(message)
                continue
            self.idle(INTERVAL if until is None else 0.05)
            if until is not None and not self.open and not self.unsaved and self.place >= until:
                return count

    def end_of_log(self):
        """Where the log ends now."""
        return self.ask("SELECT pg_current_wal_insert_lsn() - '0/0'")[0][0]

    def once(self):
        """Read all that is committed now; returns how many changes there were."""
        while True:
            try:
                self.connect()
                self.start()
                return self.catch_up(int(self.end_of_log()))
            except LostPlace as reason:
                self.restart(reason)

    def follow(self):
        """Read the log for ever; if the store does not answer, try again."""
        while True:
            try:
                self.connect()
                self.start()
                self.catch_up(None)
            except LostPlace as reason:
                self.restart(reason)
            except (psycopg2.DatabaseError, psycopg2.InterfaceError) as error:
                text = "follow: %s" % (str(error).splitlines() or ["the connection was lost"])[0]
                if error.pgcode is not None and error.pgcode[:2] not in PASSING:
                    raise SystemExit(text)
                print(text, file=sys.stderr, flush=True)
                self.target.rollback()
                time.sleep(1)

    def restart(self, reason):
        """Let the next start begin anew."""
        print("follow: %s; beginning anew" % reason, flush=True)
        self.target.rollback()
        self.connect()
        self.wait_for_slot(lambda: self.cursor.drop_replication_slot(self.slot))

    # --- drift ------------------------------------------------------------

    def differences(self):
        """Compare the copy with the store by digests; returns buckets as (project, resource, bucket)."""
        self.ask("SELECT dms.wait_until_projected('10 minutes')")
        self.once()
        copied, stored = {}, {}
        for project, resource, id, text in self.target.documents():
            key = project, resource, bucket_of(id)
            count, digest = copied.get(key, (0, bytes(32)))
            copied[key] = count + 1, bytes(a ^ b for a, b in zip(digest, hashlib.sha256(text.encode()).digest()))
        for project, resource in self.ask(RESOURCES):
            for bucket, count, digest in self.ask(DIGESTS, project, resource):
                stored[project, resource, bucket] = count, bytes(digest)
        self.documents = sum(count for count, _ in stored.values())
        return sorted(key for key in stored.keys() | copied.keys() if stored.get(key) != copied.get(key))

    def verify(self):
        """Print what differs; returns whether anything does.  Nobody must write meanwhile."""
        self.connect()
        differences = self.differences()
        for project, resource, bucket in differences:
            print("follow: %s.%s, bucket %d differs" % (project, resource, bucket))
        print("follow: %d documents, %d differences" % (self.documents, len(differences)))
        return bool(differences)

    def mend(self):
        """Let documents of buckets that differ be sent again, and delete those that do not exist."""
        self.connect()
        count = 0
        for key in self.differences():
            ids = set(self.target.ids(*key)) | {id for id, in self.ask(IDS, *key)}
            gone = [id for id, in self.ask("SELECT dms.republish_documents(%s::uuid[])::text", sorted(ids))]
            self.target.remove(gone)
            count += len(ids)
        self.once()
        print("follow: %d documents were sent again" % count)


def bucket_of(id):
    """The bucket of a document: its last four bytes as a number."""
    return int(id[-8:], 16) % BUCKETS


def as_row(columns):
    """A row as Debezium has it: numbers, and texts; times in UTC."""
    row = dict(columns)
    row["etag"] = int(row["etag"])
    for name in ("lastmodifiedat", "computedat"):
        row[name] = row[name].replace(" ", "T").replace("+00", "Z")
    return row


def message_lsn(text):
    """A position in the log as a number."""
    high, low = text.split("/")
    return (int(high, 16) << 32) + int(low, 16)


def milliseconds(timestamp):
    """A time of wal2json as Debezium has it."""
    return int(datetime.datetime.fromisoformat(timestamp).timestamp() * 1000)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", help="how to connect to the store, such as dbname=school; the role needs REPLICATION")
    target = parser.add_mutually_exclusive_group()
    target.add_argument("--envelopes", metavar="FILE", help="the file of events")
    target.add_argument("--database", help="how to connect to the database of the copy")
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--once", action="store_true", help="end when all that is committed now was read")
    action.add_argument("--verify", action="store_true", help="the same, and compare the copy with the store")
    action.add_argument("--mend", action="store_true", help="the same, and let what differs be sent again")
    action.add_argument("--drop", action="store_true", help="drop the slot, and end: the server need not keep its log")
    parser.add_argument("--slot", default="dms_follow", help="the name of the replication slot (dms_follow)")
    parser.add_argument("--batch", type=int, default=500, help="changes that are stored together (500)")
    arguments = parser.parse_args()
    if arguments.envelopes is None and arguments.database is None and not arguments.drop:
        parser.error("--envelopes or --database says what is to be written")
    if arguments.database is None and (arguments.verify or arguments.mend):
        parser.error("only a database can be compared")

    # Documents are kept as the texts that they are.
    psycopg2.extras.register_default_json(globally=True, loads=lambda text: text)
    target = None
    if arguments.database is not None:
        target = DatabaseCopy(arguments.database)
    elif arguments.envelopes is not None:
        target = Events(arguments.envelopes)
    follower = Follower(arguments.store, target, arguments.slot, arguments.batch)
    if arguments.drop:
        follower.connect()
        follower.wait_for_slot(lambda: follower.cursor.drop_replication_slot(arguments.slot))
    elif arguments.verify:
        return 1 if follower.verify() else 0
    elif arguments.mend:
        follower.mend()
    elif arguments.once:
        print("follow: %d changes" % follower.once())
    else:
        try:
            follower.follow()
        except KeyboardInterrupt:
            pass
    return 0


if __name__ == "__main__":
    sys.exit(main())
