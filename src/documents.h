/*
 * documents.h
 *		The verbs on documents.
 */
#ifndef DMS_DOCUMENTS_H
#define DMS_DOCUMENTS_H

#include "postgres.h"

#include "locks.h"

typedef enum WriteOutcome
{
	WRITE_INSERTED,
	WRITE_UPDATED,
	WRITE_UNCHANGED
} WriteOutcome;

typedef struct WriteResult
{
	WriteOutcome outcome;
	DocumentHeader document;
} WriteResult;

#endif							/* DMS_DOCUMENTS_H */
