-- The core tables stay consistent under plain SQL: the owner of the store may
-- delete documents, and nothing is left over.
\set database :DBNAME
SET client_min_messages = warning;
DROP DATABASE IF EXISTS dms_store;
CREATE DATABASE dms_store TEMPLATE template0 ENCODING 'UTF8';
\c dms_store
SET client_min_messages = warning;
CREATE EXTENSION dms;
\getenv top PG_ABS_SRCDIR
\set file :top /test/schemas/graph.json
\set graph `cat :'file'`
SELECT dms.deploy_schema(:'graph') IS NOT NULL AS deployed;

-- Two people who are friends, their company, one loan of it, and a payment;
-- inserted by hand, as the functions would.
CREATE FUNCTION write(id bigint, resource text) RETURNS void LANGUAGE sql AS $$
	INSERT INTO dms.document (documentid, documentuuid, projectname, resourcename, resourceversion)
		VALUES (id, dms.uuid_v5('edf1edf1-3df1-3df1-3df1-3df1edf1edf1', id::text), 'Graph', resource, '1.0.0');
	INSERT INTO dms.identitylock VALUES (id);
	INSERT INTO dms.referentialidentity
		VALUES (dms.uuid_v5('edf1edf1-3df1-3df1-3df1-3df1edf1edf1', 'id of ' || id), id, 'Graph', resource);
	INSERT INTO graph.party_member SELECT id, 'Graph:' || resource WHERE resource IN ('Person', 'Company');
	INSERT INTO graph.bond_member SELECT id, 'Graph:' || resource WHERE resource IN ('Loan', 'Lease');
$$;
CREATE PROCEDURE fill() LANGUAGE plpgsql AS $$
BEGIN
	PERFORM write(1, 'Person'), write(2, 'Person'), write(3, 'Company'), write(4, 'KindDescriptor'), write(5, 'Loan'), write(6, 'Payment');
	INSERT INTO dms.descriptor (documentid, namespace, codevalue, shortdescription, discriminator, uri)
		VALUES (4, 'uri://graph', 'Mortgage', 'Mortgage', 'Graph:KindDescriptor', 'uri://graph#Mortgage');
	INSERT INTO graph.person (documentid, personid, name) VALUES (1, 1, 'Ann'), (2, 2, 'Bob');
	INSERT INTO graph.company VALUES (3, 3, 1);
	UPDATE graph.person SET employer_documentid = 3;
	INSERT INTO graph.personfriend VALUES (1, 0, 2), (2, 0, 1);
	INSERT INTO graph.loan VALUES (5, 1000, 4, 1, '2020-01-01');
	INSERT INTO graph.payment VALUES (6, 5, 2, 1);
	INSERT INTO dms.referenceedge (parentdocumentid, childdocumentid, edgesourceid, isidentitycomponent) VALUES (6, 5, 1, true), (6, 2, 2, false);
END $$;
CREATE VIEW rows AS
SELECT (SELECT count(*) FROM dms.document) AS document, (SELECT count(*) FROM dms.identitylock) AS identitylock,
       (SELECT count(*) FROM dms.referentialidentity) AS referentialidentity, (SELECT count(*) FROM dms.referenceedge) AS referenceedge,
       (SELECT count(*) FROM dms.descriptor) AS descriptor, (SELECT count(*) FROM graph.party_member) AS party_member,
       (SELECT count(*) FROM graph.bond_member) AS bond_member, (SELECT count(*) FROM graph.person) AS person,
       (SELECT count(*) FROM graph.personfriend) AS friends, (SELECT count(*) FROM graph.payment) AS payment;
CALL fill();
SELECT * FROM rows;

-- A document that others refer to cannot be deleted: neither one that is
-- referred to directly, nor one that is referred to by its superclass, nor a
-- descriptor.
DELETE FROM dms.document WHERE documentid = 2;
DELETE FROM dms.document WHERE documentid = 5;
DELETE FROM dms.document WHERE documentid = 4;
SELECT * FROM rows;

-- A document without references to it is deleted with all rows that belong to
-- it.
DELETE FROM dms.document WHERE documentid = 6;
SELECT * FROM rows;
DELETE FROM dms.document WHERE documentid = 5;
SELECT * FROM rows;
-- So are several at once that refer to each other, of one type or of many.
BEGIN;
UPDATE graph.company SET owner_documentid = NULL;
DELETE FROM dms.document WHERE documentid IN (1, 2);
SELECT * FROM rows;
ROLLBACK;
DELETE FROM dms.document WHERE documentid IN (1, 2, 3);
SELECT * FROM rows;
DELETE FROM dms.document;
SELECT * FROM rows;
DELETE FROM dms.document;

-- And so are all of them.
CALL fill();
TRUNCATE dms.document;
SELECT * FROM rows;

-- No foreign key refers to dms.Document, so a delete searches only the tables
-- of its own type.
SELECT conrelid::regclass FROM pg_constraint WHERE confrelid = 'dms.document'::regclass;

\c :database
DROP DATABASE dms_store;
