-- The store's owner gives an option of dms.Store a type whose conversion to json depends on the
-- search_path.  An administrator, who reads the options with the owner's rights, has created an object
-- in that path.  The type is refused before anything is converted.
-- expect: [x2] ERROR:  55000: table "dms.store" has no column "maxcascadesize" of the type that is expected
\ir ../lib/store.sql
SELECT dms.grant_access('writer', 'admin');
CREATE TYPE public.odd AS ENUM ('a');
CREATE TABLE public.log (line text);
CREATE FUNCTION public.to_json(public.odd) RETURNS json LANGUAGE plpgsql AS $$ BEGIN INSERT INTO log VALUES ('x'); RETURN '1'; END $$;
CREATE CAST (public.odd AS json) WITH FUNCTION public.to_json(public.odd);
ALTER TABLE dms.Store DROP COLUMN MaxCascadeSize;
ALTER TABLE dms.Store ADD COLUMN MaxCascadeSize public.odd DEFAULT 'a';
\ir ../lib/trap.sql
SELECT dms.configure_store('{}');
SELECT dms.configure_store('{"verifyEdges": 1}');
