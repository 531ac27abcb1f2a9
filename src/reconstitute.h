/*
 * reconstitute.h
 *		Rows become documents again.
 */
#ifndef DMS_RECONSTITUTE_H
#define DMS_RECONSTITUTE_H

#include "postgres.h"

#include "lib/stringinfo.h"
#include "storedpage.h"

extern void Reconstitute(StoredPage *page, int document, StringInfo out);

#endif							/* DMS_RECONSTITUTE_H */
