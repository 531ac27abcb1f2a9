#!/usr/bin/env python3
"""Every SQL function with hostile arguments, and random documents through all verbs.

One session calls each function of the extension with NULLs, odd arrays, deep and large
JSON, numbers out of range, names that exist and names that do not.  Timeouts,
cancels, a small stack and a limit on temporary files interrupt the calls.  No call may
crash the server, raise an internal error (XX000), or leave the session unable to write.
At the end, the store must be consistent.

  hostile.py --calls 2000 --seed 1 [--large] [--database attack]
"""
import argparse
import collections
import json
import os
import random
import sys
import threading

import psycopg2

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import storm

# Functions that are not called at random, because they change the whole store.
LEFT_OUT = {'document_before_delete', 'idempotencykeys_created_at', 'grant_access'}

NUMBERS = ('0', '-0', '1e400', '-1e-400', '1e2147483648', '9223372036854775808', '0.' + '0' * 50 + '1', '01', '+1', '.5',
           '1.', 'NaN', '1' * 5000, '2147483648', '-9223372036854775809', '1.0', '1e0')
TEXTS = ('', ' ', '\u0130', '\ud7ff', '\U0001f600', 'a' * 10000, '\\u0000', '"', '\t\n', 'A' * 307, '../..', '%', "'; --",
         '\u00a0', 'x#y#z', '#', 'uri://attack#', '\ufeff', 'e\u0301')


class Fuzz:
    def __init__(self, seed, large):
        self.random = random.Random(seed)
        self.large = large
        self.uuids = []
        self.numbers = []
        self.bodies = []
        self.models = []

    def pick(self, *values):
        return self.random.choice(values)

    def json_value(self, depth=0):
        r = self.random.random()
        if depth > 4 or r < 0.4:
            return self.pick('null', 'true', 'false', '""', '{}', '[]', *NUMBERS[:3], self.pick(*NUMBERS),
                             json.dumps(self.pick(*TEXTS)), '"\\ud800"', '"\\u0000"', '"\\ud83d\\ude00"')
        if r < 0.6:
            return '[' + ','.join(self.json_value(depth + 1) for _ in range(self.random.randrange(4))) + ']'
        names = [self.pick('name', 'code', 'id', '_etag', 'a', '', 'title', 'aReference', 'link', 'friends', 'tables', 'columns')
                 for _ in range(self.random.randrange(4))]
        return '{' + ','.join('%s:%s' % (json.dumps(n), self.json_value(depth + 1)) for n in names) + '}'

    def spoil(self, body):
        """Returns a body with one value replaced."""
        text = json.dumps(body)
        tree = json.loads(text)
        places = []

        def walk(node):
            for key in (node if isinstance(node, dict) else range(len(node))):
                places.append((node, key))
                if isinstance(node[key], (dict, list)):
                    walk(node[key])
        walk(tree)
        if not places:
            return self.json_value()
        for _ in range(self.random.randrange(1, 3)):
            at, key = self.pick(*places)
            mark = '@%d@' % self.random.randrange(10 ** 9)
            at[key] = mark
            text = json.dumps(tree).replace(json.dumps(mark), self.pick(self.json_value(), json.dumps(self.pick(*TEXTS)), self.pick(*NUMBERS)))
            try:
                tree = json.loads(text)
            except (ValueError, RecursionError):
                return text
            places[:] = []
            walk(tree) if isinstance(tree, (dict, list)) else None
            if not places:
                break
        return text

    def json(self):
        r = self.random.random()
        if r < 0.05:
            n = self.pick(100, 5000, 100000)
            return '[' * n + ']' * n
        if r < 0.08:
            n = self.pick(100, 5000, 60000)
            return '{"a":' * n + '1' + '}' * n
        if r < 0.10:
            return '{"name": "%s"}' % ('x' * (100000000 if self.large and self.random.random() < 0.2 else 1000000))
        if r < 0.12:
            return '{"friends": [%s]}' % ','.join(['{"friendReference": {"name": "a0"}}'] * 20000)
        if r < 0.14:
            return '{"name": "a0", "title": %s}' % ('1' * 200000)
        if r < 0.17:
            return '{' + ','.join('"k%d":1' % i for i in range(20000)) + '}'
        if r < 0.20:
            return '{"name":"a","name":"b"}'
        if r < 0.75 and self.bodies:
            return self.spoil(self.pick(*self.bodies)) if self.random.random() < 0.7 else json.dumps(self.pick(*self.bodies))
        if r < 0.8 and self.models:
            return self.spoil(json.loads(self.pick(*self.models)))
        return self.json_value()

    def text(self):
        return self.pick('Attack', 'attack', 'A', 'as', 'B', 'Unit', 'HueDescriptor', 'ns', 'PUT', 'POST', 'GET', 'DELETE', 'TRACE',
                         '/attack/as', '/attack/as/', '/attack/as/%s' % self.uuid(), '/attack/as?limit=9999999999&offset=-1', '/' * 5000,
                         '/attack/as?' + 'a=b&' * 5000, '/attack/%00', '/attack/as?name=%ff', 'postgres', 'read', 'fail', 'report',
                         self.json(), *TEXTS)

    def uuid(self):
        if self.uuids and self.random.random() < 0.7:
            return self.pick(*self.uuids)
        return self.pick('00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff')

    def bigint(self):
        if self.numbers and self.random.random() < 0.5:
            return str(self.pick(*self.numbers))
        return self.pick('0', '-1', '9223372036854775807', '-9223372036854775808', '1')

    def element(self, kind):
        if kind == 'json' or kind == 'jsonb':
            return self.json()
        if kind == 'uuid':
            return self.uuid()
        if kind in ('bigint',):
            return self.bigint()
        if kind in ('integer', 'smallint'):
            return self.pick('0', '-1', '2147483647', '-2147483648', '1', '7')
        if kind == 'boolean':
            return self.pick('t', 'f')
        if kind.startswith('timestamp'):
            return self.pick('infinity', '-infinity', '2024-01-01', '294276-12-31 23:59:59', '4713-01-01 BC')
        return self.text().replace('\0', '')

    def array(self, kind):
        """Returns the text of an array with odd bounds, dimensions and NULLs."""
        r = self.random.random()
        n = self.pick(0, 1, 2, 3, 4, 5000 if r < 0.02 and kind in ('uuid', 'bigint') else 2)
        elements = []
        for _ in range(n):
            if self.random.random() < 0.1:
                elements.append('NULL')
            else:
                value = self.element(kind)
                value = value if len(value) < 300000 else '1'
                elements.append('"%s"' % value.replace('\\', '\\\\').replace('"', '\\"'))
        if n and self.random.random() < 0.2:
            elements += elements[:1]
        text = '{%s}' % ','.join(elements)
        if not elements or self.random.random() < 0.6:
            return text
        if self.random.random() < 0.5:
            lower = self.pick(-5, 0, 5, 2147483000)
            return '[%d:%d]=%s' % (lower, lower + len(elements) - 1, text)
        return '{%s,%s}' % (text, text)

    def argument(self, kind):
        if self.random.random() < 0.06:
            return None
        return self.array(kind[:-2]) if kind.endswith('[]') else self.element(kind)


class Attack:
    def __init__(self, options):
        self.options = options
        self.fuzz = Fuzz(options.seed, options.large)
        self.random = self.fuzz.random
        self.counts = collections.Counter()
        self.broken = []
        self.connection = storm.set_up(options.database)
        self.query("SET statement_timeout = '60s'")
        self.functions = self.query("""
            SELECT p.oid::regprocedure::text, p.proname, p.prokind, p.proretset OR p.prorettype = 'record'::regtype,
                ARRAY(SELECT t::regtype::text FROM unnest(p.proargtypes) WITH ORDINALITY AS u (t, n) ORDER BY n), p.provariadic <> 0
            FROM pg_proc AS p WHERE p.pronamespace = 'dms'::regnamespace AND p.prorettype <> 'trigger'::regtype ORDER BY 1""")
        self.functions = [f for f in self.functions if f[1] not in LEFT_OUT]

    def query(self, sql, *args):
        with self.connection.cursor() as cursor:
            cursor.execute(sql, args or None)
            return cursor.fetchall() if cursor.description else None

    def complain(self, text):
        self.broken.append(text)
        print('BROKEN:', text[:3000], flush=True)

    def look(self):
        """Reads what is stored now."""
        rows = self.query('SELECT documentuuid::text, documentid, dms.get_document(documentuuid) FROM dms.document LIMIT 60')
        self.fuzz.uuids = [r[0] for r in rows]
        self.fuzz.numbers = [r[1] for r in rows]
        self.fuzz.bodies = [{k: v for k, v in r[2].items() if k not in ('id', '_etag', '_lastModifiedDate')} for r in rows]
        if not self.fuzz.models:
            self.fuzz.models = [json.dumps(r[0]) for r in self.query('SELECT model FROM dms.resourcemodel')]

    def call(self, function):
        signature, name, kind, rows, types, variadic = function
        arguments = [self.fuzz.argument(t) for t in types]
        if name in ('deploy_schema', 'plan_schema'):
            text = json.dumps(storm.schema())
            if self.random.random() < 0.7:
                arguments = ['{"%s"}' % self.fuzz.spoil(json.loads(text)).replace('\\', '\\\\').replace('"', '\\"')]
        if kind == 'p':
            return
        marks = ', '.join(('VARIADIC ' if variadic and i == len(types) - 1 else '') + '%s::' + t for i, t in enumerate(types))
        sql = ('SELECT * FROM dms.%s(%s)' if rows else 'SELECT dms.%s(%s)') % (name, marks)
        self.run(name, sql, arguments)

    def run(self, name, sql, arguments):
        disturbed = self.random.random()
        settings = []
        timer = None
        if disturbed < 0.05:
            settings = [('statement_timeout', '%dms' % self.random.randrange(1, 30))]
        elif disturbed < 0.08:
            settings = [('max_stack_depth', '100kB')]
        elif disturbed < 0.10:
            settings = [('work_mem', '64kB'), ('temp_file_limit', '0')]
        elif disturbed < 0.14:
            timer = threading.Timer(self.random.random() * 0.02, self.connection.cancel)
        try:
            self.query('BEGIN')
            for setting, value in settings:
                self.query("SET LOCAL %s = '%s'" % (setting, value))
            if timer:
                timer.start()
            self.query(sql, *arguments) if arguments else self.query(sql)
            if timer:
                timer.join()
            self.counts['ok'] += 1
            self.query('COMMIT' if self.random.random() < 0.8 and name != 'deploy_schema' else 'ROLLBACK')
        except (psycopg2.Error, ValueError, UnicodeError) as e:
            if timer:
                timer.join()
            code = getattr(e, 'pgcode', None)
            self.counts[code or type(e).__name__] += 1
            if self.connection.closed or isinstance(e, psycopg2.OperationalError) and code is None:
                self.complain('the server was lost: %s %s' % (sql, [a if a is None else a[:1500] for a in arguments]))
                raise
            if code and code.startswith('XX'):
                self.complain('%s %s: %s %s' % (code, e, sql, [a if a is None else a[:700] for a in arguments]))
            for _ in range(3):
                try:
                    self.query('ROLLBACK')
                    break
                except psycopg2.Error:
                    pass

    def verbs(self):
        """Writes random documents with all verbs, and several in one call."""
        f = self.fuzz
        kinds = list(storm.TYPES) + [storm.DESCRIPTOR]
        which = self.random.randrange(4)
        if which == 0:
            self.run('upsert', 'SELECT dms.upsert_document(%s, %s, %s::json)', ['Attack', f.pick(*kinds), f.json()])
        elif which == 1:
            self.run('update', 'SELECT dms.update_document(%s::uuid, %s::json)', [f.uuid(), f.json()])
        else:
            n = self.random.randrange(1, 5)
            uuids = self.random.sample(f.uuids, min(n, len(f.uuids)))
            bodies = [json.dumps(b) if self.random.random() < 0.6 else f.spoil(b)
                      for b in (f.bodies[f.uuids.index(u)] for u in uuids)]
            self.run('batch', 'SELECT dms.update_documents(%s::uuid[], ARRAY[' + ', '.join(['%s::json'] * len(bodies)) + '])',
                     ['{%s}' % ','.join(uuids)] + bodies)

    def alive(self):
        """Checks that the session can still write and read."""
        try:
            self.query('SELECT dms.upsert_document(%s, %s, %s::json)', 'Attack', 'N',
                       json.dumps(dict(noteId='alive', title='t%d' % self.random.randrange(1000))))
        except psycopg2.Error as e:
            self.complain('the session cannot write any more: %s' % e)
            raise

    def go(self):
        self.look()
        for i in range(self.options.calls):
            if i % 100 == 0:
                self.alive()
                self.look()
            if self.random.random() < 0.5:
                self.verbs()
            else:
                self.call(self.random.choice(self.functions))
        for row in self.query('SELECT * FROM dms.audit()'):
            self.complain('audit: %s' % (row,))
        for what, n in sorted(self.counts.items()):
            print('%6d  %s' % (n, what))
        print('seed %s: %s' % (self.options.seed, 'broken' if self.broken else 'nothing broken'))
        return 1 if self.broken else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--calls', type=int, default=2000)
    parser.add_argument('--seed', default='1')
    parser.add_argument('--large', action='store_true', help='strings of 100 MB, too')
    parser.add_argument('--database', default='attack')
    return Attack(parser.parse_args()).go()


if __name__ == '__main__':
    sys.exit(main())
