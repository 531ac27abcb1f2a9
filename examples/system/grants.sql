-- Grants of the application, and functions that check them.
\set ON_ERROR_STOP on

-- A grant on a document applies to all that it covers.
CREATE TABLE grants (
	person text,
	document_uuid uuid,
	permission text,
	PRIMARY KEY (document_uuid, person, permission)
);

-- May somebody do something with a document?  The documents whose grants apply to it are few.
CREATE FUNCTION may(who text, what text, target uuid) RETURNS boolean LANGUAGE sql STABLE AS $$
	SELECT EXISTS (
		SELECT FROM dms.grant_sources(target) AS s
		JOIN grants AS g ON g.document_uuid = s.document_uuid
		WHERE g.person = who AND g.permission = what)
$$;

-- All documents with which somebody may do something.
CREATE FUNCTION granted(who text, what text) RETURNS SETOF uuid LANGUAGE sql STABLE AS $$
	SELECT dms.covered_documents(COALESCE((
		SELECT array_agg(g.document_uuid) FROM grants AS g WHERE g.person = who AND g.permission = what), '{}'))
$$;

-- Who may do something with a document, and by which grant.
CREATE FUNCTION who_may(what text, target uuid) RETURNS TABLE (person text, granted_on text, via text)
LANGUAGE sql STABLE AS $$
	SELECT g.person, s.urn, s.via
	FROM dms.grant_sources(target) AS s
	JOIN grants AS g ON g.document_uuid = s.document_uuid
	WHERE g.permission = what
	ORDER BY s.depth, g.person
$$;
