/*
 * compat.h
 *		The differences between the PostgreSQL versions we compile on.
 *
 * Everything that needs a version test lives here, so that all modules can be
 * written against one API: that of PostgreSQL 15, with the names of the newer
 * servers where those are clearer.
 */
#ifndef DMS_COMPAT_H
#define DMS_COMPAT_H

#include "postgres.h"

#include "access/tableam.h"
#include "catalog/pg_proc.h"
#include "common/jsonapi.h"
#include "utils/acl.h"
#include "utils/guc.h"

#if PG_VERSION_NUM < 150000
#error "dms needs PostgreSQL 15 or newer"
#endif

/* PostgreSQL 16 took the layout of variable-length values out of postgres.h. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* PostgreSQL 16 lets semantic actions of the JSON parser return an error. */
#if PG_VERSION_NUM >= 160000
#define JSON_ACTION_RESULT JsonParseErrorType
#define JSON_ACTION_RETURN return JSON_SUCCESS
#else
#define JSON_ACTION_RESULT void
#define JSON_ACTION_RETURN return
#endif

/* PostgreSQL 17 lets the caller provide the lexer's memory. */
static inline JsonLexContext *
CompatMakeJsonLexer(char *json, int len, int encoding)
{
#if PG_VERSION_NUM >= 170000
	return makeJsonLexContextCstringLen(NULL, json, len, encoding, true);
#else
	return makeJsonLexContextCstringLen(json, len, encoding, true);
#endif
}

/* PostgreSQL 16 has one function for rights on all kinds of objects. */
static inline bool
CompatMayExecute(Oid function, Oid role)
{
#if PG_VERSION_NUM >= 160000
	return object_aclcheck(ProcedureRelationId, function, role, ACL_EXECUTE) == ACLCHECK_OK;
#else
	return pg_proc_aclcheck(function, role, ACL_EXECUTE) == ACLCHECK_OK;
#endif
}

/* PostgreSQL 17 renamed the check whether a plan fits the search path. */
#if PG_VERSION_NUM >= 170000
#define COMPAT_SEARCH_PATH_MATCHES(path) SearchPathMatchesCurrentEnvironment(path)
#else
#define COMPAT_SEARCH_PATH_MATCHES(path) OverrideSearchPathMatchesCurrent(path)
#endif

/* PostgreSQL 16 returns which indexes need entries for a new version of a row. */
#if PG_VERSION_NUM >= 160000
typedef TU_UpdateIndexes CompatUpdateIndexes;
#define COMPAT_MUST_UPDATE_INDEXES(which) ((which) == TU_All)
#else
typedef bool CompatUpdateIndexes;
#define COMPAT_MUST_UPDATE_INDEXES(which) (which)
#endif

/* PostgreSQL 18 has check constraints that are not enforced. */
#if PG_VERSION_NUM >= 180000
#define COMPAT_IS_ENFORCED(check) ((check).ccenforced)
#else
#define COMPAT_IS_ENFORCED(check) true
#endif

/* PostgreSQL 16 renamed what says where the files of a table are. */
#if PG_VERSION_NUM >= 160000
#define COMPAT_LOCATOR(relation) ((relation)->rd_locator)
#else
#define COMPAT_LOCATOR(relation) ((relation)->rd_node)
#endif

/* PostgreSQL 17 groups the two parts of the id of a running transaction. */
#if PG_VERSION_NUM >= 170000
#define COMPAT_LXID(proc) ((proc)->vxid.lxid)
#else
#define COMPAT_LXID(proc) ((proc)->lxid)
#endif

/* PostgreSQL 17 gives extensions wait events of their own. */
#if PG_VERSION_NUM >= 170000
#define COMPAT_WAIT_LAUNCHER WaitEventExtensionNew("DmsLauncherMain")
#define COMPAT_WAIT_WORKER WaitEventExtensionNew("DmsWorkerMain")
#define COMPAT_WAIT_REDIS WaitEventExtensionNew("DmsRedis")
#else
#define COMPAT_WAIT_LAUNCHER PG_WAIT_EXTENSION
#define COMPAT_WAIT_WORKER PG_WAIT_EXTENSION
#define COMPAT_WAIT_REDIS PG_WAIT_EXTENSION
#endif

#endif							/* DMS_COMPAT_H */
