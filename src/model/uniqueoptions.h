/*
 * uniqueoptions.h
 *		The option "uniqueKeys" of a resource.
 */
#ifndef DMS_UNIQUEOPTIONS_H
#define DMS_UNIQUEOPTIONS_H

#include "postgres.h"

#include "base/report.h"
#include "model/model.h"
#include "nodes/pg_list.h"
#include "utils/jsonb.h"

#define OPTION_UNIQUE_KEYS "uniqueKeys"

/* The longest text that can be a unique key, in characters. */
#define UNIQUE_KEY_MAX_LENGTH 512

extern bool UniqueOptionsTake(JsonbValue *value);
extern void UniqueOptionsCheck(Jsonb *given, const ResourceModel *model, Problem *problem);
extern List *UniqueOptionsPaths(Jsonb *options);
extern int	UniqueOptionsColumn(const ResourceModel *model, const char *path);
extern int *UniqueOptionsRead(Jsonb *options, const ResourceModel *model, MemoryContext context, int *n);

#endif							/* DMS_UNIQUEOPTIONS_H */
