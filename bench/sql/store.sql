-- A store for one baseline: copies of the tables that an enrollment touches,
-- with their rows, indexes and constraints, in a schema of its own.
--
-- @store@ is the schema.  Foreign keys are those of the deployed schema; where
-- the key's target is copied too, the copy is what it refers to.

CREATE SCHEMA @store@;

DO $$
DECLARE
	source regclass;
	sources constant regclass[] := ARRAY['dms.document', 'dms.referentialidentity', 'dms.identitylock',
		'dms.descriptor', 'dms.edgesource', 'dms.referenceedge', 'edfi.student', 'edfi.school',
		'edfi.studentschoolassociation', 'edfi.studentschoolassociationeducationplan']::regclass[];
	key record;
BEGIN
	FOREACH source IN ARRAY sources LOOP
		EXECUTE format('CREATE TABLE @store@.%I (LIKE %s INCLUDING ALL)', relname, source)
		FROM pg_class WHERE oid = source;
		EXECUTE format('INSERT INTO @store@.%I SELECT * FROM %s', relname, source)
		FROM pg_class WHERE oid = source;
	END LOOP;
	FOR key IN
		SELECT t.relname, c.conname, c.confrelid,
			pg_get_constraintdef(c.oid) AS definition, target.relname AS target
		FROM pg_constraint AS c
			JOIN pg_class AS t ON t.oid = c.conrelid
			JOIN pg_class AS target ON target.oid = c.confrelid
		WHERE c.contype = 'f' AND c.conrelid = ANY (sources)
			AND t.relname LIKE 'studentschoolassociation%'
	LOOP
		IF key.confrelid = ANY (sources) THEN
			key.definition := replace(key.definition, key.confrelid::regclass::text || '(',
				format('@store@.%I(', key.target));
		END IF;
		EXECUTE format('ALTER TABLE @store@.%I ADD CONSTRAINT %I %s', key.relname, key.conname, key.definition);
	END LOOP;
	PERFORM setval('@store@.document_documentid_seq', (SELECT max(DocumentId) FROM dms.Document));
END
$$;
