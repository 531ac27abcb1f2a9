-- A foreign key cascades to a table with rules, which apply to the statements of foreign keys, too.
-- Functions in the rules depend on the caller's search_path.
-- expect: [delete] ERROR:  55000: table "public.visit" has rules
-- expect: [insert] ^t$
\ir ../lib/store.sql
\ir ../lib/careless.sql
CREATE TABLE public.visit (school bigint REFERENCES cascade.school ON DELETE CASCADE);
CREATE RULE note AS ON DELETE TO public.visit DO ALSO INSERT INTO public.log VALUES (public.careless());
INSERT INTO public.visit SELECT documentid FROM cascade.school;
SELECT documentuuid AS id FROM dms.document \gset
\echo =delete=
\ir ../lib/trap.sql
SELECT dms.delete_document(:'id');
\c - dbo
DROP RULE note ON public.visit;
CREATE RULE note AS ON INSERT TO public.visit DO ALSO INSERT INTO public.log VALUES (public.careless());
\echo =insert=
\ir ../lib/trap.sql
SELECT dms.delete_document(:'id');
