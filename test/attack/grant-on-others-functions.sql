-- dms.grant_access() grants as the owner of the extension's functions, a superuser.  It once ran
-- statements that came from a function found by its name, which the schema's owner can replace.
-- expect: ERROR:  55000: the schema of the extension is called "dmsx"
CREATE FUNCTION public.of_the_superuser() RETURNS void LANGUAGE plpgsql SECURITY DEFINER
	AS $$ BEGIN RAISE NOTICE 'pwned as %', current_user; END $$;
REVOKE EXECUTE ON FUNCTION public.of_the_superuser() FROM PUBLIC;
\c - dbo
CREATE EXTENSION dms;
ALTER SCHEMA dms RENAME TO dmsx;
ALTER SCHEMA public RENAME TO dms;
CREATE FUNCTION dms.access_ddl(role name, level text) RETURNS TABLE (statement text, of_store boolean) LANGUAGE sql AS
	$$ VALUES ('GRANT EXECUTE ON ROUTINE dms.of_the_superuser() TO dbo', false) $$;
SELECT dmsx.grant_access('dbo', 'admin');
SELECT dms.of_the_superuser();
