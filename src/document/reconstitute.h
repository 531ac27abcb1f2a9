/*
 * reconstitute.h
 *		Rows become documents again.
 */
#ifndef DMS_RECONSTITUTE_H
#define DMS_RECONSTITUTE_H

#include "postgres.h"

#include "document/storedpage.h"
#include "lib/stringinfo.h"

extern void Reconstitute(StoredPage *page, int document, StringInfo out);

#endif							/* DMS_RECONSTITUTE_H */
