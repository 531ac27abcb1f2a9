/*
 * urn.h
 *		URNs of documents: taking them apart and writing them.
 */
#ifndef DMS_URN_H
#define DMS_URN_H

#include "postgres.h"

#include "utils/uuid.h"

/* What every URN begins with. */
#define URN_SCHEME "urn:"

/* The parts of a URN: urn:{domain}:{type}::{id}. */
typedef struct Urn
{
	char	   *domain;
	char	   *type;
	char	   *id;
} Urn;

extern bool UrnIsMeant(const char *string);
extern bool UrnIsDomain(const char *string, int length);
extern bool UrnIsType(const char *string, int length);
extern bool UrnParse(const char *string, Urn *urn);
extern int	UrnCompareTypes(const char *left, const char *right);
extern char *UrnWrite(const char *domain, const char *type, const pg_uuid_t *id);

#endif							/* DMS_URN_H */
