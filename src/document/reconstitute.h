/*
 * reconstitute.h
 *		Writing the JSON of documents from their rows.
 */
#ifndef DMS_RECONSTITUTE_H
#define DMS_RECONSTITUTE_H

#include "postgres.h"

#include "document/storedpage.h"
#include "lib/stringinfo.h"

extern void Reconstitute(StoredPage *page, int document, StringInfo out);
extern text *ReconstituteValue(StoredPage *page, int document, StringInfo out);

#endif							/* DMS_RECONSTITUTE_H */
