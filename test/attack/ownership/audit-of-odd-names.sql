-- A superuser audits a store whose owner gave a member table a name that would end a quoted text.
-- expect: ^audited$
\ir ../lib/store.sql
CREATE FUNCTION cascade.e() RETURNS text LANGUAGE plpgsql AS
	$$ BEGIN IF current_user <> 'dbo' THEN RAISE NOTICE 'pwned as %', current_user; END IF; RETURN ''; END $$;
SELECT m.membertable AS member FROM dms.resourcemodel AS m WHERE kind = 'abstract' ORDER BY 1 LIMIT 1 \gset
ALTER TABLE cascade.:"member" RENAME TO "x' || cascade.e() || '";
UPDATE dms.resourcemodel SET membertable = 'x'' || cascade.e() || ''' WHERE membertable = :'member' AND kind = 'abstract';
INSERT INTO cascade."x' || cascade.e() || '" SELECT documentid + 1000, 'Cascade:School' FROM dms.document;
\c - postgres
SELECT 'audited' FROM (SELECT count(*) FROM dms.audit()) AS a;
