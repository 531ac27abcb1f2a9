-- After the deploy, the extension's schema is given to another role.  The owner of a schema can drop and
-- replace the tables in it.  As long as the tables are the original ones, giving the schema back is
-- enough.
-- expect: [schema] ERROR:  55000: schema "dms" belongs to role "mallory", which does not have the rights of the store's owner
-- expect: [schema] HINT:  ALTER SCHEMA dms OWNER TO dbo
-- expect: [table] ERROR:  55000: table "dms.idempotencykeys" belongs to role "mallory", and not to the store's owner "dbo"
-- expect: [table] HINT:  If it is the store's own: ALTER TABLE dms.idempotencykeys OWNER TO dbo
\ir lib/store.sql
\c - postgres
ALTER SCHEMA dms OWNER TO mallory;
GRANT USAGE ON SCHEMA dms TO PUBLIC;
\echo =schema=
\c - writer
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
SELECT state FROM dms.idempotency_begin('/x', 'POST', 'k');
\c - mallory
DROP TABLE dms.idempotencykeys;
CREATE TABLE dms.idempotencykeys (id uuid, route text, httpmethod text, key text, statuscode int, isprocessed boolean,
	requestfingerprint text, claimedat timestamptz, expiresat timestamptz, createdat timestamptz, responseheaders jsonb,
	responsebody text, contenttype text, processingcompletedat timestamptz, UNIQUE (route, httpmethod, key));
GRANT ALL ON dms.idempotencykeys TO PUBLIC;
CREATE FUNCTION dms.evil() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
	$$ BEGIN RAISE NOTICE 'pwned as %', current_user; RETURN NEW; END $$;
CREATE TRIGGER evil BEFORE INSERT ON dms.idempotencykeys FOR EACH ROW EXECUTE FUNCTION dms.evil();
\echo =table=
\c - writer
SELECT state FROM dms.idempotency_begin('/x', 'POST', 'k');
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
