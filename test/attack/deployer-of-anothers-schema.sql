-- The owner of the database owns the extension's schema, and could replace the tables of a store that
-- another role deployed there.
-- expect: ERROR:  ZD422: .*
-- expect: The database schema \\"dms\\" exists and belongs to the role \\"dbo\\"
\c - dbo
CREATE EXTENSION dms;
SELECT dms.grant_access('dep', 'admin');
GRANT ALL ON SCHEMA dms TO dep;
GRANT CREATE ON DATABASE :"DBNAME" TO dep;
\c - dep
SET client_min_messages = warning;
SELECT dms.deploy_schema(:'schema') IS NOT NULL AS deployed;
\c - dbo
DROP TABLE dms.idempotencykeys;
CREATE TABLE dms.idempotencykeys (id uuid, route text, httpmethod text, key text, statuscode int, isprocessed boolean,
	requestfingerprint text, claimedat timestamptz, expiresat timestamptz, createdat timestamptz, responseheaders jsonb,
	responsebody text, contenttype text, processingcompletedat timestamptz, UNIQUE (route, httpmethod, key));
GRANT ALL ON dms.idempotencykeys TO PUBLIC;
CREATE FUNCTION dms.evil() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS
	$$ BEGIN RAISE NOTICE 'pwned as %', current_user; RETURN NEW; END $$;
CREATE TRIGGER evil BEFORE INSERT ON dms.idempotencykeys FOR EACH ROW EXECUTE FUNCTION dms.evil();
SELECT state FROM dms.idempotency_begin('/x', 'POST', 'k');
