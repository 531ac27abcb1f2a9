-- dms 1.0: the functions and types of the extension.
--
-- No table is created here.  Tables are made by the first deploy and belong to
-- the role that runs it, so data never depends on the extension.

\echo Use "CREATE EXTENSION dms" to load this file. \quit

-- A trusted extension runs this script as superuser, and the database owner may
-- have created the schema dms and objects in it before.  So unqualified names
-- below must not be looked up there.
SET LOCAL search_path = pg_catalog, pg_temp;

-- Functions that only other functions call are in a schema of their own, so that
-- \df dms.* lists what users call.  The schema is a member of the extension, and
-- belongs to the owner of its functions: nobody else can create anything in it.
-- Nothing that a deploy creates is in it or depends on it.
CREATE SCHEMA dms_internal;
COMMENT ON SCHEMA dms_internal IS 'helpers of the functions in schema dms, not to be called by users';
GRANT USAGE ON SCHEMA dms_internal TO PUBLIC;

-- ---------------------------------------------------------------------------
-- UUIDs and identities.  These functions access no data, so all roles may call
-- them.
-- ---------------------------------------------------------------------------

CREATE FUNCTION dms.uuid_v5(namespace uuid, name text) RETURNS uuid
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dms_uuid_v5';
COMMENT ON FUNCTION dms.uuid_v5(uuid, text) IS
'the UUIDv5 (RFC 4122, SHA-1) of the UTF-8 bytes of a name in a namespace';

-- Parallel restricted, because the order within a session needs one process.
CREATE FUNCTION dms.uuid_v7() RETURNS uuid
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dms_uuid_v7';
COMMENT ON FUNCTION dms.uuid_v7() IS
'a new UUIDv7; each is greater than those that the session made before';

-- Not strict, because a NULL is a mistake of the caller and must be an error.
CREATE FUNCTION dms.referential_id(project text, resource text, paths text[], vals text[])
RETURNS uuid
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dms_referential_id';
COMMENT ON FUNCTION dms.referential_id(text, text, text[], text[]) IS
'the ReferentialId of an identity: the UUIDv5 of its resource''s names and its path=value elements';

CREATE FUNCTION dms.lower_invariant(value text) RETURNS text
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dms_lower_invariant';
COMMENT ON FUNCTION dms.lower_invariant(text) IS
'lower case by Unicode''s simple case mapping, independent of locale and collation';

CREATE FUNCTION dms.parse_urn(urn text) RETURNS TABLE (domain text, resource_type text, id text)
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 1
AS 'MODULE_PATHNAME', 'dms_parse_urn';
COMMENT ON FUNCTION dms.parse_urn(text) IS
'the parts of a URN, urn:{domain}:{resource_type}::{id}, whether or not there is such a document';

-- ---------------------------------------------------------------------------
-- The store.  dms.deploy_schema() runs these statements at the first deploy,
-- as its caller.  The tables are then ordinary tables of that role, and not
-- members of the extension.
-- ---------------------------------------------------------------------------

CREATE FUNCTION dms_internal.core_ddl() RETURNS SETOF text
LANGUAGE sql IMMUTABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $core$
VALUES
($ddl$
CREATE TABLE dms.Store (
	Singleton boolean PRIMARY KEY DEFAULT true CHECK (Singleton),
	InstanceId uuid NOT NULL,
	StoreVersion text NOT NULL,
	CreatedAt timestamptz NOT NULL DEFAULT now(),
	Generation bigint NOT NULL DEFAULT 0,
	MaxCascadeSize integer CONSTRAINT store_maxcascadesize_ck CHECK (MaxCascadeSize >= 0),
	VerifyEdges double precision CONSTRAINT store_verifyedges_ck CHECK (VerifyEdges BETWEEN 0 AND 1),
	IdempotencyLease integer CONSTRAINT store_idempotencylease_ck CHECK (IdempotencyLease >= 1),
	IdempotencyTtl integer CONSTRAINT store_idempotencyttl_ck CHECK (IdempotencyTtl >= 1),
	MaxDeleteSize integer CONSTRAINT store_maxdeletesize_ck CHECK (MaxDeleteSize >= 0),
	UrnDomain varchar(32) CONSTRAINT store_urndomain_ck CHECK (UrnDomain ~ '^[A-Za-z0-9-]+$'),
	ChangeTracking boolean NOT NULL DEFAULT true,
	ChangeBase bigint NOT NULL DEFAULT 0,
	ChangeFloor bigint NOT NULL DEFAULT 0,
	ChangeSystem bigint NOT NULL DEFAULT 0,
	PurgedThrough bigint NOT NULL DEFAULT 0,
	PurgedBy bigint NOT NULL DEFAULT 0,
	CacheMode varchar(16) NOT NULL DEFAULT 'off'
		CONSTRAINT store_cachemode_ck CHECK (CacheMode ~ '^(off|eventual|write_through|strict)$'),
	CacheValidFrom timestamptz NOT NULL DEFAULT '-infinity'
)$ddl$),
($ddl$COMMENT ON TABLE dms.Store IS 'this store: one row'$ddl$),
($ddl$COMMENT ON COLUMN dms.Store.Singleton IS 'always true, so that there is only one row'$ddl$),
($ddl$COMMENT ON COLUMN dms.Store.InstanceId IS 'made at the first deploy, kept by dump and restore'$ddl$),
($ddl$COMMENT ON COLUMN dms.Store.StoreVersion IS 'the version of the core tables'$ddl$),
($ddl$COMMENT ON COLUMN dms.Store.CreatedAt IS 'when the first schema was deployed'$ddl$),
($ddl$COMMENT ON COLUMN dms.Store.Generation IS 'raised by deploys and by dms.configure_store(); sessions that know an older one load models and limits again'$ddl$),
($ddl$COMMENT ON COLUMN dms.Store.MaxCascadeSize IS 'the largest change of identity, in documents; 0 or NULL: no limit'$ddl$),
($ddl$COMMENT ON COLUMN dms.Store.VerifyEdges IS 'the fraction of writes whose edges are verified, at least'$ddl$),
($ddl$COMMENT ON COLUMN dms.Store.IdempotencyLease IS 'how long a claimed idempotency key may stay open, at least, in seconds'$ddl$),
($ddl$COMMENT ON COLUMN dms.Store.IdempotencyTtl IS 'how long idempotency keys are kept, at most, in seconds'$ddl$),
($ddl$COMMENT ON COLUMN dms.Store.MaxDeleteSize IS 'the largest subtree that a delete may reach, in documents; 0 or NULL: no limit'$ddl$),
($ddl$COMMENT ON COLUMN dms.Store.UrnDomain IS 'the domain of URNs of documents; NULL: dms'$ddl$),
($ddl$COMMENT ON COLUMN dms.Store.ChangeTracking IS 'whether changes of documents are recorded; dms.set_change_tracking() switches'$ddl$),
($ddl$COMMENT ON COLUMN dms.Store.ChangeBase IS 'what is added to twice the id of a transaction to number its changes'$ddl$),
($ddl$COMMENT ON COLUMN dms.Store.ChangeFloor IS 'numbers of changes up to this one were given by another server, and are final'$ddl$),
($ddl$COMMENT ON COLUMN dms.Store.ChangeSystem IS 'the system identifier of the server that ChangeBase is for'$ddl$),
($ddl$COMMENT ON COLUMN dms.Store.PurgedThrough IS 'deletes and changes of keys up to this number are not all recorded any more'$ddl$),
($ddl$COMMENT ON COLUMN dms.Store.PurgedBy IS 'the number of the change that raised PurgedThrough'$ddl$),
($ddl$COMMENT ON COLUMN dms.Store.CacheMode IS 'who writes dms.DocumentCache; dms.set_cache_mode() switches'$ddl$),
($ddl$COMMENT ON COLUMN dms.Store.CacheValidFrom IS 'rows of dms.DocumentCache that were written before are not fresh'$ddl$),

($ddl$
CREATE TABLE dms.Document (
	DocumentId bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
	DocumentUuid uuid NOT NULL CONSTRAINT document_documentuuid_uq UNIQUE,
	ProjectName varchar(256) NOT NULL,
	ResourceName varchar(256) NOT NULL,
	ResourceVersion varchar(64) NOT NULL,
	Etag bigint NOT NULL DEFAULT 1,
	CreatedAt timestamptz NOT NULL DEFAULT now(),
	LastModifiedAt timestamptz NOT NULL DEFAULT now(),
	CreatedBy varchar(256)
)$ddl$),
($ddl$COMMENT ON TABLE dms.Document IS 'one row per document, of all resources'$ddl$),
($ddl$COMMENT ON COLUMN dms.Document.DocumentId IS 'the surrogate key, which references store'$ddl$),
($ddl$COMMENT ON COLUMN dms.Document.DocumentUuid IS 'the public id of the document, which never changes'$ddl$),
($ddl$COMMENT ON COLUMN dms.Document.ProjectName IS 'projectName of its resource'$ddl$),
($ddl$COMMENT ON COLUMN dms.Document.ResourceName IS 'resourceName of its resource'$ddl$),
($ddl$COMMENT ON COLUMN dms.Document.ResourceVersion IS 'version of the project that the document was written with'$ddl$),
($ddl$COMMENT ON COLUMN dms.Document.Etag IS 'starts at 1 and increases whenever the representation of the document changes'$ddl$),
($ddl$COMMENT ON COLUMN dms.Document.CreatedAt IS 'when the document was first written'$ddl$),
($ddl$COMMENT ON COLUMN dms.Document.LastModifiedAt IS 'when the etag last increased'$ddl$),
($ddl$COMMENT ON COLUMN dms.Document.CreatedBy IS 'who created the document: the setting dms.user at that time; NULL if it was not set'$ddl$),

($ddl$
CREATE TABLE dms.ReferentialIdentity (
	ReferentialId uuid NOT NULL PRIMARY KEY WITH (fillfactor = 90),
	DocumentId bigint NOT NULL,
	ProjectName varchar(256) NOT NULL,
	ResourceName varchar(256) NOT NULL,
	CONSTRAINT referentialidentity_document_uq UNIQUE (DocumentId, ProjectName, ResourceName)
)$ddl$),
($ddl$COMMENT ON TABLE dms.ReferentialIdentity IS 'which document has an identity: one row per document, and another one for its superclass'$ddl$),
($ddl$COMMENT ON COLUMN dms.ReferentialIdentity.ReferentialId IS 'UUIDv5 of the resource type and the identity'$ddl$),
($ddl$COMMENT ON COLUMN dms.ReferentialIdentity.DocumentId IS 'the document that has this identity'$ddl$),
($ddl$COMMENT ON COLUMN dms.ReferentialIdentity.ProjectName IS 'project of the resource, or of its superclass'$ddl$),
($ddl$COMMENT ON COLUMN dms.ReferentialIdentity.ResourceName IS 'the resource, or its superclass'$ddl$),

($ddl$
CREATE TABLE dms.Descriptor (
	DocumentId bigint PRIMARY KEY,
	Namespace varchar(255) NOT NULL,
	CodeValue varchar(50) NOT NULL,
	ShortDescription varchar(75) NOT NULL,
	Description varchar(1024),
	EffectiveBeginDate date,
	EffectiveEndDate date,
	Discriminator varchar(513) NOT NULL,
	Uri varchar(306) NOT NULL,
	CONSTRAINT descriptor_nk UNIQUE (Uri, Discriminator) DEFERRABLE INITIALLY IMMEDIATE
)$ddl$),
($ddl$CREATE INDEX descriptor_discriminator_ix ON dms.Descriptor (Discriminator, DocumentId)$ddl$),
($ddl$COMMENT ON TABLE dms.Descriptor IS 'all documents of all descriptor resources'$ddl$),
($ddl$COMMENT ON COLUMN dms.Descriptor.DocumentId IS 'the document'$ddl$),
($ddl$COMMENT ON COLUMN dms.Descriptor.Namespace IS '$.namespace'$ddl$),
($ddl$COMMENT ON COLUMN dms.Descriptor.CodeValue IS '$.codeValue'$ddl$),
($ddl$COMMENT ON COLUMN dms.Descriptor.ShortDescription IS '$.shortDescription'$ddl$),
($ddl$COMMENT ON COLUMN dms.Descriptor.Description IS '$.description'$ddl$),
($ddl$COMMENT ON COLUMN dms.Descriptor.EffectiveBeginDate IS '$.effectiveBeginDate'$ddl$),
($ddl$COMMENT ON COLUMN dms.Descriptor.EffectiveEndDate IS '$.effectiveEndDate'$ddl$),
($ddl$COMMENT ON COLUMN dms.Descriptor.Discriminator IS 'the descriptor resource: {ProjectName}:{ResourceName}'$ddl$),
($ddl$COMMENT ON COLUMN dms.Descriptor.Uri IS '{namespace}#{codeValue}, as first written'$ddl$),

($ddl$
CREATE TABLE dms.EdgeSource (
	EdgeSourceId bigint PRIMARY KEY,
	EdgeSourceKey varchar(256) NOT NULL CONSTRAINT edgesource_edgesourcekey_uq UNIQUE,
	CreatedAt timestamptz NOT NULL DEFAULT now()
)$ddl$),
($ddl$COMMENT ON TABLE dms.EdgeSource IS 'the places in documents that have references; written by deploys only'$ddl$),
($ddl$COMMENT ON COLUMN dms.EdgeSource.EdgeSourceId IS 'the first 8 bytes of the SHA-256 of the key, so it is the same in every store'$ddl$),
($ddl$COMMENT ON COLUMN dms.EdgeSource.EdgeSourceKey IS '{ProjectName}.{ResourceName}:docref:{path}, or :desc: for descriptors'$ddl$),
($ddl$COMMENT ON COLUMN dms.EdgeSource.CreatedAt IS 'when a deploy added it'$ddl$),

($ddl$
CREATE TABLE dms.ReferenceEdge (
	ParentDocumentId bigint NOT NULL,
	ChildDocumentId bigint NOT NULL,
	EdgeSourceId bigint NOT NULL,
	IsIdentityComponent boolean NOT NULL,
	CreatedAt timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (ParentDocumentId, EdgeSourceId, ChildDocumentId)
)$ddl$),
($ddl$
CREATE INDEX referenceedge_child_ix ON dms.ReferenceEdge (ChildDocumentId)
	INCLUDE (ParentDocumentId, EdgeSourceId, IsIdentityComponent)$ddl$),
($ddl$COMMENT ON TABLE dms.ReferenceEdge IS 'which document refers to which: makes the reference columns searchable from their targets, and never replaces them'$ddl$),
($ddl$COMMENT ON COLUMN dms.ReferenceEdge.ParentDocumentId IS 'the document that refers'$ddl$),
($ddl$COMMENT ON COLUMN dms.ReferenceEdge.ChildDocumentId IS 'the document that it refers to'$ddl$),
($ddl$COMMENT ON COLUMN dms.ReferenceEdge.EdgeSourceId IS 'the place in the referring document'$ddl$),
($ddl$COMMENT ON COLUMN dms.ReferenceEdge.IsIdentityComponent IS 'whether the identity of the child is part of the identity of the parent'$ddl$),
($ddl$COMMENT ON COLUMN dms.ReferenceEdge.CreatedAt IS 'when the reference was written'$ddl$),

($ddl$
CREATE TABLE dms.IdentityLock (
	DocumentId bigint PRIMARY KEY
)$ddl$),
($ddl$COMMENT ON TABLE dms.IdentityLock IS 'one row per document, to be locked: FOR SHARE by transactions that rely on its identity, FOR UPDATE by those that change it'$ddl$),
($ddl$COMMENT ON COLUMN dms.IdentityLock.DocumentId IS 'the document'$ddl$),

($ddl$
CREATE TABLE dms.EffectiveSchema (
	EffectiveSchemaId bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
	EffectiveSchemaHash char(64) NOT NULL,
	ApiSchemaFormatVersion varchar(64) NOT NULL,
	MappingVersion varchar(64) NOT NULL,
	AppliedAt timestamptz NOT NULL DEFAULT now()
)$ddl$),
($ddl$COMMENT ON TABLE dms.EffectiveSchema IS 'one row per deploy; the newest is current'$ddl$),
($ddl$COMMENT ON COLUMN dms.EffectiveSchema.EffectiveSchemaId IS 'number of the deploy'$ddl$),
($ddl$COMMENT ON COLUMN dms.EffectiveSchema.EffectiveSchemaHash IS 'SHA-256 of the deployed schema; equal hashes mean equal schemas'$ddl$),
($ddl$COMMENT ON COLUMN dms.EffectiveSchema.ApiSchemaFormatVersion IS 'apiSchemaVersion of the files'$ddl$),
($ddl$COMMENT ON COLUMN dms.EffectiveSchema.MappingVersion IS 'version of the rules from schema to tables'$ddl$),
($ddl$COMMENT ON COLUMN dms.EffectiveSchema.AppliedAt IS 'when it was deployed'$ddl$),

($ddl$
CREATE TABLE dms.SchemaComponent (
	EffectiveSchemaId bigint NOT NULL REFERENCES dms.EffectiveSchema,
	ProjectEndpointName varchar(256) NOT NULL,
	ProjectName varchar(256) NOT NULL,
	ProjectVersion varchar(64) NOT NULL,
	IsExtensionProject boolean NOT NULL,
	PRIMARY KEY (EffectiveSchemaId, ProjectEndpointName)
)$ddl$),
($ddl$COMMENT ON TABLE dms.SchemaComponent IS 'the projects of a deploy'$ddl$),
($ddl$COMMENT ON COLUMN dms.SchemaComponent.EffectiveSchemaId IS 'the deploy'$ddl$),
($ddl$COMMENT ON COLUMN dms.SchemaComponent.ProjectEndpointName IS 'the project in URLs and below _ext'$ddl$),
($ddl$COMMENT ON COLUMN dms.SchemaComponent.ProjectName IS 'the project in references'$ddl$),
($ddl$COMMENT ON COLUMN dms.SchemaComponent.ProjectVersion IS 'its version'$ddl$),
($ddl$COMMENT ON COLUMN dms.SchemaComponent.IsExtensionProject IS 'false for the core'$ddl$),

($ddl$
CREATE TABLE dms.ResourceModel (
	ProjectName varchar(256) NOT NULL,
	ResourceName varchar(256) NOT NULL,
	ProjectEndpointName varchar(256) NOT NULL,
	EndpointName varchar(256),
	Kind varchar(16) NOT NULL,
	TableSchema name NOT NULL,
	TableName name NOT NULL,
	MemberSchema name,
	MemberTable name,
	CanChange boolean NOT NULL,
	IdentityRank integer NOT NULL,
	LoadOrder integer NOT NULL,
	Model json NOT NULL,
	PRIMARY KEY (ProjectName, ResourceName)
)$ddl$),
($ddl$COMMENT ON TABLE dms.ResourceModel IS 'one row per resource: all that a session needs to work with it'$ddl$),
($ddl$COMMENT ON COLUMN dms.ResourceModel.ProjectName IS 'the project in references'$ddl$),
($ddl$COMMENT ON COLUMN dms.ResourceModel.ResourceName IS 'the resource'$ddl$),
($ddl$COMMENT ON COLUMN dms.ResourceModel.ProjectEndpointName IS 'the project in URLs'$ddl$),
($ddl$COMMENT ON COLUMN dms.ResourceModel.EndpointName IS 'the resource in URLs; abstract resources have none'$ddl$),
($ddl$COMMENT ON COLUMN dms.ResourceModel.Kind IS 'resource, descriptor, schoolYear or abstract'$ddl$),
($ddl$COMMENT ON COLUMN dms.ResourceModel.TableSchema IS 'schema of the root table, or of the view of an abstract resource'$ddl$),
($ddl$COMMENT ON COLUMN dms.ResourceModel.TableName IS 'the root table, or the view of an abstract resource'$ddl$),
($ddl$COMMENT ON COLUMN dms.ResourceModel.MemberSchema IS 'schema of the member table of the superclass'$ddl$),
($ddl$COMMENT ON COLUMN dms.ResourceModel.MemberTable IS 'the member table of the superclass'$ddl$),
($ddl$COMMENT ON COLUMN dms.ResourceModel.CanChange IS 'whether identities of this type can change, by themselves or through others'$ddl$),
($ddl$COMMENT ON COLUMN dms.ResourceModel.IdentityRank IS 'level of the type in the graph of identities; the order of locks'$ddl$),
($ddl$COMMENT ON COLUMN dms.ResourceModel.LoadOrder IS 'level of the type in the graph of references; the order of loading'$ddl$),
($ddl$COMMENT ON COLUMN dms.ResourceModel.Model IS 'the compiled model'$ddl$),

($ddl$
CREATE TABLE dms.ResourceType (
	ResourceTypeId integer PRIMARY KEY,
	ProjectName varchar(256) NOT NULL,
	ResourceName varchar(256) NOT NULL,
	ResourceType varchar(513) NOT NULL CONSTRAINT resourcetype_resourcetype_uq UNIQUE,
	Options jsonb NOT NULL DEFAULT '{}',
	UpdatedAt timestamptz NOT NULL DEFAULT now(),
	CONSTRAINT resourcetype_names_uq UNIQUE (ProjectName, ResourceName)
)$ddl$),
($ddl$COMMENT ON TABLE dms.ResourceType IS 'one row per resource: its number, its name as one word, and its options; written by deploys, and kept when a resource goes'$ddl$),
($ddl$COMMENT ON COLUMN dms.ResourceType.ResourceTypeId IS 'the first 4 bytes of the SHA-256 of {ProjectName}:{ResourceName}, so it is the same in every store'$ddl$),
($ddl$COMMENT ON COLUMN dms.ResourceType.ProjectName IS 'the project in references'$ddl$),
($ddl$COMMENT ON COLUMN dms.ResourceType.ResourceName IS 'the resource'$ddl$),
($ddl$COMMENT ON COLUMN dms.ResourceType.ResourceType IS '{ProjectName}.{ResourceName}; characters other than ASCII letters, digits, "." and "-" are replaced by "-"'$ddl$),
($ddl$COMMENT ON COLUMN dms.ResourceType.Options IS 'options of the resource; dms.configure_resource() sets them'$ddl$),
($ddl$COMMENT ON COLUMN dms.ResourceType.UpdatedAt IS 'when the row was last written'$ddl$),

($ddl$
CREATE TABLE dms.IdempotencyKeys (
	Id uuid PRIMARY KEY,
	Scope text NOT NULL,
	Key varchar(128) NOT NULL CONSTRAINT CK_Key_Valid CHECK (Key ~ '^[A-Za-z0-9-]+$'),
	Route varchar(256) NOT NULL CONSTRAINT CK_Route_Valid CHECK (starts_with(Route, '/')),
	HttpMethod varchar(7) NOT NULL CONSTRAINT CK_HttpMethod_Valid
		CHECK (HttpMethod IN ('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS')),
	StatusCode integer NOT NULL CONSTRAINT CK_StatusCode_Valid CHECK (StatusCode BETWEEN 100 AND 599),
	ResponseHeaders jsonb CONSTRAINT CK_ResponseHeaders_Object CHECK (jsonb_typeof(ResponseHeaders) = 'object'),
	ResponseBody text CONSTRAINT CK_ResponseBody_Size CHECK (octet_length(ResponseBody) <= 1048576),
	ContentType varchar(256) CONSTRAINT CK_ContentType_Valid CHECK (ContentType ~ '^[^/;[:space:]]+/[^/;[:space:]]+ *(;.*)?$'),
	CreatedAt timestamptz NOT NULL DEFAULT now(),
	ClaimedAt timestamptz NOT NULL,
	ExpiresAt timestamptz NOT NULL,
	IsProcessed boolean NOT NULL DEFAULT false,
	ProcessingCompletedAt timestamptz,
	RequestFingerprint text,
	CONSTRAINT UX_IdempotencyKey_Composite UNIQUE (Scope, Route, HttpMethod, Key),
	CONSTRAINT CK_ExpiresAt_Greater_Than_CreatedAt CHECK (ExpiresAt > CreatedAt)
) WITH (fillfactor = 70)$ddl$),
($ddl$CREATE INDEX IX_IdempotencyKeys_ExpiresAt ON dms.IdempotencyKeys (ExpiresAt)$ddl$),
($ddl$CREATE INDEX IX_IdempotencyKeys_Route_CreatedAt ON dms.IdempotencyKeys (Route, CreatedAt DESC)$ddl$),
($ddl$COMMENT ON TABLE dms.IdempotencyKeys IS 'requests that must run only once, and their answers'$ddl$),
($ddl$COMMENT ON COLUMN dms.IdempotencyKeys.Id IS 'id of the row'$ddl$),
($ddl$COMMENT ON COLUMN dms.IdempotencyKeys.Scope IS 'whose key it is: request or endpoint, the calling role, and the value of dms.user if it was set'$ddl$),
($ddl$COMMENT ON COLUMN dms.IdempotencyKeys.Key IS 'the key that the client chose'$ddl$),
($ddl$COMMENT ON COLUMN dms.IdempotencyKeys.Route IS 'the decoded path of the request, without its query'$ddl$),
($ddl$COMMENT ON COLUMN dms.IdempotencyKeys.HttpMethod IS 'the method of the request'$ddl$),
($ddl$COMMENT ON COLUMN dms.IdempotencyKeys.StatusCode IS 'status of the answer; 102 while the request is open'$ddl$),
($ddl$COMMENT ON COLUMN dms.IdempotencyKeys.ResponseHeaders IS 'headers of the answer'$ddl$),
($ddl$COMMENT ON COLUMN dms.IdempotencyKeys.ResponseBody IS 'body of the answer, if it has one of up to 1 MiB'$ddl$),
($ddl$COMMENT ON COLUMN dms.IdempotencyKeys.ContentType IS 'type of the body'$ddl$),
($ddl$COMMENT ON COLUMN dms.IdempotencyKeys.CreatedAt IS 'when the key was first used; never changes'$ddl$),
($ddl$COMMENT ON COLUMN dms.IdempotencyKeys.ClaimedAt IS 'when the request that has the key began'$ddl$),
($ddl$COMMENT ON COLUMN dms.IdempotencyKeys.ExpiresAt IS 'when the key becomes free again'$ddl$),
($ddl$COMMENT ON COLUMN dms.IdempotencyKeys.IsProcessed IS 'whether the answer is stored'$ddl$),
($ddl$COMMENT ON COLUMN dms.IdempotencyKeys.ProcessingCompletedAt IS 'when the answer was stored'$ddl$),
($ddl$COMMENT ON COLUMN dms.IdempotencyKeys.RequestFingerprint IS 'distinguishes this request from others with the same key: SHA-256 of the body'$ddl$),
($ddl$
CREATE FUNCTION dms.idempotencykeys_created_at() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
	RAISE integrity_constraint_violation USING MESSAGE = 'CreatedAt of an idempotency key never changes';
END
$body$$ddl$),
($ddl$COMMENT ON FUNCTION dms.idempotencykeys_created_at() IS 'refuses to change when a key was first used'$ddl$),
($ddl$
CREATE TRIGGER idempotencykeys_created_at BEFORE UPDATE OF CreatedAt ON dms.IdempotencyKeys
	FOR EACH ROW WHEN (OLD.CreatedAt IS DISTINCT FROM NEW.CreatedAt)
	EXECUTE FUNCTION dms.idempotencykeys_created_at()$ddl$),

($ddl$
CREATE TABLE dms.DocumentVersion (
	DocumentUuid uuid NOT NULL,
	VersionNumber bigint NOT NULL,
	CreatedAt timestamptz NOT NULL,
	ResourceTypeId integer NOT NULL,
	ResourceVersion varchar(64) NOT NULL,
	Kind varchar(10) NOT NULL,
	CreatedBy varchar(256) NOT NULL,
	Content json,
	PRIMARY KEY (DocumentUuid, VersionNumber)
) WITH (toast_tuple_target = 512)$ddl$),
($ddl$ALTER TABLE dms.DocumentVersion ALTER COLUMN Content SET STORAGE MAIN$ddl$),
($ddl$COMMENT ON TABLE dms.DocumentVersion IS 'versions of the documents of resources that have the option history: one row for each etag, never changed'$ddl$),
($ddl$COMMENT ON COLUMN dms.DocumentVersion.DocumentUuid IS 'the public id of the document'$ddl$),
($ddl$COMMENT ON COLUMN dms.DocumentVersion.VersionNumber IS 'the etag of this version; of a deleted document, its last etag plus 1'$ddl$),
($ddl$COMMENT ON COLUMN dms.DocumentVersion.CreatedAt IS 'when the etag was given; never less than that of the version before'$ddl$),
($ddl$COMMENT ON COLUMN dms.DocumentVersion.ResourceTypeId IS 'the resource of the document'$ddl$),
($ddl$COMMENT ON COLUMN dms.DocumentVersion.ResourceVersion IS 'version of the project at that time'$ddl$),
($ddl$COMMENT ON COLUMN dms.DocumentVersion.Kind IS 'baseline, inserted, updated, cascaded, restored or deleted'$ddl$),
($ddl$COMMENT ON COLUMN dms.DocumentVersion.CreatedBy IS 'who wrote it: the setting dms.user, or the role that has connected'$ddl$),
($ddl$COMMENT ON COLUMN dms.DocumentVersion.Content IS 'the representation of the document with this etag; NULL if it was deleted'$ddl$),
($ddl$
CREATE FUNCTION dms.documentversion_final() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
	-- A setting of this name that is not ours, which any role can make, is not listed.
	IF TG_OP = 'DELETE' AND EXISTS (SELECT FROM pg_settings WHERE name = 'dms.purging' AND setting = 'on') THEN
		RETURN NULL;
	END IF;
	RAISE integrity_constraint_violation USING MESSAGE = 'versions of documents are never changed',
		HINT = 'dms.purge_history() and dms.erase_history() delete versions.';
END
$body$$ddl$),
($ddl$COMMENT ON FUNCTION dms.documentversion_final() IS 'refuses to change or delete versions'$ddl$),
($ddl$
CREATE TRIGGER documentversion_final BEFORE UPDATE OR DELETE OR TRUNCATE ON dms.DocumentVersion
	FOR EACH STATEMENT EXECUTE FUNCTION dms.documentversion_final()$ddl$),
-- The trigger of this function exists while a resource has the option history.
($ddl$
CREATE FUNCTION dms.document_history() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
	INSERT INTO dms.DocumentVersion (DocumentUuid, VersionNumber, CreatedAt, ResourceTypeId, ResourceVersion, Kind, CreatedBy)
	SELECT g.DocumentUuid, g.Etag + 1, GREATEST(clock_timestamp(), g.LastModifiedAt), t.ResourceTypeId,
		g.ResourceVersion, 'deleted', left(COALESCE(NULLIF(current_setting('dms.user', true), ''), session_user), 256)
	FROM gone AS g
	JOIN dms.ResourceType AS t ON (t.ProjectName, t.ResourceName) = (g.ProjectName, g.ResourceName)
	WHERE t.Options @> '{"history": true}'
	ORDER BY g.DocumentUuid;
	RETURN NULL;
END
$body$$ddl$),
($ddl$COMMENT ON FUNCTION dms.document_history() IS 'records deleted documents of resources that have the option history'$ddl$),

($ddl$
CREATE TABLE dms.VersionDiff (
	DocumentUuid uuid NOT NULL,
	VersionNumber bigint NOT NULL,
	OldVersionNumber bigint NOT NULL,
	Diff jsonb NOT NULL,
	CreatedAt timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (DocumentUuid, VersionNumber)
)$ddl$),
($ddl$COMMENT ON TABLE dms.VersionDiff IS 'what changed from one version of a document to another; made by jobs after the write'$ddl$),
($ddl$COMMENT ON COLUMN dms.VersionDiff.DocumentUuid IS 'the public id of the document'$ddl$),
($ddl$COMMENT ON COLUMN dms.VersionDiff.VersionNumber IS 'the new version'$ddl$),
($ddl$COMMENT ON COLUMN dms.VersionDiff.OldVersionNumber IS 'the old version'$ddl$),
($ddl$COMMENT ON COLUMN dms.VersionDiff.Diff IS 'what dms.json_diff() returns, or what a program has stored'$ddl$),
($ddl$COMMENT ON COLUMN dms.VersionDiff.CreatedAt IS 'when it was stored'$ddl$),
($ddl$
CREATE TABLE dms.Job (
	JobId bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
	Queue varchar(64) NOT NULL,
	Kind varchar(64) NOT NULL,
	DocumentUuid uuid,
	Payload jsonb NOT NULL,
	RunAt timestamptz NOT NULL,
	Attempts integer NOT NULL DEFAULT 0,
	MaxAttempts integer NOT NULL,
	Lease uuid,
	LastError text,
	CreatedAt timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500)$ddl$),
($ddl$CREATE INDEX job_due_ix ON dms.Job (Queue, RunAt, JobId)$ddl$),
($ddl$CREATE INDEX job_document_ix ON dms.Job (DocumentUuid) WHERE DocumentUuid IS NOT NULL$ddl$),
($ddl$COMMENT ON TABLE dms.Job IS 'jobs that are to be run after the transaction that enqueued them'$ddl$),
($ddl$COMMENT ON COLUMN dms.Job.JobId IS 'the id of the job'$ddl$),
($ddl$COMMENT ON COLUMN dms.Job.Queue IS 'who runs it: dms is the queue of the store''s own jobs'$ddl$),
($ddl$COMMENT ON COLUMN dms.Job.Kind IS 'what is to be done'$ddl$),
($ddl$COMMENT ON COLUMN dms.Job.DocumentUuid IS 'the document that it is about; NULL if there is none'$ddl$),
($ddl$COMMENT ON COLUMN dms.Job.Payload IS 'what those who run it need to know'$ddl$),
($ddl$COMMENT ON COLUMN dms.Job.RunAt IS 'when it is due; of a claimed job, when its lease ends'$ddl$),
($ddl$COMMENT ON COLUMN dms.Job.Attempts IS 'how often it was claimed'$ddl$),
($ddl$COMMENT ON COLUMN dms.Job.MaxAttempts IS 'how often it may be claimed; then it is moved to dms.DeadJob'$ddl$),
($ddl$COMMENT ON COLUMN dms.Job.Lease IS 'identifies the claim; NULL if nobody holds it'$ddl$),
($ddl$COMMENT ON COLUMN dms.Job.LastError IS 'why the last attempt failed'$ddl$),
($ddl$COMMENT ON COLUMN dms.Job.CreatedAt IS 'when it was enqueued'$ddl$),
($ddl$
CREATE TABLE dms.DeadJob (
	JobId bigint PRIMARY KEY,
	Queue varchar(64) NOT NULL,
	Kind varchar(64) NOT NULL,
	DocumentUuid uuid,
	Payload jsonb NOT NULL,
	RunAt timestamptz NOT NULL,
	Attempts integer NOT NULL,
	MaxAttempts integer NOT NULL,
	LastError text,
	CreatedAt timestamptz NOT NULL,
	DiedAt timestamptz NOT NULL DEFAULT now()
)$ddl$),
($ddl$CREATE INDEX deadjob_document_ix ON dms.DeadJob (DocumentUuid) WHERE DocumentUuid IS NOT NULL$ddl$),
($ddl$COMMENT ON TABLE dms.DeadJob IS 'jobs that have failed too often; dms.retry_jobs() puts them back'$ddl$),
($ddl$COMMENT ON COLUMN dms.DeadJob.JobId IS 'the id that it had in dms.Job'$ddl$),
($ddl$COMMENT ON COLUMN dms.DeadJob.Queue IS 'its queue'$ddl$),
($ddl$COMMENT ON COLUMN dms.DeadJob.Kind IS 'what was to be done'$ddl$),
($ddl$COMMENT ON COLUMN dms.DeadJob.DocumentUuid IS 'the document that it is about; NULL if there is none'$ddl$),
($ddl$COMMENT ON COLUMN dms.DeadJob.Payload IS 'what those who ran it needed to know'$ddl$),
($ddl$COMMENT ON COLUMN dms.DeadJob.RunAt IS 'when its last lease would have ended'$ddl$),
($ddl$COMMENT ON COLUMN dms.DeadJob.Attempts IS 'how often it was run'$ddl$),
($ddl$COMMENT ON COLUMN dms.DeadJob.MaxAttempts IS 'how often it was allowed to be run'$ddl$),
($ddl$COMMENT ON COLUMN dms.DeadJob.LastError IS 'why the last attempt failed'$ddl$),
($ddl$COMMENT ON COLUMN dms.DeadJob.CreatedAt IS 'when it was enqueued'$ddl$),
($ddl$COMMENT ON COLUMN dms.DeadJob.DiedAt IS 'when it was moved here'$ddl$),

($ddl$
CREATE TABLE dms.ParentChild (
	ChildDocumentId bigint PRIMARY KEY,
	ParentDocumentId bigint NOT NULL,
	ChildTypeId integer NOT NULL,
	ChildUuid uuid NOT NULL,
	CreatedAt timestamptz NOT NULL DEFAULT now()
)$ddl$),
($ddl$CREATE INDEX parentchild_parent_ix ON dms.ParentChild (ParentDocumentId, ChildTypeId, ChildUuid)$ddl$),
($ddl$COMMENT ON TABLE dms.ParentChild IS 'the parents of documents: a document has at most one, and is deleted with it'$ddl$),
($ddl$COMMENT ON COLUMN dms.ParentChild.ChildDocumentId IS 'the child'$ddl$),
($ddl$COMMENT ON COLUMN dms.ParentChild.ParentDocumentId IS 'its parent'$ddl$),
($ddl$COMMENT ON COLUMN dms.ParentChild.ChildTypeId IS 'the number of the child''s resource in dms.ResourceType'$ddl$),
($ddl$COMMENT ON COLUMN dms.ParentChild.ChildUuid IS 'the public id of the child'$ddl$),
($ddl$COMMENT ON COLUMN dms.ParentChild.CreatedAt IS 'when the child got this parent'$ddl$),

($ddl$
CREATE TABLE dms.CollectionMember (
	CollectionDocumentId bigint NOT NULL,
	MemberDocumentId bigint NOT NULL,
	MemberTypeId integer NOT NULL,
	MemberUuid uuid NOT NULL,
	Conveys boolean NOT NULL,
	CreatedAt timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (CollectionDocumentId, MemberDocumentId)
)$ddl$),
($ddl$CREATE INDEX collectionmember_collection_ix ON dms.CollectionMember (CollectionDocumentId, MemberTypeId, MemberUuid)$ddl$),
($ddl$CREATE INDEX collectionmember_member_ix ON dms.CollectionMember (MemberDocumentId, CollectionDocumentId)$ddl$),
($ddl$COMMENT ON TABLE dms.CollectionMember IS 'the members of collections; any document can be a collection'$ddl$),
($ddl$COMMENT ON COLUMN dms.CollectionMember.CollectionDocumentId IS 'the collection'$ddl$),
($ddl$COMMENT ON COLUMN dms.CollectionMember.MemberDocumentId IS 'the member'$ddl$),
($ddl$COMMENT ON COLUMN dms.CollectionMember.MemberTypeId IS 'the number of the member''s resource in dms.ResourceType'$ddl$),
($ddl$COMMENT ON COLUMN dms.CollectionMember.MemberUuid IS 'the public id of the member'$ddl$),
($ddl$COMMENT ON COLUMN dms.CollectionMember.Conveys IS 'whether grants on the collection apply to the member'$ddl$),
($ddl$COMMENT ON COLUMN dms.CollectionMember.CreatedAt IS 'when the member was added'$ddl$),

($ddl$
CREATE TABLE dms.UniqueKeyValue (
	ResourceType varchar(513) NOT NULL,
	Key varchar(256) NOT NULL,
	Value text NOT NULL CONSTRAINT uniquekeyvalue_value_ck CHECK (octet_length(Value) <= 2000),
	DocumentId bigint,
	CreatedAt timestamptz NOT NULL DEFAULT now(),
	UpdatedAt timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (ResourceType, Key, Value)
)$ddl$),
($ddl$CREATE INDEX uniquekeyvalue_document_ix ON dms.UniqueKeyValue (DocumentId)$ddl$),
($ddl$CREATE INDEX uniquekeyvalue_value_ix ON dms.UniqueKeyValue (ResourceType, Key, Value COLLATE "C")$ddl$),
($ddl$COMMENT ON TABLE dms.UniqueKeyValue IS 'values that were claimed by dms.claim_unique_key()'$ddl$),
($ddl$COMMENT ON COLUMN dms.UniqueKeyValue.ResourceType IS 'the type of the documents among which the value is unique'$ddl$),
($ddl$COMMENT ON COLUMN dms.UniqueKeyValue.Key IS 'the name of the key'$ddl$),
($ddl$COMMENT ON COLUMN dms.UniqueKeyValue.Value IS 'the value'$ddl$),
($ddl$COMMENT ON COLUMN dms.UniqueKeyValue.DocumentId IS 'the document that has it; NULL if it is reserved'$ddl$),
($ddl$COMMENT ON COLUMN dms.UniqueKeyValue.CreatedAt IS 'when it was first claimed'$ddl$),
($ddl$COMMENT ON COLUMN dms.UniqueKeyValue.UpdatedAt IS 'when it was last claimed'$ddl$),

($ddl$
CREATE TABLE dms.DocumentAccount (
	DocumentId bigint PRIMARY KEY,
	AccountId bigint NOT NULL,
	ResourceTypeId integer NOT NULL,
	DocumentUuid uuid NOT NULL
)$ddl$),
($ddl$CREATE INDEX documentaccount_account_ix ON dms.DocumentAccount (AccountId, ResourceTypeId, DocumentUuid)$ddl$),
($ddl$COMMENT ON TABLE dms.DocumentAccount IS 'the accounts of documents; a document without an account has no row'$ddl$),
($ddl$COMMENT ON COLUMN dms.DocumentAccount.DocumentId IS 'the document'$ddl$),
($ddl$COMMENT ON COLUMN dms.DocumentAccount.AccountId IS 'the document that is its account'$ddl$),
($ddl$COMMENT ON COLUMN dms.DocumentAccount.ResourceTypeId IS 'the number of the document''s resource in dms.ResourceType'$ddl$),
($ddl$COMMENT ON COLUMN dms.DocumentAccount.DocumentUuid IS 'the public id of the document'$ddl$),

($ddl$
CREATE TABLE dms.DocumentChange (
	ResourceTypeId integer NOT NULL,
	ChangeVersion bigint NOT NULL,
	DocumentId bigint NOT NULL,
	Etag bigint NOT NULL,
	PRIMARY KEY (ResourceTypeId, ChangeVersion, DocumentId, Etag)
)$ddl$),
($ddl$COMMENT ON TABLE dms.DocumentChange IS 'the journal: one row for each etag of a document; those of earlier etags are deleted by dms.compact_changes()'$ddl$),
($ddl$COMMENT ON COLUMN dms.DocumentChange.ResourceTypeId IS 'the resource of the document'$ddl$),
($ddl$COMMENT ON COLUMN dms.DocumentChange.ChangeVersion IS 'the number of the change: even, and the same for all changes of a transaction'$ddl$),
($ddl$COMMENT ON COLUMN dms.DocumentChange.DocumentId IS 'the document'$ddl$),
($ddl$COMMENT ON COLUMN dms.DocumentChange.Etag IS 'its etag after the change'$ddl$),
($ddl$
CREATE TABLE dms.TrackedChange (
	DocumentId bigint NOT NULL,
	Etag bigint NOT NULL,
	Kind "char" NOT NULL,
	ResourceTypeId integer NOT NULL,
	ChangeVersion bigint NOT NULL,
	DocumentUuid uuid NOT NULL,
	OldKey json,
	NewKey json,
	OldReferentialId uuid,
	OldAliasId uuid,
	CreatedAt timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (DocumentId, Etag)
)$ddl$),
($ddl$CREATE INDEX trackedchange_version_ix ON dms.TrackedChange (ResourceTypeId, ChangeVersion)$ddl$),
-- Of deletes, for documents whose uuids come back.
($ddl$CREATE INDEX trackedchange_uuid_ix ON dms.TrackedChange (DocumentUuid) WHERE NewKey IS NULL$ddl$),
($ddl$COMMENT ON TABLE dms.TrackedChange IS 'deletes of documents, and changes of their keys; dms.purge_tracked_changes() deletes old ones'$ddl$),
($ddl$COMMENT ON COLUMN dms.TrackedChange.DocumentId IS 'the document'$ddl$),
($ddl$COMMENT ON COLUMN dms.TrackedChange.Etag IS 'its etag after the change; of a delete, its last etag plus 1; 0 if rows were changed by others'$ddl$),
($ddl$COMMENT ON COLUMN dms.TrackedChange.Kind IS 'D: deleted, K: its key has changed'$ddl$),
($ddl$COMMENT ON COLUMN dms.TrackedChange.ResourceTypeId IS 'the resource of the document'$ddl$),
($ddl$COMMENT ON COLUMN dms.TrackedChange.ChangeVersion IS 'the number of the change: odd, and the same for all changes of a transaction'$ddl$),
($ddl$COMMENT ON COLUMN dms.TrackedChange.DocumentUuid IS 'the public id of the document'$ddl$),
($ddl$COMMENT ON COLUMN dms.TrackedChange.OldKey IS 'its key before the change; NULL if that is not known'$ddl$),
($ddl$COMMENT ON COLUMN dms.TrackedChange.NewKey IS 'its key after the change; NULL if it was deleted'$ddl$),
($ddl$COMMENT ON COLUMN dms.TrackedChange.OldReferentialId IS 'its ReferentialId before the change'$ddl$),
($ddl$COMMENT ON COLUMN dms.TrackedChange.OldAliasId IS 'the same, under the superclass'$ddl$),
($ddl$COMMENT ON COLUMN dms.TrackedChange.CreatedAt IS 'when the transaction began'$ddl$),
($ddl$
CREATE VIEW dms.DeclaredKeyValue (ResourceType, Key, Value, DocumentId, CreatedAt, UpdatedAt) WITH (security_invoker = true) AS
SELECT u.ResourceType::text, u.Key::text, u.Value, u.DocumentId, u.CreatedAt, u.UpdatedAt
FROM dms.UniqueKeyValue AS u WHERE false$ddl$),
($ddl$COMMENT ON VIEW dms.DeclaredKeyValue IS 'the values of the unique keys that options of resources declare; dms.configure_resource() and deploys replace it'$ddl$),
($ddl$
CREATE VIEW dms.Record ("PK", "SK", "_recordType", "_resourceType", "_id", urn, "_schemaVersion", "_createdAt", "_updatedAt",
	"_accountUrn", "parentUrn", "childUrn", "collectionUrn", "memberUrn", key, value, "associatedRecordUrn")
WITH (security_invoker = true) AS
WITH document (id, type, uuid, urn, version, created, updated) AS NOT MATERIALIZED (
	SELECT d.DocumentId, t.ResourceType::text, d.DocumentUuid::text,
		'urn:' || COALESCE(s.UrnDomain, 'dms') || ':' || t.ResourceType || '::' || d.DocumentUuid,
		(SELECT count(*) FROM (SELECT min(c.EffectiveSchemaId) AS first FROM dms.SchemaComponent AS c
				WHERE c.ProjectName = d.ProjectName GROUP BY c.ProjectVersion) AS v
			WHERE v.first <= (SELECT min(o.EffectiveSchemaId) FROM dms.SchemaComponent AS o
				WHERE (o.ProjectName, o.ProjectVersion) = (d.ProjectName, d.ResourceVersion))),
		to_char(d.CreatedAt AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
		to_char(d.LastModifiedAt AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
	FROM dms.Document AS d JOIN dms.ResourceType AS t USING (ProjectName, ResourceName) CROSS JOIN dms.Store AS s
),
account (id, urn) AS NOT MATERIALIZED (
	SELECT a.DocumentId, d.urn FROM dms.DocumentAccount AS a JOIN document AS d ON d.id = a.AccountId
)
SELECT 'Resource#' || d.urn, 'Resource#' || d.urn, 'Resource', d.type, d.uuid, d.urn, d.version, d.created, d.updated,
	a.urn, NULL::text, NULL::text, NULL::text, NULL::text, NULL::text, NULL::text, NULL::text
FROM document AS d LEFT JOIN account AS a USING (id)
UNION ALL
SELECT 'Parent#' || p.urn, 'Child#' || c.urn, 'ParentChildRelationship', NULL, NULL, NULL, NULL,
	to_char(r.CreatedAt AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), NULL,
	a.urn, p.urn, c.urn, NULL, NULL, NULL, NULL, NULL
FROM dms.ParentChild AS r JOIN document AS p ON p.id = r.ParentDocumentId
JOIN document AS c ON c.id = r.ChildDocumentId LEFT JOIN account AS a ON a.id = c.id
UNION ALL
SELECT 'Collection#' || c.urn, 'Member#' || m.urn, 'CollectionMemberRelationship', NULL, NULL, NULL, NULL,
	to_char(r.CreatedAt AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), NULL,
	COALESCE(a.urn, b.urn), NULL, NULL, c.urn, m.urn, NULL, NULL, NULL
FROM dms.CollectionMember AS r JOIN document AS c ON c.id = r.CollectionDocumentId
JOIN document AS m ON m.id = r.MemberDocumentId LEFT JOIN account AS a ON a.id = c.id LEFT JOIN account AS b ON b.id = m.id
UNION ALL
SELECT format('UniqueKeyValue#%s#%s#%s', u.ResourceType, u.Key, u.Value), format('UniqueKeyValue#%s#%s', u.ResourceType, u.Key),
	'UniqueKeyValue', u.ResourceType, NULL, NULL, NULL,
	to_char(u.CreatedAt AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
	to_char(u.UpdatedAt AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
	NULL, NULL, NULL, NULL, NULL, u.Key, u.Value, d.urn
FROM (SELECT k.ResourceType::text, k.Key::text, k.Value, k.DocumentId, k.CreatedAt, k.UpdatedAt FROM dms.UniqueKeyValue AS k
	UNION ALL SELECT k.* FROM dms.DeclaredKeyValue AS k) AS u LEFT JOIN document AS d ON d.id = u.DocumentId$ddl$),
($ddl$COMMENT ON VIEW dms.Record IS 'documents, relations and unique values as records with two keys, without the properties of documents'$ddl$),

($ddl$
CREATE TABLE dms.DocumentCache (
	DocumentId bigint PRIMARY KEY,
	DocumentUuid uuid NOT NULL,
	ProjectName varchar(256) NOT NULL,
	ResourceName varchar(256) NOT NULL,
	ResourceVersion varchar(64) NOT NULL,
	Etag bigint NOT NULL,
	LastModifiedAt timestamptz NOT NULL,
	DocumentJson json NOT NULL,
	ComputedAt timestamptz NOT NULL DEFAULT now()
)$ddl$),
($ddl$COMMENT ON TABLE dms.DocumentCache IS 'documents as they are read; a row is fresh if its etag is the document''s; dms.set_cache_mode() says who writes it'$ddl$),
($ddl$COMMENT ON COLUMN dms.DocumentCache.DocumentId IS 'the document'$ddl$),
($ddl$COMMENT ON COLUMN dms.DocumentCache.DocumentUuid IS 'its public id'$ddl$),
($ddl$COMMENT ON COLUMN dms.DocumentCache.ProjectName IS 'projectName of its resource'$ddl$),
($ddl$COMMENT ON COLUMN dms.DocumentCache.ResourceName IS 'resourceName of its resource'$ddl$),
($ddl$COMMENT ON COLUMN dms.DocumentCache.ResourceVersion IS 'version of the project when the row was written'$ddl$),
($ddl$COMMENT ON COLUMN dms.DocumentCache.Etag IS 'the etag that the document had'$ddl$),
($ddl$COMMENT ON COLUMN dms.DocumentCache.LastModifiedAt IS 'when the document got that etag'$ddl$),
($ddl$COMMENT ON COLUMN dms.DocumentCache.DocumentJson IS 'the representation of the document with that etag'$ddl$),
($ddl$COMMENT ON COLUMN dms.DocumentCache.ComputedAt IS 'when the row was written'$ddl$),

($ddl$
CREATE TABLE dms.ChangeConsumer (
	Name varchar(64) PRIMARY KEY,
	Cursor text NOT NULL,
	UpdatedAt timestamptz NOT NULL,
	Documents bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50)$ddl$),
($ddl$COMMENT ON TABLE dms.ChangeConsumer IS 'how far consumers of changes have got'$ddl$),
($ddl$COMMENT ON COLUMN dms.ChangeConsumer.Name IS 'the consumer: cache or redis'$ddl$),
($ddl$COMMENT ON COLUMN dms.ChangeConsumer.Cursor IS 'all changes before it are consumed'$ddl$),
($ddl$COMMENT ON COLUMN dms.ChangeConsumer.UpdatedAt IS 'when the last complete pass began'$ddl$),
($ddl$COMMENT ON COLUMN dms.ChangeConsumer.Documents IS 'how many documents were delivered'$ddl$),

($ddl$
CREATE TABLE dms.ProjectionFailure (
	Consumer varchar(64) NOT NULL,
	DocumentId bigint NOT NULL,
	Etag bigint NOT NULL,
	Attempts integer NOT NULL,
	NextAttemptAt timestamptz NOT NULL,
	SqlState char(5) NOT NULL,
	Message text NOT NULL,
	PRIMARY KEY (Consumer, DocumentId)
)$ddl$),
($ddl$COMMENT ON TABLE dms.ProjectionFailure IS 'documents that a consumer could not take, and tries again'$ddl$),
($ddl$COMMENT ON COLUMN dms.ProjectionFailure.Consumer IS 'the consumer'$ddl$),
($ddl$COMMENT ON COLUMN dms.ProjectionFailure.DocumentId IS 'the document'$ddl$),
($ddl$COMMENT ON COLUMN dms.ProjectionFailure.Etag IS 'its etag then'$ddl$),
($ddl$COMMENT ON COLUMN dms.ProjectionFailure.Attempts IS 'how often it was tried'$ddl$),
($ddl$COMMENT ON COLUMN dms.ProjectionFailure.NextAttemptAt IS 'when it is tried again'$ddl$),
($ddl$COMMENT ON COLUMN dms.ProjectionFailure.SqlState IS 'the error'$ddl$),
($ddl$COMMENT ON COLUMN dms.ProjectionFailure.Message IS 'its message'$ddl$),

($ddl$
CREATE TABLE dms.CacheRebuild (
	Singleton boolean PRIMARY KEY DEFAULT true CHECK (Singleton),
	StartedAt timestamptz NOT NULL,
	FinishedAt timestamptz,
	AfterDocumentId bigint NOT NULL,
	Documents bigint NOT NULL,
	Expected bigint NOT NULL
) WITH (fillfactor = 50)$ddl$),
($ddl$COMMENT ON TABLE dms.CacheRebuild IS 'the last rebuild of the cache'$ddl$),
($ddl$COMMENT ON COLUMN dms.CacheRebuild.Singleton IS 'always true, so that there is only one row'$ddl$),
($ddl$COMMENT ON COLUMN dms.CacheRebuild.StartedAt IS 'when it was asked for'$ddl$),
($ddl$COMMENT ON COLUMN dms.CacheRebuild.FinishedAt IS 'when it was done; NULL while it is not'$ddl$),
($ddl$COMMENT ON COLUMN dms.CacheRebuild.AfterDocumentId IS 'documents up to this one are done'$ddl$),
($ddl$COMMENT ON COLUMN dms.CacheRebuild.Documents IS 'how many these are'$ddl$),
($ddl$COMMENT ON COLUMN dms.CacheRebuild.Expected IS 'an estimate of how many there are'$ddl$),

-- A plain DELETE must wait for transactions that rely on the identity, as
-- dms.delete_document() does.  Deleting the lock row conflicts with their share
-- locks.
($ddl$
CREATE FUNCTION dms.document_before_delete() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
	DELETE FROM dms.IdentityLock WHERE DocumentId = OLD.DocumentId;
	RETURN OLD;
END
$body$$ddl$),
($ddl$COMMENT ON FUNCTION dms.document_before_delete() IS 'deletes the lock row of a document before the document'$ddl$),
($ddl$
CREATE TRIGGER document_before_delete BEFORE DELETE ON dms.Document
	FOR EACH ROW EXECUTE FUNCTION dms.document_before_delete()$ddl$)
$core$;
COMMENT ON FUNCTION dms_internal.core_ddl() IS
'the statements that create the core tables, in order';

-- What dms.upgrade_store() changes in the core tables of an older store, in order.
-- Each later change of dms_internal.core_ddl() adds its statements here, under the
-- next version (STORE_VERSION in the library).  The library upgrades stored models.
CREATE FUNCTION dms_internal.upgrade_ddl(from_version integer) RETURNS SETOF text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $upgrade$
SELECT u.statement FROM (VALUES
(2, $ddl$
ALTER TABLE dms.Store
	ADD COLUMN Generation bigint NOT NULL DEFAULT 0,
	ADD COLUMN MaxCascadeSize integer CONSTRAINT store_maxcascadesize_ck CHECK (MaxCascadeSize >= 0),
	ADD COLUMN VerifyEdges double precision CONSTRAINT store_verifyedges_ck CHECK (VerifyEdges BETWEEN 0 AND 1),
	ADD COLUMN IdempotencyLease integer CONSTRAINT store_idempotencylease_ck CHECK (IdempotencyLease >= 1),
	ADD COLUMN IdempotencyTtl integer CONSTRAINT store_idempotencyttl_ck CHECK (IdempotencyTtl >= 1)$ddl$),
(2, $ddl$COMMENT ON COLUMN dms.Store.Generation IS 'raised by deploys and by dms.configure_store(); sessions that know an older one load models and limits again'$ddl$),
(2, $ddl$COMMENT ON COLUMN dms.Store.MaxCascadeSize IS 'the largest change of identity, in documents; 0 or NULL: no limit'$ddl$),
(2, $ddl$COMMENT ON COLUMN dms.Store.VerifyEdges IS 'the fraction of writes whose edges are verified, at least'$ddl$),
(2, $ddl$COMMENT ON COLUMN dms.Store.IdempotencyLease IS 'how long a claimed idempotency key may stay open, at least, in seconds'$ddl$),
(2, $ddl$COMMENT ON COLUMN dms.Store.IdempotencyTtl IS 'how long idempotency keys are kept, at most, in seconds'$ddl$),
(2, $ddl$DROP INDEX dms.referenceedge_identity_ix$ddl$),
(2, $ddl$
CREATE TABLE dms.ResourceType (
	ResourceTypeId integer PRIMARY KEY,
	ProjectName varchar(256) NOT NULL,
	ResourceName varchar(256) NOT NULL,
	ResourceType varchar(513) NOT NULL CONSTRAINT resourcetype_resourcetype_uq UNIQUE,
	Options jsonb NOT NULL DEFAULT '{}',
	UpdatedAt timestamptz NOT NULL DEFAULT now(),
	CONSTRAINT resourcetype_names_uq UNIQUE (ProjectName, ResourceName)
)$ddl$),
(2, $ddl$COMMENT ON TABLE dms.ResourceType IS 'one row per resource: its number, its name as one word, and its options; written by deploys, and kept when a resource goes'$ddl$),
(2, $ddl$COMMENT ON COLUMN dms.ResourceType.ResourceTypeId IS 'the first 4 bytes of the SHA-256 of {ProjectName}:{ResourceName}, so it is the same in every store'$ddl$),
(2, $ddl$COMMENT ON COLUMN dms.ResourceType.ProjectName IS 'the project in references'$ddl$),
(2, $ddl$COMMENT ON COLUMN dms.ResourceType.ResourceName IS 'the resource'$ddl$),
(2, $ddl$COMMENT ON COLUMN dms.ResourceType.ResourceType IS '{ProjectName}.{ResourceName}; characters other than ASCII letters, digits, "." and "-" are replaced by "-"'$ddl$),
(2, $ddl$COMMENT ON COLUMN dms.ResourceType.Options IS 'options of the resource; there are none yet'$ddl$),
(2, $ddl$COMMENT ON COLUMN dms.ResourceType.UpdatedAt IS 'when the row was last written'$ddl$),
(3, $ddl$
CREATE TABLE dms.DocumentVersion (
	DocumentUuid uuid NOT NULL,
	VersionNumber bigint NOT NULL,
	CreatedAt timestamptz NOT NULL,
	ResourceTypeId integer NOT NULL,
	ResourceVersion varchar(64) NOT NULL,
	Kind varchar(10) NOT NULL,
	CreatedBy varchar(256) NOT NULL,
	Content json,
	PRIMARY KEY (DocumentUuid, VersionNumber)
) WITH (toast_tuple_target = 512)$ddl$),
(3, $ddl$ALTER TABLE dms.DocumentVersion ALTER COLUMN Content SET STORAGE MAIN$ddl$),
(3, $ddl$COMMENT ON TABLE dms.DocumentVersion IS 'versions of the documents of resources that have the option history: one row for each etag, never changed'$ddl$),
(3, $ddl$COMMENT ON COLUMN dms.DocumentVersion.DocumentUuid IS 'the public id of the document'$ddl$),
(3, $ddl$COMMENT ON COLUMN dms.DocumentVersion.VersionNumber IS 'the etag of this version; of a deleted document, its last etag plus 1'$ddl$),
(3, $ddl$COMMENT ON COLUMN dms.DocumentVersion.CreatedAt IS 'when the etag was given; never less than that of the version before'$ddl$),
(3, $ddl$COMMENT ON COLUMN dms.DocumentVersion.ResourceTypeId IS 'the resource of the document'$ddl$),
(3, $ddl$COMMENT ON COLUMN dms.DocumentVersion.ResourceVersion IS 'version of the project at that time'$ddl$),
(3, $ddl$COMMENT ON COLUMN dms.DocumentVersion.Kind IS 'baseline, inserted, updated, cascaded, restored or deleted'$ddl$),
(3, $ddl$COMMENT ON COLUMN dms.DocumentVersion.CreatedBy IS 'who wrote it: the setting dms.user, or the role that has connected'$ddl$),
(3, $ddl$COMMENT ON COLUMN dms.DocumentVersion.Content IS 'the representation of the document with this etag; NULL if it was deleted'$ddl$),
(3, $ddl$
CREATE FUNCTION dms.documentversion_final() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
	-- A setting of this name that is not ours, which any role can make, is not listed.
	IF TG_OP = 'DELETE' AND EXISTS (SELECT FROM pg_settings WHERE name = 'dms.purging' AND setting = 'on') THEN
		RETURN NULL;
	END IF;
	RAISE integrity_constraint_violation USING MESSAGE = 'versions of documents are never changed',
		HINT = 'dms.purge_history() and dms.erase_history() delete versions.';
END
$body$$ddl$),
(3, $ddl$COMMENT ON FUNCTION dms.documentversion_final() IS 'refuses to change or delete versions'$ddl$),
(3, $ddl$
CREATE TRIGGER documentversion_final BEFORE UPDATE OR DELETE OR TRUNCATE ON dms.DocumentVersion
	FOR EACH STATEMENT EXECUTE FUNCTION dms.documentversion_final()$ddl$),
(3, $ddl$
CREATE FUNCTION dms.document_history() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
AS $body$
BEGIN
	INSERT INTO dms.DocumentVersion (DocumentUuid, VersionNumber, CreatedAt, ResourceTypeId, ResourceVersion, Kind, CreatedBy)
	SELECT g.DocumentUuid, g.Etag + 1, GREATEST(clock_timestamp(), g.LastModifiedAt), t.ResourceTypeId,
		g.ResourceVersion, 'deleted', left(COALESCE(NULLIF(current_setting('dms.user', true), ''), session_user), 256)
	FROM gone AS g
	JOIN dms.ResourceType AS t ON (t.ProjectName, t.ResourceName) = (g.ProjectName, g.ResourceName)
	WHERE t.Options @> '{"history": true}'
	ORDER BY g.DocumentUuid;
	RETURN NULL;
END
$body$$ddl$),
(3, $ddl$COMMENT ON FUNCTION dms.document_history() IS 'records deleted documents of resources that have the option history'$ddl$),
(3, $ddl$COMMENT ON COLUMN dms.ResourceType.Options IS 'options of the resource; dms.configure_resource() sets them'$ddl$),
(4, $ddl$
ALTER TABLE dms.Store
	ADD COLUMN MaxDeleteSize integer CONSTRAINT store_maxdeletesize_ck CHECK (MaxDeleteSize >= 0),
	ADD COLUMN UrnDomain varchar(32) CONSTRAINT store_urndomain_ck CHECK (UrnDomain ~ '^[A-Za-z0-9-]+$')$ddl$),
(4, $ddl$COMMENT ON COLUMN dms.Store.MaxDeleteSize IS 'the largest subtree that a delete may reach, in documents; 0 or NULL: no limit'$ddl$),
(4, $ddl$COMMENT ON COLUMN dms.Store.UrnDomain IS 'the domain of URNs of documents; NULL: dms'$ddl$),
(4, $ddl$
CREATE TABLE dms.ParentChild (
	ChildDocumentId bigint PRIMARY KEY,
	ParentDocumentId bigint NOT NULL,
	ChildTypeId integer NOT NULL,
	ChildUuid uuid NOT NULL,
	CreatedAt timestamptz NOT NULL DEFAULT now()
)$ddl$),
(4, $ddl$CREATE INDEX parentchild_parent_ix ON dms.ParentChild (ParentDocumentId, ChildTypeId, ChildUuid)$ddl$),
(4, $ddl$COMMENT ON TABLE dms.ParentChild IS 'the parents of documents: a document has at most one, and is deleted with it'$ddl$),
(4, $ddl$COMMENT ON COLUMN dms.ParentChild.ChildDocumentId IS 'the child'$ddl$),
(4, $ddl$COMMENT ON COLUMN dms.ParentChild.ParentDocumentId IS 'its parent'$ddl$),
(4, $ddl$COMMENT ON COLUMN dms.ParentChild.ChildTypeId IS 'the number of the child''s resource in dms.ResourceType'$ddl$),
(4, $ddl$COMMENT ON COLUMN dms.ParentChild.ChildUuid IS 'the public id of the child'$ddl$),
(4, $ddl$COMMENT ON COLUMN dms.ParentChild.CreatedAt IS 'when the child got this parent'$ddl$),
(4, $ddl$
CREATE TABLE dms.CollectionMember (
	CollectionDocumentId bigint NOT NULL,
	MemberDocumentId bigint NOT NULL,
	MemberTypeId integer NOT NULL,
	MemberUuid uuid NOT NULL,
	Conveys boolean NOT NULL,
	CreatedAt timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (CollectionDocumentId, MemberDocumentId)
)$ddl$),
(4, $ddl$CREATE INDEX collectionmember_collection_ix ON dms.CollectionMember (CollectionDocumentId, MemberTypeId, MemberUuid)$ddl$),
(4, $ddl$CREATE INDEX collectionmember_member_ix ON dms.CollectionMember (MemberDocumentId, CollectionDocumentId)$ddl$),
(4, $ddl$COMMENT ON TABLE dms.CollectionMember IS 'the members of collections; any document can be a collection'$ddl$),
(4, $ddl$COMMENT ON COLUMN dms.CollectionMember.CollectionDocumentId IS 'the collection'$ddl$),
(4, $ddl$COMMENT ON COLUMN dms.CollectionMember.MemberDocumentId IS 'the member'$ddl$),
(4, $ddl$COMMENT ON COLUMN dms.CollectionMember.MemberTypeId IS 'the number of the member''s resource in dms.ResourceType'$ddl$),
(4, $ddl$COMMENT ON COLUMN dms.CollectionMember.MemberUuid IS 'the public id of the member'$ddl$),
(4, $ddl$COMMENT ON COLUMN dms.CollectionMember.Conveys IS 'whether grants on the collection apply to the member'$ddl$),
(4, $ddl$COMMENT ON COLUMN dms.CollectionMember.CreatedAt IS 'when the member was added'$ddl$),
(4, $ddl$
CREATE TABLE dms.UniqueKeyValue (
	ResourceType varchar(513) NOT NULL,
	Key varchar(256) NOT NULL,
	Value text NOT NULL CONSTRAINT uniquekeyvalue_value_ck CHECK (octet_length(Value) <= 2000),
	DocumentId bigint,
	CreatedAt timestamptz NOT NULL DEFAULT now(),
	UpdatedAt timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (ResourceType, Key, Value)
)$ddl$),
(4, $ddl$CREATE INDEX uniquekeyvalue_document_ix ON dms.UniqueKeyValue (DocumentId)$ddl$),
(4, $ddl$COMMENT ON TABLE dms.UniqueKeyValue IS 'values that were claimed by dms.claim_unique_key()'$ddl$),
(4, $ddl$COMMENT ON COLUMN dms.UniqueKeyValue.ResourceType IS 'the type of the documents among which the value is unique'$ddl$),
(4, $ddl$COMMENT ON COLUMN dms.UniqueKeyValue.Key IS 'the name of the key'$ddl$),
(4, $ddl$COMMENT ON COLUMN dms.UniqueKeyValue.Value IS 'the value'$ddl$),
(4, $ddl$COMMENT ON COLUMN dms.UniqueKeyValue.DocumentId IS 'the document that has it; NULL if it is reserved'$ddl$),
(4, $ddl$COMMENT ON COLUMN dms.UniqueKeyValue.CreatedAt IS 'when it was first claimed'$ddl$),
(4, $ddl$COMMENT ON COLUMN dms.UniqueKeyValue.UpdatedAt IS 'when it was last claimed'$ddl$),
(4, $ddl$
CREATE TABLE dms.DocumentAccount (
	DocumentId bigint PRIMARY KEY,
	AccountId bigint NOT NULL,
	ResourceTypeId integer NOT NULL,
	DocumentUuid uuid NOT NULL
)$ddl$),
(4, $ddl$CREATE INDEX documentaccount_account_ix ON dms.DocumentAccount (AccountId, ResourceTypeId, DocumentUuid)$ddl$),
(4, $ddl$COMMENT ON TABLE dms.DocumentAccount IS 'the accounts of documents; a document without an account has no row'$ddl$),
(4, $ddl$COMMENT ON COLUMN dms.DocumentAccount.DocumentId IS 'the document'$ddl$),
(4, $ddl$COMMENT ON COLUMN dms.DocumentAccount.AccountId IS 'the document that is its account'$ddl$),
(4, $ddl$COMMENT ON COLUMN dms.DocumentAccount.ResourceTypeId IS 'the number of the document''s resource in dms.ResourceType'$ddl$),
(4, $ddl$COMMENT ON COLUMN dms.DocumentAccount.DocumentUuid IS 'the public id of the document'$ddl$),
(5, $ddl$
ALTER TABLE dms.Store
	ADD COLUMN ChangeTracking boolean NOT NULL DEFAULT true,
	ADD COLUMN ChangeBase bigint NOT NULL DEFAULT 0,
	ADD COLUMN ChangeFloor bigint NOT NULL DEFAULT 0,
	ADD COLUMN ChangeSystem bigint NOT NULL DEFAULT 0,
	ADD COLUMN PurgedThrough bigint NOT NULL DEFAULT 0,
	ADD COLUMN PurgedBy bigint NOT NULL DEFAULT 0$ddl$),
(5, $ddl$COMMENT ON COLUMN dms.Store.ChangeTracking IS 'whether changes of documents are recorded; dms.set_change_tracking() switches'$ddl$),
(5, $ddl$COMMENT ON COLUMN dms.Store.ChangeBase IS 'what is added to twice the id of a transaction to number its changes'$ddl$),
(5, $ddl$COMMENT ON COLUMN dms.Store.ChangeFloor IS 'numbers of changes up to this one were given by another server, and are final'$ddl$),
(5, $ddl$COMMENT ON COLUMN dms.Store.ChangeSystem IS 'the system identifier of the server that ChangeBase is for'$ddl$),
(5, $ddl$COMMENT ON COLUMN dms.Store.PurgedThrough IS 'deletes and changes of keys up to this number are not all recorded any more'$ddl$),
(5, $ddl$COMMENT ON COLUMN dms.Store.PurgedBy IS 'the number of the change that raised PurgedThrough'$ddl$),
(5, $ddl$
CREATE TABLE dms.DocumentChange (
	ResourceTypeId integer NOT NULL,
	ChangeVersion bigint NOT NULL,
	DocumentId bigint NOT NULL,
	Etag bigint NOT NULL,
	PRIMARY KEY (ResourceTypeId, ChangeVersion, DocumentId, Etag)
)$ddl$),
(5, $ddl$COMMENT ON TABLE dms.DocumentChange IS 'the journal: one row for each etag of a document; those of earlier etags are deleted by dms.compact_changes()'$ddl$),
(5, $ddl$COMMENT ON COLUMN dms.DocumentChange.ResourceTypeId IS 'the resource of the document'$ddl$),
(5, $ddl$COMMENT ON COLUMN dms.DocumentChange.ChangeVersion IS 'the number of the change: even, and the same for all changes of a transaction'$ddl$),
(5, $ddl$COMMENT ON COLUMN dms.DocumentChange.DocumentId IS 'the document'$ddl$),
(5, $ddl$COMMENT ON COLUMN dms.DocumentChange.Etag IS 'its etag after the change'$ddl$),
(5, $ddl$
CREATE TABLE dms.TrackedChange (
	DocumentId bigint NOT NULL,
	Etag bigint NOT NULL,
	Kind "char" NOT NULL,
	ResourceTypeId integer NOT NULL,
	ChangeVersion bigint NOT NULL,
	DocumentUuid uuid NOT NULL,
	OldKey json,
	NewKey json,
	OldReferentialId uuid,
	OldAliasId uuid,
	CreatedAt timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (DocumentId, Etag)
)$ddl$),
(5, $ddl$CREATE INDEX trackedchange_version_ix ON dms.TrackedChange (ResourceTypeId, ChangeVersion)$ddl$),
(5, $ddl$CREATE INDEX trackedchange_uuid_ix ON dms.TrackedChange (DocumentUuid)$ddl$),
(5, $ddl$COMMENT ON TABLE dms.TrackedChange IS 'deletes of documents, and changes of their keys; dms.purge_tracked_changes() deletes old ones'$ddl$),
(5, $ddl$COMMENT ON COLUMN dms.TrackedChange.DocumentId IS 'the document'$ddl$),
(5, $ddl$COMMENT ON COLUMN dms.TrackedChange.Etag IS 'its etag after the change; of a delete, its last etag plus 1; 0 if rows were changed by others'$ddl$),
(5, $ddl$COMMENT ON COLUMN dms.TrackedChange.Kind IS 'D: deleted, K: its key has changed'$ddl$),
(5, $ddl$COMMENT ON COLUMN dms.TrackedChange.ResourceTypeId IS 'the resource of the document'$ddl$),
(5, $ddl$COMMENT ON COLUMN dms.TrackedChange.ChangeVersion IS 'the number of the change: odd, and the same for all changes of a transaction'$ddl$),
(5, $ddl$COMMENT ON COLUMN dms.TrackedChange.DocumentUuid IS 'the public id of the document'$ddl$),
(5, $ddl$COMMENT ON COLUMN dms.TrackedChange.OldKey IS 'its key before the change; NULL if that is not known'$ddl$),
(5, $ddl$COMMENT ON COLUMN dms.TrackedChange.NewKey IS 'its key after the change; NULL if it was deleted'$ddl$),
(5, $ddl$COMMENT ON COLUMN dms.TrackedChange.OldReferentialId IS 'its ReferentialId before the change'$ddl$),
(5, $ddl$COMMENT ON COLUMN dms.TrackedChange.OldAliasId IS 'the same, under the superclass'$ddl$),
(5, $ddl$COMMENT ON COLUMN dms.TrackedChange.CreatedAt IS 'when the transaction began'$ddl$),
(6, $ddl$
CREATE VIEW dms.DeclaredKeyValue (ResourceType, Key, Value, DocumentId, CreatedAt, UpdatedAt) WITH (security_invoker = true) AS
SELECT u.ResourceType::text, u.Key::text, u.Value, u.DocumentId, u.CreatedAt, u.UpdatedAt
FROM dms.UniqueKeyValue AS u WHERE false$ddl$),
(6, $ddl$COMMENT ON VIEW dms.DeclaredKeyValue IS 'the values of the unique keys that options of resources declare; dms.configure_resource() and deploys replace it'$ddl$),
(6, $ddl$
CREATE VIEW dms.Record ("PK", "SK", "_recordType", "_resourceType", "_id", urn, "_schemaVersion", "_createdAt", "_updatedAt",
	"_accountUrn", "parentUrn", "childUrn", "collectionUrn", "memberUrn", key, value, "associatedRecordUrn")
WITH (security_invoker = true) AS
WITH document (id, type, uuid, urn, version, created, updated) AS NOT MATERIALIZED (
	SELECT d.DocumentId, t.ResourceType::text, d.DocumentUuid::text,
		'urn:' || COALESCE(s.UrnDomain, 'dms') || ':' || t.ResourceType || '::' || d.DocumentUuid,
		(SELECT count(*) FROM (SELECT min(c.EffectiveSchemaId) AS first FROM dms.SchemaComponent AS c
				WHERE c.ProjectName = d.ProjectName GROUP BY c.ProjectVersion) AS v
			WHERE v.first <= (SELECT min(o.EffectiveSchemaId) FROM dms.SchemaComponent AS o
				WHERE (o.ProjectName, o.ProjectVersion) = (d.ProjectName, d.ResourceVersion))),
		to_char(d.CreatedAt AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
		to_char(d.LastModifiedAt AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
	FROM dms.Document AS d JOIN dms.ResourceType AS t USING (ProjectName, ResourceName) CROSS JOIN dms.Store AS s
),
account (id, urn) AS NOT MATERIALIZED (
	SELECT a.DocumentId, d.urn FROM dms.DocumentAccount AS a JOIN document AS d ON d.id = a.AccountId
)
SELECT 'Resource#' || d.urn, 'Resource#' || d.urn, 'Resource', d.type, d.uuid, d.urn, d.version, d.created, d.updated,
	a.urn, NULL::text, NULL::text, NULL::text, NULL::text, NULL::text, NULL::text, NULL::text
FROM document AS d LEFT JOIN account AS a USING (id)
UNION ALL
SELECT 'Parent#' || p.urn, 'Child#' || c.urn, 'ParentChildRelationship', NULL, NULL, NULL, NULL,
	to_char(r.CreatedAt AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), NULL,
	a.urn, p.urn, c.urn, NULL, NULL, NULL, NULL, NULL
FROM dms.ParentChild AS r JOIN document AS p ON p.id = r.ParentDocumentId
JOIN document AS c ON c.id = r.ChildDocumentId LEFT JOIN account AS a ON a.id = c.id
UNION ALL
SELECT 'Collection#' || c.urn, 'Member#' || m.urn, 'CollectionMemberRelationship', NULL, NULL, NULL, NULL,
	to_char(r.CreatedAt AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), NULL,
	COALESCE(a.urn, b.urn), NULL, NULL, c.urn, m.urn, NULL, NULL, NULL
FROM dms.CollectionMember AS r JOIN document AS c ON c.id = r.CollectionDocumentId
JOIN document AS m ON m.id = r.MemberDocumentId LEFT JOIN account AS a ON a.id = c.id LEFT JOIN account AS b ON b.id = m.id
UNION ALL
SELECT format('UniqueKeyValue#%s#%s#%s', u.ResourceType, u.Key, u.Value), format('UniqueKeyValue#%s#%s', u.ResourceType, u.Key),
	'UniqueKeyValue', u.ResourceType, NULL, NULL, NULL,
	to_char(u.CreatedAt AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
	to_char(u.UpdatedAt AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
	NULL, NULL, NULL, NULL, NULL, u.Key, u.Value, d.urn
FROM (SELECT k.ResourceType::text, k.Key::text, k.Value, k.DocumentId, k.CreatedAt, k.UpdatedAt FROM dms.UniqueKeyValue AS k
	UNION ALL SELECT k.* FROM dms.DeclaredKeyValue AS k) AS u LEFT JOIN document AS d ON d.id = u.DocumentId$ddl$),
(6, $ddl$COMMENT ON VIEW dms.Record IS 'documents, relations and unique values as records with two keys, without the properties of documents'$ddl$),
(7, $ddl$
ALTER TABLE dms.Store
	ADD COLUMN CacheMode varchar(16) NOT NULL DEFAULT 'off'
		CONSTRAINT store_cachemode_ck CHECK (CacheMode ~ '^(off|eventual|write_through|strict)$'),
	ADD COLUMN CacheValidFrom timestamptz NOT NULL DEFAULT '-infinity'$ddl$),
(7, $ddl$COMMENT ON COLUMN dms.Store.CacheMode IS 'who writes dms.DocumentCache; dms.set_cache_mode() switches'$ddl$),
(7, $ddl$COMMENT ON COLUMN dms.Store.CacheValidFrom IS 'rows of dms.DocumentCache that were written before are not fresh'$ddl$),
(7, $ddl$
CREATE TABLE dms.DocumentCache (
	DocumentId bigint PRIMARY KEY,
	DocumentUuid uuid NOT NULL,
	ProjectName varchar(256) NOT NULL,
	ResourceName varchar(256) NOT NULL,
	ResourceVersion varchar(64) NOT NULL,
	Etag bigint NOT NULL,
	LastModifiedAt timestamptz NOT NULL,
	DocumentJson json NOT NULL,
	ComputedAt timestamptz NOT NULL DEFAULT now()
)$ddl$),
(7, $ddl$COMMENT ON TABLE dms.DocumentCache IS 'documents as they are read; a row is fresh if its etag is the document''s; dms.set_cache_mode() says who writes it'$ddl$),
(7, $ddl$COMMENT ON COLUMN dms.DocumentCache.DocumentId IS 'the document'$ddl$),
(7, $ddl$COMMENT ON COLUMN dms.DocumentCache.DocumentUuid IS 'its public id'$ddl$),
(7, $ddl$COMMENT ON COLUMN dms.DocumentCache.ProjectName IS 'projectName of its resource'$ddl$),
(7, $ddl$COMMENT ON COLUMN dms.DocumentCache.ResourceName IS 'resourceName of its resource'$ddl$),
(7, $ddl$COMMENT ON COLUMN dms.DocumentCache.ResourceVersion IS 'version of the project when the row was written'$ddl$),
(7, $ddl$COMMENT ON COLUMN dms.DocumentCache.Etag IS 'the etag that the document had'$ddl$),
(7, $ddl$COMMENT ON COLUMN dms.DocumentCache.LastModifiedAt IS 'when the document got that etag'$ddl$),
(7, $ddl$COMMENT ON COLUMN dms.DocumentCache.DocumentJson IS 'the representation of the document with that etag'$ddl$),
(7, $ddl$COMMENT ON COLUMN dms.DocumentCache.ComputedAt IS 'when the row was written'$ddl$),
(7, $ddl$
CREATE TABLE dms.ChangeConsumer (
	Name varchar(64) PRIMARY KEY,
	Cursor text NOT NULL,
	UpdatedAt timestamptz NOT NULL,
	Documents bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50)$ddl$),
(7, $ddl$COMMENT ON TABLE dms.ChangeConsumer IS 'how far consumers of changes have got'$ddl$),
(7, $ddl$COMMENT ON COLUMN dms.ChangeConsumer.Name IS 'the consumer: cache or redis'$ddl$),
(7, $ddl$COMMENT ON COLUMN dms.ChangeConsumer.Cursor IS 'all changes before it are consumed'$ddl$),
(7, $ddl$COMMENT ON COLUMN dms.ChangeConsumer.UpdatedAt IS 'when the last complete pass began'$ddl$),
(7, $ddl$COMMENT ON COLUMN dms.ChangeConsumer.Documents IS 'how many documents were delivered'$ddl$),
(7, $ddl$
CREATE TABLE dms.ProjectionFailure (
	Consumer varchar(64) NOT NULL,
	DocumentId bigint NOT NULL,
	Etag bigint NOT NULL,
	Attempts integer NOT NULL,
	NextAttemptAt timestamptz NOT NULL,
	SqlState char(5) NOT NULL,
	Message text NOT NULL,
	PRIMARY KEY (Consumer, DocumentId)
)$ddl$),
(7, $ddl$COMMENT ON TABLE dms.ProjectionFailure IS 'documents that a consumer could not take, and tries again'$ddl$),
(7, $ddl$COMMENT ON COLUMN dms.ProjectionFailure.Consumer IS 'the consumer'$ddl$),
(7, $ddl$COMMENT ON COLUMN dms.ProjectionFailure.DocumentId IS 'the document'$ddl$),
(7, $ddl$COMMENT ON COLUMN dms.ProjectionFailure.Etag IS 'its etag then'$ddl$),
(7, $ddl$COMMENT ON COLUMN dms.ProjectionFailure.Attempts IS 'how often it was tried'$ddl$),
(7, $ddl$COMMENT ON COLUMN dms.ProjectionFailure.NextAttemptAt IS 'when it is tried again'$ddl$),
(7, $ddl$COMMENT ON COLUMN dms.ProjectionFailure.SqlState IS 'the error'$ddl$),
(7, $ddl$COMMENT ON COLUMN dms.ProjectionFailure.Message IS 'its message'$ddl$),
(7, $ddl$
CREATE TABLE dms.CacheRebuild (
	Singleton boolean PRIMARY KEY DEFAULT true CHECK (Singleton),
	StartedAt timestamptz NOT NULL,
	FinishedAt timestamptz,
	AfterDocumentId bigint NOT NULL,
	Documents bigint NOT NULL,
	Expected bigint NOT NULL
) WITH (fillfactor = 50)$ddl$),
(7, $ddl$COMMENT ON TABLE dms.CacheRebuild IS 'the last rebuild of the cache'$ddl$),
(7, $ddl$COMMENT ON COLUMN dms.CacheRebuild.Singleton IS 'always true, so that there is only one row'$ddl$),
(7, $ddl$COMMENT ON COLUMN dms.CacheRebuild.StartedAt IS 'when it was asked for'$ddl$),
(7, $ddl$COMMENT ON COLUMN dms.CacheRebuild.FinishedAt IS 'when it was done; NULL while it is not'$ddl$),
(7, $ddl$COMMENT ON COLUMN dms.CacheRebuild.AfterDocumentId IS 'documents up to this one are done'$ddl$),
(7, $ddl$COMMENT ON COLUMN dms.CacheRebuild.Documents IS 'how many these are'$ddl$),
(7, $ddl$COMMENT ON COLUMN dms.CacheRebuild.Expected IS 'an estimate of how many there are'$ddl$),
(8, $ddl$
CREATE TABLE dms.VersionDiff (
	DocumentUuid uuid NOT NULL,
	VersionNumber bigint NOT NULL,
	OldVersionNumber bigint NOT NULL,
	Diff jsonb NOT NULL,
	CreatedAt timestamptz NOT NULL DEFAULT now(),
	PRIMARY KEY (DocumentUuid, VersionNumber)
)$ddl$),
(8, $ddl$COMMENT ON TABLE dms.VersionDiff IS 'what changed from one version of a document to another; made by jobs after the write'$ddl$),
(8, $ddl$COMMENT ON COLUMN dms.VersionDiff.DocumentUuid IS 'the public id of the document'$ddl$),
(8, $ddl$COMMENT ON COLUMN dms.VersionDiff.VersionNumber IS 'the new version'$ddl$),
(8, $ddl$COMMENT ON COLUMN dms.VersionDiff.OldVersionNumber IS 'the old version'$ddl$),
(8, $ddl$COMMENT ON COLUMN dms.VersionDiff.Diff IS 'what dms.json_diff() returns, or what a program has stored'$ddl$),
(8, $ddl$COMMENT ON COLUMN dms.VersionDiff.CreatedAt IS 'when it was stored'$ddl$),
(8, $ddl$
CREATE TABLE dms.Job (
	JobId bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
	Queue varchar(64) NOT NULL,
	Kind varchar(64) NOT NULL,
	DocumentUuid uuid,
	Payload jsonb NOT NULL,
	RunAt timestamptz NOT NULL,
	Attempts integer NOT NULL DEFAULT 0,
	MaxAttempts integer NOT NULL,
	Lease uuid,
	LastError text,
	CreatedAt timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_threshold = 500)$ddl$),
(8, $ddl$CREATE INDEX job_due_ix ON dms.Job (Queue, RunAt, JobId)$ddl$),
(8, $ddl$CREATE INDEX job_document_ix ON dms.Job (DocumentUuid) WHERE DocumentUuid IS NOT NULL$ddl$),
(8, $ddl$COMMENT ON TABLE dms.Job IS 'jobs that are to be run after the transaction that enqueued them'$ddl$),
(8, $ddl$COMMENT ON COLUMN dms.Job.JobId IS 'the id of the job'$ddl$),
(8, $ddl$COMMENT ON COLUMN dms.Job.Queue IS 'who runs it: dms is the queue of the store''s own jobs'$ddl$),
(8, $ddl$COMMENT ON COLUMN dms.Job.Kind IS 'what is to be done'$ddl$),
(8, $ddl$COMMENT ON COLUMN dms.Job.DocumentUuid IS 'the document that it is about; NULL if there is none'$ddl$),
(8, $ddl$COMMENT ON COLUMN dms.Job.Payload IS 'what those who run it need to know'$ddl$),
(8, $ddl$COMMENT ON COLUMN dms.Job.RunAt IS 'when it is due; of a claimed job, when its lease ends'$ddl$),
(8, $ddl$COMMENT ON COLUMN dms.Job.Attempts IS 'how often it was claimed'$ddl$),
(8, $ddl$COMMENT ON COLUMN dms.Job.MaxAttempts IS 'how often it may be claimed; then it is moved to dms.DeadJob'$ddl$),
(8, $ddl$COMMENT ON COLUMN dms.Job.Lease IS 'identifies the claim; NULL if nobody holds it'$ddl$),
(8, $ddl$COMMENT ON COLUMN dms.Job.LastError IS 'why the last attempt failed'$ddl$),
(8, $ddl$COMMENT ON COLUMN dms.Job.CreatedAt IS 'when it was enqueued'$ddl$),
(8, $ddl$
CREATE TABLE dms.DeadJob (
	JobId bigint PRIMARY KEY,
	Queue varchar(64) NOT NULL,
	Kind varchar(64) NOT NULL,
	DocumentUuid uuid,
	Payload jsonb NOT NULL,
	RunAt timestamptz NOT NULL,
	Attempts integer NOT NULL,
	MaxAttempts integer NOT NULL,
	LastError text,
	CreatedAt timestamptz NOT NULL,
	DiedAt timestamptz NOT NULL DEFAULT now()
)$ddl$),
(8, $ddl$CREATE INDEX deadjob_document_ix ON dms.DeadJob (DocumentUuid) WHERE DocumentUuid IS NOT NULL$ddl$),
(8, $ddl$COMMENT ON TABLE dms.DeadJob IS 'jobs that have failed too often; dms.retry_jobs() puts them back'$ddl$),
(8, $ddl$COMMENT ON COLUMN dms.DeadJob.JobId IS 'the id that it had in dms.Job'$ddl$),
(8, $ddl$COMMENT ON COLUMN dms.DeadJob.Queue IS 'its queue'$ddl$),
(8, $ddl$COMMENT ON COLUMN dms.DeadJob.Kind IS 'what was to be done'$ddl$),
(8, $ddl$COMMENT ON COLUMN dms.DeadJob.DocumentUuid IS 'the document that it is about; NULL if there is none'$ddl$),
(8, $ddl$COMMENT ON COLUMN dms.DeadJob.Payload IS 'what those who ran it needed to know'$ddl$),
(8, $ddl$COMMENT ON COLUMN dms.DeadJob.RunAt IS 'when its last lease would have ended'$ddl$),
(8, $ddl$COMMENT ON COLUMN dms.DeadJob.Attempts IS 'how often it was run'$ddl$),
(8, $ddl$COMMENT ON COLUMN dms.DeadJob.MaxAttempts IS 'how often it was allowed to be run'$ddl$),
(8, $ddl$COMMENT ON COLUMN dms.DeadJob.LastError IS 'why the last attempt failed'$ddl$),
(8, $ddl$COMMENT ON COLUMN dms.DeadJob.CreatedAt IS 'when it was enqueued'$ddl$),
(8, $ddl$COMMENT ON COLUMN dms.DeadJob.DiedAt IS 'when it was moved here'$ddl$),
(9, $ddl$ALTER TABLE dms.Document ADD COLUMN CreatedBy varchar(256)$ddl$),
(9, $ddl$COMMENT ON COLUMN dms.Document.CreatedBy IS 'who created the document: the setting dms.user at that time; NULL if it was not set'$ddl$),
(10, $ddl$CREATE INDEX uniquekeyvalue_value_ix ON dms.UniqueKeyValue (ResourceType, Key, Value COLLATE "C")$ddl$),
(11, $ddl$DROP INDEX dms.trackedchange_uuid_ix$ddl$),
(11, $ddl$CREATE INDEX trackedchange_uuid_ix ON dms.TrackedChange (DocumentUuid) WHERE NewKey IS NULL$ddl$)
) AS u (version, statement)
WHERE u.version > from_version
$upgrade$;
COMMENT ON FUNCTION dms_internal.upgrade_ddl(integer) IS
'the statements that change the core tables of this version to those of today, in order';

-- Rows that belong to a document are deleted by triggers on dms.Document.  Foreign
-- keys instead would cost a check for every insert, and for every delete a search
-- in every root table of the schema.  A deploy passes the parts that depend on its
-- models: PL/pgSQL that deletes the rows of documents of one type (gone_ids,
-- gone_type), the tables to truncate with dms.Document, and PL/pgSQL that reads the keys
-- of such documents (into key_ids, keys).
--
-- A plan by index is right for one document and for many, so the functions always
-- use a generic plan.  Documents of several types are cleared in one statement:
-- they may refer to each other, and foreign keys are checked at the end of a
-- statement.
--
-- Children are deleted before the rows of their parents, which they may refer to.
-- The library's delete sets dms.unrelated_document to the document that it deletes,
-- if it has found under its locks that the document has no relations.
--
-- Deletes are recorded before the rows are cleared that keys are read from: triggers
-- are called in the order of their names.  The trigger exists while changes are recorded.
-- The library tells the number of the change by dms.change_version; a plain DELETE
-- computes it.
CREATE FUNCTION dms_internal.trigger_ddl(clearing text, tables text, keys text) RETURNS SETOF text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $trigger$
VALUES
($ddl$
CREATE OR REPLACE FUNCTION dms.document_after_delete() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off
AS $body$
#variable_conflict use_variable
DECLARE
	gone_ids bigint[];
	below_ids bigint[];
	gone_types text[];
	gone_type text;
BEGIN
	SELECT array_agg(DocumentId ORDER BY DocumentId), array_agg(DISTINCT ProjectName || ':' || ResourceName)
	INTO gone_ids, gone_types FROM gone;
	IF gone_ids IS NULL THEN
		RETURN NULL;
	END IF;
	IF cardinality(gone_ids) > 1 OR current_setting('dms.unrelated_document', true) IS DISTINCT FROM gone_ids[1]::text THEN
		DELETE FROM dms.DocumentAccount WHERE DocumentId = ANY (gone_ids);
		DELETE FROM dms.ParentChild WHERE ChildDocumentId = ANY (gone_ids);
		WITH RECURSIVE below (id) AS (
			SELECT c.ChildDocumentId FROM dms.ParentChild AS c WHERE c.ParentDocumentId = ANY (gone_ids)
			UNION SELECT c.ChildDocumentId FROM below AS b JOIN dms.ParentChild AS c ON c.ParentDocumentId = b.id)
		SELECT array_agg(b.id ORDER BY b.id) INTO below_ids FROM below AS b;
		IF below_ids IS NOT NULL THEN
			DELETE FROM dms.Document WHERE DocumentId = ANY (below_ids);
		END IF;
		DELETE FROM dms.CollectionMember WHERE CollectionDocumentId = ANY (gone_ids);
		DELETE FROM dms.CollectionMember WHERE MemberDocumentId = ANY (gone_ids);
		DELETE FROM dms.UniqueKeyValue WHERE DocumentId = ANY (gone_ids);
		IF EXISTS (SELECT FROM dms.DocumentAccount WHERE AccountId = ANY (gone_ids)) THEN
			RAISE foreign_key_violation USING MESSAGE = 'an account that has documents cannot be deleted';
		END IF;
	END IF;
	IF pg_relation_size('dms.documentcache') > 0 THEN
		DELETE FROM dms.DocumentCache WHERE DocumentId = ANY (gone_ids);
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
$ddl$ || clearing || $ddl$	RETURN NULL;
END
$body$$ddl$),
($ddl$COMMENT ON FUNCTION dms.document_after_delete() IS 'deletes the rows that belong to deleted documents'$ddl$),
($ddl$
CREATE OR REPLACE TRIGGER document_after_delete AFTER DELETE ON dms.Document
	REFERENCING OLD TABLE AS gone
	FOR EACH STATEMENT EXECUTE FUNCTION dms.document_after_delete()$ddl$),
($ddl$
CREATE OR REPLACE FUNCTION dms.change_tracking() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off
AS $body$
#variable_conflict use_variable
DECLARE
	change_version bigint := NULLIF(current_setting('dms.change_version', true), '')::bigint;
	gone_type text;
	gone_ids bigint[];
	key_ids bigint[];
	keys json[];
BEGIN
	IF change_version IS NULL THEN
		SELECT ChangeBase + 2 * pg_current_xact_id()::text::bigint + 1 INTO change_version
		FROM dms.Store WHERE ChangeSystem = (SELECT system_identifier FROM pg_control_system());
		IF change_version IS NULL THEN
			RAISE object_not_in_prerequisite_state USING MESSAGE = 'changes of this copy of the store have no numbers yet',
				HINT = 'Call dms.current_change_version() first.';
		END IF;
	END IF;
	FOR gone_type, gone_ids IN
		SELECT ProjectName || ':' || ResourceName, array_agg(DocumentId ORDER BY DocumentId) FROM gone GROUP BY 1
	LOOP
		key_ids := NULL;
		keys := NULL;
$ddl$ || keys || $ddl$		INSERT INTO dms.TrackedChange (DocumentId, Etag, Kind, ResourceTypeId, ChangeVersion, DocumentUuid,
			OldKey, OldReferentialId, OldAliasId)
		SELECT g.DocumentId, g.Etag + 1, 'D', g.ResourceTypeId, change_version, g.DocumentUuid, k.key,
			(SELECT i.ReferentialId FROM dms.ReferentialIdentity AS i WHERE i.DocumentId = g.DocumentId
				AND i.ProjectName = g.ProjectName AND i.ResourceName = g.ResourceName LIMIT 1),
			(SELECT i.ReferentialId FROM dms.ReferentialIdentity AS i WHERE i.DocumentId = g.DocumentId
				AND (i.ProjectName, i.ResourceName) <> (g.ProjectName, g.ResourceName) LIMIT 1)
		FROM (SELECT gone.*, t.ResourceTypeId FROM gone
			JOIN dms.ResourceType AS t ON (t.ProjectName, t.ResourceName) = (gone.ProjectName, gone.ResourceName)
			WHERE gone.ProjectName || ':' || gone.ResourceName = gone_type) AS g
		-- Each key is one of these documents.  A full join is never a nested loop, which
		-- would take the square of their number.
		FULL JOIN unnest(key_ids, keys) AS k (id, key) ON k.id = g.DocumentId
		ON CONFLICT (DocumentId, Etag) DO UPDATE
		SET (Kind, ResourceTypeId, ChangeVersion, DocumentUuid, OldKey, NewKey, OldReferentialId, OldAliasId, CreatedAt) =
			ROW (EXCLUDED.Kind, EXCLUDED.ResourceTypeId, EXCLUDED.ChangeVersion, EXCLUDED.DocumentUuid, EXCLUDED.OldKey,
			NULL::json, EXCLUDED.OldReferentialId, EXCLUDED.OldAliasId, EXCLUDED.CreatedAt);
	END LOOP;
	RETURN NULL;
END
$body$$ddl$),
($ddl$COMMENT ON FUNCTION dms.change_tracking() IS 'records deleted documents with their keys in dms.TrackedChange'$ddl$),
($ddl$
CREATE OR REPLACE TRIGGER change_tracking AFTER DELETE ON dms.Document
	REFERENCING OLD TABLE AS gone
	FOR EACH STATEMENT WHEN (pg_catalog.current_setting('dms.delete_recorded', true) IS DISTINCT FROM 'on')
	EXECUTE FUNCTION dms.change_tracking()$ddl$),
($ddl$
CREATE OR REPLACE FUNCTION dms.document_after_truncate() RETURNS trigger
LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp
SET plan_cache_mode = force_generic_plan SET enable_seqscan = off SET jit = off
AS $body$
DECLARE
	change_version bigint;
BEGIN
	IF EXISTS (SELECT FROM dms.Store WHERE ChangeTracking) THEN
		SELECT ChangeBase + 2 * pg_current_xact_id()::text::bigint INTO change_version
		FROM dms.Store WHERE ChangeSystem = (SELECT system_identifier FROM pg_control_system());
		IF change_version IS NULL THEN
			RAISE object_not_in_prerequisite_state USING MESSAGE = 'changes of this copy of the store have no numbers yet',
				HINT = 'Call dms.current_change_version() first.';
		END IF;
		UPDATE dms.Store SET PurgedBy = change_version, PurgedThrough = GREATEST(PurgedThrough, ChangeFloor, change_version + 1,
			(SELECT max(ChangeVersion) FROM dms.DocumentChange), (SELECT max(ChangeVersion) FROM dms.TrackedChange));
		TRUNCATE dms.DocumentChange, dms.TrackedChange;
	END IF;
	-- While rows are published, consumers must learn which documents are gone.
	IF EXISTS (SELECT FROM pg_class WHERE oid = 'dms.documentcache'::regclass AND relreplident = 'i') THEN
		DELETE FROM dms.DocumentCache;
	ELSE
		TRUNCATE dms.DocumentCache;
	END IF;
	TRUNCATE dms.ReferentialIdentity, dms.ReferenceEdge, dms.IdentityLock, dms.Descriptor, dms.ParentChild,
		dms.CollectionMember, dms.UniqueKeyValue, dms.DocumentAccount$ddl$ || tables || $ddl$ CASCADE;
	RETURN NULL;
END
$body$$ddl$),
($ddl$COMMENT ON FUNCTION dms.document_after_truncate() IS 'truncates all tables whose rows belong to documents'$ddl$),
($ddl$
CREATE OR REPLACE TRIGGER document_after_truncate AFTER TRUNCATE ON dms.Document
	FOR EACH STATEMENT EXECUTE FUNCTION dms.document_after_truncate()$ddl$)
$trigger$;
COMMENT ON FUNCTION dms_internal.trigger_ddl(text, text, text) IS
'the statements that create the triggers which delete the rows that belong to deleted documents, in order';

-- ---------------------------------------------------------------------------
-- Deploying a schema.
-- ---------------------------------------------------------------------------

CREATE FUNCTION dms.deploy_schema(VARIADIC schemas json[]) RETURNS text
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'dms_deploy_schema';
COMMENT ON FUNCTION dms.deploy_schema(json[]) IS
'deploys ApiSchema files, the core together with its extensions, and returns the hash of the schema; deploying the same schema again changes nothing';

CREATE FUNCTION dms.plan_schema(VARIADIC schemas json[]) RETURNS SETOF text
LANGUAGE C STABLE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'dms_plan_schema';
COMMENT ON FUNCTION dms.plan_schema(json[]) IS
'the DDL that deploying these ApiSchema files would run, one statement per row; runs nothing';

CREATE FUNCTION dms.migrate_schema(schemas json[], allow_destructive boolean DEFAULT false, renames jsonb DEFAULT '{}')
RETURNS text
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'dms_migrate_schema';
COMMENT ON FUNCTION dms.migrate_schema(json[], boolean, jsonb) IS
'changes the deployed schema to these ApiSchema files, and returns the hash of the schema; allow_destructive allows the loss of data, and renames maps old names of tables and columns to new ones';

CREATE FUNCTION dms.plan_migration(schemas json[], allow_destructive boolean DEFAULT false, renames jsonb DEFAULT '{}')
RETURNS TABLE (step integer, phase text, statement text, reason text)
LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'dms_plan_migration';
COMMENT ON FUNCTION dms.plan_migration(json[], boolean, jsonb) IS
'the steps that dms.migrate_schema() would run, each with the phase in which it may run: before, gate or after; a step without a statement is done by the function alone; runs nothing';

CREATE FUNCTION dms.upgrade_store() RETURNS integer
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'dms_upgrade_store';
COMMENT ON FUNCTION dms.upgrade_store() IS
'brings the tables of a store that an older version of the extension made to the version of today, and returns it; changes nothing if they have it';

CREATE FUNCTION dms.configure_store(options jsonb) RETURNS jsonb
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'dms_configure_store';
COMMENT ON FUNCTION dms.configure_store(jsonb) IS
'sets options of the store: maxCascadeSize, verifyEdges, idempotencyLease, idempotencyTtl, maxDeleteSize, urnDomain (null resets one), and returns all of them; of an option and a setting, the stricter one holds';

CREATE FUNCTION dms.configure_resource(project text, resource text, options jsonb) RETURNS jsonb
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'dms_configure_resource';
COMMENT ON FUNCTION dms.configure_resource(text, text, jsonb) IS
'sets options of a resource, such as history or search (null removes one), and returns all that hold then; waits for writers in flight';

CREATE FUNCTION dms.plan_resource(project text, resource text, options jsonb) RETURNS SETOF text
LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'dms_plan_resource';
COMMENT ON FUNCTION dms.plan_resource(text, text, jsonb) IS
'the DDL that setting these options by dms.configure_resource() would run, one statement per row; runs nothing';

CREATE FUNCTION dms.set_change_tracking(enabled boolean) RETURNS void
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_set_change_tracking';
COMMENT ON FUNCTION dms.set_change_tracking(boolean) IS
'begins to record changes of documents for those who follow the store, or stops and forgets them; writers wait meanwhile';

CREATE FUNCTION dms.compact_changes() RETURNS bigint
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_compact_changes';
COMMENT ON FUNCTION dms.compact_changes() IS
'deletes rows of the journal of changes that later changes of the same documents have superseded; returns their number';

CREATE FUNCTION dms_internal.compact_some(from_page bigint) RETURNS bigint
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_compact_some';
COMMENT ON FUNCTION dms_internal.compact_some(bigint) IS
'a step of dms.project_documents(): compacts some pages of the journal of changes, if it is worthwhile to begin, and returns the next page';

CREATE FUNCTION dms.purge_tracked_changes(older_than interval) RETURNS bigint
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_purge_tracked_changes';
COMMENT ON FUNCTION dms.purge_tracked_changes(interval) IS
'deletes records of deleted documents and of changed keys that are older; returns their number';

CREATE FUNCTION dms.skip_change_versions(by bigint DEFAULT 1000000000) RETURNS bigint
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_skip_change_versions';
COMMENT ON FUNCTION dms.skip_change_versions(bigint) IS
'lets numbers of changes jump, after changes were lost that clients have seen the numbers of; returns the newest number then';

-- pg_stat_activity hides xids of other roles; pg_locks does not.  Transactions that have
-- ended since the snapshot are left out.
CREATE FUNCTION dms.change_blockers()
RETURNS TABLE (pid int, xid xid8, database name, since interval, state text, query text)
LANGUAGE sql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
SELECT a.pid, x.xid, COALESCE(a.datname, p.database), now() - COALESCE(a.xact_start, p.prepared),
	CASE WHEN p.gid IS NULL THEN a.state ELSE 'prepared transaction ' || p.gid END, a.query
FROM pg_snapshot_xip(pg_current_snapshot()) AS x (xid)
LEFT JOIN pg_locks AS l ON l.locktype = 'transactionid' AND l.transactionid = x.xid::xid
	AND l.mode = 'ExclusiveLock' AND l.granted AND l.pid IS NOT NULL
LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid
LEFT JOIN pg_prepared_xacts AS p ON p.transaction = x.xid::xid
WHERE COALESCE(a.datname, p.database) = current_database()
  AND a.backend_type IS DISTINCT FROM 'autovacuum worker'
ORDER BY x.xid
$$;
COMMENT ON FUNCTION dms.change_blockers() IS
'the running transactions of this database, the oldest first: changes from it on are not among the newest yet';

CREATE FUNCTION dms.current_change_version() RETURNS bigint
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_current_change_version';
COMMENT ON FUNCTION dms.current_change_version() IS
'the number that changes by this transaction have, for those who change documents by statements of their own';

CREATE FUNCTION dms_internal.require_store() RETURNS void
LANGUAGE C STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dms_require_store';
COMMENT ON FUNCTION dms_internal.require_store() IS
'raises an error that says what to do, if no schema is deployed, or if the store has another version';

CREATE FUNCTION dms.instance_id() RETURNS uuid
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM dms_internal.require_store();
	RETURN (SELECT InstanceId FROM dms.Store);
END
$$;
COMMENT ON FUNCTION dms.instance_id() IS
'the id of this store: made at the first deploy, kept by dump and restore';

-- ---------------------------------------------------------------------------
-- Introspection: descriptions of the deployed schema, for people.
-- ---------------------------------------------------------------------------

CREATE FUNCTION dms.resources()
RETURNS TABLE (project text, resource text, project_endpoint text, endpoint text, kind text,
	table_name text, column_count integer, collection_count integer, reference_count integer,
	descriptor_count integer, identity_paths text[], load_order integer, superclass text,
	identity_can_change boolean)
LANGUAGE C STABLE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'dms_resources';
COMMENT ON FUNCTION dms.resources() IS
'the resources of the deployed schema, in an order in which their documents can be loaded';

CREATE FUNCTION dms.describe_resource(project text, resource text)
RETURNS TABLE (part text, table_name text, name text, type text, nullable boolean,
	json_path text, refers_to text, enforced_by text)
LANGUAGE C STABLE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'dms_describe_resource';
COMMENT ON FUNCTION dms.describe_resource(text, text) IS
'the tables and columns of a resource with their JSON paths and references, the rules that hold for it and how they are enforced, its query fields, and its options with their values as types';

-- Not strict: without names, all resources are listed.
CREATE FUNCTION dms.resource_options(project text DEFAULT NULL, resource text DEFAULT NULL)
RETURNS TABLE (project text, resource text, resource_type text, options jsonb)
LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'dms_resource_options';
COMMENT ON FUNCTION dms.resource_options(text, text) IS
'the options of all resources, of those of a project, or of one resource (by names or endpoint names in any case), in load order';

CREATE FUNCTION dms.schema_diagram(project text, resource text) RETURNS text
LANGUAGE C STABLE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'dms_schema_diagram';
COMMENT ON FUNCTION dms.schema_diagram(text, text) IS
'a Mermaid diagram of a resource: its tables, and the resources that it refers to and that refer to it';

-- ---------------------------------------------------------------------------
-- Writing documents.  Drivers send a body as text, as json or as jsonb, so there is
-- a function for each.  All three are needed: a literal without a type is text
-- then, but would be ambiguous between json and jsonb.  Text and json preserve
-- duplicate keys, which are refused; jsonb does not have them.
-- ---------------------------------------------------------------------------

CREATE TYPE dms.write_result AS (
	outcome text,
	document_uuid uuid,
	document_id bigint,
	etag bigint,
	last_modified_at timestamptz
);
COMMENT ON TYPE dms.write_result IS
'the outcome of a write (inserted, updated or unchanged), and the ids and etag of the document';

-- Not strict, because a NULL if_match is allowed, and a NULL document is an error.
CREATE FUNCTION dms.upsert_document(project text, resource text, document json,
	if_match bigint DEFAULT NULL) RETURNS dms.write_result
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_upsert_document';
COMMENT ON FUNCTION dms.upsert_document(text, text, json, bigint) IS
'writes a document by its identity: inserts it, or updates the one that exists; with if_match only if that has this etag';

CREATE FUNCTION dms.upsert_document(project text, resource text, document text,
	if_match bigint DEFAULT NULL) RETURNS dms.write_result
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_upsert_document';
COMMENT ON FUNCTION dms.upsert_document(text, text, text, bigint) IS
'the same for a body that is text';

CREATE FUNCTION dms.upsert_document(project text, resource text, document jsonb,
	if_match bigint DEFAULT NULL) RETURNS dms.write_result
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_upsert_document_jsonb';
COMMENT ON FUNCTION dms.upsert_document(text, text, jsonb, bigint) IS
'the same for a body that is jsonb';

CREATE FUNCTION dms.update_document(document_uuid uuid, document json,
	if_match bigint DEFAULT NULL) RETURNS dms.write_result
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_update_document';
COMMENT ON FUNCTION dms.update_document(uuid, json, bigint) IS
'writes a document by its id; its identity may change if the schema allows it';

CREATE FUNCTION dms.update_document(document_uuid uuid, document text,
	if_match bigint DEFAULT NULL) RETURNS dms.write_result
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_update_document';
COMMENT ON FUNCTION dms.update_document(uuid, text, bigint) IS
'the same for a body that is text';

CREATE FUNCTION dms.update_document(document_uuid uuid, document jsonb,
	if_match bigint DEFAULT NULL) RETURNS dms.write_result
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_update_document_jsonb';
COMMENT ON FUNCTION dms.update_document(uuid, jsonb, bigint) IS
'the same for a body that is jsonb';

CREATE FUNCTION dms.update_documents(document_uuids uuid[], documents json[])
RETURNS SETOF dms.write_result
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_update_documents';
COMMENT ON FUNCTION dms.update_documents(uuid[], json[]) IS
'writes several documents by their ids, all or none; they may swap identities';

CREATE FUNCTION dms.delete_document(document_uuid uuid, if_match bigint DEFAULT NULL) RETURNS boolean
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_delete_document';
COMMENT ON FUNCTION dms.delete_document(uuid, bigint) IS
'deletes a document that no other refers to; returns true, or raises an error that counts the documents that do';

CREATE FUNCTION dms.restore_document(document_uuid uuid, version bigint, if_match bigint DEFAULT NULL)
RETURNS dms.write_result
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_restore_document';
COMMENT ON FUNCTION dms.restore_document(uuid, bigint, bigint) IS
'gives a document the content of an earlier version, as a new version; a document that was deleted gets its id again';

CREATE FUNCTION dms.store_diff(document_uuid uuid, old_version bigint, new_version bigint, diff jsonb) RETURNS boolean
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_store_diff';
COMMENT ON FUNCTION dms.store_diff(uuid, bigint, bigint, jsonb) IS
'stores what changed from one version of a document to another, for those who run the jobs themselves; false if the new version has a diff already, or one of them does not exist';

CREATE FUNCTION dms.lock_identity_closure(seeds bigint[]) RETURNS SETOF bigint
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_lock_identity_closure';
COMMENT ON FUNCTION dms.lock_identity_closure(bigint[]) IS
'locks documents, and all whose identities depend on theirs, for a change of identity by your own statements; returns the ids that are locked';

CREATE FUNCTION dms.recompute_identities(document_ids bigint[]) RETURNS bigint
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_recompute_identities';
COMMENT ON FUNCTION dms.recompute_identities(bigint[]) IS
'recomputes the ReferentialIds of documents from their rows; returns the number that changed';

-- ---------------------------------------------------------------------------
-- Reading documents.  These functions run with the rights of the caller, so
-- grants and row-level security apply.  They are parallel unsafe, because models
-- are looked up in a newer snapshot.
-- ---------------------------------------------------------------------------

CREATE FUNCTION dms.get_document(document_uuid uuid) RETURNS json
LANGUAGE C STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_get_document';
COMMENT ON FUNCTION dms.get_document(uuid) IS
'the document with this id as JSON, with the current identities of the documents that it refers to; NULL if there is none';

-- A literal without a type would be ambiguous between these two: name the argument.
CREATE FUNCTION dms.get_document(document_uuid uuid, version bigint) RETURNS json
LANGUAGE C STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_get_document_version';
COMMENT ON FUNCTION dms.get_document(uuid, bigint) IS
'the document as it was with this etag; NULL if there is no such version';

CREATE FUNCTION dms.get_document(document_uuid uuid, as_of timestamptz) RETURNS json
LANGUAGE C STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_get_document_as_of';
COMMENT ON FUNCTION dms.get_document(uuid, timestamptz) IS
'the document as it was at this time; NULL if it did not exist, or if its history begins later';

-- Not strict, because "before" is NULL for the first page.
CREATE FUNCTION dms.list_versions(document_uuid uuid, page_limit int DEFAULT 25, before bigint DEFAULT NULL)
RETURNS TABLE (version bigint, version_id text, kind text, created_at timestamptz, created_by text,
	resource_version text, bytes int, is_current boolean)
LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL UNSAFE ROWS 25
AS 'MODULE_PATHNAME', 'dms_list_versions';
COMMENT ON FUNCTION dms.list_versions(uuid, int, bigint) IS
'the versions of a document, also of one that was deleted, newest first; "before" continues before a version';

CREATE FUNCTION dms.latest_version(document_uuid uuid) RETURNS json
LANGUAGE C STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_latest_version';
COMMENT ON FUNCTION dms.latest_version(uuid) IS
'what a cache keeps of a document: its id, title, version, content and time, by the options title and content of its resource; NULL if there is none';

CREATE FUNCTION dms.json_diff(old json, new json) RETURNS jsonb
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dms_json_diff';
COMMENT ON FUNCTION dms.json_diff(json, json) IS
'what changed from one value to another: "patch" is a JSON patch (RFC 6902), and "text" has a unified diff of each changed string of several lines, by its path';

CREATE FUNCTION dms.diff_versions(document_uuid uuid, old_version bigint, new_version bigint) RETURNS jsonb
LANGUAGE C STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_diff_versions';
COMMENT ON FUNCTION dms.diff_versions(uuid, bigint, bigint) IS
'what changed from one version of a document to another, beside the etag and the time, as dms.json_diff() returns it; NULL if one of them does not exist';

CREATE FUNCTION dms.change_log(document_uuid uuid, page_limit int DEFAULT 25, before bigint DEFAULT NULL)
RETURNS TABLE (version bigint, old_version bigint, kind text, created_at timestamptz, created_by text,
	diff jsonb, diff_state text)
LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL UNSAFE ROWS 25
AS 'MODULE_PATHNAME', 'dms_change_log';
COMMENT ON FUNCTION dms.change_log(uuid, int, bigint) IS
'the versions of a document, newest first, with the diffs that are stored; diff_state is done, pending or dead (as the job is that makes the diff), or none; before continues a page after its last version';

CREATE FUNCTION dms.history_stats()
RETURNS TABLE (project text, resource text, versions bigint, bytes bigint, oldest timestamptz)
LANGUAGE C STABLE STRICT PARALLEL UNSAFE ROWS 10
AS 'MODULE_PATHNAME', 'dms_history_stats';
COMMENT ON FUNCTION dms.history_stats() IS
'the number of versions of each resource that the caller may read, their size, and the time of the oldest';

-- Not strict, because "after" is NULL for the first page.
CREATE FUNCTION dms.query_documents(project text, resource text, filters jsonb DEFAULT '{}',
	page_limit int DEFAULT 25, page_offset bigint DEFAULT 0, after uuid DEFAULT NULL,
	min_change_version bigint DEFAULT NULL, max_change_version bigint DEFAULT NULL)
RETURNS SETOF json
LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL UNSAFE ROWS 25
AS 'MODULE_PATHNAME', 'dms_query_documents';
COMMENT ON FUNCTION dms.query_documents(text, text, jsonb, int, bigint, uuid, bigint, bigint) IS
'a page of the documents that match all filters, {"field": value or array of values}; a field of an optional reference also matches at equal paths; "after" continues after a document, at the same cost for every page; the last change of a document is in the range of the change versions, and with an upper bound documents are in the order of their changes';

CREATE FUNCTION dms.search_documents(project text, resource text, query text, page_limit int DEFAULT 25,
	page_offset bigint DEFAULT 0, syntax text DEFAULT 'plain', sort text DEFAULT 'rank')
RETURNS SETOF json
LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL UNSAFE ROWS 25
AS 'MODULE_PATHNAME', 'dms_search_documents';
COMMENT ON FUNCTION dms.search_documents(text, text, text, int, bigint, text, text) IS
'a page of the documents that have the words of a query, by the option search of the resource; the syntax is plain (all words) or web (quotes, or, -), they are sorted by rank (best first) or newest (created last first)';

-- Only one of the functions has a default for filters: a call without them would
-- be ambiguous otherwise.
CREATE FUNCTION dms.query_documents(project text, resource text, filters text,
	page_limit int DEFAULT 25, page_offset bigint DEFAULT 0, after uuid DEFAULT NULL,
	min_change_version bigint DEFAULT NULL, max_change_version bigint DEFAULT NULL)
RETURNS SETOF json
LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL UNSAFE ROWS 25
AS 'MODULE_PATHNAME', 'dms_query_documents_text';
COMMENT ON FUNCTION dms.query_documents(text, text, text, int, bigint, uuid, bigint, bigint) IS
'the same for filters that are text';

CREATE FUNCTION dms.query_documents(project text, resource text, filters json,
	page_limit int DEFAULT 25, page_offset bigint DEFAULT 0, after uuid DEFAULT NULL,
	min_change_version bigint DEFAULT NULL, max_change_version bigint DEFAULT NULL)
RETURNS SETOF json
LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL UNSAFE ROWS 25
AS 'MODULE_PATHNAME', 'dms_query_documents_text';
COMMENT ON FUNCTION dms.query_documents(text, text, json, int, bigint, uuid, bigint, bigint) IS
'the same for filters that are json';

CREATE FUNCTION dms.count_documents(project text, resource text, filters jsonb DEFAULT '{}',
	min_change_version bigint DEFAULT NULL, max_change_version bigint DEFAULT NULL)
RETURNS bigint
LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_count_documents';
COMMENT ON FUNCTION dms.count_documents(text, text, jsonb, bigint, bigint) IS
'the number of documents that match all filters';

CREATE FUNCTION dms.count_documents(project text, resource text, filters text,
	min_change_version bigint DEFAULT NULL, max_change_version bigint DEFAULT NULL)
RETURNS bigint
LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_count_documents_text';
COMMENT ON FUNCTION dms.count_documents(text, text, text, bigint, bigint) IS
'the same for filters that are text';

CREATE FUNCTION dms.count_documents(project text, resource text, filters json,
	min_change_version bigint DEFAULT NULL, max_change_version bigint DEFAULT NULL)
RETURNS bigint
LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_count_documents_text';
COMMENT ON FUNCTION dms.count_documents(text, text, json, bigint, bigint) IS
'the same for filters that are json';

CREATE FUNCTION dms.referencing_documents(document_uuid uuid)
RETURNS TABLE (referencingdocumentuuid uuid, referencingprojectname text,
	referencingresourcename text, referenceedgesourcekey text)
LANGUAGE C STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_referencing_documents';
COMMENT ON FUNCTION dms.referencing_documents(uuid) IS
'the documents that refer to this one, and the places of their references, by project, resource and id';

CREATE FUNCTION dms.read_changes(after_cursor text DEFAULT NULL, max_changes int DEFAULT 1000,
	with_documents boolean DEFAULT true)
RETURNS TABLE (kind text, change_version bigint, document_uuid uuid, project text, resource text, etag bigint,
	document json, old_key json, new_key json, next_cursor text)
LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_read_changes';
COMMENT ON FUNCTION dms.read_changes(text, int, boolean) IS
'changes after a cursor, or everything without one: rows of the kinds key, document and delete, and an end when there are no more for now; each row has the cursor to go on with';

CREATE FUNCTION dms.available_change_versions(OUT oldest bigint, OUT newest bigint)
LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_available_change_versions';
COMMENT ON FUNCTION dms.available_change_versions() IS
'the newest number that no later change can be below of, and the number up to which deletes may not be recorded any more';

CREATE FUNCTION dms.changed_documents(project text, resource text, min_version bigint DEFAULT 0,
	max_version bigint DEFAULT NULL, page_limit int DEFAULT 500, after_version bigint DEFAULT NULL,
	after_document_id bigint DEFAULT NULL)
RETURNS TABLE (change_version bigint, document_id bigint, document_uuid uuid, etag bigint, document json)
LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_changed_documents';
COMMENT ON FUNCTION dms.changed_documents(text, text, bigint, bigint, int, bigint, bigint) IS
'documents whose last change has a number between two, by default up to the newest, in the order of numbers and ids';

CREATE FUNCTION dms.deleted_documents(project text, resource text, min_version bigint DEFAULT 0,
	max_version bigint DEFAULT NULL, page_limit int DEFAULT 500, page_offset bigint DEFAULT 0)
RETURNS TABLE (document_uuid uuid, change_version bigint, key_values json)
LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_deleted_documents';
COMMENT ON FUNCTION dms.deleted_documents(text, text, bigint, bigint, int, bigint) IS
'documents that were deleted, with their keys, unless a document has the same identity again';

CREATE FUNCTION dms.changed_keys(project text, resource text, min_version bigint DEFAULT 0,
	max_version bigint DEFAULT NULL, page_limit int DEFAULT 500, page_offset bigint DEFAULT 0)
RETURNS TABLE (document_uuid uuid, change_version bigint, old_key_values json, new_key_values json)
LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_changed_keys';
COMMENT ON FUNCTION dms.changed_keys(text, text, bigint, bigint, int, bigint) IS
'documents whose keys have changed: the first old key and the last new one';

CREATE FUNCTION dms.document_digests(project text, resource text, buckets int DEFAULT 256)
RETURNS TABLE (bucket int, documents bigint, digest bytea)
LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL UNSAFE ROWS 256
AS 'MODULE_PATHNAME', 'dms_document_digests';
COMMENT ON FUNCTION dms.document_digests(text, text, int) IS
'for each bucket of documents, by the last 8 digits of their ids modulo buckets: their number, and the exclusive or of the SHA-256 of their JSON; to verify a copy';

CREATE FUNCTION dms.resolve(project text, resource text, identity json) RETURNS uuid
LANGUAGE C STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_resolve';
COMMENT ON FUNCTION dms.resolve(text, text, json) IS
'the id of the document that has this identity, {"path or its last name": value}; NULL if there is none';

CREATE FUNCTION dms.resolve(project text, resource text, identity text) RETURNS uuid
LANGUAGE C STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_resolve';
COMMENT ON FUNCTION dms.resolve(text, text, text) IS
'the same for an identity that is text';

CREATE FUNCTION dms.resolve(project text, resource text, identity jsonb) RETURNS uuid
LANGUAGE C STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_resolve_jsonb';
COMMENT ON FUNCTION dms.resolve(text, text, jsonb) IS
'the same for an identity that is jsonb';

-- ---------------------------------------------------------------------------
-- Relations between any two documents.  Functions that read run with the rights of
-- the caller.
-- ---------------------------------------------------------------------------

CREATE FUNCTION dms.urn(document_uuid uuid) RETURNS text
LANGUAGE C STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_urn';
COMMENT ON FUNCTION dms.urn(uuid) IS
'the URN of a document, urn:{domain of the store}:{type of its resource}::{id}; NULL if there is none';

CREATE FUNCTION dms.id_of(urn text) RETURNS uuid
LANGUAGE C STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_id_of';
COMMENT ON FUNCTION dms.id_of(text) IS
'the id of the document that has a URN; an error if there is none, or if its type or domain is another one';

CREATE FUNCTION dms.set_parent(child uuid, parent uuid) RETURNS boolean
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_set_parent';
COMMENT ON FUNCTION dms.set_parent(uuid, uuid) IS
'gives a document a parent, with which it is deleted, or none if that is NULL; returns whether it had another one';

CREATE FUNCTION dms.add_member(collection uuid, member uuid, conveys boolean DEFAULT false) RETURNS boolean
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_add_member';
COMMENT ON FUNCTION dms.add_member(uuid, uuid, boolean) IS
'adds a document to a collection, which conveys its grants to it or not; returns whether anything changed';

CREATE FUNCTION dms.remove_member(collection uuid, member uuid) RETURNS boolean
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_remove_member';
COMMENT ON FUNCTION dms.remove_member(uuid, uuid) IS
'removes a document from a collection; returns whether it was in it';

CREATE FUNCTION dms.set_account(document_uuid uuid, account uuid, subtree boolean DEFAULT true) RETURNS bigint
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_set_account';
COMMENT ON FUNCTION dms.set_account(uuid, uuid, boolean) IS
'sets the account of a document, and with subtree of all that is below it, or takes it away if it is NULL; returns how many documents had another one';

CREATE FUNCTION dms.parent(document_uuid uuid) RETURNS uuid
LANGUAGE C STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_parent';
COMMENT ON FUNCTION dms.parent(uuid) IS
'the parent of a document; NULL if it has none';

CREATE FUNCTION dms.ancestors(document_uuid uuid)
RETURNS TABLE (document_uuid uuid, urn text, created_at timestamptz)
LANGUAGE C STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_ancestors';
COMMENT ON FUNCTION dms.ancestors(uuid) IS
'the parent of a document, its parent, and so on, with the times when they were created';

CREATE FUNCTION dms.collections(document_uuid uuid)
RETURNS TABLE (document_uuid uuid, urn text, created_at timestamptz)
LANGUAGE C STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_collections';
COMMENT ON FUNCTION dms.collections(uuid) IS
'the collections that a document is in, by their URNs, with the times when they were created';

CREATE FUNCTION dms.children(document_uuid uuid, resource_type text DEFAULT NULL, page_limit integer DEFAULT 25,
	after uuid DEFAULT NULL)
RETURNS TABLE (document_uuid uuid, urn text, created_at timestamptz)
LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_children';
COMMENT ON FUNCTION dms.children(uuid, text, integer, uuid) IS
'children of a document, by their URNs, of one type or of all, with the times when they got this parent; after continues behind one of them';

CREATE FUNCTION dms.members(document_uuid uuid, resource_type text DEFAULT NULL, page_limit integer DEFAULT 25,
	after uuid DEFAULT NULL)
RETURNS TABLE (document_uuid uuid, urn text, created_at timestamptz)
LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_members';
COMMENT ON FUNCTION dms.members(uuid, text, integer, uuid) IS
'members of a collection, by their URNs, of one type or of all, with the times when they were added; after continues behind one of them';

CREATE FUNCTION dms.account_documents(account uuid, resource_type text DEFAULT NULL, page_limit integer DEFAULT 25,
	after uuid DEFAULT NULL)
RETURNS TABLE (document_uuid uuid, urn text, created_at timestamptz)
LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_account_documents';
COMMENT ON FUNCTION dms.account_documents(uuid, text, integer, uuid) IS
'documents of an account, by their URNs, of one type or of all, with the times when they were created; after continues behind one of them';

CREATE FUNCTION dms.graph_diagram(document_uuid uuid, depth integer DEFAULT 1) RETURNS text
LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_graph_diagram';
COMMENT ON FUNCTION dms.graph_diagram(uuid, integer) IS
'a document and the documents around it, up to so many relations away, as a Mermaid flowchart';

CREATE FUNCTION dms.delete_plan(document_uuid uuid)
RETURNS TABLE (part text, project text, resource text, documents bigint)
LANGUAGE C STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_delete_plan';
COMMENT ON FUNCTION dms.delete_plan(uuid) IS
'what deleting a document would delete (goes), and the documents that stand in the way, because they refer to one of these (refers), or one of these is their account (account)';

CREATE FUNCTION dms.grant_sources(document_uuid uuid)
RETURNS TABLE (document_uuid uuid, urn text, via text, depth integer)
LANGUAGE C STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_grant_sources';
COMMENT ON FUNCTION dms.grant_sources(uuid) IS
'the documents whose grants apply to a document: itself, its ancestors, the collections that convey to one of these, and so on';

CREATE FUNCTION dms.covers(source uuid, target uuid) RETURNS boolean
LANGUAGE C STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_covers';
COMMENT ON FUNCTION dms.covers(uuid, uuid) IS
'whether grants on one document apply to another';

CREATE FUNCTION dms.covered_documents(sources uuid[]) RETURNS SETOF uuid
LANGUAGE C STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_covered_documents';
COMMENT ON FUNCTION dms.covered_documents(uuid[]) IS
'the documents that grants on some documents apply to, these included';

CREATE FUNCTION dms.claim_unique_key(resource_type text, key text, value text, document_uuid uuid DEFAULT NULL)
RETURNS boolean
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_claim_unique_key';
COMMENT ON FUNCTION dms.claim_unique_key(text, text, text, uuid) IS
'gives a document a value that no other of its type has for this key, or reserves the value; returns false if that was so already, and it is an error if another document has it';

CREATE FUNCTION dms.release_unique_key(resource_type text, key text, value text) RETURNS boolean
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_release_unique_key';
COMMENT ON FUNCTION dms.release_unique_key(text, text, text) IS
'makes a claimed value free again; returns false if it was';

CREATE FUNCTION dms.find_unique_key(resource_type text, key text, value text) RETURNS text
LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_find_unique_key';
COMMENT ON FUNCTION dms.find_unique_key(text, text, text) IS
'the URN of the document that has claimed a value; NULL if there is none that the caller may see';

CREATE FUNCTION dms.get_record(pk text, sk text) RETURNS json
LANGUAGE C STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_get_record';
COMMENT ON FUNCTION dms.get_record(text, text) IS
'a document, relation or unique value as a record, by its two keys; NULL if there is none';

CREATE FUNCTION dms.query_records(pk text, sk_prefix text DEFAULT '', index_name text DEFAULT NULL,
	page_limit integer DEFAULT 25, after text DEFAULT NULL)
RETURNS SETOF json
LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_query_records';
COMMENT ON FUNCTION dms.query_records(text, text, text, integer, text) IS
'a page of records with a partition key whose sort keys begin with a prefix, in the order of the sort keys; of an index, InvertedIndex or ResourcesByAccountIndex, if one is named';

-- ---------------------------------------------------------------------------
-- Requests, for HTTP front ends.  Readers may call these functions, too: a
-- request that writes needs EXECUTE on the function that it corresponds to.
-- ---------------------------------------------------------------------------

CREATE TYPE dms.response AS (
	status integer,
	headers jsonb,
	body json
);
COMMENT ON TYPE dms.response IS
'the answer to a request, which an HTTP front end sends unchanged';

-- Not strict, because a request need not have a body or headers.
CREATE FUNCTION dms.handle_request(method text, path text, headers jsonb DEFAULT '{}',
	body text DEFAULT NULL) RETURNS dms.response
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_handle_request';
COMMENT ON FUNCTION dms.handle_request(text, text, jsonb, text) IS
'answers a request to /{project}/{endpoint}[/{id}][?query]; mistakes of the client are answers, and only failures that the caller should retry or report are raised as errors';

-- Other types of headers and bodies that drivers send.  A literal without a type
-- is text, beside one that has a type it is of that type.
CREATE FUNCTION dms.handle_request(method text, path text, headers text, body text DEFAULT NULL) RETURNS dms.response
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_handle_request_text';
COMMENT ON FUNCTION dms.handle_request(text, text, text, text) IS
'the same for headers that are text';

CREATE FUNCTION dms.handle_request(method text, path text, headers json, body text DEFAULT NULL) RETURNS dms.response
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_handle_request_text';
COMMENT ON FUNCTION dms.handle_request(text, text, json, text) IS
'the same for headers that are json';

CREATE FUNCTION dms.handle_request(method text, path text, headers json, body json) RETURNS dms.response
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_handle_request_text';
COMMENT ON FUNCTION dms.handle_request(text, text, json, json) IS
'the same for headers and a body that are json';

CREATE FUNCTION dms.handle_request(method text, path text, headers jsonb, body jsonb) RETURNS dms.response
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_handle_request_jsonb';
COMMENT ON FUNCTION dms.handle_request(text, text, jsonb, jsonb) IS
'the same for headers and a body that are jsonb';

CREATE FUNCTION dms_internal.unavailable_response(headers jsonb) RETURNS dms.response
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dms_unavailable_response';
COMMENT ON FUNCTION dms_internal.unavailable_response(jsonb) IS
'the answer of dms.process_request() when all attempts have failed';

CREATE FUNCTION dms_internal.require_own_transaction() RETURNS void
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_require_own_transaction';
COMMENT ON FUNCTION dms_internal.require_own_transaction() IS
'raises an error that says what to do, if the caller cannot end its transaction';

-- A procedure with a SET clause cannot end transactions, so this one has none, and
-- every name and operator is qualified.  It is refused inside a transaction block
-- always, not only when a retry is needed.  The answer is three columns, and not a
-- row of dms.response, because not all drivers can read one.
-- A request needs no more than READ COMMITTED.  At SERIALIZABLE its commit could
-- fail, which is too late for a retry.
CREATE PROCEDURE dms.process_request(method text, path text, request_headers jsonb DEFAULT '{}',
	request_body text DEFAULT NULL, INOUT status integer DEFAULT NULL, INOUT headers jsonb DEFAULT NULL,
	INOUT body json DEFAULT NULL)
LANGUAGE plpgsql
AS $$
DECLARE
	attempts CONSTANT integer := 3;
BEGIN
	PERFORM dms_internal.require_own_transaction();
	COMMIT;
	SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
	FOR attempt IN 1 .. attempts LOOP
		BEGIN
			SELECT r.status, r.headers, r.body INTO status, headers, body
			FROM dms.handle_request(method, path, request_headers, request_body) AS r;
			RETURN;
		EXCEPTION WHEN serialization_failure OR deadlock_detected OR lock_not_available THEN
			NULL;
		END;
		ROLLBACK;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
		IF attempt OPERATOR(pg_catalog.<) attempts THEN
			PERFORM pg_catalog.pg_sleep(pg_catalog.random() OPERATOR(pg_catalog.*) 0.05::pg_catalog.float8
				OPERATOR(pg_catalog.*) (attempt OPERATOR(pg_catalog.*) attempt)::pg_catalog.float8);
		END IF;
	END LOOP;
	SELECT r.status, r.headers, r.body INTO status, headers, body
	FROM dms_internal.unavailable_response(request_headers) AS r;
END
$$;
COMMENT ON PROCEDURE dms.process_request(text, text, jsonb, text, integer, jsonb, json) IS
'dms.handle_request() in a transaction of its own; after a conflict with another transaction it is tried again, up to three times with random pauses, and then the answer is 503';

-- The same types as those of dms.handle_request().
CREATE PROCEDURE dms.process_request(method text, path text, request_headers text, request_body text DEFAULT NULL,
	INOUT status integer DEFAULT NULL, INOUT headers jsonb DEFAULT NULL, INOUT body json DEFAULT NULL)
LANGUAGE plpgsql
AS $$
BEGIN
	CALL dms.process_request(method, path, request_headers::pg_catalog.jsonb, request_body, status, headers, body);
END
$$;
COMMENT ON PROCEDURE dms.process_request(text, text, text, text, integer, jsonb, json) IS
'the same for headers that are text';

CREATE PROCEDURE dms.process_request(method text, path text, request_headers json, request_body text DEFAULT NULL,
	INOUT status integer DEFAULT NULL, INOUT headers jsonb DEFAULT NULL, INOUT body json DEFAULT NULL)
LANGUAGE plpgsql
AS $$
BEGIN
	CALL dms.process_request(method, path, request_headers::pg_catalog.jsonb, request_body, status, headers, body);
END
$$;
COMMENT ON PROCEDURE dms.process_request(text, text, json, text, integer, jsonb, json) IS
'the same for headers that are json';

CREATE PROCEDURE dms.process_request(method text, path text, request_headers json, request_body json,
	INOUT status integer DEFAULT NULL, INOUT headers jsonb DEFAULT NULL, INOUT body json DEFAULT NULL)
LANGUAGE plpgsql
AS $$
BEGIN
	CALL dms.process_request(method, path, request_headers::pg_catalog.jsonb, request_body::pg_catalog.text,
		status, headers, body);
END
$$;
COMMENT ON PROCEDURE dms.process_request(text, text, json, json, integer, jsonb, json) IS
'the same for headers and a body that are json';

CREATE PROCEDURE dms.process_request(method text, path text, request_headers jsonb, request_body jsonb,
	INOUT status integer DEFAULT NULL, INOUT headers jsonb DEFAULT NULL, INOUT body json DEFAULT NULL)
LANGUAGE plpgsql
AS $$
BEGIN
	CALL dms.process_request(method, path, request_headers, request_body::pg_catalog.text, status, headers, body);
END
$$;
COMMENT ON PROCEDURE dms.process_request(text, text, jsonb, jsonb, integer, jsonb, json) IS
'the same for headers and a body that are jsonb';

-- ---------------------------------------------------------------------------
-- Idempotency keys, for HTTP front ends with endpoints of their own.  The
-- requests above use the same table, with other keys.
-- ---------------------------------------------------------------------------

CREATE FUNCTION dms.idempotency_begin(route text, method text, key text,
	fingerprint text DEFAULT NULL, ttl interval DEFAULT NULL)
RETURNS TABLE (state text, status_code integer, response_headers jsonb, response_body text, content_type text)
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE ROWS 1
AS 'MODULE_PATHNAME', 'dms_idempotency_begin';
COMMENT ON FUNCTION dms.idempotency_begin(text, text, text, text, interval) IS
'claims a key for a request: new (run it, then call dms.idempotency_complete()), done (with the stored answer), running, or mismatch (the key was used with another fingerprint)';

CREATE FUNCTION dms.idempotency_complete(route text, method text, key text, status_code integer,
	response_headers jsonb, response_body text, content_type text) RETURNS void
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_idempotency_complete';
COMMENT ON FUNCTION dms.idempotency_complete(text, text, text, integer, jsonb, text, text) IS
'stores the answer to a request whose key was claimed, if its status is 2xx; otherwise deletes the key, so that the request can be sent again';

CREATE FUNCTION dms.purge_idempotency_keys() RETURNS bigint
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_purge_idempotency_keys';
COMMENT ON FUNCTION dms.purge_idempotency_keys() IS
'deletes all idempotency keys that have expired; returns their number';

CREATE FUNCTION dms_internal.require_page(page integer, page_size integer) RETURNS void
LANGUAGE C IMMUTABLE CALLED ON NULL INPUT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dms_require_page';
COMMENT ON FUNCTION dms_internal.require_page(integer, integer) IS
'raises an error if an argument is NULL or negative';

CREATE FUNCTION dms.idempotency_keys(route text DEFAULT NULL, from_time timestamptz DEFAULT NULL,
	to_time timestamptz DEFAULT NULL, status integer DEFAULT NULL, page integer DEFAULT 0,
	page_size integer DEFAULT 50)
RETURNS TABLE (id uuid, scope text, key text, http_route text, http_method text, status_code integer,
	response_headers jsonb, response_body_bytes integer, content_type text, created_at timestamptz,
	expires_at timestamptz, is_processed boolean, processing_completed_at timestamptz, is_expired boolean)
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
#variable_conflict use_column
BEGIN
	PERFORM dms_internal.require_store();
	PERFORM dms_internal.require_page($5, $6);
	RETURN QUERY
	SELECT k.Id, k.Scope, k.Key::text, k.Route::text, k.HttpMethod::text, k.StatusCode, k.ResponseHeaders,
		octet_length(k.ResponseBody), k.ContentType::text, k.CreatedAt, k.ExpiresAt, k.IsProcessed,
		k.ProcessingCompletedAt, k.ExpiresAt <= clock_timestamp()
	FROM dms.IdempotencyKeys AS k
	WHERE ($1 IS NULL OR k.Route = $1) AND ($2 IS NULL OR k.CreatedAt >= $2)
	  AND ($3 IS NULL OR k.CreatedAt < $3) AND ($4 IS NULL OR k.StatusCode = $4)
	ORDER BY k.CreatedAt DESC, k.Id DESC
	LIMIT $6 OFFSET $5::bigint * $6;
END
$$;
COMMENT ON FUNCTION dms.idempotency_keys(text, timestamptz, timestamptz, integer, integer, integer) IS
'the idempotency keys of a route, a period and a status (102: open requests), newest first; pages are numbered from 0';

-- ---------------------------------------------------------------------------
-- Beginning and ending histories.
-- ---------------------------------------------------------------------------

CREATE FUNCTION dms_internal.write_baseline(project text, resource text, after bigint, wait boolean,
	OUT written bigint, OUT last bigint)
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_write_baseline';
COMMENT ON FUNCTION dms_internal.write_baseline(text, text, bigint, boolean) IS
'a step of dms.baseline_history(): writes versions of some documents after an id, and returns their number and the last id';

-- Documents that others hold are left to the second pass, which waits for them: who
-- holds them may write their versions.  As in dms.process_request(), there can be no SET
-- clause, and names are qualified.
CREATE PROCEDURE dms.baseline_history(project text, resource text, INOUT written bigint DEFAULT 0)
LANGUAGE plpgsql
AS $$
DECLARE
	waits boolean;
	n bigint;
	after bigint;
BEGIN
	written := 0;
	FOREACH waits IN ARRAY ARRAY[false, true] LOOP
		after := 0;
		LOOP
			COMMIT;
			SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
			SELECT b.written, b.last INTO n, after
			FROM dms_internal.write_baseline(project, resource, after, waits) AS b;
			EXIT WHEN after IS NULL;
			written := written OPERATOR(pg_catalog.+) n;
		END LOOP;
	END LOOP;
END
$$;
COMMENT ON PROCEDURE dms.baseline_history(text, text, bigint) IS
'writes a first version of each document of a resource that has none with its etag, in transactions of its own, and returns their number';

CREATE FUNCTION dms.purge_history(max_rows int DEFAULT 10000) RETURNS bigint
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_purge_history';
COMMENT ON FUNCTION dms.purge_history(int) IS
'deletes versions that the options retainVersions and retainFor of their resources do not retain, at most so many, and returns how many there were; call it until it returns 0';

CREATE FUNCTION dms.erase_history(document_uuid uuid) RETURNS bigint
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_erase_history';
COMMENT ON FUNCTION dms.erase_history(uuid) IS
'deletes all versions of a document but the current one, and all of a document that was deleted; returns how many there were';

-- ---------------------------------------------------------------------------
-- Jobs.
-- ---------------------------------------------------------------------------

CREATE FUNCTION dms.enqueue_job(queue text, kind text, payload jsonb, run_at timestamptz DEFAULT NULL,
	max_attempts int DEFAULT NULL) RETURNS bigint
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_enqueue_job';
COMMENT ON FUNCTION dms.enqueue_job(text, text, jsonb, timestamptz, int) IS
'adds a job to a queue, and returns its id; others see it when the transaction has committed';

CREATE FUNCTION dms.claim_jobs(queue text, max_jobs int DEFAULT 100, lease interval DEFAULT NULL)
RETURNS TABLE (job_id bigint, lease uuid, kind text, payload jsonb, attempt int)
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_claim_jobs';
COMMENT ON FUNCTION dms.claim_jobs(text, int, interval) IS
'claims jobs of a queue that are due, without waiting for others who do so; commit, run them, and call dms.complete_jobs() or dms.fail_job() before the lease ends';

CREATE FUNCTION dms.complete_jobs(job_ids bigint[], lease uuid) RETURNS bigint
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_complete_jobs';
COMMENT ON FUNCTION dms.complete_jobs(bigint[], uuid) IS
'deletes jobs that were done, and returns how many of them nobody else has claimed meanwhile';

CREATE FUNCTION dms.fail_job(job_id bigint, lease uuid, error text, retry_at timestamptz DEFAULT NULL) RETURNS text
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_fail_job';
COMMENT ON FUNCTION dms.fail_job(bigint, uuid, text, timestamptz) IS
'notes that a job has failed, and returns retry (it is due again later), dead (it was the last attempt), or lost (somebody else has claimed it meanwhile)';

CREATE FUNCTION dms.release_jobs(job_ids bigint[], lease uuid, pause interval DEFAULT '5 s') RETURNS bigint
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_release_jobs';
COMMENT ON FUNCTION dms.release_jobs(bigint[], uuid, interval) IS
'gives jobs back that could not be tried: they are due again after a pause, and the attempt does not count; returns how many nobody else has claimed meanwhile';

CREATE FUNCTION dms.retry_jobs(job_ids bigint[] DEFAULT NULL) RETURNS bigint
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_retry_jobs';
COMMENT ON FUNCTION dms.retry_jobs(bigint[]) IS
'puts dead jobs back, with all attempts; without ids, all of them; returns how many there were';

CREATE FUNCTION dms.run_claimed_jobs(job_ids bigint[], lease uuid) RETURNS bigint
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_run_claimed_jobs';
COMMENT ON FUNCTION dms.run_claimed_jobs(bigint[], uuid) IS
'runs jobs of the queue dms that were claimed, completes or fails each of them, and returns how many have succeeded';

CREATE FUNCTION dms.job_stats()
RETURNS TABLE (queue text, due bigint, waiting bigint, leased bigint, dead bigint, oldest_due interval)
LANGUAGE C STABLE STRICT PARALLEL UNSAFE ROWS 10
AS 'MODULE_PATHNAME', 'dms_job_stats';
COMMENT ON FUNCTION dms.job_stats() IS
'the jobs of each queue that are due, that wait for their time, that workers hold, and that have died; and how long the oldest one is due';

CREATE FUNCTION dms_internal.job_poll() RETURNS double precision
LANGUAGE C STABLE STRICT PARALLEL SAFE
AS 'MODULE_PATHNAME', 'dms_job_poll';
COMMENT ON FUNCTION dms_internal.job_poll() IS
'how long dms.run_jobs() waits if there is nothing to do, in seconds';

-- Claiming and running are two transactions: so a job that kills the session has used
-- up an attempt.  As in dms.process_request(), there can be no SET clause, and names are
-- qualified.
CREATE PROCEDURE dms.run_jobs(max_time interval DEFAULT NULL, INOUT done bigint DEFAULT 0)
LANGUAGE plpgsql
AS $$
DECLARE
	ends CONSTANT pg_catalog.timestamptz := pg_catalog.clock_timestamp() OPERATOR(pg_catalog.+) max_time;
	ids bigint[];
	leases pg_catalog.uuid[];
	n bigint;
BEGIN
	done := 0;
	LOOP
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
		SELECT pg_catalog.array_agg(j.job_id), pg_catalog.array_agg(j.lease) INTO ids, leases
		FROM dms.claim_jobs('dms', 50) AS j;
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
		IF ids IS NOT NULL THEN
			SELECT dms.run_claimed_jobs(ids, leases[1]) INTO n;
			done := done OPERATOR(pg_catalog.+) n;
		ELSIF pg_catalog.clock_timestamp() OPERATOR(pg_catalog.<) ends THEN
			PERFORM pg_catalog.pg_sleep(LEAST(dms_internal.job_poll(),
				EXTRACT(epoch FROM ends OPERATOR(pg_catalog.-) pg_catalog.clock_timestamp())::pg_catalog.float8));
		END IF;
		EXIT WHEN (ids IS NULL AND ends IS NULL) OR pg_catalog.clock_timestamp() OPERATOR(pg_catalog.>=) ends;
	END LOOP;
	COMMIT;
END
$$;
COMMENT ON PROCEDURE dms.run_jobs(interval, bigint) IS
'runs the jobs of the queue dms that are due, in transactions of its own, and returns how many have succeeded; with max_time it waits for more until then';

-- ---------------------------------------------------------------------------
-- The cache of documents, and background workers.
-- ---------------------------------------------------------------------------

CREATE FUNCTION dms.set_cache_mode(mode text) RETURNS void
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_set_cache_mode';
COMMENT ON FUNCTION dms.set_cache_mode(text) IS
'says who writes dms.DocumentCache: off, eventual (the projector), write_through (also the writer of a document) or strict (also for all documents that change with it)';

CREATE FUNCTION dms.clear_cache() RETURNS void
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_clear_cache';
COMMENT ON FUNCTION dms.clear_cache() IS 'deletes all rows of dms.DocumentCache, if the cache is off';

CREATE FUNCTION dms.rebuild_cache() RETURNS bigint
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_rebuild_cache';
COMMENT ON FUNCTION dms.rebuild_cache() IS
'lets the projector write all rows of dms.DocumentCache again, and returns an estimate of their number';

CREATE FUNCTION dms_internal.project_some(OUT projected bigint, OUT more boolean, OUT busy boolean, OUT pause int)
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_project_some';
COMMENT ON FUNCTION dms_internal.project_some() IS
'a step of dms.project_documents(): the number of documents, whether there are more, whether another projector is at work, and for how many milliseconds to rest';

-- As in dms.process_request(), there can be no SET clause, and names are qualified.
CREATE PROCEDURE dms.project_documents(max_seconds int DEFAULT 60, INOUT projected bigint DEFAULT 0)
LANGUAGE plpgsql
AS $$
DECLARE
	until CONSTANT pg_catalog.timestamptz := pg_catalog.clock_timestamp()
		OPERATOR(pg_catalog.+) pg_catalog.make_interval(secs => max_seconds);
	step record;
	page bigint := 0;
BEGIN
	projected := 0;
	LOOP
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
		SELECT s.projected, s.more, s.busy, s.pause INTO step FROM dms_internal.project_some() AS s;
		projected := projected OPERATOR(pg_catalog.+) step.projected;
		IF step.busy THEN
			RAISE NOTICE 'another session projects documents';
		END IF;
		EXIT WHEN step.busy OR NOT step.more OR pg_catalog.clock_timestamp() OPERATOR(pg_catalog.>=) until;
		IF step.pause OPERATOR(pg_catalog.>) 0 THEN
			COMMIT;
			PERFORM pg_catalog.pg_sleep(step.pause OPERATOR(pg_catalog./) 1000.0);
		END IF;
	END LOOP;
	LOOP
		COMMIT;
		SET TRANSACTION ISOLATION LEVEL READ COMMITTED;
		page := dms_internal.compact_some(page);
		EXIT WHEN page IS NULL OR pg_catalog.clock_timestamp() OPERATOR(pg_catalog.>=) until;
	END LOOP;
END
$$;
COMMENT ON PROCEDURE dms.project_documents(int, bigint) IS
'brings dms.DocumentCache up to date, in transactions of its own, and returns how many documents it took; then compacts the journal of changes if that is worthwhile; for servers without background workers';

CREATE FUNCTION dms.wait_until_projected(timeout interval DEFAULT '30s') RETURNS boolean
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_wait_until_projected';
COMMENT ON FUNCTION dms.wait_until_projected(interval) IS
'waits until all that is committed now is in dms.DocumentCache; false if that took too long';

CREATE FUNCTION dms.projection_status()
RETURNS TABLE (mode text, pending bigint, oldest_pending timestamptz, delivered bigint, failures bigint,
	rebuild_done bigint, rebuild_total bigint, rebuild_eta interval, last_pass timestamptz, last_error text, progress text)
LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	PERFORM dms_internal.require_store();
	RETURN QUERY
	SELECT s.CacheMode::text, p.pending, p.oldest, c.Documents, f.failures, r.Documents,
		greatest(r.Expected, r.Documents), t.eta, c.UpdatedAt, f.message,
		CASE WHEN r.FinishedAt IS NULL AND r.StartedAt IS NOT NULL
			THEN format('%s of %s documents, %s a second, %s left', r.Documents, greatest(r.Expected, r.Documents),
				coalesce(round(t.rate)::text, '?'), coalesce(to_char(t.eta, 'HH24:MI:SS'), '?')) END
	FROM dms.Store AS s
	LEFT JOIN dms.ChangeConsumer AS c ON c.Name = 'cache'
	LEFT JOIN dms.CacheRebuild AS r ON true
	CROSS JOIN LATERAL (
		SELECT v.rate, CASE WHEN v.rate > 0 THEN make_interval(secs => greatest(r.Expected - r.Documents, 0) / v.rate) END
		FROM (SELECT CASE WHEN r.FinishedAt IS NULL
			THEN r.Documents / nullif(extract(epoch FROM clock_timestamp() - r.StartedAt), 0)::double precision END) AS v (rate)
		) AS t (rate, eta)
	CROSS JOIN LATERAL (
		SELECT count(*), min(w.LastModifiedAt)
		FROM (
			SELECT d.LastModifiedAt
			FROM dms.ResourceType AS t
			CROSS JOIN LATERAL (
				SELECT j.DocumentId, j.Etag FROM dms.DocumentChange AS j
				WHERE j.ResourceTypeId = t.ResourceTypeId AND j.ChangeVersion >= split_part(c.Cursor, '.', 3)::bigint) AS j
			JOIN dms.Document AS d ON d.DocumentId = j.DocumentId AND d.Etag = j.Etag
			WHERE NOT EXISTS (SELECT FROM dms.DocumentCache AS k WHERE k.DocumentId = d.DocumentId AND k.Etag = d.Etag)
			  AND NOT EXISTS (SELECT FROM dms.ProjectionFailure AS u
				WHERE u.Consumer = 'cache' AND u.DocumentId = d.DocumentId AND u.Etag = d.Etag)
			LIMIT 100000) AS w
		WHERE s.CacheMode <> 'off') AS p (pending, oldest)
	CROSS JOIN LATERAL (
		SELECT count(*), min(u.SqlState || ': ' || u.Message) FROM dms.ProjectionFailure AS u WHERE u.Consumer = 'cache') AS f (failures, message);
END
$$;
COMMENT ON FUNCTION dms.projection_status() IS
'how far dms.DocumentCache is behind (up to 100,000 documents are counted), what failed, and how far a rebuild is';

CREATE FUNCTION dms.publish_documents(publication name DEFAULT 'dms_documents') RETURNS void
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_publish_documents';
COMMENT ON FUNCTION dms.publish_documents(name) IS
'creates a publication of dms.DocumentCache for change data capture: inserts, updates and deletes, by the ids of documents';

CREATE FUNCTION dms.unpublish_documents(publication name DEFAULT 'dms_documents') RETURNS void
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_unpublish_documents';
COMMENT ON FUNCTION dms.unpublish_documents(name) IS
'drops a publication of dms.publish_documents()';

CREATE FUNCTION dms.republish_documents(document_uuids uuid[]) RETURNS SETOF uuid
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_republish_documents';
COMMENT ON FUNCTION dms.republish_documents(uuid[]) IS
'writes the rows of these documents in dms.DocumentCache again, so that consumers get them again, and returns those that do not exist';

CREATE FUNCTION dms.worker_status()
RETURNS TABLE (database name, pid int, state text, last_visit timestamptz, next_visit timestamptz, failures int,
	last_error text)
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dms_worker_status';
COMMENT ON FUNCTION dms.worker_status() IS
'what background workers do and did in this database; members of pg_read_all_stats see all databases';

-- Nothing here waits for a lock: sizes of tables that are locked are those of their last
-- VACUUM.  Only a library that was preloaded has the setting dms.max_workers.
CREATE FUNCTION dms.status()
RETURNS TABLE (version text, store_version text, instance_id uuid, owner name, projects text, schema_hash text,
	deployed_at timestamptz, size bigint, documents bigint, change_tracking boolean, changes bigint, cache_mode text,
	publications text, worker text, worker_pid int, worker_error text, oldest_transaction timestamptz, oldest_pid int, gate text, gate_pid int)
LANGUAGE plpgsql VOLATILE PARALLEL RESTRICTED SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	document CONSTANT regclass := to_regclass('dms.document');
	here CONSTANT oid := (SELECT d.oid FROM pg_database AS d WHERE d.datname = current_database());
BEGIN
	version := (SELECT e.extversion FROM pg_extension AS e WHERE e.extname = 'dms');

	worker := 'not preloaded';
	IF EXISTS (SELECT FROM pg_settings AS s WHERE s.name = 'dms.max_workers' AND s.context = 'postmaster') THEN
		SELECT w.state, w.pid, w.last_error INTO worker, worker_pid, worker_error
		FROM dms.worker_status() AS w WHERE w.database = current_database();
		worker := coalesce(worker, 'not served');
	END IF;

	SELECT t.since, t.pid INTO oldest_transaction, oldest_pid
	FROM (SELECT a.xact_start AS since, a.pid FROM pg_stat_activity AS a
			WHERE a.datid = here AND a.pid <> pg_backend_pid() AND a.backend_type <> 'autovacuum worker'
		UNION ALL SELECT p.prepared, NULL FROM pg_prepared_xacts AS p WHERE p.database = current_database()) AS t
	WHERE t.since IS NOT NULL
	ORDER BY t.since, t.pid LIMIT 1;

	IF document IS NOT NULL THEN
		PERFORM dms_internal.require_store();
		SELECT s.StoreVersion, s.InstanceId, s.ChangeTracking, s.CacheMode
		INTO store_version, instance_id, change_tracking, cache_mode FROM dms.Store AS s;
		SELECT e.EffectiveSchemaHash, e.AppliedAt,
			(SELECT string_agg(c.ProjectName || ' ' || c.ProjectVersion, ', ' ORDER BY c.IsExtensionProject, c.ProjectName)
			FROM dms.SchemaComponent AS c WHERE c.EffectiveSchemaId = e.EffectiveSchemaId)
		INTO schema_hash, deployed_at, projects
		FROM dms.EffectiveSchema AS e ORDER BY e.EffectiveSchemaId DESC LIMIT 1;
		SELECT pg_get_userbyid(c.relowner), greatest(c.reltuples, 0) INTO owner, documents FROM pg_class AS c WHERE c.oid = document;
		SELECT string_agg(p.pubname, ', ' ORDER BY p.pubname) INTO publications
		FROM pg_publication_rel AS r JOIN pg_publication AS p ON p.oid = r.prpubid WHERE r.prrelid = 'dms.documentcache'::regclass;
		SELECT greatest(c.reltuples, 0) INTO changes FROM pg_class AS c WHERE c.oid = 'dms.documentchange'::regclass;
		SELECT sum(CASE WHEN l.relation IS NULL THEN pg_total_relation_size(c.oid)
			ELSE c.relpages * current_setting('block_size')::bigint END)
		INTO size
		FROM pg_class AS c
		LEFT JOIN (SELECT DISTINCT l.relation FROM pg_locks AS l
			WHERE l.database = here AND l.mode = 'AccessExclusiveLock') AS l ON l.relation = c.oid
		WHERE c.relkind = 'r' AND c.relowner = (SELECT o.relowner FROM pg_class AS o WHERE o.oid = document)
		  AND c.relnamespace IN (
			SELECT n.relnamespace FROM pg_class AS n WHERE n.oid = document
			UNION SELECT n.relnamespace FROM pg_constraint AS f JOIN pg_class AS n ON n.oid = f.conrelid
			WHERE f.contype = 'f' AND f.confrelid = document);

		SELECT CASE WHEN l.granted THEN 'closed' WHEN NOT l.granted THEN 'closing' ELSE 'open' END, l.pid INTO gate, gate_pid
		FROM (SELECT true) AS always LEFT JOIN pg_locks AS l ON l.database = here
			AND l.relation = 'dms.store'::regclass AND l.mode IN ('ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
		ORDER BY l.granted DESC, l.pid LIMIT 1;
	END IF;
	RETURN NEXT;
END
$$;
COMMENT ON FUNCTION dms.status() IS
'one row for operators: extension, store, schema, sizes, the background worker, the oldest transaction, and whether writers are kept out by a deploy';

CREATE FUNCTION dms_internal.report_progress(message text) RETURNS void
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL RESTRICTED
AS 'MODULE_PATHNAME', 'dms_report_progress';
COMMENT ON FUNCTION dms_internal.report_progress(text) IS
'shows a message in pg_stat_activity until the next one or the end of the query; NULL shows the query again';

-- ---------------------------------------------------------------------------
-- Checking the store.  The audit reads the stored models and the tables and
-- shares no code with the write path, so that it can find errors of the latter.
-- ---------------------------------------------------------------------------

CREATE FUNCTION dms_internal.stored_identities(project text, resource text)
RETURNS TABLE (document_id bigint, referential_id uuid, superclass_referential_id uuid,
	identity_values text[])
LANGUAGE C STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_stored_identities';
COMMENT ON FUNCTION dms_internal.stored_identities(text, text) IS
'the identities of all documents of a resource, recomputed from their rows';

CREATE FUNCTION dms_internal.stored_identities(project text, resource text, document_ids bigint[])
RETURNS TABLE (document_id bigint, referential_id uuid, superclass_referential_id uuid,
	identity_values text[])
LANGUAGE C STABLE STRICT PARALLEL UNSAFE
AS 'MODULE_PATHNAME', 'dms_stored_identities';
COMMENT ON FUNCTION dms_internal.stored_identities(text, text, bigint[]) IS
'the identities of these documents of a resource, recomputed from their rows';

CREATE TYPE dms_internal.audit_finding AS (
	kind text,
	document_id bigint,
	document_uuid uuid,
	edge_source_key text,
	expected text,
	found text
);
COMMENT ON TYPE dms_internal.audit_finding IS
'a contradiction between rows of the store';

CREATE FUNCTION dms_internal.audit_scope(project text, resource text, document_uuid uuid)
RETURNS TABLE (project_name text, resource_name text, document_id bigint)
LANGUAGE C STABLE CALLED ON NULL INPUT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'dms_audit_scope';
COMMENT ON FUNCTION dms_internal.audit_scope(text, text, uuid) IS
'the resources with a name or endpoint name (in any case; NULL: all; an abstract resource: its subclasses), and the document if only one is to be audited';

-- Descriptors of all types share a table, so those of one are selected by type.
CREATE FUNCTION dms_internal.audit_rows(model jsonb, only_document bigint) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
SELECT format('SELECT r.documentid FROM %I.%I AS r WHERE true',
		model #>> '{tables,0,schema}', model #>> '{tables,0,name}')
	|| CASE WHEN model ->> 'kind' = '1'
		THEN format(' AND r.discriminator = %L', (model ->> 'project') || ':' || (model ->> 'resource'))
		ELSE '' END
	|| CASE WHEN only_document IS NULL THEN '' ELSE format(' AND r.documentid = %L', only_document) END
$$;
COMMENT ON FUNCTION dms_internal.audit_rows(jsonb, bigint) IS
'the query that reads the documents of a resource from its root table';

CREATE FUNCTION dms_internal.audit_references(model jsonb, only_document bigint) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
WITH per_table AS (
	SELECT t, string_agg(format('(t.%I, %L::bigint, %L::boolean)', c ->> 'name',
			r ->> 'edge_source_id', COALESCE(r ->> 'identity', 'false')), ', ') AS columns
	FROM jsonb_array_elements(model -> 'tables') AS t
	CROSS JOIN LATERAL jsonb_array_elements(t -> 'columns') AS c
	CROSS JOIN LATERAL (SELECT model -> 'references' -> (c ->> 'reference')::integer) AS named (r)
	WHERE r IS NOT NULL
	GROUP BY t
)
SELECT COALESCE(string_agg(
		format('SELECT DISTINCT t.%1$I AS parent, v.child, v.source, v.component'
			' FROM %2$I.%3$I AS t CROSS JOIN LATERAL (VALUES %4$s) AS v (child, source, component)'
			' WHERE v.child IS NOT NULL',
			t #>> '{columns,0,name}', t ->> 'schema', t ->> 'name', columns)
		|| CASE WHEN only_document IS NULL THEN ''
			ELSE format(' AND t.%I = %L', t #>> '{columns,0,name}', only_document) END,
		' UNION ALL '),
	'SELECT NULL::bigint AS parent, NULL::bigint AS child, NULL::bigint AS source, NULL::boolean AS component WHERE false')
FROM per_table
$$;
COMMENT ON FUNCTION dms_internal.audit_references(jsonb, bigint) IS
'the query that reads the references of a resource''s documents from its foreign key columns';

CREATE FUNCTION dms_internal.audit_edges(model jsonb, only_document bigint) RETURNS SETOF dms_internal.audit_finding
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY
	SELECT 'edge_source_wrong', NULL::bigint, NULL::uuid, r ->> 'edge_source_key',
		format('%s as %s', r ->> 'edge_source_key', r ->> 'edge_source_id'),
		k.EdgeSourceKey::text
	FROM jsonb_array_elements(model -> 'references') AS r
	LEFT JOIN dms.EdgeSource AS k ON k.EdgeSourceId = (r ->> 'edge_source_id')::bigint
	WHERE k.EdgeSourceKey IS DISTINCT FROM r ->> 'edge_source_key';

	RETURN QUERY EXECUTE format($query$
		WITH wanted AS (%s),
		stored AS (
			SELECT e.ParentDocumentId AS parent, e.ChildDocumentId AS child,
				e.EdgeSourceId AS source, e.IsIdentityComponent AS component
			FROM (%s) AS r JOIN dms.ReferenceEdge AS e ON e.ParentDocumentId = r.documentid
		)
		SELECT CASE WHEN s.parent IS NULL THEN 'edge_missing'
				WHEN w.parent IS NOT NULL THEN 'edge_flag'
				WHEN k.EdgeSourceId IS NULL THEN 'edge_source_unknown'
				ELSE 'edge_surplus' END,
			COALESCE(w.parent, s.parent),
			(SELECT d.DocumentUuid FROM dms.Document AS d WHERE d.DocumentId = COALESCE(w.parent, s.parent)),
			COALESCE(k.EdgeSourceKey::text, COALESCE(w.source, s.source)::text),
			'document ' || w.child || CASE WHEN w.component THEN ', identity component' ELSE '' END,
			'document ' || s.child || CASE WHEN s.component THEN ', identity component' ELSE '' END
		FROM wanted AS w
		FULL JOIN stored AS s ON (s.parent, s.source, s.child) = (w.parent, w.source, w.child)
		LEFT JOIN dms.EdgeSource AS k ON k.EdgeSourceId = COALESCE(w.source, s.source)
		WHERE w.component IS DISTINCT FROM s.component$query$,
		dms_internal.audit_references(model, only_document), dms_internal.audit_rows(model, only_document));
END
$$;
COMMENT ON FUNCTION dms_internal.audit_edges(jsonb, bigint) IS
'compares the reference edges of a resource''s documents with the foreign key columns, and returns the differences';

-- Foreign keys of descriptors lead to a table of all types.  The others let no document of a
-- wrong type pass, but can be switched off.
CREATE FUNCTION dms_internal.audit_targets(model jsonb, only_document bigint) RETURNS SETOF dms_internal.audit_finding
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY EXECUTE format($query$
		WITH place AS (
			SELECT (r ->> 'edge_source_id')::bigint AS source, r ->> 'edge_source_key' AS key,
				r ->> 'project' AS project, r ->> 'resource' AS resource
			FROM jsonb_array_elements($1) AS r
		),
		allowed AS MATERIALIZED (
			SELECT p.source, m.ProjectName, m.ResourceName
			FROM place AS p
			JOIN dms.ResourceModel AS t ON (t.ProjectName, t.ResourceName) = (p.project, p.resource)
			JOIN dms.ResourceModel AS m ON m.Kind <> 'abstract'
				AND (t.Kind = 'abstract' AND (m.MemberSchema, m.MemberTable) = (t.MemberSchema, t.MemberTable)
					OR (m.ProjectName, m.ResourceName) = (t.ProjectName, t.ResourceName))
		)
		SELECT 'reference_type', w.parent,
			(SELECT d.DocumentUuid FROM dms.Document AS d WHERE d.DocumentId = w.parent),
			p.key, p.project || ':' || p.resource,
			format('document %%s, %%s:%%s', w.child, c.ProjectName, c.ResourceName)
		FROM (%s) AS w
		JOIN dms.Document AS c ON c.DocumentId = w.child
		JOIN place AS p ON p.source = w.source
		WHERE NOT EXISTS (SELECT FROM allowed AS a
			WHERE (a.source, a.ProjectName, a.ResourceName) = (w.source, c.ProjectName, c.ResourceName))$query$,
		dms_internal.audit_references(model, only_document))
	USING model -> 'references';
END
$$;
COMMENT ON FUNCTION dms_internal.audit_targets(jsonb, bigint) IS
'references of a resource''s documents to documents of a type that the schema does not allow there';

CREATE FUNCTION dms_internal.audit_identities(model jsonb, only_document bigint) RETURNS SETOF dms_internal.audit_finding
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY EXECUTE format($query$
		WITH computed AS MATERIALIZED (SELECT * FROM dms_internal.stored_identities(%s)),
		wanted AS (
			SELECT document_id, $1 AS project, $2 AS resource, referential_id, identity_values
			FROM computed
			UNION ALL
			SELECT document_id, $3, $4, superclass_referential_id, identity_values
			FROM computed WHERE $4 IS NOT NULL
		),
		stored AS (
			SELECT i.* FROM (%s) AS r JOIN dms.ReferentialIdentity AS i ON i.DocumentId = r.documentid
		)
		SELECT CASE WHEN w.document_id IS NULL THEN 'identity_surplus'
				WHEN w.referential_id IS NULL THEN 'identity_incomplete'
				WHEN s.DocumentId IS NULL THEN 'identity_missing'
				ELSE 'identity_wrong' END,
			COALESCE(w.document_id, s.DocumentId),
			(SELECT d.DocumentUuid FROM dms.Document AS d
				WHERE d.DocumentId = COALESCE(w.document_id, s.DocumentId)),
			NULL::text,
			CASE WHEN w.document_id IS NOT NULL THEN
				concat_ws(' ', w.project || ':' || w.resource, w.referential_id, w.identity_values) END,
			s.ProjectName || ':' || s.ResourceName || ' ' || s.ReferentialId
		FROM wanted AS w
		FULL JOIN stored AS s
			ON (s.DocumentId, s.ProjectName, s.ResourceName) = (w.document_id, w.project, w.resource)
		WHERE w.referential_id IS DISTINCT FROM s.ReferentialId
		   OR w.referential_id IS NULL$query$,
		CASE WHEN only_document IS NULL THEN '$1, $2'
			ELSE format('$1, $2, ARRAY[%s]::bigint[]', only_document) END,
		dms_internal.audit_rows(model, only_document))
	USING model ->> 'project', model ->> 'resource',
		model ->> 'superclass_project', model ->> 'superclass_resource';
END
$$;
COMMENT ON FUNCTION dms_internal.audit_identities(jsonb, bigint) IS
'compares the ReferentialIds of a resource''s documents with the identities computed from the stored rows, and returns the differences';

-- One pass counts the rows that belong together.  Only if the numbers differ are
-- the rows themselves searched for.
-- Sessions compute the number by ResourceTypeId() in src/model/.
CREATE FUNCTION dms_internal.resource_type_id(project text, resource text) RETURNS integer
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
SELECT ('x' || left(encode(sha256(convert_to(project || ':' || resource, 'UTF8')), 'hex'), 8))::bit(32)::integer
$$;
COMMENT ON FUNCTION dms_internal.resource_type_id(text, text) IS
'the number of a resource: the first 4 bytes of the SHA-256 of its names';

CREATE FUNCTION dms_internal.audit_documents(model jsonb, only_document bigint, documents bigint)
RETURNS SETOF dms_internal.audit_finding
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	project CONSTANT text := model ->> 'project';
	resource CONSTANT text := model ->> 'resource';
	root CONSTANT text := dms_internal.audit_rows(model, only_document);
	is_descriptor CONSTANT boolean := model ->> 'kind' = '1';
	rows_there bigint;
	rows_right bigint;
	locks bigint;
BEGIN
	RETURN QUERY
	SELECT 'resource_type_wrong', NULL::bigint, NULL::uuid, NULL::text,
		format('%s:%s as %s', project, resource, w.id), t.ProjectName || ':' || t.ResourceName
	FROM (SELECT dms_internal.resource_type_id(project, resource) AS id) AS w
	LEFT JOIN dms.ResourceType AS t ON t.ResourceTypeId = w.id
	WHERE (t.ProjectName, t.ResourceName) IS DISTINCT FROM (project, resource);

	EXECUTE format($query$
		SELECT count(*), count(*) FILTER (WHERE d.ProjectName = $1 AND d.ResourceName = $2), count(l.DocumentId)
		FROM (%s) AS r
		LEFT JOIN dms.Document AS d ON d.DocumentId = r.documentid
		LEFT JOIN dms.IdentityLock AS l ON l.DocumentId = r.documentid$query$, root)
	INTO rows_there, rows_right, locks USING project, resource;

	IF rows_right < rows_there OR locks < rows_there THEN
		RETURN QUERY EXECUTE format($query$
			SELECT CASE WHEN d.DocumentId IS NULL THEN 'row_without_document' ELSE 'document_type' END,
				r.documentid, d.DocumentUuid, NULL::text, $1, d.ProjectName || ':' || d.ResourceName
			FROM (%1$s) AS r LEFT JOIN dms.Document AS d ON d.DocumentId = r.documentid
			WHERE d.ProjectName || ':' || d.ResourceName IS DISTINCT FROM $1
			  AND (d.DocumentId IS NULL OR NOT $2
				OR NOT EXISTS (SELECT FROM dms.ResourceModel AS m
					WHERE (m.ProjectName, m.ResourceName) = (d.ProjectName, d.ResourceName) AND m.Kind = 'descriptor')
				OR EXISTS (SELECT FROM dms.ReferentialIdentity AS i
					WHERE i.DocumentId = r.documentid AND i.ProjectName || ':' || i.ResourceName = $1))
			UNION ALL
			SELECT 'lock_missing', d.DocumentId, d.DocumentUuid, NULL, 'lock row', NULL
			FROM (%1$s) AS r JOIN dms.Document AS d ON d.DocumentId = r.documentid
			LEFT JOIN dms.IdentityLock AS l ON l.DocumentId = d.DocumentId
			WHERE l.DocumentId IS NULL$query$, root) USING project || ':' || resource, is_descriptor;
	END IF;
	IF rows_right < documents THEN
		RETURN QUERY EXECUTE format($query$
			SELECT 'document_without_row', d.DocumentId, d.DocumentUuid, NULL::text, $1, NULL::text
			FROM dms.Document AS d
			WHERE d.ProjectName = $2 AND d.ResourceName = $3 AND ($4 IS NULL OR d.DocumentId = $4)
			  AND NOT EXISTS (SELECT FROM (%s) AS r WHERE r.documentid = d.DocumentId)
			  AND NOT ($5 AND EXISTS (SELECT FROM dms.Descriptor AS s WHERE s.DocumentId = d.DocumentId))$query$, root)
		USING format('row in %I.%I', model #>> '{tables,0,schema}', model #>> '{tables,0,name}'),
			project, resource, only_document, is_descriptor;
	END IF;
END
$$;
COMMENT ON FUNCTION dms_internal.audit_documents(jsonb, bigint, bigint) IS
'the number of a resource if it is not recorded, and root rows, documents and lock rows of the resource that do not correspond; documents is their number in dms.Document';

-- The type of a descriptor is in its row, in its document and in its ReferentialId.  If one
-- of them differs, the other two are right: so either this is found here, or a document
-- of another type by audit_documents().
CREATE FUNCTION dms_internal.audit_descriptors(types text[], only_document bigint) RETURNS SETOF dms_internal.audit_finding
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY
	SELECT 'descriptor_uri', s.DocumentId,
		(SELECT d.DocumentUuid FROM dms.Document AS d WHERE d.DocumentId = s.DocumentId), NULL::text,
		s.Namespace || '#' || s.CodeValue, s.Uri::text
	FROM dms.Descriptor AS s
	WHERE s.Uri <> s.Namespace || '#' || s.CodeValue
	  AND (types IS NULL OR s.Discriminator = ANY (types))
	  AND (only_document IS NULL OR s.DocumentId = only_document);

	RETURN QUERY
	SELECT 'descriptor_type', s.DocumentId, d.DocumentUuid, NULL::text, d.ProjectName || ':' || d.ResourceName,
		s.Discriminator::text
	FROM dms.Descriptor AS s
	JOIN dms.Document AS d ON d.DocumentId = s.DocumentId
	JOIN dms.ResourceModel AS m ON (m.ProjectName, m.ResourceName) = (d.ProjectName, d.ResourceName)
	WHERE m.Kind = 'descriptor' AND s.Discriminator <> d.ProjectName || ':' || d.ResourceName
	  AND NOT EXISTS (SELECT FROM dms.ReferentialIdentity AS i
		WHERE i.DocumentId = s.DocumentId AND i.ProjectName || ':' || i.ResourceName = s.Discriminator)
	  AND (types IS NULL OR s.Discriminator = ANY (types) OR d.ProjectName || ':' || d.ResourceName = ANY (types))
	  AND (only_document IS NULL OR s.DocumentId = only_document);
END
$$;
COMMENT ON FUNCTION dms_internal.audit_descriptors(text[], bigint) IS
'descriptors of these types whose URI does not consist of their namespace and code value, or whose row has another type than the document and its ReferentialId';

CREATE FUNCTION dms_internal.audit_members(types text[], only_document bigint) RETURNS SETOF dms_internal.audit_finding
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	abstract record;
BEGIN
	FOR abstract IN
		SELECT format('%I.%I', m.TableSchema, m.TableName) AS view_name,
			format('%I.%I', m.MemberSchema, m.MemberTable) AS member_name
		FROM dms.ResourceModel AS m WHERE m.Kind = 'abstract'
		ORDER BY m.ProjectName, m.ResourceName
	LOOP
		RETURN QUERY EXECUTE format($query$
			WITH member AS (SELECT m.* FROM %2$s AS m WHERE $2 IS NULL OR m.documentid = $2),
			subclass AS (SELECT v.documentid, v.discriminator FROM %1$s AS v WHERE $2 IS NULL OR v.documentid = $2)
			SELECT CASE WHEN m.documentid IS NULL THEN 'member_missing'
					WHEN v.documentid IS NULL THEN 'member_surplus'
					ELSE 'member_wrong' END,
				COALESCE(v.documentid, m.documentid),
				(SELECT d.DocumentUuid FROM dms.Document AS d
					WHERE d.DocumentId = COALESCE(v.documentid, m.documentid)),
				NULL::text, v.discriminator || %3$L, m.discriminator || %3$L
			FROM subclass AS v FULL JOIN member AS m ON m.documentid = v.documentid
			WHERE v.discriminator IS DISTINCT FROM m.discriminator
			  AND ($1 IS NULL OR COALESCE(v.discriminator, m.discriminator) = ANY ($1))$query$,
			abstract.view_name, abstract.member_name, ' in ' || abstract.member_name) USING types, only_document;
	END LOOP;
END
$$;
COMMENT ON FUNCTION dms_internal.audit_members(text[], bigint) IS
'differences between the member tables of abstract resources and their views, for resources of these types';

-- Only resources whose versions are kept are looked at.  A number may be missing before a
-- baseline: the history was switched off for a while.
CREATE FUNCTION dms_internal.audit_history(model jsonb, only_document bigint) RETURNS SETOF dms_internal.audit_finding
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	project CONSTANT text := model ->> 'project';
	resource CONSTANT text := model ->> 'resource';
	type_id CONSTANT integer := dms_internal.resource_type_id(project, resource);
	only_uuid CONSTANT uuid := (SELECT d.DocumentUuid FROM dms.Document AS d WHERE d.DocumentId = only_document);
BEGIN
	IF NOT EXISTS (SELECT FROM dms.ResourceType AS t
		WHERE t.ResourceTypeId = type_id AND t.Options @> '{"history": true}') THEN
		RETURN;
	END IF;

	RETURN QUERY
	SELECT CASE WHEN v.VersionNumber IS NULL THEN 'history_missing' ELSE 'history_wrong' END,
		d.DocumentId, d.DocumentUuid, NULL::text, 'version ' || d.Etag,
		CASE WHEN v.VersionNumber IS NULL THEN NULL
			WHEN v.CreatedAt <> d.LastModifiedAt THEN 'version ' || d.Etag || ' with another time'
			ELSE 'version ' || d.Etag || ' with another text' END
	FROM dms.Document AS d
	LEFT JOIN dms.DocumentVersion AS v ON (v.DocumentUuid, v.VersionNumber) = (d.DocumentUuid, d.Etag)
	WHERE (d.ProjectName, d.ResourceName) = (project, resource) AND (only_document IS NULL OR d.DocumentId = only_document)
	  AND (v.VersionNumber IS NULL OR v.CreatedAt <> d.LastModifiedAt
		OR v.Content::text IS DISTINCT FROM dms.get_document(d.DocumentUuid)::text);

	RETURN QUERY
	SELECT CASE WHEN v.kind NOT IN ('baseline', 'inserted', 'updated', 'cascaded', 'restored', 'deleted')
				OR (v.kind = 'deleted') <> v.empty THEN 'history_wrong'
			WHEN v.created_at < v.time_before THEN 'history_time'
			ELSE 'history_gap' END,
		NULL::bigint, v.uuid, NULL::text, 'version ' || v.number_before + 1,
		'version ' || v.number || ', ' || v.kind
	FROM (SELECT d.DocumentUuid AS uuid, d.VersionNumber AS number, d.Kind AS kind, d.CreatedAt AS created_at,
			d.Content IS NULL AS empty,
			lag(d.VersionNumber) OVER document AS number_before, lag(d.CreatedAt) OVER document AS time_before
		FROM dms.DocumentVersion AS d
		WHERE d.ResourceTypeId = type_id AND (only_document IS NULL OR d.DocumentUuid = only_uuid)
		WINDOW document AS (PARTITION BY d.DocumentUuid ORDER BY d.VersionNumber)) AS v
	WHERE v.created_at < v.time_before OR (v.number <> v.number_before + 1 AND v.kind <> 'baseline')
	   OR v.kind NOT IN ('baseline', 'inserted', 'updated', 'cascaded', 'restored', 'deleted')
	   OR (v.kind = 'deleted') <> v.empty;

	IF only_document IS NULL THEN
		RETURN QUERY
		SELECT 'tombstone_missing', NULL::bigint, v.uuid, NULL::text, v.uuid || '@' || v.number + 1, 'version ' || v.number
		FROM (SELECT DISTINCT ON (n.DocumentUuid) n.DocumentUuid AS uuid, n.VersionNumber AS number, n.Kind AS kind
			FROM dms.DocumentVersion AS n WHERE n.ResourceTypeId = type_id
			ORDER BY n.DocumentUuid, n.VersionNumber DESC) AS v
		WHERE v.kind <> 'deleted' AND NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentUuid = v.uuid);
	END IF;
END
$$;
COMMENT ON FUNCTION dms_internal.audit_history(jsonb, bigint) IS
'versions of documents of a resource that are missing, or contradict the documents or each other, if versions are kept';

CREATE FUNCTION dms_internal.audit_orphans() RETURNS SETOF dms_internal.audit_finding
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY
	SELECT 'identity_without_document', i.DocumentId, NULL::uuid, NULL::text, NULL::text,
		i.ProjectName || ':' || i.ResourceName || ' ' || i.ReferentialId
	FROM dms.ReferentialIdentity AS i
	WHERE NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = i.DocumentId);

	RETURN QUERY
	SELECT 'lock_without_document', l.DocumentId, NULL::uuid, NULL::text, NULL::text, 'lock row'
	FROM dms.IdentityLock AS l
	WHERE NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = l.DocumentId);

	RETURN QUERY
	SELECT 'edge_without_document', e.ParentDocumentId, NULL::uuid,
		COALESCE(k.EdgeSourceKey::text, e.EdgeSourceId::text), NULL::text,
		'document ' || e.ChildDocumentId || CASE WHEN e.IsIdentityComponent THEN ', identity component' ELSE '' END
	FROM dms.ReferenceEdge AS e
	LEFT JOIN dms.EdgeSource AS k ON k.EdgeSourceId = e.EdgeSourceId
	WHERE NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = e.ParentDocumentId);

	RETURN QUERY
	SELECT 'relation_without_document', r.ChildDocumentId, r.ChildUuid, NULL::text, NULL::text,
		'child ' || r.ChildDocumentId || ' of ' || r.ParentDocumentId
	FROM dms.ParentChild AS r
	WHERE NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = r.ChildDocumentId)
	   OR NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = r.ParentDocumentId)
	UNION ALL
	SELECT 'member_without_document', r.CollectionDocumentId, NULL::uuid, NULL, NULL,
		'member ' || r.MemberDocumentId || ' of ' || r.CollectionDocumentId
	FROM dms.CollectionMember AS r
	WHERE NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = r.CollectionDocumentId)
	   OR NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = r.MemberDocumentId)
	UNION ALL
	SELECT 'account_without_document', r.DocumentId, r.DocumentUuid, NULL, NULL,
		'document ' || r.DocumentId || ' of account ' || r.AccountId
	FROM dms.DocumentAccount AS r
	WHERE NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = r.DocumentId)
	   OR NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = r.AccountId)
	UNION ALL
	SELECT 'key_without_document', r.DocumentId, NULL::uuid, NULL, NULL,
		format('%s of %s for document %s', r.Key, r.ResourceType, r.DocumentId)
	FROM dms.UniqueKeyValue AS r
	WHERE r.DocumentId IS NOT NULL
	  AND NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = r.DocumentId);

	RETURN QUERY
	SELECT 'edge_child_unknown', d.DocumentId, d.DocumentUuid,
		COALESCE(k.EdgeSourceKey::text, e.EdgeSourceId::text), 'document ' || e.ChildDocumentId, NULL::text
	FROM dms.ReferenceEdge AS e
	JOIN dms.Document AS d ON d.DocumentId = e.ParentDocumentId
	LEFT JOIN dms.EdgeSource AS k ON k.EdgeSourceId = e.EdgeSourceId
	WHERE NOT EXISTS (SELECT FROM dms.Document AS c WHERE c.DocumentId = e.ChildDocumentId);

	RETURN QUERY
	SELECT 'diff_without_version', NULL::bigint, d.DocumentUuid, NULL::text, d.DocumentUuid || '@' || n.number,
		'diff from version ' || d.OldVersionNumber || ' to ' || d.VersionNumber
	FROM dms.VersionDiff AS d, unnest(ARRAY[d.OldVersionNumber, d.VersionNumber]) AS n (number)
	WHERE NOT EXISTS (SELECT FROM dms.DocumentVersion AS v
		WHERE (v.DocumentUuid, v.VersionNumber) = (d.DocumentUuid, n.number));

	RETURN QUERY
	WITH known AS (
		SELECT m.ProjectName AS project, m.ResourceName AS resource,
			m.ProjectName || ':' || m.ResourceName AS type
		FROM dms.ResourceModel AS m WHERE m.Kind <> 'abstract'
	)
	SELECT 'resource_unknown', d.DocumentId, d.DocumentUuid, NULL::text, NULL::text,
		d.ProjectName || ':' || d.ResourceName
	FROM dms.Document AS d
	WHERE NOT EXISTS (SELECT FROM known AS k WHERE (k.project, k.resource) = (d.ProjectName, d.ResourceName))
	UNION ALL
	SELECT 'resource_unknown', s.DocumentId, NULL, NULL, NULL, 'descriptor ' || s.Discriminator
	FROM dms.Descriptor AS s
	WHERE NOT EXISTS (SELECT FROM known AS k WHERE k.type = s.Discriminator);
END
$$;
COMMENT ON FUNCTION dms_internal.audit_orphans() IS
'rows of core tables that belong to no document, or to no resource';

-- Children that cannot be reached from a document without a parent are in a ring, or
-- below one.
CREATE FUNCTION dms_internal.audit_relations(types text[], only_document bigint) RETURNS SETOF dms_internal.audit_finding
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	RETURN QUERY
	WITH relation (document_id, type_id, uuid, what) AS (
		SELECT r.ChildDocumentId, r.ChildTypeId, r.ChildUuid, 'child of ' || r.ParentDocumentId
		FROM dms.ParentChild AS r WHERE only_document IS NULL OR r.ChildDocumentId = only_document
		UNION ALL
		SELECT r.MemberDocumentId, r.MemberTypeId, r.MemberUuid, 'member of ' || r.CollectionDocumentId
		FROM dms.CollectionMember AS r WHERE only_document IS NULL OR r.MemberDocumentId = only_document
		UNION ALL
		SELECT r.DocumentId, r.ResourceTypeId, r.DocumentUuid, 'document of account ' || r.AccountId
		FROM dms.DocumentAccount AS r WHERE only_document IS NULL OR r.DocumentId = only_document
	)
	SELECT 'relation_wrong', d.DocumentId, d.DocumentUuid, NULL::text,
		format('%s: %s %s', r.what, dms_internal.resource_type_id(d.ProjectName, d.ResourceName), d.DocumentUuid),
		format('%s: %s %s', r.what, r.type_id, r.uuid)
	FROM relation AS r JOIN dms.Document AS d ON d.DocumentId = r.document_id
	WHERE (r.type_id, r.uuid) IS DISTINCT FROM
		(dms_internal.resource_type_id(d.ProjectName, d.ResourceName), d.DocumentUuid)
	  AND (types IS NULL OR d.ProjectName || ':' || d.ResourceName = ANY (types));

	RETURN QUERY
	WITH RECURSIVE reached (id) AS (
		SELECT r.ChildDocumentId FROM dms.ParentChild AS r
		WHERE NOT EXISTS (SELECT FROM dms.ParentChild AS above WHERE above.ChildDocumentId = r.ParentDocumentId)
		UNION ALL
		SELECT r.ChildDocumentId FROM reached AS a JOIN dms.ParentChild AS r ON r.ParentDocumentId = a.id
	)
	SELECT 'parent_cycle', d.DocumentId, d.DocumentUuid, NULL::text, NULL::text, 'child of ' || r.ParentDocumentId
	FROM dms.ParentChild AS r JOIN dms.Document AS d ON d.DocumentId = r.ChildDocumentId
	WHERE NOT EXISTS (SELECT FROM reached AS a WHERE a.id = r.ChildDocumentId)
	  AND (only_document IS NULL OR d.DocumentId = only_document)
	  AND (types IS NULL OR d.ProjectName || ':' || d.ResourceName = ANY (types));
END
$$;
COMMENT ON FUNCTION dms_internal.audit_relations(text[], bigint) IS
'relations of documents of these types whose type or id of a document is wrong, and documents that are above themselves';

-- The journal is looked at only while changes are recorded.  Numbers are compared with
-- those of transactions only on the server that they are of.
CREATE FUNCTION dms_internal.audit_changes(types text[], only_document bigint) RETURNS SETOF dms_internal.audit_finding
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	type_ids integer[];
BEGIN
	IF NOT EXISTS (SELECT FROM dms.Store AS s WHERE s.ChangeTracking) THEN
		RETURN;
	END IF;
	SELECT array_agg(dms_internal.resource_type_id(m.ProjectName, m.ResourceName)) INTO type_ids
	FROM dms.ResourceModel AS m WHERE types IS NULL OR m.ProjectName || ':' || m.ResourceName = ANY (types);

	RETURN QUERY
	SELECT k.kind, c.id, c.uuid, NULL::text, 'a change to etag ' || c.etag,
		CASE WHEN k.kind = 'change_surplus' THEN c.n || ' changes' END
	FROM (SELECT d.DocumentId AS id, d.DocumentUuid AS uuid, d.Etag AS etag, count(j.DocumentId) AS n,
			count(*) FILTER (WHERE j.ResourceTypeId = t.id) AS n_right
		FROM dms.Document AS d
		JOIN (SELECT m.ProjectName, m.ResourceName, dms_internal.resource_type_id(m.ProjectName, m.ResourceName) AS id
			FROM dms.ResourceModel AS m OFFSET 0) AS t ON (t.ProjectName, t.ResourceName) = (d.ProjectName, d.ResourceName)
		LEFT JOIN dms.DocumentChange AS j ON (j.DocumentId, j.Etag) = (d.DocumentId, d.Etag)
			AND (only_document IS NULL OR j.ResourceTypeId = ANY (type_ids))
		WHERE t.id = ANY (type_ids) AND (only_document IS NULL OR d.DocumentId = only_document)
		GROUP BY d.DocumentId
		HAVING count(*) FILTER (WHERE j.ResourceTypeId = t.id) <> 1 OR count(j.DocumentId) <> 1) AS c,
		LATERAL (SELECT 'change_missing' WHERE c.n_right = 0
			UNION ALL SELECT 'change_surplus' WHERE c.n > LEAST(c.n_right, 1)) AS k (kind);

	RETURN QUERY
	SELECT 'change_ahead', j.DocumentId,
		(SELECT d.DocumentUuid FROM dms.Document AS d WHERE d.DocumentId = j.DocumentId), NULL::text,
		'a number up to ' || l.highest, 'change ' || j.ChangeVersion
	FROM dms.Store AS s, pg_control_system() AS c,
		LATERAL (SELECT s.ChangeBase + 2 * COALESCE(
			GREATEST(pg_snapshot_xmax(pg_current_snapshot()), pg_current_xact_id_if_assigned()),
			pg_snapshot_xmax(pg_current_snapshot()))::text::bigint) AS l (highest),
		(SELECT DocumentId, ResourceTypeId, ChangeVersion FROM dms.DocumentChange UNION ALL
			SELECT DocumentId, ResourceTypeId, ChangeVersion FROM dms.TrackedChange) AS j
	WHERE s.ChangeSystem = c.system_identifier AND j.ChangeVersion > GREATEST(l.highest, s.ChangeFloor) + 1
	  AND (types IS NULL OR j.ResourceTypeId = ANY (type_ids)) AND (only_document IS NULL OR j.DocumentId = only_document);
END
$$;
COMMENT ON FUNCTION dms_internal.audit_changes(text[], bigint) IS
'changes of documents of these types that are missing in the journal, or more than one of an etag, or with numbers that were not given yet';

-- Options are stored apart from the schema, so that both can contradict each other once
-- one of them was changed by hand.
CREATE FUNCTION dms_internal.audit_options(model jsonb, only_document bigint) RETURNS SETOF dms_internal.audit_finding
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	project CONSTANT text := model ->> 'project';
	resource CONSTANT text := model ->> 'resource';
	options CONSTANT jsonb := (SELECT t.Options FROM dms.ResourceType AS t
		WHERE t.ResourceTypeId = dms_internal.resource_type_id(project, resource) LIMIT 1);
	id_column text;
BEGIN
	IF only_document IS NULL AND options <> '{}' THEN
		BEGIN
			RETURN QUERY SELECT 'option_without_object', NULL::bigint, NULL::uuid, NULL::text, s.statement, NULL::text
			FROM dms.plan_resource(project, resource, '{}') AS s (statement);
		EXCEPTION WHEN SQLSTATE 'ZD422' THEN
			RETURN QUERY SELECT 'option_contradicts', NULL::bigint, NULL::uuid, NULL::text,
				'options that fit ' || project || '.' || resource, options::text;
		END;
	END IF;

	SELECT model #>> ARRAY['tables', '0', 'columns', p ->> 'column', 'name'] INTO id_column
	FROM jsonb_array_elements(model #> '{scopes,0,properties}') AS p
	WHERE '$.' || (p ->> 'name') = options ->> 'generatedId' AND (p ->> 'column')::integer > 0;
	IF id_column IS NOT NULL THEN
		RETURN QUERY EXECUTE format($query$
			SELECT 'generated_id', d.DocumentId, d.DocumentUuid, NULL::text, d.DocumentUuid::text, t.%1$I::text
			FROM %2$I.%3$I AS t JOIN dms.Document AS d ON d.DocumentId = t.documentid
			WHERE t.%1$I::text <> d.DocumentUuid::text AND ($1 IS NULL OR t.documentid = $1)$query$,
			id_column, model #>> '{tables,0,schema}', model #>> '{tables,0,name}') USING only_document;
	END IF;
END
$$;
COMMENT ON FUNCTION dms_internal.audit_options(jsonb, bigint) IS
'options of a resource that contradict its schema, objects that they need and that are missing, and generated ids that are not those of their documents';

-- While the cache is off, nobody reads it, and its rows may be stale.
CREATE FUNCTION dms_internal.audit_cache(types text[], only_document bigint) RETURNS SETOF dms_internal.audit_finding
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
BEGIN
	IF NOT EXISTS (SELECT FROM dms.Store AS s WHERE s.CacheMode <> 'off') THEN
		RETURN;
	END IF;

	RETURN QUERY
	SELECT 'cache_wrong', d.DocumentId, d.DocumentUuid, NULL::text, 'the document with etag ' || d.Etag, 'another text or time'
	FROM dms.Document AS d
	JOIN dms.DocumentCache AS c ON (c.DocumentId, c.Etag) = (d.DocumentId, d.Etag)
	WHERE (types IS NULL OR d.ProjectName || ':' || d.ResourceName = ANY (types))
	  AND (only_document IS NULL OR d.DocumentId = only_document)
	  AND ((c.DocumentUuid, c.ProjectName, c.ResourceName, c.LastModifiedAt)
			IS DISTINCT FROM (d.DocumentUuid, d.ProjectName, d.ResourceName, d.LastModifiedAt)
		OR c.DocumentJson::text IS DISTINCT FROM dms.get_document(d.DocumentUuid)::text);

	IF types IS NOT NULL THEN
		RETURN;
	END IF;
	RETURN QUERY
	SELECT 'cache_without_document', c.DocumentId, c.DocumentUuid, NULL::text, NULL::text, c.ProjectName || ':' || c.ResourceName
	FROM dms.DocumentCache AS c
	WHERE NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = c.DocumentId);

	RETURN QUERY
	SELECT 'consumer_ahead', NULL::bigint, NULL::uuid, NULL::text, 'a number up to ' || l.highest, 'number ' || k.place
	FROM dms.Store AS s,
		LATERAL (SELECT s.ChangeBase + 2 * pg_snapshot_xmax(pg_current_snapshot())::text::bigint) AS l (highest),
		(SELECT split_part(c.Cursor, '.', 2) AS base, split_part(c.Cursor, '.', 3)::bigint AS place
			FROM dms.ChangeConsumer AS c
			WHERE c.Name = 'cache' AND c.Cursor ~ '^1([.]-?[0-9]{1,18}){2}([.]-?[0-9]{1,19}){5}$') AS k
	WHERE k.base = s.ChangeBase::text AND k.place > GREATEST(l.highest, s.ChangeFloor) + 1;
END
$$;
COMMENT ON FUNCTION dms_internal.audit_cache(text[], bigint) IS
'fresh rows of dms.DocumentCache that are not as the documents are read; without types, also rows without a document, and a projector that is ahead of the journal';

-- All counts come from a single pass over dms.Document, not from one per resource.
-- Documents are read without the cache.
CREATE FUNCTION dms_internal.audit_store(project text, resource text, only_uuid uuid) RETURNS SETOF dms_internal.audit_finding
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
SET row_security = off SET jit = off SET dms.cache_reads = off
AS $$
DECLARE
	only_document bigint;
	types text[];
	counts jsonb;
	scope record;
	n bigint := 0;
BEGIN
	SELECT array_agg(s.project_name || ':' || s.resource_name), max(s.document_id)
	INTO types, only_document
	FROM dms_internal.audit_scope(project, resource, only_uuid) AS s;
	SELECT jsonb_object_agg(c.type, c.n) INTO counts
	FROM (SELECT d.ProjectName || ':' || d.ResourceName AS type, count(*) AS n
		FROM dms.Document AS d
		WHERE only_uuid IS NULL OR d.DocumentUuid = only_uuid
		GROUP BY 1) AS c;

	FOR scope IN
		SELECT t.type, m.Model::jsonb AS model
		FROM unnest(types) WITH ORDINALITY AS t (type, place)
		JOIN dms.ResourceModel AS m ON m.ProjectName || ':' || m.ResourceName = t.type
		ORDER BY t.place
	LOOP
		PERFORM dms_internal.report_progress(format('auditing %s, %s of %s resources', replace(scope.type, ':', '.'), n + 1,
			cardinality(types)));
		RETURN QUERY SELECT f.* FROM dms_internal.audit_documents(scope.model, only_document,
			COALESCE((counts ->> scope.type)::bigint, 0)) AS f;
		RETURN QUERY SELECT f.* FROM dms_internal.audit_edges(scope.model, only_document) AS f;
		RETURN QUERY SELECT f.* FROM dms_internal.audit_targets(scope.model, only_document) AS f;
		RETURN QUERY SELECT f.* FROM dms_internal.audit_identities(scope.model, only_document) AS f;
		RETURN QUERY SELECT f.* FROM dms_internal.audit_history(scope.model, only_document) AS f;
		RETURN QUERY SELECT f.* FROM dms_internal.audit_options(scope.model, only_document) AS f;
		n := n + 1;
		IF n % 100 = 0 THEN
			RAISE NOTICE 'audited % of % resources', n, cardinality(types);
		END IF;
	END LOOP;

	PERFORM dms_internal.report_progress('auditing what is stored beside resources');
	IF project IS NULL AND resource IS NULL AND only_uuid IS NULL THEN
		types := NULL;
		RETURN QUERY SELECT f.* FROM dms_internal.audit_orphans() AS f;
	END IF;
	RETURN QUERY SELECT f.* FROM dms_internal.audit_descriptors(types, only_document) AS f;
	RETURN QUERY SELECT f.* FROM dms_internal.audit_members(types, only_document) AS f;
	RETURN QUERY SELECT f.* FROM dms_internal.audit_relations(types, only_document) AS f;
	RETURN QUERY SELECT f.* FROM dms_internal.audit_changes(types, only_document) AS f;
	RETURN QUERY SELECT f.* FROM dms_internal.audit_cache(types, only_document) AS f;
	PERFORM dms_internal.report_progress(NULL);
END
$$;
COMMENT ON FUNCTION dms_internal.audit_store(text, text, uuid) IS
'does the work of dms.audit()';

CREATE FUNCTION dms.audit(project text DEFAULT NULL, resource text DEFAULT NULL, document_uuid uuid DEFAULT NULL)
RETURNS TABLE (kind text, document_id bigint, document_uuid uuid, edge_source_key text, expected text, found text)
LANGUAGE sql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS 'SELECT * FROM dms_internal.audit_store($1, $2, $3)';
COMMENT ON FUNCTION dms.audit(text, text, uuid) IS
'all contradictions between rows of the store, for all documents, a project, a resource or a document; no rows mean that there are none';

-- The statements of dms.rebuild_edges() and dms.repair().  They run with the
-- rights of the store's owner, and only after the library has checked all code
-- that they would run, which would not be possible if functions here ran them.
-- Their names are resolved by the search_path of the functions below.
CREATE FUNCTION dms_internal.repair_edges_statement(wanted text, documents text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $function$
SELECT format($statement$
WITH wanted AS (%1$s),
stored AS (
	SELECT e.ParentDocumentId AS parent, e.ChildDocumentId AS child, e.EdgeSourceId AS source,
		e.IsIdentityComponent AS component
	FROM (%2$s) AS r JOIN dms.ReferenceEdge AS e ON e.ParentDocumentId = r.documentid
),
wrong AS MATERIALIZED (
	SELECT COALESCE(w.parent, s.parent) AS parent, COALESCE(w.child, s.child) AS child,
		COALESCE(w.source, s.source) AS source, w.component AS wanted, s.component AS stored
	FROM wanted AS w FULL JOIN stored AS s ON (s.parent, s.source, s.child) = (w.parent, w.source, w.child)
	WHERE w.component IS DISTINCT FROM s.component
),
surplus AS (
	DELETE FROM dms.ReferenceEdge AS e USING wrong AS x
	WHERE x.wanted IS NULL
	  AND (e.ParentDocumentId, e.EdgeSourceId, e.ChildDocumentId) = (x.parent, x.source, x.child)
),
flag AS (
	UPDATE dms.ReferenceEdge AS e SET IsIdentityComponent = x.wanted FROM wrong AS x
	WHERE x.wanted IS NOT NULL AND x.stored IS NOT NULL
	  AND (e.ParentDocumentId, e.EdgeSourceId, e.ChildDocumentId) = (x.parent, x.source, x.child)
),
missing AS (
	INSERT INTO dms.ReferenceEdge (ParentDocumentId, ChildDocumentId, EdgeSourceId, IsIdentityComponent)
	SELECT parent, child, source, wanted FROM wrong WHERE stored IS NULL
)
SELECT count(*) FROM wrong
$statement$, wanted, documents)
$function$;
COMMENT ON FUNCTION dms_internal.repair_edges_statement(text, text) IS
'the statement that makes the edges of the documents of one query equal to the references of another, and counts those that were wrong';

CREATE FUNCTION dms_internal.repair_members_statement(member_table text, member_view text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $function$
SELECT format($statement$
WITH surplus AS (
	DELETE FROM %1$s AS m
	WHERE m.documentid = ANY ($1) AND NOT EXISTS (SELECT FROM %2$s AS v WHERE v.documentid = m.documentid)
)
INSERT INTO %1$s (documentid, discriminator)
SELECT v.documentid, v.discriminator FROM %2$s AS v WHERE v.documentid = ANY ($1)
ON CONFLICT (documentid) DO UPDATE SET discriminator = EXCLUDED.discriminator
$statement$, member_table, member_view)
$function$;
COMMENT ON FUNCTION dms_internal.repair_members_statement(text, text) IS
'the statement that makes the rows of documents $1 in the member table of an abstract resource equal to its view';

CREATE FUNCTION dms_internal.repair_statement(kind text) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $function$
SELECT r.statement FROM (VALUES
('edge_source_wrong', $statement$
INSERT INTO dms.EdgeSource (EdgeSourceId, EdgeSourceKey)
SELECT (r ->> 'edge_source_id')::bigint, r ->> 'edge_source_key'
FROM dms.ResourceModel AS m, json_array_elements(m.Model -> 'references') AS r
WHERE m.Kind <> 'abstract'
ON CONFLICT (EdgeSourceId) DO UPDATE SET EdgeSourceKey = EXCLUDED.EdgeSourceKey
$statement$),
('resource_type_wrong', $statement$
WITH wanted AS (
	SELECT dms_internal.resource_type_id(m.ProjectName, m.ResourceName) AS id, m.ProjectName, m.ResourceName
	FROM dms.ResourceModel AS m
),
renumbered AS (
	UPDATE dms.ResourceType AS t SET ResourceTypeId = w.id, UpdatedAt = now()
	FROM wanted AS w
	WHERE (t.ProjectName, t.ResourceName) = (w.ProjectName, w.ResourceName) AND t.ResourceTypeId <> w.id
)
INSERT INTO dms.ResourceType (ResourceTypeId, ProjectName, ResourceName, ResourceType)
SELECT w.id, w.ProjectName, w.ResourceName,
	regexp_replace(concat(w.ProjectName, '.', w.ResourceName), '[^a-zA-Z0-9.-]', '-', 'g')
FROM wanted AS w
WHERE NOT EXISTS (SELECT FROM dms.ResourceType AS t
	WHERE (t.ProjectName, t.ResourceName) = (w.ProjectName, w.ResourceName))
ON CONFLICT (ResourceTypeId) DO UPDATE
SET ProjectName = EXCLUDED.ProjectName, ResourceName = EXCLUDED.ResourceName, UpdatedAt = now()
$statement$),
('row_without_document', $statement$
INSERT INTO dms.Document (DocumentId, DocumentUuid, ProjectName, ResourceName, ResourceVersion)
SELECT u.id, dms.uuid_v7(), m.ProjectName, m.ResourceName, m.Model ->> 'version'
FROM unnest($1, $2) AS u (id, type)
JOIN dms.ResourceModel AS m ON concat(m.ProjectName, ':', m.ResourceName) = u.type
ON CONFLICT DO NOTHING
$statement$),
('document_type', $statement$
UPDATE dms.Document AS d
SET ProjectName = split_part(u.type, ':', 1), ResourceName = split_part(u.type, ':', 2)
FROM unnest($1, $2) AS u (id, type)
WHERE d.DocumentId = u.id
$statement$),
('document_without_row', $statement$
DELETE FROM dms.Document AS d
WHERE d.DocumentId = ANY ($1)
  AND NOT EXISTS (SELECT FROM dms.Descriptor AS s WHERE s.DocumentId = d.DocumentId)
$statement$),
('descriptor_type', $statement$
UPDATE dms.Descriptor AS s SET Discriminator = concat(d.ProjectName, ':', d.ResourceName)
FROM dms.Document AS d
WHERE d.DocumentId = s.DocumentId AND s.DocumentId = ANY ($1)
$statement$),
('lock_missing', $statement$
INSERT INTO dms.IdentityLock (DocumentId)
SELECT DocumentId FROM dms.Document WHERE DocumentId = ANY ($1)
ON CONFLICT DO NOTHING
$statement$),
('lock_without_document', $statement$
DELETE FROM dms.IdentityLock AS l
WHERE l.DocumentId = ANY ($1)
  AND NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = l.DocumentId)
$statement$),
('identity_without_document', $statement$
DELETE FROM dms.ReferentialIdentity AS i
WHERE i.DocumentId = ANY ($1)
  AND NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = i.DocumentId)
$statement$),
('edge_without_document', $statement$
DELETE FROM dms.ReferenceEdge AS e
WHERE e.ParentDocumentId = ANY ($1)
  AND NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = e.ParentDocumentId)
$statement$),
('relation_without_document', $statement$
DELETE FROM dms.ParentChild AS r
WHERE r.ChildDocumentId = ANY ($1)
  AND (NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = r.ChildDocumentId)
	OR NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = r.ParentDocumentId))
$statement$),
('member_without_document', $statement$
DELETE FROM dms.CollectionMember AS r
WHERE r.CollectionDocumentId = ANY ($1)
  AND (NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = r.CollectionDocumentId)
	OR NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = r.MemberDocumentId))
$statement$),
('account_without_document', $statement$
DELETE FROM dms.DocumentAccount AS r
WHERE r.DocumentId = ANY ($1)
  AND (NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = r.DocumentId)
	OR NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = r.AccountId))
$statement$),
('key_without_document', $statement$
DELETE FROM dms.UniqueKeyValue AS r
WHERE r.DocumentId = ANY ($1)
  AND NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = r.DocumentId)
$statement$),
('relation_wrong', $statement$
WITH right_ones AS (
	SELECT d.DocumentId, dms_internal.resource_type_id(d.ProjectName, d.ResourceName) AS type_id, d.DocumentUuid AS uuid
	FROM dms.Document AS d WHERE d.DocumentId = ANY ($1)
),
children AS (
	UPDATE dms.ParentChild AS r SET ChildTypeId = o.type_id, ChildUuid = o.uuid
	FROM right_ones AS o WHERE r.ChildDocumentId = o.DocumentId
),
members AS (
	UPDATE dms.CollectionMember AS r SET MemberTypeId = o.type_id, MemberUuid = o.uuid
	FROM right_ones AS o WHERE r.MemberDocumentId = o.DocumentId
)
UPDATE dms.DocumentAccount AS r SET ResourceTypeId = o.type_id, DocumentUuid = o.uuid
FROM right_ones AS o WHERE r.DocumentId = o.DocumentId
$statement$),
('change_ahead', $statement$
DELETE FROM dms.DocumentChange AS j USING dms.Store AS s
WHERE j.DocumentId = ANY ($1) AND j.ChangeVersion > s.ChangeBase
	+ 2 * GREATEST(pg_snapshot_xmax(pg_current_snapshot()), pg_current_xact_id())::text::bigint
$statement$),
('change_surplus', $statement$
DELETE FROM dms.DocumentChange AS j USING dms.Document AS d, dms.ResourceType AS t
WHERE j.DocumentId = ANY ($1) AND (d.DocumentId, d.Etag) = (j.DocumentId, j.Etag)
  AND (t.ProjectName, t.ResourceName) = (d.ProjectName, d.ResourceName)
  AND (j.ResourceTypeId <> t.ResourceTypeId
	OR EXISTS (SELECT FROM dms.DocumentChange AS l WHERE (l.ResourceTypeId, l.DocumentId, l.Etag) =
		(j.ResourceTypeId, j.DocumentId, j.Etag) AND l.ChangeVersion > j.ChangeVersion))
$statement$),
('diff_without_version', $statement$
DELETE FROM dms.VersionDiff AS d USING unnest($2) AS u (version_id)
WHERE d.DocumentUuid = split_part(u.version_id, '@', 1)::uuid
  AND split_part(u.version_id, '@', 2)::bigint IN (d.OldVersionNumber, d.VersionNumber)
$statement$),
('cache_without_document', $statement$
DELETE FROM dms.DocumentCache AS c
WHERE c.DocumentId = ANY ($1)
  AND NOT EXISTS (SELECT FROM dms.Document AS d WHERE d.DocumentId = c.DocumentId)
$statement$),
-- A rebuild writes what is missing.
('cache_wrong', $statement$
WITH gone AS (
	DELETE FROM dms.DocumentCache WHERE DocumentId = ANY ($1)
)
INSERT INTO dms.CacheRebuild (StartedAt, AfterDocumentId, Documents, Expected)
SELECT clock_timestamp(), -9223372036854775808, 0, GREATEST(c.reltuples, 0)
FROM pg_class AS c WHERE c.oid = 'dms.document'::regclass
ON CONFLICT (Singleton) DO UPDATE
SET StartedAt = EXCLUDED.StartedAt, FinishedAt = NULL, AfterDocumentId = EXCLUDED.AfterDocumentId, Documents = 0,
	Expected = EXCLUDED.Expected
$statement$),
('consumer_ahead', $statement$
DELETE FROM dms.ChangeConsumer WHERE Name = 'cache'
$statement$),
('tombstone_missing', $statement$
INSERT INTO dms.DocumentVersion (DocumentUuid, VersionNumber, CreatedAt, ResourceTypeId, ResourceVersion, Kind, CreatedBy)
SELECT v.DocumentUuid, v.VersionNumber + 1, GREATEST(clock_timestamp(), v.CreatedAt), v.ResourceTypeId,
	v.ResourceVersion, 'deleted', session_user
FROM unnest($2) AS u (version_id)
JOIN dms.DocumentVersion AS v ON v.DocumentUuid = split_part(u.version_id, '@', 1)::uuid
	AND v.VersionNumber = split_part(u.version_id, '@', 2)::bigint - 1
$statement$),
('descriptor_uri', $statement$
UPDATE dms.Descriptor SET Uri = Namespace || '#' || CodeValue WHERE DocumentId = ANY ($1)
$statement$),
('identity_surplus', $statement$
DELETE FROM dms.ReferentialIdentity AS i USING dms.Document AS d, dms.ResourceModel AS m
WHERE i.DocumentId = ANY ($1) AND d.DocumentId = i.DocumentId
  AND (m.ProjectName, m.ResourceName) = (d.ProjectName, d.ResourceName)
  AND (i.ProjectName, i.ResourceName) <> (d.ProjectName, d.ResourceName)
  AND (i.ProjectName::text, i.ResourceName::text) IS DISTINCT FROM
	(m.Model ->> 'superclass_project', m.Model ->> 'superclass_resource')
$statement$)) AS r (kind, statement)
WHERE r.kind = $1
$function$;
COMMENT ON FUNCTION dms_internal.repair_statement(text) IS
'the statement that repairs findings of a kind for documents $1, which should have the types $2; NULL if there is none';

CREATE FUNCTION dms.rebuild_edges(project text DEFAULT NULL, resource text DEFAULT NULL) RETURNS bigint
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'dms_rebuild_edges';
COMMENT ON FUNCTION dms.rebuild_edges(text, text) IS
'makes the reference edges equal to the foreign key columns, and returns the number that were wrong; writers wait meanwhile';

CREATE FUNCTION dms.repair(project text DEFAULT NULL, resource text DEFAULT NULL, document_uuid uuid DEFAULT NULL,
	cascade boolean DEFAULT true)
RETURNS TABLE (kind text, mended bigint)
LANGUAGE C VOLATILE CALLED ON NULL INPUT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'dms_repair';
COMMENT ON FUNCTION dms.repair(text, text, uuid, boolean) IS
'repairs the findings of dms.audit(), and with cascade the identities that depend on them; returns the number of findings of each kind that were repaired, 0 for kinds that cannot be; writers wait meanwhile';

-- ---------------------------------------------------------------------------
-- Access levels.  Each level includes the ones before it.  A function that is in
-- no level can be called by the owner of the extension only.  The names are those
-- of the extension's own functions: dms.grant_access() looks them up among its
-- members.
-- ---------------------------------------------------------------------------

CREATE FUNCTION dms.access_levels() RETURNS TABLE (level text, functions text[], tables text[])
LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
VALUES
('public', '{uuid_v5, uuid_v7, referential_id, lower_invariant, parse_urn, json_diff, access_levels, access_ddl,
	access_grants, repair_statement, repair_edges_statement, repair_members_statement}'::text[],
	'{}'::text[]),
-- Reading runs with the rights of the caller, who therefore needs SELECT on these
-- tables, and on the tables and views of resources.
('reader', '{require_store, instance_id, resources, describe_resource, resource_options, schema_diagram, resolve, get_document,
	latest_version, search_documents, list_versions, change_log, diff_versions, history_stats, job_stats, query_documents, count_documents, document_digests, referencing_documents,
	read_changes, available_change_versions, changed_documents, deleted_documents, changed_keys,
	urn, id_of, parent, ancestors, collections, children, members, account_documents, delete_plan, graph_diagram, grant_sources,
	covers, covered_documents, wait_until_projected, find_unique_key, get_record, query_records, handle_request, process_request,
	unavailable_response, require_own_transaction}',
	'{store, document, referentialidentity, descriptor, edgesource, referenceedge,
	effectiveschema, schemacomponent, resourcemodel, resourcetype, parentchild, collectionmember, documentaccount, documentchange}'),
-- Writing runs with the rights of the store's owner, so a writer needs no other
-- tables.
('writer', '{upsert_document, update_document, update_documents, delete_document, restore_document, store_diff, set_parent, add_member,
	remove_member, set_account, claim_unique_key, release_unique_key, current_change_version,
	idempotency_begin, idempotency_complete, enqueue_job, claim_jobs, complete_jobs, fail_job, release_jobs}',
	'{}'),
('admin', '{core_ddl, trigger_ddl, upgrade_ddl, upgrade_store, deploy_schema, migrate_schema, plan_schema, plan_migration, configure_store,
	configure_resource, plan_resource, set_change_tracking, compact_changes, purge_tracked_changes,
	skip_change_versions, change_blockers, baseline_history, write_baseline, purge_history, erase_history,
	retry_jobs, run_claimed_jobs, run_jobs, job_poll, stored_identities, resource_type_id, audit, audit_store, audit_scope, audit_cache, audit_rows, audit_references, audit_documents,
	audit_edges, audit_targets, audit_identities, audit_descriptors, audit_members, audit_history, audit_changes, audit_options, audit_relations, audit_orphans, rebuild_edges, repair,
	lock_identity_closure, recompute_identities, grant_access,
	purge_idempotency_keys, require_page, idempotency_keys, worker_status, set_cache_mode, clear_cache, rebuild_cache, publish_documents, unpublish_documents, republish_documents,
	project_some, project_documents, compact_some, projection_status, status, report_progress}',
	'{identitylock, idempotencykeys, documentversion, uniquekeyvalue, declaredkeyvalue, record, trackedchange, documentcache, changeconsumer,
	projectionfailure, cacherebuild, versiondiff, job, deadjob}')
$$;
COMMENT ON FUNCTION dms.access_levels() IS
'the functions and core tables that each level of access adds to the level before it';

CREATE FUNCTION dms.access_grants() RETURNS TABLE (role name, level text)
LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp
AS $$
WITH place AS (
	SELECT l.level, l.place, p.oid, p.proowner, p.proacl
	FROM dms.access_levels() WITH ORDINALITY AS l (level, functions, tables, place)
	JOIN pg_proc AS p ON p.proname = ANY (l.functions)
	JOIN pg_depend AS d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
	JOIN pg_extension AS e ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid
	WHERE l.level <> 'public' AND e.extname = 'dms'
	  AND p.pronamespace IN (e.extnamespace, 'dms_internal'::regnamespace)
),
granted AS (
	SELECT DISTINCT a.grantee, f.oid FROM place AS f, aclexplode(f.proacl) AS a
	WHERE a.grantee NOT IN (0, f.proowner) AND NOT a.is_grantable
),
reached AS (
	SELECT g.grantee, f.place, f.level
	FROM place AS f JOIN (SELECT DISTINCT grantee FROM granted) AS g ON true
	GROUP BY 1, 2, 3
	HAVING NOT EXISTS (SELECT FROM place AS needed
		WHERE needed.place <= f.place AND (g.grantee, needed.oid) NOT IN (SELECT * FROM granted))
)
SELECT DISTINCT ON (r.rolname) r.rolname, c.level
FROM reached AS c JOIN pg_roles AS r ON r.oid = c.grantee
ORDER BY r.rolname, c.place DESC
$$;
COMMENT ON FUNCTION dms.access_grants() IS
'the roles that have a level of access: those to which every function of it was granted directly';

CREATE FUNCTION dms_internal.access_ddl(role name, level text) RETURNS SETOF text
LANGUAGE plpgsql STABLE PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
	given CONSTANT integer := array_position('{none, public, reader, writer, admin}'::text[], level);
	resource_tables text;
	resource_schemas text;
BEGIN
	IF to_regclass('dms.resourcemodel') IS NOT NULL THEN
		SELECT string_agg(DISTINCT format('%I.%I', o.s, o.t), ', '),
			string_agg(DISTINCT format('%I', o.s), ', ') FILTER (WHERE o.s <> 'dms')
		INTO resource_tables, resource_schemas
		FROM dms.ResourceModel AS m,
			LATERAL (SELECT t ->> 'schema', t ->> 'name' FROM json_array_elements(m.Model -> 'tables') AS t
				UNION ALL SELECT m.MemberSchema, m.MemberTable) AS o (s, t)
		WHERE o.t IS NOT NULL;
	END IF;

	RETURN QUERY
	WITH listed AS (
		SELECT l.place + 1 AS place, l.tables
		FROM dms.access_levels() WITH ORDINALITY AS l (level, functions, tables, place)
		WHERE l.level <> 'public'
	),
	rights (place, rights) AS (
		SELECT 3, 'USAGE ON SCHEMA ' || resource_schemas
		UNION ALL
		SELECT 3, 'SELECT ON TABLE ' || resource_tables
		UNION ALL
		SELECT l.place, 'SELECT ON TABLE ' || string_agg(c.oid::regclass::text, ', ' ORDER BY c.relname)
		FROM listed AS l JOIN pg_class AS c ON c.relname = ANY (l.tables)
		WHERE c.relnamespace = 'dms'::regnamespace
		GROUP BY l.place
	)
	SELECT format(CASE WHEN r.place <= given THEN 'GRANT %s TO %I' ELSE 'REVOKE %s FROM %I' END, r.rights, role)
	FROM rights AS r
	WHERE r.rights IS NOT NULL AND given IS NOT NULL
	ORDER BY r.place, r.rights;
END
$$;
COMMENT ON FUNCTION dms_internal.access_ddl(name, text) IS
'the statements that grant a role the rights on the store that a level of access (or none) needs, and revoke those of higher levels';

CREATE FUNCTION dms.grant_access(role name, level text) RETURNS void
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE SET search_path = pg_catalog, pg_temp
AS 'MODULE_PATHNAME', 'dms_grant_access';
COMMENT ON FUNCTION dms.grant_access(name, text) IS
'gives a role exactly the level reader, writer or admin, on what is deployed and on what later deploys create; none revokes it';

-- The role that created the extension may call all functions, and may grant the
-- right to others.  The role is looked up in the catalogs and not substituted into
-- this script, because its name could contain a quote.
DO $$
DECLARE
	f record;
BEGIN
	FOR f IN
		SELECT p.oid::regprocedure AS signature, e.extowner::regrole AS creator
		FROM pg_extension AS e
		JOIN pg_depend AS d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.deptype = 'e'
		JOIN pg_proc AS p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
		WHERE e.extname = 'dms'
		  AND p.proname <> ALL ((SELECT functions FROM dms.access_levels() WHERE level = 'public')::text[])
	LOOP
		EXECUTE format('REVOKE EXECUTE ON ROUTINE %s FROM PUBLIC', f.signature);
		EXECUTE format('GRANT EXECUTE ON ROUTINE %s TO %s WITH GRANT OPTION', f.signature, f.creator);
	END LOOP;
END
$$;
