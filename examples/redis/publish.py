#!/usr/bin/env python3
"""Writes to Redis what background workers would, where there are none.

    apt-get install python3-psycopg2
    examples/redis/publish.py "dbname=school" unix:///run/redis/redis.sock --cursor /var/lib/dms/cursor

The role needs the level "admin": deletes have no ReferentialIds for others.  The cursor is
stored after Redis has confirmed what is before it, so a run goes on where the last one
ended.  The password of Redis, if there is one, is in REDIS_PASSWORD.
"""
import argparse
import os
import sys
import time

import psycopg2

from resp import Redis, RedisError

CURSOR_LOST = "ZD410"
PREFIX = """SELECT 'dms:' || dms.instance_id() || ':' || EffectiveSchemaHash || ':'
            FROM dms.EffectiveSchema ORDER BY EffectiveSchemaId DESC LIMIT 1"""
CHANGES = """SELECT kind, document_uuid::text, etag, next_cursor FROM dms.read_changes(%s, 1000, false)"""
OUTDATED = """SELECT replace(id::text, '-', '')
              FROM unnest(%s::uuid[], %s::bigint[]) AS c (uuid, etag)
              JOIN dms.TrackedChange AS t ON t.DocumentUuid = c.uuid AND t.Etag = c.etag
              CROSS JOIN unnest(ARRAY[t.OldReferentialId, t.OldAliasId]) AS id WHERE id IS NOT NULL"""
CURRENT = """SELECT replace(d.DocumentUuid::text, '-', ''), d.DocumentId, replace(i.ReferentialId::text, '-', '')
             FROM unnest(%s::uuid[], %s::bigint[]) AS c (uuid, etag)
             JOIN dms.Document AS d ON d.DocumentUuid = c.uuid AND d.Etag = c.etag
             JOIN dms.ReferentialIdentity AS i ON i.DocumentId = d.DocumentId"""


class Publisher:
    """Follows a store, and gives Redis what changes."""

    def __init__(self, store, redis, path, ttl):
        self.conninfo, self.redis, self.path, self.ttl = store, redis, path, ttl
        self.connection, self.place = None, None
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                self.place = file.read().strip() or None

    def store_place(self, place):
        with open(self.path + ".new", "w", encoding="utf-8") as file:
            file.write(place)
            file.flush()
            os.fsync(file.fileno())
        os.replace(self.path + ".new", self.path)
        self.place = place

    def rows(self, cursor, sql, changes):
        cursor.execute(sql, [[uuid for _, uuid, _, _ in changes], [etag for _, _, etag, _ in changes]])
        return cursor.fetchall()

    def commands(self, cursor, changes):
        """What Redis must forget, and then what it may know."""
        cursor.execute(PREFIX)
        prefix = cursor.fetchone()[0]
        gone = [c for c in changes if c[0] in ("key", "delete")]
        changed = [c for c in changes if c[0] == "document"]
        values = [("refid:" + id, "") for id, in self.rows(cursor, OUTDATED, gone)]
        values += [("uuid:" + c[1].replace("-", ""), "") for c in gone if c[0] == "delete"]
        for uuid, document_id, referential_id in self.rows(cursor, CURRENT, changed):
            values += [("uuid:" + uuid, document_id), ("refid:" + referential_id, document_id)]
        return [["SET", prefix + key, value, "EX", self.ttl] for key, value in values]

    def step(self):
        """Publish a batch, and store the cursor; returns whether there may be more."""
        if self.connection is None:
            self.connection = psycopg2.connect(self.conninfo)
            self.connection.set_session(readonly=True)
        with self.connection, self.connection.cursor() as cursor:
            try:
                cursor.execute(CHANGES, [self.place])
            except psycopg2.Error as error:
                if error.pgcode != CURSOR_LOST:
                    raise
                print("publish: beginning anew", file=sys.stderr, flush=True)
                self.place = None
                return True
            changes = cursor.fetchall()
            commands = self.commands(cursor, changes)
        self.redis.pipeline(commands)
        if changes[-1][-1] != self.place:
            self.store_place(changes[-1][-1])
        return changes[-1][0] != "end"

    def follow(self, interval, once):
        """Publish for ever, or all that there is; after a failure, try again."""
        while True:
            try:
                more = self.step()
                if once and not more:
                    return
                time.sleep(0 if more else interval)
            except (psycopg2.OperationalError, psycopg2.InterfaceError) as error:
                print("publish: %s" % (str(error).splitlines() or ["the connection was lost"])[0], file=sys.stderr, flush=True)
                self.connection = None
                time.sleep(interval)
            except OSError as error:
                print("publish: Redis: %s" % (error.strerror or error), file=sys.stderr, flush=True)
                time.sleep(interval)
            except RedisError as error:
                # It may repeat keys and values, so only its first word is printed.
                print("publish: Redis: %s" % (str(error).split() or ["an error"])[0], file=sys.stderr, flush=True)
                time.sleep(interval)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", help="how to connect to the store, such as dbname=school")
    parser.add_argument("redis", help="redis://host:port/database or unix:///path")
    parser.add_argument("--cursor", required=True, help="the file of the cursor")
    parser.add_argument("--ttl", type=int, default=600, help="how many seconds Redis keeps values")
    parser.add_argument("--interval", type=float, default=0.2, help="seconds between looks for changes")
    parser.add_argument("--once", action="store_true", help="end when all changes are published")
    arguments = parser.parse_args()
    redis = Redis(arguments.redis, os.environ.get("REDIS_PASSWORD"))
    try:
        Publisher(arguments.store, redis, arguments.cursor, arguments.ttl).follow(arguments.interval, arguments.once)
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
