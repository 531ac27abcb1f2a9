/*
 * auditscope.h
 *		Which resources an audit looks at.
 */
#ifndef DMS_AUDITSCOPE_H
#define DMS_AUDITSCOPE_H

#include "postgres.h"

#include "fmgr.h"

/* The resources that a pair of names means, in load order. */
typedef struct AuditScope
{
	int			n;
	char	  **projects;
	char	  **resources;
} AuditScope;

extern AuditScope AuditScopeOfArguments(FunctionCallInfo fcinfo);

#endif							/* DMS_AUDITSCOPE_H */
