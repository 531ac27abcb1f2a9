-- What a program relies on that was written for a store with a single table: documents,
-- relations and unique values are records with a partition key and a sort key.  Each
-- sentence of such a program's model is followed by the statement that shows it.
SET client_min_messages = warning;
CREATE DATABASE regress_single_table TEMPLATE template0 ENCODING 'UTF8';
\set home :DBNAME
\c regress_single_table
\getenv directory PG_ABS_SRCDIR
\set file :directory /examples/schemas/system.json
\set schema `cat :'file'`
SET client_min_messages = warning;
CREATE EXTENSION dms;
SELECT length(dms.deploy_schema(:'schema')) AS deployed;

-- The domain of URNs, and the types of its documents.  Ids are made by the store, or by
-- the program; these are those of its examples.
SELECT dms.configure_store('{"urnDomain": "pp"}') ->> 'urnDomain' AS domain;
SELECT dms.configure_resource('system', 'systems', '{"resourceType": "System", "generatedId": "$.systemId"}');
SELECT dms.configure_resource('system', 'accounts', '{"generatedId": "$.accountId", "account": "self"}');
SELECT dms.configure_resource('system', 'jobs', '{"resourceType": "System.Account.JobCollection.Job", "generatedId": "$.jobId"}');
SELECT dms.configure_resource('system', 'users', '{"generatedId": "$.userId", "account": "required"}');
SELECT document_uuid AS system FROM dms.upsert_document('system', 'systems', '{"systemId": "c04b27bf-7604-48a5-9e67-298c67cd70ab", "name": "Planning"}') \gset
SELECT document_uuid AS account FROM dms.upsert_document('system', 'accounts', '{"accountId": "0195ff0e-e2e7-7408-8379-52f6cf939e7b", "name": "East"}') \gset
SELECT document_uuid AS job FROM dms.upsert_document('system', 'jobs', '{"jobId": "01955556-3cd2-7df2-b839-693fa6fbd505", "name": "Backup"}') \gset
SELECT set_config('dms.account', :'account', false) IS NOT NULL AS account;
SELECT document_uuid AS user FROM dms.upsert_document('system', 'users', '{"name": "Ann", "emailAddress": "someone@somewhere.com"}') \gset
RESET dms.account;

-- The store is the system of record for all entities and relationships: what one
-- transaction writes of them is there, or nothing of it is.
BEGIN;
SELECT dms.set_parent(:'account', :'system'), dms.add_member(:'system', :'account'), dms.set_account(:'job', :'account'),
	dms.claim_unique_key('System.User', 'emailAddress', 'someone@somewhere.com', :'user');
SELECT "_recordType", count(*) FROM dms.Record GROUP BY 1 ORDER BY 1;
ROLLBACK;
SELECT "_recordType", count(*) FROM dms.Record GROUP BY 1 ORDER BY 1;
SELECT dms.set_parent(:'account', :'system'), dms.add_member(:'system', :'account'), dms.set_account(:'job', :'account'),
	dms.claim_unique_key('System.User', 'emailAddress', 'someone@somewhere.com', :'user');

-- All record types are in one table: each record can be read by its keys.
SELECT count(*) AS records, count(dms.get_record("PK", "SK")) AS found FROM dms.Record;

-- Grants are in a separate table: there is none here that could have them.
SELECT count(*) AS tables FROM pg_class WHERE relnamespace = 'dms'::regnamespace AND relname ~ 'grant|permission';

-- A URN is urn:{domain}:{resourceType}::{resourceId}.
SELECT dms.urn(u) FROM unnest(ARRAY[:'system', :'account', :'job']::uuid[]) AS u;
SELECT dms.urn(:'user') = 'urn:pp:System.User::' || :'user' AS user;
SELECT u, p.* FROM unnest('{urn:pp:System.Account.JobCollection.Job::01955556-3cd2-7df2-b839-693fa6fbd505, urn:pp:System.User::123-abc-890-xyz}'::text[]) AS u,
	dms.parse_urn(u) AS p;
SELECT dms.id_of('urn:pp:System.Account.JobCollection.Job::01955556-3cd2-7df2-b839-693fa6fbd505');
\set VERBOSITY terse
SELECT dms.id_of('urn:pp:System.User::123-abc-890-xyz');
\set VERBOSITY default

-- A resource has the key Resource#{urn} twice, and these attributes.  Its id is a UUIDv7,
-- times are ISO 8601, and the version of its schema is a number.
SELECT r ->> 'PK' AS pk, r ->> 'SK' = r ->> 'PK' AS sk, r ->> '_recordType' AS type, r ->> '_resourceType' AS resource, r ->> '_id' AS id,
	r ->> 'urn' AS urn, json_typeof(r -> '_schemaVersion') AS version, r ->> '_accountUrn' AS account, r ->> 'name' AS name
FROM dms.get_record('Resource#' || dms.urn(:'job'), 'Resource#' || dms.urn(:'job')) AS r;
SELECT key, value ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$' AS iso
FROM dms.get_record('Resource#' || dms.urn(:'job'), 'Resource#' || dms.urn(:'job')) AS r, json_each_text(r) WHERE key ~ '^_(created|updated)At$';
SELECT r ->> '_id' ~ '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab]' AS v7 FROM dms.get_record('Resource#' || dms.urn(:'user'), 'Resource#' || dms.urn(:'user')) AS r;

-- Ids that the store makes are in the order of time, and so are pages of them.
SELECT count(dms.upsert_document('system', 'jobs', json_build_object('name', 'job ' || n))) FROM generate_series(1, 20) AS n;
SELECT count(*) AS jobs, count(dms.set_parent(d.DocumentUuid, :'account')) AS below FROM system.Job AS j JOIN dms.Document AS d USING (DocumentId) WHERE j.Name ~ '^job ';
SELECT string_agg(substr(dms.get_document(c.document_uuid) ->> 'name', 5), ' ') AS jobs FROM dms.children(:'account', page_limit => 30) AS c;

-- Parent and child: PK Parent#{urn}, SK Child#{urn}.  Relationships have no URN of their own.
SELECT r - '_createdAt' AS record FROM (SELECT dms.get_record('Parent#urn:pp:System::c04b27bf-7604-48a5-9e67-298c67cd70ab',
	'Child#urn:pp:System.Account::0195ff0e-e2e7-7408-8379-52f6cf939e7b')::jsonb AS r) AS x;
-- 1:n: a child has one parent.
SELECT dms.set_parent(:'user', :'system'), dms.set_parent(:'user', :'account');
SELECT r ->> 'PK' AS parent FROM dms.query_records('Child#' || dms.urn(:'user'), index_name => 'InvertedIndex') AS r;
-- Deleting a parent deletes its children, and theirs.
BEGIN;
SELECT count(*) AS before FROM dms.Document;
SELECT dms.set_account(:'job', NULL), dms.delete_document(:'system');
SELECT ResourceName AS left FROM dms.Document;
ROLLBACK;
-- Grants on a parent apply to its children, and theirs.
SELECT s.urn FROM dms.grant_sources(:'user') AS s WHERE s.via = 'parent';

-- Collection and member: PK Collection#{urn}, SK Member#{urn}.
SELECT r - '_createdAt' AS record FROM (SELECT dms.get_record('Collection#urn:pp:System::c04b27bf-7604-48a5-9e67-298c67cd70ab',
	'Member#urn:pp:System.Account::0195ff0e-e2e7-7408-8379-52f6cf939e7b')::jsonb AS r) AS x;
-- n:m: a document is in several collections.
SELECT dms.add_member(:'system', :'job'), dms.add_member(:'account', :'job');
SELECT r ->> 'PK' AS collection FROM dms.query_records('Member#' || dms.urn(:'job'), index_name => 'InvertedIndex') AS r;
-- Deleting a collection deletes no member, and its grants apply to those to whom it conveys.
SELECT dms.covers(:'account', :'job') AS covered, dms.add_member(:'account', :'job', true) AS changed;
SELECT dms.covers(:'account', :'job') AS covered;
BEGIN;
SELECT dms.set_account(:'job', NULL), dms.set_parent(:'account', NULL), dms.delete_document(:'system');
SELECT count(*) AS jobs FROM dms.Document WHERE DocumentUuid = :'job';
SELECT r ->> 'PK' AS collection FROM dms.query_records('Member#' || dms.urn(:'job'), index_name => 'InvertedIndex') AS r;
ROLLBACK;
-- The two relationships are of different kinds: the same two documents can have both.
SELECT dms.parent(:'account') = :'system' AS child, :'account' IN (SELECT m.document_uuid::text FROM dms.members(:'system') AS m) AS member;

-- The account of a relationship: that of the child; that of the collection, else of the member.
SELECT r ->> '_recordType' AS type, r ->> 'SK' AS sk, r ->> '_accountUrn' AS account
FROM unnest(ARRAY['Parent#', 'Collection#']) AS kind, dms.query_records(kind || dms.urn(:'system')) AS r;

-- Unique values: PK UniqueKeyValue#{type}#{key}#{value}, SK UniqueKeyValue#{type}#{key}.
SELECT r - '{_createdAt,_updatedAt,associatedRecordUrn}'::text[] AS record, r ->> 'associatedRecordUrn' = dms.urn(:'user') AS holder
FROM (SELECT dms.get_record('UniqueKeyValue#System.User#emailAddress#someone@somewhere.com', 'UniqueKeyValue#System.User#emailAddress')::jsonb AS r) AS x;
-- All records tell when they were made, and those of values when they changed last.
SELECT r ->> '_recordType' AS type, bool_and(r ->> '_createdAt' ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$') AS created,
	bool_or(r ->> '_updatedAt' ~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$') AS updated, bool_or(r -> 'urn' IS NOT NULL) AS urn
FROM dms.Record AS v, dms.get_record(v."PK", v."SK") AS r GROUP BY 1 ORDER BY 1;
-- They are for any key of any type, and the document is optional.
SELECT dms.claim_unique_key('System.User', 'nickname', 'a#b');
SELECT r ->> 'value' AS value, r -> 'associatedRecordUrn' IS NULL AS nobody, r -> '_updatedAt' IS NOT NULL AS updated
FROM dms.get_record('UniqueKeyValue#System.User#nickname#a#b', 'UniqueKeyValue#System.User#nickname') AS r;
-- Uniqueness: another document cannot have the value.
\set VERBOSITY terse
SELECT dms.claim_unique_key('System.User', 'emailAddress', 'someone@somewhere.com',
	(SELECT document_uuid FROM dms.upsert_document('system', 'users', '{"name": "Eve"}')));
SELECT set_config('dms.account', :'account', false) IS NOT NULL AS account;
SELECT dms.claim_unique_key('System.User', 'emailAddress', 'someone@somewhere.com',
	(SELECT document_uuid FROM dms.upsert_document('system', 'users', '{"name": "Eve"}')));
RESET dms.account;
\set VERBOSITY default

-- A property can be a unique key as well: the record of its value has the times of the document.
SELECT dms.configure_resource('system', 'users', '{"uniqueKeys": ["$.name"]}') -> 'uniqueKeys' AS keys;
SELECT v ->> 'associatedRecordUrn' = u ->> 'urn' AS holder, v ->> '_createdAt' = u ->> '_createdAt' AS created, v ->> '_updatedAt' = u ->> '_updatedAt' AS updated
FROM dms.get_record('UniqueKeyValue#System.User#name#Ann', 'UniqueKeyValue#System.User#name') AS v, dms.get_record('Resource#' || dms.urn(:'user'), 'Resource#' || dms.urn(:'user')) AS u;

-- The default index: the records of a partition key whose sort keys have a prefix.
SELECT count(*) AS children, count(*) FILTER (WHERE r ->> 'SK' ~ 'System.User') AS users FROM dms.query_records('Parent#' || dms.urn(:'account'), page_limit => 100) AS r;
SELECT count(*) AS users FROM dms.query_records('Parent#' || dms.urn(:'account'), 'Child#urn:pp:System.User::') AS r;
-- InvertedIndex: sort keys become partition keys, for each kind of record.
SELECT "_recordType", bool_and(EXISTS (SELECT FROM dms.query_records(r."SK", index_name => 'InvertedIndex', page_limit => 100) AS q WHERE q ->> 'PK' = r."PK")) AS inverted
FROM dms.Record AS r GROUP BY 1 ORDER BY 1;
-- So all that is above a document is found by reverse lookups.
WITH RECURSIVE up (urn) AS (
	SELECT dms.urn(:'user')
	UNION ALL SELECT r ->> 'parentUrn' FROM up, dms.query_records('Child#' || up.urn, index_name => 'InvertedIndex') AS r)
SELECT (SELECT array_agg(urn) FROM up OFFSET 0) = dms.urn(:'user') || (SELECT array_agg(a.urn) FROM dms.ancestors(:'user') AS a) AS same;
-- ResourcesByAccountIndex: all resources of an account, by their URNs.  It is sparse: it
-- has no records without an account, and no relationships.
SELECT r ->> 'urn' AS urn FROM dms.query_records(dms.urn(:'account'), index_name => 'ResourcesByAccountIndex') AS r WHERE r ->> 'urn' !~ 'User';
SELECT count(*) AS resources, (SELECT count(*) FROM dms.Record WHERE "_recordType" = 'Resource' AND "_accountUrn" = dms.urn(:'account')) AS with_account,
	(SELECT count(*) FROM dms.Record WHERE "_recordType" = 'Resource' AND "_accountUrn" IS NULL) AS without
FROM dms.query_records(dms.urn(:'account'), index_name => 'ResourcesByAccountIndex', page_limit => 100);
-- A resource of an account has an accountUrn: the option refuses a document without one.
\set VERBOSITY terse
SELECT dms.upsert_document('system', 'users', '{"name": "Eve"}');
SELECT dms.set_account(:'user', NULL);
\set VERBOSITY default

-- Contracts evolve: a record tells the version of the schema that it was written with.
SELECT length(dms.migrate_schema(ARRAY[replace(:'schema', '"projectVersion": "1.0.0"', '"projectVersion": "1.1.0"')::json])) > 0 AS evolved;
SELECT outcome FROM dms.update_document(:'job', '{"jobId": "01955556-3cd2-7df2-b839-693fa6fbd505", "name": "Backup, daily"}');
SELECT r ->> 'name' AS name, r -> '_schemaVersion' AS version FROM unnest(ARRAY[:'job', :'account']::uuid[]) AS u,
	dms.get_record('Resource#' || dms.urn(u), 'Resource#' || dms.urn(u)) AS r;
SELECT * FROM dms.audit();
\c :home
DROP DATABASE regress_single_table;
