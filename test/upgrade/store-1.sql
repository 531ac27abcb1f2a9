-- A store of version 1, dumped by pg_dump --no-owner -x: test/schemas/equalities.json and 8 documents.

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

CREATE SCHEMA dms;

CREATE SCHEMA equalities;

CREATE EXTENSION IF NOT EXISTS dms WITH SCHEMA dms;

COMMENT ON EXTENSION dms IS 'document store with enforced references, natural keys and cascading renames';

CREATE FUNCTION dms.document_after_delete() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $_$
#variable_conflict use_variable
DECLARE
	gone_ids bigint[];
	gone_types text[];
	gone_type text;
BEGIN
	SELECT array_agg(DocumentId ORDER BY DocumentId), array_agg(DISTINCT ProjectName || ':' || ResourceName)
	INTO gone_ids, gone_types FROM gone;
	IF gone_ids IS NULL THEN
		RETURN NULL;
	END IF;
	DELETE FROM dms.ReferenceEdge WHERE ParentDocumentId = ANY (gone_ids);
	DELETE FROM dms.ReferentialIdentity WHERE DocumentId = ANY (gone_ids);
	IF cardinality(gone_types) > 1 THEN
		EXECUTE (
			SELECT 'WITH ' || string_agg(format('c%s AS (DELETE FROM %I.%I WHERE %I = ANY ($1))', n, s, t, k), ', ') || ' SELECT'
			FROM (SELECT row_number() OVER (), cleared.* FROM (SELECT cleared ->> 'schema', cleared ->> 'name', cleared -> 'columns' -> 0 ->> 'name'
				FROM dms.ResourceModel, json_array_elements(Model -> 'tables') AS cleared
				WHERE ProjectName || ':' || ResourceName = ANY (gone_types)
				UNION SELECT MemberSchema, MemberTable, 'documentid' FROM dms.ResourceModel
				WHERE ProjectName || ':' || ResourceName = ANY (gone_types) AND MemberTable IS NOT NULL) AS cleared) AS cleared (n, s, t, k)
		) USING gone_ids;
		RETURN NULL;
	END IF;
	gone_type := gone_types[1];
	IF gone_type COLLATE "C" < 'Equalities:School' THEN
		IF gone_type COLLATE "C" < 'Equalities:Enrollment' THEN
			IF gone_type = 'Equalities:Calendar' THEN
				DELETE FROM equalities.calendar WHERE documentid = ANY (gone_ids);
			ELSE
				DELETE FROM dms.descriptor WHERE documentid = ANY (gone_ids);
			END IF;
		ELSE
			IF gone_type COLLATE "C" < 'Equalities:Plan' THEN
				IF gone_type = 'Equalities:Enrollment' THEN
					DELETE FROM equalities.enrollment WHERE documentid = ANY (gone_ids);
				ELSE
					DELETE FROM dms.descriptor WHERE documentid = ANY (gone_ids);
				END IF;
			ELSE
				IF gone_type = 'Equalities:Plan' THEN
					DELETE FROM equalities.plan WHERE documentid = ANY (gone_ids);
				ELSE
					DELETE FROM dms.descriptor WHERE documentid = ANY (gone_ids);
				END IF;
			END IF;
		END IF;
	ELSE
		IF gone_type COLLATE "C" < 'Equalities:Transfer' THEN
			IF gone_type = 'Equalities:School' THEN
				DELETE FROM equalities.school WHERE documentid = ANY (gone_ids);
			ELSE
				DELETE FROM dms.descriptor WHERE documentid = ANY (gone_ids);
			END IF;
		ELSE
			IF gone_type COLLATE "C" < 'Equalities:Year' THEN
				IF gone_type = 'Equalities:Transfer' THEN
					DELETE FROM equalities.transfer WHERE documentid = ANY (gone_ids);
				ELSE
					DELETE FROM dms.descriptor WHERE documentid = ANY (gone_ids);
				END IF;
			ELSE
				IF gone_type = 'Equalities:Year' THEN
					DELETE FROM equalities.year WHERE documentid = ANY (gone_ids);
				ELSE
					DELETE FROM dms.descriptor WHERE documentid = ANY (gone_ids);
				END IF;
			END IF;
		END IF;
	END IF;
	RETURN NULL;
END
$_$;

COMMENT ON FUNCTION dms.document_after_delete() IS 'deletes the rows that belong to deleted documents';

CREATE FUNCTION dms.document_after_truncate() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
BEGIN
	TRUNCATE dms.ReferentialIdentity, dms.ReferenceEdge, dms.IdentityLock, dms.Descriptor,
		equalities.calendar,
		equalities.enrollment,
		equalities.plan,
		equalities.school,
		equalities.transfer,
		equalities.year CASCADE;
	RETURN NULL;
END
$$;

COMMENT ON FUNCTION dms.document_after_truncate() IS 'truncates all tables whose rows belong to documents';

CREATE FUNCTION dms.document_before_delete() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
	DELETE FROM dms.IdentityLock WHERE DocumentId = OLD.DocumentId;
	RETURN OLD;
END
$$;

COMMENT ON FUNCTION dms.document_before_delete() IS 'deletes the lock row of a document before the document';

CREATE FUNCTION dms.idempotencykeys_created_at() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$
BEGIN
	RAISE integrity_constraint_violation USING MESSAGE = 'CreatedAt of an idempotency key never changes';
END
$$;

COMMENT ON FUNCTION dms.idempotencykeys_created_at() IS 'refuses to change when a key was first used';

SET default_tablespace = '';

SET default_table_access_method = heap;

CREATE TABLE dms.descriptor (
    documentid bigint NOT NULL,
    namespace character varying(255) NOT NULL,
    codevalue character varying(50) NOT NULL,
    shortdescription character varying(75) NOT NULL,
    description character varying(1024),
    effectivebegindate date,
    effectiveenddate date,
    discriminator character varying(513) NOT NULL,
    uri character varying(306) NOT NULL
);

COMMENT ON TABLE dms.descriptor IS 'all documents of all descriptor resources';

COMMENT ON COLUMN dms.descriptor.documentid IS 'the document';

COMMENT ON COLUMN dms.descriptor.namespace IS '$.namespace';

COMMENT ON COLUMN dms.descriptor.codevalue IS '$.codeValue';

COMMENT ON COLUMN dms.descriptor.shortdescription IS '$.shortDescription';

COMMENT ON COLUMN dms.descriptor.description IS '$.description';

COMMENT ON COLUMN dms.descriptor.effectivebegindate IS '$.effectiveBeginDate';

COMMENT ON COLUMN dms.descriptor.effectiveenddate IS '$.effectiveEndDate';

COMMENT ON COLUMN dms.descriptor.discriminator IS 'the descriptor resource: {ProjectName}:{ResourceName}';

COMMENT ON COLUMN dms.descriptor.uri IS '{namespace}#{codeValue}, as first written';

CREATE TABLE dms.document (
    documentid bigint NOT NULL,
    documentuuid uuid NOT NULL,
    projectname character varying(256) NOT NULL,
    resourcename character varying(256) NOT NULL,
    resourceversion character varying(64) NOT NULL,
    etag bigint DEFAULT 1 NOT NULL,
    createdat timestamp with time zone DEFAULT now() NOT NULL,
    lastmodifiedat timestamp with time zone DEFAULT now() NOT NULL
);

COMMENT ON TABLE dms.document IS 'one row per document, of all resources';

COMMENT ON COLUMN dms.document.documentid IS 'the surrogate key, which references store';

COMMENT ON COLUMN dms.document.documentuuid IS 'the public id of the document, which never changes';

COMMENT ON COLUMN dms.document.projectname IS 'projectName of its resource';

COMMENT ON COLUMN dms.document.resourcename IS 'resourceName of its resource';

COMMENT ON COLUMN dms.document.resourceversion IS 'version of the project that the document was written with';

COMMENT ON COLUMN dms.document.etag IS 'starts at 1 and increases whenever the representation of the document changes';

COMMENT ON COLUMN dms.document.createdat IS 'when the document was first written';

COMMENT ON COLUMN dms.document.lastmodifiedat IS 'when the etag last increased';

ALTER TABLE dms.document ALTER COLUMN documentid ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME dms.document_documentid_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE dms.edgesource (
    edgesourceid bigint NOT NULL,
    edgesourcekey character varying(256) NOT NULL,
    createdat timestamp with time zone DEFAULT now() NOT NULL
);

COMMENT ON TABLE dms.edgesource IS 'the places in documents that have references; written by deploys only';

COMMENT ON COLUMN dms.edgesource.edgesourceid IS 'the first 8 bytes of the SHA-256 of the key, so it is the same in every store';

COMMENT ON COLUMN dms.edgesource.edgesourcekey IS '{ProjectName}.{ResourceName}:docref:{path}, or :desc: for descriptors';

COMMENT ON COLUMN dms.edgesource.createdat IS 'when a deploy added it';

CREATE TABLE dms.effectiveschema (
    effectiveschemaid bigint NOT NULL,
    effectiveschemahash character(64) NOT NULL,
    apischemaformatversion character varying(64) NOT NULL,
    mappingversion character varying(64) NOT NULL,
    appliedat timestamp with time zone DEFAULT now() NOT NULL
);

COMMENT ON TABLE dms.effectiveschema IS 'one row per deploy; the newest is current';

COMMENT ON COLUMN dms.effectiveschema.effectiveschemaid IS 'number of the deploy';

COMMENT ON COLUMN dms.effectiveschema.effectiveschemahash IS 'SHA-256 of the deployed schema; equal hashes mean equal schemas';

COMMENT ON COLUMN dms.effectiveschema.apischemaformatversion IS 'apiSchemaVersion of the files';

COMMENT ON COLUMN dms.effectiveschema.mappingversion IS 'version of the rules from schema to tables';

COMMENT ON COLUMN dms.effectiveschema.appliedat IS 'when it was deployed';

ALTER TABLE dms.effectiveschema ALTER COLUMN effectiveschemaid ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME dms.effectiveschema_effectiveschemaid_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE dms.idempotencykeys (
    id uuid NOT NULL,
    scope text NOT NULL,
    key character varying(128) NOT NULL,
    route character varying(256) NOT NULL,
    httpmethod character varying(7) NOT NULL,
    statuscode integer NOT NULL,
    responseheaders jsonb,
    responsebody text,
    contenttype character varying(256),
    createdat timestamp with time zone DEFAULT now() NOT NULL,
    claimedat timestamp with time zone NOT NULL,
    expiresat timestamp with time zone NOT NULL,
    isprocessed boolean DEFAULT false NOT NULL,
    processingcompletedat timestamp with time zone,
    requestfingerprint text,
    CONSTRAINT ck_contenttype_valid CHECK (((contenttype)::text ~ '^[^/;[:space:]]+/[^/;[:space:]]+ *(;.*)?$'::text)),
    CONSTRAINT ck_expiresat_greater_than_createdat CHECK ((expiresat > createdat)),
    CONSTRAINT ck_httpmethod_valid CHECK (((httpmethod)::text = ANY ((ARRAY['GET'::character varying, 'POST'::character varying, 'PUT'::character varying, 'DELETE'::character varying, 'PATCH'::character varying, 'HEAD'::character varying, 'OPTIONS'::character varying])::text[]))),
    CONSTRAINT ck_key_valid CHECK (((key)::text ~ '^[A-Za-z0-9-]+$'::text)),
    CONSTRAINT ck_responsebody_size CHECK ((octet_length(responsebody) <= 1048576)),
    CONSTRAINT ck_responseheaders_object CHECK ((jsonb_typeof(responseheaders) = 'object'::text)),
    CONSTRAINT ck_route_valid CHECK (starts_with((route)::text, '/'::text)),
    CONSTRAINT ck_statuscode_valid CHECK (((statuscode >= 100) AND (statuscode <= 599)))
)
WITH (fillfactor='70');

COMMENT ON TABLE dms.idempotencykeys IS 'requests that must run only once, and their answers';

COMMENT ON COLUMN dms.idempotencykeys.id IS 'id of the row';

COMMENT ON COLUMN dms.idempotencykeys.scope IS 'whose key it is: request or endpoint, the calling role, and the value of dms.user if it was set';

COMMENT ON COLUMN dms.idempotencykeys.key IS 'the key that the client chose';

COMMENT ON COLUMN dms.idempotencykeys.route IS 'the decoded path of the request, without its query';

COMMENT ON COLUMN dms.idempotencykeys.httpmethod IS 'the method of the request';

COMMENT ON COLUMN dms.idempotencykeys.statuscode IS 'status of the answer; 102 while the request is open';

COMMENT ON COLUMN dms.idempotencykeys.responseheaders IS 'headers of the answer';

COMMENT ON COLUMN dms.idempotencykeys.responsebody IS 'body of the answer, if it has one of up to 1 MiB';

COMMENT ON COLUMN dms.idempotencykeys.contenttype IS 'type of the body';

COMMENT ON COLUMN dms.idempotencykeys.createdat IS 'when the key was first used; never changes';

COMMENT ON COLUMN dms.idempotencykeys.claimedat IS 'when the request that has the key began';

COMMENT ON COLUMN dms.idempotencykeys.expiresat IS 'when the key becomes free again';

COMMENT ON COLUMN dms.idempotencykeys.isprocessed IS 'whether the answer is stored';

COMMENT ON COLUMN dms.idempotencykeys.processingcompletedat IS 'when the answer was stored';

COMMENT ON COLUMN dms.idempotencykeys.requestfingerprint IS 'distinguishes this request from others with the same key: SHA-256 of the body';

CREATE TABLE dms.identitylock (
    documentid bigint NOT NULL
);

COMMENT ON TABLE dms.identitylock IS 'one row per document, to be locked: FOR SHARE by transactions that rely on its identity, FOR UPDATE by those that change it';

COMMENT ON COLUMN dms.identitylock.documentid IS 'the document';

CREATE TABLE dms.referenceedge (
    parentdocumentid bigint NOT NULL,
    childdocumentid bigint NOT NULL,
    edgesourceid bigint NOT NULL,
    isidentitycomponent boolean NOT NULL,
    createdat timestamp with time zone DEFAULT now() NOT NULL
);

COMMENT ON TABLE dms.referenceedge IS 'which document refers to which: makes the reference columns searchable from their targets, and never replaces them';

COMMENT ON COLUMN dms.referenceedge.parentdocumentid IS 'the document that refers';

COMMENT ON COLUMN dms.referenceedge.childdocumentid IS 'the document that it refers to';

COMMENT ON COLUMN dms.referenceedge.edgesourceid IS 'the place in the referring document';

COMMENT ON COLUMN dms.referenceedge.isidentitycomponent IS 'whether the identity of the child is part of the identity of the parent';

COMMENT ON COLUMN dms.referenceedge.createdat IS 'when the reference was written';

CREATE TABLE dms.referentialidentity (
    referentialid uuid NOT NULL,
    documentid bigint NOT NULL,
    projectname character varying(256) NOT NULL,
    resourcename character varying(256) NOT NULL
);

COMMENT ON TABLE dms.referentialidentity IS 'which document has an identity: one row per document, and another one for its superclass';

COMMENT ON COLUMN dms.referentialidentity.referentialid IS 'UUIDv5 of the resource type and the identity';

COMMENT ON COLUMN dms.referentialidentity.documentid IS 'the document that has this identity';

COMMENT ON COLUMN dms.referentialidentity.projectname IS 'project of the resource, or of its superclass';

COMMENT ON COLUMN dms.referentialidentity.resourcename IS 'the resource, or its superclass';

CREATE TABLE dms.resourcemodel (
    projectname character varying(256) NOT NULL,
    resourcename character varying(256) NOT NULL,
    projectendpointname character varying(256) NOT NULL,
    endpointname character varying(256),
    kind character varying(16) NOT NULL,
    tableschema name NOT NULL,
    tablename name NOT NULL,
    memberschema name,
    membertable name,
    canchange boolean NOT NULL,
    identityrank integer NOT NULL,
    loadorder integer NOT NULL,
    model json NOT NULL
);

COMMENT ON TABLE dms.resourcemodel IS 'one row per resource: all that a session needs to work with it';

COMMENT ON COLUMN dms.resourcemodel.projectname IS 'the project in references';

COMMENT ON COLUMN dms.resourcemodel.resourcename IS 'the resource';

COMMENT ON COLUMN dms.resourcemodel.projectendpointname IS 'the project in URLs';

COMMENT ON COLUMN dms.resourcemodel.endpointname IS 'the resource in URLs; abstract resources have none';

COMMENT ON COLUMN dms.resourcemodel.kind IS 'resource, descriptor, schoolYear or abstract';

COMMENT ON COLUMN dms.resourcemodel.tableschema IS 'schema of the root table, or of the view of an abstract resource';

COMMENT ON COLUMN dms.resourcemodel.tablename IS 'the root table, or the view of an abstract resource';

COMMENT ON COLUMN dms.resourcemodel.memberschema IS 'schema of the member table of the superclass';

COMMENT ON COLUMN dms.resourcemodel.membertable IS 'the member table of the superclass';

COMMENT ON COLUMN dms.resourcemodel.canchange IS 'whether identities of this type can change, by themselves or through others';

COMMENT ON COLUMN dms.resourcemodel.identityrank IS 'level of the type in the graph of identities; the order of locks';

COMMENT ON COLUMN dms.resourcemodel.loadorder IS 'level of the type in the graph of references; the order of loading';

COMMENT ON COLUMN dms.resourcemodel.model IS 'the compiled model';

CREATE TABLE dms.schemacomponent (
    effectiveschemaid bigint NOT NULL,
    projectendpointname character varying(256) NOT NULL,
    projectname character varying(256) NOT NULL,
    projectversion character varying(64) NOT NULL,
    isextensionproject boolean NOT NULL
);

COMMENT ON TABLE dms.schemacomponent IS 'the projects of a deploy';

COMMENT ON COLUMN dms.schemacomponent.effectiveschemaid IS 'the deploy';

COMMENT ON COLUMN dms.schemacomponent.projectendpointname IS 'the project in URLs and below _ext';

COMMENT ON COLUMN dms.schemacomponent.projectname IS 'the project in references';

COMMENT ON COLUMN dms.schemacomponent.projectversion IS 'its version';

COMMENT ON COLUMN dms.schemacomponent.isextensionproject IS 'false for the core';

CREATE TABLE dms.store (
    singleton boolean DEFAULT true NOT NULL,
    instanceid uuid NOT NULL,
    storeversion text NOT NULL,
    createdat timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT store_singleton_check CHECK (singleton)
);

COMMENT ON TABLE dms.store IS 'this store: one row';

COMMENT ON COLUMN dms.store.singleton IS 'always true, so that there is only one row';

COMMENT ON COLUMN dms.store.instanceid IS 'made at the first deploy, kept by dump and restore';

COMMENT ON COLUMN dms.store.storeversion IS 'the version of the core tables';

COMMENT ON COLUMN dms.store.createdat IS 'when the first schema was deployed';

CREATE TABLE equalities.calendar (
    documentid bigint NOT NULL,
    code character varying(60) NOT NULL,
    kinddescriptor_descriptorid bigint NOT NULL,
    school_documentid bigint NOT NULL,
    year_documentid bigint NOT NULL
);

COMMENT ON TABLE equalities.calendar IS 'Equalities.Calendar: $';

COMMENT ON COLUMN equalities.calendar.documentid IS 'the document';

COMMENT ON COLUMN equalities.calendar.code IS '$.code';

COMMENT ON COLUMN equalities.calendar.kinddescriptor_descriptorid IS '$.kindDescriptor';

COMMENT ON COLUMN equalities.calendar.school_documentid IS '$.schoolReference';

COMMENT ON COLUMN equalities.calendar.year_documentid IS '$.yearReference';

CREATE TABLE equalities.enrollment (
    documentid bigint NOT NULL,
    calendar_documentid bigint,
    enrollmentid bigint NOT NULL,
    kinddescriptor_descriptorid bigint,
    school_documentid bigint NOT NULL,
    year_documentid bigint
);

COMMENT ON TABLE equalities.enrollment IS 'Equalities.Enrollment: $';

COMMENT ON COLUMN equalities.enrollment.documentid IS 'the document';

COMMENT ON COLUMN equalities.enrollment.calendar_documentid IS '$.calendarReference';

COMMENT ON COLUMN equalities.enrollment.enrollmentid IS '$.enrollmentId';

COMMENT ON COLUMN equalities.enrollment.kinddescriptor_descriptorid IS '$.kindDescriptor';

COMMENT ON COLUMN equalities.enrollment.school_documentid IS '$.schoolReference';

COMMENT ON COLUMN equalities.enrollment.year_documentid IS '$.yearReference';

CREATE TABLE equalities.plan (
    documentid bigint NOT NULL,
    first_documentid bigint,
    planid bigint NOT NULL,
    second_documentid bigint
);

COMMENT ON TABLE equalities.plan IS 'Equalities.Plan: $';

COMMENT ON COLUMN equalities.plan.documentid IS 'the document';

COMMENT ON COLUMN equalities.plan.first_documentid IS '$.firstReference';

COMMENT ON COLUMN equalities.plan.planid IS '$.planId';

COMMENT ON COLUMN equalities.plan.second_documentid IS '$.secondReference';

CREATE TABLE equalities.school (
    documentid bigint NOT NULL,
    name character varying(60),
    schoolid bigint NOT NULL
);

COMMENT ON TABLE equalities.school IS 'Equalities.School: $';

COMMENT ON COLUMN equalities.school.documentid IS 'the document';

COMMENT ON COLUMN equalities.school.name IS '$.name';

COMMENT ON COLUMN equalities.school.schoolid IS '$.schoolId';

CREATE TABLE equalities.transfer (
    documentid bigint NOT NULL,
    fifth_documentid bigint,
    first_documentid bigint,
    fourth_documentid bigint,
    number bigint,
    seat bigint,
    second_documentid bigint,
    third_documentid bigint,
    transferid bigint NOT NULL
);

COMMENT ON TABLE equalities.transfer IS 'Equalities.Transfer: $';

COMMENT ON COLUMN equalities.transfer.documentid IS 'the document';

COMMENT ON COLUMN equalities.transfer.fifth_documentid IS '$.fifthReference';

COMMENT ON COLUMN equalities.transfer.first_documentid IS '$.firstReference';

COMMENT ON COLUMN equalities.transfer.fourth_documentid IS '$.fourthReference';

COMMENT ON COLUMN equalities.transfer.number IS '$.number';

COMMENT ON COLUMN equalities.transfer.seat IS '$.seat';

COMMENT ON COLUMN equalities.transfer.second_documentid IS '$.secondReference';

COMMENT ON COLUMN equalities.transfer.third_documentid IS '$.thirdReference';

COMMENT ON COLUMN equalities.transfer.transferid IS '$.transferId';

CREATE TABLE equalities.year (
    documentid bigint NOT NULL,
    year bigint NOT NULL
);

COMMENT ON TABLE equalities.year IS 'Equalities.Year: $';

COMMENT ON COLUMN equalities.year.documentid IS 'the document';

COMMENT ON COLUMN equalities.year.year IS '$.year';

COPY dms.descriptor (documentid, namespace, codevalue, shortdescription, description, effectivebegindate, effectiveenddate, discriminator, uri) FROM stdin;
1	uri://x	A	a	\N	\N	\N	Equalities:KindDescriptor	uri://x#A
\.

COPY dms.document (documentid, documentuuid, projectname, resourcename, resourceversion, etag, createdat, lastmodifiedat) FROM stdin;
1	01a1eeb5-aee0-7205-a441-4cc9d3693d4c	Equalities	KindDescriptor	1.0.0	1	2026-11-18 12:50:46.62134+00	2026-11-18 12:50:46.62134+00
2	01a1eeb5-aef1-766a-a2ae-e1fbeb9b028b	Equalities	School	1.0.0	1	2026-11-18 12:50:46.641138+00	2026-11-18 12:50:46.641138+00
3	01a1eeb5-aefd-718f-b9b9-0a92855234b4	Equalities	School	1.0.0	1	2026-11-18 12:50:46.653467+00	2026-11-18 12:50:46.653467+00
4	01a1eeb5-af02-7197-a1ab-3ec78d5148b2	Equalities	Year	1.0.0	1	2026-11-18 12:50:46.658008+00	2026-11-18 12:50:46.658008+00
5	01a1eeb5-af06-77cd-a47c-69905865532e	Equalities	Calendar	1.0.0	1	2026-11-18 12:50:46.661469+00	2026-11-18 12:50:46.661469+00
6	01a1eeb5-af0e-75eb-8395-9bf268b0a29d	Equalities	Enrollment	1.0.0	1	2026-11-18 12:50:46.669935+00	2026-11-18 12:50:46.669935+00
7	01a1eeb5-af0f-77a0-af35-64ec496eb092	Equalities	Enrollment	1.0.0	1	2026-11-18 12:50:46.671681+00	2026-11-18 12:50:46.671681+00
8	01a1eeb5-af15-7081-adb4-f12f0b718f11	Equalities	Plan	1.0.0	1	2026-11-18 12:50:46.677153+00	2026-11-18 12:50:46.677153+00
\.

COPY dms.edgesource (edgesourceid, edgesourcekey, createdat) FROM stdin;
-9059936663955757210	Equalities.Calendar:desc:$.kindDescriptor	2026-11-18 12:48:08.100362+00
3052005417644216778	Equalities.Calendar:docref:$.schoolReference	2026-11-18 12:48:08.100362+00
3960444390299953414	Equalities.Calendar:docref:$.yearReference	2026-11-18 12:48:08.100362+00
-5735296495968897799	Equalities.Enrollment:docref:$.calendarReference	2026-11-18 12:48:08.100362+00
621076057684472180	Equalities.Enrollment:desc:$.kindDescriptor	2026-11-18 12:48:08.100362+00
-612695061845842045	Equalities.Enrollment:docref:$.schoolReference	2026-11-18 12:48:08.100362+00
-945910823152751138	Equalities.Enrollment:docref:$.yearReference	2026-11-18 12:48:08.100362+00
5196555972826642745	Equalities.Plan:docref:$.firstReference	2026-11-18 12:48:08.100362+00
3759276275200573876	Equalities.Plan:docref:$.secondReference	2026-11-18 12:48:08.100362+00
3612005014749160919	Equalities.Transfer:docref:$.fifthReference	2026-11-18 12:48:08.100362+00
2635161911642406157	Equalities.Transfer:docref:$.firstReference	2026-11-18 12:48:08.100362+00
-5421735398931003929	Equalities.Transfer:docref:$.fourthReference	2026-11-18 12:48:08.100362+00
-7243900313152034956	Equalities.Transfer:docref:$.secondReference	2026-11-18 12:48:08.100362+00
-5145933586015180189	Equalities.Transfer:docref:$.thirdReference	2026-11-18 12:48:08.100362+00
\.

COPY dms.effectiveschema (effectiveschemaid, effectiveschemahash, apischemaformatversion, mappingversion, appliedat) FROM stdin;
1	5aaf86561ed8891b81f361d008b393568f6183a46ec5365c3d489e8ec075eb92	1.0.0	1	2026-11-18 12:48:08.100362+00
\.

COPY dms.idempotencykeys (id, scope, key, route, httpmethod, statuscode, responseheaders, responsebody, contenttype, createdat, claimedat, expiresat, isprocessed, processingcompletedat, requestfingerprint) FROM stdin;
\.

COPY dms.identitylock (documentid) FROM stdin;
1
2
3
4
5
6
7
8
\.

COPY dms.referenceedge (parentdocumentid, childdocumentid, edgesourceid, isidentitycomponent, createdat) FROM stdin;
5	1	-9059936663955757210	t	2026-11-18 12:50:46.661469+00
5	2	3052005417644216778	t	2026-11-18 12:50:46.661469+00
5	4	3960444390299953414	t	2026-11-18 12:50:46.661469+00
6	5	-5735296495968897799	f	2026-11-18 12:50:46.669935+00
6	2	-612695061845842045	t	2026-11-18 12:50:46.669935+00
7	4	-945910823152751138	f	2026-11-18 12:50:46.671681+00
7	2	-612695061845842045	t	2026-11-18 12:50:46.671681+00
\.

COPY dms.referentialidentity (referentialid, documentid, projectname, resourcename) FROM stdin;
a31c5626-74d5-580a-ae5a-7f9fc0a4d143	1	Equalities	KindDescriptor
181a664e-798e-510b-8686-26f845095a0f	2	Equalities	School
b848c2c0-03fc-5c67-9152-4b09c2c2c1e2	3	Equalities	School
ad17df28-b2bc-51f6-89b7-12b1dcff1dc9	4	Equalities	Year
cc180cb1-ce5c-5859-9b62-cba182ee572a	5	Equalities	Calendar
16e79d19-42a9-593b-8caf-6fc308f0d2bf	6	Equalities	Enrollment
d6b08f72-c6af-5977-8a6e-9bab80f67209	7	Equalities	Enrollment
0fffe864-9220-5b62-8eae-d0811079a489	8	Equalities	Plan
\.

COPY dms.resourcemodel (projectname, resourcename, projectendpointname, endpointname, kind, tableschema, tablename, memberschema, membertable, canchange, identityrank, loadorder, model) FROM stdin;
Equalities	Calendar	equalities	calendars	resource	equalities	calendar	\N	\N	t	1	1	{"format":2,"project":"Equalities","resource":"Calendar","project_endpoint":"equalities","endpoint":"calendars","version":"1.0.0","can_change":true,"rank":1,"load_order":1,"scopes":[{"properties":[{"name":"code","required":true,"column":1},{"name":"kindDescriptor","kind":1,"required":true,"value":{"max_length":306},"column":2},{"name":"schoolReference","kind":2,"required":true,"column":3,"scope":1},{"name":"yearReference","kind":2,"required":true,"column":4,"scope":2}]},{"properties":[{"name":"schoolId","kind":3,"required":true,"value":{"type":2}}]},{"properties":[{"name":"year","kind":3,"required":true,"value":{"type":2}}]}],"tables":[{"schema":"equalities","name":"calendar","title":"Calendar","columns":[{"name":"documentid"},{"name":"code","value":{"min_length":1,"max_length":60,"pattern":"^(?!\\\\s).*(?<!\\\\s)$"}},{"name":"kinddescriptor_descriptorid","reference":0,"foreign_key":"calendar_kinddescriptor_descriptorid_fk"},{"name":"school_documentid","reference":1,"foreign_key":"calendar_school_documentid_fk"},{"name":"year_documentid","reference":2,"foreign_key":"calendar_year_documentid_fk"}],"uniques":[{"name":"calendar_nk","columns":[1,2,3,4],"natural_key":true}]}],"references":[{"descriptor":true,"project":"Equalities","resource":"KindDescriptor","identity":true,"can_change":true,"edge_source_key":"Equalities.Calendar:desc:$.kindDescriptor","edge_source_id":-9059936663955757210},{"project":"Equalities","resource":"School","identity":true,"can_change":true,"edge_source_key":"Equalities.Calendar:docref:$.schoolReference","edge_source_id":3052005417644216778,"projection":1,"members":[{"identity_path":"$.schoolId","name":"schoolId"}]},{"project":"Equalities","resource":"Year","identity":true,"edge_source_key":"Equalities.Calendar:docref:$.yearReference","edge_source_id":3960444390299953414,"projection":2,"members":[{"identity_path":"$.year","name":"year"}]}],"identity":[{"path":"$.code"},{"path":"$.kindDescriptor"},{"path":"$.schoolReference.schoolId"},{"path":"$.yearReference.year"}],"projections":[{"project":"Equalities","resource":"Calendar","joins":[{"schema":"equalities","table":"calendar"},{"schema":"dms","table":"descriptor","from":0,"from_column":"kinddescriptor_descriptorid"},{"schema":"equalities","table":"school","from":0,"from_column":"school_documentid"},{"schema":"equalities","table":"year","from":0,"from_column":"year_documentid"}],"values":[{"path":"$.code","column":"code"},{"path":"$.kindDescriptor","join":1,"column":"uri"},{"path":"$.schoolReference.schoolId","join":2,"column":"schoolid","type":2},{"path":"$.yearReference.year","join":3,"column":"year","type":2}]},{"project":"Equalities","resource":"School","joins":[{"schema":"equalities","table":"school"}],"values":[{"path":"$.schoolId","column":"schoolid","type":2}]},{"project":"Equalities","resource":"Year","joins":[{"schema":"equalities","table":"year"}],"values":[{"path":"$.year","column":"year","type":2}]}],"queries":[{"name":"code","paths":[{"path":"$.code"}]},{"name":"id","paths":[{"path":"$.id"}]},{"name":"schoolId","paths":[{"path":"$.schoolReference.schoolId"}]},{"name":"year","paths":[{"path":"$.yearReference.year"}]}]}
Equalities	Enrollment	equalities	enrollments	resource	equalities	enrollment	\N	\N	t	1	2	{"format":2,"project":"Equalities","resource":"Enrollment","project_endpoint":"equalities","endpoint":"enrollments","version":"1.0.0","can_change":true,"rank":1,"load_order":2,"scopes":[{"properties":[{"name":"calendarReference","kind":2,"column":1,"scope":1},{"name":"enrollmentId","required":true,"column":2},{"name":"kindDescriptor","kind":1,"value":{"max_length":306},"column":3},{"name":"schoolReference","kind":2,"required":true,"column":4,"scope":2},{"name":"yearReference","kind":2,"column":5,"scope":3}]},{"properties":[{"name":"code","kind":3,"required":true,"value":{"min_length":1,"max_length":60,"pattern":"^(?!\\\\s).*(?<!\\\\s)$"}},{"name":"kindDescriptor","kind":3,"required":true,"value":{"max_length":306}},{"name":"schoolId","kind":3,"required":true,"value":{"type":2}},{"name":"year","kind":3,"required":true,"value":{"type":2}}]},{"properties":[{"name":"schoolId","kind":3,"required":true,"value":{"type":2}}]},{"properties":[{"name":"year","kind":3,"required":true,"value":{"type":2}}]}],"tables":[{"schema":"equalities","name":"enrollment","title":"Enrollment","columns":[{"name":"documentid"},{"name":"calendar_documentid","reference":0,"foreign_key":"enrollment_calendar_documentid_fk"},{"name":"enrollmentid","value":{"type":2}},{"name":"kinddescriptor_descriptorid","reference":1,"foreign_key":"enrollment_kinddescriptor_descriptorid_fk"},{"name":"school_documentid","reference":2,"foreign_key":"enrollment_school_documentid_fk"},{"name":"year_documentid","reference":3,"foreign_key":"enrollment_year_documentid_fk"}],"uniques":[{"name":"enrollment_nk","columns":[2,4],"natural_key":true}]}],"references":[{"project":"Equalities","resource":"Calendar","can_change":true,"rank":1,"edge_source_key":"Equalities.Enrollment:docref:$.calendarReference","edge_source_id":-5735296495968897799,"projection":1,"members":[{"identity_path":"$.code","name":"code"},{"identity_path":"$.kindDescriptor","name":"kindDescriptor","descriptor_project":"Equalities","descriptor_resource":"KindDescriptor"},{"identity_path":"$.schoolReference.schoolId","name":"schoolId"},{"identity_path":"$.yearReference.year","name":"year"}]},{"descriptor":true,"project":"Equalities","resource":"KindDescriptor","can_change":true,"edge_source_key":"Equalities.Enrollment:desc:$.kindDescriptor","edge_source_id":621076057684472180},{"project":"Equalities","resource":"School","identity":true,"can_change":true,"edge_source_key":"Equalities.Enrollment:docref:$.schoolReference","edge_source_id":-612695061845842045,"projection":2,"members":[{"identity_path":"$.schoolId","name":"schoolId"}]},{"project":"Equalities","resource":"Year","edge_source_key":"Equalities.Enrollment:docref:$.yearReference","edge_source_id":-945910823152751138,"projection":3,"members":[{"identity_path":"$.year","name":"year"}]}],"identity":[{"path":"$.enrollmentId"},{"path":"$.schoolReference.schoolId"}],"projections":[{"project":"Equalities","resource":"Enrollment","joins":[{"schema":"equalities","table":"enrollment"},{"schema":"equalities","table":"school","from":0,"from_column":"school_documentid"}],"values":[{"path":"$.enrollmentId","column":"enrollmentid","type":2},{"path":"$.schoolReference.schoolId","join":1,"column":"schoolid","type":2}]},{"project":"Equalities","resource":"Calendar","joins":[{"schema":"equalities","table":"calendar"},{"schema":"dms","table":"descriptor","from":0,"from_column":"kinddescriptor_descriptorid"},{"schema":"equalities","table":"school","from":0,"from_column":"school_documentid"},{"schema":"equalities","table":"year","from":0,"from_column":"year_documentid"}],"values":[{"path":"$.code","column":"code"},{"path":"$.kindDescriptor","join":1,"column":"uri"},{"path":"$.schoolReference.schoolId","join":2,"column":"schoolid","type":2},{"path":"$.yearReference.year","join":3,"column":"year","type":2}]},{"project":"Equalities","resource":"School","joins":[{"schema":"equalities","table":"school"}],"values":[{"path":"$.schoolId","column":"schoolid","type":2}]},{"project":"Equalities","resource":"Year","joins":[{"schema":"equalities","table":"year"}],"values":[{"path":"$.year","column":"year","type":2}]}],"queries":[{"name":"code","paths":[{"path":"$.calendarReference.code"}]},{"name":"enrollmentId","paths":[{"path":"$.enrollmentId"}]},{"name":"id","paths":[{"path":"$.id"}]},{"name":"kindDescriptor","paths":[{"path":"$.calendarReference.kindDescriptor"}]},{"name":"schoolId","paths":[{"path":"$.calendarReference.schoolId"}]},{"name":"year","paths":[{"path":"$.calendarReference.year"}]}],"equalities":[{"source":"$.calendarReference.schoolId","target":"$.schoolReference.schoolId"},{"source":"$.calendarReference.year","target":"$.yearReference.year"},{"source":"$.kindDescriptor","target":"$.calendarReference.kindDescriptor"}]}
Equalities	KindDescriptor	equalities	kindDescriptors	descriptor	dms	descriptor	\N	\N	t	0	0	{"format":2,"project":"Equalities","resource":"KindDescriptor","project_endpoint":"equalities","endpoint":"kindDescriptors","version":"1.0.0","kind":1,"allow_identity_updates":true,"can_change":true,"scopes":[{"properties":[{"name":"codeValue","required":true,"trim":true,"column":1},{"name":"description","column":2},{"name":"effectiveBeginDate","column":3},{"name":"effectiveEndDate","column":4},{"name":"namespace","required":true,"column":5},{"name":"shortDescription","required":true,"trim":true,"column":6}]}],"tables":[{"schema":"dms","name":"descriptor","title":"Descriptor","columns":[{"name":"documentid"},{"name":"codevalue","value":{"min_length":1,"max_length":50,"pattern":"^(?!\\\\s).*(?<!\\\\s)$"}},{"name":"description","value":{"max_length":1024}},{"name":"effectivebegindate","value":{"type":5}},{"name":"effectiveenddate","value":{"type":5}},{"name":"namespace","value":{"min_length":1,"max_length":255,"pattern":"^(?!\\\\s).*(?<!\\\\s)$"}},{"name":"shortdescription","value":{"min_length":1,"max_length":75,"pattern":"^(?!\\\\s).*(?<!\\\\s)$"}},{"name":"discriminator","value":{"max_length":513}},{"name":"uri","value":{"max_length":306}}]}],"identity":[{"path":"$.descriptor"}],"projections":[{"project":"Equalities","resource":"KindDescriptor","joins":[{"schema":"dms","table":"descriptor"}],"values":[{"path":"$.descriptor","column":"uri"}]}],"queries":[{"name":"codeValue","paths":[{"path":"$.codeValue"}]},{"name":"description","paths":[{"path":"$.description"}]},{"name":"effectiveBeginDate","paths":[{"path":"$.effectiveBeginDate"}]},{"name":"effectiveEndDate","paths":[{"path":"$.effectiveEndDate"}]},{"name":"id","paths":[{"path":"$.id"}]},{"name":"namespace","paths":[{"path":"$.namespace"}]},{"name":"shortDescription","paths":[{"path":"$.shortDescription"}]}]}
Equalities	Plan	equalities	plans	resource	equalities	plan	\N	\N	f	0	2	{"format":2,"project":"Equalities","resource":"Plan","project_endpoint":"equalities","endpoint":"plans","version":"1.0.0","load_order":2,"scopes":[{"properties":[{"name":"firstReference","kind":2,"column":1,"scope":1},{"name":"planId","required":true,"column":2},{"name":"secondReference","kind":2,"column":3,"scope":2}]},{"properties":[{"name":"code","kind":3,"required":true,"value":{"min_length":1,"max_length":60,"pattern":"^(?!\\\\s).*(?<!\\\\s)$"}},{"name":"kindDescriptor","kind":3,"required":true,"value":{"max_length":306}},{"name":"schoolId","kind":3,"required":true,"value":{"type":2}},{"name":"year","kind":3,"required":true,"value":{"type":2}}]},{"properties":[{"name":"code","kind":3,"required":true,"value":{"min_length":1,"max_length":60,"pattern":"^(?!\\\\s).*(?<!\\\\s)$"}},{"name":"kindDescriptor","kind":3,"required":true,"value":{"max_length":306}},{"name":"schoolId","kind":3,"required":true,"value":{"type":2}},{"name":"year","kind":3,"required":true,"value":{"type":2}}]}],"tables":[{"schema":"equalities","name":"plan","title":"Plan","columns":[{"name":"documentid"},{"name":"first_documentid","reference":0,"foreign_key":"plan_first_documentid_fk"},{"name":"planid","value":{"type":2}},{"name":"second_documentid","reference":1,"foreign_key":"plan_second_documentid_fk"}],"uniques":[{"name":"plan_nk","columns":[2],"natural_key":true}]}],"references":[{"project":"Equalities","resource":"Calendar","can_change":true,"rank":1,"edge_source_key":"Equalities.Plan:docref:$.firstReference","edge_source_id":5196555972826642745,"projection":1,"members":[{"identity_path":"$.code","name":"code"},{"identity_path":"$.kindDescriptor","name":"kindDescriptor","descriptor_project":"Equalities","descriptor_resource":"KindDescriptor"},{"identity_path":"$.schoolReference.schoolId","name":"schoolId"},{"identity_path":"$.yearReference.year","name":"year"}]},{"project":"Equalities","resource":"Calendar","can_change":true,"rank":1,"edge_source_key":"Equalities.Plan:docref:$.secondReference","edge_source_id":3759276275200573876,"projection":1,"members":[{"identity_path":"$.code","name":"code"},{"identity_path":"$.kindDescriptor","name":"kindDescriptor","descriptor_project":"Equalities","descriptor_resource":"KindDescriptor"},{"identity_path":"$.schoolReference.schoolId","name":"schoolId"},{"identity_path":"$.yearReference.year","name":"year"}]}],"identity":[{"path":"$.planId"}],"projections":[{"project":"Equalities","resource":"Plan","joins":[{"schema":"equalities","table":"plan"}],"values":[{"path":"$.planId","column":"planid","type":2}]},{"project":"Equalities","resource":"Calendar","joins":[{"schema":"equalities","table":"calendar"},{"schema":"dms","table":"descriptor","from":0,"from_column":"kinddescriptor_descriptorid"},{"schema":"equalities","table":"school","from":0,"from_column":"school_documentid"},{"schema":"equalities","table":"year","from":0,"from_column":"year_documentid"}],"values":[{"path":"$.code","column":"code"},{"path":"$.kindDescriptor","join":1,"column":"uri"},{"path":"$.schoolReference.schoolId","join":2,"column":"schoolid","type":2},{"path":"$.yearReference.year","join":3,"column":"year","type":2}]}],"queries":[{"name":"id","paths":[{"path":"$.id"}]},{"name":"planId","paths":[{"path":"$.planId"}]},{"name":"schoolId","paths":[{"path":"$.firstReference.schoolId"}]},{"name":"year","paths":[{"path":"$.firstReference.year"}]}],"equalities":[{"source":"$.firstReference.schoolId","target":"$.secondReference.schoolId"},{"source":"$.firstReference.year","target":"$.secondReference.year"}]}
Equalities	School	equalities	schools	resource	equalities	school	\N	\N	t	0	0	{"format":2,"project":"Equalities","resource":"School","project_endpoint":"equalities","endpoint":"schools","version":"1.0.0","allow_identity_updates":true,"can_change":true,"scopes":[{"properties":[{"name":"name","column":1},{"name":"schoolId","required":true,"column":2}]}],"tables":[{"schema":"equalities","name":"school","title":"School","columns":[{"name":"documentid"},{"name":"name","value":{"min_length":1,"max_length":60,"pattern":"^(?!\\\\s).*(?<!\\\\s)$"}},{"name":"schoolid","value":{"type":2}}],"uniques":[{"name":"school_nk","columns":[2],"natural_key":true}]}],"identity":[{"path":"$.schoolId"}],"projections":[{"project":"Equalities","resource":"School","joins":[{"schema":"equalities","table":"school"}],"values":[{"path":"$.schoolId","column":"schoolid","type":2}]}],"queries":[{"name":"id","paths":[{"path":"$.id"}]},{"name":"schoolId","paths":[{"path":"$.schoolId"}]}]}
Equalities	Transfer	equalities	transfers	resource	equalities	transfer	\N	\N	f	0	1	{"format":2,"project":"Equalities","resource":"Transfer","project_endpoint":"equalities","endpoint":"transfers","version":"1.0.0","load_order":1,"scopes":[{"properties":[{"name":"fifthReference","kind":2,"column":1,"scope":1},{"name":"firstReference","kind":2,"column":2,"scope":2},{"name":"fourthReference","kind":2,"column":3,"scope":3},{"name":"number","column":4},{"name":"seat","column":5},{"name":"secondReference","kind":2,"column":6,"scope":4},{"name":"thirdReference","kind":2,"column":7,"scope":5},{"name":"transferId","required":true,"column":8}]},{"properties":[{"name":"schoolId","kind":3,"required":true,"value":{"type":2}}]},{"properties":[{"name":"schoolId","kind":3,"required":true,"value":{"type":2}}]},{"properties":[{"name":"schoolId","kind":3,"required":true,"value":{"type":2}}]},{"properties":[{"name":"schoolId","kind":3,"required":true,"value":{"type":2}}]},{"properties":[{"name":"schoolId","kind":3,"required":true,"value":{"type":2}}]}],"tables":[{"schema":"equalities","name":"transfer","title":"Transfer","columns":[{"name":"documentid"},{"name":"fifth_documentid","reference":0,"foreign_key":"transfer_fifth_documentid_fk"},{"name":"first_documentid","reference":1,"foreign_key":"transfer_first_documentid_fk"},{"name":"fourth_documentid","reference":2,"foreign_key":"transfer_fourth_documentid_fk"},{"name":"number","value":{"type":2}},{"name":"seat","value":{"type":2}},{"name":"second_documentid","reference":3,"foreign_key":"transfer_second_documentid_fk"},{"name":"third_documentid","reference":4,"foreign_key":"transfer_third_documentid_fk"},{"name":"transferid","value":{"type":2}}],"uniques":[{"name":"transfer_nk","columns":[8],"natural_key":true}]}],"references":[{"project":"Equalities","resource":"School","can_change":true,"edge_source_key":"Equalities.Transfer:docref:$.fifthReference","edge_source_id":3612005014749160919,"projection":1,"members":[{"identity_path":"$.schoolId","name":"schoolId"}]},{"project":"Equalities","resource":"School","can_change":true,"edge_source_key":"Equalities.Transfer:docref:$.firstReference","edge_source_id":2635161911642406157,"projection":1,"members":[{"identity_path":"$.schoolId","name":"schoolId"}]},{"project":"Equalities","resource":"School","can_change":true,"edge_source_key":"Equalities.Transfer:docref:$.fourthReference","edge_source_id":-5421735398931003929,"projection":1,"members":[{"identity_path":"$.schoolId","name":"schoolId"}]},{"project":"Equalities","resource":"School","can_change":true,"edge_source_key":"Equalities.Transfer:docref:$.secondReference","edge_source_id":-7243900313152034956,"projection":1,"members":[{"identity_path":"$.schoolId","name":"schoolId"}]},{"project":"Equalities","resource":"School","can_change":true,"edge_source_key":"Equalities.Transfer:docref:$.thirdReference","edge_source_id":-5145933586015180189,"projection":1,"members":[{"identity_path":"$.schoolId","name":"schoolId"}]}],"identity":[{"path":"$.transferId"}],"projections":[{"project":"Equalities","resource":"Transfer","joins":[{"schema":"equalities","table":"transfer"}],"values":[{"path":"$.transferId","column":"transferid","type":2}]},{"project":"Equalities","resource":"School","joins":[{"schema":"equalities","table":"school"}],"values":[{"path":"$.schoolId","column":"schoolid","type":2}]}],"queries":[{"name":"fifthId","paths":[{"path":"$.fifthReference.schoolId"}]},{"name":"fourthId","paths":[{"path":"$.fourthReference.schoolId"}]},{"name":"id","paths":[{"path":"$.id"}]},{"name":"number","paths":[{"path":"$.number"}]},{"name":"schoolId","paths":[{"path":"$.firstReference.schoolId"}]},{"name":"transferId","paths":[{"path":"$.transferId"}]}],"equalities":[{"source":"$.firstReference.schoolId","target":"$.secondReference.schoolId"},{"source":"$.thirdReference.schoolId","target":"$.secondReference.schoolId"},{"source":"$.fourthReference.schoolId","target":"$.number"},{"source":"$.fifthReference.schoolId","target":"$.seat"}]}
Equalities	Year	equalities	years	resource	equalities	year	\N	\N	f	0	0	{"format":2,"project":"Equalities","resource":"Year","project_endpoint":"equalities","endpoint":"years","version":"1.0.0","scopes":[{"properties":[{"name":"year","required":true,"column":1}]}],"tables":[{"schema":"equalities","name":"year","title":"Year","columns":[{"name":"documentid"},{"name":"year","value":{"type":2}}],"uniques":[{"name":"year_nk","columns":[1],"natural_key":true}]}],"identity":[{"path":"$.year"}],"projections":[{"project":"Equalities","resource":"Year","joins":[{"schema":"equalities","table":"year"}],"values":[{"path":"$.year","column":"year","type":2}]}],"queries":[{"name":"id","paths":[{"path":"$.id"}]},{"name":"year","paths":[{"path":"$.year"}]}]}
\.

COPY dms.schemacomponent (effectiveschemaid, projectendpointname, projectname, projectversion, isextensionproject) FROM stdin;
1	equalities	Equalities	1.0.0	f
\.

COPY dms.store (singleton, instanceid, storeversion, createdat) FROM stdin;
t	01a1eeb3-4511-77ed-8393-e6a23266dab6	1.0	2026-11-18 12:48:08.100362+00
\.

COPY equalities.calendar (documentid, code, kinddescriptor_descriptorid, school_documentid, year_documentid) FROM stdin;
5	C	1	2	4
\.

COPY equalities.enrollment (documentid, calendar_documentid, enrollmentid, kinddescriptor_descriptorid, school_documentid, year_documentid) FROM stdin;
6	5	1	\N	2	\N
7	\N	2	\N	2	4
\.

COPY equalities.plan (documentid, first_documentid, planid, second_documentid) FROM stdin;
8	\N	1	\N
\.

COPY equalities.school (documentid, name, schoolid) FROM stdin;
2	One	1
3	\N	2
\.

COPY equalities.transfer (documentid, fifth_documentid, first_documentid, fourth_documentid, number, seat, second_documentid, third_documentid, transferid) FROM stdin;
\.

COPY equalities.year (documentid, year) FROM stdin;
4	2024
\.

SELECT pg_catalog.setval('dms.document_documentid_seq', 8, true);

SELECT pg_catalog.setval('dms.effectiveschema_effectiveschemaid_seq', 1, true);

ALTER TABLE ONLY dms.descriptor
    ADD CONSTRAINT descriptor_nk UNIQUE (uri, discriminator) DEFERRABLE;

ALTER TABLE ONLY dms.descriptor
    ADD CONSTRAINT descriptor_pkey PRIMARY KEY (documentid);

ALTER TABLE ONLY dms.document
    ADD CONSTRAINT document_documentuuid_uq UNIQUE (documentuuid);

ALTER TABLE ONLY dms.document
    ADD CONSTRAINT document_pkey PRIMARY KEY (documentid);

ALTER TABLE ONLY dms.edgesource
    ADD CONSTRAINT edgesource_edgesourcekey_uq UNIQUE (edgesourcekey);

ALTER TABLE ONLY dms.edgesource
    ADD CONSTRAINT edgesource_pkey PRIMARY KEY (edgesourceid);

ALTER TABLE ONLY dms.effectiveschema
    ADD CONSTRAINT effectiveschema_pkey PRIMARY KEY (effectiveschemaid);

ALTER TABLE ONLY dms.idempotencykeys
    ADD CONSTRAINT idempotencykeys_pkey PRIMARY KEY (id);

ALTER TABLE ONLY dms.identitylock
    ADD CONSTRAINT identitylock_pkey PRIMARY KEY (documentid);

ALTER TABLE ONLY dms.referenceedge
    ADD CONSTRAINT referenceedge_pkey PRIMARY KEY (parentdocumentid, edgesourceid, childdocumentid);

ALTER TABLE ONLY dms.referentialidentity
    ADD CONSTRAINT referentialidentity_document_uq UNIQUE (documentid, projectname, resourcename);

ALTER TABLE ONLY dms.referentialidentity
    ADD CONSTRAINT referentialidentity_pkey PRIMARY KEY (referentialid) WITH (fillfactor='90');

ALTER TABLE ONLY dms.resourcemodel
    ADD CONSTRAINT resourcemodel_pkey PRIMARY KEY (projectname, resourcename);

ALTER TABLE ONLY dms.schemacomponent
    ADD CONSTRAINT schemacomponent_pkey PRIMARY KEY (effectiveschemaid, projectendpointname);

ALTER TABLE ONLY dms.store
    ADD CONSTRAINT store_pkey PRIMARY KEY (singleton);

ALTER TABLE ONLY dms.idempotencykeys
    ADD CONSTRAINT ux_idempotencykey_composite UNIQUE (scope, route, httpmethod, key);

ALTER TABLE ONLY equalities.calendar
    ADD CONSTRAINT calendar_nk UNIQUE (code, kinddescriptor_descriptorid, school_documentid, year_documentid) DEFERRABLE;

ALTER TABLE ONLY equalities.calendar
    ADD CONSTRAINT calendar_pk PRIMARY KEY (documentid);

ALTER TABLE ONLY equalities.enrollment
    ADD CONSTRAINT enrollment_nk UNIQUE (enrollmentid, school_documentid) DEFERRABLE;

ALTER TABLE ONLY equalities.enrollment
    ADD CONSTRAINT enrollment_pk PRIMARY KEY (documentid);

ALTER TABLE ONLY equalities.plan
    ADD CONSTRAINT plan_nk UNIQUE (planid) DEFERRABLE;

ALTER TABLE ONLY equalities.plan
    ADD CONSTRAINT plan_pk PRIMARY KEY (documentid);

ALTER TABLE ONLY equalities.school
    ADD CONSTRAINT school_nk UNIQUE (schoolid) DEFERRABLE;

ALTER TABLE ONLY equalities.school
    ADD CONSTRAINT school_pk PRIMARY KEY (documentid);

ALTER TABLE ONLY equalities.transfer
    ADD CONSTRAINT transfer_nk UNIQUE (transferid) DEFERRABLE;

ALTER TABLE ONLY equalities.transfer
    ADD CONSTRAINT transfer_pk PRIMARY KEY (documentid);

ALTER TABLE ONLY equalities.year
    ADD CONSTRAINT year_nk UNIQUE (year) DEFERRABLE;

ALTER TABLE ONLY equalities.year
    ADD CONSTRAINT year_pk PRIMARY KEY (documentid);

CREATE INDEX descriptor_discriminator_ix ON dms.descriptor USING btree (discriminator, documentid);

CREATE INDEX ix_idempotencykeys_expiresat ON dms.idempotencykeys USING btree (expiresat);

CREATE INDEX ix_idempotencykeys_route_createdat ON dms.idempotencykeys USING btree (route, createdat DESC);

CREATE INDEX referenceedge_child_ix ON dms.referenceedge USING btree (childdocumentid) INCLUDE (parentdocumentid, edgesourceid, isidentitycomponent);

CREATE INDEX referenceedge_identity_ix ON dms.referenceedge USING btree (childdocumentid) INCLUDE (parentdocumentid, edgesourceid) WHERE isidentitycomponent;

CREATE INDEX calendar_kinddescriptor_descriptorid_ix ON equalities.calendar USING btree (kinddescriptor_descriptorid);

CREATE INDEX calendar_school_documentid_ix ON equalities.calendar USING btree (school_documentid);

CREATE INDEX calendar_year_documentid_ix ON equalities.calendar USING btree (year_documentid);

CREATE INDEX enrollment_calendar_documentid_ix ON equalities.enrollment USING btree (calendar_documentid);

CREATE INDEX enrollment_kinddescriptor_descriptorid_ix ON equalities.enrollment USING btree (kinddescriptor_descriptorid);

CREATE INDEX enrollment_school_documentid_ix ON equalities.enrollment USING btree (school_documentid);

CREATE INDEX enrollment_year_documentid_ix ON equalities.enrollment USING btree (year_documentid);

CREATE INDEX plan_first_documentid_ix ON equalities.plan USING btree (first_documentid);

CREATE INDEX plan_second_documentid_ix ON equalities.plan USING btree (second_documentid);

CREATE INDEX transfer_fifth_documentid_ix ON equalities.transfer USING btree (fifth_documentid);

CREATE INDEX transfer_first_documentid_ix ON equalities.transfer USING btree (first_documentid);

CREATE INDEX transfer_fourth_documentid_ix ON equalities.transfer USING btree (fourth_documentid);

CREATE INDEX transfer_number_ix ON equalities.transfer USING btree (number);

CREATE INDEX transfer_second_documentid_ix ON equalities.transfer USING btree (second_documentid);

CREATE INDEX transfer_third_documentid_ix ON equalities.transfer USING btree (third_documentid);

CREATE TRIGGER document_after_delete AFTER DELETE ON dms.document REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION dms.document_after_delete();

CREATE TRIGGER document_after_truncate AFTER TRUNCATE ON dms.document FOR EACH STATEMENT EXECUTE FUNCTION dms.document_after_truncate();

CREATE TRIGGER document_before_delete BEFORE DELETE ON dms.document FOR EACH ROW EXECUTE FUNCTION dms.document_before_delete();

CREATE TRIGGER idempotencykeys_created_at BEFORE UPDATE OF createdat ON dms.idempotencykeys FOR EACH ROW WHEN ((old.createdat IS DISTINCT FROM new.createdat)) EXECUTE FUNCTION dms.idempotencykeys_created_at();

ALTER TABLE ONLY dms.schemacomponent
    ADD CONSTRAINT schemacomponent_effectiveschemaid_fkey FOREIGN KEY (effectiveschemaid) REFERENCES dms.effectiveschema(effectiveschemaid);

ALTER TABLE ONLY equalities.calendar
    ADD CONSTRAINT calendar_kinddescriptor_descriptorid_fk FOREIGN KEY (kinddescriptor_descriptorid) REFERENCES dms.descriptor(documentid);

ALTER TABLE ONLY equalities.calendar
    ADD CONSTRAINT calendar_school_documentid_fk FOREIGN KEY (school_documentid) REFERENCES equalities.school(documentid);

ALTER TABLE ONLY equalities.calendar
    ADD CONSTRAINT calendar_year_documentid_fk FOREIGN KEY (year_documentid) REFERENCES equalities.year(documentid);

ALTER TABLE ONLY equalities.enrollment
    ADD CONSTRAINT enrollment_calendar_documentid_fk FOREIGN KEY (calendar_documentid) REFERENCES equalities.calendar(documentid);

ALTER TABLE ONLY equalities.enrollment
    ADD CONSTRAINT enrollment_kinddescriptor_descriptorid_fk FOREIGN KEY (kinddescriptor_descriptorid) REFERENCES dms.descriptor(documentid);

ALTER TABLE ONLY equalities.enrollment
    ADD CONSTRAINT enrollment_school_documentid_fk FOREIGN KEY (school_documentid) REFERENCES equalities.school(documentid);

ALTER TABLE ONLY equalities.enrollment
    ADD CONSTRAINT enrollment_year_documentid_fk FOREIGN KEY (year_documentid) REFERENCES equalities.year(documentid);

ALTER TABLE ONLY equalities.plan
    ADD CONSTRAINT plan_first_documentid_fk FOREIGN KEY (first_documentid) REFERENCES equalities.calendar(documentid);

ALTER TABLE ONLY equalities.plan
    ADD CONSTRAINT plan_second_documentid_fk FOREIGN KEY (second_documentid) REFERENCES equalities.calendar(documentid);

ALTER TABLE ONLY equalities.transfer
    ADD CONSTRAINT transfer_fifth_documentid_fk FOREIGN KEY (fifth_documentid) REFERENCES equalities.school(documentid);

ALTER TABLE ONLY equalities.transfer
    ADD CONSTRAINT transfer_first_documentid_fk FOREIGN KEY (first_documentid) REFERENCES equalities.school(documentid);

ALTER TABLE ONLY equalities.transfer
    ADD CONSTRAINT transfer_fourth_documentid_fk FOREIGN KEY (fourth_documentid) REFERENCES equalities.school(documentid);

ALTER TABLE ONLY equalities.transfer
    ADD CONSTRAINT transfer_second_documentid_fk FOREIGN KEY (second_documentid) REFERENCES equalities.school(documentid);

ALTER TABLE ONLY equalities.transfer
    ADD CONSTRAINT transfer_third_documentid_fk FOREIGN KEY (third_documentid) REFERENCES equalities.school(documentid);

