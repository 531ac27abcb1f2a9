-- The database's owner prepares the schema: functions that the install script, or a function of the extension, could call in place of its own.
-- expect: ERROR:  42725: function dms.access_levels\(\) is not unique
-- expect: [deploy] ERROR:  42725: function dms.core_ddl\(\) is not unique
\c - dbo
CREATE SCHEMA dms;
CREATE FUNCTION dms.pwn() RETURNS integer LANGUAGE plpgsql AS
	$$ BEGIN IF current_user <> 'dbo' THEN RAISE NOTICE 'pwned as %', current_user; END IF; RETURN 1; END $$;
CREATE FUNCTION dms.access_levels(n integer DEFAULT dms.pwn()) RETURNS TABLE (level text, functions text[], tables text[]) LANGUAGE plpgsql AS
	$$ BEGIN PERFORM dms.pwn(); RETURN QUERY VALUES ('public', '{}'::text[], '{}'::text[]); END $$;
CREATE EXTENSION dms;
DROP FUNCTION dms.access_levels(integer);
CREATE FUNCTION dms.access_levels(VARIADIC n integer[]) RETURNS TABLE (level text, functions text[], tables text[]) LANGUAGE plpgsql AS
	$$ BEGIN PERFORM dms.pwn(); RETURN QUERY VALUES ('public', '{}'::text[], '{}'::text[]); END $$;
CREATE FUNCTION dms.core_ddl(n integer DEFAULT dms.pwn()) RETURNS SETOF text LANGUAGE plpgsql AS $$ BEGIN RETURN NEXT dms.pwn()::text; END $$;
CREATE EXTENSION dms;
\echo =deploy=
\c - postgres
ALTER SCHEMA dms OWNER TO postgres;
SELECT dms.deploy_schema(:'schema');
DROP FUNCTION dms.core_ddl(integer);
ALTER SCHEMA dms OWNER TO dbo;
SELECT dms.deploy_schema(:'schema');
