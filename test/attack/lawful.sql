-- Not an attack: what must continue to work.
-- expect: [deployed by a role that a superuser becomes] ^inserted$
-- expect: [a trigger] NOTICE:  00000: as dep for writer with pg_catalog, pg_temp
-- expect: [a trigger] ^inserted$
-- expect: [a schema of the owner in the path] ^updated$
-- expect: [functions in C] ^inserted$
-- expect: [expressions] ^inserted$
-- expect: [expressions] ^updated$
-- expect: [deletes] NOTICE:  00000: as dep for writer with pg_catalog, pg_temp
-- expect: [deletes] ^t$
-- expect: [not by the way] ^inserted$
CREATE EXTENSION dms;
CREATE EXTENSION moddatetime SCHEMA public;
CREATE EXTENSION btree_gist SCHEMA public;
GRANT ALL ON SCHEMA dms TO dep;
GRANT CREATE ON DATABASE :"DBNAME" TO dep;
SELECT dms.grant_access('dep', 'admin');
SET client_min_messages = warning;
\echo =deployed by a role that a superuser becomes=
SET ROLE dep;
SELECT dms.deploy_schema(:'schema') IS NOT NULL AS deployed;
RESET ROLE;
RESET client_min_messages;
SELECT dms.grant_access('writer', 'writer');
\c - writer
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 1, "name": "One"}');

\echo =a trigger=
\c - dep
CREATE SCHEMA app;
CREATE TABLE app.log (line text);
CREATE FUNCTION app.note() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	INSERT INTO app.log VALUES (TG_OP);
	RAISE NOTICE 'as % for % with %', current_user, session_user, current_setting('search_path');
	RETURN COALESCE(NEW, OLD);
END $$;
CREATE TRIGGER note BEFORE INSERT OR DELETE ON cascade.school FOR EACH ROW EXECUTE FUNCTION app.note();
\c - writer
SET search_path = nowhere;
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Two"}');
SELECT current_setting('search_path') AS search_path;

\echo =a schema of the owner in the path=
\c - dep
CREATE FUNCTION app.unqualified() RETURNS trigger LANGUAGE plpgsql SET search_path = app, pg_temp AS
	$$ BEGIN INSERT INTO log VALUES (TG_OP); RETURN NEW; END $$;
CREATE TRIGGER unqualified BEFORE UPDATE ON cascade.school FOR EACH ROW EXECUTE FUNCTION app.unqualified();
\ir lib/trap.sql
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 2, "name": "Too"}');

\echo =functions in C=
\c - dep
ALTER TABLE cascade.session ADD changed timestamp, ADD number integer DEFAULT 1, ADD EXCLUDE USING gist (documentid public.gist_int8_ops WITH =);
CREATE TRIGGER changed BEFORE UPDATE ON cascade.session FOR EACH ROW EXECUTE FUNCTION public.moddatetime(changed);
CREATE TRIGGER suppressed BEFORE UPDATE ON cascade.session FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger();
\c - writer
SELECT outcome FROM dms.upsert_document('Cascade', 'Session', '{"schoolReference": {"schoolId": 1}, "sessionName": "Fall"}');

\echo =expressions=
\c - dep
CREATE FUNCTION app.tidy(value text) RETURNS text LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS 'SELECT btrim($1)';
CREATE DOMAIN app.tidy_text AS text DEFAULT app.tidy(' x ') CHECK (VALUE = app.tidy(VALUE));
ALTER TABLE cascade.school ADD tidy_name text GENERATED ALWAYS AS (app.tidy(name)) STORED, ADD note app.tidy_text,
	ADD CHECK (app.tidy(name) <> '');
CREATE INDEX ON cascade.school (app.tidy(name)) WHERE name <> app.tidy(' y ');
CREATE STATISTICS app.tidied ON (app.tidy(name)), schoolid FROM cascade.school;
\c - writer
SELECT outcome, document_uuid AS school FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 3, "name": "Three"}') \gset
\echo :outcome
SELECT outcome FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 3, "name": "Free"}');

\echo =deletes=
SELECT dms.delete_document(:'school');

-- Code that a statement does not run is not checked.
\echo =not by the way=
\c - dep
CREATE FUNCTION app.careless() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN COALESCE(NEW, OLD); END';
CREATE TRIGGER careless BEFORE DELETE OR TRUNCATE ON cascade.note FOR EACH STATEMENT EXECUTE FUNCTION app.careless();
CREATE TRIGGER disabled BEFORE INSERT ON cascade.note FOR EACH ROW EXECUTE FUNCTION app.careless();
ALTER TABLE cascade.note DISABLE TRIGGER disabled;
\c - writer
SELECT outcome FROM dms.upsert_document('Cascade', 'Note', '{"noteId": 1}');
