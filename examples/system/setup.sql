-- A store with systems, accounts, users and jobs; see README.md.
\set ON_ERROR_STOP on
CREATE EXTENSION dms;
\set system `cat examples/schemas/system.json`
SELECT dms.deploy_schema(:'system') IS NOT NULL AS deployed;
SELECT dms.configure_store('{"urnDomain": "pp"}') ->> 'urnDomain' AS domain;

-- Accounts are their own accounts, users must have one, and their addresses are unique.
SELECT dms.configure_resource('system', 'accounts', '{"account": "self"}');
SELECT dms.configure_resource('system', 'users', '{"account": "required", "uniqueKeys": ["$.emailAddress"]}');
SELECT dms.configure_resource('system', 'jobs', '{"resourceType": "System.Account.JobCollection.Job"}');

-- Write a document below another one, and return its id.
CREATE FUNCTION make(resource text, body json, parent uuid DEFAULT NULL) RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
	id uuid := (SELECT w.document_uuid FROM dms.upsert_document('system', resource, body) AS w);
BEGIN
	PERFORM dms.set_parent(id, parent);
	RETURN id;
END $$;

SELECT make('systems', '{"systemId": "s", "name": "Planning"}') AS planning \gset
SELECT make('accounts', '{"accountId": "east", "name": "East"}', :'planning') AS east \gset
SELECT make('accounts', '{"accountId": "west", "name": "West"}', :'planning') AS west \gset

-- New documents belong to the account of the session.
SELECT set_config('dms.account', :'east', false) IS NOT NULL AS east;
SELECT make('users', '{"userId": "ann", "name": "Ann", "emailAddress": "ann@example.org"}', :'east') AS ann \gset
SELECT make('jobCollections', '{"jobCollectionId": "n", "name": "Nightly"}', :'east') AS nightly \gset
SELECT make('jobs', '{"jobId": "1", "name": "Backup"}', :'nightly') AS backup \gset
SELECT set_config('dms.account', :'west', false) IS NOT NULL AS west;
SELECT make('users', '{"userId": "bob", "name": "Bob", "emailAddress": "bob@example.org"}', :'west') AS bob \gset
SELECT make('jobCollections', '{"jobCollectionId": "r", "name": "Reports"}', :'west') AS reports \gset
SELECT make('jobs', '{"jobId": "2", "name": "Sales"}', :'reports') AS sales \gset
RESET dms.account;
