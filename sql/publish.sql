-- Change data capture: dms.DocumentCache is published, with the ids of documents as keys.
-- The stream itself is tested by test/t/095_cdc.pl.
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_publish;
DROP ROLE IF EXISTS regress_publish_owner, regress_publish_admin, regress_publish_writer;
CREATE ROLE regress_publish_owner;
CREATE ROLE regress_publish_admin;
CREATE ROLE regress_publish_writer;
CREATE DATABASE dms_publish TEMPLATE template0 ENCODING 'UTF8';
SELECT current_database() AS home \gset
\c dms_publish
SET client_min_messages = error;
CREATE EXTENSION dms;
\getenv top PG_ABS_SRCDIR
\set file :top /test/schemas/isolation.json
\set schema `cat :'file'`

-- Three who are not each other: the owner of the store, an admin, and the owner of the
-- database, who is somebody else.
GRANT CREATE ON DATABASE dms_publish TO regress_publish_owner;
ALTER SCHEMA dms OWNER TO regress_publish_owner;
GRANT USAGE ON SCHEMA dms_internal TO regress_publish_owner;
GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA dms, dms_internal TO regress_publish_owner;
GRANT EXECUTE ON ALL PROCEDURES IN SCHEMA dms TO regress_publish_owner;
SET SESSION AUTHORIZATION regress_publish_owner;
SELECT dms.deploy_schema(:'schema') IS NOT NULL AS deployed;
RESET SESSION AUTHORIZATION;
REVOKE CREATE ON DATABASE dms_publish FROM regress_publish_owner;
SELECT dms.grant_access('regress_publish_admin', 'admin'), dms.grant_access('regress_publish_writer', 'writer');
\set VERBOSITY terse
\pset null (null)

-- What is published: operations, keys, and the owner.
CREATE VIEW published AS
SELECT p.pubname AS name, p.pubowner::regrole AS owner, t.tablename AS table, cardinality(t.attnames) AS columns,
	concat_ws(', ', CASE WHEN pubinsert THEN 'insert' END, CASE WHEN pubupdate THEN 'update' END,
		CASE WHEN pubdelete THEN 'delete' END, CASE WHEN pubtruncate THEN 'truncate' END) AS operations
FROM pg_publication AS p LEFT JOIN pg_publication_tables AS t USING (pubname) ORDER BY 1;
CREATE VIEW key AS
SELECT c.relreplident AS identity, pg_get_indexdef(i.indexrelid) AS index
FROM pg_class AS c LEFT JOIN pg_index AS i ON i.indrelid = c.oid AND i.indisreplident WHERE c.oid = 'dms.documentcache'::regclass;
SELECT * FROM key;

-- It is for admins.  It runs with the rights of the owner of the store, who must be
-- allowed to create objects in the database, whoever calls.
SET ROLE regress_publish_writer;
SELECT dms.publish_documents();
SELECT dms.unpublish_documents();
SELECT dms.republish_documents('{}');
SET ROLE regress_publish_admin;
\set VERBOSITY default
\set SHOW_CONTEXT never
SELECT dms.publish_documents();
RESET ROLE;
SELECT dms.publish_documents();
\set VERBOSITY terse
SELECT * FROM published;
SELECT * FROM key;
GRANT CREATE ON DATABASE dms_publish TO regress_publish_owner;

-- The index on ids is the key.  (PostgreSQL warns if the server cannot decode its log; that
-- is not shown here.)
SET client_min_messages = error;
SET ROLE regress_publish_admin;
SELECT dms.publish_documents();
RESET ROLE;
SELECT * FROM published;
SELECT * FROM key;

-- Again: nothing changes.  What was changed by hand is as it should be again.
SELECT dms.publish_documents();
ALTER PUBLICATION dms_documents SET (publish = 'insert, truncate');
SELECT dms.publish_documents();
SELECT * FROM published;

-- Another name is another publication of the same.
SELECT dms.publish_documents('Second "one"');
SELECT * FROM published;
SELECT publications FROM dms.status();
SELECT dms.publish_documents(NULL);
SELECT dms.unpublish_documents(NULL);

-- Publications of others, or of other tables, are neither changed nor dropped.
SET ROLE regress_publish_owner;
CREATE PUBLICATION some_rows FOR TABLE dms.DocumentCache WHERE (Etag > 5);
CREATE PUBLICATION more_tables FOR TABLE dms.DocumentCache, dms.Document;
CREATE PUBLICATION nothing;
RESET ROLE;
CREATE PUBLICATION of_another FOR TABLE dms.DocumentCache WITH (publish = 'insert');
CREATE PUBLICATION everything FOR ALL TABLES;
CREATE PUBLICATION whole_schema FOR TABLES IN SCHEMA dms;
SET client_min_messages = warning;
SET ROLE regress_publish_admin;
DO $$
DECLARE
	name name;
BEGIN
	FOREACH name IN ARRAY '{some_rows, more_tables, nothing, of_another, everything, whole_schema}'::name[] LOOP
		BEGIN
			PERFORM dms.publish_documents(name);
			RAISE WARNING '% was taken', name;
		EXCEPTION WHEN invalid_parameter_value THEN
			RAISE WARNING '%', SQLERRM;
		END;
		BEGIN
			PERFORM dms.unpublish_documents(name);
			RAISE WARNING '% was dropped', name;
		EXCEPTION WHEN invalid_parameter_value THEN
			NULL;
		END;
	END LOOP;
END $$;
RESET ROLE;
SELECT count(*) FROM pg_publication;
DROP PUBLICATION some_rows, more_tables, nothing, of_another, everything, whole_schema;

-- TRUNCATE is not in the stream.  So the cache is not cleared while it is published, and
-- when all documents are truncated, their rows are deleted first.
CREATE FUNCTION deleted() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RAISE WARNING '% rows are deleted', (SELECT count(*) FROM gone);
	RETURN NULL;
END $$;
CREATE TRIGGER deleted AFTER DELETE ON dms.DocumentCache REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION deleted();
SELECT dms.clear_cache();
SET dms.direct_access = on;
SET client_min_messages = error;
SELECT dms.set_cache_mode('write_through');
SELECT document_uuid AS one FROM dms.upsert_document('isolation', 'sessions', '{"sessionName": "S", "title": "one"}') \gset
SELECT document_uuid AS two FROM dms.upsert_document('isolation', 'offerings', '{"code": "O", "sessionReference": {"sessionName": "S"}}') \gset
SET client_min_messages = warning;
BEGIN;
TRUNCATE dms.Document CASCADE;
ROLLBACK;
SELECT dms.delete_document(:'two');
DROP TRIGGER deleted ON dms.DocumentCache;
SELECT document_uuid AS two FROM dms.upsert_document('isolation', 'offerings', '{"code": "O", "sessionReference": {"sessionName": "S"}}') \gset

-- Documents are sent again when their rows are written again, whatever they have now.
-- The result are those that do not exist: a copy that has them should delete them.
CREATE FUNCTION written() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	RAISE WARNING '% of %: etag % after %, text stored anew %', TG_OP, NEW.ResourceName, NEW.Etag, OLD.Etag,
		NEW.DocumentJson::text IS NOT NULL AND (TG_OP = 'INSERT' OR NEW.ComputedAt > OLD.ComputedAt);
	RETURN NEW;
END $$;
CREATE TRIGGER written BEFORE INSERT OR UPDATE ON dms.DocumentCache FOR EACH ROW EXECUTE FUNCTION written();
SELECT dms.republish_documents(ARRAY[:'two', :'one', :'two']::uuid[]);
SELECT * FROM dms.republish_documents(ARRAY['00000000-0000-0000-0000-00000000000b', :'one', '00000000-0000-0000-0000-00000000000a']::uuid[]);
BEGIN;
DELETE FROM dms.DocumentCache;
SELECT dms.republish_documents(ARRAY[:'one']::uuid[]);
ROLLBACK;
BEGIN;
UPDATE dms.DocumentCache SET DocumentJson = '{}', Etag = Etag - 1;
SELECT dms.republish_documents(ARRAY[:'one']::uuid[]);
SELECT DocumentJson ->> 'title' AS title FROM dms.DocumentCache WHERE DocumentUuid = :'one';
ROLLBACK;
-- A row that somebody has written with a later etag stays.
BEGIN;
UPDATE dms.DocumentCache SET Etag = Etag + 5;
SELECT dms.republish_documents(ARRAY[:'one']::uuid[]);
ROLLBACK;
DROP TRIGGER written ON dms.DocumentCache;
SELECT dms.republish_documents('{}');
SELECT dms.republish_documents(NULL);
SELECT dms.republish_documents('{NULL}');
SELECT count(*) AS missing FROM dms.republish_documents((SELECT array_agg(gen_random_uuid()) FROM generate_series(1, 1234)));
SET ROLE regress_publish_admin;
SELECT dms.republish_documents(ARRAY[:'one']::uuid[]);
RESET ROLE;
SELECT count(*) AS findings FROM dms.audit();

-- A row that was left behind does not stop its document from being restored.
SELECT dms.configure_resource('isolation', 'sessions', '{"history": true}') IS NOT NULL AS kept;
SELECT document_uuid AS gone FROM dms.upsert_document('isolation', 'sessions', '{"sessionName": "G", "title": "gone"}') \gset
SELECT dms.delete_document(:'gone');
INSERT INTO dms.DocumentCache SELECT -1, :'gone', ProjectName, ResourceName, ResourceVersion, 1, now(), '{}' FROM dms.DocumentCache LIMIT 1;
SELECT outcome FROM dms.restore_document(:'gone', 1);
SELECT DocumentId > 0 AS new, DocumentJson ->> 'title' AS title FROM dms.DocumentCache WHERE DocumentUuid = :'gone';
SELECT dms.set_cache_mode('eventual');
SELECT dms.delete_document(:'gone');
INSERT INTO dms.DocumentCache SELECT -1, :'gone', ProjectName, ResourceName, ResourceVersion, 1, now(), '{}' FROM dms.DocumentCache LIMIT 1;
SELECT outcome FROM dms.restore_document(:'gone', 1);
CALL dms.project_documents();
SELECT DocumentId > 0 AS new, DocumentJson ->> 'title' AS title FROM dms.DocumentCache WHERE DocumentUuid = :'gone';
SELECT count(*) AS failures FROM dms.ProjectionFailure;

-- With the last publication the key is as it was.
SELECT dms.set_cache_mode('off');
SELECT dms.republish_documents('{}');
SET ROLE regress_publish_admin;
SELECT dms.unpublish_documents();
RESET ROLE;
SELECT * FROM published;
SELECT * FROM key;
SELECT dms.unpublish_documents('Second "one"');
SELECT * FROM published;
SELECT * FROM key;
SELECT dms.unpublish_documents();
SELECT dms.clear_cache();

-- Rows that were left behind are swept when documents are published.  In a transaction
-- that is rolled back, nothing happens.
INSERT INTO dms.DocumentCache SELECT n, :'one', ProjectName, ResourceName, '1', 1, now(), '{}' FROM dms.ResourceType, generate_series(-2, -1) AS n
WHERE ResourceName = 'Session';
BEGIN;
SET LOCAL client_min_messages = error;
SELECT dms.publish_documents();
ROLLBACK;
SELECT * FROM published;
SELECT * FROM key;
BEGIN READ ONLY;
SELECT dms.publish_documents();
ROLLBACK;

\c :home
DROP DATABASE dms_publish;
DROP ROLE regress_publish_owner, regress_publish_admin, regress_publish_writer;
