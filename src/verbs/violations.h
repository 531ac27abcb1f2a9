/*
 * violations.h
 *		Violated constraints, told in the words of documents.
 */
#ifndef DMS_VIOLATIONS_H
#define DMS_VIOLATIONS_H

#include "postgres.h"

#include "document/flatten.h"

extern void ViolationRethrow(const FlatDocument *flat) pg_attribute_noreturn();
extern char *DescribeIdentity(const FlatDocument *flat);

#endif							/* DMS_VIOLATIONS_H */
