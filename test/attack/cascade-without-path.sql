-- A foreign key cascades to another table, of the owner or of another role, whose triggers then run as
-- the owner of that table.
-- expect: [own] ERROR:  55000: function public.note\(\) behind table "public.visit" has no search_path of its own
-- expect: [other] ERROR:  55000: function theirs.note\(\) behind table "theirs.visit" has no search_path of its own
-- expect: [update] ERROR:  55000: function public.note\(\) behind table "public.plan" has no search_path of its own
\ir lib/store.sql
\ir lib/careless.sql
SELECT document_uuid AS school, document_id AS id FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 5, "name": "Five"}') \gset

\echo =own=
CREATE TABLE public.visit (school bigint REFERENCES cascade.school ON DELETE CASCADE);
CREATE FUNCTION public.note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM value FROM settings; RETURN OLD; END';
CREATE TRIGGER note BEFORE DELETE ON public.visit FOR EACH ROW EXECUTE FUNCTION public.note();
INSERT INTO public.visit VALUES (:id);
\ir lib/trap.sql
SELECT dms.delete_document(:'school');
\c - dbo
DROP TABLE public.visit;
SELECT document_uuid AS school, document_id AS id FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 5, "name": "Five"}') \gset

\echo =other=
GRANT REFERENCES ON cascade.school TO mallory;
GRANT USAGE ON SCHEMA cascade TO mallory;
\c - postgres
CREATE SCHEMA theirs AUTHORIZATION mallory;
\c - mallory
CREATE TABLE theirs.visit (school bigint REFERENCES cascade.school ON DELETE SET NULL);
CREATE TABLE theirs.settings AS SELECT 'x' AS value;
CREATE FUNCTION theirs.note() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM value FROM settings; RETURN NEW; END';
CREATE TRIGGER note BEFORE UPDATE ON theirs.visit FOR EACH ROW EXECUTE FUNCTION theirs.note();
INSERT INTO theirs.visit VALUES (:id);
\ir lib/trap.sql
SELECT dms.delete_document(:'school');
\c - mallory
DROP TABLE theirs.visit;
\c - dbo
SELECT document_uuid AS school, document_id AS id FROM dms.upsert_document('Cascade', 'School', '{"schoolId": 5, "name": "Five"}') \gset

\echo =update=
ALTER TABLE cascade.school ADD UNIQUE (schoolid);
CREATE TABLE public.plan (school bigint REFERENCES cascade.school (schoolid) ON UPDATE CASCADE);
CREATE TRIGGER note BEFORE UPDATE ON public.plan FOR EACH ROW EXECUTE FUNCTION public.note();
INSERT INTO public.plan VALUES (5);
\ir lib/trap.sql
SELECT outcome FROM dms.update_document(:'school', '{"schoolId": 6, "name": "Five"}');
\c - dbo
SELECT * FROM public.plan;
