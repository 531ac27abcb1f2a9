#!/usr/bin/env python3
"""One long session, while tables and models change.

Tens of thousands of calls, with errors among them, must not let the session's memory
grow.  Tables that are altered, dropped, renamed or replaced by views under the session,
and stored models that are changed, may make calls fail, but never with a crash or an
internal error, and never write wrong rows.  The time of large calls must grow linearly.

  session.py --calls 3000 --documents 1000 [--database attack]
"""
import argparse
import json
import os
import sys
import time

import psycopg2

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import storm
from storm import PROJECT, refer


class Attack:
    def __init__(self, options):
        self.options = options
        self.broken = []
        self.owner = storm.set_up(options.database)
        self.connection = psycopg2.connect(dbname=options.database)
        self.connection.autocommit = True
        self.query("SET client_min_messages = warning")

    def query(self, sql, *args, owner=False):
        with (self.owner if owner else self.connection).cursor() as cursor:
            cursor.execute(sql, args or None)
            return cursor.fetchall() if cursor.description else None

    def attempt(self, sql, *args):
        """Returns the SQLSTATE of a call, or None."""
        try:
            self.query(sql, *args)
            return None
        except psycopg2.OperationalError as e:
            if e.pgcode is None:
                self.complain('the server was lost: %s' % sql)
                raise
            return e.pgcode
        except psycopg2.Error as e:
            if e.pgcode.startswith('XX000'):
                self.complain('%s %s: %s %s' % (e.pgcode, e, sql, args))
            return e.pgcode

    def complain(self, text):
        self.broken.append(text)
        print('BROKEN:', text[:3000], flush=True)

    def uuid(self, kind):
        return self.query('SELECT documentuuid::text FROM dms.document WHERE resourcename = %s ORDER BY documentid LIMIT 1', kind)[0][0]

    # Memory.

    def memory(self):
        return self.query("""SELECT sum(used_bytes)::bigint FROM pg_backend_memory_contexts
            WHERE name NOT IN ('MessageContext', 'ErrorContext', 'ExecutorState', 'ExprContext', 'PortalContext')""")[0][0]

    def one_of_each(self, i):
        a, b, n = self.ids
        name = 'a%d' % (50 + i % 7)
        self.attempt('SELECT dms.update_documents(%s::uuid[], %s::json[])', [a, n],
                     [json.dumps(dict(name=name)), json.dumps(dict(noteId='n0', title='t%d' % i, aReference=dict(name=name)))])
        self.attempt('SELECT dms.update_documents(%s::uuid[], %s::json[])', [a, n],
                     [json.dumps(dict(name=name)), json.dumps(dict(noteId='n0', aReference=dict(name='missing')))])
        self.attempt('SELECT dms.update_documents(%s::uuid[], %s::json[])', [a, a], ['{}', '{}'])
        self.attempt('SELECT dms.update_documents(%s::uuid[], %s::json[])', [a], [json.dumps(dict(name='a1'))])
        self.attempt('SELECT dms.update_document(%s, %s)', b, json.dumps(dict(code='b%d' % (90 + i % 3), aReference=dict(name=name))))
        self.attempt('SELECT dms.upsert_document(%s, %s, %s)', PROJECT, 'A', json.dumps(dict(name='new%d' % (i % 5), friends=[])))
        self.attempt('SELECT dms.delete_document(dms.resolve(%s, %s, %s))', PROJECT, 'A', json.dumps(dict(name='new%d' % (i % 5))))
        self.attempt('SELECT * FROM dms.query_documents(%s, %s)', PROJECT, 'N')
        self.attempt('SELECT * FROM dms.handle_request(%s, %s, %s, %s)', 'PUT', '/attack/as/' + a, '{}', '{"name": 1')
        self.attempt('SELECT dms.lock_identity_closure(%s::bigint[])', [1, 2, 3])
        self.attempt('SELECT dms.recompute_identities(%s::bigint[])', [1, 2, 3])

    def long_session(self):
        self.ids = (self.uuid('A'), self.uuid('B'), self.uuid('N'))
        marks = []
        rounds = max(self.options.calls // 11, 60)
        for i in range(rounds):
            self.one_of_each(i)
            if i in (rounds // 3, rounds - 1):
                marks.append(self.memory())
        print('memory after %d and %d calls: %d and %d bytes' % (rounds // 3 * 11, rounds * 11, *marks))
        if marks[1] > marks[0] * 1.1 + 100000:
            self.complain('memory grows: %s' % marks)

    # Tables and models that change under the session.

    def altered(self):
        body = json.dumps(dict(noteId='n0', title='altered', aReference=dict(name='a1')))
        other = json.dumps(dict(noteId='n0', title='again', aReference=dict(name='a2')))
        n, a = self.uuid('N'), self.uuid('A')
        changes = [
            'CREATE RULE r AS ON UPDATE TO attack.n DO INSTEAD NOTHING',
            'CREATE RULE r AS ON INSERT TO attack.nb DO INSTEAD NOTHING',
            'ALTER TABLE attack.n ALTER COLUMN title TYPE text',
            'ALTER TABLE attack.n ALTER COLUMN title TYPE integer USING NULL',
            'ALTER TABLE attack.n ALTER COLUMN title TYPE bytea USING NULL',
            'ALTER TABLE attack.n DROP COLUMN title',
            'ALTER TABLE attack.n RENAME COLUMN title TO heading',
            'ALTER TABLE attack.n RENAME TO m',
            'ALTER TABLE attack.n RENAME TO m; CREATE VIEW attack.n AS SELECT * FROM attack.m',
            'ALTER TABLE attack.n RENAME TO m; CREATE TABLE attack.n (LIKE attack.m)',
            'ALTER TABLE attack.n RENAME TO m; CREATE TABLE attack.n AS SELECT 1 AS documentid',
            'ALTER TABLE attack.n ALTER COLUMN a_documentid TYPE integer',
            'ALTER TABLE attack.n ADD COLUMN added text DEFAULT repeat(\'x\', 100)',
            'DROP TABLE attack.nb',
            'ALTER TABLE attack.nb RENAME COLUMN b_documentid TO x',
            'ALTER TABLE attack.a ALTER COLUMN name TYPE varchar(1000) COLLATE "C"',
            'ALTER TABLE attack.a DROP CONSTRAINT a_nk',
            'DROP INDEX dms.referenceedge_child_ix',
            'ALTER TABLE dms.referenceedge ALTER COLUMN edgesourceid TYPE integer',
            'ALTER TABLE dms.document ALTER COLUMN etag TYPE numeric',
            'ALTER TABLE dms.referentialidentity ALTER COLUMN documentid TYPE integer',
            'ALTER TABLE dms.referentialidentity RENAME TO other; CREATE VIEW dms.referentialidentity AS SELECT * FROM dms.other',
            'ALTER TABLE dms.identitylock RENAME TO other',
            'DELETE FROM dms.identitylock',
            'DELETE FROM dms.edgesource',
            'DELETE FROM dms.resourcemodel WHERE resourcename = \'N\'',
            'UPDATE dms.resourcemodel SET model = \'{}\'',
            'UPDATE dms.resourcemodel SET model = (replace(model::text, \'"title"\', \'"tutle"\'))::json',
            'UPDATE dms.resourcemodel SET model = (replace(model::text, \'"column":\', \'"column":9\'))::json',
            'UPDATE dms.resourcemodel SET model = (replace(model::text, \'"rank":1\', \'"rank":0\'))::json',
            'UPDATE dms.resourcemodel SET model = (replace(model::text, \'"member":0\', \'"member":1\'))::json',
            'CREATE FUNCTION public.f() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$ BEGIN'
             ' PERFORM 1 FROM dms.update_documents(ARRAY[\'%s\']::uuid[], ARRAY[\'{"noteId": "n0", "title": "by trigger"}\']::json[]);'
             ' RETURN NEW; END $$; CREATE TRIGGER t BEFORE UPDATE ON attack.a FOR EACH ROW EXECUTE FUNCTION public.f()' % n,
            'CREATE FUNCTION public.f() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$ BEGIN'
             ' PERFORM 1 FROM dms.update_documents(ARRAY[\'%s\']::uuid[], ARRAY[\'{"name": "by trigger"}\']::json[]);'
             ' RETURN NEW; END $$; CREATE TRIGGER t BEFORE UPDATE ON attack.a FOR EACH ROW EXECUTE FUNCTION public.f()' % a,
            'CREATE FUNCTION public.f() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$ BEGIN'
             ' DELETE FROM dms.document WHERE documentuuid = \'%s\'; RETURN NULL; END $$;'
             ' CREATE TRIGGER t AFTER UPDATE ON attack.a FOR EACH ROW EXECUTE FUNCTION public.f()' % n,
            'CREATE FUNCTION public.f() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$ BEGIN'
             ' RETURN NULL; END $$; CREATE TRIGGER t BEFORE UPDATE ON attack.n FOR EACH ROW EXECUTE FUNCTION public.f()',
        ]
        codes = []
        for sql in changes:
            self.warm(n, a, other)
            self.query('BEGIN')     # all in one transaction, so that it can be undone
            refused = self.attempt(sql)
            got = [refused] if refused else self.calls_after(n, a, body)
            self.attempt('ROLLBACK')
            codes.append('%-60s %s' % (sql[:60], ' '.join(str(c) for c in got)))
            self.warm(n, a, other)
            self.from_outside(sql, n, a, body)
        print('\n'.join(codes))

    def warm(self, n, a, body):
        for sql, args in (('SELECT dms.update_document(%s, %s)', (n, body)), ('SELECT dms.get_document(%s)', (n,)),
                          ('SELECT dms.update_documents(%s::uuid[], %s::json[])', ([a, n], [json.dumps(dict(name='a50')), body]))):
            code = self.attempt(sql, *args)
            if code:
                self.complain('%s after the change was undone: %s' % (code, sql))
        stored = self.query('SELECT dms.get_document(%s)', n)[0][0]
        if any(stored.get(k) != v for k, v in json.loads(body).items()):
            self.complain('sent and stored differ after the change was undone: %s, %s' % (body, stored))

    def calls_after(self, n, a, body):
        codes = []
        for sql, args in (
                ('SELECT dms.update_documents(%s::uuid[], %s::json[])', ([a, n], [json.dumps(dict(name='a51')), body])),
                ('SELECT dms.update_document(%s, %s)', (n, body)), ('SELECT dms.get_document(%s)', (n,)),
                ('SELECT * FROM dms.query_documents(%s, %s)', (PROJECT, 'N')), ('SELECT * FROM dms.audit()', ()),
                ('SELECT dms.upsert_document(%s, %s, %s)', (PROJECT, 'N', json.dumps(dict(noteId='n99', title='x')))),
                ('SELECT dms.delete_document(%s)', (n,))):
            self.query('SAVEPOINT s')
            codes.append(self.attempt(sql, *args))
            self.query('ROLLBACK TO s')
        return codes

    def from_outside(self, sql, n, a, body):
        """Makes the same changes in another session, while this one has an open transaction or none."""
        self.owner.autocommit = False
        try:
            self.query("SET LOCAL lock_timeout = '500ms'", owner=True)
            self.query(sql, owner=True)
            self.query("SET statement_timeout = '300ms'")
            self.attempt('SELECT dms.update_documents(%s::uuid[], %s::json[])', [a, n], [json.dumps(dict(name='a51')), body])
            self.attempt('SELECT dms.get_document(%s)', n)
        except psycopg2.Error:
            pass
        self.owner.rollback()
        self.owner.autocommit = True
        self.query("SET statement_timeout = 0")

    # Size.

    def large(self):
        times = []
        for n in (self.options.documents // 4, self.options.documents):
            self.query('SELECT dms.upsert_document(%s, %s, json_build_object(\'noteId\', \'m\' || i)) FROM generate_series(1, %s) AS i',
                       PROJECT, 'N', n)
            self.query('SELECT dms.upsert_document(%s, %s, json_build_object(\'name\', \'big\' || i)) FROM generate_series(1, %s) AS i',
                       PROJECT, 'A', n)
            ids = [r[0] for r in self.query("""SELECT array_agg(documentuuid::text ORDER BY documentid) FROM dms.document
                JOIN attack.a USING (documentid) WHERE name LIKE 'big%%' UNION ALL SELECT array_agg(documentuuid::text ORDER BY documentid)
                FROM dms.document JOIN attack.n USING (documentid) WHERE noteid LIKE 'm%%'""")]
            # All names rotate, and each note refers to the one that gets a name.
            bodies = [json.dumps(dict(name='big%d' % ((i + 1) % n + 1), peerReference=dict(name='big%d' % ((i + 7) % n + 1))))
                      for i in range(n)] + [json.dumps(dict(noteId='m%d' % (i + 1), aReference=dict(name='big%d' % (i + 1)))) for i in range(n)]
            start = time.time()
            self.query('SELECT count(*) FROM dms.update_documents(%s::uuid[], %s::json[])', ids[0][:n] + ids[1][:n], bodies)
            times.append(time.time() - start)
        print('%d and %d documents in one call: %.2f s and %.2f s' % (self.options.documents // 2, self.options.documents * 2, *times))
        if times[1] > 4 * times[0] * 3 + 1:
            self.complain('the time of a call is not linear: %s' % times)
        wrong = self.query("""SELECT count(*) FROM attack.n JOIN attack.a ON a.documentid = n.a_documentid
            WHERE noteid LIKE 'm%%' AND 'm' || substr(name, 4) <> noteid""")[0][0]
        if wrong:
            self.complain('%s notes refer to something else than was said' % wrong)

    def go(self):
        self.long_session()
        self.altered()
        self.large()
        for row in self.query('SELECT * FROM dms.audit()'):
            self.complain('audit: %s' % (row,))
        print('broken' if self.broken else 'nothing broken')
        return 1 if self.broken else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--calls', type=int, default=3000)
    parser.add_argument('--documents', type=int, default=400)
    parser.add_argument('--database', default='attack')
    return Attack(parser.parse_args()).go()


if __name__ == '__main__':
    sys.exit(main())
