-- Who may do what.  Each step checks its answer.
\set ON_ERROR_STOP on
CREATE FUNCTION check_that(holds boolean, what text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF holds IS NOT TRUE THEN
		RAISE EXCEPTION 'not so: %', what;
	END IF;
	RAISE INFO '%', what;
END $$;

INSERT INTO grants VALUES ('olga', :'planning', 'read'), ('ann', :'east', 'write'), ('bob', :'reports', 'read');

-- Grants apply to all that is below.
SELECT check_that(may('olga', 'read', :'backup') AND may('olga', 'read', :'bob'), 'a grant on the system applies to all');
SELECT check_that(may('ann', 'write', :'backup'), 'a grant on an account applies to its jobs');
SELECT check_that(NOT may('ann', 'write', :'sales'), 'but not to those of another account');
SELECT check_that(may('bob', 'read', :'sales') AND NOT may('bob', 'read', :'west'), 'grants do not go up');
SELECT check_that((SELECT count(*) = 9 FROM granted('olga', 'read')), 'all nine documents can be listed, too');

-- Collections convey their grants to members, if they are added so.
SELECT dms.add_member(:'reports', :'backup');
SELECT check_that(NOT may('bob', 'read', :'backup'), 'a member that nothing is conveyed to');
SELECT dms.add_member(:'reports', :'nightly', true);
SELECT check_that(may('bob', 'read', :'nightly'), 'a member that grants are conveyed to');
SELECT check_that(may('bob', 'read', :'backup'), 'and so all that is below it');
SELECT * FROM who_may('read', :'backup');

-- Collections may contain each other.
SELECT dms.add_member(:'nightly', :'reports', true);
SELECT check_that((SELECT count(*) = 4 FROM granted('bob', 'read')), 'both collections, and their jobs');

-- A document that moves is under other grants from then on.
SELECT dms.set_parent(:'sales', :'nightly');
SELECT check_that(may('ann', 'write', :'sales'), 'the job has moved to another account');

-- Unique addresses, and documents by account.
SELECT check_that(dms.find_unique_key('System.User', 'emailAddress', 'ann@example.org') = dms.urn(:'ann'), 'who has an address');
SELECT check_that((SELECT array_agg(document_uuid) = ARRAY[:'bob']::uuid[] FROM dms.account_documents(:'west', 'System.User')),
	'the users of an account');

-- An account takes all that is below with it, also the job that has moved there.
SELECT * FROM dms.delete_plan(:'east');
SELECT dms.delete_document(:'east');
SELECT check_that((SELECT count(*) = 4 FROM dms.Document), 'the system, and what the other account has');
SELECT check_that(NOT EXISTS (SELECT FROM dms.audit()), 'the store contradicts itself nowhere');
SELECT dms.graph_diagram(:'planning', 2);
