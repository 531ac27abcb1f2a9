/*
 * claim.h
 *		The first rows of a new document.
 */
#ifndef DMS_CLAIM_H
#define DMS_CLAIM_H

#include "postgres.h"

#include "document/document.h"
#include "document/flatten.h"

extern bool ClaimIdentity(const Resource *resource, const FlatDocument *flat, DocumentHeader *header,
						  bool has_uuid);

#endif							/* DMS_CLAIM_H */
