/*
 * upsert.h
 *		Writing a document by its identity.
 */
#ifndef DMS_UPSERT_H
#define DMS_UPSERT_H

#include "postgres.h"

#include "verbs/write.h"

extern void UpsertDocument(Write *write, text *document);

#endif							/* DMS_UPSERT_H */
