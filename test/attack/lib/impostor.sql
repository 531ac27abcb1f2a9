-- An owner of a store who puts other things in the place of its tables, and calls to be
-- made then.  For sql/hostile_tables.sql and sql/hostile_modules.sql, which fill the
-- table of the calls.
CREATE SCHEMA impostor;

-- Returns an id when it is first called for it, and another one the next time,
-- so that the rows of a view do not satisfy the condition that it was filtered
-- by.
CREATE FUNCTION impostor.lie(id bigint) RETURNS bigint LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF current_setting('impostor.last', true) = id::text THEN
		PERFORM set_config('impostor.last', '', false);
		RETURN id + 1000003;
	END IF;
	PERFORM set_config('impostor.last', id::text, false);
	RETURN id;
END $$;
CREATE FUNCTION impostor.lie(id uuid) RETURNS uuid LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
	IF current_setting('impostor.last', true) = id::text THEN
		PERFORM set_config('impostor.last', '', false);
		RETURN 'ffffffff-ffff-ffff-ffff-ffffffffffff';
	END IF;
	PERFORM set_config('impostor.last', id::text, false);
	RETURN id;
END $$;

-- The calls.
CREATE TABLE impostor.call (n integer GENERATED ALWAYS AS IDENTITY, statement text);

-- Makes all calls, rolling back each, and returns those that raise an
-- unexpected error: neither data corruption nor an invalid argument.
CREATE FUNCTION impostor.make_calls(OUT answered integer, OUT refused integer, OUT unfair text) LANGUAGE plpgsql AS $$
DECLARE
	call record;
BEGIN
	answered := 0;
	refused := 0;
	FOR call IN SELECT c.statement FROM impostor.call AS c ORDER BY c.n LOOP
		BEGIN
			PERFORM set_config('impostor.last', '', false);
			EXECUTE call.statement;
			RAISE SQLSTATE 'ZZZZZ';
		EXCEPTION
			WHEN SQLSTATE 'ZZZZZ' THEN
				answered := answered + 1;
			WHEN OTHERS THEN
				refused := refused + 1;
				IF SQLSTATE NOT IN ('XX001', '40001', '0A000') AND left(SQLSTATE, 2) NOT IN ('21', '22', '23', '27', '42', '55', 'ZD') THEN
					unfair := concat_ws(' ', unfair, SQLSTATE, SQLERRM, 'in', call.statement);
				END IF;
		END;
	END LOOP;
END $$;

-- The tables of the store, and the replacements of each, to be rolled back.
CREATE FUNCTION impostor.columns(relation regclass, changed name, instead text) RETURNS text LANGUAGE sql STABLE
RETURN (SELECT string_agg(CASE WHEN a.attname = changed THEN format('%s AS %I', replace(instead, '?', format('t.%I', a.attname)), a.attname)
		ELSE format('t.%I', a.attname) END, ', ' ORDER BY a.attnum)
	FROM pg_attribute AS a WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped);

CREATE FUNCTION impostor.replace_by(relation regclass, query text, OUT answered integer, OUT refused integer, OUT unfair text)
LANGUAGE plpgsql AS $$
DECLARE
	place text := relation::text;
BEGIN
	EXECUTE format('ALTER TABLE %s RENAME TO hidden', relation);
	EXECUTE format('CREATE VIEW %s AS %s', place, replace(query, '@', relation::text));
	SELECT * INTO answered, refused, unfair FROM impostor.make_calls();
	RAISE SQLSTATE 'ZZZZZ';
EXCEPTION WHEN SQLSTATE 'ZZZZZ' THEN
	NULL;
END $$;

CREATE FUNCTION impostor.inherit(relation regclass, OUT answered integer, OUT refused integer, OUT unfair text)
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE impostor.child () INHERITS (%s)', relation);
	EXECUTE format('INSERT INTO impostor.child SELECT * FROM ONLY %s', relation);
	SELECT * INTO answered, refused, unfair FROM impostor.make_calls();
	RAISE SQLSTATE 'ZZZZZ';
EXCEPTION WHEN SQLSTATE 'ZZZZZ' THEN
	NULL;
END $$;

CREATE FUNCTION impostor.drop_constraints(relation regclass) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	c record;
BEGIN
	FOR c IN SELECT conname, conrelid::regclass AS owner FROM pg_constraint
		WHERE relation IN (conrelid, confrelid) AND contype IN ('p', 'u', 'f', 'c') ORDER BY contype <> 'f'
	LOOP
		EXECUTE format('ALTER TABLE %s DROP CONSTRAINT IF EXISTS %I CASCADE', c.owner, c.conname);
	END LOOP;
	FOR c IN SELECT indexrelid::regclass AS index FROM pg_index WHERE indrelid = relation AND indisunique LOOP
		EXECUTE format('DROP INDEX %s', c.index);
	END LOOP;
END $$;

-- Without its constraints, a table can contain NULL in any column.
CREATE FUNCTION impostor.lose_value(relation regclass, changed name, OUT answered integer, OUT refused integer, OUT unfair text)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM impostor.drop_constraints(relation);
	IF (SELECT attidentity FROM pg_attribute WHERE attrelid = relation AND attname = changed) <> '' THEN
		EXECUTE format('ALTER TABLE %s ALTER %I DROP IDENTITY', relation, changed);
	END IF;
	EXECUTE format('ALTER TABLE %s ALTER %I DROP NOT NULL', relation, changed);
	EXECUTE format('ALTER TABLE %s DISABLE TRIGGER USER', relation);
	EXECUTE format('UPDATE %s SET %I = NULL', relation, changed);
	SELECT * INTO answered, refused, unfair FROM impostor.make_calls();
	RAISE SQLSTATE 'ZZZZZ';
EXCEPTION WHEN SQLSTATE 'ZZZZZ' THEN
	NULL;
END $$;

-- Without its keys, a table can contain each row twice.
CREATE FUNCTION impostor.double_rows(relation regclass, OUT answered integer, OUT refused integer, OUT unfair text)
LANGUAGE plpgsql AS $$
BEGIN
	PERFORM impostor.drop_constraints(relation);
	EXECUTE format('ALTER TABLE %s DISABLE TRIGGER USER', relation);
	EXECUTE format('INSERT INTO %s OVERRIDING SYSTEM VALUE SELECT * FROM %1$s', relation);
	SELECT * INTO answered, refused, unfair FROM impostor.make_calls();
	RAISE SQLSTATE 'ZZZZZ';
EXCEPTION WHEN SQLSTATE 'ZZZZZ' THEN
	NULL;
END $$;

-- A type whose values are converted wherever a statement needs another one.  Who takes one of them
-- for the address of a value reads memory that is not there.
CREATE TYPE impostor.value AS ENUM ('a');
DO $$
DECLARE
	t record;
	name text;
BEGIN
	FOR t IN SELECT * FROM (VALUES ('uuid', 'ffffffff-ffff-ffff-ffff-ffffffffffff'), ('bigint', '1'), ('integer', '1'), ('text', 'a'),
		('varchar', 'a'), ('json', '{}'), ('jsonb', '{}'), ('timestamptz', '2030-01-01'), ('boolean', 'true'), ('"char"', 'D'),
		('double precision', '1')) AS v (type, value)
	LOOP
		name := translate(t.type, '" ', '');
		EXECUTE format('CREATE FUNCTION impostor.to_%s(impostor.value) RETURNS %s LANGUAGE plpgsql IMMUTABLE'
			' SET search_path = pg_catalog, pg_temp AS $f$ BEGIN RETURN %L; END $f$', name, t.type, t.value);
		EXECUTE format('CREATE FUNCTION impostor.from_%s(%s) RETURNS impostor.value LANGUAGE plpgsql IMMUTABLE'
			' SET search_path = pg_catalog, impostor, pg_temp AS $f$ BEGIN RETURN ''a''::impostor.value; END $f$', name, t.type);
		EXECUTE format('CREATE CAST (impostor.value AS %s) WITH FUNCTION impostor.to_%s AS IMPLICIT', t.type, name);
		EXECUTE format('CREATE CAST (%s AS impostor.value) WITH FUNCTION impostor.from_%s AS ASSIGNMENT', t.type, name);
	END LOOP;
END $$;

-- Without constraints and indexes, a column can get that type.
CREATE FUNCTION impostor.retype(relation regclass, changed name, OUT answered integer, OUT refused integer, OUT unfair text)
LANGUAGE plpgsql AS $$
DECLARE
	v record;
BEGIN
	EXECUTE (SELECT concat('SELECT;', string_agg(DISTINCT format('DROP VIEW IF EXISTS %s CASCADE', r.ev_class::regclass), ';'))
		FROM pg_depend AS d JOIN pg_rewrite AS r ON r.oid = d.objid
		WHERE d.classid = 'pg_rewrite'::regclass AND d.refobjid = relation AND r.ev_class <> relation);
	PERFORM impostor.drop_constraints(relation);
	FOR v IN SELECT indexrelid::regclass AS name FROM pg_index WHERE indrelid = relation LOOP
		EXECUTE format('DROP INDEX %s', v.name);
	END LOOP;
	FOR v IN SELECT tgname AS name FROM pg_trigger WHERE tgrelid = relation AND NOT tgisinternal LOOP
		EXECUTE format('DROP TRIGGER %I ON %s', v.name, relation);
	END LOOP;
	EXECUTE format('ALTER TABLE %s ALTER %I DROP IDENTITY IF EXISTS', relation, changed);
	EXECUTE format('ALTER TABLE %s ALTER %I DROP DEFAULT, ALTER %2$I TYPE impostor.value USING ''a''', relation, changed);
	SELECT * INTO answered, refused, unfair FROM impostor.make_calls();
	RAISE SQLSTATE 'ZZZZZ';
EXCEPTION WHEN SQLSTATE 'ZZZZZ' THEN
	NULL;
END $$;

CREATE VIEW impostor.tables AS
SELECT c.oid::regclass AS relation FROM pg_class AS c
WHERE c.relnamespace IN ('dms'::regnamespace, 'cascade'::regnamespace) AND c.relkind = 'r';
CREATE VIEW impostor.columns AS
SELECT t.relation, a.attname, a.atttypid, format_type(a.atttypid, a.atttypmod) AS type
FROM impostor.tables AS t JOIN pg_attribute AS a ON a.attrelid = t.relation
WHERE a.attnum > 0 AND NOT a.attisdropped;
