-- A caller's temporary table and view in the places of the owner's: whoever inserts into the one or reads the other evaluates a function of
-- the caller's.
\c - writer
CREATE FUNCTION pg_temp.trap() RETURNS text LANGUAGE plpgsql AS
	$$ BEGIN RAISE NOTICE 'pwned as %', current_user; RETURN 'x'; END $$;
CREATE TEMP TABLE log (line text, trap text DEFAULT pg_temp.trap());
CREATE TEMP VIEW settings AS SELECT pg_temp.trap() AS value;
GRANT ALL ON log, settings TO PUBLIC;
