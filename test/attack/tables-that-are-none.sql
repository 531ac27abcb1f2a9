-- Something else replaces a core table.  The owner's rights are lent only for ordinary tables of one
-- owner.
-- expect: [view] ERROR:  55000: "dms.idempotencykeys" is not an ordinary table
-- expect: [materialized view] ERROR:  55000: "dms.idempotencykeys" is not an ordinary table
-- expect: [foreign table] ERROR:  55000: "dms.idempotencykeys" is not an ordinary table
-- expect: [partitioned] ERROR:  55000: "dms.idempotencykeys" is not an ordinary table
-- expect: [partition] ERROR:  55000: "dms.idempotencykeys" is not an ordinary table
-- expect: [unlogged] ERROR:  55000: "dms.idempotencykeys" is not an ordinary table
-- expect: [inherited] ERROR:  55000: "dms.idempotencykeys" is not an ordinary table
-- expect: [missing] ERROR:  55000: "dms.idempotencykeys" of the store is missing
-- expect: [sequence] ERROR:  55000: sequence "dms.document_documentid_seq" belongs to role "mallory", and not to the store's owner
\ir lib/store.sql
ALTER TABLE dms.idempotencykeys RENAME TO kept;
CREATE FUNCTION public.evil() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'pwned as %', current_user; RETURN NEW; END $$;

\echo =view=
CREATE VIEW dms.idempotencykeys AS SELECT * FROM dms.kept;
CREATE TRIGGER evil INSTEAD OF INSERT ON dms.idempotencykeys FOR EACH ROW EXECUTE FUNCTION public.evil();
\c - writer
SELECT state FROM dms.idempotency_begin('/x', 'POST', 'k');
\c - dbo
DROP VIEW dms.idempotencykeys;

\echo =materialized view=
CREATE MATERIALIZED VIEW dms.idempotencykeys AS SELECT * FROM dms.kept;
\c - writer
SELECT state FROM dms.idempotency_begin('/x', 'POST', 'k');
\c - dbo
DROP MATERIALIZED VIEW dms.idempotencykeys;

\echo =foreign table=
\c - postgres
CREATE FOREIGN DATA WRAPPER nothing;
CREATE SERVER nowhere FOREIGN DATA WRAPPER nothing;
GRANT USAGE ON FOREIGN SERVER nowhere TO dbo;
\c - dbo
CREATE FOREIGN TABLE dms.idempotencykeys (id uuid) SERVER nowhere;
\c - writer
SELECT state FROM dms.idempotency_begin('/x', 'POST', 'k');
\c - dbo
DROP FOREIGN TABLE dms.idempotencykeys;

\echo =partitioned=
CREATE TABLE dms.idempotencykeys (LIKE dms.kept, UNIQUE (route, httpmethod, key)) PARTITION BY LIST (route);
CREATE TABLE public.part PARTITION OF dms.idempotencykeys DEFAULT;
CREATE TRIGGER evil BEFORE INSERT ON public.part FOR EACH ROW EXECUTE FUNCTION public.evil();
\c - writer
SELECT state FROM dms.idempotency_begin('/x', 'POST', 'k');
\c - dbo
DROP TABLE dms.idempotencykeys;

\echo =partition=
CREATE TABLE public.whole (LIKE dms.kept, UNIQUE (route, httpmethod, key)) PARTITION BY LIST (route);
CREATE TRIGGER evil BEFORE INSERT ON public.whole FOR EACH ROW EXECUTE FUNCTION public.evil();
CREATE TABLE dms.idempotencykeys PARTITION OF public.whole DEFAULT;
\c - writer
SELECT state FROM dms.idempotency_begin('/x', 'POST', 'k');
\c - dbo
DROP TABLE public.whole;

\echo =unlogged=
CREATE UNLOGGED TABLE dms.idempotencykeys (LIKE dms.kept INCLUDING ALL);
CREATE TRIGGER evil BEFORE INSERT ON dms.idempotencykeys FOR EACH ROW EXECUTE FUNCTION public.evil();
\c - writer
SELECT state FROM dms.idempotency_begin('/x', 'POST', 'k');
\c - dbo
DROP TABLE dms.idempotencykeys;

\echo =inherited=
ALTER TABLE dms.kept RENAME TO idempotencykeys;
CREATE TABLE public.more () INHERITS (dms.idempotencykeys);
INSERT INTO public.more (id, route, httpmethod, key, statuscode, claimedat, expiresat, createdat)
	VALUES (dms.uuid_v7(), '/x', 'POST', 'old', 102, now() - interval '2 h', now() - interval '1 h', now() - interval '2 h');
CREATE TRIGGER evil BEFORE DELETE ON public.more FOR EACH ROW EXECUTE FUNCTION public.evil();
SELECT dms.purge_idempotency_keys();
DROP TABLE public.more;

\echo =missing=
ALTER TABLE dms.idempotencykeys RENAME TO kept;
\c - writer
SELECT state FROM dms.idempotency_begin('/x', 'POST', 'k');
\c - dbo
ALTER TABLE dms.kept RENAME TO idempotencykeys;

\echo =sequence=
ALTER TABLE dms.document ALTER documentid DROP IDENTITY;
\c - postgres
CREATE SEQUENCE dms.document_documentid_seq START 1000;
ALTER SEQUENCE dms.document_documentid_seq OWNER TO mallory;
\c - writer
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
\c - postgres
ALTER SEQUENCE dms.document_documentid_seq OWNER TO dbo;
\c - writer
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
