-- Documents with titles for bench/search, by plain SQL.  A title has one of 10,000 words, one
-- of 19, and some have one that is in 10, in 1,000 or in 100,000 of a million.
CREATE PROCEDURE bench.make_titles(n integer) LANGUAGE plpgsql AS $$
BEGIN
	CREATE TEMPORARY TABLE made AS
	SELECT nextval('dms.document_documentid_seq') AS id, dms.uuid_v7() AS uuid, i FROM generate_series(1, n) AS i;
	INSERT INTO dms.Document (DocumentId, DocumentUuid, ProjectName, ResourceName, ResourceVersion)
	SELECT id, uuid, 'Docs', 'Document', '1.0.0' FROM made;
	INSERT INTO dms.IdentityLock (DocumentId) SELECT id FROM made;
	INSERT INTO docs.document (documentid, documentuuid, title, content)
	SELECT id, uuid, format('Report %s about w%s in area%s', i, i % 10007, i % 19)
		|| CASE WHEN i % 100000 = 0 THEN ' rare' ELSE '' END || CASE WHEN i % 1000 = 0 THEN ' medium' ELSE '' END
		|| CASE WHEN i % 10 = 0 THEN ' common' ELSE '' END, 'The content of report ' || i FROM made;
	COMMIT;
END $$;

-- Each way of searching, some times: by the function of the store, best first or newest first;
-- by the bare query, which returns all rows in any order; and by the queries that one would
-- write for a page of those that match best, or of the newest ones.
CREATE PROCEDURE bench.search(how text, words text, times integer) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. times LOOP
		CASE how
		WHEN 'dms' THEN
			PERFORM d FROM dms.search_documents('docs', 'documents', words) AS d;
		WHEN 'newest' THEN
			PERFORM d FROM dms.search_documents('docs', 'documents', words, sort => 'newest') AS d;
		WHEN 'bare' THEN
			PERFORM * FROM docs.document WHERE to_tsvector('english', title) @@ plainto_tsquery('english', words);
		WHEN 'ranked' THEN
			PERFORM * FROM docs.document WHERE to_tsvector('english', title) @@ plainto_tsquery('english', words)
			ORDER BY ts_rank(to_tsvector('english', title), plainto_tsquery('english', words)) DESC, documentid LIMIT 25;
		WHEN 'last' THEN
			PERFORM * FROM docs.document WHERE to_tsvector('english', title) @@ plainto_tsquery('english', words)
			ORDER BY documentid + 0 DESC LIMIT 25;
		END CASE;
	END LOOP;
END $$;
