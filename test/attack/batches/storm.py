#!/usr/bin/env python3
"""Many sessions write few documents, mostly several in one call.

The schema has everything that makes names change: references to documents of the same
type, to documents whose identity depends on the referring one, to an abstract resource
whose subclasses can be renamed, to descriptors that can be renamed, diamonds,
collections, three levels of identities.  Nothing here is taken from the extension or its
other tests: the schema, the names after a call, UUIDv5 and the joins are computed below.

Every transaction reads what it has written before it commits, and compares it with
what it sent: no name may change after a call has taken its locks.  Every body that a
session reads is remembered by its etag.  At the end the ReferentialIds are computed from
the bodies, and dms.audit() must not find anything.

  storm.py --seconds 20 --sessions 6 --seed 1 [--delay 3] [--database attack]
"""
import argparse
import collections
import hashlib
import json
import random
import sys
import threading
import time

import psycopg2

PROJECT = 'Attack'
MAX_NAMES = 4

# --- the schema --------------------------------------------------------------

# type: (endpoint, can be renamed, own key, key type, references, superclass).  A
# reference: (property, target, part of the identity, collection or None).
TYPES = {
    'A': ('as', True, 'name', 'string', [
        ('peerReference', 'A', False, None),
        ('favoriteReference', 'B', False, None),
        ('friendReference', 'A', False, 'friends')], None),
    'B': ('bs', True, 'code', 'string', [
        ('aReference', 'A', True, None),
        ('otherReference', 'A', False, None),
        ('noteReference', 'N', False, None)], None),
    'C': ('cs', False, 'number', 'string', [
        ('bReference', 'B', True, None),
        ('peerReference', 'C', False, None)], None),
    'P': ('ps', False, None, None, [
        ('firstReference', 'A', True, None),
        ('secondReference', 'A', True, None),
        ('cReference', 'C', False, None)], None),
    'Alpha': ('alphas', True, 'alphaId', 'number', [
        ('unitReference', 'Unit', False, None)], 'Unit'),
    'Beta': ('betas', True, 'betaId', 'number', [
        ('kReference', 'K', False, None)], 'Unit'),
    'K': ('ks', True, 'code', 'string', [
        ('unitReference', 'Unit', True, None)], None),
    'N': ('ns', False, 'noteId', 'string', [
        ('aReference', 'A', False, None),
        ('cReference', 'C', False, None),
        ('pReference', 'P', False, None),
        ('unitReference', 'Unit', False, None),
        ('alphaReference', 'Alpha', False, None),
        ('kReference', 'K', False, None),
        ('fReference', 'F', False, None),
        ('bReference', 'B', False, 'bs'),
        ('hueDescriptor', 'HueDescriptor', False, None)], None),
    'F': ('fs', False, 'flag', 'string', [
        ('hueDescriptor', 'HueDescriptor', True, None)], None),
}
ABSTRACT = {'Unit': ('unitId', ['Alpha', 'Beta'])}
DESCRIPTOR = 'HueDescriptor'
NAMESPACE = 'uri://attack'


def identity_paths(kind):
    """Returns the paths of an identity, with the type of each value, in the order of the schema."""
    if kind == DESCRIPTOR:
        return [('$.descriptor', 'string')]
    if kind in ABSTRACT:
        return [('$.' + ABSTRACT[kind][0], 'number')]
    _, _, key, key_type, references, _ = TYPES[kind]
    paths = [('$.' + key, key_type)] if key else []
    for prop, target, identity, _ in references:
        if identity and target == DESCRIPTOR:
            paths.append(('$.' + prop, 'string'))
        elif identity:
            paths += [('$.%s.%s' % (prop, name), t) for name, t in members(target)]
    return paths


def members(kind):
    """Returns the members of a reference to a type: distinct names, made from its identity paths."""
    return [(path[2:].replace('Reference.', '_'), t) for path, t in identity_paths(kind)]


def value_schema(value_type):
    return {'type': 'integer', 'format': 'int64'} if value_type == 'number' else {'type': 'string', 'maxLength': 306}


def reference_schema(target):
    if target == DESCRIPTOR:
        return {'type': 'string', 'maxLength': 306}
    names = members(target)
    return {'type': 'object', 'additionalProperties': False, 'required': [n for n, _ in names],
            'properties': {n: value_schema(t) for n, t in names}}


def resource_schema(kind):
    endpoint, renamed, key, key_type, references, superclass = TYPES[kind]
    mapping = {'Title': dict(isPartOfIdentity=False, isReference=False, isRequired=False, path='$.title', type='string')}
    properties = {'title': value_schema('string')}
    required = []
    if key:
        mapping[key[0].upper() + key[1:]] = dict(isPartOfIdentity=True, isReference=False, isRequired=True,
                                                 path='$.' + key, type=key_type)
        properties[key] = value_schema(key_type)
        required.append(key)
    for prop, target, identity, collection in references:
        at = '$.%s[*].%s' % (collection, prop) if collection else '$.' + prop
        entry = dict(isDescriptor=target == DESCRIPTOR, isPartOfIdentity=identity, isReference=True,
                     isRequired=identity, projectName=PROJECT, resourceName=target)
        if target == DESCRIPTOR:
            entry.update(path=at, type='string')
        else:
            entry['referenceJsonPaths'] = [
                dict(identityJsonPath=path, referenceJsonPath='%s.%s' % (at, name), type=t)
                for (path, t), (name, _) in zip(identity_paths(target), members(target))]
        mapping[(collection + '.' if collection else '') + prop[0].upper() + prop[1:]] = entry
        if collection:
            properties[collection] = {'type': 'array', 'minItems': 0, 'uniqueItems': False, 'items': {
                'type': 'object', 'additionalProperties': False, 'required': [prop],
                'properties': {prop: reference_schema(target)}}}
        else:
            properties[prop] = reference_schema(target)
            if identity:
                required.append(prop)
    schema = dict(
        allowIdentityUpdates=renamed, arrayUniquenessConstraints=[], booleanJsonPaths=[], dateJsonPaths=[],
        dateTimeJsonPaths=[], decimalPropertyValidationInfos=[], documentPathsMapping=mapping,
        equalityConstraints=[], identityJsonPaths=[p for p, _ in identity_paths(kind)], isDescriptor=False,
        isResourceExtension=False, isSchoolYearEnumeration=False, isSubclass=superclass is not None,
        jsonSchemaForInsert={'$schema': 'https://json-schema.org/draft/2020-12/schema', 'type': 'object',
                             'additionalProperties': False, 'properties': properties, 'required': required,
                             'title': '%s.%s' % (PROJECT, kind)},
        numericJsonPaths=['$.' + key] if key_type == 'number' else [],
        queryFieldMapping={'id': [dict(path='$.id', type='string')]}, resourceName=kind)
    if superclass:
        schema.update(subclassType='domainEntity', superclassProjectName=PROJECT, superclassResourceName=superclass,
                      superclassIdentityJsonPath='$.' + ABSTRACT[superclass][0])
    for prop, target, identity, collection in references:
        at = '$.%s[*].%s' % (collection, prop) if collection else '$.' + prop
        if target != DESCRIPTOR:
            schema['numericJsonPaths'] += ['%s.%s' % (at, n) for n, t in members(target) if t == 'number']
    return schema


def descriptor_schema():
    texts = dict(codeValue=50, namespace=255, shortDescription=75, description=1024)
    properties = {n: {'type': 'string', 'maxLength': m} for n, m in texts.items()}
    properties.update({n: {'type': 'string', 'format': 'date'} for n in ('effectiveBeginDate', 'effectiveEndDate')})
    return dict(
        allowIdentityUpdates=True, arrayUniquenessConstraints=[], booleanJsonPaths=[],
        dateJsonPaths=['$.effectiveBeginDate', '$.effectiveEndDate'], dateTimeJsonPaths=[],
        decimalPropertyValidationInfos=[], documentPathsMapping={}, equalityConstraints=[], identityJsonPaths=[],
        isDescriptor=True, isResourceExtension=False, isSchoolYearEnumeration=False, isSubclass=False,
        jsonSchemaForInsert={'$schema': 'https://json-schema.org/draft/2020-12/schema', 'type': 'object',
                             'additionalProperties': False, 'properties': properties, 'title': 'Attack.HueDescriptor',
                             'required': ['codeValue', 'namespace', 'shortDescription']},
        numericJsonPaths=[], queryFieldMapping={}, resourceName=DESCRIPTOR)


def schema():
    resources = {TYPES[k][0]: resource_schema(k) for k in TYPES}
    resources['hueDescriptors'] = descriptor_schema()
    return {'apiSchemaVersion': '1.0.0', 'projectSchema': {
        'abstractResources': {k: {'identityJsonPaths': ['$.' + v[0]]} for k, v in ABSTRACT.items()},
        'caseInsensitiveEndpointNameMapping': {e.lower(): e for e in resources},
        'description': 'What an attack on calls with several documents writes.', 'isExtensionProject': False,
        'projectEndpointName': 'attack', 'projectName': PROJECT, 'projectVersion': '1.0.0',
        'resourceNameMapping': {r['resourceName']: e for e, r in resources.items()}, 'resourceSchemas': resources}}


# --- names -------------------------------------------------------------------

def uuid5(text):
    digest = bytearray(hashlib.sha1(bytes.fromhex('edf1edf13df13df13df13df1edf1edf1') + text.encode()).digest()[:16])
    digest[6] = digest[6] & 0x0f | 0x50
    digest[8] = digest[8] & 0x3f | 0x80
    h = digest.hex()
    return '-'.join((h[:8], h[8:12], h[12:16], h[16:20], h[20:]))


def name_of(kind, body):
    """Returns the values that identify a body, in the order of identity_paths()."""
    if kind == DESCRIPTOR:
        return ('%s#%s' % (body['namespace'], body['codeValue']),)
    values = []
    for path, _ in identity_paths(kind):
        at = body
        for step in path[2:].split('.'):
            at = at[step]
        values.append(at)
    return tuple(values)


def canonical(kind, name):
    """Returns the key of a name: descriptors are case-insensitive."""
    return (kind,) + tuple(v.lower() if isinstance(v, str) and v.startswith(NAMESPACE) else v for v in name)


def referential_ids(kind, name):
    pairs = zip([p for p, _ in identity_paths(kind)], canonical(kind, name)[1:])
    ids = {uuid5(PROJECT + kind + '#'.join('%s=%s' % p for p in pairs))}
    if kind in TYPES and TYPES[kind][5]:
        ids.add(uuid5(PROJECT + 'Unit$.unitId=%s' % name[0]))
    return ids


def refer(target, name):
    """Returns a reference with this name."""
    if target == DESCRIPTOR:
        return name[0]
    return {n: v for (n, _), v in zip(members(target), name)}


def named_by(target, reference):
    """Returns the name that a reference has."""
    if target == DESCRIPTOR:
        return (reference,)
    return tuple(reference[n] for n, _ in members(target))


def references_of(kind, body):
    """Returns all references in a body: (target, part of the identity, container, key)."""
    if kind == DESCRIPTOR:
        return
    for prop, target, identity, collection in TYPES[kind][4]:
        if collection:
            for element in body.get(collection, ()):
                yield target, identity, element, prop
        elif prop in body:
            yield target, identity, body, prop


def concrete(target):
    return ABSTRACT[target][1] if target in ABSTRACT else [target]


class World:
    """Reads the store in one snapshot."""

    def __init__(self, rows):
        self.documents = {}
        self.by_name = {}
        for uuid, kind, etag, body in rows:
            for key in ('id', '_etag', '_lastModifiedDate'):
                body.pop(key, None)
            self.documents[uuid] = (kind, body, etag)
            for k in ([kind, 'Unit'] if kind in ('Alpha', 'Beta') else [kind]):
                self.by_name[canonical(k, name_of(kind, body))] = uuid

    def of(self, *kinds):
        return [u for u, (k, _, _) in self.documents.items() if k in kinds]

    def follow(self, changed):
        """Returns the bodies of all documents after those of a call are written: {uuid: body}."""
        bodies = {u: json.loads(json.dumps(changed.get(u, self.documents[u][1]))) for u in self.documents}
        targets = {}
        for u in self.documents:
            if u in changed:
                continue
            for target, _, at, key in references_of(self.documents[u][0], bodies[u]):
                targets.setdefault(u, []).append(
                    (target, at, key, self.by_name.get(canonical(target, named_by(target, at[key])))))
        for _ in range(4):
            for u, uses in targets.items():
                for target, at, key, to in uses:
                    if to is not None:
                        at[key] = refer(target, name_of(self.documents[to][0], bodies[to]))
        return bodies


# --- one session -------------------------------------------------------------

HARMLESS = {'40001', '40P01', '23503', '23505', '23001', 'ZD404', 'ZD412'}
BY_INPUT = {'ZD400', 'ZD409', 'ZD001'}


class Broken(Exception):
    pass


class Shared:
    def __init__(self, options):
        self.options = options
        self.lock = threading.Lock()
        self.seen = {}
        self.writers = {}       # transactions that gave documents their etags
        self.logs = {}          # what they did
        self.counts = collections.Counter()
        self.broken = []
        self.end = time.time() + options.seconds

    def count(self, what):
        with self.lock:
            self.counts[what] += 1

    def remember(self, uuid, etag, body, who):
        text = json.dumps(body, sort_keys=True)
        with self.lock:
            known = self.seen.setdefault((uuid, etag), (text, who))
        if known[0] != text:
            self.complain('one etag, two bodies: %s etag %s\n  %s (%s)\n  %s (%s)' % (uuid, etag, known[0], known[1], text, who))

    def complain(self, text):
        with self.lock:
            self.broken.append(text)
            print('BROKEN:', text, flush=True)


class Session(threading.Thread):
    def __init__(self, shared, number):
        super().__init__(daemon=True)
        self.shared = shared
        self.number = number
        self.random = random.Random('%s/%s' % (shared.options.seed, number))
        self.connection = psycopg2.connect(dbname=shared.options.database)
        self.log = []

    def query(self, sql, *args):
        with self.connection.cursor() as cursor:
            cursor.execute(sql, args)
            return cursor.fetchall() if cursor.description else None

    # Bodies.

    def fresh_key(self, kind):
        key_type = TYPES[kind][3]
        n = self.random.randrange(MAX_NAMES)
        return n if key_type == 'number' else '%s%d' % (kind.lower(), n)

    def some_name(self, world, bodies, target):
        """Returns a name for a reference: the new or the current name of a document, or any name."""
        found = world.of(*concrete(target))
        if not found:
            return None
        uuid = self.random.choice(found)
        kind = world.documents[uuid][0]
        body = bodies[uuid] if self.random.random() < 0.8 else world.documents[uuid][1]
        return refer(target, name_of(kind, body))

    def rename(self, kind, body):
        if kind == DESCRIPTOR:
            body['codeValue'] = self.random.choice(('hue%d', 'Hue%d')) % self.random.randrange(MAX_NAMES)
        elif TYPES[kind][1] and TYPES[kind][2]:
            body[TYPES[kind][2]] = self.fresh_key(kind)

    def rewrite(self, world, bodies, kind, body, also_identity):
        """Changes the references of a body."""
        if kind == DESCRIPTOR:
            return
        if self.random.random() < 0.5:
            body['title'] = 't%d' % self.random.randrange(5)
        for prop, target, identity, collection in TYPES[kind][4]:
            if identity and not (also_identity and self.random.random() < 0.5):
                continue
            if not identity and self.random.random() < 0.6:
                continue
            name = self.some_name(world, bodies, target)
            if collection:
                names = {json.dumps(self.some_name(world, bodies, target)) for _ in range(self.random.randrange(3))}
                body.pop(collection, None)
                names = [json.loads(n) for n in sorted(names) if n != 'null']
                if names:
                    body[collection] = [{prop: n} for n in names]
            elif name is None or (not identity and self.random.random() < 0.3):
                if not identity:
                    body.pop(prop, None)
            else:
                body[prop] = name

    def new_bodies(self, world, uuids):
        """Returns bodies for a call: some are renamed, the others depend on them or refer to them."""
        changed = {}
        swap = self.random.random() < 0.3
        keys = [u for u in uuids if world.documents[u][0] in TYPES and TYPES[world.documents[u][0]][1]]
        for u in uuids:
            changed[u] = json.loads(json.dumps(world.documents[u][1]))
        if swap and len(keys) > 1:
            same = [u for u in keys if world.documents[u][0] == world.documents[keys[0]][0]]
            key = TYPES[world.documents[keys[0]][0]][2]
            values = [changed[u][key] for u in same]
            for u, value in zip(same, values[1:] + values[:1]):
                changed[u][key] = value
        else:
            for u in uuids:
                if self.random.random() < 0.4:
                    self.rename(world.documents[u][0], changed[u])
        # References of the call get the new names of their targets.
        for _ in range(3):
            bodies = world.follow(changed)
            for u in uuids:
                for target, identity, at, key in references_of(world.documents[u][0], world.documents[u][1]):
                    to = world.by_name.get(canonical(target, named_by(target, at[key])))
                    if to is None:
                        continue
                    name = refer(target, name_of(world.documents[to][0], bodies[to]))
                    for target2, _, at2, key2 in references_of(world.documents[u][0], changed[u]):
                        if key2 == key and target2 == target and at2[key2] == at[key]:
                            at2[key2] = name
        bodies = world.follow(changed)
        for u in uuids:
            if self.random.random() < 0.6:
                self.rewrite(world, bodies, world.documents[u][0], changed[u], self.random.random() < 0.4)
        return changed

    # Operations; each returns what was written: [(uuid, body, etag)].

    def inside(self, world):
        """Lets a note refer to a document of the call, or to a name that such a document may get."""
        if not world.of('A') or not world.of('N'):
            return []
        to = self.random.choice(world.of('A'))
        note = self.random.choice(world.of('N'))
        body = json.loads(json.dumps(world.documents[to][1]))
        body['title'] = 't%d' % self.random.randrange(9)
        if self.random.random() < 0.3:
            self.rename('A', body)
        name = body['name'] if self.random.random() < 0.7 else 'a%d' % self.random.randrange(MAX_NAMES)
        prop = self.random.choice(('peerReference', None))
        if prop:
            body[prop] = dict(name='a%d' % self.random.randrange(MAX_NAMES))
        changed = {to: body, note: dict(noteId=world.documents[note][1]['noteId'], aReference=dict(name=name))}
        self.log.append(('inside', changed))
        rows = self.query('SELECT outcome, document_uuid::text, etag FROM dms.update_documents(%s::uuid[], %s::json[])',
                          list(changed), [json.dumps(b) for b in changed.values()])
        return [(u, changed[u], etag) for _, u, etag in rows]

    def rename_a(self, world):
        """Renames one document, or swaps the names of two."""
        found = world.of('A')
        uuids = self.random.sample(found, min(len(found), self.random.choice((1, 1, 2))))
        changed = {u: json.loads(json.dumps(world.documents[u][1])) for u in uuids}
        for u, name in zip(uuids, self.random.sample(range(MAX_NAMES), len(uuids))):
            changed[u].pop('favoriteReference', None)
            changed[u].pop('friends', None)
            changed[u]['name'] = 'a%d' % name
            if self.random.random() < 0.5:
                changed[u]['peerReference'] = dict(name='a%d' % self.random.randrange(MAX_NAMES))
        self.log.append(('rename', changed))
        if len(uuids) == 1:
            rows = self.query('SELECT outcome, document_uuid::text, etag FROM dms.update_document(%s, %s)',
                              uuids[0], json.dumps(changed[uuids[0]]))
            if rows[0][0] == 'unchanged':
                return []
        else:
            rows = self.query('SELECT outcome, document_uuid::text, etag FROM dms.update_documents(%s::uuid[], %s::json[])',
                              uuids, [json.dumps(changed[u]) for u in uuids])
        return [(u, changed[u], etag) for _, u, etag in rows]

    def batch(self, world):
        kinds = self.random.choice((('A',), ('A', 'B'), ('A', 'N', 'B'), ('Alpha', 'Beta', 'K', 'N'), ('A', 'P', 'C', 'N'),
                                    (DESCRIPTOR, 'F', 'N'), tuple(TYPES) + (DESCRIPTOR,)))
        found = world.of(*kinds)
        uuids = self.random.sample(found, min(len(found), self.random.randrange(1, 5)))
        changed = self.new_bodies(world, uuids)
        self.log.append(('batch', changed))
        rows = self.query('SELECT outcome, document_uuid::text, etag FROM dms.update_documents(%s::uuid[], %s::json[])',
                          uuids, [json.dumps(changed[u]) for u in uuids])
        return [(u, changed[u], etag) for _, u, etag in rows]

    def put(self, world):
        uuid = self.random.choice(list(world.documents))
        kind = world.documents[uuid][0]
        body = self.new_bodies(world, [uuid])[uuid]
        if name_of(kind, body) != name_of(kind, world.documents[uuid][1]):
            # Updates of one document take the old names of documents that follow it: see the README.
            for follower in ('favoriteReference', 'kReference'):
                body.pop(follower, None)
        self.log.append(('put', uuid, body))
        if self.random.random() < 0.2 and kind in TYPES:
            rows = self.query('SELECT status, body FROM dms.handle_request(%s, %s, %s, %s)', 'PUT',
                              '/attack/%s/%s' % (TYPES[kind][0], uuid), '{}', json.dumps(dict(body, id=uuid)))
            self.shared.count('PUT %s' % rows[0][0])
            return []
        rows = self.query('SELECT outcome, etag FROM dms.update_document(%s, %s)', uuid, json.dumps(body))
        return [(uuid, body, rows[0][1])] if rows[0][0] != 'unchanged' else []

    def post(self, world):
        uuid = self.random.choice(list(world.documents))
        kind = world.documents[uuid][0]
        body = json.loads(json.dumps(world.documents[uuid][1]))
        self.rewrite(world, world.follow({}), kind, body, True)
        if self.random.random() < 0.3:
            self.rename(kind, body)
        if kind == 'N' and self.random.random() < 0.3:
            body['noteId'] = self.fresh_key('N')
        self.log.append(('post', kind, body))
        rows = self.query('SELECT outcome, document_uuid::text, etag FROM dms.upsert_document(%s, %s, %s)',
                          PROJECT, kind, json.dumps(body))
        if rows[0][0] == 'unchanged':
            return []
        if kind == DESCRIPTOR:
            return []           # the stored case stays
        return [(rows[0][1], body, rows[0][2])]

    def delete(self, world):
        uuid = self.random.choice(list(world.documents))
        if len(world.of(world.documents[uuid][0])) < 3:
            return []
        self.log.append(('delete', uuid))
        self.query('SELECT dms.delete_document(%s)', uuid)
        return []

    def maintain(self, world):
        what = self.random.choice(('recompute', 'closure', 'repair', 'edges', 'deploy', 'raw delete', 'raw update', 'raw update'))
        if self.level != 'READ COMMITTED' and what in ('repair', 'edges', 'deploy'):
            return []
        uuids = self.random.sample(list(world.documents), min(3, len(world.documents)))
        ids = [r[0] for r in self.query('SELECT documentid FROM dms.document WHERE documentuuid = ANY (%s::uuid[])', uuids)]
        self.log.append((what, ids))
        if what == 'recompute':
            changed = self.query('SELECT dms.recompute_identities(%s::bigint[])', ids)[0][0]
            if changed:
                raise Broken('recompute_identities changed %s' % changed)
        elif what == 'closure':
            self.query('SELECT dms.lock_identity_closure(%s::bigint[])', ids)
        elif what == 'repair':
            found = self.query('SELECT * FROM dms.repair()')
            if found:
                raise Broken('there was something to repair: %s' % found)
        elif what == 'deploy':
            self.query('SET LOCAL client_min_messages = warning')
            self.query('SELECT dms.deploy_schema(%s::json)', json.dumps(schema()))
        elif what == 'raw delete' and len(world.of('N')) > 2:
            self.query('DELETE FROM dms.document WHERE documentuuid = %s', self.random.choice(world.of('N')))
        elif what == 'raw update':
            # As an owner would: lock the closure, change the rows, recompute, bump.
            self.raw_rename(world)
        elif what == 'edges':
            self.query('SELECT dms.rebuild_edges()')
        return []

    def raw_rename(self, world):
        """Renames with own statements, as described in doc/concurrency.md."""
        found = world.of('A')
        if not found:
            return
        name = 'a%d' % self.random.randrange(MAX_NAMES)
        number = self.query('SELECT documentid FROM dms.document WHERE documentuuid = %s', self.random.choice(found))
        if not number:
            return
        members = [r[0] for r in self.query('SELECT dms.lock_identity_closure(%s::bigint[])', [number[0][0]])]
        if self.query('SELECT name FROM attack.a WHERE documentid = %s', number[0][0]) in ([(name,)], []):
            return
        self.query('UPDATE attack.a SET name = %s WHERE documentid = %s', name, number[0][0])
        self.query('SELECT dms.recompute_identities(%s::bigint[])', members)
        self.query('''UPDATE dms.document SET etag = etag + 1 WHERE documentid IN (SELECT documentid FROM (
            SELECT documentid FROM dms.document WHERE documentid = ANY (%s) OR documentid IN
            (SELECT parentdocumentid FROM dms.referenceedge WHERE childdocumentid = ANY (%s))
            ORDER BY documentid FOR NO KEY UPDATE) AS d)''', members, members)

    # Transactions.

    def world(self):
        rows = self.query('SELECT documentuuid::text, resourcename, etag, dms.get_document(documentuuid), xmin::text FROM dms.document')
        for uuid, kind, etag, body, xmin in rows:
            self.shared.writers[uuid, etag] = xmin
            seen = {k: v for k, v in body.items() if k not in ('_etag', '_lastModifiedDate')}
            self.shared.remember(uuid, int(body['_etag']), seen, 'world')
        return World([row[:4] for row in rows])

    def check(self, written):
        for uuid, body, etag in written:
            rows = self.query('SELECT dms.get_document(%s)', uuid)
            stored = rows[0][0]
            if stored is None:
                raise Broken('%s was written and is gone' % uuid)
            found = int(stored.pop('_etag'))
            stored.pop('_lastModifiedDate')
            stored.pop('id')
            # Descriptors are case-insensitive, and the stored case is kept.
            if json.dumps(stored, sort_keys=True).lower() != json.dumps(body, sort_keys=True).lower():
                raise Broken('sent and stored differ: %s\n  sent   %s\n  stored %s\n  log %s' % (
                    uuid, json.dumps(body, sort_keys=True), json.dumps(stored, sort_keys=True), json.dumps(self.log)))
            if found != etag:
                raise Broken('%s: etag %s was returned, but is %s' % (uuid, etag, found))

    def transaction(self):
        r = self.random
        single = self.shared.options.single
        level = 'READ COMMITTED' if single else r.choice(('READ COMMITTED',) * 8 + ('REPEATABLE READ', 'SERIALIZABLE'))
        self.level = level
        self.log = [level]
        self.query('SET TRANSACTION ISOLATION LEVEL %s' % level)
        if level == 'READ COMMITTED':
            world = self.world()
            self.connection.commit()
        else:
            world = self.world()
        steps = 1 if single or r.random() < 0.7 else r.randrange(2, 4)
        self.query("SELECT set_config('dms.identity_lock_scope', %s, true), set_config('dms.lock_nowait', %s, true)",
                   r.choice(('mutable', 'mutable', 'all')), 'on' if r.random() < 0.03 else 'off')
        written = []
        for step in range(steps):
            operation = r.choices((self.batch, self.put, self.post, self.delete, self.maintain, self.inside, self.rename_a),
                                  (0, 0, 5, 0, 0, 50, 45) if self.shared.options.focus else
                                  (45, 15, 20, 5, self.shared.options.maintain, 5, 5))[0]
            savepoint = r.random() < 0.2
            if savepoint:
                self.query('SAVEPOINT s')
            try:
                now = operation(world)
                if savepoint and r.random() < 0.4:
                    self.query('ROLLBACK TO s')
                else:
                    written = now
                    self.check(now)
                self.shared.count('%s ok' % operation.__name__)
            except psycopg2.Error as e:
                self.shared.count('%s %s' % (operation.__name__, e.pgcode))
                if e.pgcode == '55P03' or e.pgcode in HARMLESS:
                    if e.pgcode == '40P01':
                        self.shared.count('deadlock %s %s' % ('single' if steps == 1 else 'several', operation.__name__))
                        if single:
                            print('deadlock', json.dumps(self.log), flush=True)
                elif e.pgcode not in BY_INPUT:
                    self.shared.complain('%s: %s %s' % (e.pgcode, str(e).strip(), json.dumps(self.log)))
                elif self.shared.counts['%s %s' % (operation.__name__, e.pgcode)] < 3:
                    print(e.pgcode, str(e).strip().replace('\n', ' ')[:300], flush=True)
                if not savepoint:
                    raise
                self.query('ROLLBACK TO s')
        if written and r.random() < 0.7:
            if r.random() < 0.5:
                time.sleep(r.random() * 0.02)
            if steps == 1:
                self.check(written)
        if r.random() < 0.1:
            self.connection.rollback()
        elif r.random() < self.shared.options.prepare:
            name = '%s_%d_%d' % (self.shared.options.database, self.number, r.randrange(10 ** 9))
            self.query('PREPARE TRANSACTION %s', name)
            time.sleep(r.random() * 0.02)
            self.connection.commit()
            self.connection.autocommit = True
            self.query('%s PREPARED %%s' % r.choice(('COMMIT', 'COMMIT', 'ROLLBACK')), name)
            self.connection.autocommit = False
            self.shared.count('prepared')
        else:
            self.shared.logs[self.query('SELECT pg_current_xact_id_if_assigned()::text')[0][0]] = self.log
            self.connection.commit()
            self.shared.count('committed')

    def run(self):
        self.query('SET dms.delay = %s' % self.shared.options.delay) if self.shared.options.delay else None
        if self.shared.options.skip:
            self.query("SET dms.skip = '%s'" % self.shared.options.skip)
        self.query("SET statement_timeout = '120s'")
        self.query("SET deadlock_timeout = '100ms'")
        self.connection.commit()
        while time.time() < self.shared.end and not self.shared.broken:
            try:
                self.transaction()
            except Broken as e:
                self.shared.complain(str(e))
            except psycopg2.Error as e:
                if e.pgcode is None or e.pgcode == '57014':
                    self.shared.complain('%s %s %s' % (e.pgcode, e, json.dumps(self.log)))
                elif e.pgcode == '40001':
                    pass
            self.connection.rollback() if not self.connection.closed else None


# --- the whole ---------------------------------------------------------------

def set_up(database):
    connection = psycopg2.connect(dbname=database)
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute('CREATE EXTENSION IF NOT EXISTS dms')
    cursor.execute('SET client_min_messages = warning')
    cursor.execute('SELECT dms.deploy_schema(%s::json)', (json.dumps(schema()),))

    def post(kind, **body):
        cursor.execute('SELECT dms.upsert_document(%s, %s, %s)', (PROJECT, kind, json.dumps(body)))
    for i in range(2):
        post(DESCRIPTOR, namespace=NAMESPACE, codeValue='hue%d' % i, shortDescription='hue')
        post('F', flag='f0', hueDescriptor='%s#hue%d' % (NAMESPACE, i))
        post('Alpha', alphaId=i)
        post('Beta', betaId=2 + i)
    for i in range(3):
        post('A', name='a%d' % i)
        post('K', code='k%d' % i, unitReference=refer('Unit', (i,)))
    for i, j in ((0, 0), (0, 1), (1, 0)):
        post('B', code='b%d' % i, aReference=refer('A', ('a%d' % j,)))
        post('C', number='c0', bReference=refer('B', ('b%d' % i, 'a%d' % j)))
        post('P', firstReference=refer('A', ('a%d' % i,)), secondReference=refer('A', ('a%d' % j,)))
    for i in range(4):
        post('N', noteId='n%d' % i)
    return connection


def check_end(connection, shared):
    cursor = connection.cursor()
    cursor.execute('SELECT * FROM dms.audit()')
    for row in cursor.fetchall():
        shared.complain('audit: %s' % (row,))
    cursor.execute('SELECT documentuuid::text, documentid, resourcename, dms.get_document(documentuuid) FROM dms.document')
    edges = set()
    rows = cursor.fetchall()
    known = {}
    for uuid, number, kind, body in rows:
        cursor.execute('SELECT referentialid::text FROM dms.referentialidentity WHERE documentid = %s', (number,))
        stored = {r[0] for r in cursor.fetchall()}
        wanted = referential_ids(kind, name_of(kind, body))
        for one in wanted:
            known[one] = number
        if stored != wanted:
            shared.complain('identity of %s %s: %s, not %s' % (kind, body, stored, wanted))
    for uuid, number, kind, body in rows:
        for target, identity, at, key in references_of(kind, body):
            name = named_by(target, at[key])
            one = known.get(uuid5(PROJECT + target + '#'.join('%s=%s' % p for p in zip(
                [p for p, _ in identity_paths(target)], canonical(target, name)[1:]))))
            if one is None:
                shared.complain('%s %s refers to nothing by %s' % (kind, body, at[key]))
            edges.add((number, one))
    cursor.execute('SELECT DISTINCT parentdocumentid, childdocumentid FROM dms.referenceedge')
    stored = set(cursor.fetchall())
    if stored != edges:
        shared.complain('edges: %s' % (stored ^ edges))
    spurious = 0
    for (uuid, etag), (text, who) in shared.seen.items():
        following = shared.seen.get((uuid, etag + 1))
        if following is not None and following[0] == text:
            spurious += 1
            print('moved alone:', etag + 1, text, json.dumps(shared.logs.get(shared.writers.get((uuid, etag + 1)))))
    shared.counts['etags that moved alone'] = spurious


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--seconds', type=float, default=20)
    parser.add_argument('--sessions', type=int, default=6)
    parser.add_argument('--seed', default='1')
    parser.add_argument('--delay', type=int, default=0)
    parser.add_argument('--skip', default='', help='guards to leave out, in a server built with FAULTS=1')
    parser.add_argument('--prepare', type=float, default=0, help='share of transactions in two phases')
    parser.add_argument('--maintain', type=float, default=1, help='weight of maintenance')
    parser.add_argument('--focus', action='store_true', help='references inside of calls, and renames of their targets')
    parser.add_argument('--single', action='store_true', help='one write a transaction, at READ COMMITTED')
    parser.add_argument('--database', default='attack')
    options = parser.parse_args()
    connection = set_up(options.database)
    shared = Shared(options)
    sessions = [Session(shared, i) for i in range(options.sessions)]
    for session in sessions:
        session.start()
    for session in sessions:
        session.join(options.seconds + 180)
        if session.is_alive():
            shared.complain('session %d hangs: %s' % (session.number, json.dumps(session.log)))
    check_end(connection, shared)
    for what, n in sorted(shared.counts.items()):
        print('%6d  %s' % (n, what))
    print('seed %s: %s' % (options.seed, 'broken' if shared.broken else 'nothing broken'))
    return 1 if shared.broken else 0


if __name__ == '__main__':
    sys.exit(main())
