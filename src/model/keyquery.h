/*
 * keyquery.h
 *		Statements that read the keys of documents as JSON.
 */
#ifndef DMS_KEYQUERY_H
#define DMS_KEYQUERY_H

#include "postgres.h"

#include "lib/stringinfo.h"
#include "model/model.h"

/* The members of the key of a descriptor. */
enum
{
	KEY_NAMESPACE,
	KEY_CODE_VALUE,
	KEY_DESCRIPTOR_MEMBERS
};

extern void KeyQueryAppendFrom(StringInfo sql, const ProjectionModel *projection);
extern char **KeyQueryMembers(const ResourceModel *model);
extern char *KeyQuerySql(const ResourceModel *model);
extern char *KeyQueryText(const char *column, ValueType type);

#endif							/* DMS_KEYQUERY_H */
