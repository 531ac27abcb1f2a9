-- Documents and relations for bench/graph.
CREATE FUNCTION bench.job(n bigint) RETURNS uuid LANGUAGE sql STABLE
RETURN (SELECT d.DocumentUuid FROM system.job AS j JOIN dms.Document AS d USING (DocumentId) WHERE j.jobid = n::text);

CREATE PROCEDURE bench.make_jobs(first bigint, last bigint) LANGUAGE plpgsql AS $$
BEGIN
	FOR n IN first .. last LOOP
		PERFORM dms.upsert_document('system', 'jobs', json_build_object('jobId', n::text, 'name', 'job ' || n));
		COMMIT;
	END LOOP;
END $$;

-- Ids are looked up before, in all procedures: that costs more than what is measured.
CREATE PROCEDURE bench.delete_jobs(first bigint, last bigint) LANGUAGE plpgsql AS $$
DECLARE
	ids uuid[] := ARRAY(SELECT bench.job(n) FROM generate_series(first, last) AS n);
	id uuid;
BEGIN
	FOREACH id IN ARRAY ids LOOP
		PERFORM dms.delete_document(id);
		COMMIT;
	END LOOP;
END $$;

-- Finding a job takes longer than attaching it, so their ids are kept before.
CREATE TABLE bench.job_id (n bigint PRIMARY KEY, id uuid);
CREATE PROCEDURE bench.attach(first bigint, last bigint, below bigint) LANGUAGE plpgsql AS $$
DECLARE
	parent uuid := bench.job(below);
	ids uuid[] := ARRAY(SELECT j.id FROM bench.job_id AS j WHERE j.n BETWEEN first AND last AND j.n <> below);
	child uuid;
BEGIN
	FOREACH child IN ARRAY ids LOOP
		PERFORM dms.set_parent(child, parent);
		COMMIT;
	END LOOP;
END $$;

-- A tree in which each document has ten children.
CREATE PROCEDURE bench.make_subtree(size bigint) LANGUAGE plpgsql AS $$
DECLARE
	ids uuid[] := '{}';
	id uuid;
BEGIN
	FOR n IN 0 .. size - 1 LOOP
		id := (SELECT r.document_uuid FROM dms.upsert_document('system', 'jobs', json_build_object('jobId', 't' || n, 'name', 'x')) AS r);
		ids[n] := id;
		IF n > 0 THEN
			PERFORM dms.set_parent(id, ids[(n - 1) / 10]);
		END IF;
		COMMIT;
	END LOOP;
END $$;

CREATE PROCEDURE bench.delete_subtree() LANGUAGE plpgsql AS $$
BEGIN
	PERFORM dms.delete_document((SELECT d.DocumentUuid FROM system.job AS j JOIN dms.Document AS d USING (DocumentId) WHERE j.jobid = 't0'));
	COMMIT;
END $$;

-- Many children, members and documents of an account, by plain SQL: nothing of them is
-- written by the store later.
CREATE TABLE bench.ends (name text PRIMARY KEY, id uuid);
CREATE PROCEDURE bench.make_many(size bigint) LANGUAGE plpgsql AS $$
DECLARE
	type_id integer := (SELECT ResourceTypeId FROM dms.ResourceType WHERE ResourceName = 'Job');
BEGIN
	INSERT INTO bench.ends SELECT name, r.document_uuid FROM unnest('{few,many}'::text[]) AS name,
		dms.upsert_document('system', 'systems', json_build_object('systemId', name, 'name', name)) AS r;
	CREATE TEMPORARY TABLE made AS
	SELECT nextval('dms.document_documentid_seq') AS id, dms.uuid_v7() AS uuid, n FROM generate_series(1, size + 100) AS n;
	INSERT INTO dms.Document (DocumentId, DocumentUuid, ProjectName, ResourceName, ResourceVersion)
	SELECT id, uuid, 'System', 'Job', '1.0.0' FROM made;
	INSERT INTO dms.IdentityLock (DocumentId) SELECT id FROM made;
	INSERT INTO system.job (documentid, jobid, name) SELECT id, 'm' || n, 'x' FROM made;
	INSERT INTO dms.ParentChild (ChildDocumentId, ParentDocumentId, ChildTypeId, ChildUuid)
	SELECT m.id, d.DocumentId, type_id, m.uuid FROM made AS m, dms.Document AS d JOIN bench.ends AS e ON e.id = d.DocumentUuid
	WHERE e.name = CASE WHEN m.n <= size THEN 'many' ELSE 'few' END;
	INSERT INTO dms.CollectionMember (CollectionDocumentId, MemberDocumentId, MemberTypeId, MemberUuid, Conveys)
	SELECT ParentDocumentId, ChildDocumentId, ChildTypeId, ChildUuid, false FROM dms.ParentChild AS r JOIN made AS m ON m.id = r.ChildDocumentId;
	INSERT INTO dms.DocumentAccount (AccountId, DocumentId, ResourceTypeId, DocumentUuid)
	SELECT ParentDocumentId, ChildDocumentId, ChildTypeId, ChildUuid FROM dms.ParentChild AS r JOIN made AS m ON m.id = r.ChildDocumentId;
	INSERT INTO dms.UniqueKeyValue (ResourceType, Key, Value, DocumentId) SELECT 'System.Job', 'code', n::text, id FROM made;
	COMMIT;
END $$;

-- An account of very many documents.  Indexes are made afterwards, which takes less time.
CREATE PROCEDURE bench.make_account(size bigint) LANGUAGE plpgsql AS $$
DECLARE
	type_id integer := (SELECT ResourceTypeId FROM dms.ResourceType WHERE ResourceName = 'Job');
	account uuid := (SELECT r.document_uuid FROM dms.upsert_document('system', 'systems', '{"systemId": "huge", "name": "huge"}') AS r);
	dropped record;
BEGIN
	INSERT INTO bench.ends VALUES ('huge', account);
	CREATE TEMPORARY TABLE numbered AS
	SELECT nextval('dms.document_documentid_seq') AS id, dms.uuid_v7() AS uuid FROM generate_series(1, size);
	CREATE TEMPORARY TABLE made_later AS
	SELECT i.indrelid::regclass AS of, i.indexrelid::regclass AS index, c.conname AS key,
		CASE WHEN c.oid IS NULL THEN pg_get_indexdef(i.indexrelid)
			ELSE format('ALTER TABLE %s ADD CONSTRAINT %I %s', i.indrelid::regclass, c.conname, pg_get_constraintdef(c.oid)) END AS statement
	FROM pg_index AS i LEFT JOIN pg_constraint AS c ON c.conindid = i.indexrelid
	WHERE i.indrelid IN ('dms.Document'::regclass, 'dms.DocumentAccount'::regclass);
	FOR dropped IN SELECT * FROM made_later LOOP
		EXECUTE CASE WHEN dropped.key IS NULL THEN format('DROP INDEX %s', dropped.index)
			ELSE format('ALTER TABLE %s DROP CONSTRAINT %I', dropped.of, dropped.key) END;
	END LOOP;
	INSERT INTO dms.Document (DocumentId, DocumentUuid, ProjectName, ResourceName, ResourceVersion)
	SELECT id, uuid, 'System', 'Job', '1.0.0' FROM numbered;
	INSERT INTO dms.DocumentAccount (AccountId, DocumentId, ResourceTypeId, DocumentUuid)
	SELECT d.DocumentId, n.id, type_id, n.uuid FROM numbered AS n, dms.Document AS d WHERE d.DocumentUuid = account;
	FOR dropped IN SELECT * FROM made_later LOOP
		EXECUTE dropped.statement;
	END LOOP;
	COMMIT;
END $$;

CREATE PROCEDURE bench.pages(of text, n integer) LANGUAGE plpgsql AS $$
DECLARE
	parent uuid := (SELECT id FROM bench.ends WHERE name = of);
	place uuid;
	found integer;
BEGIN
	FOR i IN 1 .. n LOOP
		SELECT (array_agg(document_uuid))[25], count(*) INTO place, found
		FROM dms.children(parent, 'System.Job', 25, CASE WHEN i % 3 > 0 THEN place END);
		IF found <> 25 THEN
			RAISE EXCEPTION 'no page';
		END IF;
	END LOOP;
END $$;

-- The same of the documents of an account.
CREATE PROCEDURE bench.account_pages(of text, n integer) LANGUAGE plpgsql AS $$
DECLARE
	account uuid := (SELECT id FROM bench.ends WHERE name = of);
	place uuid;
	found integer;
BEGIN
	FOR i IN 1 .. n LOOP
		SELECT (array_agg(document_uuid))[25], count(*) INTO place, found
		FROM dms.account_documents(account, 'System.Job', 25, CASE WHEN i % 3 > 0 THEN place END);
		IF found <> 25 THEN
			RAISE EXCEPTION 'no page';
		END IF;
	END LOOP;
END $$;

CREATE PROCEDURE bench.records(n integer) LANGUAGE plpgsql AS $$
DECLARE
	key text := 'Parent#' || dms.urn((SELECT id FROM bench.ends WHERE name = 'many'));
BEGIN
	FOR i IN 1 .. n LOOP
		PERFORM r ->> 'SK' FROM dms.query_records(key) AS r;
	END LOOP;
END $$;

-- What query_records() gives, as a program would ask for it.
CREATE PROCEDURE bench.by_hand(n integer) LANGUAGE plpgsql AS $$
DECLARE
	parent uuid := (SELECT id FROM bench.ends WHERE name = 'many');
BEGIN
	FOR i IN 1 .. n LOOP
		PERFORM json_build_object('PK', 'Parent#urn:' || COALESCE(s.UrnDomain, 'dms') || ':' || pt.ResourceType || '::' || p.DocumentUuid,
			'SK', 'Child#urn:' || COALESCE(s.UrnDomain, 'dms') || ':' || ct.ResourceType || '::' || c.DocumentUuid, '_recordType', 'ParentChildRelationship',
			'_createdAt', to_char(r.CreatedAt AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
			'_accountUrn', (SELECT 'urn:' || COALESCE(s.UrnDomain, 'dms') || ':' || ad.ResourceName || '::' || ad.DocumentUuid FROM dms.DocumentAccount AS a
				JOIN dms.Document AS ad ON ad.DocumentId = a.AccountId WHERE a.DocumentId = c.DocumentId)) ->> 'SK'
		FROM dms.Document AS p JOIN dms.ResourceType AS pt USING (ProjectName, ResourceName) CROSS JOIN dms.Store AS s
		CROSS JOIN LATERAL (SELECT * FROM dms.ParentChild AS f WHERE f.ParentDocumentId = p.DocumentId
			ORDER BY f.ChildTypeId, f.ChildUuid LIMIT 25) AS r
		JOIN dms.ResourceType AS ct ON ct.ResourceTypeId = r.ChildTypeId JOIN dms.Document AS c ON c.DocumentId = r.ChildDocumentId
		WHERE p.DocumentUuid = parent;
	END LOOP;
END $$;

-- One query of each row of the table of keys.
CREATE FUNCTION bench.each_record() RETURNS TABLE (kind text, n bigint) LANGUAGE plpgsql AS $$
DECLARE
	many text := dms.urn((SELECT id FROM bench.ends WHERE name = 'many'));
	child uuid;
	far text;
	q record;
BEGIN
	SELECT document_uuid INTO child FROM dms.children((SELECT id FROM bench.ends WHERE name = 'many'), page_limit => 1);
	far := dms.urn(child);
	FOR q IN SELECT * FROM (VALUES
		('Resource', 'Resource#' || far, NULL), ('Parent', 'Parent#' || many, NULL), ('Parent, inverted', 'Child#' || far, 'InvertedIndex'),
		('Collection', 'Collection#' || many, NULL), ('Collection, inverted', 'Member#' || far, 'InvertedIndex'),
		('UniqueKeyValue', 'UniqueKeyValue#System.Job#code#1', NULL), ('account', many, 'ResourcesByAccountIndex')) AS v (kind, pk, index)
	LOOP
		RETURN QUERY SELECT q.kind, count(*) FROM dms.query_records(q.pk, index_name => q.index);
	END LOOP;
	RETURN QUERY SELECT 'one member', count(dms.get_record('Collection#' || many, 'Member#' || far));
END $$;
