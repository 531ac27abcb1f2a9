-- Any two documents can be related: a document has a parent, with which it is
-- deleted, is a member of collections, belongs to an account, and has values that no
-- other document of its type has.
SET client_min_messages = warning;
CREATE ROLE regress_graph;
CREATE DATABASE regress_graph TEMPLATE template0 ENCODING 'UTF8' OWNER regress_graph;
\set home :DBNAME
\c regress_graph
\getenv directory PG_ABS_SRCDIR
\set file :directory /examples/schemas/system.json
\set schema `cat :'file'`
SET client_min_messages = warning;
CREATE EXTENSION dms;
SELECT length(dms.deploy_schema(:'schema')) AS deployed;
SELECT ResourceType FROM dms.ResourceType ORDER BY ResourceType COLLATE "C";

-- Documents by short names.
CREATE TABLE document (name text PRIMARY KEY, id uuid);
CREATE FUNCTION make(resource text, name text, more jsonb DEFAULT '{}') RETURNS void LANGUAGE sql
BEGIN ATOMIC
	INSERT INTO document SELECT name, r.document_uuid
	FROM dms.upsert_document('system', resource,
		jsonb_build_object(regexp_replace(resource, 's$', 'Id'), name, 'name', name) || more) AS r;
END;
CREATE FUNCTION id(wanted text) RETURNS uuid LANGUAGE sql STABLE RETURN (SELECT id FROM document WHERE name = wanted);
CREATE FUNCTION name(wanted uuid) RETURNS text LANGUAGE sql STABLE RETURN (SELECT name FROM document WHERE id = wanted);
SELECT make('systems', 'system'), make('accounts', 'east'), make('accounts', 'west'),
	make('users', 'ann'), make('users', 'bob'), make('jobCollections', 'jobs');
SELECT make('jobs', 'job1'), make('jobs', 'job2', '{"userReference": {"userId": "bob"}}');

--
-- URNs
--
-- They consist of the domain of the store, the type of the resource, and the id.
SELECT dms.urn(id('east')) = 'urn:dms:System.Account::' || id('east') AS urn, dms.urn(dms.uuid_v7()) AS none;
SELECT dms.configure_store('{"urnDomain": "pp"}') ->> 'urnDomain' AS domain;
SELECT dms.urn(id('east')) = 'urn:pp:System.Account::' || id('east') AS urn;
SELECT name(dms.id_of(dms.urn(id('east')))), name(dms.id_of(replace(dms.urn(id('east')), 'urn:pp', 'URN:PP')));
-- The parts of any URN, whether or not there is such a document.
SELECT * FROM dms.parse_urn('urn:pp:System.Account.JobCollection.Job::01955556-3cd2-7df2-b839-693fa6fbd505');
SELECT * FROM dms.parse_urn('urn:pp:System::c04b27bf-7604-48a5-9e67-298c67cd70ab');
SELECT * FROM dms.parse_urn('urn:pp:System.Account::0195ff0e-e2e7-7408-8379-52f6cf939e7b');
SELECT * FROM dms.parse_urn('urn:pp:System.User::123-abc-890-xyz');
\set VERBOSITY sqlstate
-- No document: another type, another domain, no uuid, none with this id.
SELECT dms.id_of('urn:pp:System.User::' || id('east'));
SELECT dms.id_of('urn:dms:System.Account::' || id('east'));
SELECT dms.id_of('urn:pp:System.User::123-abc-890-xyz');
SELECT dms.id_of('urn:pp:System.User::' || dms.uuid_v7());
-- No URN.
SELECT dms.id_of(u) FROM unnest('{"", urn:, urn:pp, urn:pp:, urn:pp:A, urn:pp:A::, urn:pp::x, urn::A::x, urn:p.p:A::x, urn:pp:A:x,
	urn:pp:A b::x, urn:pp:A::x y, urn:pp:A::x/y, uri:pp:A::x}'::text[]) AS u;
CREATE FUNCTION refused(statement text, argument text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement USING argument;
	RETURN 'taken';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
SELECT refused('SELECT * FROM dms.parse_urn($1)', u) AS sqlstate, count(*)
FROM unnest(ARRAY['', 'urn:', 'urn:pp', 'urn:pp:', 'urn:pp:A', 'urn:pp:A::', 'urn:pp::x', 'urn::A::x', 'urn:p.p:A::x', 'urn:pp:A:x',
	'urn:pp:A b::x', 'urn:pp:A::x y', 'urn:pp:A::x/y', 'uri:pp:A::x', 'urn:' || repeat('d', 33) || ':A::x',
	'urn:d:' || repeat('t', 514) || '::x', 'urn:d:A::' || repeat('i', 257), 'urn:d:A::x::y', 'urn:ä:A::x']) AS u GROUP BY 1;
SELECT refused('SELECT dms.configure_store(jsonb_build_object(''urnDomain'', $1))', d) AS sqlstate, count(*)
FROM unnest(ARRAY['', 'p p', 'ä', 'p:p', repeat('d', 33)]) AS d GROUP BY 1;
\set VERBOSITY default

--
-- Parents and children
--
SELECT dms.set_parent(id('east'), id('system')) AS changed, dms.set_parent(id('west'), id('system')) AS changed,
	dms.set_parent(id('ann'), id('east')) AS changed, dms.set_parent(id('ann'), id('east')) AS again;
SELECT dms.set_parent(id('bob'), id('east')), dms.set_parent(id('bob'), id('west')) AS moved;
SELECT name(dms.parent(id('bob'))) AS parent;
SELECT dms.set_parent(id('jobs'), id('west')), dms.set_parent(id('job1'), id('jobs')), dms.set_parent(id('job2'), id('jobs'));
-- Children are in the order of their URNs: by type, and by id within a type.
SELECT name(document_uuid), urn = dms.urn(document_uuid) AS urn FROM dms.children(id('west'));
SELECT name(document_uuid) FROM dms.children(id('west'), 'System.User');
SELECT name(document_uuid) FROM dms.children(id('west'), 'System.Nothing');
SELECT name(document_uuid) FROM dms.children(id('jobs'), page_limit => 1);
SELECT name(document_uuid) FROM dms.children(id('jobs'), page_limit => 1, after => id('job1'));
SELECT name(document_uuid) FROM dms.children(id('west'), after => id('jobs'));
SELECT name(document_uuid) FROM dms.children(id('west'), 'System.JobCollection', after => id('jobs'));
SELECT name(document_uuid) FROM dms.children(dms.uuid_v7());
-- What is above, nearest first.
SELECT name(document_uuid), urn = dms.urn(document_uuid) AS urn FROM dms.ancestors(id('job1'));
SELECT name(dms.parent(id('job1'))), dms.parent(id('system')) AS none, dms.parent(dms.uuid_v7()) AS unknown;
-- A document cannot be above itself.
\set VERBOSITY sqlstate
SELECT dms.set_parent(id('system'), id('job1'));
SELECT dms.set_parent(id('system'), id('system'));
SELECT dms.set_parent(id('west'), id('jobs'));
-- Both must exist.
SELECT dms.set_parent(dms.uuid_v7(), id('system'));
SELECT dms.set_parent(id('ann'), dms.uuid_v7());
SELECT dms.set_parent(NULL, id('system'));
SELECT * FROM dms.children(NULL);
SELECT * FROM dms.children(id('west'), page_limit => -1);
SELECT * FROM dms.children(id('west'), page_limit => NULL);
SELECT * FROM dms.children(id('west'), after => dms.uuid_v7());
\set VERBOSITY default
-- Without a parent.
SELECT dms.set_parent(id('ann'), NULL) AS changed, dms.set_parent(id('ann'), NULL) AS again;
SELECT dms.parent(id('ann')) AS none;
SELECT dms.set_parent(id('ann'), id('east'));

--
-- Collections
--
-- Any document can be a collection, of any documents, which it does not delete.
SELECT dms.add_member(id('west'), id('ann'), true) AS added, dms.add_member(id('west'), id('ann'), true) AS again,
	dms.add_member(id('west'), id('ann'), false) AS changed, dms.add_member(id('west'), id('ann'), true) AS back;
SELECT dms.add_member(id('jobs'), id('ann')), dms.add_member(id('ann'), id('jobs'), true), dms.add_member(id('west'), id('east'));
SELECT name(document_uuid), urn = dms.urn(document_uuid) AS urn FROM dms.members(id('west'));
SELECT name(document_uuid) FROM dms.members(id('west'), 'System.User');
SELECT name(document_uuid), urn = dms.urn(document_uuid) AS urn FROM dms.collections(id('ann'));
SELECT dms.remove_member(id('west'), id('east')) AS removed, dms.remove_member(id('west'), id('east')) AS again;
\set VERBOSITY sqlstate
SELECT dms.add_member(dms.uuid_v7(), id('ann'));
SELECT dms.add_member(id('west'), dms.uuid_v7());
SELECT dms.add_member(id('west'), id('ann'), NULL);
SELECT dms.remove_member(id('west'), dms.uuid_v7());
\set VERBOSITY default
-- Grants on a document apply to what is below it, and to the members of a
-- collection that conveys.  Collections may contain each other.
SELECT name(document_uuid), via, depth, urn = dms.urn(document_uuid) AS urn FROM dms.grant_sources(id('ann'));
SELECT name(document_uuid), via, depth FROM dms.grant_sources(id('job1'));
SELECT dms.covers(id('west'), id('ann')) AS conveyed, dms.covers(id('jobs'), id('ann')) AS not_conveyed,
	dms.covers(id('system'), id('ann')) AS above, dms.covers(id('ann'), id('ann')) AS self,
	dms.covers(id('ann'), id('job2')) AS through, dms.covers(id('bob'), id('ann')) AS other, dms.covers(id('ann'), dms.uuid_v7()) AS unknown;
SELECT string_agg(name(d), ' ' ORDER BY name(d)) FROM dms.covered_documents(ARRAY[id('ann')]) AS d;
SELECT string_agg(name(d), ' ' ORDER BY name(d)) FROM dms.covered_documents(ARRAY[id('east'), id('bob'), dms.uuid_v7()]) AS d;
-- Both directions agree.
SELECT count(*) AS pairs, count(*) FILTER (WHERE dms.covers(s.id, t.id)) AS covered,
	count(*) FILTER (WHERE dms.covers(s.id, t.id) <> (t.id IN (SELECT dms.covered_documents(ARRAY[s.id])))) AS differ,
	count(*) FILTER (WHERE dms.covers(s.id, t.id) <> (s.id IN (SELECT g.document_uuid FROM dms.grant_sources(t.id) AS g))) AS differ
FROM document AS s, document AS t;
\set VERBOSITY sqlstate
SELECT dms.covered_documents(ARRAY[NULL]::uuid[]);
\set VERBOSITY default

--
-- Accounts
--
SELECT dms.set_account(id('west'), id('west')) AS changed, dms.set_account(id('west'), id('west')) AS again,
	dms.set_account(id('ann'), id('west')) AS one, dms.set_account(id('jobs'), id('east'), subtree => false) AS alone;
SELECT name(document_uuid), urn = dms.urn(document_uuid) AS urn FROM dms.account_documents(id('west'));
SELECT name(document_uuid) FROM dms.account_documents(id('west'), 'System.Job', 1, id('job1'));
SELECT dms.set_account(id('ann'), NULL) AS changed, dms.set_account(id('ann'), NULL) AS again;
\set VERBOSITY sqlstate
SELECT dms.set_account(dms.uuid_v7(), id('west'));
SELECT dms.set_account(id('ann'), dms.uuid_v7());
\set VERBOSITY default

--
-- Values that are unique
--
SELECT dms.claim_unique_key('System.User', 'emailAddress', 'someone@somewhere.com', id('ann')) AS claimed,
	dms.claim_unique_key('System.User', 'emailAddress', 'someone@somewhere.com', id('ann')) AS again;
SELECT dms.find_unique_key('System.User', 'emailAddress', 'someone@somewhere.com') = dms.urn(id('ann')) AS found;
SELECT dms.claim_unique_key('System.User', 'emailAddress', 'someone@somewhere.com', id('bob'));
-- Of another type or key it is another value.
SELECT dms.claim_unique_key('System.User', 'alias', 'someone@somewhere.com', id('bob')),
	dms.claim_unique_key('System.Job', 'emailAddress', 'someone@somewhere.com', id('job1'));
-- A reservation is taken over by one document.
SELECT dms.claim_unique_key('System.User', 'alias', 'reserved') AS reserved, dms.claim_unique_key('System.User', 'alias', 'reserved') AS again,
	dms.find_unique_key('System.User', 'alias', 'reserved') AS nobody, dms.claim_unique_key('System.User', 'alias', 'reserved', id('bob')) AS taken;
\set VERBOSITY sqlstate
SELECT dms.claim_unique_key('System.User', 'alias', 'reserved', id('ann'));
SELECT dms.claim_unique_key('System.User', 'alias', 'reserved');
SELECT dms.claim_unique_key('System.User', 'alias', 'x', id('east'));
SELECT dms.claim_unique_key('System.User', 'alias', 'x', dms.uuid_v7());
SELECT dms.claim_unique_key('System.Nothing', 'alias', 'x');
SELECT dms.claim_unique_key('System.User', '', 'x');
SELECT dms.claim_unique_key('System.User', 'a#b', 'x');
SELECT dms.claim_unique_key('System.User', repeat('k', 257), 'x');
SELECT dms.claim_unique_key('System.User', 'alias', repeat('v', 2001));
SELECT dms.claim_unique_key('System.User', 'alias', NULL);
\set VERBOSITY default
SELECT dms.release_unique_key('System.User', 'alias', 'reserved') AS released, dms.release_unique_key('System.User', 'alias', 'reserved') AS again;
SELECT dms.find_unique_key('System.User', 'alias', 'reserved') AS nobody;

--
-- Records
--
-- Documents and relations are also records with two keys.  The ids and times of this
-- run are replaced.
CREATE FUNCTION plain(record json) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
	plain text := record::text;
	d record;
BEGIN
	FOR d IN SELECT * FROM document LOOP
		plain := replace(plain, d.id::text, d.name);
	END LOOP;
	RETURN regexp_replace(plain, '"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"', 'TIME', 'g');
END $$;
SELECT plain(dms.get_record('Resource#' || dms.urn(id('job2')), 'Resource#' || dms.urn(id('job2')))) AS resource;
SELECT plain(r) AS children FROM dms.query_records('Parent#' || dms.urn(id('west'))) AS r;
SELECT plain(r) AS members FROM dms.query_records('Collection#' || dms.urn(id('west'))) AS r;
SELECT plain(dms.get_record('UniqueKeyValue#System.User#emailAddress#someone@somewhere.com', 'UniqueKeyValue#System.User#emailAddress')) AS value;
SELECT dms.claim_unique_key('System.User', 'alias', 'a#"b');
SELECT plain(r) AS reserved FROM dms.query_records('UniqueKeyValue#System.User#alias#a#"b') AS r;
SELECT dms.release_unique_key('System.User', 'alias', 'a#"b');
-- One item of a relation.
SELECT dms.get_record('Parent#' || dms.urn(id('west')), 'Child#' || dms.urn(id('bob'))) ->> 'childUrn' = dms.urn(id('bob')) AS found,
	dms.get_record('Parent#' || dms.urn(id('west')), 'Child#' || dms.urn(id('ann'))) AS none,
	dms.get_record('Parent#' || dms.urn(id('west')), 'Child#') AS prefix;
-- The other direction, and by account.
SELECT plain(r) AS parents FROM dms.query_records('Child#' || dms.urn(id('bob')), index_name => 'InvertedIndex') AS r;
SELECT r ->> 'PK' = 'Collection#' || dms.urn(id('west')) AS west, r ->> 'SK' = 'Member#' || dms.urn(id('ann')) AS ann
FROM dms.query_records('Member#' || dms.urn(id('ann')), index_name => 'InvertedIndex') AS r;
SELECT r ->> '_resourceType' AS type, r ->> 'name' AS name, r ->> '_accountUrn' = dms.urn(id('west')) AS account
FROM dms.query_records(dms.urn(id('west')), index_name => 'ResourcesByAccountIndex') AS r;
SELECT r ->> 'name' AS name FROM dms.query_records(dms.urn(id('west')), 'urn:pp:System.J', 'ResourcesByAccountIndex', 1) AS r;
SELECT r ->> 'name' AS name FROM dms.query_records(dms.urn(id('west')), 'urn:pp:System.J', 'ResourcesByAccountIndex', 1, dms.urn(id('job1'))) AS r;
-- A prefix of the sort key is a range: each prefix of the key of one child finds it.
SELECT count(*) AS prefixes, count(*) FILTER (WHERE name(split_part(r ->> 'childUrn', '::', 2)::uuid) = 'bob') AS found,
	count(*) FILTER (WHERE NOT starts_with(r ->> 'SK', prefix)) AS wrong
FROM (SELECT left('Child#' || dms.urn(id('bob')), n) AS prefix FROM generate_series(0, length('Child#' || dms.urn(id('bob')))) AS n) AS p,
	LATERAL dms.query_records('Parent#' || dms.urn(id('west')), prefix) AS r;
SELECT count(*) AS none FROM unnest(ARRAY['Member#', 'Child#urn:dms:', 'Child#urn:pp:System.Userx', 'Child#urn:pp:System.User::z',
	'Child#urn:pp:System.User:x', 'Child#' || dms.urn(id('bob')) || '0']) AS prefix,
	LATERAL dms.query_records('Parent#' || dms.urn(id('west')), prefix);
-- Pages continue after a sort key, whether or not its record exists.
SELECT plain(r) AS after FROM dms.query_records('Parent#' || dms.urn(id('west')), after => 'Child#urn:pp:System.L::' || dms.uuid_v7()) AS r;
SELECT count(*) AS none FROM dms.query_records('Parent#' || dms.urn(id('west')), after => 'Child#' || dms.urn(id('bob')));
SELECT count(*) AS none FROM dms.query_records('Parent#urn:pp:System.User::' || dms.uuid_v7());
-- The order is that of the whole key: a digit comes before the colon after a type.
BEGIN;
UPDATE dms.ResourceType SET ResourceType = 'System.User2' WHERE ResourceName = 'JobCollection';
SELECT r ->> 'SK' < lead(r ->> 'SK') OVER () COLLATE "C" AS ordered, substring(r ->> 'SK', ':([^:]*)::') AS type
FROM dms.query_records('Parent#' || dms.urn(id('west'))) AS r;
SELECT substring(r ->> 'SK', ':([^:]*)::') AS after FROM dms.query_records('Parent#' || dms.urn(id('west')), after => 'Child#' || dms.urn(id('jobs'))) AS r;
SELECT substring(urn, ':([^:]*)::') AS type FROM dms.collections(id('ann'));
ROLLBACK;
-- The values of a key, byte by byte.  Of reservations, those who read the table are told.
SELECT count(dms.claim_unique_key('System.User', 'badge', v, id('bob'))) FROM unnest('{b,a10,a9,é,B,a#1,a}'::text[]) AS v;
SELECT dms.claim_unique_key('System.User', 'badge', 'c'), dms.claim_unique_key('System.User', 'badges', 'x');
SELECT plain(r) AS first FROM dms.query_records('UniqueKeyValue#System.User#badge', index_name => 'InvertedIndex', page_limit => 1) AS r;
SELECT string_agg(r ->> 'value', ' ') AS all FROM dms.query_records('UniqueKeyValue#System.User#badge', index_name => 'InvertedIndex') AS r;
SELECT string_agg(r ->> 'value', ' ') AS prefix FROM dms.query_records('UniqueKeyValue#System.User#badge', 'UniqueKeyValue#System.User#badge#a', 'InvertedIndex') AS r;
SELECT string_agg(r ->> 'value', ' ') AS page FROM dms.query_records('UniqueKeyValue#System.User#badge', '', 'InvertedIndex', 3, 'UniqueKeyValue#System.User#badge#a') AS r;
SELECT string_agg(r ->> 'value', ' ') AS page FROM dms.query_records('UniqueKeyValue#System.User#badge', 'UniqueKeyValue#System.User#badge#a', 'InvertedIndex', 3,
	'UniqueKeyValue#System.User#badge#a10') AS r;
SELECT count(*) AS whole FROM dms.query_records('UniqueKeyValue#System.User#badge', 'Unique', 'InvertedIndex');
SELECT count(*) AS none FROM (VALUES ('UniqueKeyValue#System.User#badge', 'UniqueKeyValue#System.User#badge#x'), ('UniqueKeyValue#System.User#badge', 'Parent#'),
	('UniqueKeyValue#System.User#nothing', ''), ('UniqueKeyValue#Nothing#badge', '')) AS q (pk, prefix),
	LATERAL dms.query_records(pk, prefix, 'InvertedIndex');
-- Reading page by page gives all of them once, whatever the size of a page is.
WITH RECURSIVE page (size, records, n) AS (
	SELECT size, ARRAY(SELECT r FROM dms.query_records('UniqueKeyValue#System.User#badge', index_name => 'InvertedIndex', page_limit => size) AS r), 1
	FROM generate_series(1, 9) AS size
	UNION ALL SELECT size, ARRAY(SELECT r FROM dms.query_records('UniqueKeyValue#System.User#badge', index_name => 'InvertedIndex', page_limit => size,
		after => records[cardinality(records)] ->> 'PK') AS r), n + 1
	FROM page WHERE cardinality(records) > 0)
SELECT values, count(*) AS sizes FROM (SELECT string_agg(r ->> 'value', ' ' ORDER BY n, i) AS values
	FROM page, unnest(records) WITH ORDINALITY AS u (r, i) GROUP BY size) AS p GROUP BY values;
SELECT sum(dms.release_unique_key('System.User', key, v)::int) AS released FROM unnest('{b,a10,a9,é,B,a#1,a,c,x}'::text[]) AS v, unnest('{badge,badges}'::text[]) AS key;
\set VERBOSITY sqlstate
SELECT dms.query_records('UniqueKeyValue#System.User', index_name => 'InvertedIndex');
SELECT dms.query_records('UniqueKeyValue#System.User#a#b', index_name => 'InvertedIndex');
SELECT dms.query_records('UniqueKeyValue#System.User#a', index_name => 'InvertedIndex', after => 'x');
SELECT dms.query_records('Nothing#' || dms.urn(id('west')));
SELECT dms.query_records('Parent#west');
SELECT dms.query_records('');
SELECT dms.query_records('UniqueKeyValue#System.User');
SELECT dms.query_records('Parent#' || dms.urn(id('west')), index_name => 'InvertedIndex');
SELECT dms.query_records('Parent#' || dms.urn(id('west')), index_name => 'Nothing');
SELECT dms.query_records('Parent#' || dms.urn(id('west')), after => 'x');
SELECT dms.query_records('Parent#' || dms.urn(id('west')), page_limit => -1);
SELECT dms.query_records(NULL);
\set VERBOSITY default

--
-- Deleting
--
-- All that is below goes with a document.  What stands in the way is listed.
SELECT * FROM dms.delete_plan(id('west'));
SELECT * FROM dms.delete_plan(id('bob'));
SELECT * FROM dms.delete_plan(dms.uuid_v7());
SELECT dms.delete_document(id('bob'));
SELECT make('jobs', 'job3', '{"userReference": {"userId": "bob"}}'), dms.set_account(id('ann'), id('west'));
SELECT * FROM dms.delete_plan(id('west'));
SELECT dms.delete_document(id('west'));
SELECT dms.set_parent(id('job3'), id('job1')), dms.set_account(id('ann'), NULL);
-- They may refer to each other: all go in one statement.
BEGIN;
SELECT dms.delete_document(id('west')) AS deleted;
SELECT name FROM document JOIN dms.Document ON DocumentUuid = id ORDER BY name;
SELECT (SELECT count(*) FROM dms.ParentChild) AS children, (SELECT count(*) FROM dms.CollectionMember) AS members,
	(SELECT count(*) FROM dms.UniqueKeyValue) AS keys, (SELECT count(*) FROM dms.DocumentAccount) AS accounts;
SELECT * FROM dms.audit();
ROLLBACK;
-- A precondition is about the document itself, and nothing is deleted if it does not hold.
\set VERBOSITY sqlstate
SELECT dms.delete_document(id('west'), 7);
-- The size of a delete can be limited, by a setting and by the store.
SET dms.max_delete_size = 4;
SELECT dms.delete_document(id('west'));
RESET dms.max_delete_size;
SELECT dms.configure_store('{"maxDeleteSize": 4}') ->> 'maxDeleteSize' AS size;
SELECT dms.delete_document(id('west'));
SET dms.max_delete_size = 5;
SELECT dms.delete_document(id('west'));
RESET dms.max_delete_size;
SELECT dms.configure_store('{"maxDeleteSize": null}') ->> 'maxDeleteSize' AS size;
\set VERBOSITY default
-- A document without children takes its relations with it.
SELECT dms.delete_document(id('ann')) AS deleted;
SELECT (SELECT count(*) FROM dms.ParentChild WHERE ChildUuid = id('ann')) AS children,
	(SELECT count(*) FROM dms.CollectionMember WHERE MemberUuid = id('ann')) AS members,
	dms.find_unique_key('System.User', 'emailAddress', 'someone@somewhere.com') AS free;
-- So does a plain DELETE of the owner, with all that is below.
BEGIN;
DELETE FROM dms.Document WHERE DocumentUuid = id('system');
SELECT count(*) FROM dms.Document;
SELECT * FROM dms.audit();
ROLLBACK;
-- But not the account of other documents.
SELECT dms.set_parent(id('west'), NULL);
DELETE FROM dms.Document WHERE DocumentUuid = id('east');
-- The setting that the trigger looks at cannot be set.
SHOW dms.unrelated_document;
SET dms.unrelated_document = '1';
BEGIN;
TRUNCATE dms.Document;
SELECT (SELECT count(*) FROM dms.ParentChild) AS children, (SELECT count(*) FROM dms.CollectionMember) AS members,
	(SELECT count(*) FROM dms.UniqueKeyValue) AS keys, (SELECT count(*) FROM dms.DocumentAccount) AS accounts;
ROLLBACK;

--
-- Audit and repair
--
BEGIN;
INSERT INTO dms.ParentChild VALUES (-1, -2, 1, dms.uuid_v7());
INSERT INTO dms.CollectionMember SELECT DocumentId, -1, 1, dms.uuid_v7(), false FROM dms.Document WHERE DocumentUuid = id('east');
INSERT INTO dms.DocumentAccount VALUES (-1, -2, 1, dms.uuid_v7());
INSERT INTO dms.UniqueKeyValue VALUES ('System.User', 'alias', 'lost', -1);
UPDATE dms.ParentChild SET ChildTypeId = 7 WHERE ChildUuid = id('job1');
UPDATE dms.DocumentAccount SET DocumentUuid = dms.uuid_v7() WHERE DocumentUuid = id('jobs');
SELECT kind, name(document_uuid), found FROM dms.audit() WHERE kind <> 'relation_wrong';
SELECT kind, name(document_uuid), left(found, 12) AS found FROM dms.audit() WHERE kind = 'relation_wrong' ORDER BY name;
SELECT kind, name(document_uuid) FROM dms.audit('system', 'jobs');
SELECT kind, name(document_uuid) FROM dms.audit(document_uuid => id('job1'));
SELECT * FROM dms.repair() ORDER BY kind;
SELECT * FROM dms.audit();
-- A ring is found, and left to the owner.
UPDATE dms.ParentChild SET ParentDocumentId = ChildDocumentId WHERE ChildUuid = id('jobs');
SELECT kind, name(document_uuid) FROM dms.audit() ORDER BY name;
SELECT * FROM dms.repair();
-- No call runs for ever.
SELECT count(*) FROM dms.ancestors(id('job1'));
SELECT count(*) FROM dms.grant_sources(id('job1'));
SELECT dms.set_parent(id('jobs'), id('west')) AS mended;
SELECT * FROM dms.audit();
ROLLBACK;

-- The owner can write any text into the tables.  What would not stay in its place in JSON
-- or in a picture is refused.
BEGIN;
UPDATE dms.ResourceType SET ResourceType = 'x"] --> y["' WHERE ResourceName = 'User';
SELECT refused(s, id('bob')::text) AS sqlstate, count(*) FROM unnest(ARRAY['SELECT dms.urn($1::uuid)', 'SELECT dms.graph_diagram($1::uuid, 1)',
	'SELECT count(*) FROM dms.children(id(''west''))', 'SELECT count(*) FROM dms.grant_sources($1::uuid)', 'SELECT count(*) FROM dms.account_documents(id(''west''))',
	'SELECT count(*) FROM dms.query_records(''Parent#'' || dms.urn(id(''west'')))']) AS s GROUP BY 1;
ROLLBACK;
ALTER TABLE dms.Store DROP CONSTRAINT Store_UrnDomain_CK;
UPDATE dms.Store SET UrnDomain = 'x"}';
\c
\set VERBOSITY terse
SELECT dms.urn(id('bob'));
SELECT dms.handle_request('GET', '/system/users/' || id('bob') || '/parent');
UPDATE dms.Store SET UrnDomain = 'pp';
ALTER TABLE dms.Store ADD CONSTRAINT Store_UrnDomain_CK CHECK (UrnDomain ~ '^[A-Za-z0-9-]+$');
\c
SELECT dms.urn(id('bob')) = 'urn:pp:System.User::' || id('bob') AS urn;
SET client_min_messages = warning;
\set VERBOSITY default

--
-- Rights
--
CREATE ROLE regress_graph_reader;
CREATE ROLE regress_graph_writer;
SELECT dms.grant_access('regress_graph_reader', 'reader'), dms.grant_access('regress_graph_writer', 'writer');
GRANT SELECT ON document TO regress_graph_reader, regress_graph_writer;
SELECT dms.claim_unique_key('System.User', 'alias', 'b', id('bob'));
\set VERBOSITY sqlstate
SET ROLE regress_graph_reader;
SELECT name(document_uuid) FROM dms.children(id('west'));
SELECT dms.find_unique_key('System.User', 'alias', 'b') = dms.urn(id('bob')) AS found;
SELECT dms.set_parent(id('bob'), id('east'));
SELECT dms.add_member(id('bob'), id('east'));
SELECT dms.remove_member(id('bob'), id('east'));
SELECT dms.set_account(id('bob'), id('east'));
SELECT dms.claim_unique_key('System.User', 'alias', 'c');
SELECT dms.release_unique_key('System.User', 'alias', 'b');
SELECT * FROM dms.UniqueKeyValue;
DELETE FROM dms.ParentChild;
RESET ROLE;
SET ROLE regress_graph_writer;
SELECT dms.set_parent(id('bob'), id('east')), dms.set_parent(id('bob'), id('west'));
INSERT INTO dms.ParentChild VALUES (1, 2, 3, dms.uuid_v7());
RESET ROLE;
-- Policies of the owner hold for those who read: rows that are hidden are not there.
ALTER TABLE dms.ParentChild ENABLE ROW LEVEL SECURITY;
CREATE POLICY jobs ON dms.ParentChild FOR SELECT TO regress_graph_reader USING (ChildUuid <> id('bob'));
ALTER TABLE system."user" ENABLE ROW LEVEL SECURITY;
SET ROLE regress_graph_reader;
SELECT name(document_uuid) FROM dms.children(id('west'));
SELECT dms.parent(id('bob')) AS hidden, dms.covers(id('west'), id('bob')) AS hidden;
SELECT dms.find_unique_key('System.User', 'alias', 'b') AS hidden;
SELECT count(*) AS hidden FROM dms.query_records('UniqueKeyValue#System.User#alias#b');
SELECT count(*) AS hidden FROM dms.query_records('Resource#' || dms.urn(id('bob')));
SELECT count(*) AS hidden FROM dms.query_records(dms.urn(id('west')), 'urn:pp:System.U', 'ResourcesByAccountIndex');
SELECT string_agg(r ->> 'value', ' ') AS visible FROM dms.query_records('UniqueKeyValue#System.User#alias', index_name => 'InvertedIndex') AS r;
RESET ROLE;
SELECT dms.claim_unique_key('System.User', 'alias', 'nobody');
SELECT string_agg(r ->> 'value', ' ') AS all FROM dms.query_records('UniqueKeyValue#System.User#alias', index_name => 'InvertedIndex') AS r;
ALTER TABLE system."user" DISABLE ROW LEVEL SECURITY;
SET ROLE regress_graph_reader;
SELECT string_agg(r ->> 'value', ' ') AS visible FROM dms.query_records('UniqueKeyValue#System.User#alias', index_name => 'InvertedIndex') AS r;
RESET ROLE;
-- Who may not read documents of a resource at all does not learn which values they have.
REVOKE SELECT ON system."user" FROM regress_graph_reader;
SET ROLE regress_graph_reader;
SELECT dms.get_document(id('bob'));
SELECT dms.find_unique_key('System.User', 'alias', 'b') AS hidden, dms.find_unique_key('System.User', 'alias', 'free') AS none;
SELECT count(*) AS hidden FROM dms.query_records('UniqueKeyValue#System.User#alias#b');
SELECT count(*) AS hidden FROM dms.query_records('UniqueKeyValue#System.User#alias', index_name => 'InvertedIndex');
RESET ROLE;
GRANT SELECT ON system."user" TO regress_graph_reader;
REVOKE SELECT ON dms.Document FROM regress_graph_reader;
SET ROLE regress_graph_reader;
SELECT dms.find_unique_key('System.User', 'alias', 'b') AS hidden, dms.find_unique_key('System.User', 'alias', 'free') AS none;
SELECT count(*) AS hidden FROM dms.query_records('UniqueKeyValue#System.User#alias#b');
SELECT count(*) AS hidden FROM dms.query_records('UniqueKeyValue#System.User#alias', index_name => 'InvertedIndex');
RESET ROLE;
GRANT SELECT ON dms.Document TO regress_graph_reader;
ALTER TABLE dms.ParentChild DISABLE ROW LEVEL SECURITY;

-- A policy on dms.Document hides documents wherever they are related.  Pages are full as
-- long as others follow, or nobody could continue after them.
SELECT dms.delete_document(id('job3')) AS deleted;
SELECT make('systems', 'top'), make('users', 'hidden'), make('users', 'seen'), make('systems', 'between'), make('jobs', 'far');
SELECT count(*) FROM generate_series(1, 30) AS n, make('users', 'hidden' || n);
SELECT make('users', 'last');
SELECT count(*) FILTER (WHERE dms.set_parent(id, id('top'))) AS children, count(*) FILTER (WHERE dms.add_member(id('top'), id, true)) AS members,
	count(dms.set_account(id, id('top'))) AS documents
FROM document WHERE name ~ '^(hidden|seen|last|between)';
SELECT dms.set_parent(id('far'), id('between')), dms.add_member(id('hidden1'), id('seen')), dms.claim_unique_key('System.User', 'alias', 'h', id('hidden'));
ALTER TABLE dms.Document ENABLE ROW LEVEL SECURITY;
CREATE POLICY visible ON dms.Document FOR SELECT TO regress_graph_reader USING (DocumentUuid NOT IN (SELECT id FROM document WHERE name ~ '^(hidden|between)'));
CREATE FUNCTION seen(diagram text) RETURNS text LANGUAGE sql
RETURN (SELECT string_agg(name, ' ' ORDER BY name) FROM document WHERE diagram ~ id::text) || CASE WHEN diagram ~ 'not all' THEN ' ...' ELSE '' END;
SET ROLE regress_graph_reader;
SELECT dms.urn(id('hidden')) AS urn, dms.parent(id('hidden')) AS parent, dms.parent(id('far')) AS of_far, dms.covers(id('top'), id('hidden')) AS covered,
	dms.find_unique_key('System.User', 'alias', 'h') AS value, dms.graph_diagram(id('hidden'), 1) AS diagram;
SELECT dms.id_of('urn:pp:System.User::' || id('hidden'));
SELECT string_agg(name(c.document_uuid), ' ') AS children FROM dms.children(id('top')) AS c;
SELECT string_agg(name(c.document_uuid), ' ') AS children FROM dms.children(id('top'), page_limit => 2) AS c;
SELECT string_agg(name(c.document_uuid), ' ') AS next FROM dms.children(id('top'), page_limit => 1, after => id('seen')) AS c;
SELECT string_agg(name(c.document_uuid), ' ') AS members FROM dms.members(id('top'), page_limit => 2) AS c;
SELECT string_agg(name(c.document_uuid), ' ') AS account FROM dms.account_documents(id('top'), page_limit => 2) AS c;
SELECT string_agg(name(c.document_uuid), ' ') AS collections FROM dms.collections(id('seen')) AS c;
SELECT count(*) AS after_hidden FROM dms.children(id('top'), after => id('hidden'));
SELECT string_agg(name(dms.id_of(r ->> 'childUrn')), ' ') AS children FROM dms.query_records('Parent#' || dms.urn(id('top')), page_limit => 2) AS r;
SELECT string_agg(name(dms.id_of(r ->> 'memberUrn')), ' ') AS members FROM dms.query_records('Collection#' || dms.urn(id('top')), page_limit => 2) AS r;
SELECT string_agg(r ->> 'name', ' ') AS account FROM dms.query_records(dms.urn(id('top')), index_name => 'ResourcesByAccountIndex', page_limit => 2) AS r;
SELECT count(*) AS above FROM dms.ancestors(id('far'));
SELECT name(document_uuid), depth FROM dms.grant_sources(id('far'));
SELECT string_agg(name(c), ' ' ORDER BY name(c)) AS covered FROM dms.covered_documents(ARRAY[id('top')]) AS c;
SELECT * FROM dms.delete_plan(id('top'));
-- Nothing that only hidden documents lead to is drawn, and they do not take the place of others.
SELECT seen(dms.graph_diagram(id('top'), 3)), seen(dms.graph_diagram(id('far'), 10)) AS far;
RESET ROLE;
SELECT seen(dms.graph_diagram(id('far'), 1)) AS all;
-- There may be any number of hidden documents: the results of looks for them do not pile up.
CREATE FUNCTION noted(visible boolean) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
	PERFORM set_config('test.results', greatest(current_setting('test.results')::bigint,
		(SELECT count(*) FROM pg_backend_memory_contexts WHERE name = 'SPI TupTable'))::text, false);
	RETURN visible;
END $$;
CREATE FUNCTION results(statement text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	SET test.results = 0;
	EXECUTE statement;
	RETURN current_setting('test.results');
END $$;
ALTER POLICY visible ON dms.Document USING (noted(DocumentUuid NOT IN (SELECT id FROM document WHERE name ~ '^(hidden|between)')));
SET ROLE regress_graph_reader;
SELECT s, results(s) BETWEEN 1 AND 20 AS few FROM unnest(ARRAY['SELECT count(*) FROM dms.children(id(''top''))', 'SELECT count(*) FROM dms.members(id(''top''))',
	'SELECT count(*) FROM dms.account_documents(id(''top''))', 'SELECT dms.graph_diagram(id(''top''), 1)',
	'SELECT count(*) FROM dms.query_records(''Parent#'' || dms.urn(id(''top'')))', 'SELECT count(*) FROM dms.query_records(''Collection#'' || dms.urn(id(''top'')))',
	'SELECT count(*) FROM dms.query_records(dms.urn(id(''top'')), index_name => ''ResourcesByAccountIndex'')']) AS s;
RESET ROLE;
-- The same where it is the table of the resource that has the policy: records have its properties.
ALTER TABLE dms.Document DISABLE ROW LEVEL SECURITY;
ALTER TABLE system."user" ENABLE ROW LEVEL SECURITY;
CREATE POLICY visible ON system."user" FOR SELECT TO regress_graph_reader USING (UserId !~ '^hidden');
SET ROLE regress_graph_reader;
SELECT string_agg(r ->> 'name', ' ') AS account FROM dms.query_records(dms.urn(id('top')), 'urn:pp:System.User', 'ResourcesByAccountIndex', 2) AS r;
RESET ROLE;
ALTER TABLE system."user" DISABLE ROW LEVEL SECURITY;
\set VERBOSITY default
SET client_min_messages = warning;
\c :home
DROP DATABASE regress_graph;
DROP ROLE regress_graph, regress_graph_reader, regress_graph_writer;
