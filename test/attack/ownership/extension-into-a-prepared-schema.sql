-- The owner of the database creates the schemas first, with functions that the install script or the
-- extension could call instead of its own.
-- expect: ERROR:  42P06: schema "dms_internal" already exists
-- expect: ERROR:  42725: function dms.access_levels\(\) is not unique
-- expect: [deploy x2] ERROR:  42501: permission denied for schema dms_internal
-- expect: [deploy x2] ERROR:  42501: must be owner of schema dms_internal
-- expect: [deploy] ERROR:  55000: schema "dms" belongs to role "dbo"
\c - dbo
CREATE SCHEMA dms;
CREATE FUNCTION dms.pwn() RETURNS integer LANGUAGE plpgsql AS
	$$ BEGIN IF current_user <> 'dbo' THEN RAISE NOTICE 'pwned as %', current_user; END IF; RETURN 1; END $$;
CREATE SCHEMA dms_internal;
CREATE FUNCTION dms_internal.core_ddl(n integer DEFAULT dms.pwn()) RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN RETURN NEXT dms.pwn()::text; END $$;
CREATE EXTENSION dms;
DROP SCHEMA dms_internal CASCADE;
CREATE FUNCTION dms.access_levels(n integer DEFAULT dms.pwn()) RETURNS TABLE (level text, functions text[], tables text[]) LANGUAGE plpgsql AS
	$$ BEGIN PERFORM dms.pwn(); RETURN QUERY VALUES ('public', '{}'::text[], '{}'::text[]); END $$;
CREATE EXTENSION dms;
DROP FUNCTION dms.access_levels(integer);
CREATE FUNCTION dms.access_levels(VARIADIC n integer[]) RETURNS TABLE (level text, functions text[], tables text[]) LANGUAGE plpgsql AS
	$$ BEGIN PERFORM dms.pwn(); RETURN QUERY VALUES ('public', '{}'::text[], '{}'::text[]); END $$;
CREATE FUNCTION dms.core_ddl() RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN RETURN NEXT dms.pwn()::text; END $$;
CREATE EXTENSION dms;
\echo =deploy=
CREATE FUNCTION dms_internal.core_ddl(n integer DEFAULT dms.pwn()) RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN RETURN NEXT dms.pwn()::text; END $$;
CREATE FUNCTION dms_internal.access_ddl(role text, level text) RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN RETURN NEXT dms.pwn()::text; END $$;
ALTER SCHEMA dms_internal RENAME TO mine;
DROP SCHEMA dms_internal CASCADE;
\c - postgres
ALTER SCHEMA dms OWNER TO postgres;
SELECT dms.deploy_schema(:'schema');
ALTER SCHEMA dms OWNER TO dbo;
SELECT dms.deploy_schema(:'schema');
