-- Writes once ran as the owner of any relation called dms.document: here a table that a superuser
-- created long ago, in a schema that was renamed.
-- expect: ERROR:  55000: the schema of the extension is called "dmsx"
CREATE TABLE public.document (id int);
\c - dbo
CREATE EXTENSION dms;
ALTER SCHEMA dms RENAME TO dmsx;
ALTER SCHEMA public RENAME TO dms;
CREATE TABLE dms.referenceedge (x int);
CREATE TABLE dms.resourcemodel (x int);
CREATE TABLE dms.idempotencykeys (id uuid, route text, httpmethod text, key text, statuscode int, isprocessed boolean,
	requestfingerprint text, claimedat timestamptz, expiresat timestamptz, createdat timestamptz, responseheaders jsonb,
	responsebody text, contenttype text, processingcompletedat timestamptz, UNIQUE (route, httpmethod, key));
CREATE FUNCTION dms.evil() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
	$$ BEGIN RAISE NOTICE 'pwned as %', current_user; EXECUTE 'ALTER ROLE dbo SUPERUSER'; RETURN NEW; END $$;
CREATE TRIGGER evil BEFORE INSERT ON dms.idempotencykeys FOR EACH ROW EXECUTE FUNCTION dms.evil();
SELECT state FROM dmsx.idempotency_begin('/x', 'POST', 'k');
