#!/usr/bin/env python3
"""Finds documents by their identities: in memory, in Redis, or in the store.

    apt-get install python3-psycopg2
    examples/redis/client.py "dbname=school" unix:///run/redis/redis.sock \\
        --channel dms-keys Ed-Fi:Student '$.studentUniqueId=604822'

Prints the DocumentId and where it was found.  Without an identity, one is read from
each line of the input, where quotes keep values with blanks together.  The password of Redis, if there is one, is in REDIS_PASSWORD.
"""
import argparse
import os
import shlex
import sys
import threading
import time

import psycopg2

from resp import Redis, RedisError

PREFIX = """SELECT 'dms:' || dms.instance_id() || ':' || EffectiveSchemaHash || ':'
            FROM dms.EffectiveSchema ORDER BY EffectiveSchemaId DESC LIMIT 1"""
REFERENTIAL_ID = "SELECT replace(dms.referential_id(%s, %s, %s, %s)::text, '-', '')"
DOCUMENT_ID = "SELECT DocumentId FROM dms.ReferentialIdentity WHERE ReferentialId = %s::uuid"


class Memory:
    """What this process knows: a bounded number of values, each for a while."""

    def __init__(self, seconds, size=100_000):
        self.seconds, self.size = seconds, size
        self.values, self.lock, self.forgotten = {}, threading.Lock(), 0

    def get(self, key):
        value, until = self.values.get(key, (None, 0))
        return value if until > time.monotonic() else None

    def put(self, key, value, forgotten):
        """Keep a value, unless something was forgotten since it was asked for."""
        with self.lock:
            if forgotten == self.forgotten:
                if len(self.values) >= self.size:
                    self.values.pop(next(iter(self.values)))
                self.values[key] = value, time.monotonic() + self.seconds

    def forget(self, key=None):
        with self.lock:
            self.forgotten += 1
            self.values.pop(key, None) if key is not None else self.values.clear()


class Lookup:
    """Looks for documents in memory, then in Redis, then in the store."""

    def __init__(self, store, url, ttl=600, memory=None, channel=None, password=None, pause=5.0):
        self.store, self.ttl, self.pause = psycopg2.connect(store), ttl, pause
        self.store.autocommit = True
        # Who does not hear of changes must not remember for long.
        self.memory = Memory(memory if memory is not None else 1.0 if channel is None else ttl)
        self.redis = Redis(url, password)
        self.prefix_until, self.redis_from = 0.0, 0.0
        self.before_fill = None             # a test pauses here
        if channel is not None:
            subscriber = Redis(url, password)
            threading.Thread(target=self.listen, args=(subscriber, channel), daemon=True).start()

    def query(self, sql, *arguments):
        with self.store.cursor() as cursor:
            cursor.execute(sql, arguments)
            row = cursor.fetchone()
        return row and row[0]

    def key(self, kind, name):
        """A key; the prefix is asked for again from time to time, because it is that of a schema."""
        if time.monotonic() > self.prefix_until:
            self.prefix = self.query(PREFIX)
            self.prefix_until = time.monotonic() + self.ttl / 2
        return "%s%s:%s" % (self.prefix, kind, name)

    def ask(self, *command):
        """Ask Redis.  If it does not answer, it is left alone for a while: that is a miss."""
        if time.monotonic() < self.redis_from:
            return None
        try:
            return self.redis.ask(*command)
        except (OSError, RedisError):
            self.redis_from = time.monotonic() + self.pause
            return None

    def document_id(self, referential_id):
        """The DocumentId of an identity, or None, and where it was found."""
        key = self.key("refid", referential_id)
        forgotten = self.memory.forgotten
        known = self.memory.get(key)
        if known is not None:
            return known, "memory"
        value, place = self.ask("GET", key), "Redis"
        if not (value or "").isdigit():
            found, place = self.query(DOCUMENT_ID, referential_id), "store"
            if found is None:
                return None, place          # what does not exist is not remembered
            if self.before_fill:
                self.before_fill()
            if value is None:               # an empty value stays: it stops those who are late
                self.ask("SET", key, found, "NX", "EX", self.ttl)
            value = found
        self.memory.put(key, int(value), forgotten)
        return int(value), place

    def resolve(self, project, resource, identity):
        """The same for an identity: pairs of a path and a value."""
        paths, values = zip(*identity)
        return self.document_id(self.query(REFERENTIAL_ID, project, resource, list(paths), list(values)))

    def listen(self, redis, channel):
        """Forget what is outdated.  What happens while nobody listens is not known: forget all."""
        while True:
            self.memory.forget()
            try:
                redis.ask("SUBSCRIBE", channel)
                redis.socket.settimeout(None)
                self.memory.forget()
                while True:
                    self.memory.forget(redis.receive()[2])
            except (OSError, RedisError, ValueError, TypeError):
                redis.close()
                time.sleep(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("store", help="how to connect to the store, such as dbname=school")
    parser.add_argument("redis", help="redis://host:port/database or unix:///path")
    parser.add_argument("resource", nargs="?", help="PROJECT:RESOURCE, such as Ed-Fi:Student")
    parser.add_argument("identity", nargs="*", help="PATH=VALUE, in the order of the identity")
    parser.add_argument("--ttl", type=int, default=600, help="dms.redis_ttl, in seconds")
    parser.add_argument("--channel", help="dms.redis_channel; without it, values are remembered for a second")
    parser.add_argument("--memory", type=float, help="for how many seconds values are remembered")
    arguments = parser.parse_args()
    lookup = Lookup(arguments.store, arguments.redis, arguments.ttl, arguments.memory,
                    arguments.channel, password=os.environ.get("REDIS_PASSWORD"))
    asked = [[arguments.resource, *arguments.identity]] if arguments.resource else map(shlex.split, sys.stdin)
    for resource, *identity in asked:
        found, place = lookup.resolve(*resource.split(":"), [part.split("=", 1) for part in identity])
        print("%s (%s)" % ("none" if found is None else found, place), flush=True)


if __name__ == "__main__":
    main()
