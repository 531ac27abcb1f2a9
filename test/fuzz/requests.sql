-- Requests of all sorts: valid ones, and valid ones with something changed.
-- SELECT fuzz(1000, 0.5) sends so many, from one seed, and counts what came out
-- in the table tally.  An error that is raised is a failure, with status -1:
-- nothing here may be answered by anything but an answer.

CREATE FUNCTION pick(VARIADIC choices text[]) RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT choices[1 + floor(random() * cardinality(choices))::integer]
$$;

-- Something is wrong with a text: cut, doubled, or a character replaced.
CREATE FUNCTION spoil(value text) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	place CONSTANT integer := 1 + floor(random() * greatest(length(value), 1));
BEGIN
	RETURN CASE floor(random() * 6)::integer
		WHEN 0 THEN left(value, place)
		WHEN 1 THEN substr(value, place)
		WHEN 2 THEN value || value
		WHEN 3 THEN overlay(value PLACING pick('"', '{', '}', '[', ']', ',', ':', '\', '\u0000', '\ud800', 'null', '1e999', '-', 'é', '%', '/', '?', '&', '#', ' ', chr(127), chr(1)) FROM place FOR 1)
		WHEN 4 THEN replace(value, pick('1', 'a', '"', ':'), pick('', '{}', '"', '99999999999999999999', 'Z'))
		ELSE repeat(pick('[', '{"a":', ' ', 'x', '%41'), pick('1', '50', '5000')::integer) || value
	END;
END
$$;

CREATE FUNCTION fuzz_body(endpoint text) RETURNS jsonb LANGUAGE sql VOLATILE AS $$
	SELECT CASE lower(endpoint)
		WHEN 'students' THEN jsonb_build_object('studentUniqueId', pick('1', '2', '3', '4', '5', '6', '7', '8'), 'firstName', pick('Ada', 'Bob', 'Ünal'),
			'lastSurname', 'King', 'birthDate', pick('2014-02-03', '2/3/2014', '2014-02-04', 'soon'))
		WHEN 'schools' THEN jsonb_build_object('schoolId', pick('1', '2', '3', '4')::integer, 'nameOfInstitution', pick('S', 'T'),
			'gradeLevels', jsonb_build_array(jsonb_build_object('gradeLevelDescriptor', pick('uri://g#10', 'uri://g#10', 'uri://G#10', 'uri://g#11'))))
		WHEN 'classperiods' THEN jsonb_build_object('classPeriodName', pick('a', 'b', 'c', 'd'), 'schoolReference',
			jsonb_build_object('schoolId', pick('1', '2', '3', '4', '5')::integer))
		WHEN 'gradeleveldescriptors' THEN jsonb_build_object('namespace', 'uri://g', 'codeValue', pick('10', '12', '13'), 'shortDescription', pick('x', 'y'))
		ELSE '{}' END
$$;

-- A path of any kind, other than that of a document or of a page of documents.
CREATE FUNCTION fuzz_path(endpoint text, document uuid) RETURNS text LANGUAGE plpgsql VOLATILE AS $$
DECLARE
	other uuid := coalesce((SELECT d.DocumentUuid FROM dms.Document AS d ORDER BY random() LIMIT 1), '01890000-0000-7000-8000-000000000000');
	named text := pick(document::text, coalesce(dms.urn(document), 'urn:dms:x::x'), 'urn:dms:Ed-Fi.Student::' || document);
	target text := pick(other::text, coalesce(dms.urn(other), 'urn:dms:'), '01890000-0000-7000-8000-000000000000', 'urn:dms:Ed-Fi.School::1', 'x');
	list text := pick('', '', '?limit=2', '?after=' || other, '?type=Ed-Fi.School', '?limit=501', '?after=x', '?before=2', '?nothing=1', '?limit=1&limit=1');
BEGIN
	RETURN pick(
		'/ed-fi/' || endpoint || '/' || named || pick('/versions', '/Versions') || list,
		'/ed-fi/' || endpoint || '/' || named || '/versions/' || pick('1', '1', '2', '3', '0', 'x', '99999999999999999999'),
		'/ed-fi/' || endpoint || '/' || named || '/versions/' || pick('1', '1', '2', 'x') || '/restore',
		'/ed-fi/' || endpoint || '/' || named || '/versions/' || pick('1', '2', '2', '3', '0', 'x') || '/diff' || pick('', '?from=1', '?from=0', '?from=x', '?from=9223372036854775807', '?before=1'),
		'/ed-fi/' || endpoint || '/' || named || pick('/changes', '/Changes') || list,
		'/ed-fi/' || endpoint || '/' || named || '?asOf=' || pick('9999-12-31', '2001-01-01T00:00:00Z', 'x', ''),
		'/ed-fi/' || endpoint || '/' || named || '/parent',
		'/ed-fi/' || endpoint || '/' || named || pick('/children', '/ancestors', '/members', '/collections', '/nothing') || list,
		'/ed-fi/' || endpoint || '/' || named || '/members/' || target,
		'/ed-fi/' || endpoint || pick('/deletes', '/keyChanges', '/DELETES') || pick('', '?minChangeVersion=1', '?maxChangeVersion=99999999999&totalCount=true', '?minChangeVersion=2&maxChangeVersion=1', '?minChangeVersion=x', '?firstName=Ada'),
		'/ed-fi/' || endpoint || pick('?minChangeVersion=1', '?minChangeVersion=1&maxChangeVersion=99999999999&limit=3', '?maxChangeVersion=&firstName=Ada'),
		'/changeQueries/v1/availableChangeVersions' || pick('', '/', '?x', '/x'),
		'/' || target, '/dms/accounts/' || target || '/documents' || list,
		'/dms/records?pk=' || pick('Resource', 'Parent', 'Child', 'Collection', 'Member', 'UniqueKeyValue', '') || '%23' || target
			|| pick('', '&sk=Child', '&index=InvertedIndex', '&index=ResourcesByAccountIndex', '&index=x', '&limit=1', '&after=Child%23urn:'));
END
$$;

CREATE TABLE tally (method text, status integer, type text);

CREATE FUNCTION fuzz(n integer, seed double precision) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	method text; endpoint text; path text; headers jsonb; body text; document uuid;
	answer dms.response;
BEGIN
	PERFORM setseed(seed);
	FOR i IN 1 .. n LOOP
		method := pick('GET', 'GET', 'GET', 'POST', 'POST', 'POST', 'POST', 'PUT', 'PUT', 'DELETE', pick('PATCH', 'get', 'HEAD', '', 'BREW', 'Ü'));
		endpoint := pick('students', 'schools', 'classPeriods', 'gradeLevelDescriptors', 'STUDENTS', pick('nothing', 'Student', 'educationOrganizations'));
		path := '/' || pick('ed-fi', 'ed-fi', 'ed-fi', 'Ed-Fi', 'ed%2Dfi') || '/' || endpoint;
		SELECT d.DocumentUuid INTO document FROM dms.Document AS d
		WHERE lower(d.ResourceName) || 's' = lower(endpoint) ORDER BY random() LIMIT 1;
		document := coalesce(document, '01890000-0000-7000-8000-000000000000');
		body := NULL;
		IF method IN ('PUT', 'DELETE') OR random() < 0.2 THEN
			path := path || '/' || CASE WHEN random() < 0.9 THEN document::text ELSE pick('1', '', upper(document::text), '01890000-0000-7000-8000-000000000000') END;
		ELSIF method = 'GET' THEN
			path := path || pick('', '', '?limit=1', '?limit=5&offset=2&totalCount=true', '?limit=501', '?totalCount=x', '?firstName=Ada', '?schoolId=1',
				'?nothing=1', '?birthDate=soon', '?id=x', '?firstName=%C3%9Cnal&FIRSTNAME=Bob', '?limit=1&limit=2', '?namespace=uri://g&limit=0', '?%zz=1');
		END IF;
		IF random() < 0.3 THEN
			path := fuzz_path(endpoint, document);
			method := CASE WHEN path LIKE '%/restore' THEN 'POST' WHEN path ~ '/(parent|members/.*)$' THEN pick('PUT', 'DELETE', 'GET') ELSE method END;
		END IF;
		IF method IN ('POST', 'PUT', 'PATCH') OR random() < 0.05 THEN
			body := CASE WHEN method = 'PUT' THEN fuzz_body(endpoint) || jsonb_build_object('id', document) ELSE fuzz_body(endpoint) END;
			IF path LIKE '%/parent' THEN
				body := jsonb_build_object(pick('parentUrn', 'parentUrn', 'x'), (SELECT pick(d.DocumentUuid::text, dms.urn(d.DocumentUuid), document::text) FROM dms.Document AS d ORDER BY random() LIMIT 1));
			ELSIF path LIKE '%/members/%' THEN
				body := pick('{"conveys": true}', '{}', '{"conveys": 1}', NULL);
			END IF;
			IF random() < 0.15 THEN body := spoil(body); END IF;
			IF random() < 0.03 THEN body := pick('', ' ', '[]', 'null', '{"id": 1}', NULL); END IF;
		END IF;
		IF random() < 0.05 THEN path := spoil(path); END IF;
		headers := '{}';
		IF random() < 0.1 THEN headers := headers || jsonb_build_object(pick('If-Match', 'IF-MATCH'), pick('"1"', '1', '*', 'W/"1"', '"2", "3"', 'x', '')); END IF;
		IF random() < 0.1 THEN headers := headers || jsonb_build_object('If-None-Match', pick('*', '"1"', '"9"')); END IF;
		IF random() < 0.1 THEN headers := headers || jsonb_build_object('Content-Type', pick('application/json', 'text/xml', 'application/x+json; charset=utf-8', '')); END IF;
		IF random() < 0.2 THEN headers := headers || jsonb_build_object('Idempotency-Key', pick('k1', 'k2', 'k3', gen_random_uuid()::text, 'no key', repeat('k', 129))); END IF;
		IF random() < 0.05 THEN
			headers := headers || jsonb_build_object(pick('dms-parent', 'dms-account'), pick(document::text, dms.urn(document), 'urn:dms:x::1', 'x', '01890000-0000-7000-8000-000000000000'));
		END IF;
		IF random() < 0.02 THEN headers := pick('[]', '{"if-match": {"a": [1]}}', '{"correlationid": 1}', 'null', '1')::jsonb; END IF;
		BEGIN
			answer := dms.handle_request(method, path, headers, body);
			INSERT INTO tally VALUES (CASE WHEN method IN ('GET', 'POST', 'PUT', 'DELETE') THEN method ELSE 'other' END,
				answer.status, replace(answer.body ->> 'type', 'urn:ed-fi:api:', ''));
		EXCEPTION
			WHEN OTHERS THEN
				INSERT INTO tally VALUES (method, -1, concat_ws(' ', SQLSTATE, SQLERRM, method, left(path, 200), headers, left(body, 500)));
		END;
	END LOOP;
END
$$;
