-- Other roles create functions in the extension's schema, with names of functions of the extension.  A
-- level grants no privilege on them.
-- expect: ERROR:  42501: permission denied for function resources
-- expect: ERROR:  42501: permission denied for procedure get_document
\c - dbo
CREATE EXTENSION dms;
\c - postgres
CREATE FUNCTION dms.resources(secret text) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
	AS $$ BEGIN RAISE NOTICE 'pwned as %', current_user; END $$;
REVOKE EXECUTE ON FUNCTION dms.resources(text) FROM PUBLIC;
CREATE PROCEDURE dms.get_document(secret text) LANGUAGE plpgsql SECURITY DEFINER
	AS $$ BEGIN RAISE NOTICE 'pwned as %', current_user; END $$;
REVOKE EXECUTE ON PROCEDURE dms.get_document(text) FROM PUBLIC;
\c - dbo
SELECT dms.grant_access('dbo', 'admin'), dms.grant_access('mallory', 'reader');
SELECT dms.resources('x'::text);
CALL dms.get_document('x'::text);
\c - mallory
SELECT dms.resources('x'::text);
CALL dms.get_document('x'::text);
