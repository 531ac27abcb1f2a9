-- The same without renaming: the extension's schema has one table of a superuser, and its owner creates
-- the other ones.
-- expect: ERROR:  55000: table "dms.referenceedge" belongs to role "dbo", and not to the store's owner "postgres"
\c - dbo
CREATE EXTENSION dms;
\c - postgres
CREATE TABLE dms.document (id int);
\c - dbo
CREATE TABLE dms.store (x int);
CREATE TABLE dms.referentialidentity (x int);
CREATE TABLE dms.descriptor (x int);
CREATE TABLE dms.edgesource (x int);
CREATE TABLE dms.referenceedge (x int);
CREATE TABLE dms.identitylock (x int);
CREATE TABLE dms.effectiveschema (x int);
CREATE TABLE dms.schemacomponent (x int);
CREATE TABLE dms.resourcemodel (x int);
CREATE SEQUENCE dms.document_documentid_seq;
CREATE TABLE dms.idempotencykeys (id uuid, route text, httpmethod text, key text, statuscode int, isprocessed boolean,
	requestfingerprint text, claimedat timestamptz, expiresat timestamptz, createdat timestamptz, responseheaders jsonb,
	responsebody text, contenttype text, processingcompletedat timestamptz, UNIQUE (route, httpmethod, key));
CREATE FUNCTION dms.evil() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
	$$ BEGIN RAISE NOTICE 'pwned as %', current_user; EXECUTE 'ALTER ROLE dbo SUPERUSER'; RETURN NEW; END $$;
CREATE TRIGGER evil BEFORE INSERT ON dms.idempotencykeys FOR EACH ROW EXECUTE FUNCTION dms.evil();
SELECT state FROM dms.idempotency_begin('/x', 'POST', 'k');
