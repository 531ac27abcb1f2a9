-- Options of a resource about relations: the accounts of its documents, its name in
-- URNs, and properties that are unique.  The view dms.Record and pictures of documents.
SET client_min_messages = warning;
CREATE ROLE regress_graph_options;
CREATE DATABASE regress_graph_options TEMPLATE template0 ENCODING 'UTF8' OWNER regress_graph_options;
\set home :DBNAME
\c regress_graph_options
\getenv directory PG_ABS_SRCDIR
\set file :directory /examples/schemas/system.json
\set schema `cat :'file'`
SET client_min_messages = warning;
CREATE EXTENSION dms;
SELECT length(dms.deploy_schema(:'schema')) AS deployed;
SELECT dms.configure_store('{"urnDomain": "pp"}') ->> 'urnDomain' AS domain;
CREATE TABLE document (name text PRIMARY KEY, id uuid);
CREATE FUNCTION make(resource text, name text, more jsonb DEFAULT '{}') RETURNS text LANGUAGE sql
BEGIN ATOMIC
	WITH written AS (SELECT r.* FROM dms.upsert_document('system', resource,
		jsonb_build_object(regexp_replace(resource, 's$', 'Id'), name, 'name', name) || more) AS r),
	kept AS (INSERT INTO document SELECT name, document_uuid FROM written
		ON CONFLICT (name) DO UPDATE SET id = EXCLUDED.id)
	SELECT outcome FROM written;
END;
CREATE FUNCTION id(wanted text) RETURNS uuid LANGUAGE sql STABLE RETURN (SELECT id FROM document WHERE name = wanted);
CREATE FUNCTION name(wanted uuid) RETURNS text LANGUAGE sql STABLE RETURN (SELECT name FROM document WHERE id = wanted);
CREATE FUNCTION account(document text) RETURNS text LANGUAGE sql STABLE
RETURN (SELECT name(a.DocumentUuid) FROM dms.DocumentAccount AS r JOIN dms.Document AS a ON a.DocumentId = r.AccountId
	WHERE r.DocumentUuid = id(document));
CREATE FUNCTION plain(message text) RETURNS text LANGUAGE plpgsql STABLE AS $$
DECLARE
	d record;
BEGIN
	FOR d IN SELECT * FROM document LOOP
		message := replace(message, d.id::text, d.name);
	END LOOP;
	RETURN regexp_replace(message, '\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z', 'TIME', 'g');
END $$;

--
-- Accounts
--
-- Documents of an account's resource are their own accounts; others must have one.
SELECT dms.configure_resource('system', 'accounts', '{"account": "self"}');
SELECT dms.configure_resource('system', 'users', '{"account": "required"}');
SELECT make('accounts', 'east'), make('accounts', 'west'), make('systems', 'system');
SELECT account('east'), account('west'), account('system');
SELECT make('users', 'ann');
-- The setting names it, by id or URN.  Only a new document gets it.
SELECT set_config('dms.account', id('east')::text, false) IS NOT NULL AS set;
SELECT make('users', 'ann'), make('jobs', 'job');
SELECT account('ann'), account('job');
SELECT set_config('dms.account', dms.urn(id('west')), false) IS NOT NULL AS set;
SELECT make('users', 'ann', '{"name": "Ann"}'), make('users', 'bob'), make('accounts', 'north');
SELECT account('ann'), account('bob'), account('north');
\set VERBOSITY sqlstate
SET dms.account = 'urn:pp:System.Account::019a98c1-7a52-7cc1-8b9b-0d2f0f3a2d11';
SELECT make('users', 'eve');
SET dms.account = '019a98c1-7a52-7cc1-8b9b-0d2f0f3a2d11';
SELECT make('users', 'eve');
SET dms.account = 'west';
SELECT make('users', 'eve');
RESET dms.account;
-- What the options say holds for dms.set_account(), too.
SELECT dms.set_account(id('ann'), NULL);
SELECT dms.set_account(id('east'), id('west'));
SELECT dms.set_account(id('east'), NULL);
\set VERBOSITY default
-- Below a document, those that are their own accounts keep them.
SELECT dms.set_parent(id('east'), id('system')), dms.set_parent(id('ann'), id('east'));
SELECT dms.set_account(id('system'), id('west')) AS changed;
SELECT account('system'), account('east'), account('ann');
SELECT dms.set_account(id('system'), NULL) AS changed;
SELECT account('system'), account('east'), account('ann');
SELECT dms.configure_resource('system', 'users', '{"account": null}');
SELECT make('users', 'carl'), account('carl');

--
-- Names in URNs
--
SELECT dms.claim_unique_key('System.Job', 'code', 'A', id('job'));
SELECT dms.configure_resource('system', 'jobs', '{"resourceType": "System.Account.JobCollection.Job"}');
SELECT plain(dms.urn(id('job'))) AS urn, name(dms.id_of(dms.urn(id('job')))) AS id_of;
-- Values that were claimed keep to the resource.
SELECT plain(dms.find_unique_key('System.Account.JobCollection.Job', 'code', 'A')) AS found, dms.find_unique_key('System.Job', 'code', 'A') AS none;
SELECT resource, resource_type FROM dms.resource_options('system', 'jobs');
\set VERBOSITY terse
SELECT dms.configure_resource('system', 'users', '{"resourceType": "System.Account"}');
SELECT dms.configure_resource('system', 'users', '{"resourceType": "System:User"}');
\set VERBOSITY default

--
-- Unique properties
--
SELECT make('users', 'ann', '{"emailAddress": "ann@example.org"}'), make('users', 'bob', '{"emailAddress": "ann@example.org"}'),
	make('users', 'carl', '{"emailAddress": "carl@example.org"}');
-- Documents contradict the option, or values were claimed: nothing is changed.
SELECT dms.configure_resource('system', 'users', '{"uniqueKeys": ["$.emailAddress"]}');
SELECT make('users', 'bob', '{"emailAddress": "bob@example.org"}');
SELECT dms.claim_unique_key('System.User', 'emailAddress', 'x');
SELECT dms.configure_resource('system', 'users', '{"uniqueKeys": ["$.emailAddress"]}');
SELECT dms.release_unique_key('System.User', 'emailAddress', 'x');
SELECT dms.configure_resource('system', 'users', '{"uniqueKeys": ["$.nothing", "$.emailAddress", "$.emailAddress"]}');
SELECT dms.configure_resource('system', 'jobs', '{"uniqueKeys": ["$.userReference.userId"]}');
SELECT dms.configure_resource('system', 'users', '{"uniqueKeys": "$.emailAddress"}');
SELECT regexp_replace(s, 'VIEW.*', 'VIEW') FROM dms.plan_resource('system', 'users', '{"uniqueKeys": ["$.emailAddress"]}') AS s;
SELECT dms.configure_resource('system', 'users', '{"uniqueKeys": ["$.emailAddress"]}');
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = 'system."user"'::regclass AND conname LIKE '%uk';
-- A violation names its place.  Documents without a value do not collide.
SELECT make('users', 'eve', '{"emailAddress": "ann@example.org"}');
SELECT make('users', 'eve'), make('users', 'mallory');
SELECT outcome FROM dms.update_document(id('bob'), '{"userId": "bob", "name": "Bob", "emailAddress": "ann@example.org"}');
-- Documents of one call may swap their values.
SELECT array_agg(r.outcome) FROM dms.update_documents(ARRAY[id('ann'), id('bob')], ARRAY[
	'{"userId": "ann", "name": "Ann", "emailAddress": "bob@example.org"}', '{"userId": "bob", "name": "Bob", "emailAddress": "ann@example.org"}']::json[]) AS r;
SELECT emailaddress, plain(dms.find_unique_key('System.User', 'emailAddress', emailaddress)) AS urn FROM system."user"
WHERE emailaddress IS NOT NULL ORDER BY 1;
SELECT array_agg(r.outcome) FROM dms.update_documents(ARRAY[id('ann'), id('bob')], ARRAY[
	'{"userId": "ann", "name": "Ann", "emailAddress": "carl@example.org"}', '{"userId": "bob", "name": "Bob", "emailAddress": "bob@example.org"}']::json[]) AS r;
-- A key is declared or claimed, never both.
SELECT dms.claim_unique_key('System.User', 'emailAddress', 'x');
SELECT plain(dms.get_record('UniqueKeyValue#System.User#emailAddress#carl@example.org', 'UniqueKeyValue#System.User#emailAddress')::text);
SELECT dms.find_unique_key('System.User', 'emailAddress', 'nobody') AS nobody;
SELECT r ->> 'value' AS value, plain(r ->> 'associatedRecordUrn') AS urn
FROM dms.query_records('UniqueKeyValue#System.User#emailAddress', index_name => 'InvertedIndex') AS r;
SELECT r ->> 'value' AS next FROM dms.query_records('UniqueKeyValue#System.User#emailAddress', index_name => 'InvertedIndex',
	page_limit => 1, after => 'UniqueKeyValue#System.User#emailAddress#ann@example.org') AS r;

--
-- All records
--
SELECT dms.set_parent(id('job'), id('ann')), dms.add_member(id('system'), id('job'), true), dms.add_member(id('job'), id('system')),
	dms.claim_unique_key('System.User', 'alias', 'free');
CREATE VIEW shown AS SELECT plain("PK") AS pk, plain("SK") AS sk, "_recordType", "_resourceType", plain("_accountUrn") AS account,
	key, value, plain("associatedRecordUrn") AS associated FROM dms.Record;
SELECT * FROM shown ORDER BY pk COLLATE "C", sk COLLATE "C";
-- Each of them is the record with its keys, and each record is there.
SELECT count(*) AS records, count(*) FILTER (WHERE g IS NULL) AS missing, count(*) FILTER (WHERE jsonb_strip_nulls(to_jsonb(r))
	<> (SELECT jsonb_object_agg(k, v) FROM jsonb_each(g::jsonb) AS e (k, v) WHERE k NOT IN ('name', 'userId', 'jobId', 'accountId', 'systemId', 'emailAddress'))) AS differ
FROM dms.Record AS r, dms.get_record("PK", "SK") AS g;
SELECT "_recordType", count(*), count(*) FILTER (WHERE EXISTS (SELECT FROM dms.query_records(r."SK", index_name => 'InvertedIndex') AS q
	WHERE q ->> 'PK' = r."PK")) AS inverted FROM dms.Record AS r GROUP BY 1 ORDER BY 1;

--
-- Pictures
--
SELECT plain(dms.graph_diagram(id('job')));
SELECT plain(dms.graph_diagram(id('carl'), 0));
SELECT plain(dms.graph_diagram(id('north'), 3));
SELECT dms.graph_diagram(dms.uuid_v7()) AS none;
\set VERBOSITY terse
SELECT dms.graph_diagram(NULL);
SELECT dms.graph_diagram(id('job'), 11);
SELECT dms.graph_diagram(id('job'), -1);
-- They have a limit.
BEGIN;
SELECT count(make('jobs', 'child' || n)) FROM generate_series(1, 30) AS n;
SELECT count(dms.set_parent(id('child' || n), id('mallory'))) FROM generate_series(1, 30) AS n;
SELECT count(*) AS lines, bool_or(line ~ 'not all are shown') AS cut FROM string_to_table(dms.graph_diagram(id('mallory')), E'\n') AS line;
ROLLBACK;
\set VERBOSITY default

--
-- A change of the schema
--
-- A path that is a unique key cannot go; constraints follow the names of the schema.
\set VERBOSITY terse
SELECT dms.migrate_schema(ARRAY[replace(:'schema', 'emailAddress', 'mail')::json], true);
SELECT dms.migrate_schema(ARRAY[replace(:'schema', '"jobs"', '"tasks"')::json]) IS NOT NULL AS endpoint;
SET client_min_messages = error;
SELECT length(dms.migrate_schema(ARRAY[replace(replace(replace(:'schema', '"maxLength": 254', '"maxLength": 200'),
	'"User"', '"Person"'), 'System.User', 'System.Person')::json], true, '{"system.user": "system.person"}')) AS renamed;
SELECT resource, resource_type, options FROM dms.resource_options() WHERE options <> '{}' OR resource = 'Person';
SELECT conname FROM pg_constraint WHERE conname LIKE '%_uk';
SELECT plain(dms.find_unique_key('System.Person', 'emailAddress', 'carl@example.org')) AS found, plain(dms.urn(id('ann'))) AS urn;
SELECT count(*) FROM dms.Record WHERE key = 'emailAddress';
SELECT name(document_uuid) FROM dms.members(id('system'));
SELECT * FROM dms.audit();
-- Resources that go leave the children of their documents.
SELECT dms.configure_resource('system', 'users', '{"uniqueKeys": null}');
SELECT count(*) FROM dms.Record WHERE key = 'emailAddress';
SELECT conname FROM pg_constraint WHERE conname LIKE '%_uk';
SELECT dms.set_parent(id('job'), id('north')), dms.set_account(id('job'), id('north'));
SELECT :'schema'::jsonb #- '{projectSchema,resourceSchemas,accounts}' #- '{projectSchema,resourceNameMapping,Account}'
	#- '{projectSchema,caseInsensitiveEndpointNameMapping,accounts}' AS less \gset
SELECT length(dms.migrate_schema(ARRAY[:'less'::json], true)) AS without_accounts;
SELECT count(*) AS jobs FROM dms.Document WHERE ResourceName = 'Job';
SELECT dms.parent(id('job')) AS parent, account('job') AS account;
SELECT * FROM dms.audit();
\c :home
DROP DATABASE regress_graph_options;
DROP ROLE regress_graph_options;
