/*
 * violations.h
 *		Violated constraints, reported in terms of documents.
 */
#ifndef DMS_VIOLATIONS_H
#define DMS_VIOLATIONS_H

#include "postgres.h"

#include "document/flatten.h"

extern void ViolationRaiseTaken(const FlatDocument *flat) pg_attribute_noreturn();
extern void ViolationReport(const FlatDocument *flat, const ErrorData *error);

#endif							/* DMS_VIOLATIONS_H */
