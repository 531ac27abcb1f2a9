#!/usr/bin/env python3
"""Known weaknesses that are not fixed, each with its timeline.

Prints the result of each.  If one differs from the known result, the documentation and this
script have to change.  Needs a server built with FAULTS=1.

  known.py [--database attack]
"""
import argparse
import json
import os
import sys
import threading
import time

import psycopg2

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import storm
from storm import PROJECT


class Call(threading.Thread):
    """Runs a statement in a session of its own, which may have to wait."""

    def __init__(self, database, pause, sql, *args):
        super().__init__(daemon=True)
        self.connection = psycopg2.connect(dbname=database)
        self.connection.autocommit = True
        self.sql, self.args, self.result = sql, args, None
        self.cursor = self.connection.cursor()
        self.cursor.execute("SELECT set_config('dms.pause', %s, false), set_config('deadlock_timeout', '300ms', false)", (pause,))
        self.start()
        time.sleep(1)

    def run(self):
        try:
            self.cursor.execute(self.sql, self.args)
            self.result = self.cursor.fetchall()[0][0]
        except psycopg2.Error as e:
            self.result = e.pgcode

    def end(self):
        self.join(60)
        return 'hangs' if self.is_alive() else self.result


class Known:
    def __init__(self, database):
        self.database = database
        self.connection = storm.set_up(database)
        self.cursor = self.connection.cursor()
        self.cursor.execute("CREATE FUNCTION pause_key(text) RETURNS bigint LANGUAGE c AS '$libdir/dms', 'dms_pause_key'")
        self.surprises = 0

    def query(self, sql, *args):
        self.cursor.execute(sql, args)
        return self.cursor.fetchall()

    def uuid(self, kind, key, value):
        return self.query('SELECT dms.resolve(%s, %s, %s)::text', PROJECT, kind, json.dumps({key: value}))[0][0]

    def hold(self, point):
        self.query('SELECT pg_advisory_lock(pause_key(%s))', point)

    def free(self, point):
        self.query('SELECT pg_advisory_unlock(pause_key(%s))', point)
        time.sleep(1)

    def call(self, pause, sql, *args):
        return Call(self.database, pause, sql, *args)

    def tell(self, what, found, known):
        print('%-9s %s: %s' % ('known' if found == known else 'SURPRISE', what, found))
        self.surprises += found != known

    def upsert_and_rename(self):
        """An upsert keeps the lock on a document that was renamed meanwhile, and waits for the old name."""
        z, x = self.uuid('A', 'name', 'a0'), self.uuid('A', 'name', 'a1')
        self.query('SELECT dms.update_document(%s, %s)', x, json.dumps(dict(name='a1', peerReference=dict(name='a0'))))
        self.hold('before_self_lock')
        self.hold('between_claim_and_root')
        upsert = self.call('before_self_lock', 'SELECT (dms.upsert_document(%s, %s, %s)).outcome', PROJECT, 'A',
                           json.dumps(dict(name='a1', title='t')))
        self.query('SELECT dms.update_document(%s, %s)', x, json.dumps(dict(name='b1', peerReference=dict(name='a0'))))
        rename = self.call('between_claim_and_root', 'SELECT (dms.update_document(%s, %s)).outcome', z, json.dumps(dict(name='a1')))
        self.free('before_self_lock')
        self.free('between_claim_and_root')
        self.tell('an upsert and a rename that do not cross deadlock', '40P01' in (upsert.end(), rename.end()), True)

    def batch_and_rename(self):
        """A call locks its documents in order of ids, a rename its document before the referring ones."""
        self.query('SELECT dms.upsert_document(%s, %s, %s)', PROJECT, 'A', json.dumps(dict(name='late')))
        a, n = self.uuid('A', 'name', 'late'), self.uuid('N', 'noteId', 'n0')
        self.query('SELECT dms.update_document(%s, %s)', n, json.dumps(dict(noteId='n0', aReference=dict(name='late'))))
        self.hold('between_claim_and_root')
        rename = self.call('between_claim_and_root', 'SELECT (dms.update_document(%s, %s)).outcome', a, json.dumps(dict(name='later')))
        batch = self.call('', 'SELECT outcome FROM dms.update_documents(%s::uuid[], %s::json[])', [n, a],
                          [json.dumps(dict(noteId='n0')), json.dumps(dict(name='late', title='t'))])
        self.free('between_claim_and_root')
        self.tell('a call that renames nothing and a rename deadlock', '40P01' in (batch.end(), rename.end()), True)

    def etag_moves_alone(self):
        """A rename bumps a document that referred to it at first, although the reference is gone."""
        self.query('SELECT dms.upsert_document(%s, %s, %s)', PROJECT, 'A', json.dumps(dict(name='alone')))
        a, n = self.uuid('A', 'name', 'alone'), self.uuid('N', 'noteId', 'n1')
        self.query('SELECT dms.update_document(%s, %s)', n, json.dumps(dict(noteId='n1', aReference=dict(name='alone'))))
        self.hold('between_claim_and_root')
        rename = self.call('between_claim_and_root', 'SELECT (dms.update_document(%s, %s)).outcome', a, json.dumps(dict(name='lonely')))
        etag = self.query('SELECT (dms.update_document(%s, %s)).etag', n, json.dumps(dict(noteId='n1')))[0][0]
        self.free('between_claim_and_root')
        rename.end()
        moved = self.query('SELECT etag FROM dms.document WHERE documentuuid = %s', n)[0][0] - etag
        self.tell('an etag moves although the body does not', moved, 1)

    def names_of_followers(self):
        """An update of one document takes the old names of documents that follow it, and stores the new ones."""
        self.query('SELECT dms.upsert_document(%s, %s, %s)', PROJECT, 'A', json.dumps(dict(name='root')))
        self.query('SELECT dms.upsert_document(%s, %s, %s)', PROJECT, 'B', json.dumps(dict(code='b', aReference=dict(name='root'))))
        a = self.uuid('A', 'name', 'root')
        call = self.call('', 'SELECT (dms.update_document(%s, %s)).outcome', a,
                         json.dumps(dict(name='stem', favoriteReference=dict(code='b', a_name='stem'))))
        self.tell('a follower is not known by its new name', call.end(), '23503')
        call = self.call('', 'SELECT (dms.update_document(%s, %s)).outcome', a,
                         json.dumps(dict(name='stem', favoriteReference=dict(code='b', a_name='root'))))
        self.tell('but by its old one', call.end(), 'updated')


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--database', default='attack')
    known = Known(parser.parse_args().database)
    known.upsert_and_rename()
    known.batch_and_rename()
    known.etag_moves_alone()
    known.names_of_followers()
    return 1 if known.surprises else 0


if __name__ == '__main__':
    sys.exit(main())
